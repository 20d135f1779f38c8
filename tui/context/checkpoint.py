"""What a checkpoint covers, keeps and carries, and how large the view is after it.

`plan` decides everything but the summary: the cut, the parts with what is shown of each, the projected
size. `compactable` is the one question that gate, latch, guidance, tool and commands ask.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Literal, TypeAlias

import msgspec

from tui.context.estimate import Calibration, Measure, call_text, measure_message, measure_text
from tui.context.render import TASK_LIMIT, Words
from tui.context.requests import Requests
from tui.context.view import branch_message, effective, prompt_message
from tui.log.entries import (
    Allowance,
    Answer,
    BranchSummary,
    CarriedRequest,
    Checkpoint,
    Entry,
    Failure,
    Prompt,
    Reference,
    Result,
    RunCard,
    ToolStarted,
)
from tui.messages import Message, ToolCall

__all__ = [
    "NOTE_LIMIT",
    "SUMMARY_LIMIT",
    "Budget",
    "Plan",
    "Situation",
    "compactable",
    "files_of",
    "keep_budget",
    "largest_note",
    "made_progress",
    "needed_window",
    "note_fault",
    "plan",
    "summary_cap",
    "utf16_units",
]

Origin: TypeAlias = Literal["self", "manual", "overflow", "hard", "resume"]
Measurer: TypeAlias = Callable[[Message], Measure]

NOTE_LIMIT = 24_000
"""UTF-16 units of a note at most."""
SUMMARY_LIMIT = 48_000
"""Characters of a summary at most."""

_KEEP = 20_000
_CAP = 12_000
_CAP_LEAST = 256
_FRAME = 300
"""Tokens of labels, file lists and the continuation's own words."""
_FREE_PERCENT = 30
_GAIN = 20
"""A checkpoint must make the view at least this fraction (1/20) of the window smaller."""
_LATER_BYTES = 16_000
_LATER_MOST = 64
_FILES = 200
_RESULT_LEAST = 2_048
_RESULT_PART = 4
_BYTES_PER_TOKEN = 3
"""Of output in the mean: code and paths have fewer than prose."""
_ABOUT_ITSELF = frozenset({"self_compact", "context_info", "recall", "write_notes"})
"""Tools that move no work forward."""
_FAILURES = 5
_ARGUMENTS_SHOWN = 200
_ERROR_SHOWN = 300


