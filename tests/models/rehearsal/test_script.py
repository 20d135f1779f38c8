"""Scripts: what is written is what comes, once each, when its moment has come."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.models.rehearsal.drive import answer_of, counter, events_of
from tests.models.rehearsal.test_model import request_of
from tui.messages import StopReason, Usage
from tui.models.base import BadRequest, ContextTooLong, ModelError, RateLimited, StreamDropped, TextDelta
from tui.models.rehearsal import RehearsalModel, ScriptError, load_script

pytestmark = pytest.mark.anyio


def scripted(tmp_path: Path, text: str, slept: list[float] | None = None) -> RehearsalModel:
    path = tmp_path / "script.toml"
    path.write_text(text)
    waited: list[float] = [] if slept is None else slept

    async def sleep(seconds: float) -> None:
        waited.append(seconds)

    return RehearsalModel(pace=0, script=load_script(path), sleep=sleep, ids=counter())


async def test_answers_come_in_order_and_then_it_plans(tmp_path: Path) -> None:
    model = scripted(
        tmp_path,
        """
        [[answer]]
        thinking = "hm"
        text = "one"
        calls = [{ name = "ls", arguments = { path = "x" } }]
        usage = { input = 7, output = 3 }
        [[answer]]
        text = "two "
        times = 3
        stop = "length"
        """,
    )
    first = await answer_of(model, request_of("hi"))
    assert first.text == "one"
    assert [(call.name, call.arguments) for call in first.calls] == [("ls", {"path": "x"})]
    assert first.usage == Usage(input=7, output=3)
    assert first.stop is StopReason.TOOL_CALLS
    second = await answer_of(model, request_of("hi"))
    assert (second.text, second.stop) == ("two two two ", StopReason.LENGTH)
    assert (await answer_of(model, request_of("hi"))).calls


async def test_conditions_choose(tmp_path: Path) -> None:
    model = scripted(
        tmp_path,
        """
        otherwise = "stop"
        [[answer]]
        text = "for bees"
        when = { prompt = "bees?", number = 1 }
        [[answer]]
        text = "hard"
        repeat = true
        when = { guidance = "hard" }
        """,
    )
    assert (await answer_of(model, request_of("x", guidance="hard now"))).text == "hard"
    assert (await answer_of(model, request_of("a bee"))).text == "for bees"
    assert (await answer_of(model, request_of("a bee", guidance="hard"))).text == "hard"
    with pytest.raises(BadRequest, match="script has no answer"):
        await events_of(model, request_of("a bee"))


async def test_errors_are_typed(tmp_path: Path) -> None:
    slept: list[float] = []
    model = scripted(
        tmp_path,
        """
        [[answer]]
        error = { type = "rate_limited", message = "Slow.", retry_after = 2.5, status = 429 }
        delay = 0.5
        [[answer]]
        text = "half of"
        error = { type = "dropped" }
        [[answer]]
        error = { type = "context_too_long", limit = 99 }
        """,
        slept,
    )
    with pytest.raises(RateLimited, match="Slow") as caught:
        await events_of(model, request_of("a"))
    assert (caught.value.retry_after, caught.value.status) == (2.5, 429)
    assert 0.5 in slept
    assert await _until_error(model) == ("half of", StreamDropped)
    with pytest.raises(ContextTooLong) as long:
        await events_of(model, request_of("a"))
    assert long.value.limit == 99


async def _until_error(model: RehearsalModel) -> tuple[str, type[ModelError]]:
    said = ""
    async with model.stream(request_of("a")) as stream:
        try:
            async for event in stream:
                said += event.text if isinstance(event, TextDelta) else ""
        except ModelError as error:
            return said, type(error)
    raise AssertionError("no error came")


@pytest.mark.parametrize(
    "text",
    [
        "[[answer]]\ntxt = 'x'",
        "answer = 3",
        "[[answer",
        "[[answer]]\nwhen = { prompt = '(' }",
        "[[answer]]\nstop = 'no'",
        "\xff",
    ],
)
def test_a_bad_script_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ScriptError, match=r"bad\.toml"):
        load_script(path)


def test_a_missing_script_is_named(tmp_path: Path) -> None:
    with pytest.raises(ScriptError, match="cannot be read"):
        load_script(tmp_path / "none.toml")
