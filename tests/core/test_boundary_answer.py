"""What follows from the worth of a response: taken, asked again within the attempts, or given up honestly."""

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from signoff.core.boundary import AnswerPolicy, AskAgain, BoundaryReason, GiveUp, Next, Take, decide, worth
from signoff.core.model.parts import Api, CallPart, ReasoningPart, RefusalPart, TextPart
from signoff.core.model.request import AssistantMessage, Choice, ModelRequest, Tool, UserMessage
from signoff.core.model.response import End, Failure, FailureKind, ModelResponse
from signoff.errors import PolicyError
from tests.core.test_boundary import REQUEST, RESPONSES, SHELL, call, response

PATIENT = AnswerPolicy(max_model_attempts=5)


def after(
    answer: ModelResponse, *, request: ModelRequest = REQUEST, attempt: int = 1, policy: AnswerPolicy = PATIENT
) -> Next:
    """What follows from a response to a request."""
    judged = worth(answer, request, strict_finish=policy.strict_finish)
    return decide(judged, answer, request=request, attempt=attempt, policy=policy)


def asked(step: Next) -> AskAgain:
    """The step, which must be to ask again."""
    assert isinstance(step, AskAgain), step
    return step


def given_up(step: Next) -> GiveUp:
    """The step, which must be to give up."""
    assert isinstance(step, GiveUp), step
    return step


def failed(kind: FailureKind, *, retry_after: float | None = None, end: End = End.PROVIDER_ERROR) -> ModelResponse:
    """A response that is a failure."""
    failure = Failure(kind=kind, where="http", status=500, retry_after=retry_after)
    return ModelResponse(api=Api.GEMINI, end=end, failure=failure)


def texts_of(request: ModelRequest) -> list[str]:
    """The texts that a request has behind those of the original one."""
    added = request.messages[len(REQUEST.messages) :]
    return [
        "".join(part.text for part in message.parts if isinstance(part, TextPart))
        for message in added
        if isinstance(message, UserMessage | AssistantMessage)
    ]


def test_what_is_accepted_is_taken() -> None:
    """Calls and text are taken at any attempt."""
    step = after(response("Now:", call(), end=End.TOOL_CALLS), attempt=9)
    assert isinstance(step, Take)
    assert (step.text, [one.name for one in step.calls]) == ("Now:", ["read"])


def test_a_discarded_answer_is_asked_for_again_at_once() -> None:
    """The new request shows the end of what was discarded as no answer, names the reason, and asks for a whole one."""
    step = asked(after(response("Half a pl", end=End.LIMIT)))
    partial, question = texts_of(step.request)
    assert (step.wait_seconds, step.reason.value) == (0, "model_output_truncated")
    assert isinstance(step.request.messages[-2], AssistantMessage)
    assert isinstance(step.request.messages[-1], UserMessage)
    assert partial.endswith("no final answer, and nothing in it was carried out.]\nHalf a pl")
    assert "discarded: model_output_truncated. No call in it was run." in question
    assert "one complete answer or one complete call" in question
    rest = msgspec.structs.replace(step.request, messages=REQUEST.messages)
    assert (rest, step.origin) == (REQUEST, REQUEST)


def test_a_broken_call_is_named_without_its_arguments() -> None:
    """The question says which fault it was; the arguments of the call are not shown again."""
    step = asked(after(response(call('{"path":"secret-7'), end=End.MALFORMED_CALL)))
    (question,) = texts_of(step.request)
    assert "incomplete_tool_arguments (truncated)" in question
    assert "secret-7" not in repr(step.request.messages)


def test_without_tools_no_call_is_asked_for() -> None:
    """A request that offers no tool asks for an answer only."""
    request = msgspec.structs.replace(REQUEST, tools=())
    (question,) = texts_of(asked(after(response(), request=request)).request)
    assert "Give one complete answer now" in question


@pytest.mark.scenario("MB-047")
def test_of_much_reasoning_only_its_end_is_shown() -> None:
    """9,000 characters of reasoning lose their beginning, and say so."""
    reasoning = "".join(f"{number:09d}\n" for number in range(900))
    partial, _ = texts_of(asked(after(response(ReasoningPart(text=reasoning)))).request)
    assert partial.endswith("[808 characters left out]\n" + reasoning[-8192:])
    assert "000000001\n" not in partial