class Budget(msgspec.Struct, frozen=True):
    """The room there is, in calibrated tokens."""

    window: int
    hard: int
    overhead: int
    calibration: Calibration = Calibration()

    @property
    def room(self) -> int:
        """What task, requests, item, summary, tail and note may take together: 30 % of the rest stays free."""
        return max(0, (self.hard - self.overhead) * (100 - _FREE_PERCENT) // 100 - _FRAME)

    @property
    def result_bytes(self) -> int:
        """Most bytes one tool result should have: about a quarter of what the conversation may take.

        One that fills the window is covered before the model has used it, and asked for again.
        """
        return max(_RESULT_LEAST, (self.hard - self.overhead) // _RESULT_PART * _BYTES_PER_TOKEN)


class Situation(msgspec.Struct, frozen=True):
    """What a plan is made from: the live branch, and what was derived along it."""

    entries: Sequence[Entry]
    """Of the path, from the first kept entry of `checkpoint` on or earlier, to the leaf."""
    checkpoint: Entry | None
    """In force, or None."""
    requests: Requests
    """After all of `entries`."""
    words: Words
    pending_note: str = ""
    """The note of a delivered cycle that is not answered yet."""
    measure: Measurer = measure_message


class Plan(msgspec.Struct, frozen=True):
    """A checkpoint without its summary, and its figures in tokens."""

    checkpoint: Checkpoint
    covered: tuple[Entry, ...]
    """What the summary must cover, oldest first; the previous summary is merged besides."""
    previous_summary: str
    summary_tokens: int
    """The cap of the summary."""
    projected: int
    """Size of the view after it, the note included."""
    gain: int
    """How much smaller the view gets, protected text left out."""
    worth: bool
    """Whether it covers something new and gains enough."""
    leaf_depth: int
    """Of the newest entry it was made from; what comes later is kept."""


def summary_cap(budget: Budget) -> int:
    """Return the tokens a summary may have that is no checkpoint's, and stands in the view beside it."""
    return max(_CAP_LEAST, min(_CAP, max(1_024, budget.window // 10), budget.room // 4))


def utf16_units(text: str) -> int:
    """Return the length of a text in UTF-16 units."""
    return len(text) + sum(1 for char in text if char > "\uffff")


def note_fault(note: object, largest: int = NOTE_LIMIT) -> str:
    """Return why a note cannot be taken, or nothing. `largest`: UTF-16 units that fit this window."""
    if not isinstance(note, str):
        return "note_to_self must be a text. Nothing was saved; call self_compact again with the note as one string."
    if not note.strip():
        return "note_to_self is blank. Nothing was saved; write what is done, how it was checked, and the next action."
    units = utf16_units(note)
    if units > min(NOTE_LIMIT, largest):
        why = "" if largest >= NOTE_LIMIT else " in this context window"
        return (
            f"note_to_self has {units} characters, and {min(NOTE_LIMIT, largest)} are the most{why}. "
            "Nothing was saved; write it shorter and call self_compact again."
        )
    return ""


def largest_note(budget: Budget, note: str) -> int:
    """Return how many UTF-16 units a note of this kind may have, so that the rest can give way to it."""
    room = budget.room - _CAP_LEAST
    tokens = _tokens(note, budget)
    if tokens <= room:
        return NOTE_LIMIT
    return max(0, utf16_units(note) * max(0, room) // tokens)


def needed_window(budget: Budget, note: str) -> int:
    """Return the tokens of window, in this one's proportions, in which a note would just fit."""
    hard = budget.overhead + (_tokens(note, budget) + _CAP_LEAST + _FRAME) * 100 // (100 - _FREE_PERCENT) + 1
    return -(-hard * budget.window // budget.hard)


@lru_cache(maxsize=512)
def _measured(text: str) -> Measure:
    return measure_text(text)


def _tokens(text: str, budget: Budget) -> int:
    return budget.calibration.tokens(_measured(text))


def keep_budget(window: int) -> int:
    """Return how many tokens of the newest entries are kept."""
    return min(_KEEP, window // 10)


# --- the cut ------------------------------------------------------------------------------------


def _message(entry: Entry) -> Message | None:
    match entry.body:
        case Prompt(message=message, excluded=False):
            return prompt_message(message)
        case Answer(message=message) | Result(message=message):
            return message
        case BranchSummary() as summary:
            return branch_message(summary)
        case _:
            return None


def _entry_tokens(entry: Entry, situation: Situation, budget: Budget) -> int:
    message = _message(entry)
    return 0 if message is None else budget.calibration.tokens(situation.measure(message))


def _cut(sequence: Sequence[Entry], situation: Situation, budget: Budget, keep: int) -> tuple[int, int]:
    """Return where the kept entries begin (the length where none is kept) and their tokens.

    Never between a call and its result; a turn that does not fit is covered whole.
    """
    best, best_tokens, total = len(sequence), 0, 0
    pending: set[str] = set()
    for place in reversed(range(len(sequence))):
        entry = sequence[place]
        total += _entry_tokens(entry, situation, budget)
        if total > keep:
            break
        match entry.body:
            case Result(message=message):
                pending.add(message.call_id)
            case Answer(message=message):
                pending.difference_update(call.id for call in message.calls)
            case _:
                pass
        if not pending and isinstance(entry.body, Prompt | Answer | BranchSummary):
            best, best_tokens = place, total
    return best, best_tokens


# --- what is carried ----------------------------------------------------------------------------


class _Share(msgspec.Struct, frozen=True):
    """What each part may have of the room, in tokens and code points."""

    allowance: Allowance
    later: tuple[CarriedRequest, ...]
    carried: int
    """Tokens of task, requests, item and pins as rendered."""
    cap: int
    keep: int


def _share(situation: Situation, budget: Budget, note: int) -> _Share:
    """Give the room out, the best protected first; what is left over last gives way first."""
    requests = situation.requests
    current = requests.current
    own_current = current if current and (requests.task is None or current.words.entry != requests.task.entry) else None
    left = max(0, budget.room - note - _CAP_LEAST)
    item, left = _part(requests.item, situation, budget, left)
    asked, left = _part(own_current and own_current.words, situation, budget, left)
    task, left = _part(requests.task, situation, budget, left, TASK_LIMIT)
    cap = _CAP_LEAST + min(left, max(0, min(_CAP, max(1_024, budget.window // 10)) - _CAP_LEAST))
    left -= cap - _CAP_LEAST
    pins, left = _part(requests.pins, situation, budget, left)
    notes, left = _part(requests.notes, situation, budget, left)
    later, shown, later_tokens = _later(requests.later, situation, budget, left)
    left -= later_tokens
    parts = (item, asked, task, pins, notes)
    return _Share(
        allowance=Allowance(task.points, asked.points, item.points, pins.points, notes.points, shown),
        later=later,
        carried=sum(part.tokens for part in parts) + later_tokens,
        cap=cap,
        keep=min(keep_budget(budget.window), left),
    )


class _Shown(msgspec.Struct, frozen=True):
    points: int = -1
    """Code points; -1 is all."""
    tokens: int = 0


def _part(
    reference: Reference | None, situation: Situation, budget: Budget, left: int, most: int = -1
) -> tuple[_Shown, int]:
    """Return how much of some words is rendered within `left` tokens, and what is left after it."""
    text = None if reference is None else situation.words(reference)
    if text is None:
        return _Shown(), left
    if most >= 0:
        text = text[:most]
    whole = _tokens(text, budget)
    if whole <= left:
        return _Shown(-1, whole), left - whole
    points = _fitting(text, budget, left)
    shown = _tokens(text[:points], budget)
    return _Shown(points, shown), max(0, left - shown)


def _fitting(text: str, budget: Budget, tokens: int) -> int:
    """Return how many code points of a text have at most so many tokens."""
    low, high = 0, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if budget.calibration.tokens(measure_text(text[:middle])) <= tokens:
            low = middle
        else:
            high = middle - 1
    return low


def _later(
    later: tuple[CarriedRequest, ...], situation: Situation, budget: Budget, left: int
) -> tuple[tuple[CarriedRequest, ...], int, int]:
    """Return the requests stored within the byte budget, how many of them are shown, and their tokens."""
    stored: list[CarriedRequest] = []
    bytes_left = min(_LATER_BYTES, budget.window // 4)
    shown = tokens = 0
    for request in later:
        if request.words.size > bytes_left or len(stored) >= _LATER_MOST:
            continue  # one huge message must not take older corrections with it
        bytes_left -= request.words.size
        stored.append(request)
        text = situation.words(request.words)
        size = _tokens(text, budget) + 4 if text is not None else 24
        if shown == len(stored) - 1 and tokens + size <= left:
            shown, tokens = shown + 1, tokens + size
    return tuple(stored), -1 if shown == len(stored) else shown, tokens


# --- the plan -----------------------------------------------------------------------------------


class _Figures(msgspec.Struct, frozen=True):
    """Where the cut lies and what it brings, without the parts that need a look at every covered entry."""

    sequence: Sequence[Entry]
    place: int
    share: _Share
    projected: int
    gain: int
    worth: bool


def _figures(situation: Situation, budget: Budget, origin: Origin, used: int, note: str) -> _Figures:
    sequence = effective(situation.entries, situation.checkpoint)
    note_tokens = _tokens(note, budget) if note else 0
    share = _share(situation, budget, note_tokens)
    place, tail = _cut(sequence, situation, budget, 0 if origin == "resume" else share.keep)
    base = budget.overhead + share.cap + tail + _FRAME
    last = sequence[place - 1].depth if place else -1
    gain = used - _protected(situation, budget, share, last) - base
    covers = any(_message(sequence[at]) is not None for at in range(place))
    return _Figures(
        sequence=sequence,
        place=place,
        share=share,
        projected=base + share.carried + note_tokens,
        gain=gain,
        worth=covers and gain * _GAIN >= budget.window,
    )


def plan(
    situation: Situation, budget: Budget, origin: Origin, *, used: int, known: bool = True, note: str = ""
) -> Plan:
    """Return the checkpoint that would be made now.

    `used` is the usage in tokens, or the estimate where usage is unknown (`known` false). `note` is the one
    that is delivered after it; its size counts, its words are not in the checkpoint.
    """
    figures = _figures(situation, budget, origin, used, note)
    covered = tuple(figures.sequence[: figures.place])
    draft = _draft(situation, figures.share, covered, figures.sequence[figures.place :], origin)
    previous = situation.checkpoint.body if situation.checkpoint is not None else None
    return Plan(
        checkpoint=msgspec.structs.replace(
            draft, tokens_before=used if known else None, tokens_after=figures.projected
        ),
        covered=covered,
        previous_summary=previous.summary if isinstance(previous, Checkpoint) else "",
        summary_tokens=figures.share.cap,
        projected=figures.projected,
        gain=figures.gain,
        worth=figures.worth,
        leaf_depth=situation.entries[-1].depth if situation.entries else -1,
    )


def compactable(situation: Situation, budget: Budget, *, used: int) -> bool:
    """Whether a checkpoint would cover something new and make the view at least 5 % of the window smaller."""
    return _figures(situation, budget, "self", used, "").worth


def _protected(situation: Situation, budget: Budget, share: _Share, last: int) -> int:
    """Return the tokens in use now, up to depth `last`, that a checkpoint carries on: no gain, whole or cut."""
    requests = situation.requests
    carried = [requests.task, requests.current and requests.current.words, requests.item]
    carried += [request.words for request in share.later]
    seen = {reference.entry: reference for reference in carried if reference is not None and reference.depth <= last}
    texts = (situation.words(reference) for reference in seen.values())
    return sum(_tokens(text[:TASK_LIMIT], budget) for text in texts if text is not None)


def _draft(
    situation: Situation, share: _Share, covered: Sequence[Entry], kept: Sequence[Entry], origin: Origin
) -> Checkpoint:
    requests, before = situation.requests, situation.checkpoint
    previous = before.body if before is not None and isinstance(before.body, Checkpoint) else None
    last = covered[-1] if covered else before
    current = requests.current
    read, changed = files_of(covered, previous)
    return Checkpoint(
        origin=origin,
        first=covered[0].id if covered else (previous.first if previous else ""),
        last=last.id if last is not None else "",
        last_depth=covered[-1].depth if covered else (previous.last_depth if previous else -1),
        summary="",
        kept=next((entry.id for entry in kept if _message(entry) is not None), ""),
        previous=before.id if before is not None else "",
        task=requests.task,
        task_set=requests.task_set,
        current=current.words if current else None,
        current_open=current.open if current else True,
        current_live=current.live if current else False,
        later=share.later,
        pins=requests.pins,
        notes=requests.notes,
        item=requests.item,
        note=_carried_note(situation, kept),
        allowance=share.allowance,
        read=read,
        changed=changed,
        running=_running(situation.entries),
        hashes=_hashes(covered, previous),
        failures=_failures(covered, previous),
        barren=_barren(situation.entries, before, previous),
    )


def _carried_note(situation: Situation, kept: Sequence[Entry]) -> str:
    """Return the note of an unanswered cycle, unless its continuation itself is kept."""
    stays = any(isinstance(entry.body, Prompt) and entry.body.origin == "continuation" for entry in kept)
    return "" if stays else situation.pending_note


def files_of(covered: Sequence[Entry], previous: Checkpoint | None) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the files read and the files changed, newest last, those of earlier checkpoints included."""
    read: dict[str, None] = dict.fromkeys(previous.read if previous else ())
    changed: dict[str, None] = dict.fromkeys(previous.changed if previous else ())
    for entry in covered:
        if not isinstance(entry.body, Result) or entry.body.message.is_error:
            continue
        kind, path = entry.body.details.get("type"), entry.body.details.get("path")
        if isinstance(path, str) and kind in ("read", "write", "edit"):
            files = read if kind == "read" else changed
            files.pop(path, None)
            files[path] = None
    only_read = [path for path in read if path not in changed]
    return tuple(only_read[-_FILES:]), tuple(list(changed)[-_FILES:])


def _hashes(covered: Sequence[Entry], previous: Checkpoint | None) -> tuple[tuple[str, str], ...]:
    """Return the newest sha256 of each file the agent saw: it must know what changed on disk since."""
    seen = dict(previous.hashes) if previous is not None else {}
    for entry in covered:
        if isinstance(entry.body, Result):
            path, sha256 = entry.body.details.get("path"), entry.body.details.get("sha256")
            if isinstance(path, str) and isinstance(sha256, str):
                seen.pop(path, None)
                seen[path] = sha256
    return tuple(seen.items())[-_FILES:]


def _running(entries: Sequence[Entry]) -> tuple[str, ...]:
    started = {entry.body.call_id: entry.body.name for entry in entries if isinstance(entry.body, ToolStarted)}
    for entry in entries:
        if isinstance(entry.body, Result):
            started.pop(entry.body.message.call_id, None)
    return tuple(started.values())


def _failures(covered: Sequence[Entry], previous: Checkpoint | None) -> tuple[Failure, ...]:
    """Return the newest failed calls with their words: a summary that leaves them out starts a loop (openclaw#1084)."""
    calls: dict[str, ToolCall] = {}
    found: list[Failure] = list(previous.failures if previous else ())
    for entry in covered:
        match entry.body:
            case Answer(message=message):
                calls.update((call.id, call) for call in message.calls)
            case Result(message=message, refused="") if message.is_error:
                call = calls.get(message.call_id)
                found.append(Failure(message.name, _shown_arguments(call), _one_line(message.text, _ERROR_SHOWN)))
            case _:
                pass
    return tuple(found[-_FAILURES:])


def _shown_arguments(call: ToolCall | None) -> str:
    return "" if call is None else _one_line(call_text(call), _ARGUMENTS_SHOWN)


def _one_line(text: str, most: int) -> str:
    line = " ".join(text[: most * 2].split())
    return line if len(line) <= most else f"{line[:most]}…"


def _barren(entries: Sequence[Entry], before: Entry | None, previous: Checkpoint | None) -> int:
    """Return how many checkpoints in a row had no progress between them, this one included."""
    if before is None or previous is None:
        return 1
    since = [entry for entry in entries if entry.depth > before.depth]
    return 1 if any(made_progress(entry) for entry in since) else previous.barren + 1


def made_progress(entry: Entry) -> bool:
    """Whether an entry is new work: a tool call that ran well, or an authored message."""
    match entry.body:
        case Prompt(origin="authored", excluded=False) | RunCard(what="accepted"):
            return True
        case Result(message=message, refused=""):
            return not message.is_error and message.name not in _ABOUT_ITSELF
        case _:
            return False
