"""The machine of a run: `step(plan, state, step) -> state, cards`. Pure; an event that does not apply changes nothing.

    item: pending → working → verifying → accepted
                       ▲          ├→ working  (first failure)
                       │          └→ blocked  (second) → working | skipped
    run:  active ⇄ paused; active → blocked → active; complete and stopped are final

The program counts attempts and accepts; no event of the agent's leads to accepted or skipped.
"""

from __future__ import annotations

from typing import Any, Literal, assert_never

import msgspec

from tui.runs.checkout import Checkout
from tui.runs.plan import Plan
from tui.runs.preconditions import shown_command
from tui.runs.state import (
    Answered,
    Card,
    Checked,
    CheckRun,
    Claimed,
    Completed,
    ItemState,
    ItemStatus,
    Lifted,
    Paused,
    Ready,
    Resumed,
    Reviewed,
    RunState,
    Started,
    Step,
    Stopped,
    Suspended,
    Worked,
    outcome,
)

__all__ = ["begin", "needs_review", "next_item", "step", "waits_for"]

MOST_FAILURES = 2
"""In a row; with the second the item is blocked until a person answers."""
MOST_REPEATS = 1
"""After checks that could not run."""
MOST_TROUBLE = 6_000
"""Characters of why an item failed that go back to the agent."""

Result = tuple[RunState, tuple[Card, ...]]


def begin(plan: Plan) -> RunState:
    """Return the state before the first event."""
    return RunState(items=tuple(ItemState() for _ in plan.items))


def step(plan: Plan, state: RunState, taken: Step) -> Result:
    """Return the state after an event, and what to tell. The very same state: it does not apply here and now."""
    if state.over:
        return state, ()
    timed = _timed(state, taken.took)
    after, cards = _apply(plan, timed, taken.event)
    if after is timed:
        return state, ()
    return msgspec.structs.replace(after, seq=state.seq + 1), cards


def _timed(state: RunState, took: int) -> RunState:
    """Count the time since the last event, where the run was active."""
    if not state.runs or not state.seq:
        return msgspec.structs.replace(state)
    spent = max(0, took)
    timed = msgspec.structs.replace(state, active_ms=state.active_ms + spent)
    item = state.item
    return timed if item is None else _with(timed, active_ms=item.active_ms + spent)


def _apply(plan: Plan, state: RunState, event: Any) -> Result:
    match event:
        case Started(checkout=checkout):
            return _started(plan, state, checkout)
        case Claimed():
            return _claimed(state, event)
        case Worked():
            return _worked(state, event)
        case Ready(evidence=evidence):
            return _ready(state, evidence)
        case Checked():
            return _checked(plan, state, event)
        case Reviewed():
            return _reviewed(plan, state, event)
        case Answered():
            return _answered(plan, state, event)
        case Suspended() | Resumed() | Paused() | Completed() | Stopped():
            return _of_the_run(plan, state, event)
        case _:
            raise TypeError(f"no event of a run: {event!r}")


def _of_the_run(plan: Plan, state: RunState, event: Suspended | Resumed | Paused | Completed | Stopped) -> Result:
    match event:
        case Suspended(reason=reason):
            return _suspended(state, reason)
        case Resumed():
            return _resumed(state)
        case Paused():
            return _paused(state, event)
        case Completed():
            return _completed(plan, state)
        case Stopped():
            ended = _bumped(state, status="stopped", suspended="")
            return ended, (Card("stopped", f"Run stopped after {state.done} of {len(state.items)} items."),)
        case _:
            assert_never(event)


def _with(state: RunState, **changes: Any) -> RunState:
    """Return the state with the item in work changed."""
    items = list(state.items)
    items[state.at] = msgspec.structs.replace(items[state.at], **changes)
    return msgspec.structs.replace(state, items=tuple(items))


def _bumped(state: RunState, **changes: Any) -> RunState:
    """Return the state with a new token: what was scheduled before is stale."""
    return msgspec.structs.replace(state, token=state.token + 1, **changes)


def _name(plan: Plan, index: int) -> str:
    return f"{index + 1}/{len(plan.items)} {plan.items[index].title}"


# --- the item -----------------------------------------------------------------------------------


def next_item(state: RunState) -> int | None:
    """Return the index of the item whose turn it is: the one in work, else the first pending one, or None."""
    item = state.item
    if item is not None and item.status in ("working", "verifying", "blocked"):
        return state.at
    return next((index for index, one in enumerate(state.items) if one.status == "pending"), None)


