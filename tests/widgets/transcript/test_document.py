from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.widgets.transcript.entries import SESSION, answer, chain, prompt
from tui.log.entries import Entry, Notice
from tui.messages import Text, Thinking
from tui.widgets.theme import default_theme
from tui.widgets.transcript.blocks import (
    Added,
    AnswerBlock,
    BlockBuilder,
    NoticeBlock,
    PromptBlock,
    ThinkingBlock,
    ToolBlock,
    fold,
)
from tui.widgets.transcript.document import PROGRESS_CHARS, Document
from tui.widgets.transcript.live import LiveTail
from tui.widgets.transcript.markdown import Look
from tui.widgets.transcript.render import render_block
from tui.widgets.transcript.views import Done, ViewCache

LOOK = Look(default_theme())


def made(width: int = 60) -> Document:
    document = Document(LOOK)
    document.width = width
    return document


def texts(document: Document) -> list[str]:
    document.settle(0, 10**6)
    return [strip.text for _, _, strip in document.strips(0, document.heights.total)]


def live(entries: list[Entry], width: int) -> Document:
    """Show entries as they come, the words of each answer streamed before."""
    document = made(width)
    tail = LiveTail(document)
    builder = BlockBuilder()
    for entry in entries:
        changes = builder.add(entry)
        for change in changes:
            block = change.block
            if isinstance(change, Added) and isinstance(block, AnswerBlock | ThinkingBlock):
                tail.begin(f"live:{block.id}", "answer" if isinstance(block, AnswerBlock) else "thinking", "none")
                for at in range(0, len(block.text), 5):
                    tail.feed(block.text[at : at + 5])
        tail.pause()
        for change in changes:
            if isinstance(change, Added) and not tail.take_over(change.block):
                document.append(change.block)
            elif not isinstance(change, Added):
                document.replace(change.block)
        tail.end()
    return document


def test_streamed_live_or_loaded_the_rows_are_the_same() -> None:
    for width in (30, 60, 119):
        loaded = made(width)
        loaded.load(fold(SESSION))
        shown = live(SESSION, width)
        assert texts(shown) == texts(loaded)
        assert shown.blocks == loaded.blocks


@given(st.integers(1, len(SESSION) - 1))
def test_pages_give_the_rows_of_the_whole(cut: int) -> None:
    whole, paged = made(), made()
    whole.load(fold(SESSION))
    newer = fold(SESSION[cut:])
    paged.load(newer)
    paged.prepend(fold(SESSION[:cut]))
    assert {block.id for block in paged.blocks} == {block.id for block in whole.blocks}


def test_what_comes_while_an_answer_is_written_stands_before_it() -> None:
    document = made()
    tail = LiveTail(document)
    tail.begin("live", "answer", "none")
    tail.feed("words")
    document.append(NoticeBlock("n", "notice"))
    assert [block.id for block in document.blocks] == ["n", "live"]
    assert texts(document)[-1].strip() == "│ words"
    tail.feed(" more")
    assert texts(document)[-1].strip() == "│ words more"


def test_what_is_not_taken_over_goes_away() -> None:
    document = made()
    tail = LiveTail(document)
    tail.begin("a", "thinking", "none")
    tail.feed("hm")
    tail.begin("b", "answer", "none")
    tail.feed("half")
    tail.pause()
    assert tail.take_over(AnswerBlock("real", "half"))
    tail.end()
    assert [block.id for block in document.blocks] == ["real"]
    assert not tail.writing


def test_an_answer_whose_level_is_known_at_its_end_is_hung_up_anew_and_not_read_again() -> None:
    document = made()
    tail = LiveTail(document)
    tail.begin("a", "answer", "none")
    tail.feed("# Title\n\nsome **words**\n")
    tail.pause()
    before = document.view(0).row(1)
    real = AnswerBlock("real", "# Title\n\nsome **words**\n", "soft")
    assert tail.take_over(real)
    after = [document.view(0).row(at) for at in range(len(document.view(0)))]
    assert after == render_block(real, document.width, LOOK)
    assert after[1].segments[0] != before.segments[0], "the thread has the colour of the level"
    assert after[1].segments[-1] is before.segments[-1]


def test_a_resize_while_an_answer_is_written() -> None:
    document = made(60)
    tail = LiveTail(document)
    tail.begin("a", "answer", "none")
    tail.feed("word " * 30)
    document.width = 20
    tail.resize()
    document.rebuild()
    assert document.heights.total == len(texts(document)) > 8
    tail.feed("end")
    assert texts(document)[-1].rstrip().endswith("end")


def test_settling_keeps_the_place() -> None:
    document = made()
    document.load([AnswerBlock(f"a{n}", "- x\n\n\n\n\n- y\n" * 5) for n in range(200)])
    before = document.heights.find(900)
    top = document.settle(900, 30)
    assert document.heights.find(top)[0] == before[0]
    assert document.settle(top, 30) == top


def test_older_pages_do_not_move_serials() -> None:
    document = made()
    document.load([PromptBlock("b", "b")])
    place = document.strips(0, 1)[0][0]
    rows = document.prepend([PromptBlock("a", "a")])
    assert document.strips(rows, 1)[0][0] == place


def test_live_output_is_bounded_and_goes_with_the_result() -> None:
    document = made()
    document.append(ToolBlock("call:c", "c", "bash", {"command": "yes"}, state="running"))
    for _ in range(50):
        assert document.progress("c", "y\n" * PROGRESS_CHARS) is not None
    assert len(texts(document)) == 13
    document.replace(ToolBlock("call:c", "c", "bash", {"command": "yes"}, state="ok", output="y"))
    assert len(texts(document)) == 3
    assert document.progress("other", "x") is None


def test_unfolding_one_and_all() -> None:
    document = made()
    document.load(
        [ThinkingBlock("t", "a\nb"), ToolBlock("call:c", "c", "read", {"path": "x"}, state="ok", output="1\n2")]
    )
    folded = texts(document)
    assert document.toggle(0) == 2
    document.toggle_all()
    assert len(texts(document)) == len(folded) + 4
    document.toggle_all()
    assert texts(document) == folded


def test_the_cache_forgets_what_was_seen_longest_ago() -> None:
    cache = ViewCache(limit=10)
    views = [Done([]) for _ in range(3)]
    for name, view in zip("abc", views, strict=True):
        cache.keep(name, view)
    assert cache.get("a") is views[0]
    document = made()
    document.load([AnswerBlock(f"a{n}", "x\n\n" * 50) for n in range(200)])
    assert len(texts(document)) == document.heights.total


def test_entries_of_one_answer() -> None:
    entries = chain(prompt("p"), answer(Thinking("t"), Text("a")), Notice("n"))
    assert texts(live(entries, 40))[1].rstrip() == " ● p"
