"""A run as the database has it: written as bytes, read back with every doubt named."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import msgspec

from tui.log import RunEventRow, RunRow, RunWrite
from tui.runs.machine import begin, step
from tui.runs.plan import Plan, decode_plan, encode_plan, plan_hash
from tui.runs.state import RunState, Step

__all__ = ["RunUnreadable", "StoredRun", "first_write", "next_write", "read_events", "read_run", "replay"]


class RunUnreadable(Exception):
    """A run's stored state cannot be read, or contradicts itself. It is never taken for a complete one."""


class StoredRun(msgspec.Struct, frozen=True):
    """A run with all that is known of it."""

    id: str
    session: str
    source: str
    plan: Plan
    plan_sha256: str
    state: RunState


def read_run(row: RunRow) -> StoredRun:
    """Return the run of a row. Raises `RunUnreadable`."""
    kept = f"Run {row.id} cannot be gone on with; its rows are kept as they are"
    if plan_hash(row.plan) != row.plan_sha256:
        raise RunUnreadable(f"{kept}: its plan does not fit its hash. Start the plan anew.")
    try:
        plan, state = decode_plan(row.plan), msgspec.json.decode(row.state, type=RunState)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RunUnreadable(f"{kept}: {error}. Start the plan anew.") from error
    if (state.seq, state.status) != (row.seq, row.status) or len(state.items) != len(plan.items):
        raise RunUnreadable(f"{kept}: its state contradicts its events or its plan. Start the plan anew.")
    return StoredRun(row.id, row.session, row.source, plan, row.plan_sha256, state)


def first_write(run: StoredRun, generation: int, taken: Step) -> RunWrite:
    """Return what begins a run in the database."""
    plan = encode_plan(run.plan)
    write = next_write(run.id, generation, run.state, taken)
    return msgspec.structs.replace(write, plan=plan, plan_sha256=plan_hash(plan), source=run.source)


def next_write(run: str, generation: int, state: RunState, taken: Step) -> RunWrite:
    """Return the transition that led to `state`."""
    event, raw = msgspec.json.encode(taken), msgspec.json.encode(state)
    return RunWrite(run, generation, state.seq, event, raw, state.status)


def read_events(rows: Sequence[RunEventRow]) -> tuple[tuple[int, Step], ...]:
    """Return what happened, with when (milliseconds since 1970, UTC); what cannot be read is left out."""
    found: list[tuple[int, Step]] = []
    for row in rows:
        with suppress(msgspec.MsgspecError):
            found.append((row.time, msgspec.json.decode(row.event, type=Step)))
    return tuple(found)


def replay(plan: Plan, events: list[bytes]) -> RunState:
    """Return the state that stored events lead to. Raises `msgspec.MsgspecError`."""
    state = begin(plan)
    for raw in events:
        state, _ = step(plan, state, msgspec.json.decode(raw, type=Step))
    return state
