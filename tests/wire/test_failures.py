"""Errors of every protocol, in every shape, come to one kind, and nothing of their text is kept."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.core.model.ending import Exchange
from signoff.core.model.response import Failure, FailureKind
from signoff.wire.failures import failure_of, not_the_protocol

K = FailureKind
SECRET = "sk-secret: your prompt was …"


def openai(code: object = None, kind: object = "invalid_request_error") -> Any:  # noqa: ANN401
    """OpenAI's body."""
    return {"error": {"message": SECRET, "type": kind, "param": None, "code": code}}


def anthropic(kind: str, message: str = SECRET, **fields: object) -> Any:  # noqa: ANN401
    """Anthropic's body."""
    return {"type": "error", "error": {"type": kind, "message": message, **fields}, "request_id": "req_1"}


def gemini(code: int, status: str, *details: object) -> Any:  # noqa: ANN401
    """Gemini's body."""
    return {"error": {"code": code, "message": SECRET, "status": status, "details": list(details)}}


HTTP = [
    (400, openai("context_length_exceeded"), K.CONTEXT_FULL),
    (400, openai("invalid_prompt"), K.INVALID_REQUEST),
    (400, openai("string_above_max_length"), K.INVALID_REQUEST),
    (400, openai("content_filter"), K.CONTENT_FILTER),
    (400, openai(), K.INVALID_REQUEST),
    (401, openai("invalid_api_key"), K.AUTHENTICATION),
    (401, openai(), K.AUTHENTICATION),
    (403, openai(), K.PERMISSION),
    (404, openai("model_not_found"), K.NOT_FOUND),
    (408, None, K.PROVIDER_TIMEOUT),
    (409, None, K.INVALID_REQUEST),
    (422, {"detail": [{"loc": ["body"], "msg": SECRET}]}, K.INVALID_REQUEST),
    (429, openai("rate_limit_exceeded", "tokens"), K.RATE_LIMITED),
    (429, openai("insufficient_quota", "insufficient_quota"), K.QUOTA),
    (429, openai("credit_balance_exhausted", "billing"), K.QUOTA),
    (429, openai("slow_down", "server_error"), K.OVERLOADED),
    (503, openai("slow_down", "server_error"), K.OVERLOADED),
    (500, openai("server_error", "server_error"), K.SERVER_ERROR),
    (503, openai(None, "server_error"), K.OVERLOADED),
    (402, {"error": {"message": SECRET, "type": "unknown_error"}}, K.QUOTA),
    (400, anthropic("invalid_request_error"), K.INVALID_REQUEST),
    (400, anthropic("invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"), K.CONTEXT_FULL),
    (413, anthropic("invalid_request_error", "Prompt is too long"), K.INVALID_REQUEST),
    (401, anthropic("authentication_error"), K.AUTHENTICATION),
    (402, anthropic("billing_error"), K.QUOTA),
    (403, anthropic("permission_error"), K.PERMISSION),
    (404, anthropic("not_found_error"), K.NOT_FOUND),
    (409, anthropic("conflict_error"), K.INVALID_REQUEST),
    (413, anthropic("request_too_large"), K.INVALID_REQUEST),
    (429, anthropic("rate_limit_error"), K.RATE_LIMITED),
    (500, anthropic("api_error"), K.SERVER_ERROR),
    (504, anthropic("timeout_error"), K.PROVIDER_TIMEOUT),
    (529, anthropic("overloaded_error"), K.OVERLOADED),
    (500, anthropic("overloaded_error"), K.OVERLOADED),
    (529, anthropic("api_error"), K.OVERLOADED),
    (400, gemini(400, "INVALID_ARGUMENT"), K.INVALID_REQUEST),
    (400, gemini(400, "INVALID_ARGUMENT", {"reason": "API_KEY_INVALID"}), K.AUTHENTICATION),
    (400, gemini(400, "FAILED_PRECONDITION"), K.INVALID_REQUEST),
    (403, gemini(403, "PERMISSION_DENIED"), K.PERMISSION),
    (404, gemini(404, "NOT_FOUND"), K.NOT_FOUND),
    (429, gemini(429, "RESOURCE_EXHAUSTED"), K.RATE_LIMITED),
    (499, gemini(499, "CANCELLED"), K.CANCELLED),
    (500, gemini(500, "INTERNAL"), K.SERVER_ERROR),
    (503, gemini(503, "UNAVAILABLE"), K.OVERLOADED),
    (504, gemini(504, "DEADLINE_EXCEEDED"), K.PROVIDER_TIMEOUT),
    (429, [gemini(429, "RESOURCE_EXHAUSTED")], K.RATE_LIMITED),
    (502, None, K.SERVER_ERROR),
    (524, None, K.PROVIDER_TIMEOUT),
    (418, None, K.INVALID_REQUEST),
    (302, None, K.NOT_THE_PROTOCOL),
    (101, None, K.NOT_THE_PROTOCOL),
]


@pytest.mark.parametrize(("status", "payload", "kind"), HTTP)
def test_an_http_error_has_its_kind(status: int, payload: Any, kind: FailureKind) -> None:  # noqa: ANN401
    """The provider's code or type decides, then the status."""
    failure = failure_of(payload, Exchange(status=status, retry_after=7.5), where="http")
    assert (failure.kind, failure.where, failure.status, failure.retry_after) == (kind, "http", status, 7.5)
    assert SECRET not in repr(failure)


