"""Rules of resume checkpoints: when none is made, that it is inert, what a later start sends and in which order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import anyio
import anyio.lowlevel
import msgspec
import pytest

from tests.agent.handoffs import FILLER, Player, compact, holds, serving, strings, work
from tests.agent.support import bodies, path_of, said, session, until
from tests.agent.test_followup import BUDGET, LONG, NO, SUMMARY, again, given, grown, sent, settings
from tests.log.kit import Clock
from tests.support.provider import Received, Reply
from tui.agent.events import AnswerDelta, Said
from tui.agent.session import SessionOptions
from tui.context.followup import view_bytes
from tui.context.view import EFFECTS_UNKNOWN
from tui.log import Store
from tui.log.entries import Answer, Body, Checkpoint, Notes, Prompt, Receipt, Result, ResumedFrom, Settled, ToolStarted
from tui.messages import (
    AssistantMessage,
    Attachment,
    Image,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)
from tui.settings import Settings

pytestmark = pytest.mark.anyio

WEEK = 7 * 24 * 3_600_000
CHECKPOINT_VIEW = settings(resume_view="checkpoint")


def with_window(made: SessionOptions, window: int) -> SessionOptions:
    assert made.choice is not None
    return msgspec.structs.replace(made, choice=msgspec.structs.replace(made.choice, window=window))


def sent_text(received: Received) -> str:
    """Return all that a request says, in its order."""
    return "\n".join(strings(received.body["messages"]))


def in_order(text: str, *parts: str) -> bool:
    """Whether each part stands once in the text, one after another."""
    return all(text.count(part) == 1 for part in parts) and sorted(parts, key=text.index) == list(parts)


# --- F1, F2: when one is made


async def test_none_beside_a_handoff_that_is_locked_or_has_no_answer_yet(tmp_path: Path) -> None:
    failing = Player(work(), Reply(calls=(compact("go on"),)), summaries=(NO,))
    with serving(failing) as provider:
        async with session(with_window(given(tmp_path, provider), 32_000)) as (agent, _):
            await said(agent, "Mend it")
            assert agent.compaction.state.phase == "failed"
            assert await agent.saver.save() == "none"
    cut = Reply(text=FILLER, piece=8_000, stop="length")
    unanswered = Player(work(), Reply(calls=(compact("go on"),)), cut, summaries=(Reply(text=SUMMARY),))
    with serving(unanswered) as provider:
        async with session(with_window(given(tmp_path, provider), 32_000)) as (agent, _):
            await said(agent, "Mend it")
            assert agent.compaction.state.phase == "delivered"
            before = len(unanswered.summarised)
            assert await agent.saver.save() == "none"
            assert len(unanswered.summarised) == before


async def test_none_after_an_exchange_that_was_stopped_and_what_waits_stays_out_of_it(tmp_path: Path) -> None:
    player = Player(LONG, Reply(text="half", stop_at=-200, stop_how="silence"), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        async with session(given(tmp_path, provider)) as (agent, events):
            await said(agent, "Mend it")
            await agent.send(UserMessage((Text("more"),)))
            await until(events, lambda event: isinstance(event, AnswerDelta) and event.text == "half")
            assert await agent.saver.save() == "none"  # at work
            await agent.send(UserMessage((Text("later"),)), "follow-up")
            await agent.interrupt()
            assert bodies(await path_of(agent), Settled)[-1].reason == "aborted"
            assert await agent.saver.save() == "none"
            assert [item.text for item in agent.queue] == ["later"]
    assert not player.summarised
    assert not any(holds(received, "later") for received in player.asked)


@pytest.mark.parametrize(("window", "outcome"), [(200_000, "none"), (16_000, "saved")])
async def test_the_budget_is_the_smaller_of_bytes_and_of_what_fits_below_soft(
    tmp_path: Path, window: int, outcome: str
) -> None:
    """240,000 bytes where the window is large; where it is small, what the model has below soft."""
    player = Player(Reply(text="word " * 12_000, piece=8_000), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = with_window(given(tmp_path, provider, settings=Settings()), window)
        assert await grown(made, "Mend it") == outcome


def test_the_bytes_of_an_image_do_not_count() -> None:
    image = Image("0" * 64, "image/png", 4_000, 3_000, 9_000_000)
    words = UserMessage((Text("look " * 100), Attachment("paste", "matter " * 100)))
    size = view_bytes([words])
    assert 1_200 < size < 1_500
    assert view_bytes([msgspec.structs.replace(words, content=(*words.content, image))]) < size + 400
    assert view_bytes([UserMessage((Text("価格" * 100),))]) > 600, "UTF-8, not characters"


class Rest:
    """Passes the wait before a summary at rest whenever it is told to."""

    def __init__(self) -> None:
        self.asked: list[float] = []
        self.ends = anyio.Event()

    async def __call__(self, seconds: float) -> None:
        self.asked.append(seconds)
        await self.ends.wait()
        self.ends = anyio.Event()


async def test_at_rest_one_is_made_where_the_view_grew_by_a_quarter(tmp_path: Path) -> None:
    player = Player(LONG, Reply(text="Little."), LONG, Reply(text="End."), summaries=(Reply(text=SUMMARY),))
    rest = Rest()
    with serving(player) as provider:
        made = given(tmp_path, provider, settings=settings(checkpoint_idle=90), sleep=rest)
        async with session(made) as (agent, events):

            async def rested(prompt: str) -> int:
                """Say something, let the time pass, and return how many summaries there are then."""
                assert await said(agent, prompt) == "answered"
                for _ in range(2):  # what was said while it rested begins the rest anew
                    before = len(rest.asked)
                    rest.ends.set()
                    while len(rest.asked) == before or agent.saver.running:
                        await anyio.lowlevel.checkpoint()
                return len(bodies(await path_of(agent), Checkpoint))

            assert await rested("Mend it") == 1
            assert await rested("A little more") == 1
            assert await rested("Much more") == 2
            assert set(rest.asked) == {90.0}
            told = [event.text for event in events.waiting() if isinstance(event, Said)]
            assert sum("A summary for next time is saved" in text for text in told) == 2


# --- F3: it is inert


async def test_a_later_compaction_covers_all_as_if_there_were_none(tmp_path: Path) -> None:
    player = Player(LONG, LONG, LONG, Reply(text="On."), summaries=(Reply(text=SUMMARY), Reply(text="The other one.")))
    with serving(player) as provider:
        async with session(given(tmp_path, provider)) as (agent, _):
            await said(agent, "Mend it")
            assert await agent.saver.save() == "saved"
            await said(agent, "More")
            await said(agent, "Still more")
            await agent.compaction.compact("")
            resume, manual = bodies(path := await path_of(agent), Checkpoint)
            assert (resume.origin, manual.origin) == ("resume", "manual")
            assert manual.first == path[0].id, "what the inert one covers is covered anew"
            assert "SUMMARY" not in sent_text(player.summarised[-1]), "nothing of it is merged"
            await said(agent, "And now")
    assert holds(player.asked[-1], "The other one.")
    assert not holds(player.asked[-1], SUMMARY)


async def test_the_summary_is_asked_for_once_as_every_compaction_and_is_no_turn_of_the_task(tmp_path: Path) -> None:
    player = Player(LONG, LONG, LONG, summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        async with session(given(tmp_path, provider)) as (agent, _):
            for words in ("Mend it", "More", "Still more"):
                await said(agent, words)
            last = bodies(await path_of(agent), Answer)[-1]
            await agent.saver.save()
            assert bodies(await path_of(agent), Answer)[-1] == last
            assert len(bodies(await path_of(agent), Prompt)) == 3
            await agent.compaction.compact("")
    saved, manual = player.summarised
    assert saved.body["model"] == manual.body["model"] == player.asked[0].body["model"]
    assert saved.body["messages"][0] == manual.body["messages"][0], "the one instruction for summaries"
    assert FILLER[:500] in sent_text(saved)
    assert len(player.asked) == 3


# --- F7 to F11: what a start sends


async def written(tmp_path: Path, groups: Sequence[Sequence[Body]]) -> None:
    """Write a session by a clock of a week ago, each group in one transaction."""
    clock = Clock(Clock().now - WEEK)
    home, cwd = tmp_path / "home", tmp_path / "project"
    async with await Store.open(home, cwd, clock=clock) as store:
        log = await store.create(cwd=str(cwd), first=groups[0])
        for group in groups[1:]:
            clock.now += 1_000
            await log.append(*group)


def prompt(text: str) -> Prompt:
    return Prompt(UserMessage((Text(text),)))


def answer(*content: Text | Thinking | ToolCall) -> Answer:
    stop = StopReason.TOOL_CALLS if any(isinstance(part, ToolCall) for part in content) else StopReason.COMPLETE
    return Answer(AssistantMessage(content, stop))


def exchange(asked: str, answered: str) -> tuple[Body, ...]:
    return prompt(asked), answer(Text(answered)), Settled("answered")


def result(call: str, text: str) -> Result:
    return Result(ToolResult(call, "bash", (Text(text),)))


CALL = ToolCall("c1", "bash", {"command": "make"})


async def test_a_week_later_it_begins_from_the_summary_in_one_fixed_order(tmp_path: Path) -> None:
    """Checkpoint with task and requests, then the newest exchanges that fit, then what is asked now."""
    player = Player(Reply(text="On we go."))
    with serving(player) as provider:
        made = given(tmp_path, provider, settings=CHECKPOINT_VIEW)
        early = [exchange(f"early {n}", f"said {n} " + "words " * 2_000) for n in range(20)]
        await written(tmp_path, [exchange("The task.", "Begun."), *early])
        async with await Store.open(made.home, made.cwd) as store:
            log = await store.session((await store.sessions())[0].id)
            page = await log.page(limit=1_000)
            await log.append(
                Notes("NOTE-7"), Checkpoint("resume", page[0].id, page[-1].id, page[-1].depth, summary=SUMMARY)
            )
            for number in range(3):
                await log.append(prompt(f"late {number}"), answer(Text(f"later {number}")), Settled("answered"))
        async with session(again(made)) as (agent, _):
            assert await said(agent, "what is asked now") == "answered"
            (resumed,) = bodies(await path_of(agent), ResumedFrom)
    text = sent_text(player.asked[-1])
    assert in_order(text, SUMMARY, "NOTE-7", "late 0", "later 0", "late 1", "late 2", "later 2", "what is asked now")
    assert "early 19" not in text, "what a whole checkpoint covers is not sent again"
    assert resumed.gap is None
    assert sent(player.asked[-1]) <= BUDGET


async def test_the_suffix_drops_what_has_no_call_marks_what_has_no_result_and_thinks_no_more(tmp_path: Path) -> None:
    player = Player(Reply(text="On we go."))
    with serving(player) as provider:
        made = given(tmp_path, provider, settings=CHECKPOINT_VIEW)
        await written(tmp_path, [(prompt("The task."), answer(CALL))])
        async with await Store.open(made.home, made.cwd) as store:
            log = await store.session((await store.sessions())[0].id)
            page = await log.page()
            await log.append(Checkpoint("resume", page[0].id, page[-1].id, page[-1].depth, summary=SUMMARY))
            await log.append(result("c1", "ORPHANED OUTPUT"), answer(Thinking("secret"), Text("Seen.")))
            await log.append(Settled("answered"), prompt("only think"), answer(Thinking("deep")), Settled("empty"))
            await log.append(prompt("run it"), answer(Thinking("hm"), ToolCall("c2", "bash", {"command": "boom"})))
            await log.append(ToolStarted("c2", "bash"), Settled("interrupted"))
        async with session(again(made)) as (agent, _):
            await said(agent, "what is asked now")
            (resumed,) = bodies(await path_of(agent), ResumedFrom)
    text = sent_text(player.asked[-1])
    assert "ORPHANED OUTPUT" not in text
    assert resumed.dropped == 1
    assert "1 result(s) are left out" in text
    for thought in ("secret", "deep", "hm"):
        assert thought not in text.split()
    roles = [message["role"] for message in player.asked[-1].body["messages"]]
    think = next(n for n, m in enumerate(player.asked[-1].body["messages"]) if "only think" in json.dumps(m))
    assert roles[think + 1] == "assistant", "a turn of only thinking keeps its place"
    unknown = [m for m in player.asked[-1].body["messages"] if m["role"] == "tool" and m["tool_call_id"]]
    assert len(unknown) == 1
    assert EFFECTS_UNKNOWN in text
    assert not player.asked[-1].problems


@pytest.mark.parametrize(
    "end", [Settled("error"), Settled("interrupted"), Settled("length"), Settled("refusal")], ids=lambda end: end.reason
)
async def test_auto_takes_the_full_view_where_the_newest_exchange_has_no_answer(tmp_path: Path, end: Settled) -> None:
    player = Player(Reply(text="On we go."))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await written(tmp_path, [exchange("The task.", "Begun.")])
        async with await Store.open(made.home, made.cwd) as store:
            log = await store.session((await store.sessions())[0].id)
            page = await log.page()
            await log.append(Checkpoint("resume", page[0].id, page[-1].id, page[-1].depth, summary=SUMMARY))
            await log.append(prompt("EXACT request \t ß"), answer(Text("half")), end)
        async with session(again(made)) as (agent, _):
            assert agent.starting.choice == "full"
        async with session(again(made, settings=CHECKPOINT_VIEW)) as (agent, _):
            await said(agent, "what is asked now")
    assert holds(player.asked[-1], "EXACT request \t ß"), "the newest exchange that ended, however it did"
    assert holds(player.asked[-1], SUMMARY)


async def test_no_receipt_says_more_than_its_reason(tmp_path: Path) -> None:
    """Neither a provider's words nor a summary's get into the log beside a checkpoint."""
    secret = Reply(status=400, body='{"error": {"message": "the key sk-SECRET is bad"}}')
    half = Reply(text="HALF A SUMMARY", stop="length")
    for reply, word in ((secret, "SECRET"), (half, "HALF A SUMMARY")):
        player = Player(LONG, summaries=(reply,))
        with serving(player) as provider:
            async with session(given(tmp_path, provider)) as (agent, _):
                await said(agent, "Mend it")
                await agent.saver.save()
                path = await path_of(agent)
        assert len(bodies(path, Receipt)) == 1
        assert word not in msgspec.json.encode(path).decode()


async def test_a_second_window_sees_the_view_that_was_sent(tmp_path: Path) -> None:
    player = Player(LONG, Reply(text="Second."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        made = given(tmp_path, provider)
        await grown(made, "Mend it")
        async with session(again(made)) as (agent, _):
            await said(agent, "Go on")
            live = agent.requests.view()
            async with session(again(made, held="look")) as (other, _):
                await other.requests.load()
                assert other.requests.view() == live