def test_how_much_is_shown_can_be_set() -> None:
    """A bound of none shows nothing, and any other that many characters."""
    few, none = AnswerPolicy(partial_chars=4), AnswerPolicy(partial_chars=0)
    assert texts_of(asked(after(response("123456", end=End.LIMIT), policy=few)).request)[0].endswith("out]\n3456")
    assert len(texts_of(asked(after(response("123456", end=End.LIMIT), policy=none)).request)) == 1


def test_what_is_shown_is_inert() -> None:
    """Control characters and half characters are not sent back; a text of nothing else is not shown at all."""
    step = asked(after(response("a\x1b[2J\x00b\ud800", end=End.LIMIT)))
    assert texts_of(step.request)[0].endswith("]\na[2Jb")
    assert len(texts_of(asked(after(response("\x1b", end=End.LIMIT))).request)) == 1


def test_visible_text_is_shown_before_reasoning() -> None:
    """Reasoning is shown only where there is no text to see."""
    both = response(ReasoningPart(text="because"), "Answer", end=End.LIMIT)
    blank = response(ReasoningPart(text="because"), " \n", end=End.LIMIT)
    assert texts_of(asked(after(both)).request)[0].endswith("]\nAnswer")
    assert texts_of(asked(after(blank)).request)[0].endswith("]\nbecause")


@pytest.mark.parametrize(
    ("extra", "forced"),
    [
        ("{}", True),
        ('{"temperature":0.5}', True),
        ('{"tool_choice":"auto"}', False),
        ('{"toolConfig":{}}', False),
        ('{"thinking":{"type":"adaptive"}}', False),
        ("[]", True),
        ("{", True),
    ],
)
def test_no_tool_is_forced_against_the_providers_own_fields(extra: str, forced: bool) -> None:  # noqa: FBT001
    """Where the request's own fields choose tools, or forbid to force one, asking again leaves the choice alone."""
    request = msgspec.structs.replace(REQUEST, extra=extra)
    again = asked(after(response(call("{"), end=End.MALFORMED_CALL), request=request)).request
    assert again.choice == (Choice(mode="required") if forced else Choice())


@pytest.mark.parametrize(
    ("answer", "choice", "forced"),
    [
        (response(call("{"), end=End.MALFORMED_CALL), Choice(), True),
        (response(call(), end=End.LIMIT), Choice(), True),
        (response("Sure:", end=End.MALFORMED_CALL), Choice(), True),
        (response(SHELL, end=End.LIMIT), Choice(), True),
        (response("Half", end=End.LIMIT), Choice(), False),
        (response(), Choice(), False),
        (response(call("{"), end=End.MALFORMED_CALL), Choice(mode="none"), False),
        (response(call("{"), end=End.MALFORMED_CALL), Choice(mode="tool", name="ping"), False),
    ],
)
def test_a_tool_is_forced_only_after_a_try(answer: ModelResponse, choice: Choice, forced: bool) -> None:  # noqa: FBT001
    """The choice stays the caller's, unless it left it open and the discarded response had tried to call a tool."""
    request = msgspec.structs.replace(REQUEST, choice=choice)
    assert asked(after(answer, request=request)).request.choice == (Choice(mode="required") if forced else choice)
    without = msgspec.structs.replace(request, tools=())
    assert asked(after(answer, request=without)).request.choice == choice


def test_notes_do_not_pile_up() -> None:
    """Each new request is made from the original one."""
    first = asked(after(response("one", end=End.LIMIT), attempt=1))
    second = asked(after(response("two", end=End.LIMIT), request=first.origin, attempt=2))
    assert len(second.request.messages) == len(first.request.messages) == len(REQUEST.messages) + 2
    assert "one" not in texts_of(second.request)[0][-4:]


@pytest.mark.parametrize("attempts", [1, 2, 3])
def test_attempts_are_bounded(attempts: int) -> None:
    """The last attempt is given up, with its reason and what could be seen of it."""
    policy = AnswerPolicy(max_model_attempts=attempts)
    for answer in (response("Half", end=End.LIMIT), failed(FailureKind.OVERLOADED)):
        steps = [after(answer, attempt=number, policy=policy) for number in range(1, attempts + 2)]
        assert [isinstance(step, AskAgain) for step in steps] == [True] * (attempts - 1) + [False] * 2
        last = given_up(steps[-1])
        assert (last.recoverable, last.text, last.end) == (True, answer.text, answer.end)


