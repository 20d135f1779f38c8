from __future__ import annotations

import re

import pytest

from tests.widgets.transcript.entries import DIFF, SESSION
from tui.widgets.theme import DARK, ThemeError, TranscriptTheme, default_theme
from tui.widgets.transcript.blocks import (
    AnswerBlock,
    Block,
    Carried,
    CheckpointBlock,
    EndBlock,
    NoteBlock,
    NoticeBlock,
    PromptBlock,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
    fold,
)
from tui.widgets.transcript.diff import diff_rows
from tui.widgets.transcript.markdown import Look
from tui.widgets.transcript.render import estimate, header_row, render_block
from tui.widgets.transcript.rows import cells

THEME = default_theme()
LOOK = Look(THEME)
HOSTILE = "[/red] [0] \x1b[31m\x1b]8;;http://x\x1b]52;c;YQ==\x07\x1b\\l \u202e\u200b\U000e0041 \t日本 ❤️ \r\n\x9b1m \x00"


def lines(
    block: Block, width: int = 60, *, folded: bool = True, progress: str = "", ascii_only: bool = False
) -> list[str]:
    look = Look(THEME, ascii_only)
    return [row.text.rstrip() for row in render_block(block, width, look, folded=folded, progress=progress)]


def test_a_prompt_hangs_on_the_thread() -> None:
    assert lines(PromptBlock("p", "fix it\nnow")) == [" │", " ● fix it", " │ now"]


def test_a_tool_folded_shows_the_end_of_its_output() -> None:
    block = ToolBlock(
        "call:c", "c", "bash", {"command": "ls"}, state="ok", output="\n".join(map(str, range(30))), seconds=1
    )
    shown = lines(block)
    assert shown[:3] == [" │", " ├─ bash  ls  ok 1.0s", " │   … 20 earlier lines"]
    assert shown[-1] == " │   29"
    assert len(lines(block, folded=False)) == 32


def test_a_running_tool_shows_live_output() -> None:
    block = ToolBlock("call:c", "c", "bash", {"command": "make"}, state="running")
    assert lines(block, progress="10%\r20%\x1b[K\nup") == [" │", " ├─ bash  make  …", " │   20%", " │   up"]


@pytest.mark.parametrize(
    ("state", "status", "refused", "shown"),
    [
        ("error", 2, "", "exit 2"),
        ("error", None, "", "error"),
        ("refused", None, "denied", "not run: denied"),
        ("unknown", None, "", "interrupted: effects unknown"),
    ],
)
def test_how_a_tool_ended(state: str, status: int | None, refused: str, shown: str) -> None:
    block = fold(SESSION)[5]
    assert isinstance(block, ToolBlock)
    match state:
        case "error" | "refused" | "unknown":
            changed = ToolBlock("call:c", "c", "bash", {}, state=state, exit_status=status, refused=refused)
        case _:
            raise AssertionError(state)
    assert shown in lines(changed)[1]


def test_a_diff_shows_its_change_and_no_file_header() -> None:
    found = diff_rows(DIFF, 60, LOOK)
    assert [row.text for row in found] == ["@@ -1,2 +1,2 @@", "-old value here", "+new value here", " same"]
    marked = [segment.text for row in found for segment in row.segments if segment.style == THEME.added_word]
    assert marked == ["new"]


def test_a_removed_line_that_looks_like_a_header_is_shown() -> None:
    diff = "--- a\n+++ b\n@@ -1,2 +1,1 @@\n x\n--- gone\n+++ came\n"
    assert [row.text for row in diff_rows(diff, 60, LOOK)][1:] == [" x", "--- gone", "+++ came"]


def test_a_wide_screen_shows_before_and_after_side_by_side() -> None:
    diff = "@@ -1,3 +1,4 @@\n same\n-old word here\n+new word here\n+日本 added\n end"
    found = diff_rows(diff, 160, LOOK)
    texts = [row.text for row in found]
    assert texts[1].split("│")[0].strip() == texts[1].split("│")[1].strip() == "same"
    assert texts[2].startswith("-old word here ")
    assert texts[2].endswith("│ +new word here")
    assert texts[3].strip() == "│ +日本 added"
    assert [segment.text for segment in found[2].segments if segment.style == THEME.added_word] == ["new"]
    assert all(cells(text) <= 160 for text in texts)
    long = diff_rows("@@ -1 +1 @@\n-" + "x" * 300 + "\n+" + "日" * 300, 160, LOOK)
    assert all(cells(row.text) <= 160 for row in long)