def needs_review(plan: Plan, index: int) -> Literal["", "human", "agent"]:
    """Return who accepts an item that passed its checks. One without checks is not accepted by the program alone."""
    if plan.review == "off":
        return "" if plan.items[index].checks else "human"
    return plan.review


def waits_for(plan: Plan, state: RunState) -> str:
    """Return what only a person can do now, as one line; empty where nothing waits for them."""
    item = state.item
    if item is None or state.over:
        return ""
    if item.status == "blocked":
        return item.question
    if item.status == "verifying" and item.checked and needs_review(plan, state.at) == "human":
        return f"Item {_name(plan, state.at)} waits for your review: /run accept, /run revise TEXT or /run skip"
    return ""


def _started(plan: Plan, state: RunState, checkout: Checkout) -> Result:
    if state.seq:
        return state, ()
    number = len(plan.items)
    card = Card("started", f"Run “{plan.title}” begins: {number} item{'' if number == 1 else 's'}.")
    return _bumped(state, checkout=checkout), (card,)


def _claimed(state: RunState, event: Claimed) -> Result:
    if not state.runs or event.item != next_item(state) or state.items[event.item].status not in ("pending", "working"):
        return state, ()
    at = msgspec.structs.replace(state, at=event.item)
    if event.item != state.at:
        at = msgspec.structs.replace(at, lifted=msgspec.structs.replace(state.lifted, turns=0))
    item = at.items[event.item]
    return _with(at, status="working", deliveries=item.deliveries + 1, tree=item.tree or event.tree), ()


def _worked(state: RunState, event: Worked) -> Result:
    spent = msgspec.structs.replace(
        state,
        cost=state.cost + event.cost,
        handoffs=state.handoffs + event.handoffs,
        checkout=_known(event.checkout, state.checkout),
    )
    item = state.item
    if item is None or item.status not in ("working", "verifying"):
        return (spent if spent != state else state), ()
    deliveries = 0 if event.progress else item.deliveries
    return _with(spent, turns=item.turns + event.turns, cost=item.cost + event.cost, deliveries=deliveries), ()


def _ready(state: RunState, evidence: str) -> Result:
    item = state.item
    if item is None or item.status != "working" or state.status != "active":
        return state, ()
    return _with(state, status="verifying", said=evidence, checked=False, repeats=0, deliveries=0, evidence=()), ()


def _checked(plan: Plan, state: RunState, event: Checked) -> Result:
    item = state.item
    if item is None or item.status != "verifying" or item.checked:
        return state, ()
    verdict = outcome(event.runs)
    tried = _with(state, evidence=event.runs)
    if verdict == "infrastructure":
        return _infrastructure(tried, event.runs[-1])
    tried = _with(tried, attempts=item.attempts + 1, repeats=0)
    if verdict == "fail":
        return _failed(plan, tried, _words_of(event.runs[-1]), _short_of(event.runs[-1]))
    if event.review:
        waits = _with(tried, checked=True)
        line = waits_for(plan, waits)
        return waits, ((Card("review", line, state.at),) if line else ())
    return _accepted(plan, tried, "the checks pass")


def _accepted(plan: Plan, state: RunState, why: str) -> Result:
    done = _with(state, status="accepted", checked=True, trouble="", question="", word="")
    return done, (Card("accepted", f"Accepted {_name(plan, state.at)}: {why}.", state.at, _evidence(state)),)


def _evidence(state: RunState) -> str:
    item = state.item
    runs = item.evidence if item is not None else ()
    return "\n\n".join(f"$ {shown_command(run.command)}  exit {run.exit}\n{run.tail}".rstrip() for run in runs)


def _words_of(run: CheckRun) -> str:
    words = f"$ {shown_command(run.command)}\n{run.tail}".rstrip()
    return f"{words}\n[exit status {run.exit}]"


def _short_of(run: CheckRun) -> str:
    return f"{shown_command(run.command)} ended with status {run.exit}"


def _failed(plan: Plan, state: RunState, trouble: str, short: str) -> Result:
    """Send the item back to work, or block it with a question where it failed twice."""
    item, name = state.items[state.at], _name(plan, state.at)
    failures = item.failures + 1
    back = _with(state, failures=failures, trouble=trouble[-MOST_TROUBLE:], checked=False, deliveries=0)
    if failures < MOST_FAILURES:
        card = Card("failed", f"Not accepted yet: {name}: {short}. The agent gets the output.", state.at, trouble)
        return _with(back, status="working"), (card,)
    question = f"Item {name} failed {failures} times ({short}). /run retry [TEXT] or /run skip?"
    card = Card("blocked", question, state.at, trouble)
    return _bumped(_with(back, status="blocked", question=question), status="blocked"), (card,)