@pytest.mark.parametrize("end", [End.CONTENT_FILTER, End.UNKNOWN])
def test_how_it_ended_stays_known(end: End) -> None:
    """A filter stays a filter for whoever must tell a refusal from a cut."""
    last = given_up(after(response("Half", end=end), attempt=5))
    assert (last.reason.value, last.end) == ("model_output_interrupted", end)


@pytest.mark.parametrize(("attempt", "wait"), [(1, 1.0), (2, 2.0), (3, 4.0), (7, 60.0), (2000, 60.0)])
def test_a_failed_provider_is_given_time(attempt: int, wait: float) -> None:
    """The wait doubles with each attempt up to a bound, and the same request is sent."""
    policy = AnswerPolicy(max_model_attempts=10_000)
    step = asked(after(failed(FailureKind.SERVER_ERROR), attempt=attempt, policy=policy))
    assert step == AskAgain(request=REQUEST, wait_seconds=wait, reason=BoundaryReason.PROVIDER_FAILED, origin=REQUEST)


@pytest.mark.parametrize(("asks", "wait"), [(0.0, 0.0), (7.5, 7.5), (60.0, 60.0), (-1.0, 2.0), (float("nan"), 2.0)])
def test_the_wait_that_the_provider_asks_for_is_kept(asks: float, wait: float) -> None:
    """Its own number is used in place of ours, unless it is none."""
    assert asked(after(failed(FailureKind.RATE_LIMITED, retry_after=asks), attempt=2)).wait_seconds == wait


@pytest.mark.parametrize("asks", [60.1, 3600.0, float("inf")])
def test_a_wait_that_is_too_long_is_given_up(asks: float) -> None:
    """A provider that asks for more than the bound is not asked again early; the wait is told."""
    last = given_up(after(failed(FailureKind.RATE_LIMITED, retry_after=asks)))
    assert (last.reason.value, last.recoverable, last.wait_seconds) == ("provider_failed", True, asks)


LASTING = {"authentication", "permission", "not_found", "invalid_request", "context_full", "content_filter", "quota"}
PASSING = {"rate_limited", "overloaded", "server_error", "provider_timeout", "connection", "cut", "not_the_protocol"}


@pytest.mark.parametrize("kind", list(FailureKind))
def test_only_what_may_pass_is_tried_again(kind: FailureKind) -> None:
    """What a later attempt cannot mend is given up at the first, and a lasting cause is no state to recover from."""
    step = after(failed(kind, retry_after=3600.0 if kind.value not in PASSING else None))
    assert isinstance(step, AskAgain) is (kind.value in PASSING)
    if isinstance(step, GiveUp):
        assert (step.recoverable, step.wait_seconds) == (kind.value not in LASTING, None)


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (failed(FailureKind.CONTEXT_FULL, end=End.CONTEXT_FULL), "Earlier."),
        (response(end=End.CONTEXT_FULL), "Earlier."),
        (response("Newest", end=End.CONTEXT_FULL), "Newest"),
    ],
)
def test_a_full_context_returns_the_latest_text(answer: ModelResponse, text: str) -> None:
    """It is not asked again and cannot be recovered; what the model last said is given back."""
    earlier = AssistantMessage(parts=(TextPart(text="Earlier."), call()))
    request = msgspec.structs.replace(REQUEST, messages=(*REQUEST.messages, earlier))
    assert after(answer, request=request) == GiveUp(
        reason=BoundaryReason.CONTEXT_WINDOW_EXCEEDED, recoverable=False, text=text, end=End.CONTEXT_FULL
    )


@pytest.mark.parametrize(("parts", "text"), [((RefusalPart(text="No."),), "No."), (("I cannot",), "I cannot")])
def test_a_refusal_is_given_up(parts: tuple[Any, ...], text: str) -> None:
    """A refusal is not asked again; its text is kept."""
    assert after(response(*parts, end=End.REFUSAL)) == GiveUp(
        reason=BoundaryReason.PROVIDER_REFUSAL, recoverable=False, text=text, end=End.REFUSAL
    )


