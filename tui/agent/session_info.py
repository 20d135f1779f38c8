"""What `clew info` and `/self-compact-info` say of a session: facts in, one record out, as JSON and as rows of text.

Pure, and never asks a model. The names in the JSON form are a contract for scripts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from tui.context.bar import bar_text, percent, short_count
from tui.context.gate import CompactionMode
from tui.context.info import usage_facts
from tui.context.thresholds import ConfigurationError, Given, Thresholds, level_of
from tui.context.usage import ContextUsage
from tui.log.entries import Checkpoint, Entry, Handoff, HandoffError, Note, Phase
from tui.messages import Json
from tui.models.base import ModelInfo

__all__ = ["NOTE_HEAD", "Cycle", "InfoFacts", "cycles_of", "info_json", "info_rows"]

NOTE_HEAD = 500
"""Characters of a note that are shown."""


class InfoFacts(msgspec.Struct, frozen=True, kw_only=True):
    """Everything the record is made from."""

    session: str
    leaf: str | None
    persisted: bool
    model: ModelInfo
    mode: CompactionMode
    given: Given
    usage: ContextUsage
    limits: Thresholds | ConfigurationError
    projected: int | None
    """Tokens after a checkpoint made now; None where none can be made."""
    state: Handoff
    path: Sequence[Entry]
    """The handoffs, notes and checkpoints of the path, oldest first; others are passed over."""
    templates: tuple[tuple[str, str], ...] = ()
    """Each template's name and where its text comes from."""


class Cycle(msgspec.Struct, frozen=True):
    """One cycle: a note, and what became of it."""

    cycle: str
    phase: Phase
    closed: Literal["", "answered", "superseded", "dropped", "undone"]
    attempts: int
    note_length: int
    """UTF-16 units."""
    note_head: str
    checkpoint: str = ""
    """The entry of the checkpoint that discharged it."""
    summary_head: str = ""
    seconds: float = 0.0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    """Dollars of its summary; None is unknown."""
    last_error: HandoffError = ""


def cycles_of(path: Iterable[Entry]) -> list[Cycle]:
    """Return the cycles of a path, oldest first."""
    cycles: dict[str, Cycle] = {}
    notes: dict[str, str] = {}
    current = ""
    for entry in path:
        match entry.body:
            case Note() as note:
                notes[note.id] = note.text
            case Handoff() as state:
                if current in cycles and state.closed and state.cycle != current:
                    cycles[current] = msgspec.structs.replace(cycles[current], closed=state.closed)
                current = state.cycle
                if current:
                    cycles[current] = _cycle(cycles.get(current), state, notes)
            case Checkpoint() as checkpoint if checkpoint.cycle:
                known = cycles.get(checkpoint.cycle) or Cycle(checkpoint.cycle, "compacting", "", 0, 0, "")
                cycles[checkpoint.cycle] = _discharged(known, entry.id, checkpoint)
            case _:
                pass
    return list(cycles.values())


def _cycle(known: Cycle | None, state: Handoff, notes: dict[str, str]) -> Cycle:
    cycle = known or Cycle(state.cycle, state.phase, "", 0, 0, "")
    return msgspec.structs.replace(
        cycle,
        phase=state.phase,
        closed=state.closed if state.phase in ("none", "answered") else "",
        attempts=state.attempts,
        note_length=state.note_units,
        note_head=notes.get(state.note, "")[:NOTE_HEAD],
        last_error=state.error or cycle.last_error,
    )


def _discharged(cycle: Cycle, entry: str, checkpoint: Checkpoint) -> Cycle:
    usage = checkpoint.usage
    return msgspec.structs.replace(
        cycle,
        checkpoint=entry,
        summary_head=checkpoint.summary[:NOTE_HEAD],
        seconds=checkpoint.seconds,
        input_tokens=usage.total - usage.output if usage is not None else 0,
        output_tokens=usage.output if usage is not None else 0,
        cost=checkpoint.cost,
    )


def _checkpoints(path: Iterable[Entry]) -> list[Json]:
    return [
        {
            "id": entry.id,
            "origin": entry.body.origin,
            "covers": [entry.body.first, entry.body.last],
            "kept_from": entry.body.kept or None,
            "tokens_before": entry.body.tokens_before,
            "task_sha256": entry.body.task.sha256 if entry.body.task is not None else None,
        }
        for entry in path
        if isinstance(entry.body, Checkpoint)
    ]


def _note_text(facts: InfoFacts) -> str:
    """Return the note of the newest handoff."""
    wanted = facts.state.note
    return next((e.body.text for e in facts.path if isinstance(e.body, Note) and e.body.id == wanted and wanted), "")


