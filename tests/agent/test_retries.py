"""Requests that fail: what is tried again, what is kept, what a person is told; over real HTTP, with no real waits."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Literal

import anyio.lowlevel
import msgspec
import pytest

from tests.agent.support import bash, bodies, options, path_of, said, session, texts, until
from tests.support.provider import Call, Provider, Reply
from tui.agent.agent import Agent
from tui.agent.events import RetryWaiting, UsageChanged
from tui.agent.session import SessionOptions
from tui.log.entries import Answer, Entry, Result, Settled
from tui.messages import Image, StopReason, Text, UserMessage
from tui.models.factory import ModelChoice, open_model
from tui.models.retry import MAX_ATTEMPTS
from tui.settings import Settings

pytestmark = pytest.mark.anyio
FINE = Reply(text="fine")


class Waits:
    """Lets every wait pass at once, and keeps how long each would have been."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    async def __call__(self, seconds: float) -> None:
        self.seconds.append(seconds)
        await anyio.lowlevel.checkpoint()


def refusal(status: int, message: str, **headers: str) -> Reply:
    error = {"type": "error", "error": {"message": message, "type": "some_error"}}
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status=status, headers=named, body=json.dumps(error))


async def exchange(tmp_path: Path, provider: Provider, **more: Any) -> tuple[list[Entry], list[float]]:
    """Return the path of a session with one exchange, and the waits it made."""
    waits = Waits()
    async with provider, session(options(tmp_path, provider, sleep=waits, **more)) as (agent, _):
        await said(agent, "hi")
        return await path_of(agent), waits.seconds


def ends(path: list[Entry]) -> list[str]:
    return [settled.reason for settled in bodies(path, Settled)]


def stops(path: list[Entry]) -> list[StopReason]:
    return [answer.message.stop for answer in bodies(path, Answer)]


async def test_what_the_server_asks_for_is_waited_and_shown(tmp_path: Path) -> None:
    waits = Waits()
    limited = refusal(429, "slow down", retry_after="7")
    async with (
        Provider(limited, FINE) as provider,
        session(options(tmp_path, provider, sleep=waits)) as (agent, events),
    ):
        assert await said(agent, "hi") == "answered"
        shown = await until(events, lambda event: isinstance(event, RetryWaiting))
        path = await path_of(agent)
    assert waits.seconds == [shown.seconds]
    assert 7 <= shown.seconds <= 8
    assert "slow down" in shown.reason
    assert (shown.attempt, shown.of) == (1, MAX_ATTEMPTS)
    assert stops(path) == [StopReason.COMPLETE], "a request that gave nothing leaves nothing"
    assert provider.requests[0].raw == provider.requests[1].raw


@pytest.mark.parametrize(
    "broken",
    [
        refusal(500, "oops"),
        refusal(529, "overloaded"),
        Reply(text="never seen", stop_at=0, stop_how="fin"),
        Reply(text="never seen", stop_at=0, stop_how="rst"),
    ],
)
async def test_what_broke_before_the_first_token_is_tried_again(broken: Reply, tmp_path: Path) -> None:
    path, waits = await exchange(tmp_path, Provider(broken, broken, FINE))
    assert ends(path) == ["answered"]
    assert stops(path) == [StopReason.COMPLETE]
    assert len(waits) == 2
    assert 0.5 <= waits[0] <= 1 <= waits[1] <= 2, "each wait is longer, with chance in it"


async def test_a_server_that_says_nothing_is_asked_again_after_the_seconds_that_are_set(tmp_path: Path) -> None:
    provider = Provider(Reply(text="x", hold=True), FINE)
    path, waits = await exchange(tmp_path, provider, settings=Settings(model_idle=1))
    assert (ends(path), len(provider.requests), len(waits)) == (["answered"], 2, 1)


