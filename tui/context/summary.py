"""The summary call: what is sent, folded range by range where it cannot fit, and what is accepted.

The transcript is rendered as plain text, so that it holds no signed block, no image and no call that
could be run or left without its result; tool results and arguments are cut. What is measured is what
is sent (gsd-2#4665).
"""

from __future__ import annotations

import hashlib
import ipaddress
from collections.abc import Iterator, Sequence
from urllib.parse import urlsplit

import msgspec

from tui.context.checkpoint import SUMMARY_LIMIT, Budget, Plan
from tui.context.estimate import call_text, estimate_text, measure_text
from tui.context.render import Words, render_checkpoint
from tui.context.validate import describe_image
from tui.log.entries import Answer, BranchSummary, Checkpoint, Entry, HandoffError, Origin, Prompt, Result
from tui.messages import (
    AssistantMessage,
    Attachment,
    Image,
    Refusal,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    UserMessage,
    clean,
)

__all__ = [
    "IDLE_SECONDS",
    "TOTAL_SECONDS",
    "Accepted",
    "Material",
    "Rejected",
    "SummaryJob",
    "edited",
    "halved",
    "judge_summary",
    "pointer_checkpoint",
    "prepare",
    "serialise",
    "summary_message",
    "total_seconds",
    "with_summary",
]

IDLE_SECONDS = 120.0
"""Without a byte."""
TOTAL_SECONDS = 900.0
"""For one request to a remote server."""

_SHOWN = 2_000
_ATTACHED_SHOWN = 8_000
_POINTS_PER_TOKEN = 4
_LEAST_PART = 300
_MARGIN = 12
"""A twelfth of the window stays free for the error of the estimate."""

_SPEAKERS: dict[Origin, str] = {
    "authored": "person",
    "shell": "output of a command the person ran",
    "command": "program, on the person's command",
    "continuation": "note to self, delivered after a compaction",
    "dispatch": "program: run item",
}


class SummaryJob(msgspec.Struct, frozen=True):
    """All requests of one summary: one for each part, each with the summary so far."""

    system: str
    parts: tuple[str, ...]
    previous: str
    max_output: int
    """Tokens."""
    limit: int
    """Characters the summary may have."""
    focus: str = ""


class Accepted(msgspec.Struct, frozen=True):
    """A summary that may stand: complete, not blank, without calls, within its length."""

    text: str


class Rejected(msgspec.Struct, frozen=True):
    """Why a summary may not stand. `again`: one more attempt for half the length is worth it."""

    error: HandoffError
    detail: str = ""
    again: bool = False


# --- the transcript as text ---------------------------------------------------------------------


