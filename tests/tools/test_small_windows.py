"""Where the model's window is small each result is: the part that is shown says how to see the rest."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.support import make_context, run
from tui.context.checkpoint import Budget
from tui.messages import Json
from tui.tools.base import Tool
from tui.tools.bash import BASH
from tui.tools.find import FIND
from tui.tools.grep import GREP
from tui.tools.ls import LS
from tui.tools.read import READ

pytestmark = pytest.mark.anyio

ROOM = 2_000
MARGIN = 200
"""Bytes of the line that says what was cut."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    here = tmp_path / "p"
    here.mkdir()
    for number in range(300):
        (here / f"file-with-a-long-name-{number:03}.txt").write_text("needle in the hay\n")
    (here / "long.txt").write_text("".join(f"line {number} of a long file\n" for number in range(1_000)))
    return here


@pytest.mark.parametrize(
    ("tool", "args", "advice"),
    [
        (READ, {"path": "long.txt"}, "continue with offset="),
        (GREP, {"pattern": "needle"}, "narrow the pattern"),
        (FIND, {"pattern": "*.txt"}, "narrow the pattern"),
        (LS, {"path": "."}, "use find"),
        (BASH, {"command": "seq 5000"}, "the whole output is in"),
    ],
)
async def test_a_result_keeps_to_the_room_there_is(
    folder: Path, tool: Tool, args: dict[str, Json], advice: str
) -> None:
    cut = await run(tool, make_context(folder, room=ROOM), **args)
    whole = await run(tool, make_context(folder), **args)
    assert ROOM / 2 < len(cut.text.encode()) <= ROOM + MARGIN
    assert len(whole.text.encode()) > 2 * ROOM
    assert advice in cut.text


async def test_pages_of_any_room_give_the_whole_file(folder: Path) -> None:
    seen: list[str] = []
    context = make_context(folder, room=ROOM)
    while len(seen) < 1_000:
        page = (await run(READ, context, path="long.txt", offset=len(seen) + 1)).text
        seen += itertools.takewhile(lambda line: not line.startswith("["), page.splitlines())
    assert "\n".join(seen) + "\n" == (folder / "long.txt").read_text()


@given(window=st.integers(1_000, 2_000_000), share=st.integers(0, 120))
def test_four_results_fit_beside_each_other(window: int, share: int) -> None:
    budget = Budget(window, window * 8 // 10, window * share // 100)
    free = budget.hard - budget.overhead
    assert budget.result_bytes >= 2_048
    assert budget.result_bytes == 2_048 or 4 * budget.result_bytes <= 3 * free
