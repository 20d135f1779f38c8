from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tui.widgets.transcript.heights import Heights

ROWS = st.integers(0, 9)


@given(
    st.lists(ROWS, max_size=600),
    st.lists(
        st.tuples(st.sampled_from(["append", "set", "remove", "prepend"]), st.integers(0, 10_000), ROWS), max_size=25
    ),
)
def test_like_a_plain_list(start: list[int], steps: list[tuple[str, int, int]]) -> None:
    heights, plain = Heights(start), list(start)
    for step, where, rows in steps:
        match step:
            case "append":
                heights.append(rows)
                plain.append(rows)
            case "prepend":
                assert heights.prepend([rows, 1]) == rows + 1
                plain[:0] = [rows, 1]
            case "set" if plain:
                at = where % len(plain)
                assert heights.set(at, rows) == rows - plain[at]
                plain[at] = rows
            case "remove" if plain:
                assert heights.remove(where % len(plain)) == plain.pop(where % len(plain))
            case _:
                pass
        assert heights.total == sum(plain)
        assert list(heights) == plain
        at = where % (len(plain) + 1)
        assert heights.start(at) == sum(plain[:at])
        if heights.total:
            row = where % heights.total
            index, inside = heights.find(row)
            assert sum(plain[:index]) + inside == row
            assert 0 <= inside < plain[index]


def test_past_the_end() -> None:
    assert Heights([2, 3]).find(7) == (2, 2)
    assert Heights().find(0) == (0, 0)
    assert Heights().total == 0