def info_json(facts: InfoFacts) -> dict[str, Json]:
    """Return the record as `clew info --json` prints it; either `thresholds` or `error` is there."""
    usage, limits, state = facts.usage, facts.limits, facts.state
    known = limits if isinstance(limits, Thresholds) else None
    found: dict[str, Json] = {
        "session": facts.session,
        "leaf": facts.leaf,
        "persisted": facts.persisted,
        "model": facts.model.id,
        "provider": facts.model.provider,
        "compaction": facts.mode,
        "window": usage.window,
        "window_source": facts.model.window_source.value,
        "flags": {
            "compact_soft_at": facts.given.soft,
            "compact_at": facts.given.at,
            "compact_buffer": facts.given.buffer,
            "compact_prompt": facts.given.prompt,
        },
    }
    if isinstance(limits, Thresholds):
        marks = (("soft", limits.soft), ("warning", limits.warning), ("hard", limits.hard), ("cap", limits.cap))
        found["thresholds"] = dict(marks)
    else:
        found["error"] = limits.message
    templates: dict[str, Json] = dict(facts.templates)
    return found | {
        "usage": usage_facts(usage),
        "level": level_of(usage.tokens, known).value if known is not None else "none",
        "bar": bar_text(usage.tokens, usage.cached, usage.window, known),
        "projected": facts.projected,
        "templates": templates,
        "handoff": _handoff(state, _note_text(facts)),
        "cycles": [msgspec.to_builtins(cycle) for cycle in cycles_of(facts.path)],
        "checkpoints": _checkpoints(facts.path),
    }


def _handoff(state: Handoff, note: str) -> dict[str, Json]:
    return {
        "phase": state.phase,
        "cycle": state.cycle or None,
        "attempts": state.attempts,
        "last_error": state.error or None,
        "detail": state.detail,
        "stopped": state.stopped,
        "done": state.done,
        "note_length": state.note_units,
        "note_head": note[:NOTE_HEAD],
    }


def info_rows(facts: InfoFacts) -> list[tuple[str, str]]:
    """Return the record for a person: name and value, in order. Values may hold foreign words and line breaks."""
    usage = facts.usage
    limits = facts.limits if isinstance(facts.limits, Thresholds) else None
    used = "unknown until the next answer" if usage.tokens is None else _share(usage.tokens, usage.window)
    rows = [
        ("context", bar_text(usage.tokens, usage.cached, usage.window, limits)),
        ("used", f"{used} ({usage.source})"),
        ("cached", f"{usage.cached:,} tokens"),
        ("window", f"{usage.window:,} tokens ({facts.model.window_source.value})"),
        *_limit_rows(facts.limits),
        ("as given", _given(facts.given)),
    ]
    if facts.projected is not None:
        gains = facts.projected < (usage.estimate if usage.tokens is None else usage.tokens)
        share = _share(facts.projected, usage.window)
        rows.append(("after a checkpoint", f"at most {share}" if gains else "no smaller: nothing to compact yet"))
    rows += [("compaction", facts.mode), *_handoff_rows(facts)]
    rows += [(f"{name} template", source) for name, source in facts.templates]
    rows += [("model", f"{facts.model.id} ({facts.model.provider})")]
    rows += [("session", facts.session if facts.persisted else "not kept on disk (--no-session)")]
    rows += [_cycle_row(number, cycle) for number, cycle in enumerate(cycles_of(facts.path), 1)]
    return rows


def _share(tokens: int, window: int) -> str:
    return f"{tokens:,} tokens, {percent(tokens, window)}%"


def _limit_rows(limits: Thresholds | ConfigurationError) -> list[tuple[str, str]]:
    if isinstance(limits, ConfigurationError):
        return [("thresholds", limits.message)]
    marks = (("soft", limits.soft), ("warning", limits.warning), ("hard", limits.hard))
    return [(name, _share(mark, limits.window)) for name, mark in marks]


def _given(given: Given) -> str:
    named = (("soft", given.soft), ("at", given.at), ("buffer", given.buffer), ("prompt", given.prompt))
    said = [f"{name} {value[:60]!r}" for name, value in named if value is not None]
    return ", ".join(said) or "nothing: the defaults"


def _handoff_rows(facts: InfoFacts) -> list[tuple[str, str]]:
    state, note = facts.state, _note_text(facts)
    rows = [("handoff", state.phase + (", stopped" if state.stopped else "") + f"; {state.done} done")]
    if state.cycle:
        rows.append(("cycle", f"{state.cycle}, {state.attempts} attempts"))
    if state.error:
        rows.append(("last error", state.error + (f": {state.detail}" if state.detail else "")))
    if note:
        more = "" if len(note) <= NOTE_HEAD else " …"
        rows.append((f"note ({state.note_units:,})", note[:NOTE_HEAD] + more))
    return rows


def _cycle_row(number: int, cycle: Cycle) -> tuple[str, str]:
    parts = [cycle.closed or cycle.phase, f"{cycle.seconds:.0f} s"]
    if cycle.input_tokens or cycle.output_tokens:
        parts.append(f"{short_count(cycle.input_tokens)} in, {short_count(cycle.output_tokens)} out")
    if cycle.cost:
        parts.append(f"${cycle.cost:.4f}")
    head = " ".join(cycle.note_head.split())[:60]
    summary = " ".join(cycle.summary_head.split())[:60]
    return f"cycle {number}", f"{', '.join(parts)}; note: {head}" + (f"; summary: {summary}" if summary else "")
