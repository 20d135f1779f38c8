"""Entries for tests: a small builder, and random branches of every shape."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from tui.log.entries import (
    Answer,
    Body,
    Entry,
    Notice,
    Origin,
    Prompt,
    Result,
    Settled,
    ToolStarted,
)
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
)


def branch(*bodies: Body, start: int = 0) -> list[Entry]:
    """Return bodies as the entries of one path, ids `e0`, `e1`, …"""
    return [
        Entry(f"e{depth}", f"e{depth - 1}" if depth else None, depth, depth, body)
        for depth, body in enumerate(bodies, start)
    ]


def extend(entries: Sequence[Entry], *bodies: Body) -> list[Entry]:
    return [*entries, *branch(*bodies, start=len(entries))]


def prompt(text: str, *, origin: Origin = "authored", steer: bool = False, excluded: bool = False) -> Prompt:
    return Prompt(UserMessage((Text(text),)), origin=origin, steer=steer, excluded=excluded)


def answer(
    text: str = "",
    *calls: ToolCall,
    stop: StopReason | None = None,
    usage: Usage | None = None,
    estimate: int = 0,
) -> Answer:
    content = (*((Text(text),) if text else ()), *calls)
    ended = stop or (StopReason.TOOL_CALLS if calls else StopReason.COMPLETE)
    return Answer(AssistantMessage(content, ended, model="m", provider="p", usage=usage), estimate=estimate)


def call(call_id: str, name: str = "read", **arguments: str) -> ToolCall:
    return ToolCall(call_id, name, dict(arguments))


def result(call_id: str, text: str = "ok", name: str = "read", *, is_error: bool = False, refused: str = "") -> Result:
    return Result(ToolResult(call_id, name, (Text(text),), is_error), refused=refused)


def answered() -> Settled:
    return Settled("answered", stop=StopReason.COMPLETE)


# Hostile on purpose: blank, lone surrogates, NUL, other scripts.
texts = st.sampled_from(["", " ", "\n", "hello", "界", "\ud800", "a\x00b", "[/red]", "\u202eabc", "x" * 50])
ids = st.sampled_from(["", "X", "a", "b", "c", "a-2"])
images = st.builds(
    Image,
    sha256=st.sampled_from(["00", "11", "22"]),
    media_type=st.just("image/png"),
    width=st.sampled_from([0, 10, 9000]),
    height=st.sampled_from([0, 10]),
    size=st.sampled_from([0, 100, 4_000_000]),
)
calls = st.builds(
    ToolCall,
    id=ids,
    name=st.sampled_from(["", "read", "gone_tool", "\ud800"]),
    arguments=st.dictionaries(texts, texts | st.lists(texts, max_size=2), max_size=2),
    raw=st.sampled_from(["", "{broken \udfff"]),
)
answers = st.builds(
    Answer,
    message=st.builds(
        AssistantMessage,
        content=st.lists(
            st.one_of(
                st.builds(Text, texts),
                st.builds(Thinking, texts, st.sampled_from(["", "sig", "\ud800"])),
                calls,
                st.builds(Refusal, texts),
            ),
            max_size=4,
        ).map(tuple),
        stop=st.sampled_from(list(StopReason)),
        model=st.sampled_from(["m", "other"]),
        provider=st.just("p"),
    ),
)
prompts = st.builds(
    Prompt,
    message=st.builds(
        UserMessage,
        st.lists(st.one_of(st.builds(Text, texts), st.builds(Attachment, texts, texts), images), max_size=4).map(tuple),
    ),
    steer=st.booleans(),
    excluded=st.booleans(),
)
results = st.builds(
    Result,
    message=st.builds(
        ToolResult,
        call_id=ids,
        name=st.just("read"),
        content=st.lists(st.one_of(st.builds(Text, texts), images), max_size=3).map(tuple),
        is_error=st.booleans(),
    ),
)
others = st.one_of(st.builds(ToolStarted, ids, st.just("read")), st.just(Settled("error")), st.just(Notice("n")))
branches: st.SearchStrategy[list[Entry]] = st.lists(st.one_of(prompts, answers, results, others), max_size=14).map(
    lambda bodies: branch(*bodies)
)