async def test_it_is_tried_so_often_and_no_more(tmp_path: Path) -> None:
    provider = Provider(refusal(503, "down for the day"), repeat_last=True)
    path, waits = await exchange(tmp_path, provider)
    assert ends(path) == ["error"]
    assert "down for the day" in bodies(path, Settled)[0].detail
    assert bodies(path, Settled)[0].detail.endswith(f"Tried {MAX_ATTEMPTS} times.")
    assert (len(provider.requests), len(waits)) == (MAX_ATTEMPTS, MAX_ATTEMPTS - 1)


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (refusal(401, "bad key"), "wants a key, and none was sent: bad key"),
        (refusal(402, "no money"), "No quota or credit left"),
        (refusal(429, "You exceeded your current quota, see your billing details"), "No quota or credit left"),
        (refusal(400, "temperature must be positive"), "temperature must be positive"),
        (refusal(404, "The model `scripted` does not exist"), "does not know this model"),
        (Reply(body="<html>welcome</html>", headers={"content-type": "text/html"}), "web page"),
    ],
)
async def test_what_waiting_cannot_mend_is_said_once(reply: Reply, told: str, tmp_path: Path) -> None:
    provider = Provider(reply, FINE)
    path, waits = await exchange(tmp_path, provider)
    assert ends(path) == ["error"]
    assert told in bodies(path, Settled)[0].detail
    assert (len(provider.requests), waits, stops(path)) == (1, [], [])


@pytest.mark.parametrize("how", ["fin", "rst", "end"])
async def test_a_stream_lost_after_text_keeps_the_text_and_is_a_persons_to_repeat(how: Any, tmp_path: Path) -> None:
    provider = Provider(Reply(text="half an answer", stop_at=500, stop_how=how), FINE)
    path, waits = await exchange(tmp_path, provider)
    answer = bodies(path, Answer)[0].message
    assert (ends(path), stops(path), waits) == (["error"], [StopReason.DROPPED], [])
    assert "already come and is kept" in bodies(path, Settled)[0].detail
    assert answer.text
    assert "half an answer".startswith(answer.text)
    assert answer.error
    assert len(provider.requests) == 1


async def test_no_call_of_a_lost_answer_runs(tmp_path: Path) -> None:
    lost = Reply(text="I run it.", calls=(bash("touch ran"),), stop="-")
    path, _ = await exchange(tmp_path, Provider(lost, FINE))
    assert not bodies(path, Result)
    assert not (tmp_path / "project" / "ran").exists()


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic"])
async def test_an_error_inside_the_stream_keeps_what_came_and_is_tried_again(protocol: str, tmp_path: Path) -> None:
    error = {"type": "overloaded_error", "message": "too busy"}
    provider = Provider(Reply(text="the first half", error=error), FINE)
    waits = Waits()
    async with provider:
        given = options(tmp_path, provider, sleep=waits)
        if protocol == "anthropic":
            given = _with(given, ModelChoice("anthropic", "claude-scripted", provider.base_url, 32_000))
        async with session(given) as (agent, _):
            assert await said(agent, "hi") == "answered"
            path = await path_of(agent)
    first, second = [answer.message for answer in bodies(path, Answer)]
    assert (first.text, first.stop) == ("the first half", StopReason.ERROR)
    assert "too busy" in first.error
    assert (second.text, second.stop) == ("fine", StopReason.COMPLETE)
    assert len(waits.seconds) == 1


def _with(given: SessionOptions, choice: ModelChoice) -> SessionOptions:
    return msgspec.structs.replace(given, choice=choice)


@pytest.mark.parametrize(
    ("protocol", "word"),
    [("openai-chat", "content_filter"), ("anthropic", "refusal"), ("openai-responses", "content_filter")],
)
async def test_a_refusal_without_a_word_is_told_with_a_way_out_and_not_tried_again(
    protocol: Literal["openai-chat", "anthropic", "openai-responses"], word: str, tmp_path: Path
) -> None:
    provider = Provider(Reply(stop=word), Reply(stop=word), FINE)
    async with provider:
        base = provider.base_url if protocol == "anthropic" else f"{provider.base_url}/v1"
        given = _with(options(tmp_path, provider), ModelChoice(protocol, "scripted", base, 32_000))
        async with session(given) as (agent, _):
            assert await said(agent, "first") == "refusal"
            assert await said(agent, "second") == "refusal"
            assert len(provider.requests) == 2, "each is asked once"
            assert await said(agent, "third") == "answered"
            path = await path_of(agent)
    told = [settled.detail for settled in bodies(path, Settled)]
    assert told[0] == told[1]
    assert "in other words" in told[0]
    assert provider.requests[2].problems == []


async def test_an_empty_answer_is_asked_for_once_more_and_then_told(tmp_path: Path) -> None:
    provider = Provider(Reply(text=""), Reply(text=""), FINE)
    path, _ = await exchange(tmp_path, provider)
    assert (ends(path), len(provider.requests)) == (["empty"], 2)
    assert "2 times" in bodies(path, Settled)[0].detail


async def test_an_answer_after_an_empty_one_is_taken(tmp_path: Path) -> None:
    path, _ = await exchange(tmp_path, Provider(Reply(text=""), FINE))
    assert ends(path) == ["answered"]


