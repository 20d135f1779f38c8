"""Usage in each shape servers report it: cached tokens within the prompt or beside it, cumulative, null, zero."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.models.helpers import finished, read
from tests.support.wire import Protocol
from tui.messages import Usage


def reported(protocol: Protocol, *figures: Any) -> Usage | None:
    """Return the usage of an answer whose stream carries these figures one after the other."""
    return finished(read("".join(_FRAMES[protocol](figures)).encode(), protocol)).message.usage


def _data(*events: Any) -> list[str]:
    return [f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events]


def _chat(figures: tuple[Any, ...]) -> list[str]:
    end = {"choices": [{"index": 0, "delta": {"content": "x"}, "finish_reason": "stop"}]}
    return _data(end, *({"choices": [], "usage": one} for one in figures), "[DONE]")


def _messages(figures: tuple[Any, ...]) -> list[str]:
    text = {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "x"}}
    ends = [
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": one} for one in figures[1:] or (None,)
    ]
    start = {"type": "message_start", "message": {"usage": figures[0]}}
    return _data(start, text, *ends, {"type": "message_stop"})


def _responses(figures: tuple[Any, ...]) -> list[str]:
    text = {"type": "response.output_text.delta", "delta": "x"}
    return _data(text, {"type": "response.completed", "response": {"status": "completed", "usage": figures[-1]}})


_FRAMES = {"chat": _chat, "messages": _messages, "responses": _responses}

CTX01 = Usage(1, 42_320, 1_774, 113)
CASES: list[tuple[str, Protocol, list[Any], Usage | None]] = [
    (
        "within",
        "chat",
        [{"prompt_tokens": 100, "completion_tokens": 5, "prompt_tokens_details": {"cached_tokens": 90}}],
        Usage(10, 90, 0, 5),
    ),
    (
        "beside, more than the prompt",
        "chat",
        [
            {
                "prompt_tokens": 1,
                "completion_tokens": 113,
                "cache_read_input_tokens": 42_320,
                "cache_creation_input_tokens": 1_774,
            }
        ],
        CTX01,
    ),
    (
        "beside, told by the total",
        "chat",
        [{"prompt_tokens": 100, "completion_tokens": 5, "cache_read_input_tokens": 90, "total_tokens": 195}],
        Usage(100, 90, 0, 5),
    ),
    (
        "within, told by the total",
        "chat",
        [{"prompt_tokens": 100, "completion_tokens": 5, "cache_read_input_tokens": 90, "total_tokens": 105}],
        Usage(10, 90, 0, 5),
    ),
    (
        "hits and misses",
        "chat",
        [{"prompt_tokens": 100, "completion_tokens": 5, "prompt_cache_hit_tokens": 64, "prompt_cache_miss_tokens": 36}],
        Usage(36, 64, 0, 5),
    ),
    (
        "hits beside a zero",
        "chat",
        [{"prompt_tokens": 100, "prompt_cache_hit_tokens": 64, "prompt_tokens_details": {"cached_tokens": 0}}],
        Usage(36, 64),
    ),
    ("at the top", "chat", [{"prompt_tokens": 100, "completion_tokens": 5, "cached_tokens": 64}], Usage(36, 64, 0, 5)),
    (
        "details of the newer protocol",
        "chat",
        [{"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 64}}],
        Usage(36, 64, 0, 5),
    ),
    (
        "written",
        "chat",
        [{"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 30}}],
        Usage(6, 64, 30),
    ),
    (
        "everything cached",
        "chat",
        [{"prompt_tokens": 64, "prompt_tokens_details": {"cached_tokens": 64}}],
        Usage(0, 64),
    ),
    ("null details", "chat", [{"prompt_tokens": 100, "prompt_tokens_details": None}], Usage(100)),
    ("null figures", "chat", [{"prompt_tokens": 100, "prompt_tokens_details": {"cached_tokens": None}}], Usage(100)),
    (
        "growing with each piece",
        "chat",
        [{"prompt_tokens": 100, "completion_tokens": n} for n in (1, 2, 3)],
        Usage(100, output=3),
    ),
    (
        "a zero at the end",
        "chat",
        [{"prompt_tokens": 100, "completion_tokens": 3}, {"prompt_tokens": 0}],
        Usage(100, output=3),
    ),
    ("zeros", "chat", [{"prompt_tokens": 0, "completion_tokens": 0, "total_tokens": 0}], None),
    ("null", "chat", [None], None),
    (
        "cached",
        "messages",
        [
            {
                "input_tokens": 1,
                "cache_read_input_tokens": 42_320,
                "cache_creation_input_tokens": 1_774,
                "output_tokens": 1,
            },
            {"output_tokens": 113},
        ],
        CTX01,
    ),
    (
        "cumulative at the end",
        "messages",
        [
            {"input_tokens": 1, "cache_read_input_tokens": 42_320, "cache_creation_input_tokens": 1_774},
            {
                "input_tokens": 1,
                "cache_read_input_tokens": 42_320,
                "cache_creation_input_tokens": 1_774,
                "output_tokens": 50,
            },
            {
                "input_tokens": 1,
                "cache_read_input_tokens": 42_320,
                "cache_creation_input_tokens": 1_774,
                "output_tokens": 113,
            },
        ],
        CTX01,
    ),
    ("only at the end", "messages", [{"input_tokens": 0}, {"input_tokens": 7, "output_tokens": 3}], Usage(7, output=3)),
    (
        "zeros at the end",
        "messages",
        [{"input_tokens": 7, "cache_read_input_tokens": 90}, {"input_tokens": 0, "output_tokens": 3}],
        Usage(7, 90, 0, 3),
    ),
    (
        "written by how long it stays",
        "messages",
        [{"input_tokens": 1, "cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 5}}],
        Usage(1, 0, 9),
    ),
    (
        "written in both forms",
        "messages",
        [{"input_tokens": 1, "cache_creation_input_tokens": 9, "cache_creation": {"ephemeral_5m_input_tokens": 9}}],
        Usage(1, 0, 9),
    ),
    ("zeros", "messages", [{"input_tokens": 0, "output_tokens": 0}, {"output_tokens": 5}], None),
    ("null", "messages", [None, None], None),
    (
        "within",
        "responses",
        [{"input_tokens": 100, "output_tokens": 5, "input_tokens_details": {"cached_tokens": 90}}],
        Usage(10, 90, 0, 5),
    ),
    (
        "beside",
        "responses",
        [{"input_tokens": 1, "output_tokens": 113, "input_tokens_details": {"cached_tokens": 42_320}}],
        Usage(1, 42_320, 0, 113),
    ),
    ("zeros", "responses", [{"input_tokens": 0, "output_tokens": 0}], None),
    ("null", "responses", [None], None),
]


@pytest.mark.parametrize(
    ("protocol", "figures", "wanted"),
    [case[1:] for case in CASES],
    ids=[f"{case[1]}: {case[0]}" for case in CASES],
)
def test_every_token_of_the_context_counts_once(protocol: Protocol, figures: list[Any], wanted: Usage | None) -> None:
    assert reported(protocol, *figures) == wanted
