"""Frames of server-sent events: what clients and servers make of the form, and bytes split anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from signoff.errors import PolicyError
from signoff.wire.sse import COMMENT, Frame, SseDecoder, encode_frame

FORMS = {
    "line feeds": (b'data: {"a":1}\n\n', [Frame(data='{"a":1}')]),
    "carriage returns and line feeds": (b"data: a\r\n\r\ndata: b\r\n\r\n", [Frame(data="a"), Frame(data="b")]),
    "carriage returns": (b"data: a\r\rdata: b\r\r", [Frame(data="a"), Frame(data="b")]),
    "mixed line ends": (b"data: a\r\n\ndata: b\r\rdata: c\n\r\n", [Frame(data=mark) for mark in "abc"]),
    "beyond ASCII": ("data: é€😀\n\n".encode(), [Frame(data="é€😀")]),
    "a line separator inside JSON": (
        'data: {"a":"\u2028\u2029\u0085"}\n\n'.encode(),
        [Frame(data='{"a":"\u2028\u2029\u0085"}')],
    ),
    "no space behind the colon": (b"data:a\n\n", [Frame(data="a")]),
    "only the first space goes": (b"data:  a \n\n", [Frame(data=" a ")]),
    "several data lines": (b"data: a\ndata:b\ndata: c\n\n", [Frame(data="a\nb\nc")]),
    "comments": (b": OPENROUTER PROCESSING\n\n:\n\ndata: a\n: x\n\n" + COMMENT, [Frame(data="a")]),
    "a name": (b"event: ping\ndata: {}\n\n", [Frame(event="ping", data="{}")]),
    "a name behind the data": (b"data: {}\nevent: ping\n\n", [Frame(event="ping", data="{}")]),
    "id and retry": (b"id: 7\nretry: 100\ndata: a\n\nid: 8\n\n:x\n\n", [Frame(data="a")]),
    "unknown fields": (b"foo: bar\ndata: a\nbar\n\n", [Frame(data="a")]),
    "a field that begins like another": (b"database: x\ndat: y\ndata: a\n\n", [Frame(data="a")]),
    "a name and no data": (b"event: ping\n\ndata: a\n\n", [Frame(event="ping", data=""), Frame(data="a")]),
    "a name and blank data": (b"event: ping\ndata: \n\n", [Frame(event="ping", data="")]),
    "blank data": (b"data:\n\ndata: \n\ndata: a\n\n", [Frame(data="a", oddities=("empty_frame",))]),
    "blank lines": (b"\n\n\ndata: a\n\n\n\n", [Frame(data="a")]),
    "an error field": (
        b'error: {"code":500}\n\ndata: [DONE]\n\n',
        [Frame(data="", error='{"code":500}'), Frame(data="[DONE]")],
    ),
    "a byte order mark": (b"\xef\xbb\xbfdata: a\n\ndata: b\n\n", [Frame(data="a", oddities=("bom",)), Frame(data="b")]),
    "a mark that is none": (b"\xef\xbb\n\ndata: a\n\n", [Frame(data="a")]),
    "bytes that are not UTF-8": (
        b"data: a\xff\xc3\n\ndata: b\n\n",
        [Frame(data="a\ufffd\ufffd", oddities=("invalid_utf8",)), Frame(data="b")],
    ),
    "bare JSON right behind fields": (
        b'data: a\n{"error":{}}\n\ndata: b\n\n',
        [Frame(data="a"), Frame(data='{"error":{}}', oddities=("bare_json",)), Frame(data="b")],
    ),
    "bare JSON lines": (
        b'data: a\n\n{\n  "error": {\n    "code": 500\n  }\n}\n\ndata: b\n\n',
        [
            Frame(data="a"),
            Frame(data='{\n  "error": {\n    "code": 500\n  }\n}', oddities=("bare_json",)),
            Frame(data="b"),
        ],
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_is_read(name: str) -> None:
    """Each form that servers send gives its frames, whether its bytes come at once or one by one."""
    body, frames = FORMS[name]
    assert list(SseDecoder().feed(body)) == frames
    assert read([bytes([byte]) for byte in body]) == frames


@given(st.data())
def test_any_split_gives_the_same_frames(data: st.DataObject) -> None:
    """Frames do not depend on how their bytes arrive."""
    body, frames = data.draw(st.sampled_from(sorted(FORMS.values(), key=str)))
    cuts = sorted(data.draw(st.sets(st.integers(0, len(body)))))
    assert read([body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]) == frames


@given(st.lists(st.sampled_from([b"data", b":", b" ", b"\r", b"\n", b"\xef\xbb\xbf", b"event", b"{", b"\xc3", b"x"])))
def test_any_bytes_give_the_same_frames_however_they_are_split(pieces: list[bytes]) -> None:
    """What is no stream at all is read the same way at once and in pieces, and nothing is raised."""
    whole = SseDecoder()
    assert [*whole.feed(b"".join(pieces)), *whole.end(clean=True)] == read(pieces)


@pytest.mark.parametrize(
    ("body", "frame"),
    [
        (b"data: a", Frame(data="a", oddities=("unterminated_frame",))),
        (b"data: a\n", Frame(data="a", oddities=("unterminated_frame",))),
        (b"data: a\r", Frame(data="a", oddities=("unterminated_frame",))),
        (b"event: x\ndata", Frame(event="x", data="", oddities=("unterminated_frame",))),
        (b'{"error":\n{}}', Frame(data='{"error":\n{}}', oddities=("bare_json", "unterminated_frame"))),
        (b'[{"error":\n{}}]', Frame(data='[{"error":\n{}}]', oddities=("bare_json", "unterminated_frame"))),
    ],
)
def test_a_last_frame_without_its_blank_line_is_given_at_a_clean_end_only(body: bytes, frame: Frame) -> None:
    """At a proper end of the body the frame in progress is given, marked; after a cut nothing pending is trusted."""
    for clean, expected in ((True, (frame,)), (False, ())):
        decoder = SseDecoder()
        assert decoder.feed(body) == ()
        assert decoder.end(clean=clean) == expected


def test_an_end_without_anything_pending_gives_nothing() -> None:
    """A stream whose last frame has its blank line ends without another frame."""
    for body in (b"", b"data: a\n\n", b"data: a\n\n: ping", b"\xef\xbb"):
        decoder = SseDecoder()
        decoder.feed(body)
        assert decoder.end(clean=True) == ()


@pytest.mark.parametrize(
    "body", [b"data: 0123456789", b"data: 01\ndata: 23\ndata: 4", b"{\n1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"]
)
def test_a_frame_over_the_bound_ends_everything(body: bytes) -> None:
    """A frame that is too long is not kept, whether it is one line or many, and whatever follows is not read."""
    for pieces in ([body], [bytes([byte]) for byte in body]):
        decoder = SseDecoder(max_frame=15)
        assert decoder.feed(b"data: a\n\n") == (Frame(data="a"),)
        for piece in pieces:
            assert decoder.feed(piece) == ()
        assert decoder.too_large
        assert decoder.feed(b"\n\ndata: b\n\n") == ()
        assert decoder.end(clean=True) == ()


def test_the_bound_counts_one_frame_and_no_comments() -> None:
    """Many frames, and comments between them, may be longer than the bound together."""
    decoder = SseDecoder(max_frame=16)
    frames = [frame for _ in range(100) for frame in decoder.feed(b": a comment\n: another\ndata: 123456789\n\n")]
    assert len(frames) == 100
    assert not decoder.too_large


def test_a_long_frame_in_single_bytes_takes_linear_time() -> None:
    """Hundreds of thousands of bytes that arrive one by one are put together once, and not anew with every byte."""
    decoder = SseDecoder()
    for _ in range(300_000):
        decoder.feed(b"x")
    assert decoder.feed(b"\ndata: a\n\n") == (Frame(data="a"),)


def test_a_frame_is_written_in_the_strict_form() -> None:
    """One data line with one space and a blank line; a name before it, if there is one."""
    assert encode_frame('{"a":"é"}') == 'data: {"a":"é"}\n\n'.encode()
    assert encode_frame(b"{}", event="ping") == b"event: ping\ndata: {}\n\n"
    assert encode_frame("a\nb\r\nc") == b"data: a\ndata: b\ndata: c\n\n"


@pytest.mark.parametrize(("data", "event"), [("", ""), (" \n", "x"), ("a", "x\ny"), ("a", "x\r")])
def test_a_frame_that_would_kill_a_client_is_refused(data: str, event: str) -> None:
    """Neither blank data nor a name with a line end is written."""
    with pytest.raises(PolicyError, match="nothing was written"):
        encode_frame(data, event=event)


@given(st.text(min_size=1), st.from_regex(r"[a-z_.]{0,20}", fullmatch=True))
def test_what_is_written_is_read(text: str, event: str) -> None:
    """A frame that was written is read as it was, line ends apart."""
    if not text.strip() or "\r" in text:
        return
    assert read([encode_frame(text, event=event)]) == [Frame(data=text, event=event)]


def read(pieces: list[bytes]) -> list[Frame]:
    """The frames of a body that comes in these pieces and ends properly."""
    decoder = SseDecoder()
    frames = [frame for piece in pieces for frame in decoder.feed(piece)]
    return [*frames, *decoder.end(clean=True)]
