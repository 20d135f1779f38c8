"""The projection: what of a branch the model sees."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.context.history import answer, answered, branch, branches, call, prompt, result
from tests.context.strict import faults
from tui.context.validate import ViewLimits, validate
from tui.context.view import EFFECTS_UNKNOWN, NOT_STARTED, project, prompt_message
from tui.log.entries import Answer, Checkpoint, Entry, Notice, Prompt, ToolStarted
from tui.messages import (
    AssistantMessage,
    Attachment,
    Image,
    Refusal,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    UserMessage,
)

LIMITS = ViewLimits(model="m", provider="p")


def test_prompts_answers_and_results_in_order() -> None:
    entries = branch(prompt("do it"), answer("ok", call("c1")), result("c1"), answer("done"), answered())
    kinds = [type(message).__name__ for message in project(entries)]
    assert kinds == ["UserMessage", "AssistantMessage", "ToolResult", "AssistantMessage"]


def test_excluded_prompts_notices_and_bookkeeping_are_never_sent() -> None:
    entries = branch(prompt("!!secret", excluded=True), Notice("hello"), prompt("seen"))
    assert project(entries) == (UserMessage((Text("seen"),)),)


def test_authored_words_stay_in_one_piece_byte_for_byte() -> None:
    words = ["  first\r\n\t", "“second”\u200b  "]
    message = UserMessage(
        (Attachment("stdin", "before"), Text(words[0]), Attachment('a "b"\n.txt', "after"), Text(words[1]))
    )
    sent = prompt_message(message)
    assert [part.text for part in sent.content if isinstance(part, Text)] == [
        '<attached name="stdin">\nbefore\n</attached>',
        "".join(words),
        "<attached name=\"a 'b' .txt\">\nafter\n</attached>",
    ]


def test_the_same_prompt_gives_the_same_message_so_that_it_is_measured_once() -> None:
    message = UserMessage((Attachment("a", "b" * 1_000), Text("look")))
    assert prompt_message(message) is prompt_message(message)


def test_the_same_checkpoint_gives_the_same_message() -> None:
    entries = branch(prompt("task"), answer("ok"), Checkpoint("manual", "e0", "e1", 1, "summary"))
    assert project(entries)[0] is project(entries)[0]


def test_an_image_keeps_its_place_beside_the_words() -> None:
    image = Image("00", "image/png", 1, 1, 1)
    assert prompt_message(UserMessage((image, Text("what?")))).content == (image, Text("what?"))
    assert prompt_message(UserMessage((Text("what?"), image))).content == (Text("what?"), image)


def test_an_interrupted_answer_is_kept_and_marked_and_its_calls_are_not_sent() -> None:
    entries = branch(prompt("go"), answer("half a", call("c1"), stop=StopReason.ABORTED))
    (_, kept) = project(entries)
    assert isinstance(kept, AssistantMessage)
    assert kept.content == (Text("half a"), Text("[The person stopped this answer here.]"))


def test_an_incomplete_answer_without_words_leaves_nothing() -> None:
    thinking = Answer(AssistantMessage((Thinking("hm"),), StopReason.DROPPED))
    assert project(branch(prompt("go"), thinking)) == (UserMessage((Text("go"),)),)


def test_a_cut_answer_whose_calls_were_answered_shows_them_with_their_results() -> None:
    entries = branch(
        prompt("go"),
        answer("writing", call("c1"), stop=StopReason.LENGTH),
        result("c1", "Not run: the answer reached its output limit.", is_error=True),
    )
    _, kept, given_back = project(entries)
    assert isinstance(kept, AssistantMessage)
    assert [c.id for c in kept.calls] == ["c1"]
    assert "output limit" in kept.text
    assert isinstance(given_back, ToolResult)


def test_a_refusal_leaves_a_stand_in() -> None:
    entries = branch(prompt("go"), Answer(AssistantMessage((Refusal("I cannot."),), StopReason.REFUSAL)))
    assert [part.text for part in project(entries)[1].content if isinstance(part, Text)] == [
        "I cannot.",
        "[The model declined here.]",
    ]


def test_a_call_that_never_started_and_one_that_did_get_different_results() -> None:
    entries = branch(prompt("go"), answer("", call("c1"), call("c2")), ToolStarted("c1", "read"))
    results = {m.call_id: m.text for m in project(entries) if isinstance(m, ToolResult)}
    assert results == {"c1": EFFECTS_UNKNOWN, "c2": NOT_STARTED}


def test_a_durable_result_is_never_doubled() -> None:
    entries = branch(prompt("go"), answer("", call("c1")), ToolStarted("c1", "read"), result("c1", "real"))
    assert [m.text for m in project(entries) if isinstance(m, ToolResult)] == ["real"]


def test_pair04_calls_of_tools_that_are_gone_stay_representable() -> None:
    entries = branch(prompt("go"), answer("", call("c1", "old_tool")), result("c1", "x", "old_tool"), prompt("more"))
    sent = validate(project(entries), LIMITS)
    assert faults(sent, LIMITS) == []
    assert any(isinstance(m, ToolResult) and m.name == "old_tool" for m in sent)


@given(branches)
def test_no_history_can_brick_a_session(entries: list[Entry]) -> None:
    for limits in (LIMITS, ViewLimits(sees_images=False)):
        assert faults(validate(project(entries), limits), limits) == []


@given(branches, st.integers(0, 14))
def test_the_view_of_a_prefix_is_a_prefix_up_to_its_open_end(entries: list[Entry], length: int) -> None:
    # The provider's cache holds only if what was sent stays the same bytes; prompts never depend on what follows.
    part = [message for message in project(entries[:length]) if isinstance(message, UserMessage)]
    whole = [message for message in project(entries) if isinstance(message, UserMessage)]
    assert whole[: len(part)] == part


@given(st.lists(st.text(), min_size=1, max_size=4), st.text())
def test_any_authored_words_are_contiguous(words: list[str], attached: str) -> None:
    parts: list[Text | Attachment] = []
    for word in words:
        parts += [Text(word), Attachment("a", attached)]
    sent = project(branch(Prompt(UserMessage(tuple(parts)))))
    assert any(part == Text("".join(words)) for part in sent[0].content)
