"""What print mode tells on stderr while it works: one plain line for what is worth knowing."""

from __future__ import annotations

from tui.agent.events import AgentEvent, EntryAdded, Failed, RetryWaiting, Said, UsageChanged
from tui.context.bar import bar_text, short_count
from tui.log.entries import Answer, Checkpoint, Notice, Result, RunCard, Settled
from tui.messages import ToolCall, ToolResult
from tui.plain import plain_line

__all__ = ["ending_note", "notes", "usage_note"]


def notes(event: AgentEvent) -> list[str]:
    """Return the lines for one event, safe to print."""
    match event:
        case EntryAdded(entry=entry):
            return _entry_notes(entry.body)
        case RetryWaiting(reason=reason, attempt=attempt, of=of, seconds=seconds):
            return [plain_line(f"retry {attempt} of {of} in {seconds:.0f} s: {reason}")]
        case Failed(message=message):
            return [plain_line(message)]
        case Said(text=text):
            return [plain_line(text)]
        case _:
            return []


def _entry_notes(body: object) -> list[str]:
    match body:
        case Answer(message=message):
            return [_call_note(call) for call in message.calls]
        case Notice(text=text) | RunCard(text=text):
            return [plain_line(text)]
        case Checkpoint() as checkpoint:
            return [_checkpoint_note(checkpoint)]
        case Result(message=result, refused=refused) if refused or result.is_error:
            word = f"{result.name or '(no name)'} {'refused' if refused else 'failed'}"
            return [plain_line(f"{word}: {_why(result)}", 400)]
        case _:
            return []


def _why(result: ToolResult) -> str:
    """Return the line that says why: a command's output comes before it."""
    rows = result.text.strip().splitlines() or [""]
    return rows[-1] if result.name == "bash" else rows[0]


def _checkpoint_note(checkpoint: Checkpoint) -> str:
    before = "?" if checkpoint.tokens_before is None else short_count(checkpoint.tokens_before)
    return f"checkpoint ({checkpoint.origin}): {before} to {short_count(checkpoint.tokens_after)} tokens"


def _call_note(call: ToolCall) -> str:
    """Return a call as one line: its name and its first telling argument."""
    telling = (call.arguments.get(name) for name in ("command", "path", "pattern"))
    shown = next((value for value in telling if isinstance(value, str)), "")
    return plain_line(f"{call.name or '(no name)'} {shown}".rstrip(), 200)


def ending_note(settled: Settled) -> str:
    """Return why an exchange ended without a complete answer; empty where it has one."""
    if settled.reason == "answered":
        return ""
    detail = settled.detail or "No complete answer was given."
    return plain_line(f"{settled.reason}: {detail}")


def usage_note(usage: UsageChanged) -> str:
    """Return how full the context is: the bar in its exact text form, and the figures."""
    bar = bar_text(usage.tokens, usage.cached, usage.window, usage.thresholds)
    count = "unknown" if usage.tokens is None else f"{usage.tokens:,}"
    trouble = f"; {usage.problem}" if usage.problem else ""
    return plain_line(f"{bar} {count} of {usage.window:,} tokens, {usage.source}{trouble}", 1_000)
