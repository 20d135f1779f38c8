"""The validator: the PAIR class of faults, one by one."""

from __future__ import annotations

import pytest
from hypothesis import given

from tests.context.history import answer, branch, branches, call, prompt, result
from tests.context.strict import faults
from tui.context.validate import NO_OUTPUT, NO_RESULT, ImageLimits, ViewLimits, describe_image, validate
from tui.context.view import project
from tui.log.entries import Entry, Prompt, Result
from tui.messages import (
    AssistantMessage,
    Image,
    Message,
    Refusal,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

LIMITS = ViewLimits(model="m", provider="p")


def user(text: str) -> UserMessage:
    return UserMessage((Text(text),))


def said(*parts: Text | Thinking | ToolCall | Refusal, model: str = "m") -> AssistantMessage:
    return AssistantMessage(parts, StopReason.COMPLETE, model=model, provider="p")


def gave(call_id: str, text: str = "ok") -> ToolResult:
    return ToolResult(call_id, "read", (Text(text),))


def checked(*messages: Message, limits: ViewLimits = LIMITS) -> tuple[Message, ...]:
    sent = validate(messages, limits)
    assert faults(sent, limits) == []
    return sent


def test_what_is_valid_comes_back_equal() -> None:
    messages = (user("a"), said(Text("b"), call("c1")), gave("c1"), said(Text("d")), user("e"))
    assert all(a is b for a, b in zip(checked(*messages), messages, strict=True))


def test_pair01_a_result_whose_call_is_gone_is_not_sent() -> None:
    assert checked(gave("t1"), gave("t2"), said(Text("x")), user("more"))[1:] == (said(Text("x")), user("more"))


def test_pair02_a_slice_that_begins_with_results() -> None:
    assert isinstance(checked(gave("t1"), user("x"))[0], UserMessage)


def test_results_are_moved_next_to_their_call_in_call_order() -> None:
    sent = checked(user("a"), said(call("c1"), call("c2")), user("steer"), gave("c2", "two"), gave("c1", "one"))
    assert [m.text if isinstance(m, ToolResult) else type(m).__name__ for m in sent] == [
        "UserMessage",
        "AssistantMessage",
        "one",
        "two",
        "UserMessage",
    ]


def test_an_open_call_gets_one_result() -> None:
    sent = checked(user("a"), said(call("c1")), user("b"))
    assert isinstance(sent[2], ToolResult)
    assert sent[2].text == NO_RESULT
    assert sent[2].is_error


def test_pair06_three_signed_blocks_and_an_open_call_after_a_crash() -> None:
    blocks = tuple(Thinking(f"t{n} \u2028 ", f"sig{n}") for n in range(3))
    message = said(blocks[0], Text("x"), blocks[1], blocks[2], call("c1", "bash"))
    sent = checked(user("go"), message, user("hello"))
    assert sent[1] == message


@pytest.mark.parametrize("spoiled", [Thinking("t", "sig\ud800"), Thinking("\udfff", "sig"), Thinking("", "")])
def test_pair05_signed_thinking_is_whole_or_gone(spoiled: Thinking) -> None:
    sent = checked(user("go"), said(Thinking("fine", "sig"), Text("x"), spoiled))
    assert isinstance(sent[1], AssistantMessage)
    assert sent[1].content == (Text("x"),)


def test_thinking_of_another_model_is_not_sent() -> None:
    sent = checked(user("go"), said(Thinking("t", "sig"), Text("x"), model="other"), user("b"))
    assert sent[1].content == (Text("x"),)


def test_pair07_the_encoded_size_counts() -> None:
    large = Image("aa", "image/png", 2000, 1500, int(3.9 * 1024 * 1024))
    sent = checked(UserMessage((large, Text("look"))), user("hello"))
    assert [type(part).__name__ for part in sent[0].content] == ["Text", "Text"]
    assert "too large" in str(sent[0].content[0])
    assert "2000x1500" in str(sent[0].content[0])


def test_pair07_an_image_the_server_refused_becomes_words_in_the_view_alone() -> None:
    image = Image("aa", "image/png", 10, 10, 100)
    message = UserMessage((image, Text("look")))
    limits = ViewLimits(rejected=frozenset({"aa"}))
    assert checked(message, limits=limits)[0].content[0] == Text(describe_image(image, "the server refused it"))
    assert message.content[0] is image


def test_the_newest_images_stay_where_there_are_too_many() -> None:
    pictures = [Image(f"{n}", "image/png", 10, 10, 100) for n in range(4)]
    limits = ViewLimits(images=ImageLimits(most=2))
    sent = checked(*(UserMessage((picture,)) for picture in pictures), limits=limits)
    assert [isinstance(m.content[0], Image) for m in sent] == [False, False, True, True]


def test_the_same_image_twice_counts_twice() -> None:
    picture = Image("0", "image/png", 10, 10, 100)
    limits = ViewLimits(images=ImageLimits(most=1))
    checked(UserMessage((picture, picture)), UserMessage((picture,)), limits=limits)


@pytest.mark.parametrize(
    "empty", [said(), said(Text("")), said(Text(" \n")), said(Thinking("hm", "sig")), said(Refusal(""))]
)
def test_pair09_pair11_answers_without_words_are_not_sent(empty: AssistantMessage) -> None:
    assert checked(user("a"), empty, user("b")) == (user("a"), user("b"))


def test_pair10_a_silent_command_says_so() -> None:
    sent = checked(user("a"), said(call("c1", "bash")), ToolResult("c1", "bash", (Text(""),)))
    assert sent[2].content == (Text(NO_OUTPUT),)


def test_pair12_a_server_that_reuses_one_id() -> None:
    rounds: list[Message] = [user("go")]
    for number in range(3):
        rounds += [said(ToolCall("X", "read")), gave("X", f"result {number}")]
    sent = checked(*rounds)
    assert [m.text for m in sent if isinstance(m, ToolResult)] == ["result 0", "result 1", "result 2"]


def test_pair12_within_one_answer_results_keep_the_order_of_the_calls() -> None:
    sent = checked(user("go"), said(ToolCall("X", "read"), ToolCall("X", "grep")), gave("X", "one"), gave("X", "two"))
    assert [(m.name, m.text) for m in sent if isinstance(m, ToolResult)] == [("read", "one"), ("grep", "two")]


def test_pair12_a_lost_result_does_not_take_the_next_ones_place() -> None:
    sent = checked(
        user("go"), said(ToolCall("X", "read")), user("again"), said(ToolCall("X", "read")), gave("X", "new")
    )
    assert [m.text for m in sent if isinstance(m, ToolResult)] == [NO_RESULT, "new"]


def test_pair13_empty_ids_are_made_up_and_both_results_arrive() -> None:
    sent = checked(user("go"), said(ToolCall("", "a"), ToolCall("", "b")), gave("", "one"), gave("", "two"))
    assert [m.text for m in sent if isinstance(m, ToolResult)] == ["one", "two"]


def test_lone_surrogates_never_leave() -> None:
    arguments = {"\ud800": ["\udfff", {"x": "\ud800"}]}
    sent = checked(user("\ud800"), said(Text("\ud801"), ToolCall("c", "n\ud800", arguments)), gave("c", "\udfff"))
    assert sent[0] == user("\ufffd")


def test_quirk08_quirk09_it_never_ends_with_an_answer() -> None:
    assert isinstance(checked(user("a"), said(Text("b")))[-1], UserMessage)
    assert isinstance(checked(user("a"), said(Text("b")), said(Text("c")))[-1], UserMessage)


def test_nothing_at_all_is_still_a_request() -> None:
    assert len(checked()) == 1


def test_the_log_is_never_changed() -> None:
    entries = branch(Prompt(UserMessage((Text("\ud800"),))), answer("", call("")), result("", ""))
    before = [entry.body for entry in entries]
    checked(*project(entries))
    assert [entry.body for entry in entries] == before
    assert isinstance(entries[2].body, Result)


def test_a_checkpoint_in_the_middle_of_a_tool_flow_is_legal() -> None:
    entries = branch(prompt("go"), answer("", call("c1")), result("c1"), answer("x", call("c2")), result("c2"))
    for start in range(5):
        checked(*project(entries[start:]))


@given(branches)
def test_a_second_pass_changes_nothing(entries: list[Entry]) -> None:
    once = validate(project(entries), LIMITS)
    assert validate(once, LIMITS) == once
