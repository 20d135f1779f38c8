"""The summary for next time, and what the next start begins from, over real sessions and both wire protocols."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest

from tests.agent.handoffs import FILLER, Player, holds, serving, strings, wired
from tests.agent.support import bodies, kinds, path_of, said, session
from tests.log.kit import raw
from tests.support.provider import Call, Provider, Received, Reply
from tui.agent.agent import Agent, AgentStoppedError
from tui.agent.events import Said
from tui.agent.session import SessionOptions
from tui.log.entries import Checkpoint, Prompt, Receipt, ReceiptReason, ResumedFrom, Settled
from tui.log.paths import database_file
from tui.messages import Text, UserMessage
from tui.models.base import Model
from tui.settings import Settings

pytestmark = pytest.mark.anyio

SUMMARY = "SUMMARY: the parser was mended, the tests pass."
LONG = Reply(text=FILLER, piece=8_000)
NO = Reply(status=400, body='{"error": {"message": "no"}}')
BUDGET = 60_000


def settings(**more: Any) -> Settings:
    return msgspec.structs.replace(Settings(followup_budget=BUDGET), **more)


def given(tmp_path: Path, provider: Provider, protocol: str = "openai-chat", **more: Any) -> SessionOptions:
    return wired(tmp_path, provider, protocol, window=200_000, **{"settings": settings(), "interactive": False, **more})


def again(made: SessionOptions, **more: Any) -> SessionOptions:
    return msgspec.structs.replace(made, open="newest", **more)


async def grown(made: SessionOptions, *prompts: str) -> str:
    """Make a session with these exchanges and save a summary; return what came of that."""
    async with session(made) as (agent, _):
        for prompt in prompts:
            assert await said(agent, prompt) == "answered"
        return await agent.saver.save()


@asynccontextmanager
async def continued(made: SessionOptions, **more: Any) -> AsyncGenerator[Agent]:
    async with session(again(made, **more)) as (agent, _):
        yield agent


def sent(received: Received) -> int:
    """Bytes of the conversation in a request."""
    messages = [message for message in received.body["messages"] if message.get("role") != "system"]
    return len(msgspec.json.encode(messages))


async def test_a_large_settled_view_is_summarised_and_the_live_view_is_untouched(tmp_path: Path) -> None:
    player = Player(LONG, Reply(text="Short."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        async with session(given(tmp_path, provider)) as (agent, _):
            await said(agent, "Mend the parser")
            before = (agent.requests.view(), agent.usage, agent.requests.latched, agent.requests.checkpoint)
            assert await agent.saver.save() == "saved"
            assert (agent.requests.view(), agent.usage, agent.requests.latched, agent.requests.checkpoint) == before
            made = bodies(await path_of(agent), Checkpoint)
            assert [(body.origin, body.summary, body.kept) for body in made] == [("resume", SUMMARY, "")]
            assert await agent.saver.save() == "none"  # one covers the view
            assert await said(agent, "And now") == "answered"
            assert holds(player.asked[-1], FILLER[:1000])
            assert not holds(player.asked[-1], SUMMARY)
    assert len(player.summarised) == 1


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic"])
async def test_the_next_start_sends_the_summary_the_request_and_no_more(tmp_path: Path, protocol: str) -> None:
    player = Player(LONG, Reply(text="Second."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider, protocol)
        assert await grown(made, "Mend the parser, exactly so: ß漢\n  x") == "saved"
        async with continued(made) as agent:
            assert agent.starting.choice == "bounded"
            await said(agent, "Go on")
            path = await path_of(agent)
    request = player.asked[-1]
    assert holds(request, SUMMARY)
    assert holds(request, "Mend the parser, exactly so: ß漢\n  x")
    assert not holds(request, FILLER[:200])
    assert sent(request) <= BUDGET
    resumed = next(entry for entry in path if isinstance(entry.body, ResumedFrom))
    assert kinds(path)[resumed.depth + 1] == "prompt"
    assert bodies(path, ResumedFrom)[0].gap is None


async def test_the_view_after_it_is_the_same_from_the_same_path(tmp_path: Path) -> None:
    """A second window, a reopening and a branch return read the view that was sent."""
    player = Player(LONG, Reply(text="Second."), Reply(text="Third."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        async with continued(made) as agent:
            await said(agent, "Go on")
            live = agent.requests.view()
            leaf = agent.branch[-1].id
        async with continued(made) as agent:
            assert agent.starting.choice == "full"  # nothing new covers the newest exchange
            await agent.requests.load()
            assert agent.requests.view() == live
            await said(agent, "Once more")
            await agent.move(leaf, lambda _branch: ())
            await agent.requests.load()
            assert agent.requests.view() == live
    assert not holds(player.asked[-1], FILLER[:200])


async def test_auto_takes_the_full_view_after_an_exchange_that_did_not_answer(tmp_path: Path) -> None:
    player = Player(LONG, NO, Reply(text="Now."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        async with continued(made) as agent:
            await said(agent, "This fails")
        async with continued(made) as agent:
            assert agent.starting.choice == "full"
        async with continued(made, settings=settings(resume_view="checkpoint")) as agent:
            assert agent.starting.choice == "bounded"
            await said(agent, "Go on")
    assert holds(player.asked[-1], "This fails")
    assert holds(player.asked[-1], SUMMARY)


async def test_full_is_full_and_a_key_takes_the_other(tmp_path: Path) -> None:
    player = Player(LONG, Reply(text="Second."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        async with continued(made, settings=settings(resume_view="full")) as agent:
            assert agent.starting.choice == "full"
        async with continued(made) as agent:
            assert "full view" in agent.starting.toggle()
            await said(agent, "Go on")
            assert agent.starting.toggle() == ""
    assert holds(player.asked[-1], FILLER[:200])
    assert not holds(player.asked[-1], SUMMARY)


async def test_whole_exchanges_follow_the_checkpoint_and_a_gap_is_named(tmp_path: Path) -> None:
    """The newest checkpoint lies far behind: exchanges that fit are sent whole, the rest is named."""
    turns = [LONG, *(Reply(text=f"answer {number} " + "words " * 3_000) for number in range(6)), Reply(text="Last.")]
    player = Player(*turns, summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        async with continued(made, settings=settings(resume_view="full")) as agent:
            for number in range(6):
                await said(agent, f"prompt {number}")
        async with continued(made, settings=settings(resume_view="checkpoint")) as agent:
            await said(agent, "Go on")
            path = await path_of(agent)
    request, resumed = player.asked[-1], bodies(path, ResumedFrom)[-1]
    shown = [number for number in range(6) if holds(request, f"answer {number} ")]
    assert shown == list(range(shown[0], 6))
    assert shown[0] > 0
    assert [holds(request, f"prompt {number}") for number in range(6)] == [number in shown for number in range(6)]
    assert resumed.gap is not None
    low, high = resumed.gap
    assert holds(request, f"Not shown: entries {low} to {high}.")
    assert path[high + 1].kind == "prompt"
    assert sent(request) <= BUDGET


async def test_the_previous_request_is_exact_where_its_exchange_does_not_fit(tmp_path: Path) -> None:
    asked = 'the exact request: \t tabs, 日本語, "quotes"'
    player = Player(LONG, Reply(text=FILLER * 2, piece=8_000), Reply(text="Last."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        async with continued(made, settings=settings(resume_view="full")) as agent:
            await said(agent, asked)
        async with continued(made, settings=settings(resume_view="checkpoint")) as agent:
            await said(agent, "Go on")
            assert bodies(await path_of(agent), ResumedFrom)[-1].request is not None
    assert holds(player.asked[-1], f"PREVIOUS REQUEST (preserved verbatim; the newest one before this start):\n{asked}")
    assert sent(player.asked[-1]) <= BUDGET


async def test_without_any_checkpoint_the_task_and_the_newest_exchanges_stand_alone(tmp_path: Path) -> None:
    turns = [Reply(text=f"answer {number} " + "words " * 3_000) for number in range(6)]
    player = Player(*turns, Reply(text="Last."))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        async with session(made) as (agent, _):
            for number in range(6):
                await said(agent, f"prompt {number}")
        async with continued(made, settings=settings(resume_view="checkpoint")) as agent:
            await said(agent, "Go on")
            await agent.requests.load()
            view = agent.requests.view()
        async with continued(made) as agent:
            await agent.requests.load()
            assert agent.requests.view() == view
    assert holds(player.asked[-1], "ORIGINAL TASK (preserved verbatim):\nprompt 0")
    assert not holds(player.asked[-1], "answer 0")
    assert holds(player.asked[-1], "answer 5")
    assert sent(player.asked[-1]) <= BUDGET


async def test_what_must_be_sent_over_the_budget_is_refused_and_nothing_is_sent(tmp_path: Path) -> None:
    player = Player(LONG, Reply(text="Now."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        requests = len(player.asked)
        async with session(again(made)) as (agent, events):
            await agent.send(UserMessage((Text("x" * BUDGET),)))
            settled = await agent.settled()
            assert settled.reason == "needs-person"
            assert "--resume-view full" in settled.detail
            assert "--resume-budget" in settled.detail
            assert any(isinstance(event, Said) and "Nothing was sent" in event.text for event in events.waiting())
            assert len(player.asked) == requests
            assert not bodies(await path_of(agent), ResumedFrom)
            agent.starting.toggle()
            assert await said(agent, "x" * BUDGET) == "answered"
        assert holds(player.asked[-1], FILLER[:200])


@pytest.mark.parametrize("kind", ["prompt", "checkpoint"])
async def test_a_damaged_request_or_checkpoint_is_refused(tmp_path: Path, kind: str) -> None:
    player = Player(LONG, summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        with raw(database_file(made.home, made.cwd)) as db:
            db.execute("UPDATE entry SET body=x'7b' WHERE kind = ?", (kind,))
        async with continued(made, settings=settings(resume_view="checkpoint")) as agent:
            assert await said(agent, "Go on") == "needs-person"
            assert f"The {'previous request' if kind == 'prompt' else kind}" in agent.loop.last.detail
    assert len(player.asked) == 1


async def test_damage_elsewhere_is_a_gap(tmp_path: Path) -> None:
    player = Player(LONG, Reply(text="two"), Reply(text="three"), Reply(text="four"), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        async with continued(made, settings=settings(resume_view="full")) as agent:
            await said(agent, "second")
            await said(agent, "third")
            path = await path_of(agent)
        prompts = [entry.depth for entry in path if isinstance(entry.body, Prompt)]
        with raw(database_file(made.home, made.cwd)) as db:
            db.execute("UPDATE entry SET body=x'7b' WHERE (key & 0xffffffff) = ?", (prompts[1],))
        async with continued(made, settings=settings(resume_view="checkpoint")) as agent:
            await said(agent, "Go on")
            resumed = bodies(await path_of(agent), ResumedFrom)[-1]
    assert resumed.gap is not None
    assert resumed.gap[1] >= prompts[1]
    assert holds(player.asked[-1], "third")


REFUSALS: dict[str, tuple[Reply, ReceiptReason]] = {
    "empty": (Reply(text=" "), "empty"),
    "truncated": (Reply(text="half", stop="length"), "truncated"),
    "tool call": (Reply(text="", calls=(Call("bash", "{}"),)), "tool-call"),
    "too long": (Reply(text="x" * 60_000, piece=8_000), "byte-bound"),
    "server": (NO, "provider-failure"),
}


@pytest.mark.parametrize("case", REFUSALS)
async def test_what_is_not_accepted_leaves_a_receipt_and_nothing_else(tmp_path: Path, case: str) -> None:
    reply, reason = REFUSALS[case]
    player = Player(LONG, summaries=(reply,))
    with serving(player) as provider:
        async with session(given(tmp_path, provider)) as (agent, _):
            await said(agent, "Mend it")
            before = await path_of(agent)
            assert await agent.saver.save() == reason
            after = await path_of(agent)
            prompt = next(entry for entry in after if isinstance(entry.body, Prompt))
            assert after[len(before) :][0].body == Receipt(prompt.id, reason)
            assert len(after) == len(before) + 1


async def test_too_small_unanswered_or_switched_off_makes_none(tmp_path: Path) -> None:
    player = Player(Reply(text="Short."), NO, LONG, LONG)
    with serving(player) as provider:
        async with session(given(tmp_path, provider)) as (agent, _):
            assert await agent.saver.save() == "none"
            await said(agent, "one")
            assert await agent.saver.save() == "none"
            await said(agent, "two")
            assert await agent.saver.save() == "none"
        for off in (settings(compaction="off"), settings(resume_view="full")):
            async with session(given(tmp_path, provider, settings=off)) as (agent, _):
                await said(agent, "Mend it")
                assert await agent.saver.save() == "none"
    assert player.summarised == []


@pytest.mark.parametrize("how", ["stop", "deadline"])
async def test_a_stopped_summary_is_cancelled_and_the_answer_stands(tmp_path: Path, how: str) -> None:
    player = Player(LONG, Reply(text="More."), summaries=(Reply(text="never", hold=True),))
    with serving(player) as provider:
        async with session(given(tmp_path, provider)) as (agent, _):
            await said(agent, "Mend it")
            outcomes: list[str] = []

            async def saving() -> None:
                outcomes.append(await agent.saver.save(0.05 if how == "deadline" else None))

            async with anyio.create_task_group() as group:
                group.start_soon(saving)
                if how == "stop":
                    while not player.summarised:
                        await anyio.lowlevel.checkpoint()
                    agent.saver.stop()
            path = await path_of(agent)
            assert outcomes == ["cancelled" if how == "stop" else "timeout"]
            assert bodies(path, Receipt)[0].reason == outcomes[0]
            assert bodies(path, Checkpoint) == []
            assert bodies(path, Settled)[-1].reason == "answered"
            assert await said(agent, "More") == "answered"


async def test_files_changed_on_disk_are_named_at_the_start(tmp_path: Path) -> None:
    read = Reply(calls=(Call("read", '{"path": "notes.txt"}'),))
    player = Player(read, LONG, Reply(text="Second."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        file = made.cwd / "notes.txt"
        file.write_text("before")
        await grown(made, "Read it")
        file.write_text("after")
        async with continued(made) as agent:
            await said(agent, "Go on")
    named = [text for text in strings(player.asked[-1].body["messages"]) if "Files changed on disk" in text]
    assert named
    assert str(file.resolve()) in named[0]


async def test_the_notepad_comes_back_after_a_resume_and_after_a_checkpoint(tmp_path: Path) -> None:
    write = Reply(calls=(Call("write_notes", '{"text": "NOTE: the key is 7"}'),))
    player = Player(write, LONG, Reply(text="Second."), LONG, Reply(text="Third."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        async with continued(made) as agent:
            await said(agent, "Go on")
            assert holds(player.asked[-1], "YOUR NOTES (written with write_notes; verbatim):\nNOTE: the key is 7")
            await said(agent, "More")
            await agent.compaction.compact("")
            await said(agent, "After a checkpoint")
    assert holds(player.asked[-1], "YOUR NOTES (written with write_notes; verbatim):\nNOTE: the key is 7")


async def test_a_summary_that_does_not_end_is_unconfirmed_and_nothing_more_is_sent(tmp_path: Path) -> None:
    """Its connection cannot be seen to close: the answer is kept, and no prompt follows in this process."""
    player = Player(LONG, summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        async with session(given(tmp_path, provider, settings=settings(shutdown_grace=1))) as (agent, _):
            await said(agent, "Mend it")
            stuck = Stuck(agent.model)
            await agent.use_model(stuck)
            outcome = await agent.saver.save(0.05)
            assert outcome == "unconfirmed"
            assert bodies(await path_of(agent), Receipt)[-1].reason == "unconfirmed"
            with pytest.raises(AgentStoppedError, match="start clew again"):
                await said(agent, "More")
            stuck.ends.set()


class Stuck:
    """A model whose answers neither come nor let themselves be cancelled until told."""

    def __init__(self, other: Model) -> None:
        self.info = other.info
        self.ends = anyio.Event()

    @asynccontextmanager
    async def stream(self, request: Any) -> AsyncGenerator[AsyncIterator[Any]]:
        assert request.messages
        with anyio.CancelScope(shield=True):
            await self.ends.wait()
        yield _nothing()

    async def aclose(self) -> None:
        """Nothing is open."""


async def _nothing() -> AsyncIterator[Any]:
    for event in ():
        yield event