def serialise(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield each covered entry that was in the view, as plain text."""
    for entry in entries:
        match entry.body:
            case Prompt(message=message, excluded=False) as prompt:
                yield _block(_SPEAKERS[prompt.origin], [_user_part(part) for part in message.content])
            case Answer(message=message):
                lines = [line for part in message.content if (line := _answer_part(part))]
                ending = "" if message.stop.is_complete else f", ended early: {message.stop.value}"
                if lines:
                    yield _block(f"agent{ending}", lines)
            case Result(message=message):
                yield _block(f"result of {message.name}{', an error' if message.is_error else ''}", [_result(message)])
            case BranchSummary(summary=summary):
                yield _block("history from a branch that was left", [summary])
            case _:
                pass


def _block(who: str, lines: Sequence[str]) -> str:
    return clean("\n".join((f"[{who}]", *lines)))


def _cut(text: str, most: int = _SHOWN) -> str:
    """Return a text, or its beginning and end around a marker that says how much is left out."""
    if len(text) <= most:
        return text
    head = most * 2 // 3
    return f"{text[:head]}\n[… {len(text) - most} characters left out …]\n{text[head - most :]}"


def _user_part(part: Text | Attachment | Image) -> str:
    match part:
        case Text():
            return part.text
        case Attachment():
            return f"(attached: {part.name})\n{_cut(part.text, _ATTACHED_SHOWN)}"
        case Image():
            return describe_image(part)


def _answer_part(part: Text | Thinking | ToolCall | Refusal) -> str:
    match part:
        case Text() | Refusal():
            return part.text
        case Thinking():
            return ""
        case ToolCall():
            return f"(calls {part.name} {_cut(call_text(part))})"


def _result(message: ToolResult) -> str:
    text = _cut(message.text)
    images = [describe_image(part) for part in message.content if isinstance(part, Image)]
    return "\n".join([text, *images]) or "(no output)"


# --- the requests -------------------------------------------------------------------------------


class Material(msgspec.Struct, frozen=True):
    """What a summary is made of, where no checkpoint is planned."""

    covered: tuple[Entry, ...]
    previous_summary: str
    summary_tokens: int


def prepare(plan: Plan | Material, system: str, budget: Budget, *, focus: str = "") -> SummaryJob | Rejected:
    """Return the requests of a summary for the model that writes it, or why its window is too small.

    `budget.window` and `budget.calibration` are the summary model's. Every covered entry reaches a request.
    """
    cap = plan.summary_tokens
    limit = min(SUMMARY_LIMIT, cap * _POINTS_PER_TOKEN)
    frame = estimate_text(system) + estimate_text(focus) + 200
    before = _tokens(plan.previous_summary, budget)
    room = budget.window - cap * 5 // 4 - frame - max(cap, before) - budget.window // _MARGIN
    if room < _LEAST_PART:
        return Rejected("does-not-fit", f"a summary needs a window of {budget.window - room + _LEAST_PART} tokens")
    parts = tuple(_packed(serialise(plan.covered), room, budget)) or ("(nothing)",)
    return SummaryJob(system, parts, plan.previous_summary, cap * 5 // 4, limit, focus)


def _tokens(text: str, budget: Budget) -> int:
    return budget.calibration.tokens(measure_text(text))


def _packed(blocks: Iterator[str], room: int, budget: Budget) -> Iterator[str]:
    """Yield the blocks joined to parts of at most `room` tokens; a block that is larger is split, never cut."""
    held: list[str] = []
    size = 0
    for block in blocks:
        for piece, tokens in _pieces(block, room, budget):
            if held and size + tokens > room:
                yield "\n\n".join(held)
                held, size = [], 0
            held.append(piece)
            size += tokens + 1
    if held:
        yield "\n\n".join(held)


def _pieces(block: str, room: int, budget: Budget) -> Iterator[tuple[str, int]]:
    tokens = _tokens(block, budget)
    if tokens <= room:
        yield block, tokens
        return
    middle = len(block) // 2
    for half in (block[:middle], block[middle:]):
        yield from _pieces(half, room, budget)


def summary_message(job: SummaryJob, part: int, so_far: str) -> UserMessage:
    """Return the one message of the request for a part. `so_far`: what the request before it gave."""
    known = so_far or job.previous
    mark = hashlib.sha256(job.parts[part].encode()).hexdigest()[:8]
    lines: list[str] = []
    if known:
        lines += [f"<summary-so-far-{mark}>", known, f"</summary-so-far-{mark}>", ""]
    of = f" part {part + 1} of {len(job.parts)}" if len(job.parts) > 1 else ""
    lines += [f"<transcript-{mark}>{of}", job.parts[part], f"</transcript-{mark}>", ""]
    lines.append(_order(job, merge=bool(known)))
    return UserMessage((Text("\n".join(lines)),))


def _order(job: SummaryJob, *, merge: bool) -> str:
    what = "Merge the transcript into the summary so far" if merge else "Write the summary of the transcript"
    focus = f" The person asks that it keeps above all: {job.focus}" if job.focus.strip() else ""
    return f"{what}, as the instruction says, in at most {job.limit} characters. Only the summary.{focus}"


def halved(job: SummaryJob) -> SummaryJob:
    """Return the same job for half the length: the one more attempt after a truncated or over-long summary."""
    return msgspec.structs.replace(job, limit=max(500, job.limit // 2))


# --- what is accepted ---------------------------------------------------------------------------

_REASONS: dict[StopReason, HandoffError] = {
    StopReason.LENGTH: "truncated",
    StopReason.TOOL_CALLS: "tool-call",
    StopReason.REFUSAL: "refused",
    StopReason.EMPTY: "empty",
    StopReason.ABORTED: "aborted",
    StopReason.STALLED: "timeout",
    StopReason.DROPPED: "provider-failure",
    StopReason.ERROR: "provider-failure",
}


def judge_summary(answer: AssistantMessage, job: SummaryJob) -> Accepted | Rejected:
    """Return the summary, or why it may not stand. Calls in it are never run."""
    if answer.calls:
        return Rejected("tool-call", f"it called {answer.calls[0].name}")
    error = _REASONS.get(answer.stop)
    if error is not None:
        return Rejected(error, answer.error, again=error == "truncated")
    text = answer.text.strip()
    if not text:
        return Rejected("empty")
    if len(text) > min(SUMMARY_LIMIT, job.limit * 5 // 4):
        return Rejected("over-long", f"{len(text)} characters, {job.limit} were asked for", again=True)
    return Accepted(text)


def total_seconds(base_url: str, total: float = TOTAL_SECONDS) -> float | None:
    """Return the time limit of one summary request: none for loopback and private addresses, which may be slow.

    `total`: seconds for all other servers.
    """
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith((".localhost", ".local")):
        return None
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return total
    return None if address.is_loopback or address.is_private else total


# --- the checkpoint -----------------------------------------------------------------------------


def with_summary(
    plan: Plan,
    summary: str,
    *,
    arrived: Sequence[Entry] = (),
    model: str = "",
    seconds: float = 0.0,
    usage: Usage | None = None,
    cost: float | None = None,
) -> Checkpoint:
    """Return the checkpoint to write. `arrived`: entries that came while the summary was made; they are kept."""
    first = next((entry.id for entry in arrived if isinstance(entry.body, Prompt | Answer | Result)), "")
    return msgspec.structs.replace(
        plan.checkpoint,
        summary=summary,
        kept=plan.checkpoint.kept or first,
        model=model,
        seconds=seconds,
        usage=usage,
        cost=cost,
    )


def edited(before: Entry, summary: str, budget: Budget, words: Words) -> Checkpoint | Rejected:
    """Return the checkpoint that takes the place of `before`, with a summary that a person wrote, or why not.

    Everything else of it stays. It must leave the room a checkpoint leaves, unless it is no larger than it was.
    """
    old = before.body
    assert isinstance(old, Checkpoint)
    text = clean(summary).strip()
    if not text:
        return Rejected("empty")
    if len(text) > SUMMARY_LIMIT:
        return Rejected("over-long", f"{len(text)} characters, {SUMMARY_LIMIT} are the most")
    new = msgspec.structs.replace(
        old,
        origin="manual",
        summary=text,
        cycle="",
        supersedes=before.id,
        pointer=False,
        barren=1,
        model="",
        seconds=0.0,
        usage=None,
        cost=0.0,
    )
    size, was = (_tokens(render_checkpoint(each, words), budget) for each in (new, old))
    if size > max(was, budget.room):
        return Rejected("does-not-fit", f"with it the checkpoint has {size} tokens, {budget.room} are the most")
    return new


def pointer_checkpoint(plan: Plan, *, arrived: Sequence[Entry] = ()) -> Checkpoint:
    """Return the checkpoint without a model: task, requests, files and ranges alone, labelled so."""
    return msgspec.structs.replace(with_summary(plan, plan.previous_summary, arrived=arrived), pointer=True)