def _infrastructure(state: RunState, run: CheckRun) -> Result:
    """Repeat checks that could not run once; then the run pauses. It says nothing about the work."""
    item = state.items[state.at]
    said = f"{shown_command(run.command)}: {run.cause}"
    if item.repeats < MOST_REPEATS:
        again = _with(state, repeats=item.repeats + 1)
        return again, (Card("repeated", f"A check could not run ({said}); it is tried once more.", state.at, run.tail),)
    paused, cards = _paused(state, Paused("infrastructure", f"A check cannot run: {said}. /run verify repeats it."))
    return _with(paused, repeats=0), cards


def _reviewed(plan: Plan, state: RunState, event: Reviewed) -> Result:
    item = state.item
    if item is None or item.status != "verifying" or not item.checked or needs_review(plan, state.at) != event.by:
        return state, ()
    if event.by == "human":
        state = msgspec.structs.replace(state, suspended="")  # an answer is a word to go on
    who = "you" if event.by == "human" else "the reviewer"
    if event.accept:
        return _accepted(plan, state, f"{who} accepted it")
    return _failed(plan, state, f"{who.capitalize()} asked for a revision:\n{event.text}", f"revision asked by {who}")


def _answered(plan: Plan, state: RunState, event: Answered) -> Result:
    item = state.item
    if item is None:
        return state, ()
    waiting = item.status == "blocked" or bool(waits_for(plan, state))
    if event.answer == "skip" and waiting:
        status: ItemStatus = "skipped"
        card = Card("skipped", f"Skipped {_name(plan, state.at)}, as you said.", state.at)
        after = _with(state, status=status, question="", word=event.text)
    elif event.answer == "retry" and item.status == "blocked":
        card = Card("resumed", f"Again: {_name(plan, state.at)}.", state.at, event.text)
        after = _with(state, status="working", question="", word=event.text, failures=0, deliveries=0)
    else:
        return state, ()
    status_after = "active" if state.status == "blocked" else state.status
    return _bumped(after, status=status_after, suspended=""), (card,)


# --- the run ------------------------------------------------------------------------------------


def _suspended(state: RunState, reason: str) -> Result:
    if state.status not in ("active", "blocked"):
        return state, ()
    if state.suspended:
        return state, ()
    return _bumped(state, suspended=reason), (Card("suspended", f"{reason} The run waits: /run resume goes on."),)


def _resumed(state: RunState) -> Result:
    status = "blocked" if state.item is not None and state.item.status == "blocked" else "active"
    lifted = _lifted(state) if state.why == "bound" else state.lifted
    after = _bumped(state, status=status, suspended="", why="", detail="", lifted=lifted)
    item = after.item
    if item is not None and item.status == "working":
        after = _with(after, deliveries=0)
    return after, (Card("resumed", "The run goes on."),)


def _lifted(state: RunState) -> Lifted:
    item = state.item
    turns = item.turns if item is not None and item.status == "working" else 0
    return Lifted(state.done, state.active_ms, state.cost, turns)


def _paused(state: RunState, event: Paused) -> Result:
    if state.status not in ("active", "blocked"):
        return state, ()
    checkout = _known(event.checkout, state.checkout)
    paused = _bumped(state, status="paused", suspended="", why=event.why, detail=event.detail, checkout=checkout)
    return paused, (Card("paused", f"Run paused: {event.detail or 'as you said.'}", state.at),)


def _known(now: Checkout, before: Checkout) -> Checkout:
    """Return the newer checkout, where somebody looked."""
    return before if now == Checkout() else now


def _completed(plan: Plan, state: RunState) -> Result:
    if not state.runs or next_item(state) is not None:
        return state, ()
    skipped = [index for index, item in enumerate(state.items) if item.status == "skipped"]
    said = f"Run “{plan.title}” is complete: {len(state.items) - len(skipped)} of {len(state.items)} items accepted"
    left = f"; skipped: {', '.join(str(index + 1) for index in skipped)}" if skipped else ""
    return _bumped(state, status="complete", at=-1), (Card("complete", f"{said}{left}."),)