STREAM = [
    (openai("server_error", "server_error"), K.SERVER_ERROR, None),
    ({"type": "error", "code": "rate_limit_exceeded", "message": SECRET, "param": None}, K.RATE_LIMITED, None),
    ({"type": "error", "error": {"code": "server_error", "message": SECRET}, "status": 503}, K.OVERLOADED, 503),
    (
        {"type": "response.failed", "response": {"status": "failed", "error": {"code": "bio_policy"}}},
        K.CONTENT_FILTER,
        None,
    ),
    ({"id": "r", "status": "failed", "error": {"code": "server_error", "message": SECRET}}, K.SERVER_ERROR, None),
    (anthropic("overloaded_error"), K.OVERLOADED, None),
    (anthropic("invalid_request_error", "prompt is too long: 9 > 8"), K.CONTEXT_FULL, None),
    (gemini(503, "UNAVAILABLE"), K.OVERLOADED, 503),
    (
        {"object": "error", "message": SECRET, "type": "BadRequestError", "param": None, "code": 400},
        K.INVALID_REQUEST,
        400,
    ),
    ({"error_type": "BadRequestError", "error_message": SECRET}, K.INVALID_REQUEST, None),
    ({"error": {"code": 429, "message": SECRET, "metadata": {}}, "choices": []}, K.RATE_LIMITED, 429),
    ({"error": {"code": "502", "message": SECRET}}, K.SERVER_ERROR, 502),
    ({"error": SECRET}, K.SERVER_ERROR, None),
    ({"error": "overloaded"}, K.OVERLOADED, None),
    ({"error": [openai("slow_down")["error"]]}, K.OVERLOADED, None),
    ({"code": 500, "message": SECRET, "type": "server_error"}, K.SERVER_ERROR, 500),
    (None, K.SERVER_ERROR, None),
]


@pytest.mark.parametrize(("payload", "kind", "status"), STREAM)
def test_an_error_inside_a_response_has_its_kind(payload: Any, kind: FailureKind, status: int | None) -> None:  # noqa: ANN401
    """The status is the one inside the error, if it names one, and never that of the response around it."""
    failure = failure_of(payload, Exchange(status=200, retry_after=7.5), where="stream")
    assert (failure.kind, failure.where, failure.status, failure.retry_after) == (kind, "stream", status, None)
    assert SECRET not in repr(failure)


def test_words_and_lengths_are_kept() -> None:
    """Type, code and the length of the message are what is left of an error."""
    assert failure_of(openai("slow_down", "server_error"), Exchange(status=429), where="http") == Failure(
        kind=K.OVERLOADED, where="http", status=429, type="server_error", code="slow_down", message_length=len(SECRET)
    )
    coded = failure_of(anthropic("api_error", details={"error_code": "slow_down"}), Exchange(), where="stream")
    assert (coded.type, coded.code, coded.kind) == ("api_error", "slow_down", K.OVERLOADED)


@pytest.mark.parametrize(("delay", "seconds"), [("3.5s", 3.5), ("20s", 20), ("-1s", None), ("1e9s", None), (3, None)])
def test_gemini_says_how_long_to_wait(delay: object, seconds: float | None) -> None:
    """The delay in the details counts where no header says one."""
    payload: Any = gemini(429, "RESOURCE_EXHAUSTED", {"@type": "RetryInfo"}, {"retryDelay": delay})
    assert failure_of(payload, Exchange(status=429), where="http").retry_after == seconds
    assert failure_of(payload, Exchange(status=429, retry_after=1), where="http").retry_after == 1


@pytest.mark.parametrize("word", ["é", "a\nb", "\x1b[31m", "", " "])
def test_a_word_that_is_not_printable_ascii_is_left_out(word: str) -> None:
    """Types and codes are shown in terminals and logs."""
    failure = failure_of(openai(word, word), Exchange(status=500), where="http")
    assert (failure.type, failure.code) == ("", "")


def test_a_long_word_is_cut() -> None:
    """At most 100 characters of a word are kept."""
    failure = failure_of(openai("x" * 5000, "y" * 5000), Exchange(status=500), where="http")
    assert (failure.code, failure.type) == ("x" * 100, "y" * 100)


@pytest.mark.parametrize("status", [0, 99, 600, -1])
def test_a_status_that_is_none_is_left_out(status: int) -> None:
    """Only 100 to 599 is a status."""
    assert failure_of(None, Exchange(status=status), where="http").status is None
    assert failure_of({"error": {"code": status}}, Exchange(), where="stream").status is None


NAMES = st.sampled_from(
    [
        "error",
        "type",
        "code",
        "status",
        "message",
        "details",
        "response",
        "reason",
        "retryDelay",
        "error_type",
        "object",
    ]
)
HOSTILE = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["slow_down", "503"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=5),
    max_leaves=20,
)


@given(HOSTILE, st.integers(-5, 700), st.sampled_from(["http", "stream"]))
def test_no_payload_raises(payload: Any, status: int, where: str) -> None:  # noqa: ANN401
    """Any value in any place of an error gives a failure whose fields keep their bounds."""
    failure = failure_of(payload, Exchange(status=status), where=where)
    assert failure.status is None or 100 <= failure.status <= 599
    assert all(len(word) <= 100 and word.isascii() for word in (failure.type, failure.code))


def test_what_is_not_the_protocol_says_how_long_it_was() -> None:
    """A web page is a failure with its length and the status that it came with."""
    failure = not_the_protocol(Exchange(status=200), length=5)
    assert (failure.kind, failure.status, failure.message_length) == (K.NOT_THE_PROTOCOL, 200, 5)
