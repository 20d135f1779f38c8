"""The model's side of a handoff: when to hand over, the note, going on from it, and summaries.

Note and summary share one form, so that what was done survives any number of handoffs:
`- [x] task: what came out` for what is done, `- [ ] task` for what is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import msgspec

from tui.messages import AssistantMessage, Message, Text, ToolResult, UserMessage
from tui.models.base import Request
from tui.models.rehearsal.evidence import CHECKPOINT_TASK, NOTE_TITLE, Scope, asks_for_note
from tui.models.rehearsal.facts import report_of_tests

__all__ = ["Carried", "carried_work", "is_summary", "must_hand_over", "note_for", "row_of", "summary_of"]

_MOST_NOTE = 20_000
_MOST_SUMMARY = 8_000
_NOW = re.compile(r"(?i)\b(?:warning|hard|now|must|locked|refused)\b")
_LATER = re.compile(r"(?i)\b(?:optional|soft|no need|not yet|may call)\b")
_DONE = re.compile(r"^(?:- \[x\]|✓) (?P<text>.+)$", re.MULTILINE)
_ABOVE = "(the original task above)"
_STATE = re.compile(r"^\[(?:open|answered)\]\s*")
_LABEL = re.compile(
    r"\n\n(?=(?:RUN ITEM|PINNED BY|LATER REQUESTS|CURRENT REQUEST|PREVIOUS REQUEST|NOTE TO SELF|YOUR NOTES"
    r"|WHERE TO LOOK FURTHER)\b)"
)
_OPEN = re.compile(r"^- \[ \] (?P<text>.+)$", re.MULTILINE)


class Carried(msgspec.Struct, frozen=True):
    """What a note or a checkpoint says about the work."""

    asked: str = ""
    done: tuple[str, ...] = ()
    open: tuple[str, ...] | None = None
    """Tasks that are left, word for word; None when it does not say."""


def must_hand_over(request: Request) -> bool:
    """Whether the program says that it is time: at warning or hard, or by a person's wish."""
    if not any(tool.name == "self_compact" for tool in request.tools) or _tried(request.messages):
        return False
    said = request.guidance
    if "self_compact" in said and _NOW.search(said) and not _LATER.search(said):
        return True
    newest = request.messages[-1] if request.messages else None
    if isinstance(newest, UserMessage):
        return asks_for_note(newest.authored)
    return any("self_compact" in result.text for result in _newest_results(request.messages) if result.is_error)


def _newest_results(messages: Sequence[Message]) -> list[ToolResult]:
    found: list[ToolResult] = []
    for message in reversed(messages):
        if not isinstance(message, ToolResult):
            break
        found.append(message)
    return found


def _tried(messages: Sequence[Message]) -> bool:
    """Whether this exchange has asked for it already: it is not asked twice."""
    for message in reversed(messages):
        if isinstance(message, UserMessage):
            return False
        if isinstance(message, ToolResult) and message.name == "self_compact":
            return True
    return False


def note_for(scope: Scope, carried: Carried, done: Sequence[str], left: Sequence[str], next_step: str) -> str:
    """Return the note: asked, done with results, open, and the one next action."""
    asked = carried.asked or "\n\n".join(scope.prompts)
    finished = [*carried.done, *done]
    parts = [
        NOTE_TITLE,
        "## Asked",
        _clip(asked, 6_000),
        "## Done, with results",
        "\n".join(f"- [x] {row_of(row)}" for row in finished) or "Nothing yet.",
        "## Not done",
        "\n".join(f"- [ ] {row_of(row)}" for row in left) or "Nothing: the task is complete.",
        "## Next action",
        next_step or "Report what was done.",
    ]
    return _clip("\n\n".join(parts), _MOST_NOTE)


