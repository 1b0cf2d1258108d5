"""Where requests go."""

import pytest

from signoff.wire import gemini


@pytest.mark.parametrize(
    ("model", "path"),
    [
        ("m-1.5", "/v1beta/models/m-1.5:generateContent"),
        ("models/m", "/v1beta/models/m:generateContent"),
        ("tunedModels/m", "/v1beta/tunedModels/m:generateContent"),
        ("../x?y#z", "/v1beta/models/..%2Fx%3Fy%23z:generateContent"),
        ("a b:é%", "/v1beta/models/a%20b%3A%C3%A9%25:generateContent"),
    ],
)
def test_a_models_name_cannot_leave_its_place(model: str, path: str) -> None:
    """Whatever stands in a name is escaped, so that it is one step of the address."""
    assert gemini.path(model, stream=False) == path
    streamed = path.replace(":generateContent", ":streamGenerateContent?alt=sse")
    assert gemini.path(model, stream=True) == streamed


def test_the_key_is_in_a_header_if_there_is_one() -> None:
    """And never in the address."""
    assert gemini.headers("k") == {"content-type": "application/json", "x-goog-api-key": "k"}
    assert gemini.headers("") == {"content-type": "application/json"}
