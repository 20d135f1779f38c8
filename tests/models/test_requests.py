"""Whatever a history holds, what leaves is accepted by the strictest server."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.models.helpers import (
    ALL_PROTOCOLS,
    LS,
    PROTOCOLS,
    ask_provider,
    body_of,
    finished,
    info_for,
    read,
    request,
    user,
)
from tests.support.provider import Reply
from tests.support.strict import check_chat, check_messages, check_responses
from tests.support.wire import Protocol
from tui.messages import (
    AssistantMessage,
    Attachment,
    Image,
    Message,
    Refusal,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)
from tui.models.anthropic_request import messages_body
from tui.models.base import ModelInfo, Request
from tui.models.chat_request import ChatDialect, chat_body
from tui.models.http import encode_json
from tui.models.responses_request import responses_body

PNG = b"\x89PNG not really"
SEEN = Image("a" * 64, "image/png", 2, 3, len(PNG))


def body_for(asked: Request, protocol: Protocol, info: ModelInfo | None = None) -> dict[str, Any]:
    info = info or info_for(protocol)
    match protocol:
        case "chat":
            body = chat_body(asked, info, ChatDialect(), {})
        case "messages":
            body = messages_body(asked, info, {})
        case "responses":
            body = responses_body(asked, info, {})
            body["messages"] = body["input"]
    return json.loads(encode_json(body))


def check(body: dict[str, Any], protocol: Protocol) -> list[str]:
    return {"chat": check_chat, "messages": check_messages, "responses": check_responses}[protocol](body)


def said(*content: Any, stop: StopReason = StopReason.COMPLETE, by: str = "anthropic") -> AssistantMessage:
    parts = tuple(Text(part) if isinstance(part, str) else part for part in content)
    return AssistantMessage(parts, stop, model="scripted", provider=by)


def result(call_id: str, text: str = "ok", **changes: Any) -> ToolResult:
    return ToolResult(call_id, "ls", (Text(text),), **changes)


texts = st.text(max_size=8) | st.sampled_from(["", " ", "\n", "\ud800"])
call_ids = st.sampled_from(["", "a", "b", "a/b", "x" * 80, "\ud800"])
parts = st.one_of(
    st.builds(Text, texts),
    st.builds(Refusal, texts),
    st.builds(Thinking, texts, st.sampled_from(["", "sig"]), st.sampled_from(["", "data"])),
    st.builds(
        ToolCall, call_ids, st.sampled_from(["ls", "", "bad name!"]), st.just({"p": 1}), st.sampled_from(["", "{"])
    ),
)
images = st.sampled_from([SEEN, Image("b" * 64, "image/png")])
messages = st.one_of(
    st.builds(
        UserMessage,
        st.lists(st.builds(Text, texts) | st.builds(Attachment, texts, texts) | images, max_size=3).map(tuple),
    ),
    st.builds(
        AssistantMessage,
        st.lists(parts, max_size=4).map(tuple),
        st.sampled_from(StopReason),
        st.sampled_from(["scripted", "other"]),
        st.sampled_from(["anthropic", "openai-chat", "openai-responses"]),
    ),
    st.builds(
        ToolResult,
        call_ids,
        st.just("ls"),
        st.lists(st.builds(Text, texts) | images, max_size=2).map(tuple),
        st.booleans(),
    ),
)


@given(st.sampled_from(ALL_PROTOCOLS), st.lists(messages, max_size=8), st.sampled_from(["", "note"]), st.booleans())
def test_any_history_makes_a_legal_request(
    protocol: Protocol, history: list[Message], guidance: str, sees: bool
) -> None:
    asked = Request("sys", tuple(history), (LS,), guidance=guidance, images={SEEN.sha256: PNG})
    body = body_for(asked, protocol, info_for(protocol, images=sees))
    assert check(body, protocol) == []
    assert body == body_for(asked, protocol, info_for(protocol, images=sees))


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_words_leave_byte_for_byte(protocol: Protocol) -> None:
    typed = "  tabs\tand \u201cquotes\u201d\r\n\x0b\u2028 end \n"
    body = body_for(request(user(typed)), protocol)
    content = body["messages"][-1]["content"]
    assert (content if protocol == "chat" else content[0]["text"]) == typed


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_the_same_prefix_gives_the_same_bytes(protocol: Protocol) -> None:
    short = (user("one"), said("two"), user("three"))
    longer = (*short, said("four"), user("five"))
    first, second = body_for(request(*short), protocol)["messages"], body_for(request(*longer), protocol)["messages"]
    assert _plain(second[: len(first)]) == _plain(first)


def _plain(value: Any) -> Any:
    """Without cache marks, which move on."""
    return json.loads(json.dumps(value).replace(', "cache_control": {"type": "ephemeral"}', ""))


def test_results_of_one_batch_share_one_message_results_first() -> None:
    calls = said("Look.", ToolCall("a", "ls", {}), ToolCall("b", "ls", {}), stop=StopReason.TOOL_CALLS)
    body = body_for(request(user(), calls, result("b", ""), user("steer"), result("a", "A", is_error=True)), "messages")
    last = body["messages"][-1]["content"]
    assert [block["type"] for block in last] == ["tool_result", "tool_result", "text"]
    assert [block["content"][0]["text"] for block in last[:2]] == ["A", "(no output)"]
    assert [block.get("is_error") for block in last[:2]] == [True, None]


def test_results_follow_in_call_order_in_the_chat_protocol() -> None:
    calls = said(ToolCall("a", "ls", {}), ToolCall("b", "ls", {}), stop=StopReason.TOOL_CALLS)
    body = body_for(request(user(), calls, result("b", "B"), user("steer"), result("a", "A")), "chat")
    assert [message["role"] for message in body["messages"]] == ["system", "user", "assistant", "tool", "tool", "user"]
    assert [message["content"] for message in body["messages"][3:]] == ["A", "B", "steer"]
    assert body["messages"][2]["content"] is None


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_a_call_without_a_result_gets_one_that_says_so(protocol: Protocol) -> None:
    body = body_for(request(user(), said(ToolCall("a", "bash", {})), user("hello")), protocol)
    assert "effects are unknown" in json.dumps(body["messages"])


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_a_result_without_its_call_stays_as_text(protocol: Protocol) -> None:
    body = body_for(request(result("gone", "the listing"), user("hello")), protocol)
    assert [message["role"] for message in body["messages"] if message["role"] != "system"] == ["user"]
    assert "the listing" in json.dumps(body["messages"])


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_calls_of_tools_that_are_gone_stay(protocol: Protocol) -> None:
    history = (user(), said(ToolCall("a", "old_tool", {"x": 1})), ToolResult("a", "old_tool", (Text("r"),)), user())
    assert "old_tool" in json.dumps(body_for(request(*history, tools=(LS,)), protocol)["messages"])


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_broken_arguments_leave_as_an_object(protocol: Protocol) -> None:
    broken = ToolCall("a", "ls", {}, raw='{"p":1}{"p":2}' + "x" * 999, error="not JSON")
    body = body_for(request(user(), said(broken), result("a")), protocol)
    text = json.dumps(body["messages"])
    assert "_invalid" in text
    assert len(text) < 1500


def test_signed_thinking_goes_back_byte_for_byte_to_its_own_model_alone() -> None:
    thinking = (
        Thinking("h\u2028m \n", "c2ln"),
        Thinking("", "ZW1wdHk="),
        Thinking("", redacted="cmVk"),
        Thinking("bare"),
    )
    history = (user(), said(*thinking, "answer"), user("more"))
    mine = body_for(request(*history), "messages")["messages"][1]["content"]
    assert mine == [
        {"type": "thinking", "thinking": "h\u2028m \n", "signature": "c2ln"},
        {"type": "thinking", "thinking": "", "signature": "ZW1wdHk="},
        {"type": "redacted_thinking", "data": "cmVk"},
        {"type": "text", "text": "answer"},
    ]
    other = body_for(request(*history), "messages", ModelInfo("other", "anthropic"))["messages"][1]["content"]
    assert other == [{"type": "text", "text": "answer"}]


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
@pytest.mark.parametrize("empty", [(), ("",), (" \n",), (Thinking("hm", "sig"),)])
def test_empty_answers_are_not_sent(protocol: Protocol, empty: tuple[Any, ...]) -> None:
    body = body_for(request(user("a"), said(*empty, stop=StopReason.EMPTY), user("b")), protocol)
    assert [message["role"] for message in body["messages"] if message["role"] != "system"] == ["user"]
    assert check(body, protocol) == []


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_an_interrupted_answer_at_the_end_is_followed_by_the_user(protocol: Protocol) -> None:
    body = body_for(request(user("a"), said("half", stop=StopReason.ABORTED)), protocol)
    assert body["messages"][-1]["role"] == "user"


def test_sealed_reasoning_goes_back_as_it_came() -> None:
    reply = Reply(thinking="hm", signature="c2VhbA==", text="answer")
    message = finished(read(body_of(reply, "responses"), "responses")).message
    body = body_for(request(user(), message, user("more")), "responses")
    assert body["store"] is False
    assert body["input"][1] == {
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "id": "rs_1",
        "encrypted_content": "c2VhbA==",
    }
    other = body_for(request(user(), message, user("more")), "responses", ModelInfo("other", "openai-responses"))
    assert "reasoning" not in json.dumps(other["input"])


def test_reasoning_goes_back_where_it_is_demanded() -> None:
    history = (
        user(),
        said(Thinking("because"), ToolCall("a", "ls", {}), by="openai-chat"),
        result("a"),
        said(ToolCall("b", "ls", {}), by="openai-chat"),
        result("b"),
    )
    demanded = chat_body(request(*history), info_for("chat"), ChatDialect(replay_reasoning=True), {})["messages"]
    assert [one["reasoning_content"] for one in demanded if one["role"] == "assistant"] == ["because", ""]
    assert "because" not in json.dumps(body_for(request(*history), "chat"))


def test_cache_marks_are_on_the_stable_prefix_and_guidance_is_behind_them() -> None:
    history = (user("one"), said(ToolCall("a", "ls", {})), result("a"))
    other = ToolSpec("read", "Read.", {"type": "object"})
    body = body_for(request(*history, tools=(LS, other), guidance="Write your note."), "messages")
    assert "cache_control" in body["system"][-1]
    assert ["cache_control" in tool for tool in body["tools"]] == [False, True]
    last = body["messages"][-1]["content"]
    assert ["cache_control" in block for block in last] == [True, False]
    assert last[-1] == {"type": "text", "text": "Write your note."}
    assert "cache_control" in body["messages"][0]["content"][-1]


def test_guidance_does_not_change_what_is_before_it() -> None:
    history = (user("one"), said("two"), user("three"))
    noted = body_for(request(*history, guidance="note"), "responses")["input"]
    assert noted[:-1] == body_for(request(*history), "responses")["input"]
    for protocol in PROTOCOLS:
        with_note = body_for(request(*history, guidance="note"), protocol)["messages"]
        without = body_for(request(*history), protocol)["messages"]
        assert with_note[:-1] == without[:-1]
        assert with_note[-1]["content"][: len(without[-1]["content"])] == without[-1]["content"]


def test_images_are_sent_to_models_that_see() -> None:
    shot = ToolResult("a", "read", (Text("the picture"), SEEN))
    asked = request(user(), said(ToolCall("a", "read", {})), shot, images={SEEN.sha256: PNG})
    chat = body_for(asked, "chat", info_for("chat", images=True))["messages"]
    assert [one["role"] for one in chat[-2:]] == ["tool", "user"]
    assert chat[-1]["content"][-1]["image_url"]["url"].startswith("data:image/png;base64,iVBO")
    claude = body_for(asked, "messages", info_for("messages", images=True))["messages"]
    assert [block["type"] for block in claude[-1]["content"][0]["content"]] == ["text", "image"]
    assert "cannot see images" in json.dumps(body_for(asked, "chat"))


@pytest.mark.parametrize(("size", "sent"), [(3_932_160, True), (3_932_161, False)])
def test_image_size_is_measured_as_it_is_sent(size: int, sent: bool) -> None:
    asked = request(UserMessage((SEEN,)), images={SEEN.sha256: b"x" * size})
    content = body_for(asked, "messages", info_for("messages", images=True))["messages"][0]["content"]
    assert (content[0]["type"] == "image") == sent


def test_small_windows_get_short_descriptions() -> None:
    tool = ToolSpec("ls", "long", {"type": "object"}, short="short")
    for window, text in ((8_000, "short"), (64_000, "long")):
        info = info_for("chat", window=window)
        assert body_for(request(tools=(tool,)), "chat", info)["tools"][0]["function"]["description"] == text


def test_ids_are_unique_and_legal_whatever_the_log_holds() -> None:
    calls = said(*(ToolCall(one, "ls", {}) for one in ("a", "a", "", "a/b", "é" * 50)))
    body = body_for(request(user(), calls), "chat")
    ids = [call["id"] for call in body["messages"][2]["tool_calls"]]
    assert len(set(ids)) == 5
    assert all(one.isascii() and len(one) <= 40 for one in ids)


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
async def test_a_long_session_satisfies_the_strict_server(protocol: Protocol) -> None:
    calls = said("Look.", ToolCall("a", "ls", {}), stop=StopReason.TOOL_CALLS)
    asked = request(user(), calls, result("a", ""), said("Half", stop=StopReason.DROPPED), user("go on"), tools=(LS,))
    assert finished(await ask_provider(Reply(text="Done"), protocol, asked)).message.text == "Done"
