from __future__ import annotations

from tests.widgets.transcript.entries import DIFF, SESSION, answer, chain, prompt, result
from tui.log.entries import Prompt, Settled, ToolStarted, UnknownBody
from tui.messages import Attachment, Image, StopReason, Text, ToolCall, UserMessage
from tui.widgets.transcript.blocks import (
    AnswerBlock,
    BlockBuilder,
    EndBlock,
    NoticeBlock,
    PromptBlock,
    Replaced,
    ThinkingBlock,
    ToolBlock,
    UnknownBlock,
    fold,
)


def test_a_session_in_order() -> None:
    kinds = [type(block) for block in fold(SESSION)]
    assert kinds == [
        NoticeBlock,
        NoticeBlock,
        PromptBlock,
        ThinkingBlock,
        AnswerBlock,
        ToolBlock,
        ToolBlock,
        ToolBlock,
        NoticeBlock,
        UnknownBlock,
        AnswerBlock,
        EndBlock,
        PromptBlock,
        AnswerBlock,
        EndBlock,
        EndBlock,
    ]


def test_a_tool_block_is_call_start_and_result() -> None:
    tools = {block.call_id: block for block in fold(SESSION) if isinstance(block, ToolBlock)}
    assert (tools["c1"].state, tools["c1"].exit_status, tools["c1"].seconds) == ("error", 2, 0.25)
    assert (tools["c2"].state, tools["c2"].diff, tools["c2"].arguments["path"]) == ("ok", DIFF, "src/x.py")
    assert (tools["c3"].state, tools["c3"].refused) == ("refused", "denied")
    assert [tools[call].first for call in ("c1", "c2", "c3")] == [True, False, False]


def test_a_call_without_result_is_told_at_the_end() -> None:
    calls = (ToolCall("a", "bash"), ToolCall("b", "bash"))
    blocks = fold(chain(prompt("x"), answer(*calls), ToolStarted("a", "bash"), Settled("interrupted")))
    assert [block.state for block in blocks if isinstance(block, ToolBlock)] == ["unknown", "refused"]


def test_a_page_that_begins_inside_a_call() -> None:
    blocks = fold(chain(result("c9", "grep", "x:1: y")))
    assert [(type(block), block.id) for block in blocks] == [(ToolBlock, "call:c9")]


def test_changes_name_the_block_they_change() -> None:
    builder = BlockBuilder()
    entries = chain(answer(ToolCall("c", "bash")), ToolStarted("c", "bash"), result("c", "bash", "out"))
    changes = [change for entry in entries for change in builder.add(entry, "soft")]
    assert [isinstance(change, Replaced) for change in changes] == [False, True, True]
    assert {change.block.level for change in changes} == {"soft"}


def test_an_answer_that_did_not_end_well_is_told_once() -> None:
    *_, words, gap, end = fold(SESSION)
    assert isinstance(words, AnswerBlock)
    assert isinstance(gap, EndBlock)
    assert (gap.reason, gap.quiet) == ("stopped", False)
    assert isinstance(end, EndBlock)
    assert end.quiet


def test_a_reason_without_an_answer_is_told_loudly() -> None:
    (block,) = fold(chain(Settled("error", "no connection")))
    assert isinstance(block, EndBlock)
    assert (block.reason, block.detail, block.quiet) == ("error", "no connection", False)


def test_what_came_with_a_prompt_is_named() -> None:
    message = UserMessage((Text("look"), Attachment("a.txt", "x" * 1500), Image("0" * 64, "image/png", 4, 5)))
    (block,) = fold(chain(Prompt(message, excluded=True)))
    assert isinstance(block, PromptBlock)
    assert block.extras == ("a.txt, 1,500 characters", "[image image/png, 4×5]")
    assert block.excluded


def test_an_unknown_entry_is_a_line() -> None:
    assert fold(chain(UnknownBody("x\x1b[31m", b""))) == [UnknownBlock("e0", "x\x1b[31m")]


def test_an_empty_answer_says_so() -> None:
    (block,) = fold(chain(answer(stop=StopReason.EMPTY)))
    assert isinstance(block, EndBlock)
    assert block.reason == "empty answer"
