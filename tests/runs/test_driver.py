"""A run in a session: R2, R5 to R14 and R16 with a scripted model, real checks and a real log."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import msgspec
import pytest

from tests.agent.handoffs import compact, holds
from tests.agent.support import bodies, path_of, said
from tests.runs.support import (
    Hands,
    begun,
    call,
    card_texts,
    cards,
    driven,
    plan_of,
    ready,
    repository,
    resumed,
    run_options,
    serving,
    state_of,
    statuses,
)
from tests.support.provider import Provider, Received, Reply
from tui.agent.session import open_session
from tui.log.entries import Prompt, Result, Settled, TaskSet
from tui.messages import Text, UserMessage
from tui.runs.opening import begin_run, look_before_resume, look_before_start
from tui.runs.plan import Bounds, Plan, PlanItem
from tui.runs.state import Answered, Reviewed
from tui.runs.stored import replay

pytestmark = pytest.mark.anyio


async def test_a_list_is_worked_through_and_every_item_is_verified(tmp_path: Path) -> None:
    repository(tmp_path)
    hands = Hands()
    async with serving(hands) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        state = await begun(driver, plan_of(3))
        assert (state.status, statuses(state)) == ("complete", ["accepted"] * 3)
        assert hands.items == [1, 2, 3]
        assert await cards(agent) == ["started", "accepted", "accepted", "accepted", "complete"]
        path = await path_of(agent)
        dispatched = [prompt for prompt in bodies(path, Prompt) if prompt.origin == "dispatch"]
        assert len(dispatched) == 3
        for item in state.items:
            (evidence,) = item.evidence
            assert (evidence.verdict, evidence.exit, item.attempts) == ("pass", 0, 1)
            assert evidence.at > 1_600_000_000_000
            assert item.turns == 3


async def test_the_message_carries_the_whole_protocol(tmp_path: Path) -> None:
    hands = Hands()
    plan = plan_of(2)
    async with serving(hands) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        await begun(driver, plan)
        path = await path_of(agent)
    first = next(prompt.message.authored for prompt in bodies(path, Prompt) if prompt.origin == "dispatch")
    for part in ("RUN ITEM 1 of 2 (the list)", "make item-1", "$ test -e item-1", "item_ready", "Do not touch"):
        assert part in first
    (task,) = bodies(path, TaskSet)
    assert task.origin == "plan"
    assert "2. make item-2" in task.text


async def test_state_and_events_in_the_database_are_one(tmp_path: Path) -> None:
    async with serving(Hands()) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        await begun(driver, plan_of(2))
        run = driver.book.run
        assert run is not None
        row = await agent.journal.log.runs.find(run.id)
        events = await agent.journal.log.runs.events(run.id)
        assert row is not None
        assert msgspec.json.encode(run.state) == row.state
        assert replay(run.plan, [event.event for event in events]) == run.state
        assert row.seq == len(events) == events[-1].seq


async def test_item_ready_is_declared_always_and_does_nothing_outside_a_run(tmp_path: Path) -> None:
    async with Provider(ready(), Reply(text="oh")) as provider, open_session(run_options(tmp_path, provider)) as agent:
        assert await said(agent, "go") == "answered"
        (result,) = bodies(await path_of(agent), Result)
        assert result.message.is_error
        assert "No run is active" in result.message.text
        names = [tool["function"]["name"] for tool in provider.requests[0].body["tools"]]
        assert "item_ready" in names


async def test_a_first_failure_goes_back_with_the_output_and_a_second_blocks(tmp_path: Path) -> None:
    hands = Hands({2: ["echo no", "echo still no", "touch item-2"]})
    plan = Plan("p", (*plan_of(2).items[:1], PlanItem("make item-2", (("sh", "failing.sh"),))))
    project = repository(tmp_path)
    (project / "failing.sh").write_text("echo it is missing >&2\ntest -e item-2\n")
    async with serving(hands) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        state = await begun(driver, plan)
        assert (state.status, statuses(state)) == ("blocked", ["accepted", "blocked"])
        assert state.items[1].attempts == 2
        assert hands.items == [1, 2, 2]
        assert "it is missing" in json.dumps(hands.asked[-3].body)
        assert (await cards(agent))[-2:] == ["failed", "blocked"]
        (question,) = await card_texts(agent, "blocked")
        assert "/run retry" in question
        assert await driver.answer(Answered("retry", "make it with touch"))
        await agent.settled()
        assert (state_of(driver).status, statuses(state_of(driver))) == ("complete", ["accepted", "accepted"])
        assert "make it with touch" in json.dumps(hands.asked[-1].body)


async def test_a_blocked_item_is_skipped_and_the_report_calls_it_out(tmp_path: Path) -> None:
    hands = Hands({1: ["echo no", "echo no"]})
    async with serving(hands) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        await begun(driver, plan_of(2))
        assert await driver.answer(Answered("skip"))
        await agent.settled()
        assert statuses(state_of(driver)) == ["skipped", "accepted"]
        (done,) = await card_texts(agent, "complete")
        assert "skipped: 1" in done


async def test_an_item_that_gets_nowhere_is_given_once_more_then_the_run_is_wedged(tmp_path: Path) -> None:
    repository(tmp_path)
    hands = Hands({1: ["true", "true", "touch item-1"]}, says_ready=False)
    async with serving(hands) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        state = await begun(driver, plan_of(1))
        assert (state.status, state.why) == ("paused", "wedged")
        assert hands.items == [1, 1]
        assert len(await card_texts(agent, "paused")) == 1
        hands.says_ready = True
        assert (await resumed(driver)).status == "complete"


async def test_a_message_suspends_and_a_restart_does_not_lift_it(tmp_path: Path) -> None:
    hands = Hands({1: ["touch item-1"]})
    given = run_options(tmp_path, None)
    async with serving(hands) as provider:
        given = run_options(tmp_path, provider)
        async with driven(given) as (agent, driver):
            wrote = False

            async def write() -> None:
                await agent.send(UserMessage((Text("wait, what is this?"),)))

            events = agent.subscribe()
            plan = plan_of(2)

            assert not await begin_run(driver, await look_before_start(driver, plan), "")
            async for event in events:
                if not wrote and type(event).__name__ == "AnswerStarted":
                    wrote = True
                    await write()
                if wrote and agent.idle:
                    break
            await agent.settled()
            state = state_of(driver)
            assert state.suspended == "You wrote a message."
            assert (await cards(agent)).count("suspended") == 1
            session = agent.session_id
            dispatched = len(hands.items)
        again = msgspec.structs.replace(given, open="id", session_id=session)
        async with driven(again) as (agent, driver):
            await agent.settled()
            assert not driver.book.armed
            assert state_of(driver).suspended
            assert len(hands.items) == dispatched
            assert await said(agent, "and now?") == "answered"
            assert len(hands.items) == dispatched
            assert (await resumed(driver)).status == "complete"


async def test_escape_suspends_and_a_resume_sends_the_whole_message_again(tmp_path: Path) -> None:
    def hold(received: Received) -> Reply:
        return (
            Reply(text="slow answer", hold=True) if len(asked) == 0 and not asked.append(received) else hands(received)
        )

    asked: list[Received] = []
    hands = Hands()
    async with serving(hold) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        assert not await begin_run(driver, await look_before_start(driver, plan_of(1)), "")
        await provider.request(0)
        await agent.interrupt()
        assert state_of(driver).suspended == "You stopped the agent."
        assert bodies(await path_of(agent), Settled)[-1].reason == "aborted"
        assert (await resumed(driver)).status == "complete"
        sent = [p.message.authored for p in bodies(await path_of(agent), Prompt) if p.origin == "dispatch"]
        assert len(sent) == 2
        assert sent[0] == sent[1]


async def test_a_bound_pauses_and_a_resume_goes_on(tmp_path: Path) -> None:
    async with serving(Hands()) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        state = await begun(driver, plan_of(2, bounds=Bounds(max_items=1)))
        assert (state.status, state.why, state.detail) == ("paused", "bound", "1 items are done: the bound is 1.")
        assert await card_texts(agent, "paused") == ["Run paused: 1 items are done: the bound is 1."]
        assert (await resumed(driver)).status == "complete"


async def test_turns_are_bounded_while_an_exchange_runs(tmp_path: Path) -> None:
    def busy(received: Received) -> Reply:

        return Reply(calls=(call("bash", command=f"echo {len(received.messages)}"),))

    async with serving(busy) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        state = await begun(driver, plan_of(1, bounds=Bounds(max_turns_per_item=3)))
        assert (state.status, state.why) == ("paused", "bound")
        assert state.items[0].turns == 3
        assert bodies(await path_of(agent), Settled)[-1].reason == "bound"


async def test_pausing_stops_the_exchange_and_stopping_lets_it_end(tmp_path: Path) -> None:
    def hold(received: Received) -> Reply:
        asked.append(received)
        return Reply(text="slow answer", hold=True) if len(asked) == 1 else hands(received)

    asked: list[Received] = []
    hands = Hands()
    async with serving(hold) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        assert not await begin_run(driver, await look_before_start(driver, plan_of(2)), "")
        await provider.request(0)
        await driver.pause()
        assert (state_of(driver).status, state_of(driver).why) == ("paused", "person")
        assert agent.idle
        assert bodies(await path_of(agent), Settled)[-1].reason == "aborted"
        state = await resumed(driver)
        assert state.status == "complete"


async def test_a_failed_exchange_pauses_with_its_reason(tmp_path: Path) -> None:
    async with (
        Provider(Reply(status=400, body='{"error": {"message": "no such thing"}}')) as provider,
        driven(run_options(tmp_path, provider)) as (agent, driver),
    ):
        state = await begun(driver, plan_of(1))
        assert (state.status, state.why) == ("paused", "exchange")
        assert "no such thing" in state.detail
        assert agent.idle


async def test_a_person_reviews(tmp_path: Path) -> None:
    hands = Hands()
    async with serving(hands) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        state = await begun(driver, plan_of(2, review="human"))
        assert statuses(state) == ["verifying", "pending"]
        assert await cards(agent) == ["started", "review"]
        assert await driver.answer(Reviewed("human", False, "make it nicer"))
        await agent.settled()
        assert "make it nicer" in json.dumps(hands.asked[-1].body)
        for _ in range(2):
            assert await driver.answer(Reviewed("human", True))
            await agent.settled()
        assert (state_of(driver).status, statuses(state_of(driver))) == ("complete", ["accepted"] * 2)


async def test_an_item_without_checks_waits_for_a_person(tmp_path: Path) -> None:
    async with serving(Hands()) as provider, driven(run_options(tmp_path, provider)) as (_, driver):
        state = await begun(driver, plan_of(1, checks=False))
        assert statuses(state) == ["verifying"]
        assert state.items[0].checked


async def test_a_handoff_within_an_item_comes_first_and_carries_its_message(tmp_path: Path) -> None:
    from tests.runs.support import call

    note = "NOTE: item one is half done"
    steps: list[str] = []

    def answer(received: Received) -> Reply:
        if not received.body.get("tools"):
            return Reply(text="a summary")
        if holds(received, note) and "continued" not in steps:
            steps.append("continued")
            assert holds(received, "RUN ITEM 1 of 1")
            return Reply(calls=(call("bash", command="touch item-1"),))
        if "continued" in steps:
            steps.append("after")
            return ready() if steps.count("after") == 1 else Reply(text="Done.")
        if "filled" in steps:
            return Reply(calls=(compact(note),))
        steps.append("filled")
        return Reply(text="word " * 9_000, piece=4_000, calls=(call("bash", command="echo half"),))

    async with serving(answer) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        state = await begun(driver, plan_of(1))
        assert (state.status, state.handoffs) == ("complete", 1)
        origins = [prompt.origin for prompt in bodies(await path_of(agent), Prompt)]
        assert origins == ["dispatch", "continuation"]


async def test_a_failed_handoff_pauses_the_run(tmp_path: Path) -> None:
    from tests.runs.support import call

    def answer(received: Received) -> Reply:
        if not received.body.get("tools"):
            return Reply(text=" \n")
        if len(received.messages) > 3:
            return Reply(calls=(compact("a note"),))
        return Reply(text="word " * 9_000, piece=4_000, calls=(call("bash", command="echo half"),))

    async with serving(answer) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        state = await begun(driver, plan_of(1))
        assert (state.status, state.why) == ("paused", "handoff")
        assert state.detail.startswith("handoff failed")
        assert agent.compaction.state.phase == "failed"


async def test_a_moved_leaf_suspends(tmp_path: Path) -> None:
    hands = Hands({1: ["false", "false"]})
    async with serving(hands) as provider, driven(run_options(tmp_path, provider)) as (agent, driver):
        await begun(driver, plan_of(2, review="human"))
        target = next(entry.id for entry in await path_of(agent) if isinstance(entry.body, Prompt))
        await agent.move(target, lambda _branch: ())
        assert state_of(driver).suspended == "The conversation goes on from another place."
        assert agent.requests.situation().requests.item is None


async def test_a_fork_does_not_own_the_run(tmp_path: Path) -> None:
    async with serving(Hands()) as provider:
        given = run_options(tmp_path, provider)
        async with driven(given) as (agent, driver):
            await begun(driver, plan_of(1, review="human"))
            fork = await agent.journal.log.fork()
            child = fork.id
            await fork.close()
        async with driven(msgspec.structs.replace(given, open="id", session_id=child)) as (agent, driver):
            assert driver.book.run is None
            assert (await cards(agent))[-1] == "left"
            assert agent.requests.situation().requests.item is None


async def test_a_new_session_suspends_the_run_of_the_old_one(tmp_path: Path) -> None:
    async with serving(Hands()) as provider:
        given = run_options(tmp_path, provider)
        async with driven(given) as (agent, driver):
            await begun(driver, plan_of(1, review="human"))
            session = agent.session_id
        async with driven(msgspec.structs.replace(given, open="id", session_id=session)) as (agent, driver):
            assert state_of(driver).suspended == "The session was closed."


async def test_a_state_that_cannot_be_read_is_an_error_of_its_own_and_never_complete(tmp_path: Path) -> None:

    async with serving(Hands()) as provider:
        given = run_options(tmp_path, provider)
        async with driven(given) as (agent, driver):
            await begun(driver, plan_of(1, review="human"))
            session = agent.session_id
        (path,) = (tmp_path / "home").rglob("log.sqlite")
        for damage in ("state=x'7b'", "state=x'7b7d'", "plan=x'00'", "seq=seq+1", "status='complete'"):
            with sqlite3.connect(path) as db:
                before = db.execute("SELECT plan, state, seq, status FROM run").fetchone()
                db.execute(f"UPDATE run SET {damage}")
            db.close()
            async with driven(msgspec.structs.replace(given, open="id", session_id=session)) as (agent, driver):
                assert driver.book.run is None
                assert "cannot be gone on with" in driver.book.trouble

                assert (await look_before_resume(driver)).problems == (driver.book.trouble,)
            with sqlite3.connect(path) as db:
                db.execute("UPDATE run SET plan=?, state=?, seq=?, status=?", before)
            db.close()
