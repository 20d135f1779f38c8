"""Entries to blocks: what the transcript shows, as frozen values. Pure.

    prompt → PromptBlock      answer → ThinkingBlock, AnswerBlock, ToolBlock … in the order of its parts
    tool_started, approved, result → change their ToolBlock        notice, model, approval → NoticeBlock
    settled, an answer that did not end well → EndBlock            unknown kinds → UnknownBlock
    note, continuation → NoteBlock                                 checkpoint → CheckpointBlock
    branch-summary → BranchBlock                                   label → NoticeBlock

A block depends on its own entries alone, never on its neighbours: the same entries give the same
blocks whether they came live, by resuming or page by page.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Literal, TypeAlias, cast

import msgspec

from tui.context.bar import short_count
from tui.context.continuation import note_in
from tui.log.entries import (
    Announced,
    Answer,
    ApprovalMode,
    Approved,
    BranchSummary,
    Checkpoint,
    Entry,
    Handoff,
    Label,
    Latch,
    ModelChosen,
    Note,
    Notes,
    Notice,
    Pinned,
    Prompt,
    Queue,
    Receipt,
    Reference,
    Result,
    ResumedFrom,
    RunCard,
    Settled,
    Started,
    TaskSet,
    ToolStarted,
    UnknownBody,
)
from tui.log.gaps import GAP
from tui.messages import Attachment, Image, Json, Refusal, StopReason, Text, Thinking, ToolCall, UserMessage
from tui.widgets.theme import Level

__all__ = [
    "Added",
    "AnswerBlock",
    "Block",
    "BlockBuilder",
    "BranchBlock",
    "Carried",
    "Change",
    "CheckpointBlock",
    "EndBlock",
    "ForkBlock",
    "NoteBlock",
    "NoticeBlock",
    "PromptBlock",
    "Replaced",
    "ThinkingBlock",
    "ToolBlock",
    "ToolState",
    "UnknownBlock",
    "fold",
]

ToolState: TypeAlias = Literal["waiting", "running", "ok", "error", "refused", "unknown"]
"""`waiting`: called, not started. `unknown`: started, and the program ended before its result was kept."""


class PromptBlock(msgspec.Struct, frozen=True):
    """What was said to the model."""

    id: str
    text: str
    level: Level = "none"
    origin: str = "authored"
    steer: bool = False
    excluded: bool = False
    extras: tuple[str, ...] = ()
    """One line for each attachment and image."""


class AnswerBlock(msgspec.Struct, frozen=True):
    """Words of the model, in Markdown."""

    id: str
    text: str
    level: Level = "none"


class ThinkingBlock(msgspec.Struct, frozen=True):
    """Reasoning; folded it is one line."""

    id: str
    text: str
    level: Level = "none"


class ToolBlock(msgspec.Struct, frozen=True):
    """One call with what became of it. Its id is `call:` and the call's id."""

    id: str
    call_id: str
    name: str
    arguments: Mapping[str, Json] = {}
    level: Level = "none"
    state: ToolState = "waiting"
    output: str = ""
    diff: str = ""
    exit_status: int | None = None
    seconds: float = 0.0
    refused: str = ""
    """Why it did not run."""
    first: bool = True
    """The first call of its answer, after visible words: an empty row is set before it."""
    raw: str = ""
    """The argument text, where it was no valid JSON object."""


class NoticeBlock(msgspec.Struct, frozen=True):
    """One line to the person."""

    id: str
    text: str
    level: Level = "none"
    severity: Literal["info", "warning", "error"] = "info"


class EndBlock(msgspec.Struct, frozen=True):
    """How an answer or an exchange ended. `quiet`: as it should, or its reason is shown already."""

    id: str
    reason: str
    detail: str = ""
    level: Level = "none"
    quiet: bool = False


class Carried(msgspec.Struct, frozen=True):
    """A part of a checkpoint. `text` None: the words stand in another entry and have not been read yet."""

    label: str
    text: str | None = None
    reference: Reference | None = None


class CheckpointBlock(msgspec.Struct, frozen=True):
    """From here on the summary stands for what came before; folded it is one line, else it shows its parts."""

    id: str
    summary: str
    level: Level = "none"
    origin: str = "manual"
    figures: str = ""
    """Tokens before and after, seconds, and what the summary cost."""
    parts: tuple[Carried, ...] = ()
    """Task, requests, pins, run item, note."""


