"""A session's entries, for tests."""

from __future__ import annotations

from tui.log.entries import (
    Answer,
    ApprovalMode,
    Approved,
    Body,
    Entry,
    ModelChosen,
    Notice,
    Prompt,
    Result,
    Settled,
    Started,
    ToolStarted,
    UnknownBody,
)
from tui.messages import AssistantMessage, Json, StopReason, Text, Thinking, ToolCall, ToolResult, UserMessage

DIFF = "--- a/x.py\n+++ b/x.py\n@@ -1,2 +1,2 @@\n-old value here\n+new value here\n same\n"


def chain(*bodies: Body | UnknownBody) -> list[Entry]:
    began = 1_700_000_000_000
    return [Entry(f"e{at}", f"e{at - 1}" if at else None, at, began + at, body) for at, body in enumerate(bodies)]


def prompt(text: str) -> Prompt:
    return Prompt(UserMessage((Text(text),)))


def answer(*parts: Text | Thinking | ToolCall, stop: StopReason = StopReason.COMPLETE, error: str = "") -> Answer:
    return Answer(AssistantMessage(parts, stop, error=error))


def result(
    call: str, name: str, text: str, *, failed: bool = False, details: dict[str, Json] | None = None, refused: str = ""
) -> Result:
    return Result(ToolResult(call, name, (Text(text),), failed), details=details or {}, seconds=0.25, refused=refused)


SESSION = chain(
    Started("/home/u/p", "0.1"),
    ModelChosen("rehearsal", "small", window=32_000),
    ApprovalMode("edits"),
    prompt("Fix [/red] it\nplease"),
    answer(
        Thinking("let me see\nwhat there is"),
        Text("I will *look*.\n\n- one\n- two\n"),
        ToolCall("c1", "bash", {"command": "ls -la"}),
        ToolCall("c2", "edit", {"path": "src/x.py"}),
        ToolCall("c3", "write", {"path": "y"}),
        stop=StopReason.TOOL_CALLS,
    ),
    ToolStarted("c1", "bash"),
    ToolStarted("c2", "edit"),
    result("c2", "edit", "done", details={"type": "edit", "diff": DIFF}),
    result("c1", "bash", "\n".join(f"line {n}" for n in range(30)), failed=True, details={"type": "bash", "exit": 2}),
    Approved("c3", allowed=False, reason="denied"),
    result("c3", "write", "denied by the person", refused="denied", failed=True),
    Notice("the context is filling", "warning"),
    UnknownBody("dream", b"{}"),
    answer(Text("| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1\n```\n\nDone."), stop=StopReason.COMPLETE),
    Settled("answered"),
    prompt("more"),
    answer(Text("half an ans"), stop=StopReason.ABORTED),
    Settled("aborted", stop=StopReason.ABORTED),
)
