"""Thresholds T1 to T9, rule by rule, and the published pairs."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.vectors import VECTORS, ParseCase, ResolveCase
from tui.context.thresholds import (
    Amount,
    ConfigurationError,
    Given,
    Level,
    Malformed,
    Thresholds,
    level_of,
    parse,
    resolve,
    uses_short_tools,
)


@pytest.mark.parametrize("case", VECTORS.parse, ids=lambda case: repr(case.raw))
def test_parse_pairs(case: ParseCase) -> None:
    result = parse(case.raw, allow_zero=case.allow_zero)
    assert isinstance(result, Amount) is case.expected.ok
    if case.expected.parsed is not None:
        assert isinstance(result, Amount)
        assert (result.unit, result.value) == (case.expected.parsed.unit, case.expected.parsed.value)


@pytest.mark.parametrize("case", VECTORS.resolve, ids=lambda case: f"{case.window}-{case.inputs.soft_at}")
def test_resolve_pairs(case: ResolveCase) -> None:
    inputs = case.inputs
    result = resolve(Given(inputs.soft_at, inputs.at, inputs.buffer, inputs.compact_prompt), case.window)
    assert isinstance(result, Thresholds) is case.expected.ok
    if case.expected.thresholds is not None:
        want = case.expected.thresholds
        assert result == Thresholds(
            want.context_window, want.soft_tokens, want.warning_tokens, want.hard_tokens, want.cap
        )


def error(given_: Given, window: int = 200_000, overhead: int = 0) -> ConfigurationError:
    result = resolve(given_, window, overhead=overhead)
    assert isinstance(result, ConfigurationError)
    return result


def fits(given_: Given, window: int, overhead: int = 0) -> Thresholds:
    result = resolve(given_, window, overhead=overhead)
    assert isinstance(result, Thresholds)
    return result


@pytest.mark.parametrize(
    "raw", ["\u00bd", "5\u00a0k", "1e3", "٣", "1.k", "5k%", "0x1f", "½%", "\x1c5k", "5\u200b", "１０"]
)
def test_t1_nothing_else(raw: str) -> None:
    assert isinstance(parse(raw), Malformed)


@pytest.mark.parametrize("raw", ["9" * 5000, "0." + "0" * 5000 + "1%", "9" * 17])
def test_t2_a_value_of_absurd_length_is_refused_not_a_crash(raw: str) -> None:
    assert isinstance(parse(raw), Malformed)


def test_t2_leading_and_trailing_zeros_mean_nothing() -> None:
    assert parse("0" * 5000 + "1.5" + "0" * 5000 + "k") == parse("1500")


def test_t3_zero_is_for_the_buffer_alone() -> None:
    assert isinstance(parse("0"), Malformed)
    assert fits(Given(buffer="0"), 100_000).hard == 70_000
    assert error(Given(at="0")).code == "at"


@pytest.mark.parametrize("given_", [Given(soft=""), Given(at=" "), Given(buffer="\t"), Given(prompt=" \n")])
def test_t3_blank_is_an_error(given_: Given) -> None:
    assert isinstance(resolve(given_, 200_000), ConfigurationError)


def test_t4_hard_is_capped_silently_and_a_warning_above_is_an_error() -> None:
    assert fits(Given("20%", "50%", "60%"), 200_000).hard == 180_000
    assert error(Given("20%", "91%", "0")).code == "ordering"


@pytest.mark.parametrize(
    ("tokens", "level"),
    [
        (None, "none"),
        (0, "none"),
        (39_999, "none"),
        (40_000, "soft"),
        (99_999, "soft"),
        (100_000, "warning"),
        (119_999, "warning"),
        (120_000, "hard"),
        (10**9, "hard"),
    ],
)
def test_t4_a_level_is_reached_at_equality(tokens: int | None, level: str) -> None:
    assert level_of(tokens, fits(Given("20%", "50%", "10%"), 200_000)) is Level(level)


def test_t4_at_hard_equal_to_warning_the_stronger_wins() -> None:
    assert level_of(180_000, fits(Given("20%", "90%", "0"), 200_000)) is Level.HARD


def test_t5_errors_come_in_order() -> None:
    wrong = Given(soft="x", at="x", buffer="x", prompt="")
    assert error(wrong, window=0).code == "window"
    assert error(wrong).code == "prompt"
    assert error(Given(soft="x", at="x", buffer="x")).code == "soft"
    assert error(Given(at="x", buffer="x")).code == "at"
    assert error(Given(buffer="x")).code == "buffer"
    largest = str(2**53 - 1)
    assert error(Given(at=largest, buffer=largest), window=2**53 - 1).code == "sum"
    assert error(Given(soft="90%", at="50%"), overhead=10**9).code == "ordering"
    assert error(Given(), overhead=10**9).code == "room"


def test_t5_the_ordering_error_says_all_of_it() -> None:
    message = error(Given("225k", "250k", "20k"), 200_000).message
    for part in ("200000", "225000", "250000", "180000", "0 < soft < warning <= hard <= cap", "60%"):
        assert part in message


@pytest.mark.parametrize(
    ("window", "numbers"),
    [
        (1_000_000, (225_000, 250_000, 270_000)),
        (300_000, (225_000, 250_000, 270_000)),
        (299_999, (179_999, 209_999, 239_999)),
        (200_000, (120_000, 140_000, 160_000)),
        (32_768, (19_661, 22_938, 26_215)),
        (4_096, (2_458, 2_867, 3_277)),
    ],
)
def test_t7_defaults_fit_every_window(window: int, numbers: tuple[int, int, int]) -> None:
    result = fits(Given(), window)
    assert (result.soft, result.warning, result.hard) == numbers


def test_t7_a_set_value_replaces_only_itself() -> None:
    assert fits(Given(at="90k"), 128_000) == Thresholds(128_000, 76_800, 90_000, 102_800, 115_200)
    assert fits(Given(buffer="1k"), 1_000_000).hard == 251_000


def test_t7_an_unset_soft_above_warning_becomes_six_sevenths() -> None:
    assert fits(Given(at="70k"), 1_000_000).soft == 60_000
    assert fits(Given(at="60%"), 200_000).soft == 102_857


def test_t7_a_set_soft_is_never_moved() -> None:
    assert error(Given(soft="80%")).code == "ordering"


def test_t9_room_for_the_conversation_is_judged_last() -> None:
    assert fits(Given(), 4_096, overhead=1_277).hard == 3_277
    small = error(Given(), 4_096, overhead=1_278)
    assert small.code == "room"
    assert "1999" in small.message
    assert "1278" in small.message


def test_t9_short_tools_below_sixteen_thousand() -> None:
    assert uses_short_tools(8_192)
    assert not uses_short_tools(16_000)


def test_ctx08_a_token_threshold_on_a_small_window_fails_closed_with_advice() -> None:
    assert "%" in error(Given(at="200k"), 32_768).message


def test_ctx02_cmp02_fixed_overhead_near_the_window_is_a_configuration_error() -> None:
    assert error(Given(soft="50%", at="85%", buffer="0"), 32_768, overhead=29_000).code == "room"


@given(st.text())
def test_parse_answers_every_text(raw: str) -> None:
    assert isinstance(parse(raw, allow_zero=True), Amount | Malformed)


@given(
    st.integers(1, 2_000_000),
    st.none() | st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,2})?[k%]", fullmatch=True),
    st.none() | st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,2})?[k%]", fullmatch=True),
    st.none() | st.from_regex(r"[0-9]{1,3}(\.[0-9]{1,2})?[k%]", fullmatch=True),
)
def test_what_resolves_keeps_the_rule(window: int, soft: str | None, at: str | None, buffer: str | None) -> None:
    result = resolve(Given(soft, at, buffer), window)
    if isinstance(result, Thresholds):
        assert 0 < result.soft < result.warning <= result.hard <= result.cap == window * 9 // 10