class NoteBlock(msgspec.Struct, frozen=True):
    """A note to self: when it is saved, and when the work goes on from it. Folded it is one line."""

    id: str
    text: str
    level: Level = "none"
    delivered: bool = False
    """The continuation: the note is what the model reads next."""


class BranchBlock(msgspec.Struct, frozen=True):
    """What was carried over from a branch that was left; folded it is one line."""

    id: str
    summary: str
    level: Level = "none"
    figures: str = ""
    changed: tuple[str, ...] = ()
    """Files that branch had changed and that are still so."""


class ForkBlock(msgspec.Struct, frozen=True):
    """Here other branches leave the line. It stands for no entry: where they are, the log's tree knows."""

    id: str
    others: int
    level: Level = "none"


class UnknownBlock(msgspec.Struct, frozen=True):
    """An entry this version cannot read: kept in the log, shown as one line."""

    id: str
    kind: str
    error: str = ""
    level: Level = "none"


Block: TypeAlias = (
    PromptBlock
    | AnswerBlock
    | ThinkingBlock
    | ToolBlock
    | NoticeBlock
    | EndBlock
    | CheckpointBlock
    | NoteBlock
    | BranchBlock
    | ForkBlock
    | UnknownBlock
)


class Added(msgspec.Struct, frozen=True):
    """A block at the end."""

    block: Block


class Replaced(msgspec.Struct, frozen=True):
    """A block that was there before, by its id."""

    block: Block


Change: TypeAlias = Added | Replaced


def fold(entries: Iterable[Entry], level_of: Callable[[Entry], Level] | None = None) -> list[Block]:
    """Return the blocks of a page of entries. `level_of` gives the level of context at an entry."""
    builder = BlockBuilder()
    blocks: dict[str, Block] = {}
    for entry in entries:
        for change in builder.add(entry, level_of(entry) if level_of else "none"):
            blocks[change.block.id] = change.block
    return list(blocks.values())


class BlockBuilder:
    """Turns entries into changes, one at a time. Keeps the tool blocks whose end it has not seen."""

    def __init__(self) -> None:
        self._open: dict[str, ToolBlock] = {}

    def add(self, entry: Entry, level: Level = "none") -> list[Change]:
        """Return what `entry` changes, in order; most kinds that change nothing on the screen give nothing."""
        body = entry.body
        match body:
            case Prompt():
                return [*self._abandon(), Added(_prompt(entry.id, body, level))]
            case Answer():
                return self._answer(entry.id, body, level)
            case ToolStarted():
                return self._change(body.call_id, body.name, level, state="running")
            case Approved():
                return [] if body.allowed else self._change(body.call_id, "", level, refused=body.reason or "denied")
            case Result():
                return self._result(body, level)
            case Settled():
                return [*self._abandon(), Added(_settled(entry.id, body, level))]
            case _:
                block = _single(entry.id, body, level)
                return [Added(block)] if block else []

    def _answer(self, entry_id: str, body: Answer, level: Level) -> list[Change]:
        changes: list[Change] = []
        words = False
        calls = 0
        for at, part in enumerate(body.message.content):
            block_id = f"{entry_id}:{at}"
            match part:
                case Text() if part.text.strip():
                    changes.append(Added(AnswerBlock(block_id, part.text, level)))
                    words = True
                case Thinking() if part.text.strip():
                    changes.append(Added(ThinkingBlock(block_id, part.text, level)))
                    words = True
                case Refusal():
                    changes.append(Added(NoticeBlock(block_id, f"refused: {part.text}", level, "warning")))
                case ToolCall():
                    changes.append(Added(self._call(part, level, first=words and calls == 0)))
                    calls += 1
                case _:
                    pass
        stop = body.message.stop
        if not stop.is_complete:
            changes.append(Added(EndBlock(f"{entry_id}:end", _STOPS[stop], body.message.error, level)))
        return changes

    def _call(self, call: ToolCall, level: Level, *, first: bool) -> ToolBlock:
        block = ToolBlock(
            f"call:{call.id}", call.id, call.name, call.arguments, level, first=first, raw=call.raw, refused=call.error
        )
        self._open[call.id] = block
        return block

    def _result(self, body: Result, level: Level) -> list[Change]:
        message = body.message
        failed: ToolState = "refused" if body.refused else "error" if message.is_error else "ok"
        changes = self._change(
            message.call_id,
            message.name,
            level,
            state="unknown" if body.refused == "unknown" else failed,
            output=message.text + "".join(f"\n{_image(part)}" for part in message.content if isinstance(part, Image)),
            diff=_text(body.details, "diff"),
            exit_status=_number(body.details, "exit_status", "exit", "status"),
            seconds=body.seconds,
            refused=body.refused,
        )
        self._open.pop(message.call_id, None)
        return changes

    def _change(self, call_id: str, name: str, level: Level, **values: object) -> list[Change]:
        known = self._open.get(call_id)
        # A page may begin between a call and its result: the call is then made up from what is known.
        block = known or ToolBlock(f"call:{call_id}", call_id, name or "tool", level=level)
        changed = msgspec.structs.replace(block, **values)
        self._open[call_id] = changed
        return [Replaced(changed) if known else Added(changed)]

    def _abandon(self) -> list[Change]:
        """After the exchange nothing runs any more: what has no result never got one."""
        changes: list[Change] = []
        for block in self._open.values():
            state: ToolState = "unknown" if block.state == "running" else "refused"
            reason = block.refused or ("" if state == "unknown" else "not-started")
            changes.append(Replaced(msgspec.structs.replace(block, state=state, refused=reason)))
        self._open.clear()
        return changes


