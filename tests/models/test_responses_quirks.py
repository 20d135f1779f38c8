"""What servers of the Responses protocol leave out or say differently."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.models.helpers import finished, read
from tui.messages import AssistantMessage, StopReason, Usage
from tui.models.base import Overloaded, RateLimited, StreamDropped

END = {"type": "response.completed", "response": {"status": "completed"}}


def answer(*events: dict[str, Any]) -> AssistantMessage:
    body = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return finished(read(body.encode(), "responses")).message


def text(words: str, **where: Any) -> dict[str, Any]:
    return {"type": "response.output_text.delta", "delta": words, **where}


def item(stage: str, **fields: Any) -> dict[str, Any]:
    return {"type": f"response.output_item.{stage}", "item": {"type": "function_call", "arguments": "", **fields}}


def piece(words: str, **where: Any) -> dict[str, Any]:
    return {"type": "response.function_call_arguments.delta", "delta": words, **where}


def test_calls_without_a_number_are_told_apart_by_id() -> None:
    message = answer(
        item("added", id="fc_1", call_id="a", name="ls"),
        item("added", id="fc_2", call_id="b", name="read"),
        piece('{"p":1}', item_id="fc_1"),
        piece('{"p":2}', item_id="fc_2"),
        item("done", id="fc_1", call_id="a", name="ls", arguments='{"p":1}'),
        item("done", id="fc_2", call_id="b", name="read", arguments='{"p":2}'),
        END,
    )
    assert [(one.name, one.arguments) for one in message.calls] == [("ls", {"p": 1}), ("read", {"p": 2})]


def test_pieces_without_number_and_id_belong_to_the_newest_call() -> None:
    message = answer(
        item("added", call_id="a", name="ls"),
        piece('{"p":1}'),
        item("added", call_id="b", name="ls"),
        piece('{"p"'),
        piece(":2}"),
        END,
    )
    assert [one.arguments for one in message.calls] == [{"p": 1}, {"p": 2}]


def test_an_item_that_comes_whole_alone_is_read_once() -> None:
    whole = item("done", call_id="a", name="ls", arguments='{"p":1}')
    closing = {"type": "response.completed", "response": {"status": "completed", "output": [whole["item"]]}}
    assert [one.arguments for one in answer(whole, closing).calls] == [{"p": 1}]
    assert [one.arguments for one in answer(closing).calls] == [{"p": 1}]


@pytest.mark.parametrize("kind", ["response.completed", "response.incomplete", "response.failed", "response.done"])
@pytest.mark.parametrize("status", ["failed", "cancelled"])
def test_what_failed_is_no_answer_whatever_the_event_is_called(kind: str, status: str) -> None:
    with pytest.raises(Overloaded):
        answer(text("Hel"), {"type": kind, "response": {"status": status, "error": None}})


@pytest.mark.parametrize("kind", ["response.failed", "response.cancelled"])
def test_a_failure_without_its_response_is_one(kind: str) -> None:
    with pytest.raises(Overloaded):
        answer(text("Hel"), {"type": kind})


def test_a_failure_keeps_its_kind() -> None:
    error = {"code": "rate_limit_exceeded", "message": "Please try again in 20s."}
    with pytest.raises(RateLimited) as caught:
        answer(text("Hel"), {"type": "response.failed", "response": {"status": "failed", "error": error}})
    assert caught.value.retry_after == 20.0


@pytest.mark.parametrize(
    "odd",
    [
        {"type": "response.completed.later"},
        {"type": "response.output_text.delta", "delta": None},
        {"type": "response.output_item.added", "item": None},
        {"type": "response.output_item.added", "item": {"type": "web_search_call", "id": "ws"}},
        {"type": "response.content_part.added", "part": {"type": "output_text"}},
        {"type": "response.in_progress", "response": {"status": "in_progress", "error": None, "usage": None}},
        {"type": None},
        {},
    ],
)
def test_odd_events_are_borne(odd: dict[str, Any]) -> None:
    assert answer(odd, text("Hel", output_index=0), odd, text("lo", output_index=0), END).text == "Hello"


def test_figures_that_are_null_or_odd_are_unknown() -> None:
    for usage in (None, {}, {"input_tokens": None}, {"input_tokens": "12"}, {"input_tokens": 0, "output_tokens": 3}):
        end = {"type": "response.completed", "response": {"status": "completed", "usage": usage}}
        assert answer(text("x"), end).usage is None
    end = {"type": "response.completed", "response": {"usage": {"input_tokens": 9, "input_tokens_details": None}}}
    assert answer(text("x"), end).usage == Usage(9)


def test_the_end_marker_of_the_other_protocol_is_no_end() -> None:
    with pytest.raises(StreamDropped):
        finished(read(b'data: {"type":"response.output_text.delta","delta":"x"}\n\ndata: [DONE]\n\n', "responses"))


def test_cut_without_a_reason_is_never_complete() -> None:
    end = {"type": "response.incomplete", "response": {"status": "incomplete", "incomplete_details": None}}
    assert answer(text("Hel"), end).stop is StopReason.ERROR
