"""A run in words and figures: the strip, the status, the final report. Pure."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Literal, assert_never

from tui.agent.events import RunShown
from tui.messages import Json
from tui.runs.machine import needs_review, waits_for
from tui.runs.plan import Plan
from tui.runs.preconditions import shown_command
from tui.runs.state import (
    Answered,
    Checked,
    CheckRun,
    Claimed,
    Completed,
    Event,
    ItemState,
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

__all__ = [
    "MARKS",
    "event_line",
    "evidence_lines",
    "figures",
    "item_lines",
    "minutes",
    "report",
    "shown",
    "status_json",
    "status_text",
    "status_word",
]

MARKS = {"pending": " ", "working": ">", "verifying": "?", "accepted": "x", "blocked": "!", "skipped": "-"}
Level = Literal["normal", "good", "warning", "error"]


def minutes(active_ms: int) -> str:
    """Return active time as minutes and seconds."""
    seconds = active_ms // 1_000
    return f"{seconds // 60}m{seconds % 60:02}s"


def status_word(plan: Plan, state: RunState, *, armed: bool = True) -> str:
    """Return how a run stands, in one word or two. `armed`: this process works on it."""
    if state.status != "active":
        return "bound" if state.why == "bound" and state.status == "paused" else state.status
    if waits_for(plan, state):
        return "waits for review"
    if state.suspended or not armed:
        return "waits"
    item = state.item
    if item is not None and item.status == "verifying":
        return "reviewing" if item.checked and needs_review(plan, state.at) else "verifying"
    return "working"


def _level(word: str) -> Level:
    match word:
        case "complete":
            return "good"
        case "blocked":
            return "error"
        case "working" | "verifying" | "reviewing" | "stopped":
            return "normal"
        case _:
            return "warning"


_HINTS = {
    "bound": "/run resume",
    "paused": "/run resume",
    "waits": "/run resume",
    "blocked": "/run retry or skip",
    "waits for review": "/run accept, revise or skip",
}


def shown(plan: Plan, state: RunState, *, armed: bool, priced: bool = True) -> RunShown:
    """Return what the strip shows. `priced`: the price of the model is known."""
    item, word = state.item, status_word(plan, state, armed=armed)
    return RunShown(
        title=plan.title,
        status=word,
        done=state.done,
        total=len(plan.items),
        number=state.at + 1 if item is not None else 0,
        item=plan.items[state.at].title if item is not None else "",
        attempts=item.attempts if item is not None else 0,
        active_ms=state.active_ms,
        going=state.runs and armed,
        max_minutes=plan.bounds.max_minutes,
        cost=state.cost,
        max_cost=plan.bounds.max_cost,
        priced=priced,
        handoffs=state.handoffs,
        level=_level(word),
        hint=_HINTS.get(word, ""),
    )


def status_text(plan: Plan, state: RunState, *, armed: bool = True, owner: str = "") -> str:
    """Return where a run stands, for a terminal or a page."""
    word = status_word(plan, state, armed=armed)
    lines = [f"{plan.title}: {state.done}/{len(plan.items)} done, {word}", figures(plan, state)]
    lines += [state.detail] if state.detail else []
    lines += [state.suspended] if state.suspended else []
    lines += [waits_for(plan, state)] if waits_for(plan, state) else []
    lines += [f"worked on by {owner}"] if owner else []
    return "\n".join([*lines, "", *_rows(plan, state)])


def figures(plan: Plan, state: RunState) -> str:
    """Return what a run has used, against its bounds where it has any."""
    bounds = plan.bounds
    time = f"{minutes(state.active_ms)} active" + (f" of {bounds.max_minutes:g}m" if bounds.max_minutes else "")
    cost = f"${state.cost:.2f}" + (f" of ${bounds.max_cost:.2f}" if bounds.max_cost else "")
    attempts = _count(sum(item.attempts for item in state.items), "verification")
    return f"{time}, {cost}, {attempts}, {_count(state.handoffs, 'handoff')}"


def _count(number: int, one: str) -> str:
    return f"{number} {one}{'' if number == 1 else 's'}"


def _rows(plan: Plan, state: RunState) -> Iterator[str]:
    for number, (planned, item) in enumerate(zip(plan.items, state.items, strict=True), 1):
        tries = f"  ({item.attempts} attempts)" if item.attempts > 1 else ""
        yield f"[{MARKS[item.status]}] {number}. {planned.title}{tries}"


def report(plan: Plan, state: RunState) -> str:
    """Return the final report: items, attempts, time, cost, handoffs; everything skipped is called out."""
    lines = [*_rows(plan, state), "", figures(plan, state)]
    skipped = [number for number, item in enumerate(state.items, 1) if item.status == "skipped"]
    open_ = [number for number, item in enumerate(state.items, 1) if item.status not in ("accepted", "skipped")]
    lines += [f"SKIPPED, not done: item {number}. {plan.items[number - 1].title}" for number in skipped]
    lines += [f"not reached: item {number}. {plan.items[number - 1].title}" for number in open_]
    return "\n".join(lines)


def item_lines(plan: Plan, state: RunState, index: int) -> list[str]:
    """Return all there is to say of an item: its words, what it waits for, what was said and shown of it."""
    planned, item = plan.items[index], state.items[index]
    spent = f"{minutes(item.active_ms)}, ${item.cost:.2f}, {_count(item.turns, 'turn')}"
    lines = [*planned.text.splitlines(), "", f"{item.status}: {_count(item.attempts, 'attempt')}, {spent}"]
    lines += [f"check: $ {shown_command(check)}" for check in planned.checks] or ["no checks: a person reviews it"]
    lines += ["", f"Question: {item.question}"] if item.question else []
    lines += ["", "You said", *_indented(item.word)] if item.word else []
    lines += ["", "The agent says", *_indented(item.said)] if item.said else []
    lines += ["", "The newest checks", *(f"  {line}" for line in evidence_lines(item))] if item.evidence else []
    reasons = item.trouble if item.checked or not item.evidence or item.evidence[-1].verdict == "pass" else ""
    lines += ["", "Why it goes back", *_indented(reasons)] if reasons else []
    return lines


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def event_line(at: int, taken: Step) -> str:
    """Return one thing that happened to a run. `at`: milliseconds since 1970, UTC."""
    event = taken.event
    when = dt.datetime.fromtimestamp(at / 1_000, dt.UTC).strftime("%H:%M:%S")
    return " ".join((when, type(event).__name__.lower(), *_words_of(event))).rstrip()


def _words_of(event: Event) -> tuple[str, ...]:
    """Return what an event says beside its name."""
    match event:
        case Claimed(item=item):
            return (f"item {item + 1}",)
        case Ready(evidence=text) | Suspended(reason=text):
            return (text,)
        case Worked(turns=turns, cost=cost, progress=progress):
            return (f"{_count(turns, 'turn')}, ${cost:.2f}{'' if progress else ', no file changed'}",)
        case Checked(runs=runs):
            return (outcome(runs), *(f"$ {shown_command(run.command)}" for run in runs[-1:]))
        case Reviewed(by=by, accept=accept, text=text):
            return (f"by {'you' if by == 'human' else 'the reviewer'}:", "accept" if accept else "revise", text)
        case Answered(answer=answer, text=text):
            return (answer, text)
        case Paused(why=why, detail=text):
            return (f"({why})", text)
        case Started() | Resumed() | Completed() | Stopped():
            return ()
        case _:
            assert_never(event)


def evidence_lines(item: ItemState) -> Iterator[str]:
    """Yield what the newest verification of an item showed."""
    for run in item.evidence:
        at = dt.datetime.fromtimestamp(run.at / 1_000, dt.UTC).strftime("%H:%M:%S")
        how = run.cause or f"exit {run.exit}"
        yield f"{run.verdict}: $ {shown_command(run.command)}  {how}, {run.seconds:.1f} s, at {at} UTC"
        yield from (f"    {line}" for line in run.tail.splitlines())


def status_json(run: str, session: str, plan: Plan, state: RunState, *, armed: bool = True) -> dict[str, Json]:
    """Return where a run stands, for programs. New fields may be added."""
    items: list[Json] = [_item_json(plan, index, item) for index, item in enumerate(state.items)]
    return {
        "run": run,
        "session": session,
        "title": plan.title,
        "status": state.status,
        "state": status_word(plan, state, armed=armed),
        "suspended": state.suspended,
        "why": state.why,
        "detail": state.detail,
        "question": waits_for(plan, state),
        "done": state.done,
        "total": len(state.items),
        "active_seconds": state.active_ms / 1_000,
        "cost": state.cost,
        "handoffs": state.handoffs,
        "events": state.seq,
        "items": items,
    }


def _item_json(plan: Plan, index: int, item: ItemState) -> dict[str, Json]:
    evidence: list[Json] = [_check_json(run) for run in item.evidence]
    return {
        "number": index + 1,
        "text": plan.items[index].text,
        "status": item.status,
        "attempts": item.attempts,
        "turns": item.turns,
        "evidence": evidence,
    }


def _check_json(run: CheckRun) -> dict[str, Json]:
    return {
        "command": list(run.command),
        "verdict": run.verdict,
        "exit": run.exit,
        "cause": run.cause,
        "seconds": run.seconds,
        "at": run.at,
        "tail": run.tail,
    }