_Other: TypeAlias = (
    Started
    | Queue
    | Notice
    | ModelChosen
    | ApprovalMode
    | Checkpoint
    | Note
    | Handoff
    | Latch
    | Announced
    | TaskSet
    | Pinned
    | Notes
    | ResumedFrom
    | Receipt
    | RunCard
    | Label
    | BranchSummary
    | UnknownBody
)


def _single(entry_id: str, body: _Other, level: Level) -> Block | None:
    """Return the block of an entry that is shown alone, or None for one that is not shown here."""
    match body:
        case Notice():
            return NoticeBlock(entry_id, body.text, level, body.level)
        case ModelChosen() | ApprovalMode() | TaskSet() | Pinned() | ResumedFrom() | Receipt():
            return NoticeBlock(entry_id, _setting(body), level)
        case RunCard():
            return NoticeBlock(entry_id, _card(body), level, _SEVERITIES.get(body.what, "info"))
        case Note():
            return NoteBlock(entry_id, body.text, level)
        case Checkpoint():
            return _checkpoint(entry_id, body, level)
        case Label():
            return NoticeBlock(entry_id, f"label: {body.text}" if body.text else "a label was taken away", level)
        case BranchSummary():
            return BranchBlock(entry_id, body.summary, level, _spent(body), body.changed)
        case UnknownBody(kind=kind) if kind == GAP:
            return NoticeBlock(entry_id, body.error, level, "warning")
        case UnknownBody():
            return UnknownBlock(entry_id, body.kind, body.error, level)
        case Started() | Queue() | Handoff() | Latch() | Announced() | Notes():
            # What waits is shown beside the editor, levels by thread, bar and notices, a failed handoff by its notice.
            return None


_SEVERITIES: dict[str, Literal["info", "warning", "error"]] = {
    "failed": "warning",
    "blocked": "error",
    "paused": "warning",
    "suspended": "warning",
    "review": "warning",
}


def _card(body: RunCard) -> str:
    """Return what a run's card says; the end of a run brings its report, all other details are on the board."""
    return f"{body.text}\n{body.detail}" if body.what in ("complete", "stopped") and body.detail else body.text


_STOPS: dict[StopReason, str] = {
    StopReason.COMPLETE: "answered",
    StopReason.TOOL_CALLS: "tool calls",
    StopReason.LENGTH: "cut at the output limit",
    StopReason.REFUSAL: "refused by the model",
    StopReason.EMPTY: "empty answer",
    StopReason.ERROR: "provider error",
    StopReason.DROPPED: "stream dropped",
    StopReason.STALLED: "stream stalled",
    StopReason.ABORTED: "stopped",
}

_REASONS: dict[str, str] = {
    "answered": "answered",
    "length": "the output limit was reached",
    "empty": "the answer was empty",
    "refusal": "the model refused",
    "error": "error",
    "aborted": "stopped",
    "context-full": "the context is full",
    "interrupted": "interrupted",
    "handoff": "handed over",
    "needs-person": "needs you",
    "bound": "a bound was reached",
}