def paused(native: str = '[{"type":"text"}]', *parts: Any, api: Api = Api.ANTHROPIC_MESSAGES) -> ModelResponse:  # noqa: ANN401
    """A paused turn."""
    return msgspec.structs.replace(response("Searching", *parts, end=End.PAUSED, api=api), native=native)


def test_a_paused_turn_is_resumed_by_sending_it_back() -> None:
    """The turn goes back as the provider wrote it, as one more attempt, and a second pause keeps the first."""
    turn = AssistantMessage(parts=(TextPart(text="Searching"),), native='[{"type":"text"}]', api=Api.ANTHROPIC_MESSAGES)
    first = asked(after(paused()))
    assert first.request == first.origin == msgspec.structs.replace(REQUEST, messages=(*REQUEST.messages, turn))
    assert (first.reason.value, first.wait_seconds) == ("response_paused", 0)
    second = asked(after(paused(), request=first.origin, attempt=2))
    assert second.request.messages == (*REQUEST.messages, turn, turn)
    assert given_up(after(paused(), request=second.origin, attempt=5)).reason is BoundaryReason.RESPONSE_PAUSED


@pytest.mark.parametrize(
    "answer",
    [
        paused(""),
        paused("[]", CallPart(call_id="c1", name="read", arguments="{}")),
        paused(api=Api.OPENAI_RESPONSES),
        response("So far", end=End.CONTINUATION, api=Api.GEMINI),
    ],
)
def test_other_pauses_are_given_up(answer: ModelResponse) -> None:
    """Where nothing can be sent back as it came, or a call is open, the turn ends with what there is."""
    last = given_up(after(answer))
    assert (last.reason.value, last.recoverable, last.text) == ("response_paused", True, answer.text)


@pytest.mark.parametrize(
    ("field", "value"),
    [("max_model_attempts", value) for value in (0, -1, 1.5, True, None, "2")]
    + [("partial_chars", value) for value in (-1, 1.5, True, None)]
    + [
        (name, value)
        for name in ("retry_delay", "max_wait")
        for value in (-1, True, float("nan"), float("inf"), None, "1")
    ]
    + [("strict_finish", value) for value in (True, False, "", "maybe", None)],
)
def test_a_policy_is_checked_when_it_is_made(field: str, value: object) -> None:
    """A bound that is no number, or a choice that is none, is refused by its name."""
    wrong: dict[str, Any] = {field: value}
    with pytest.raises(PolicyError, match=field):
        AnswerPolicy(**wrong)


def test_the_default_policy() -> None:
    """Two attempts, strict, and bounds that can be as low as nothing."""
    policy = AnswerPolicy()
    assert (policy.max_model_attempts, policy.strict_finish, policy.partial_chars) == (2, "on", 8192)
    assert (policy.retry_delay, policy.max_wait) == (1.0, 60.0)
    least = AnswerPolicy(max_model_attempts=1, retry_delay=0, max_wait=0, partial_chars=0, strict_finish="off")
    assert given_up(after(failed(FailureKind.OVERLOADED), policy=least)).wait_seconds is None


@pytest.mark.parametrize("attempt", [0, -1, True, 1.5, None])
def test_attempts_are_counted_from_one(attempt: Any) -> None:  # noqa: ANN401 - what no count may be
    """A number that counts no attempt is refused."""
    with pytest.raises(PolicyError, match="attempt"):
        after(response("Done."), attempt=attempt)


@given(RESPONSES, st.integers(1, 4), st.sampled_from(["on", "off"]))
@settings(deadline=None)
def test_every_turn_ends(answer: ModelResponse, attempts: int, strict: Any) -> None:  # noqa: ANN401 - a Literal
    """Whatever comes, and however often, there are at most so many requests, each of them sendable and bounded."""
    policy = AnswerPolicy(max_model_attempts=attempts, strict_finish=strict)
    request, sent = REQUEST, 0
    while True:
        sent += 1
        step = after(answer, request=request, attempt=sent, policy=policy)
        assert step == after(answer, request=request, attempt=sent, policy=policy)
        if not isinstance(step, AskAgain):
            break
        assert 0 <= step.wait_seconds <= policy.max_wait
        assert step.request.messages[: len(REQUEST.messages)] == REQUEST.messages
        assert (step.request.tools, step.request.extra) == (REQUEST.tools, REQUEST.extra)
        request = step.origin
    assert sent <= attempts
    assert Tool(name="ping") in request.tools
