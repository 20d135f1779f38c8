"""Both adapters read a stream the same, however it is cut, written or broken off."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.helpers import ALL_PROTOCOLS, ask_provider, body_of, finished, joined, read, shown
from tests.support.provider import Call, Reply
from tests.support.wire import Protocol
from tui.messages import StopReason, Text, Thinking, ToolCall, Usage
from tui.models.base import EmptyAnswer, ModelError, Overloaded, StreamDropped, StreamStalled, TextDelta, ToolCallDelta
from tui.models.http import Timeouts

RICH = Reply(
    text="你好👩‍💻 a\u2028b\u0085c\x0b\x0c",
    thinking="hm…",
    signature="c2ln",
    calls=(Call("ls", '{"path": "ü"}'), Call("read", "{}")),
    tokens=(1, 42320, 1774, 113),
)
BODIES = {protocol: body_of(RICH, protocol) for protocol in ALL_PROTOCOLS}
WHOLE = {protocol: read(BODIES[protocol], protocol) for protocol in ALL_PROTOCOLS}


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_every_single_cut_gives_the_same_events(protocol: Protocol) -> None:
    for cut in range(len(BODIES[protocol])):
        assert read(BODIES[protocol], protocol, [cut]) == WHOLE[protocol]


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_single_bytes_give_the_same_events(protocol: Protocol) -> None:
    assert read(BODIES[protocol], protocol, range(len(BODIES[protocol]))) == WHOLE[protocol]


@given(st.sampled_from(ALL_PROTOCOLS), st.lists(st.integers(0, 500), max_size=20))
def test_any_cuts_give_the_same_events(protocol: Protocol, cuts: list[int]) -> None:
    assert read(BODIES[protocol], protocol, cuts) == WHOLE[protocol]


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_the_whole_answer_is_there(protocol: Protocol) -> None:
    message = finished(WHOLE[protocol]).message
    thinking, text, first, second = message.content
    assert text == Text(RICH.text)
    sealed = '{"id": "rs_1", "encrypted_content": "c2ln"}'
    assert thinking == Thinking("hm…", {"chat": "", "messages": "c2ln", "responses": sealed}[protocol])
    assert isinstance(first, ToolCall)
    assert isinstance(second, ToolCall)
    assert (first.name, first.arguments, second.name, second.arguments) == ("ls", {"path": "ü"}, "read", {})
    assert len({first.id, second.id}) == 2
    assert message.stop is StopReason.TOOL_CALLS
    assert shown(WHOLE[protocol]) == "hm…" + RICH.text
    deltas = [(e.index, e.name) for e in WHOLE[protocol] if isinstance(e, ToolCallDelta)]
    assert dict.fromkeys(deltas) == {(0, "ls"): None, (1, "read"): None}


def test_cached_tokens_count_as_used() -> None:
    usages = [finished(WHOLE[protocol]).message.usage for protocol in ALL_PROTOCOLS]
    # The protocols of OpenAI name no writes to the cache in the script: they are part of the fresh input there.
    assert usages == [Usage(1775, 42320, 0, 113), Usage(1, 42320, 1774, 113), Usage(1775, 42320, 0, 113)]
    assert [usage.total for usage in usages if usage] == [44208] * 3


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize(
    "changes",
    [
        {"chunk": 1},
        {"chunk": 7, "newline": "\r\n"},
        {"chunk": 3, "newline": "\r"},
        {"bom": True, "comments": 3},
        {"framing": "close"},
        {"headers": {"content-type": "application/json"}},
    ],
)
async def test_the_wire_changes_nothing(protocol: Protocol, changes: dict[str, object]) -> None:
    events = await ask_provider(msgspec.structs.replace(RICH, **changes), protocol)
    assert joined(events[1:]) == joined(WHOLE[protocol])


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_a_body_that_just_ends_is_never_complete(protocol: Protocol) -> None:
    """Cut after every byte: dropped, unless the terminal sign was already there, and then nothing is lost."""
    body = body_of(Reply(text="Hello", piece=2), protocol)
    outcomes: list[str] = []
    for size in range(len(body)):
        try:
            message = finished(read(body[:size], protocol)).message
        except (StreamDropped, EmptyAnswer) as error:
            outcomes.append(type(error).__name__)
        else:
            outcomes.append("complete")
            assert (message.text, message.stop) == ("Hello", StopReason.COMPLETE)
    assert list(dict.fromkeys(outcomes)) == ["EmptyAnswer", "StreamDropped", "complete"]


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize("how", ["end", "fin", "rst"])
@pytest.mark.parametrize("framing", ["chunked", "close"])
async def test_a_stream_that_breaks_is_dropped(protocol: Protocol, how: str, framing: str) -> None:
    reply = Reply(text="Hello", calls=(Call("bash", '{"command": "rm -rf x"}'),), stop_at=-250)
    with pytest.raises(StreamDropped):
        await ask_provider(msgspec.structs.replace(reply, stop_how=how, framing=framing), protocol)


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize("how", ["fin", "rst"])
async def test_a_break_after_the_end_loses_nothing(protocol: Protocol, how: str) -> None:
    body = body_of(Reply(text="Hello"), protocol)
    mark = {"chat": b'"finish_reason": "stop"', "messages": b'"message_stop"}', "responses": b'{"type": "response.comp'}
    at = body.index(b"\n\n", body.index(mark[protocol])) + 2
    reply = Reply(text="Hello", stop_at=at, stop_how="fin" if how == "fin" else "rst", usage="normal")
    assert finished(await ask_provider(reply, protocol)).message.stop is StopReason.COMPLETE


QUICK = Timeouts(first_byte=0.2, between=0.2, tail=0.2)


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize(
    "reply",
    [
        Reply(text="x", hold=True),
        Reply(text="x", stop_at=0, stop_how="silence"),
        Reply(text="Hello", stop_at=-300, stop_how="silence"),
    ],
)
async def test_silence_in_each_phase_is_stalled(protocol: Protocol, reply: Reply) -> None:
    with pytest.raises(StreamStalled):
        await ask_provider(reply, protocol, timeouts=QUICK)


@pytest.mark.anyio
async def test_silence_after_the_end_costs_only_the_figures() -> None:
    at = body_of(Reply(text="Hello"), "chat").index(
        b'{"id": "chatcmpl-1", "object": "chat.completion.chunk", "choices": []'
    )
    events = await ask_provider(Reply(text="Hello", stop_at=at, stop_how="silence"), "chat", timeouts=QUICK)
    message = finished(events).message
    assert (message.text, message.stop, message.usage) == ("Hello", StopReason.COMPLETE, None)


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize(
    "error", [{"type": "overloaded_error", "message": "Overloaded"}, {"code": 502, "message": "x"}]
)
async def test_an_error_inside_the_stream_ends_it(protocol: Protocol, error: dict[str, object]) -> None:
    reply = Reply(text="Hello", calls=(Call("bash"),), error=error)
    with pytest.raises(Overloaded):
        read(body_of(reply, protocol), protocol)
    with pytest.raises(Overloaded):
        await ask_provider(reply, protocol)


FAILURES = {
    "error as text": 'data: {"error": "boom"}',
    "error as true": 'data: {"error": true}',
    "type error with a message": 'data: {"type": "error", "message": "boom"}',
    "type error with a code": 'data: {"type": "error", "code": "server_error", "message": "boom"}',
    "code as text": 'data: {"error": {"code": "502", "message": "boom"}}',
    "object error": 'data: {"object": "error", "message": "boom", "code": 500}',
    "status error": 'data: {"status": "error", "message": "boom"}',
    "message and code alone": 'data: {"message": "boom", "code": 500}',
    "detail alone": 'data: {"detail": "boom"}',
    "a bare line of JSON": '{"error": "boom"}',
    "a bare line under an event's name": 'event: error\n{"message": "boom"}',
    "event error with plain text": "event: error\ndata: boom",
    "event error with an empty object": "event: error\ndata: {}",
    "event error with null": "event: error\ndata: null",
    "event error with no data": "event: error\ndata:",
    "the old field error": 'error: {"message": "boom"}',
}


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize("said", FAILURES.values(), ids=FAILURES)
def test_a_failure_in_any_words_ends_the_stream(protocol: Protocol, said: str) -> None:
    """Also where the rest of the answer follows, as if nothing had been."""
    *before, last, rest = body_of(Reply(text="Hello"), protocol).split(b"\n\n")
    for after in ([], [last]):
        with pytest.raises(Overloaded) as caught:
            read(b"\n\n".join([*before, said.encode(), *after, rest]), protocol)
        assert caught.value.retryable


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize(
    "nothing", ["null", "{}", "[]", '""', "false", "0", '{"code": 0, "message": "", "type": null}']
)
def test_an_error_with_nothing_in_it_is_none(protocol: Protocol, nothing: str) -> None:
    first, rest = body_of(Reply(text="Hello"), protocol).split(b"\n\n", 1)
    body = b"\n\n".join([first, b'data: {"type": "ping", "error": ' + nothing.encode() + b"}", rest])
    assert finished(read(body, protocol)).message.text == "Hello"


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize(
    "sign", ["\x00", "\t", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f", "\x7f", "\x85", "\u2028", "\u2029"]
)
def test_a_control_character_raw_on_the_wire_costs_no_text(protocol: Protocol, sign: str) -> None:
    body = body_of(Reply(text="a~b", piece=9), protocol).replace(b"a~b", f"a{sign}b".encode())
    for cuts in (range(0), range(len(body))):
        assert finished(read(body, protocol, cuts)).message.text == f"a{sign}b"


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
async def test_an_error_inside_the_stream_that_repeats_the_key_shows_none(protocol: Protocol) -> None:
    key = "local-0123456789-token"
    with pytest.raises(ModelError) as caught:
        await ask_provider(Reply(text="x", error={"message": f"key {key} is over"}), protocol, key=key)
    assert key not in str(caught.value)
    with pytest.raises(ModelError) as caught:
        await ask_provider(Reply(raw=f"event: error\ndata: the key {key} is over\n\n"), protocol, key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_thinking_alone_is_an_empty_answer(protocol: Protocol) -> None:
    message = finished(read(body_of(Reply(thinking="hm", signature="s"), protocol), protocol)).message
    assert message.stop is StopReason.EMPTY


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_an_end_without_anything_is_empty(protocol: Protocol) -> None:
    assert finished(read(body_of(Reply(), protocol), protocol)).message.stop is StopReason.EMPTY


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_a_stream_with_nothing_in_it_is_an_error(protocol: Protocol) -> None:
    with pytest.raises(EmptyAnswer):
        read(b"", protocol)
    with pytest.raises(EmptyAnswer):
        read(b": ping\n\ndata: [DONE]\n\n", protocol)


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize("usage", ["absent", "null", "zero"])
def test_unknown_usage_is_none_and_never_zero(protocol: Protocol, usage: str) -> None:
    reply = msgspec.structs.replace(Reply(text="Hello"), usage=usage)
    assert finished(read(body_of(reply, protocol), protocol)).message.usage is None


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_usage_in_every_chunk_counts_once(protocol: Protocol) -> None:
    reply = Reply(text="Hello", usage="repeated", tokens=(10, 0, 0, 5))
    assert finished(read(body_of(reply, protocol), protocol)).message.usage == Usage(10, 0, 0, 5)


STOPS: list[tuple[Protocol, str, StopReason]] = [
    ("chat", "length", StopReason.LENGTH),
    ("chat", "max_tokens", StopReason.LENGTH),
    ("chat", "content_filter", StopReason.REFUSAL),
    ("chat", "eos", StopReason.COMPLETE),
    ("chat", "tool_calls", StopReason.COMPLETE),
    ("chat", "brand_new", StopReason.ERROR),
    ("messages", "max_tokens", StopReason.LENGTH),
    ("messages", "model_context_window_exceeded", StopReason.LENGTH),
    ("messages", "refusal", StopReason.REFUSAL),
    ("messages", "stop_sequence", StopReason.COMPLETE),
    ("messages", "pause_turn", StopReason.ERROR),
    ("messages", "brand_new", StopReason.ERROR),
    ("responses", "max_output_tokens", StopReason.LENGTH),
    ("responses", "content_filter", StopReason.REFUSAL),
    ("responses", "brand_new", StopReason.ERROR),
]


@pytest.mark.parametrize(("protocol", "word", "stop"), STOPS)
def test_every_end_has_one_reason(protocol: Protocol, word: str, stop: StopReason) -> None:
    message = finished(read(body_of(Reply(text="Hello", stop=word), protocol), protocol)).message
    assert (message.text, message.stop) == ("Hello", stop)
    assert bool(message.error) == (stop is StopReason.ERROR)


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_a_call_cut_by_the_output_limit_keeps_its_text_and_cannot_run(protocol: Protocol) -> None:
    word = {"chat": "length", "messages": "max_tokens", "responses": "max_output_tokens"}[protocol]
    raw = '{"path": "a", "content": "half'
    message = finished(read(body_of(Reply(calls=(Call("write", raw),), stop=word), protocol), protocol)).message
    assert message.stop is StopReason.LENGTH
    assert not message.stop.is_complete
    assert (message.calls[0].arguments, message.calls[0].raw) == ({}, raw)
    assert message.calls[0].error


BAD_ARGUMENTS = [
    '{"n": 1e999}',
    '{"n": -1e999}',
    '{"n": 18446744073709551616}',
    '{"p": "a\nb"}',
    '{"p": 1} and more',
    '{"p": 1},',
    '\ufeff{"p": 1}',
    '"{\\"p\\": 1}"',
    '{"a":' * 101 + "1" + "}" * 101,
    '{"a":' * 5000 + "1" + "}" * 5000,
    '{"path": "bui',
    '{"p":1}{"p":2}',
    "[1]",
    '"text"',
    "null",
    '{"n": NaN}',
    "{'a': 1}",
    "[" * 5000,
    "1" * 9000,
]


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize("raw", BAD_ARGUMENTS)
def test_broken_arguments_spoil_their_own_call_alone(protocol: Protocol, raw: str) -> None:
    reply = Reply(calls=(Call("a", '{"x": 1}'), Call("b", raw), Call("c", "")), piece=4000)
    calls = finished(read(body_of(reply, protocol), protocol)).message.calls
    assert [call.arguments for call in calls] == [{"x": 1}, {}, {}]
    assert [bool(call.error) for call in calls] == [False, True, False]
    assert calls[1].raw == raw
    assert len(calls[1].error) < 500


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_lone_surrogates_become_replacement_characters(protocol: Protocol) -> None:
    reply = Reply(text="a\ud99c b", calls=(Call("grep", '{"q":"\\ud99c x", "\\udc00": 1}'),), piece=3)
    frames = [(name, data) for name, data in _escaped(reply, protocol)]
    message = finished(read(body_of(Reply(frames=tuple(frames)), protocol), protocol)).message
    assert message.text == "a\ufffd b"
    assert message.calls[0].arguments == {"q": "\ufffd x", "\ufffd": 1}
    msgspec.json.encode(message)


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_a_pair_of_surrogates_cut_between_two_deltas_is_joined(protocol: Protocol) -> None:
    frames = _escaped(Reply(text="x\ud83d\ude00y", piece=2), protocol)
    assert '\\ud83d"' in "".join(data for _, data in frames)
    events = read(body_of(Reply(frames=tuple(frames)), protocol), protocol)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["x", "😀y"]
    assert finished(events).message.text == "x😀y"


def _escaped(reply: Reply, protocol: Protocol) -> list[tuple[str, str]]:
    """Frames as a server writes them that escapes everything: surrogates travel as \\uXXXX."""
    import json

    from tests.support.wire import frames_for

    frames = frames_for(reply, protocol, {"messages": []})
    return [(name, data if data == "[DONE]" else json.dumps(json.loads(data))) for name, data in frames]


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize(
    "junk", ["null", "{}", "[]", "7", '"x"', '{"type": null}', "not json", '{"choices": {}}', '{"usage": []}']
)
def test_junk_between_events_changes_nothing(protocol: Protocol, junk: str) -> None:
    lines = body_of(RICH, protocol).split(b"\n\n")
    body = b"\n\n".join(part + b"\n\ndata: " + junk.encode() if part else part for part in lines[:-2])
    assert read(body + b"\n\n" + b"\n\n".join(lines[-2:]), protocol) == WHOLE[protocol]


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
async def test_a_web_page_with_status_200_is_not_the_api(protocol: Protocol) -> None:
    with pytest.raises(ModelError, match="web page"):
        await ask_provider(Reply(body="<!doctype html><p>Sign in", headers={"content-type": "text/html"}), protocol)


@pytest.mark.anyio
async def test_answers_that_are_not_streamed_are_read_too() -> None:
    chat = '{"choices":[{"message":{"role":"assistant","content":"Hello"},"finish_reason":"stop"}]}'
    assert finished(await ask_provider(Reply(body=chat), "chat")).message.text == "Hello"
    whole = '{"type":"message","content":[{"type":"text","text":"Hello"}],"stop_reason":"end_turn","usage":null}'
    assert finished(await ask_provider(Reply(body=whole), "messages")).message.text == "Hello"


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
async def test_an_error_with_status_200_is_an_error(protocol: Protocol) -> None:
    with pytest.raises(Overloaded):
        await ask_provider(Reply(body='{"error": "model runner has unexpectedly stopped"}'), protocol)
