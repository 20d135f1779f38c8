"""The model's side of a handoff: the note, going on from it without redoing, and summaries."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.models.rehearsal.drive import SELF_COMPACT, Exchange, Project, answer_of, fast
from tests.models.rehearsal.projects import c_project, draw
from tui.messages import AssistantMessage, Message, Text, ToolResult, UserMessage
from tui.models.base import Request

pytestmark = pytest.mark.anyio

WARNING = "Context is at 17,000 of 24,000 tokens: the warning threshold is reached. Call self_compact now, alone."
SOFT = "Context is at 15,000 tokens (soft). Calling self_compact is optional at a good place to pause."
TAIL = "\n\n<handoff>The conversation was compacted; the note above is verbatim. Do only what is unfinished.</handoff>"


def user(text: str) -> UserMessage:
    return UserMessage(content=(Text(text=text),))


def with_compact(request: Request, guidance: str = "") -> Request:
    return msgspec.structs.replace(request, tools=(*request.tools, SELF_COMPACT), guidance=guidance)


async def listed(tmp_path: Path) -> Exchange:
    names = draw(11)
    prompt = f"1. How many .c files are there?\n2. create made.txt containing 'x'\n3. where is {names.function} used?"
    return await Project(c_project(tmp_path, names)).ask(prompt)


async def test_at_warning_it_hands_over_alone_with_a_real_note(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    index = next(i for i, answer in enumerate(exchange.answers) if any(call.name == "grep" for call in answer.calls))
    answer = await answer_of(fast(), with_compact(exchange.requests[index], WARNING))
    assert [call.name for call in answer.calls] == ["self_compact"]
    note = answer.calls[0].arguments["note_to_self"]
    assert "- [x] How many .c files are there?: There is **1 file**" in note
    assert "- [x] create made.txt containing 'x': Wrote `made.txt`" in note
    assert f"- [ ] where is {draw(11).function} used?" in note
    assert "grep" in note
    assert len(note) <= 24_000


async def test_soft_and_no_guidance_change_nothing(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    for request, answer in zip(exchange.requests, exchange.answers, strict=True):
        for guidance in ("", SOFT):
            assert (await answer_of(fast(), with_compact(request, guidance))).text == answer.text


async def test_a_finished_answer_is_given_rather_than_a_note(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    answer = await answer_of(fast(), with_compact(exchange.requests[-1], WARNING))
    assert not answer.calls


async def test_it_goes_on_from_the_note_and_redoes_nothing(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    index = next(i for i, answer in enumerate(exchange.answers) if any(call.name == "grep" for call in answer.calls))
    answer = await answer_of(fast(), with_compact(exchange.requests[index], WARNING))
    checkpoint = user(
        "Earlier work, summarised.\n\nORIGINAL TASK (preserved verbatim):\n" + exchange.requests[0].system
    )
    project = Project(tmp_path / "c")
    after = await project.ask(answer.calls[0].arguments["note_to_self"] + TAIL, history=(checkpoint,))
    assert set(after.names) == {"grep", "find", "read"}
    assert "main.c:5" in after.text
    assert "Wrote `made.txt`" in after.text


async def test_a_second_note_keeps_what_the_first_said(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    first = await answer_of(fast(), with_compact(exchange.requests[0], WARNING))
    note = first.calls[0].arguments["note_to_self"]
    assert note.count("- [ ] ") == 3
    after = await Project(tmp_path / "c").ask(note + TAIL)
    index = next(i for i, answer in enumerate(after.answers) if any(call.name == "grep" for call in answer.calls))
    second = await answer_of(fast(), with_compact(after.requests[index], WARNING))
    again = second.calls[0].arguments["note_to_self"]
    assert again.count("- [x] ") == 2
    assert again.count("- [ ] ") == 1
    assert "How many .c files are there?\n2. create made.txt" in again


async def test_refused_at_hard_it_writes_the_note(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    refused = _refuse(exchange, "Refused: the context is at its hard limit. Call self_compact with a note, alone.")
    answer = await answer_of(fast(), with_compact(refused))
    assert [call.name for call in answer.calls] == ["self_compact"]
    assert answer.calls[0].arguments["note_to_self"].count("- [ ] ") == 3


async def test_it_does_not_ask_twice(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    request = with_compact(exchange.requests[0], WARNING)
    first = await answer_of(fast(), request)
    result = ToolResult(
        call_id=first.calls[0].id, name="self_compact", content=(Text(text="Not compactable."),), is_error=True
    )
    more = msgspec.structs.replace(request, messages=(*request.messages, first, result))
    assert [call.name for call in (await answer_of(fast(), more)).calls] == ["find"]


async def test_asked_by_the_person_it_hands_over(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    request = exchange.requests[1]
    steer = user("Pause here: write the note of what is done and what is left, then call self_compact.")
    answer = await answer_of(
        fast(), with_compact(msgspec.structs.replace(request, messages=(*request.messages, steer)))
    )
    assert [call.name for call in answer.calls] == ["self_compact"]


async def test_a_prompt_about_the_tool_is_only_a_prompt(tmp_path: Path) -> None:
    request = Request(
        system="s", messages=(user("where is self_compact used?"),), tools=(await listed(tmp_path)).requests[0].tools
    )
    answer = await answer_of(fast(), with_compact(request))
    assert [call.name for call in answer.calls] == ["grep", "find"]


async def test_a_checkpoint_alone_is_gone_on_with(tmp_path: Path) -> None:
    names = draw(12)
    task = f"1. How many .c files are there?\n2. where is {names.function} used?"
    done = "- [x] How many .c files are there?: There is **1 file**"
    text = f"Summary:\n{done}\n\nORIGINAL TASK (preserved verbatim):\n{task}\n"
    after = await Project(c_project(tmp_path, names)).ask(text)
    assert after.names[0] == "grep"
    assert "main.c:5" in after.text


async def test_a_summary_is_made_of_the_transcript(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    request = Request(system="Write a summary of the conversation below.", messages=exchange.messages)
    said = (await answer_of(fast(), request)).text
    assert not (await answer_of(fast(), request)).calls
    assert "How many .c files are there?" in said
    assert "- [x] create made.txt containing 'x': Wrote `made.txt`" in said
    assert "`made.txt`" in said
    assert draw(11).function in said
    assert len(said) <= 8_000


async def test_a_summary_of_a_written_transcript_keeps_the_one_before() -> None:
    text = (
        "Previous summary:\n- [x] first: Changed `a` in src/one.py\n\nuser: fix the parser in src/two.py\n"
        "assistant: calls bash\nresult: FAILED tests/test_two.py::test_x - ValueError: bad\nTODO: run it again\n"
    )
    said = (await answer_of(fast(), Request(system="Summarise the transcript.", messages=(user(text),)))).text
    for fact in (
        "- [x] first: Changed `a` in src/one.py",
        "fix the parser",
        "FAILED tests/test_two.py::test_x",
        "run it again",
        "src/two.py",
    ):
        assert fact in said


async def test_a_huge_transcript_gives_a_bounded_summary() -> None:
    messages: list[Message] = [user(f"do thing {i} in file_{i}.py " + "word " * 50) for i in range(300)]
    said = (await answer_of(fast(), Request(system="Summarize.", messages=tuple(messages)))).text
    assert 0 < len(said) <= 8_000


def _refuse(exchange: Exchange, words: str) -> Request:
    """The request after the first answer, with its calls refused."""
    first: AssistantMessage = exchange.answers[0]
    results = tuple(
        ToolResult(call_id=call.id, name=call.name, content=(Text(text=words),), is_error=True) for call in first.calls
    )
    return msgspec.structs.replace(exchange.requests[0], messages=(*exchange.requests[0].messages, first, *results))


async def test_a_task_that_was_done_since_the_last_note_is_not_in_the_next_one(tmp_path: Path) -> None:
    exchange = await listed(tmp_path)
    first = await answer_of(fast(), with_compact(exchange.requests[0], WARNING))
    note = first.calls[0].arguments["note_to_self"]
    after = await Project(tmp_path / "c").ask(note + TAIL)
    notes = [(await answer_of(fast(), with_compact(request, WARNING))) for request in after.requests[:2]]
    before, between = (answer.calls[0].arguments["note_to_self"] for answer in notes)
    assert before.count("- [ ] ") == 3
    assert between.count("- [ ] ") == 2
    assert "- [x] How many .c files are there?: There is **1 file**" in between


CHECKPOINT = """\
The summary.

ORIGINAL TASK (preserved verbatim):
{task}

CURRENT REQUEST
[open]{current}

WHERE TO LOOK FURTHER
Files read: other.c
"""


@pytest.mark.parametrize("current", [" (the original task above)", "\nHow many .c files are there?"])
async def test_only_the_request_of_a_checkpoint_is_worked_on(tmp_path: Path, current: str) -> None:
    project = Project(c_project(tmp_path, draw(13)))
    after = await project.ask(CHECKPOINT.format(task="How many .c files are there?", current=current))
    assert "There is **1 file**" in after.text
    assert after.names == ["find"]


async def test_a_summary_names_what_was_asked_and_no_more(tmp_path: Path) -> None:
    text = (
        "<summary-so-far-ab12>\n## Goal\n- Fix the parser\n## Progress\n- none\n</summary-so-far-ab12>\n\n"
        "<transcript-ab12>\n[person]\nThen the tests,\nall of them\n[agent]\nI look.\n</transcript-ab12>"
    )
    said = (await answer_of(fast(), Request(system="Write the summary.", messages=(user(text),)))).text
    assert said.startswith("## Goal\n- Fix the parser\n- Then the tests, all of them\n## Progress\n")
