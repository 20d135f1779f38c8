"""A branch as a person reads it outside the app: entries to parts, parts to Markdown or to one HTML page.

Pure. Foreign words never become structure: prompts are quoted, outputs fenced, and in HTML all of it is escaped;
the page holds no script and loads nothing.
"""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Literal, TypeAlias

import msgspec

from tui.log.entries import (
    Answer,
    ApprovalMode,
    Checkpoint,
    Entry,
    ModelChosen,
    Note,
    Notice,
    Pinned,
    Prompt,
    Result,
    Settled,
    TaskSet,
    UnknownBody,
)
from tui.messages import AssistantMessage, Attachment, Image, Refusal, Text, Thinking, ToolCall, UserMessage
from tui.plain import plain_line, plain_text

__all__ = ["Facts", "Part", "html_end", "html_part", "html_start", "markdown_part", "markdown_start", "parts_of"]

Role: TypeAlias = Literal["prompt", "answer", "thinking", "call", "output", "line", "checkpoint", "note", "image"]
Cover = Callable[[str], str]
"""Takes secrets out of words."""
_PICTURES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
_ORIGINS = {
    "authored": "You",
    "shell": "Shell",
    "command": "Command",
    "continuation": "Continuation",
    "dispatch": "Dispatch",
    "branch": "From another branch",
}


class Part(msgspec.Struct, frozen=True):
    """One thing said or done. `time` is empty where it belongs to the part before."""

    role: Role
    title: str
    text: str = ""
    time: str = ""
    sha256: str = ""
    """Of a picture."""


class Facts(msgspec.Struct, frozen=True):
    """What stands at the beginning."""

    session: str
    title: str
    cwd: str
    begun: str
    used: str
    branches: int


def when(stamp: int) -> str:
    """Return a time of the log as a person reads it, in local time; milliseconds since 1970 come in."""
    try:
        return datetime.fromtimestamp(stamp / 1000).astimezone().strftime("%Y-%m-%d %H:%M")
    except (OverflowError, OSError, ValueError):  # a damaged or forged stamp
        return "some time"


def parts_of(entry: Entry, cover: Cover) -> Iterator[Part]:
    """Yield what an entry shows; most entries of bookkeeping show nothing."""
    time = when(entry.time)
    for part in _parts(entry):
        yield msgspec.structs.replace(part, title=cover(part.title), text=cover(part.text), time=part.time and time)


_NOW = "now"


def _parts(entry: Entry) -> Iterator[Part]:
    match entry.body:
        case Prompt(message=message, origin=origin):
            yield from _prompt(message, _ORIGINS[origin])
        case Answer(message=message):
            yield from _answer(message)
        case Result(message=message):
            how = "failed" if message.is_error else "done"
            yield Part("output", f"{message.name}: {how}", message.text)
            yield from _pictures(message.content)
        case Checkpoint() as point:
            yield Part("checkpoint", f"Checkpoint ({point.origin})", point.summary or "Made without a summary.", _NOW)
        case Note(text=text):
            yield Part("note", "Note to self", text, _NOW)
        case UnknownBody(kind=kind):
            yield Part("line", f"An entry of kind {kind} that cannot be shown")
        case _:
            yield from _lines(entry)


def _lines(entry: Entry) -> Iterator[Part]:
    match entry.body:
        case Settled(reason=reason, detail=detail) if reason != "answered":
            yield Part("line", f"Ended: {reason}. {detail}")
        case Notice(text=text):
            yield Part("line", text)
        case ModelChosen(model=model):
            yield Part("line", f"Model: {model}")
        case ApprovalMode(mode=mode):
            yield Part("line", f"Asked: {mode}")
        case TaskSet(text=text):
            yield Part("line", f"Task: {text}")
        case Pinned(texts=texts) if texts:
            yield Part("line", f"Pinned: {' · '.join(texts)}")
        case _:
            pass


def _prompt(message: UserMessage, who: str) -> Iterator[Part]:
    yield Part("prompt", who, message.authored, _NOW)
    for part in message.content:
        if isinstance(part, Attachment):
            yield Part("output", f"Attached: {part.name}", part.text)
    yield from _pictures(message.content)


def _pictures(content: Iterable[object]) -> Iterator[Part]:
    for part in content:
        if isinstance(part, Image):
            yield Part("image", f"{part.media_type}, {part.width}×{part.height}", part.media_type, sha256=part.sha256)


def _answer(message: AssistantMessage) -> Iterator[Part]:
    time = _NOW
    for part in message.content:
        match part:
            case Text(text=text) | Refusal(text=text):
                yield Part("answer", message.model or "Answer", text, time)
                time = ""
            case Thinking(text=text):
                if text:
                    yield Part("thinking", "Thinking", text)
            case ToolCall(name=name):
                yield Part("call", name, _arguments(part))
    if message.error:
        yield Part("line", message.error)


def _arguments(call: ToolCall) -> str:
    if call.raw:
        return call.raw
    if len(call.arguments) == 1 and isinstance(value := next(iter(call.arguments.values())), str):
        return value
    return msgspec.json.format(msgspec.json.encode(call.arguments), indent=2).decode()


# Markdown.

_FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})", re.MULTILINE)