def row_of(text: str) -> str:
    """One line, from which the text comes back: newlines are written as a visible mark."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _unrow(row: str) -> str:
    return re.sub(r"\\(n|\\)", lambda match: "\n" if match[1] == "n" else "\\", row)


def carried_work(text: str) -> Carried:
    """Return what a continuation or a checkpoint says is asked, done and left."""
    done = tuple(_unrow(match["text"]) for match in _DONE.finditer(text))
    left = tuple(_unrow(match["text"]) for match in _OPEN.finditer(text))
    asked = re.search(r"## Asked\n\n(.*?)\n\n## ", text, re.DOTALL)
    if NOTE_TITLE in text and asked is not None:
        return Carried(asked=asked[1], done=done, open=left)
    return Carried(asked=_request_in(text), done=done, open=None)


def _request_in(text: str) -> str:
    """Return the run item a checkpoint carries, else the current request, else the task."""
    item = text.rfind("RUN ITEM IN WORK")
    if item >= 0:
        return text[item:].partition("\n")[2]
    current = text.rfind("CURRENT REQUEST")
    words = _STATE.sub("", _part(text[current:].partition("\n")[2])) if current >= 0 else _ABOVE
    return _part(text.partition(CHECKPOINT_TASK)[2]) if words == _ABOVE else words


def _part(text: str) -> str:
    """Return the text as far as the next part of a checkpoint."""
    return _LABEL.split(text, maxsplit=1)[0].strip()


def is_summary(request: Request) -> bool:
    """Whether this request is for a summary of a transcript, not for work."""
    return not request.tools and re.search(r"(?i)\bsummar(?:y|i[sz]e)", request.system) is not None


def summary_of(request: Request) -> str:
    """Return a structured summary of the transcript, of facts that are in it, bounded."""
    text = "\n".join(_plain(message) for message in request.messages)
    goals = _goals(request.messages, text)
    done = _unique([_unrow(match["text"]) for match in _DONE.finditer(text)] + _good(text))
    parts = [
        "## Goal",
        *(_bullets(goals, 8) or ["- not stated in the transcript"]),
        "## Progress",
        "### Done",
        *(_marked(done, 40) or ["- nothing is shown by a result"]),
        "### Failed or refused",
        *(_bullets(_bad(text), 15) or ["- none seen"]),
        "## Next",
        *(_bullets(_next(text), 15) or ["- go on with the newest request"]),
        "## Exact identifiers",
        *(_bullets((f"`{name}`" for name in _identifiers(text)), 60) or ["- none"]),
    ]
    most = min(_MOST_SUMMARY, request.max_output * 2)
    return _clip("\n".join(parts), most)


def _plain(message: Message) -> str:
    if isinstance(message, AssistantMessage):
        calls = "\n".join(
            f"[call {call.name} {msgspec.json.encode(call.arguments).decode()}]" for call in message.calls
        )
        return f"[assistant]\n{message.text}\n{calls}"
    role = (
        f"[result of {message.name}{' (error)' if message.is_error else ''}]"
        if isinstance(message, ToolResult)
        else "[user]"
    )
    return f"{role}\n" + "\n".join(
        part.text for part in message.content if not hasattr(part, "sha256") and isinstance(part, Text)
    )


_SO_FAR = re.compile(r"<summary-so-far-(\w+)>\n(.*?)\n</summary-so-far-\1>", re.DOTALL)
_GOALS = re.compile(r"^## Goal\n((?:- .*\n?)+)", re.MULTILINE)
_SAID = re.compile(r"^\[person\]\n?(.+?)(?=\n\[\w+\]|\n\n|\n</|\Z)", re.MULTILINE | re.DOTALL)


def _goals(messages: Sequence[Message], text: str) -> list[str]:
    known = [
        row[2:]
        for part in _SO_FAR.finditer(text)
        for goals in _GOALS.finditer(part[2])
        for row in goals[1].splitlines()
    ]
    said = [_first_lines(match[1]) for match in _SAID.finditer(_SO_FAR.sub("", text))]
    if known or said:
        return _unique([*known, *said])
    authored = [message.authored for message in messages if isinstance(message, UserMessage)]
    if len(authored) > 1 or not re.search(r"(?im)^\W*(?:user|human|prompt)\b", text.partition("\n")[2]):
        return _unique(_first_lines(part) for part in authored)
    rows = re.findall(r"(?im)^\W*(?:user|human|prompt)\W*\n?(.+)$", text.partition("\n")[2])
    return _unique(row.strip() for row in rows)


def _first_lines(text: str) -> str:
    return " ".join(text.split())[:400]


def _good(text: str) -> list[str]:
    report = report_of_tests(text)
    rows = re.findall(r"(?m)^.*\b(?:Changed|Wrote|Added|Removed|Created|Edited|Successfully)\b.*`?[\w./-]+`?.*$", text)
    if report.known:
        rows.append(f"tests: {report.passed or 0} passed, {report.failed or 0} failed")
    return [row.strip()[:300] for row in rows[-20:]]


def _bad(text: str) -> list[str]:
    rows = re.findall(r"(?m)^.*(?:\b(?:refused|denied|Traceback|FAILED)\b|\b\w*Error\b:|\bfailed:).*$", text)
    return _unique(row.strip()[:300] for row in rows[-15:])


def _next(text: str) -> list[str]:
    left = [_unrow(match["text"]) for match in _OPEN.finditer(text)]
    said = re.findall(r"(?im)^\W*(?:next|todo|remaining|next action)\b:?\W+(\S.*)$", text)
    return _unique([*left, *said])


def _identifiers(text: str) -> list[str]:
    paths = re.findall(r"(?<![\w/])(?:[\w.-]+/)*[\w-]+\.(?!\d)[a-z]\w{0,4}(?::\d+)?\b", text)
    names = re.findall(r"\b(?:[a-z]+_\w+|[A-Z][a-z]+[A-Z]\w+)\b", text)
    counts: dict[str, int] = {}
    for name in [*paths, *names]:
        counts[name] = counts.get(name, 0) + 1
    return sorted(counts, key=lambda name: -counts[name])


def _unique(rows: Iterable[str]) -> list[str]:
    return [row for row in dict.fromkeys(rows) if row]


def _bullets(rows: Iterable[str], most: int) -> list[str]:
    return [f"- {row}" for row in list(rows)[:most]]


def _marked(rows: Iterable[str], most: int) -> list[str]:
    return [f"- [x] {row_of(row)}" for row in list(rows)[-most:]]


def _clip(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 12].rstrip() + "\n\n[cut here]"
