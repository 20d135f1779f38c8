"""What compatible servers really send: fields missing, null, repeated or wrong."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.models.helpers import ask, ask_provider, finished, model_at, read
from tests.support.provider import Provider, Received, Reply
from tui.messages import AssistantMessage, Refusal, StopReason, Text, Thinking, Usage
from tui.models.base import BadRequest, Overloaded, StreamDropped


def answer(*chunks: Any, done: bool = True) -> AssistantMessage:
    frames = [chunk if isinstance(chunk, str) else json.dumps(chunk) for chunk in chunks]
    body = "".join(f"data: {frame}\n\n" for frame in [*frames, *(["[DONE]"] if done else [])])
    return finished(read(body.encode(), "chat")).message


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call(*, finish: str | None = None, **fields: Any) -> dict[str, Any]:
    function = {key: fields.pop(key) for key in ("name", "arguments") if key in fields}
    return delta(finish, tool_calls=[{**fields, "function": function}])


@pytest.mark.parametrize(
    "odd",
    [
        {"choices": None},
        {"choices": []},
        {},
        {"choices": [{"index": 0, "delta": None}]},
        {"choices": [{"index": 0}]},
        {"choices": [None]},
        {"choices": [{"delta": {"content": None, "tool_calls": None, "reasoning_content": None}}]},
        {"choices": [{"delta": {"content": ""}, "finish_reason": ""}], "usage": None},
        {"choices": [{"delta": {"tool_calls": [None, 7]}}]},
        {"error": None, "choices": []},
        "null",
    ],
)
def test_odd_chunks_are_borne(odd: Any) -> None:
    message = answer(odd, delta(content="Hel"), odd, {"choices": [{"delta": {"content": "lo"}}]}, delta("stop"), odd)
    assert (message.text, message.stop) == ("Hello", StopReason.COMPLETE)


def test_content_may_be_a_list_of_parts() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "Hel"}, "lo"]
    assert answer(delta("stop", content=parts)).content == (Thinking("hm"), Text("Hello"))


def test_the_last_figures_win_wherever_they_are() -> None:
    def usage(prompt: int, output: int) -> dict[str, int]:
        return {"prompt_tokens": prompt, "completion_tokens": output}

    first = {**delta(content="x"), "usage": usage(10, 1)}
    inside = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": usage(10, 2)}]}
    assert answer(first, inside, {"choices": [], "usage": None}).usage == Usage(10, output=2)
    assert answer(first, delta("stop"), {"choices": [], "usage": usage(10, 3)}).usage == Usage(10, output=3)
    assert answer(delta("stop", content="x"), {"choices": [], "x_groq": {"usage": usage(7, 3)}}).usage == Usage(
        7, output=3
    )
    cached = {**usage(100, 3), "prompt_cache_hit_tokens": 90}
    assert answer(delta("stop", content="x"), {"usage": cached}).usage == Usage(10, 90, 0, 3)


@pytest.mark.parametrize("figure", [None, -1, "12", True, 1.5, {}, []])
def test_nonsense_figures_are_unknown(figure: Any) -> None:
    usage = {"prompt_tokens": figure, "completion_tokens": 3}
    assert answer(delta("stop", content="x"), {"usage": usage}).usage is None


def test_calls_without_index_are_told_apart_by_id() -> None:
    message = answer(
        call(id="a", name="ls", arguments='{"p":1}'), call(id="b", name="ls", arguments='{"p":2}'), delta("tool_calls")
    )
    assert [one.arguments for one in message.calls] == [{"p": 1}, {"p": 2}]
    assert [one.provider_id for one in message.calls] == ["a", "b"]


def test_calls_that_all_have_index_0_are_told_apart() -> None:
    message = answer(
        call(index=0, id="a", name="ls", arguments='{"p":1}'),
        call(index=0, id="b", name="ls", arguments='{"p":2}'),
        call(index=0, name="ls", arguments='{"p":3}'),
        delta("tool_calls"),
    )
    assert [one.arguments for one in message.calls] == [{"p": 1}, {"p": 2}, {"p": 3}]


@pytest.mark.parametrize("same", ["X", "", None])
def test_one_id_for_every_call_keeps_them_apart(same: str | None) -> None:
    message = answer(
        call(index=0, id=same, name="ls", arguments='{"p":1}'),
        call(index=1, id=same, name="ls", arguments='{"p":2}'),
        delta("tool_calls"),
    )
    assert [one.arguments for one in message.calls] == [{"p": 1}, {"p": 2}]
    assert len({one.id for one in message.calls}) == 2


@pytest.mark.parametrize("name", ["ls", "", None])
def test_an_id_made_up_for_every_delta_cuts_no_call(name: str | None) -> None:
    pieces = [call(index=0, id=f"new-{at}", name=name, arguments=piece) for at, piece in enumerate(('":', "1", "}"))]
    message = answer(call(index=0, id="a", name="ls", arguments='{"p'), *pieces, delta("tool_calls"))
    assert [(one.name, one.arguments, one.provider_id) for one in message.calls] == [("ls", {"p": 1}, "a")]


def test_a_name_in_every_delta_is_set_once() -> None:
    pieces = [call(index=0, id="a", name="write_file", arguments=piece) for piece in ('{"p', '":', "1}", "")]
    message = answer(*pieces, delta("tool_calls"))
    assert [(one.name, one.arguments) for one in message.calls] == [("write_file", {"p": 1})]


def test_a_call_sent_twice_whole_is_one_call() -> None:
    twice = call(index=0, id="a", name="ls", arguments='{"p":1}')
    assert len(answer(twice, twice, delta("tool_calls")).calls) == 1


def test_pieces_without_index_go_to_their_call() -> None:
    message = answer(
        call(id="a", name="ls", arguments='{"p"'),
        call(arguments=":1}"),
        call(id="b", name="ls", arguments='{"p"'),
        call(id="b", arguments=":2}"),
        delta("tool_calls"),
    )
    assert [one.arguments for one in message.calls] == [{"p": 1}, {"p": 2}]


def test_arguments_may_be_an_object_and_the_old_form_is_read() -> None:
    assert answer(call(index=0, name="ls", arguments={"p": 1}), delta("stop")).calls[0].arguments == {"p": 1}
    old = answer(delta("function_call", function_call={"name": "ls", "arguments": '{"p":1}'}))
    assert (old.calls[0].name, old.calls[0].arguments, old.stop) == ("ls", {"p": 1}, StopReason.TOOL_CALLS)


def test_one_call_or_part_may_stand_without_its_list() -> None:
    lone = delta(tool_calls={"id": "a", "function": {"name": "ls", "arguments": '{"p":1}'}})
    assert [one.arguments for one in answer(lone, delta("tool_calls")).calls] == [{"p": 1}]
    assert answer(delta("stop", content={"type": "text", "text": "Hello"})).text == "Hello"


def test_a_whole_message_at_the_end_repeats_nothing() -> None:
    last = {"choices": [{"delta": {}, "message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
    assert answer(delta(content="Hello"), last).text == "Hello"
    assert answer(last).text == "Hello"


def test_a_failure_inside_the_choice_is_an_error_with_its_words() -> None:
    failed = {
        "choices": [{"index": 0, "delta": {}, "error": {"code": 502, "message": "boom"}, "finish_reason": "error"}]
    }
    with pytest.raises(Overloaded, match="boom"):
        answer(delta(content="Hel"), failed)


def test_figures_under_the_names_of_the_newer_protocol_count() -> None:
    figures = {"usage": {"input_tokens": 10, "output_tokens": 3}}
    assert answer(delta("stop", content="x"), figures).usage == Usage(10, output=3)


def test_a_call_without_a_name_cannot_run() -> None:
    assert answer(call(index=0, id="a", arguments="{}"), delta("tool_calls")).calls[0].error


def test_stop_with_calls_means_the_calls() -> None:
    assert answer(call(index=0, name="ls", arguments="{}"), delta("stop")).stop is StopReason.TOOL_CALLS


def test_the_end_marker_without_a_reason_is_an_end_for_text() -> None:
    assert answer(delta(content="Hello")).stop is StopReason.COMPLETE
    with pytest.raises(StreamDropped):
        answer(delta(content="Hello"), done=False)


@pytest.mark.parametrize(("arguments", "whole"), [('{"p":1}', True), ('{"p":', False), ("", False)])
def test_the_end_marker_without_a_reason_needs_whole_calls(arguments: str, whole: bool) -> None:
    chunk = call(index=0, id="a", name="ls", arguments=arguments)
    if whole:
        assert answer(chunk).stop is StopReason.TOOL_CALLS
    else:
        with pytest.raises(StreamDropped):
            answer(chunk)


def test_the_same_reasoning_under_two_names_is_read_once() -> None:
    message = answer(delta(reasoning="hm", reasoning_content="hm"), delta("stop", content="x"))
    assert message.content == (Thinking("hm"), Text("x"))


def test_a_refusal_is_one() -> None:
    message = answer(delta(refusal="I can"), delta("stop", refusal="not."))
    assert (message.content, message.stop) == ((Refusal("I cannot."),), StopReason.REFUSAL)


@pytest.mark.parametrize("word", ["error", "network_error", "insufficient_system_resource"])
def test_a_failure_given_as_finish_reason_is_an_error(word: str) -> None:
    with pytest.raises(Overloaded):
        answer(delta(content="Hel"), delta(word))


def _without(field: str, message: str) -> Any:
    """A server that knows nothing of `field`."""

    def respond(received: Received) -> Reply:
        if field in received.body or any(field in one for one in received.messages):
            return Reply(status=400, body=json.dumps({"error": {"message": message}}))
        return Reply(text="Hello", need_include_usage=True)

    return respond


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("field", "message"),
    [
        ("stream_options", "Unknown parameter: stream_options.include_usage"),
        ("stream_options", "Extra inputs are not permitted"),
        ("stream_options", ""),
        ("max_tokens", "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."),
    ],
)
async def test_a_field_a_server_refuses_is_given_up_once(field: str, message: str) -> None:
    respond = _without(field, message)
    async with Provider(respond, respond, respond) as provider:
        model = model_at(provider.base_url, "chat")
        async with model.stream(_request()) as events:
            first = [event async for event in events]
        second = await ask(model)
        assert finished(first).message.text == finished(second).message.text == "Hello"
        assert (finished(first).message.usage is None) == (field == "stream_options")
        assert len(provider.requests) == 3


def _request() -> Any:
    from tests.models.helpers import request

    return request()


@pytest.mark.anyio
async def test_another_refusal_is_not_tried_again() -> None:
    reply = Reply(status=400, body='{"error": {"message": "temperature is wrong"}}')
    async with Provider(reply, Reply(text="no")) as provider:
        with pytest.raises(BadRequest, match="temperature"):
            await ask(model_at(provider.base_url, "chat"))
        assert len(provider.requests) == 1


@pytest.mark.anyio
async def test_usage_is_asked_for() -> None:
    events = await ask_provider(Reply(text="x", need_include_usage=True), "chat")
    assert finished(events).message.usage is not None