def _settled(entry_id: str, body: Settled, level: Level) -> EndBlock:
    told = body.stop is not None and not body.stop.is_complete
    quiet = body.reason in ("answered", "handoff") or told
    detail = "" if body.reason in ("handoff", "aborted") else body.detail  # their words say it all
    return EndBlock(entry_id, _REASONS.get(body.reason, body.reason), detail, level, quiet)


def _checkpoint(entry_id: str, body: Checkpoint, level: Level) -> CheckpointBlock:
    current = f"current request, {'open' if body.current_open else 'answered'}"
    referred = [
        ("task", body.task),
        (current, body.current),
        *((f"later request, {'open' if later.open else 'answered'}", later.words) for later in body.later),
        ("pinned", body.pins),
        ("run item", body.item),
    ]
    parts = tuple(Carried(label, None, reference) for label, reference in referred if reference is not None)
    if body.note:
        parts = (*parts, Carried("note to self", body.note))
    return CheckpointBlock(entry_id, body.summary, level, body.origin, _figures(body), parts)


def _figures(body: Checkpoint) -> str:
    before = "?" if body.tokens_before is None else short_count(body.tokens_before)
    figures = [f"{before} to {short_count(body.tokens_after)} tokens", _spent(body)]
    if body.pointer:
        figures.append("no summary: facts are found by recall")
    return ", ".join(figures)


def _spent(body: Checkpoint | BranchSummary) -> str:
    """Return what a summary took."""
    took = f"{body.seconds:.0f}s"
    if body.usage is None:
        return took
    spent = body.usage.total - body.usage.output
    cost = f", ${body.cost:.4f}" if isinstance(body, Checkpoint) and body.cost else ""
    return f"{took}, summary {short_count(spent)} in, {short_count(body.usage.output)} out{cost}"


def _prompt(entry_id: str, body: Prompt, level: Level) -> PromptBlock | NoteBlock | ToolBlock:
    if body.origin == "shell":
        return _shell(entry_id, body, level)
    if body.origin == "continuation":
        return NoteBlock(entry_id, note_in(_words(body.message)), level, delivered=True)
    return PromptBlock(
        entry_id,
        _words(body.message),
        level,
        body.origin,
        body.steer,
        body.excluded,
        tuple(_extra(part) for part in body.message.content if not isinstance(part, Text)),
    )


def _shell(entry_id: str, body: Prompt, level: Level) -> ToolBlock:
    """Return a command the person ran, in the shape of a tool."""
    output = "\n".join(part.text for part in body.message.content if isinstance(part, Attachment))
    name = "!! not sent" if body.excluded else "!"
    arguments: dict[str, Json] = {"command": _words(body.message)}
    return ToolBlock(entry_id, entry_id, name, arguments, level, state="ok", output=output)


def _words(message: UserMessage) -> str:
    return message.authored


def _extra(part: Attachment | Image) -> str:
    if isinstance(part, Attachment):
        return f"{part.name}, {len(part.text):,} characters"
    return _image(part)


def _image(part: Image) -> str:
    return f"[image {part.media_type}, {part.width}×{part.height}]"


def _setting(body: ModelChosen | ApprovalMode | TaskSet | Pinned | ResumedFrom | Receipt) -> str:
    match body:
        case ApprovalMode():
            return f"approval: {body.mode}"
        case TaskSet():
            return f"task: {body.text}"
        case Pinned():
            return f"pinned: {len(body.texts)}" + (f", the newest: {body.texts[-1]}" if body.texts else "")
        case ResumedFrom():
            gap = f"; entries {body.gap[0]} to {body.gap[1]} are not shown to the agent" if body.gap else ""
            return f"continued from the summary{gap}"
        case Receipt():
            return f"no summary for next time: {body.reason}"
        case ModelChosen():
            return f"model: {body.provider}/{body.model}" + (f", {body.window:,} tokens" if body.window else "")


def _text(details: Mapping[str, Json], key: str) -> str:
    value: object = details.get(key)
    return value if isinstance(value, str) else ""


def _number(details: Mapping[str, Json], *keys: str) -> int | None:
    for key in keys:
        value = cast("object", details.get(key))
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return None
