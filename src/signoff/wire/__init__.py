"""The provider protocols as pure codecs: bytes to values and back. No socket, no clock, no judgement.

sse         frames of server-sent events            reader      one HTTP response, whatever stands in it
failures    the errors of all protocols             memo        a growing history, encoded once
codec       what every codec can do                 openai_chat · openai_responses · anthropic_messages · gemini
"""
