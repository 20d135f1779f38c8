"""The arithmetic of edits, as properties."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tui.tools.base import ToolError
from tui.tools.splice import Edit, splice

# Few letters, so that line ends, byte order marks and odd bytes meet often.
around = st.lists(
    st.sampled_from([b"a", b"b", b"\n", b"\r\n", b"\r", b"\xe9", b"\xc3\xa9", b"\xef\xbb\xbf", b" ", b"\t"]),
    max_size=12,
).map(b"".join)
words = st.text(alphabet="xyz", min_size=1, max_size=4)


def _is_utf8(raw: bytes) -> bool:
    return raw.decode("utf-8", "replace").encode() == raw


@given(before=around, after=around, old=words, new=st.text(alphabet="xyz \t", max_size=6))
def test_bytes_outside_the_replaced_span_never_change(before: bytes, after: bytes, old: str, new: str) -> None:
    assume(old != new)
    raw = before + old.encode() + after
    assume(raw.count(old.encode()) == 1)
    if before[-1:] >= b"\x80" and not _is_utf8(raw):
        # The one place that is refused: it may begin inside a character of an unknown encoding.
        with pytest.raises(ToolError, match="may begin inside a character"):
            splice(raw, [Edit(old, new)], "f")
        return
    assert splice(raw, [Edit(old, new)], "f") == before + new.encode() + after


@given(
    lines=st.lists(
        st.tuples(st.text(alphabet="ab", max_size=3), st.sampled_from(["\n", "\r\n"])), min_size=1, max_size=8
    ),
    new=st.lists(st.text(alphabet="cd", max_size=3), min_size=1, max_size=3),
    data=st.data(),
)
def test_lines_that_are_not_replaced_keep_their_own_ends(
    lines: list[tuple[str, str]], new: list[str], data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(lines) - 1))
    last = data.draw(st.integers(first, len(lines) - 1))
    marked = [(f"{number}{text}", end) for number, (text, end) in enumerate(lines)]
    raw = "".join(text + end for text, end in marked).encode()
    old = "\n".join(text for text, _ in marked[first : last + 1])
    result = splice(raw, [Edit(old, "\n".join(new))], "f")
    head = "".join(text + end for text, end in marked[:first]).encode()
    tail = (marked[last][1] + "".join(text + end for text, end in marked[last + 1 :])).encode()
    assert result.startswith(head)
    assert result.endswith(tail)
    middle = result[len(head) : len(result) - len(tail)]
    assert middle.replace(b"\r\n", b"\n").decode() == "\n".join(new)
    if len({end for _, end in lines}) == 1:
        assert middle.count(b"\r\n") == (len(new) - 1 if lines[0][1] == "\r\n" else 0)


@given(raw=st.binary(max_size=60), old=st.text(max_size=4), new=st.text(max_size=4), every=st.booleans())
def test_any_edit_of_any_bytes_is_made_or_refused(raw: bytes, old: str, new: str, every: bool) -> None:
    try:
        result = splice(raw, [Edit(old, new, every)], "f")
    except ToolError:
        return
    assert result != raw


@pytest.mark.parametrize(
    ("raw", "old", "new", "wanted"),
    [
        (b"a\r\nb\nc\rd\n", "b", "B", b"a\r\nB\nc\rd\n"),
        (b"a\r\nb\r\n", "a\nb", "a\nx\nb", b"a\r\nx\r\nb\r\n"),
        (b"a\nb\r\nc\n", "a\nb\nc", "a\nb\nd", b"a\nb\r\nd\n"),
        (b"a\r\nb\r\n", "a\r\n", "a\n", b"a\nb\r\n"),
        (b"c\rd", "\r", "\n", b"c\nd"),
        (b"\xef\xbb\xbfa\n", "\ufeffa", "\ufeffb", b"\xef\xbb\xbfb\n"),
        (b"\xef\xbb\xbfa\n", "\ufeffa", "b", b"\xef\xbb\xbfb\n"),
        (b"a\r\n", "a", "a\nb", b"a\r\nb\r\n"),
        (b"a\r\n\r\nb\r\n", "a\n\nb", "a\nb", b"a\r\nb\r\n"),
        ("é\n".encode(), "é", "è", "è\n".encode()),
        (b"(a.b)*\n", "(a.b)*", "\\1", b"\\1\n"),
    ],
)
def test_values(raw: bytes, old: str, new: str, wanted: bytes) -> None:
    assert splice(raw, [Edit(old, new)], "f") == wanted


def test_two_inserts_at_touching_places() -> None:
    assert splice(b"ab", [Edit("b", "2"), Edit("a", "1")], "f") == b"12"


def test_every_place_of_a_large_file() -> None:
    assert splice(b"x\n" * 50_000, [Edit("x", "y", True)], "f") == b"y\n" * 50_000


def test_more_than_a_thousand_places_are_counted_no_further() -> None:
    with pytest.raises(ToolError, match="more than 1,000 times"):
        splice(b"x\n" * 50_000, [Edit("x", "y")], "f")