async def test_too_long_for_the_window_ends_it_where_nothing_can_be_compacted(tmp_path: Path) -> None:
    waits = Waits()
    long = refusal(400, "This model's maximum context length is 6000 tokens. However, you requested 9000 tokens.")
    async with (
        Provider(long, FINE) as provider,
        session(options(tmp_path, provider, sleep=waits)) as (agent, events),
    ):
        assert await said(agent, "hi") == "context-full"
        usage = await until(events, lambda event: isinstance(event, UsageChanged) and event.window == 6_000)
        assert usage.window == 6_000, "what the server named lowers what was assumed"
        assert agent.model_info.window == 6_000
        assert waits.seconds == []
        assert len(provider.requests) == 1


async def test_one_prompt_too_large_with_nothing_to_compact_is_kept_and_not_sent(tmp_path: Path) -> None:
    """The configuration is valid; what the window holds is instructions and the prompt itself."""
    async with Provider(FINE, FINE) as provider:
        given = options(tmp_path, provider, window=10_000)
        (given.cwd / "AGENTS.md").write_text("word " * 3_500)
        async with session(given) as (agent, _):
            assert agent.usage.thresholds is not None, "the configuration is valid"
            assert await said(agent, "word " * 5_500) == "context-full"
            assert provider.requests == []
            detail = bodies(await path_of(agent), Settled)[0].detail
            assert "nothing left to compact" in detail
            assert "larger window" in detail
            larger = ModelChoice("openai-chat", "scripted", f"{provider.base_url}/v1", 32_000)
            await agent.use_model(open_model(larger, {}))
            assert await said(agent, "and now?") == "answered"
    assert "word word word" in texts(provider.requests[0]), "it was kept, and goes with the next"


async def test_a_larger_figure_than_is_known_does_not_raise_the_window(tmp_path: Path) -> None:
    long = refusal(400, "This model's maximum context length is 900000 tokens. However, you requested 9000 tokens.")
    async with Provider(long) as provider, session(options(tmp_path, provider)) as (agent, _):
        assert await said(agent, "hi") == "context-full"
        assert agent.model_info.window == 32_000


PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de"
    "0000000c49444154789c63f8cfc0000003010100c9fe92ef0000000049454e44ae426082"
)


async def test_a_rejected_image_is_left_out_once_and_the_request_repeated(tmp_path: Path) -> None:
    provider = Provider(
        Reply(calls=(Call("read", '{"path": "dot.png"}'),)), refusal(400, "image_url could not be processed"), FINE
    )
    waits = Waits()
    async with provider:
        given = options(tmp_path, provider, sleep=waits)
        given = _with(given, ModelChoice("openai-chat", "gpt-5-scripted", f"{provider.base_url}/v1", 32_000))
        (given.cwd / "dot.png").write_bytes(PNG)
        async with session(given) as (agent, _):
            assert agent.model_info.images
            assert await said(agent, "look") == "answered"
            path = await path_of(agent)
            image = next(part for part in bodies(path, Result)[0].message.content if isinstance(part, Image))
            assert image.media_type == "image/png", "the log keeps it"
    assert "image_url" in texts(provider.requests[1])
    assert "data:image" not in texts(provider.requests[2])
    assert len(provider.requests) == 3
    assert waits.seconds == []


async def test_a_second_rejection_is_told(tmp_path: Path) -> None:
    rejected = refusal(400, "image_url could not be processed")
    path, waits = await exchange(tmp_path, Provider(rejected, rejected, FINE))
    assert (ends(path), waits) == (["error"], [])
    assert "rejected an image" in bodies(path, Settled)[0].detail


async def test_a_retry_goes_to_the_model_that_was_chosen_meanwhile(tmp_path: Path) -> None:
    """The next attempt is a request like any other: built anew, from the log as it is then."""
    async with Provider(FINE) as other, Provider(refusal(503, "busy")) as first:

        async def choose(_seconds: float) -> None:
            choice = ModelChoice("openai-chat", "other", f"{other.base_url}/v1", 32_000)
            await agents[0].use_model(open_model(choice, {}))

        agents: list[Agent] = []
        async with session(options(tmp_path, first, sleep=choose)) as (agent, _):
            agents.append(agent)
            await agent.send(UserMessage((Text("hi"),)))
            assert (await agent.settled()).reason == "answered"
            assert bodies(await path_of(agent), Answer)[-1].message.model == "other"
