"""The estimator against counts of a real tokenizer, and its rules for images and tools."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.context.estimate import (
    Calibration,
    Measure,
    estimate_message,
    estimate_text,
    estimate_tools,
    image_tokens,
    learn,
    measure_message,
    measure_text,
    measure_tools,
)
from tui.messages import (
    AssistantMessage,
    Attachment,
    Image,
    StopReason,
    Text,
    ToolCall,
    ToolResult,
    ToolSpec,
    UserMessage,
)


class Sample(msgspec.Struct, frozen=True):
    text: str
    tokens: int


class Counted(msgspec.Struct, frozen=True):
    model: str
    learn: dict[str, Sample]
    check: dict[str, Sample]


COUNTED = msgspec.json.decode(Path(__file__).with_name("data").joinpath("counted.json").read_bytes(), type=Counted)


def near(value: float, wanted: float, share: float) -> bool:
    return abs(value - wanted) <= share * wanted


def learned() -> Calibration:
    calibration = Calibration()
    for sample in COUNTED.learn.values():
        calibration = learn(calibration, measure_text(sample.text), sample.tokens)
    return calibration


@pytest.mark.parametrize("name", ["prose", "code", "json"])
def test_uncalibrated_is_near_for_what_sessions_are_made_of(name: str) -> None:
    sample = COUNTED.check[name]
    assert near(estimate_text(sample.text), sample.tokens, 0.25)


@pytest.mark.parametrize("name", sorted(COUNTED.check))
def test_calibrated_is_within_fifteen_percent_on_unseen_texts(name: str) -> None:
    sample = COUNTED.check[name]
    assert near(learned().tokens(measure_text(sample.text)), sample.tokens, 0.15)


def test_chinese_is_not_counted_as_four_characters_a_token() -> None:
    assert estimate_text("界" * 1000) == 1000


def test_one_class_that_is_wrong_does_not_spoil_the_others() -> None:
    calibration = learn(Calibration(), Measure(wide=1000), 1800)
    assert calibration.factors[0] == 1.0
    assert near(calibration.factors[2], 1.8, 0.02)


def test_an_image_is_judged_by_its_pixels() -> None:
    small = Image(sha256="a", media_type="image/png", width=200, height=150, size=9_000_000)
    huge = Image(sha256="b", media_type="image/png", width=8000, height=6000, size=10)
    assert image_tokens(small) == 64
    assert image_tokens(huge) == 1600
    assert image_tokens(Image(sha256="c", media_type="image/png")) == 1200


def test_an_image_teaches_nothing() -> None:
    image = Image(sha256="a", media_type="image/png", width=1000, height=1000)
    measure = measure_message(UserMessage(content=(Text(text="what is this?"), image)))
    assert learn(Calibration(), measure, 99_999) == Calibration()


@pytest.mark.parametrize("reported", [0, -1])
def test_a_report_of_nothing_teaches_nothing(reported: int) -> None:
    assert learn(Calibration(), measure_text("hello"), reported) == Calibration()


def test_attachments_arguments_and_results_count() -> None:
    words = "one two three four five six seven eight nine ten"
    plain = estimate_message(UserMessage(content=(Text(text=words),)))
    attached = estimate_message(UserMessage(content=(Text(text=words), Attachment(name="a.txt", text=words))))
    assert attached > plain + 9
    assert estimate_message(ToolResult(call_id="c", name="read", content=(Text(text=words),))) > 10


def test_a_large_argument_counts_whole() -> None:
    call = ToolCall(id="c", name="write", arguments={"path": "a", "content": "word " * 60_000})
    message = AssistantMessage(content=(call,), stop=StopReason.TOOL_CALLS)
    assert estimate_message(message) > 59_000


def test_tools_count_with_their_schemas_and_short_ones_less() -> None:
    tool = ToolSpec(
        name="read",
        description="Read a file from the project, in pages of two thousand lines, with line numbers.",
        parameters={"type": "object", "properties": {"path": {"type": "string"}}},
        short="Read a file.",
    )
    assert estimate_tools((tool, tool)) == 2 * estimate_tools((tool,))
    assert measure_tools((tool,), short=True).total < estimate_tools((tool,))


@given(st.text(), st.text())
def test_parts_never_count_less_than_the_whole_by_much(a: str, b: str) -> None:
    assert estimate_text(a + b) <= estimate_text(a) + estimate_text(b)


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 5000), st.integers(0, 5000), st.integers(1, 20_000))))
def test_learning_never_leaves_its_bounds(samples: list[tuple[int, int, int, int]]) -> None:
    calibration = Calibration()
    for text, wide, other, reported in samples:
        calibration = learn(calibration, Measure(text=text, wide=wide, other=other), reported)
    assert all(0.3 <= factor <= 4.0 for factor in calibration.factors)