def test_deceptive_characters_are_visible_in_a_diff() -> None:
    assert "\\u202e" in diff_rows("@@ -1 +1 @@\n+a\u202eb", 60, LOOK)[1].text


def test_a_long_line_of_a_diff_is_not_compared() -> None:  # pss-runtime#252
    old, new = "x" * 500_000, "y" + "x" * 499_999
    assert len(diff_rows(f"@@ -1 +1 @@\n-{old}\n+{new}", 100, LOOK)) > 1_000


@pytest.mark.parametrize("width", [30, 80])
@pytest.mark.parametrize("folded", [True, False])
def test_no_foreign_text_steers_the_terminal_or_breaks_the_frame(width: int, folded: bool) -> None:
    blocks: list[Block] = [
        PromptBlock("a", HOSTILE, origin=HOSTILE, extras=(HOSTILE,)),
        AnswerBlock("b", HOSTILE),
        ThinkingBlock("c", HOSTILE),
        ToolBlock(
            "d", HOSTILE, HOSTILE, {"command": HOSTILE, HOSTILE: HOSTILE}, state="ok", output=HOSTILE, diff=HOSTILE
        ),
        ToolBlock("d2", HOSTILE, HOSTILE, {HOSTILE: HOSTILE}, state="error", output=HOSTILE, refused=HOSTILE),
        ToolBlock("d3", HOSTILE, HOSTILE, {}, raw=HOSTILE, state="refused", refused=HOSTILE),
        NoticeBlock("e", HOSTILE),
        EndBlock("f", HOSTILE, HOSTILE),
        CheckpointBlock("g", HOSTILE, origin=HOSTILE, figures=HOSTILE, parts=(Carried(HOSTILE, HOSTILE),)),
        NoteBlock("i", HOSTILE),
        NoteBlock("j", HOSTILE, delivered=True),
        UnknownBlock("h", HOSTILE, HOSTILE),
    ]
    for block in blocks:
        for row in render_block(block, width, LOOK, folded=folded, progress=HOSTILE):
            assert re.search("[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", row.text) is None
            assert cells(row.text) <= width
            assert row.lead >= 3


def test_ascii_alone() -> None:
    for block in fold(SESSION):
        assert "".join(lines(block, ascii_only=True)).isascii()


def test_the_colour_of_the_thread_is_the_level() -> None:
    row = render_block(AnswerBlock("a", "x", "hard"), 40, LOOK)[1]
    assert row.segments[0].style == THEME.level_hard


def test_a_command_of_two_kilobytes_is_one_header_line() -> None:
    block = ToolBlock("c", "c", "bash", {"command": "echo " + "QUJD" * 500_000}, state="running")
    assert len(lines(block)) == 2
    assert cells(lines(block)[1]) <= 60


def test_the_header_is_where_a_click_is_expected() -> None:
    for block in (ThinkingBlock("t", "x"), ToolBlock("c", "c", "ls"), ToolBlock("c", "c", "ls", first=False)):
        assert any(word in lines(block)[header_row(block)] for word in ("thinking", "ls"))


def test_estimates_are_near() -> None:
    for block in fold(SESSION):
        assert abs(estimate(block, 80) - len(render_block(block, 80, LOOK))) <= 8


def test_a_theme_names_its_mistakes() -> None:
    assert TranscriptTheme.from_mapping({"prompt": "red"}).prompt.color is not None
    assert set(DARK) == set(TranscriptTheme.__struct_fields__)
    with pytest.raises(ThemeError, match="no such style role: nope"):
        TranscriptTheme.from_mapping({"nope": "red"})
    with pytest.raises(ThemeError, match="prompt"):
        TranscriptTheme.from_mapping({"prompt": "very reddish"})
