from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.models.sse import EventTooLong, SseEvent, SseSplitter

STREAM = (
    b'\xef\xbb\xbf: hello\nevent: a\ndata: {"t":"a\xe2\x80\xa8b\xc2\x85\x0b\x0c\x1c\x1d\x1e"}\n\n'
    b":\r\n: ping\rdata: x\r\ndata: y\r\n\r\nid: 7\rretry: 5\rdata:\r\rdata: \xe4\xbd\xa0\xf0\x9f\x91\xa9\r\n\r\n"
)
EVENTS = [
    SseEvent("a", '{"t":"a\u2028b\x85\x0b\x0c\x1c\x1d\x1e"}'),
    SseEvent("", "x\ny"),
    SseEvent("", ""),
    SseEvent("", "你👩"),
]


def split(stream: bytes, cuts: list[int]) -> list[SseEvent]:
    splitter = SseSplitter()
    edges = [0, *sorted(cuts), len(stream)]
    made = [event for start, end in itertools.pairwise(edges) for event in splitter.feed(stream[start:end])]
    return made + splitter.finish()


def test_every_single_cut_gives_the_same_events() -> None:
    assert split(STREAM, []) == EVENTS
    for cut in range(len(STREAM) + 1):
        assert split(STREAM, [cut]) == EVENTS


def test_single_bytes_give_the_same_events() -> None:
    assert split(STREAM, list(range(len(STREAM)))) == EVENTS


@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_cuts_give_the_same_events(cuts: list[int]) -> None:
    assert split(STREAM, cuts) == EVENTS


@given(st.lists(st.sampled_from([b"data: a", b"\r", b"\n", b"\r\n", b":", b"event: e", b"x"]), max_size=30))
def test_any_line_soup_does_not_depend_on_chunks(parts: list[bytes]) -> None:
    stream = b"".join(parts)
    assert split(stream, list(range(len(stream)))) == split(stream, [])


@pytest.mark.parametrize("newline", [b"\n", b"\r", b"\r\n"])
def test_each_line_end_works_alone(newline: bytes) -> None:
    stream = newline.join([b"data: 1", b"", b"data: 2", b"", b""])
    assert split(stream, []) == [SseEvent("", "1"), SseEvent("", "2")]


def test_crlf_cut_in_two_is_one_line_end() -> None:
    splitter = SseSplitter()
    assert splitter.feed(b"data: {..}\r") == []
    assert splitter.feed(b"\n\r") == [SseEvent("", "{..}")]
    assert splitter.feed(b"\n") == []
    assert splitter.finish() == []


@pytest.mark.parametrize("tail", [b"data: [DONE]", b"data: [DONE]\n", b"[DONE]", b"[DONE]\n\n", b"data:[DONE]\n\n"])
def test_the_end_marker_is_seen_in_all_its_forms(tail: bytes) -> None:
    assert split(b"data: 1\n\n" + tail, []) == [SseEvent("", "1"), SseEvent("", "[DONE]")]


def test_an_error_field_is_an_error_event() -> None:
    assert split(b'error: {"code":500}\n\n', []) == [SseEvent("error", '{"code":500}')]


def test_invalid_bytes_become_replacement_characters() -> None:
    assert split(b"data: a\xffb\n\n", []) == [SseEvent("", "a\ufffdb")]


@pytest.mark.parametrize("endless", [b"x" * 64, b"data: xxxxxxxxxxxxxx\n" * 8])
def test_an_event_without_end_is_refused(endless: bytes) -> None:
    with pytest.raises(EventTooLong):
        SseSplitter(limit=50).feed(endless)
