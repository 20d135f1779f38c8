"""Streaming, pace, figures, limits, determinism, and that nothing is kept between requests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.rehearsal.drive import SYSTEM, TOOLS, Project, answer_of, counter, events_of, fast
from tests.models.rehearsal.projects import c_project, draw, python_project
from tui.messages import AssistantMessage, Message, StopReason, Text, UserMessage
from tui.models.base import (
    Connecting,
    ContextTooLong,
    Finished,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    WindowSource,
)
from tui.models.rehearsal import RehearsalModel, count_tokens
from tui.models.rehearsal.model import pieces_of

pytestmark = pytest.mark.anyio


def request_of(*messages: Message | str, guidance: str = "", max_output: int = 8_192) -> Request:
    made: Sequence[Message] = [
        UserMessage(content=(Text(text=message),)) if isinstance(message, str) else message for message in messages
    ]
    specs = tuple(tool.spec for tool in TOOLS.values())
    return Request(system=SYSTEM, messages=tuple(made), tools=specs, guidance=guidance, max_output=max_output)


def bare(answer: AssistantMessage) -> tuple[object, ...]:
    """What an answer says and asks for, without ids and figures."""
    return answer.text, answer.stop, [(call.name, call.arguments) for call in answer.calls]


async def test_events_add_up_to_the_answer() -> None:
    events = await events_of(fast(), request_of("what does this do?"))
    last = events[-1]
    assert isinstance(events[0], Connecting)
    assert isinstance(last, Finished)
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == last.message.text
    raws = ["".join(e.text for e in events if isinstance(e, ToolCallDelta) and e.index == i) for i in (0, 1)]
    assert [msgspec.json.decode(raw) for raw in raws] == [call.arguments for call in last.message.calls]
    assert any(isinstance(event, ThinkingDelta) for event in events)
    assert last.message.stop is StopReason.TOOL_CALLS
    assert (last.message.provider, last.message.model) == ("rehearsal", "rehearsal")


@given(st.text(), st.integers(1, 20))
def test_pieces_lose_nothing(text: str, size: int) -> None:
    assert "".join(pieces_of(text, size)) == text


async def test_pace_is_tokens_by_seconds() -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    answer = await answer_of(RehearsalModel(pace=50, sleep=sleep, ids=counter()), request_of("what is this?"))
    assert answer.usage is not None
    assert abs(sum(slept) - answer.usage.output / 50) < 1e-6
    assert len(slept) > 10


async def test_info_names_window_and_its_source() -> None:
    assert RehearsalModel().info.window_source is WindowSource.CATALOGUE
    info = RehearsalModel(window=9_000).info
    assert (info.window, info.window_source, info.tools) == (9_000, WindowSource.SETTING, True)


async def test_usage_is_of_the_real_request(tmp_path: Path) -> None:
    exchange = await Project(python_project(tmp_path, draw(1))).ask("what does this project do?")
    usages = [answer.usage for answer in exchange.answers]
    prompts: list[int] = []
    for usage, before in zip(usages, [None, *usages], strict=False):
        assert usage is not None
        prompts.append(usage.input + usage.cache_read)
        if before is not None:
            assert usage.cache_read == before.input + before.cache_read
    assert prompts == sorted(set(prompts))
    first = exchange.requests[0]
    words = count_tokens(first.system) + sum(count_tokens(tool.description) for tool in first.tools)
    assert prompts[0] > words
    written = count_tokens(exchange.text)
    assert usages[-1] is not None
    assert abs(usages[-1].output - written) <= written / 5


async def test_guidance_counts_but_is_never_cached() -> None:
    model = fast()
    plain = (await answer_of(model, request_of("hi"))).usage
    guided = (await answer_of(model, request_of("hi", guidance="word " * 100))).usage
    again = (await answer_of(model, request_of("hi", guidance="word " * 100))).usage
    assert plain is not None
    assert guided is not None
    assert guided == again
    assert guided.input == 100
    assert guided.cache_read == plain.input


async def test_a_changed_prefix_is_not_cached() -> None:
    model = fast()
    await answer_of(model, request_of("one"))
    changed = msgspec.structs.replace(request_of("one"), system="Another system prompt.")
    usage = (await answer_of(model, changed)).usage
    assert usage is not None
    assert usage.cache_read == 0


async def test_over_the_window_is_refused_with_the_limit() -> None:
    model = fast(window=3_000)
    with pytest.raises(ContextTooLong) as caught:
        await events_of(model, request_of("word " * 3_000))
    assert caught.value.limit == 3_000
    assert (await answer_of(model, request_of("hi"))).stop is StopReason.TOOL_CALLS


async def test_the_output_limit_cuts_and_runs_no_call() -> None:
    answer = await answer_of(fast(), request_of("what is this?", max_output=4))
    assert answer.stop is StopReason.LENGTH
    assert not answer.calls
    assert answer.usage is not None
    assert answer.usage.output <= 4


async def test_each_request_stands_for_itself(tmp_path: Path) -> None:
    prompt = "1. what does this project do?\n2. run the tests\n3. list the functions in core.py"
    exchange = await Project(python_project(tmp_path, draw(2))).ask(prompt)
    assert len(exchange.requests) > 6
    for request, answer in zip(exchange.requests, exchange.answers, strict=True):
        assert bare(await answer_of(fast(), request)) == bare(answer)


async def test_the_same_twice(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    first = await Project(c_project(tmp_path / "a", draw(3))).ask("explain main.c")
    second = await Project(c_project(tmp_path / "b", draw(3))).ask("explain main.c")
    assert first.messages == second.messages


async def test_a_steer_adds_its_task(tmp_path: Path) -> None:
    project = Project(c_project(tmp_path, draw(4)))
    model = fast()
    first = await answer_of(model, request_of("what does this project do?"))
    history = (UserMessage(content=(Text(text="what does this project do?"),)), first)
    results = tuple([await project.run(call) for call in first.calls])
    both = await project.ask("How many .md files are there?", model, history + results)
    assert draw(4).purpose.rstrip(".") in both.text
    assert "**1 file**" in both.text
    instead = await project.ask("no, stop. How many .md files are there?", model, history + results)
    assert draw(4).purpose.rstrip(".") not in instead.text
    assert "**1 file**" in instead.text


async def test_an_earlier_exchange_is_over(tmp_path: Path) -> None:
    project, model = Project(c_project(tmp_path, draw(5))), fast()
    first = await project.ask("what does this project do?", model)
    second = await project.ask("How many .c files are there?", model, first.messages)
    assert second.names == ["find"]
    assert "**1 file**" in second.text


async def test_continue_goes_on_with_the_prompt_before(tmp_path: Path) -> None:
    project = Project(c_project(tmp_path, draw(6)))
    prompt = UserMessage(content=(Text(text="How many .c files are there?"),))
    cut = AssistantMessage(content=(Text(text="I"),), stop=StopReason.ABORTED)
    assert "**1 file**" in (await project.ask("continue", history=(prompt, cut))).text


ODD_PROMPTS = {
    "empty": "",
    "blank": " ",
    "mark": "?",
    "nul": "\x00",
    "chinese": "你好，这个项目是什么？",
    "backticks": "`" * 50,
    "open fences": "```\n" * 31,
    "empty items": "-\n" * 1000,
    "one long word": "x" * 100_000,
    "long and quoted": "a 'b \"c `d create (e. " * 5_000,
    "ten thousand lines": "line of a paste\n" * 10_000,
    "the verb again and again": "create " * 20_000,
}


@pytest.mark.parametrize("prompt", ODD_PROMPTS.values(), ids=ODD_PROMPTS)
async def test_any_prompt_gets_an_answer(tmp_path: Path, prompt: str) -> None:
    exchange = await Project(c_project(tmp_path, draw(7))).ask(prompt)
    assert exchange.text.strip()
    assert len(exchange.answers) < 20


@given(st.text(max_size=300))
async def test_any_text_can_be_planned(prompt: str) -> None:
    answer = await answer_of(fast(), request_of(prompt))
    assert answer.stop in (StopReason.TOOL_CALLS, StopReason.COMPLETE)