def markdown_start(facts: Facts) -> str:
    """Return the head of a Markdown file."""
    rows = [
        f"# {_escaped(facts.title) or 'Untitled session'}",
        f"Session `{facts.session}`, begun {facts.begun}, last used {facts.used}, in {_code(facts.cwd)}.",
        *([_others(facts)] if facts.branches > 1 else []),
    ]
    return "\n\n".join(rows) + "\n"


def _others(facts: Facts) -> str:
    more = facts.branches - 1
    return f"This is its current branch; {more} other{'s are' if more > 1 else ' is'} not in this file."


def markdown_part(part: Part) -> str:
    """Return one part, with the blank line before it."""
    title, text = _escaped(plain_line(part.title)), plain_text(part.text)
    time = f" · {part.time}" if part.time else ""
    match part.role:
        case "prompt" | "note":
            return f"\n## {title}{time}\n\n{_quoted(text)}\n"
        case "answer":
            return (f"\n## {title}{time}\n" if time else "") + f"\n{_closed(text)}\n"
        case "checkpoint":
            return f"\n---\n\n## {title}{time}\n\n{_closed(text)}\n\n---\n"
        case "thinking":
            return f"\n*{title}*\n\n{_quoted(text)}\n"
        case "call" | "output":
            return f"\n**{title}**\n\n{_fenced(text)}\n"
        case "line" | "image":
            return f"\n*{title}*\n"


def _escaped(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|!])", r"\\\1", plain_line(text))


def _code(text: str) -> str:
    text = plain_line(text)
    ticks = "`" * (max((len(run) for run in re.findall("`+", text)), default=0) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text else f"`{text}`"


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def _fenced(text: str) -> str:
    """Return text in a fence that nothing in it can close."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}"


def _closed(text: str) -> str:
    """Return Markdown whose last open fence is closed: a cut answer must not swallow what follows it."""
    mark = ""
    for fence in _FENCE.findall(text):
        if not mark:
            mark = fence
        elif fence[0] == mark[0] and len(fence) >= len(mark):
            mark = ""
    return f"{text}\n{mark}" if mark else text


# HTML.

_HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; img-src data:">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; --dim: #777; --line: #b08d57; --soft: rgba(128,128,128,.12); }}
body {{ font: 16px/1.55 system-ui, sans-serif; max-width: 52rem; margin: 2rem auto; padding: 0 1rem; }}
main {{ border-left: 2px solid var(--line); padding-left: 1.25rem; }}
h1 {{ font-size: 1.4rem; }} h2 {{ font-size: 1rem; margin: 2rem 0 .4rem; }}
.facts, time, .line {{ color: var(--dim); font-size: .85rem; }} time {{ font-weight: normal; }}
.prompt pre, .note pre {{ font: inherit; background: var(--soft); padding: .7rem 1rem; border-radius: .4rem; }}
pre {{ white-space: pre-wrap; overflow-wrap: anywhere; margin: .4rem 0; unicode-bidi: plaintext; }}
details pre, .answer pre {{ font: .85rem/1.45 ui-monospace, monospace; background: var(--soft); padding: .7rem 1rem; }}
summary {{ cursor: pointer; color: var(--dim); font-size: .85rem; }}
.checkpoint {{ border: 1px solid var(--line); border-radius: .4rem; padding: 0 1rem; margin: 2rem 0; }}
table {{ border-collapse: collapse; }} td, th {{ border: 1px solid var(--soft); padding: .2rem .6rem; }}
img {{ max-width: 100%; }}
</style>
</head>
<body>
<h1>{title}</h1>
<p class="facts">{facts}</p>
<main>
"""


def html_start(facts: Facts) -> str:
    """Return the page up to its first part."""
    others = f" {_others(facts)}" if facts.branches > 1 else ""
    said = f"Session {facts.session}, begun {facts.begun}, last used {facts.used}, in {facts.cwd}.{others}"
    return _HEAD.format(title=_safe(plain_line(facts.title)) or "Untitled session", facts=_safe(plain_line(said, 4000)))


def html_end() -> str:
    """Return the end of the page."""
    return "</main>\n</body>\n</html>\n"


def html_part(part: Part, rendered: Callable[[str], str], pictures: Mapping[str, bytes]) -> str:
    """Return one part. `rendered` makes safe HTML of Markdown; `pictures` are the bytes there are, by hash."""
    title, text = _safe(plain_line(part.title)), plain_text(part.text)
    head = f"<h2>{title} <time>{_safe(part.time)}</time></h2>\n" if part.time else ""
    match part.role:
        case "prompt" | "note":
            return f'<section class="{part.role}">{head}<pre>{_safe(text)}</pre></section>\n'
        case "answer" | "checkpoint":
            return f'<section class="{part.role}" dir="auto">{head}{rendered(text)}</section>\n'
        case "thinking" | "call" | "output":
            first = _safe(plain_line(text.strip().partition("\n")[0], 80)) if part.role == "call" else ""
            return f"<details><summary>{title} {first}</summary><pre>{_safe(text)}</pre></details>\n"
        case "image" if part.text in _PICTURES and part.sha256 in pictures:
            data = base64.b64encode(pictures[part.sha256]).decode()
            return f'<p><img alt="{title}" src="data:{part.text};base64,{data}"></p>\n'
        case "line" | "image":
            return f'<p class="line">{title}</p>\n'


def _safe(text: str) -> str:
    return html.escape(text, quote=True)
