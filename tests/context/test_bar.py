"""The text form pair by pair, and the row at every width."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.contract.vectors import VECTORS, BarCase, PercentCase
from tui.context.bar import BarState, Role, bar_text, percent, row, short_count, tone_of
from tui.context.thresholds import Thresholds

LIMITS = Thresholds(window=200_000, soft=40_000, warning=100_000, hard=120_000, cap=180_000)


@pytest.mark.parametrize("case", VECTORS.percent, ids=lambda case: f"{case.tokens}-of-{case.window}")
def test_percent_pairs(case: PercentCase) -> None:
    assert percent(case.tokens, case.window) == case.expected


@pytest.mark.parametrize("case", VECTORS.bar, ids=lambda case: case.expected)
def test_bar_pairs(case: BarCase) -> None:
    given_, usage = case.thresholds, case.usage
    limits = Thresholds(
        given_.context_window, given_.soft_tokens, given_.warning_tokens, given_.hard_tokens, given_.cap
    )
    text = bar_text(usage.tokens, usage.cached_tokens, given_.context_window, limits)
    if given_.context_window > 0:
        assert text == case.expected
    else:
        assert text.startswith("window not positive")
        assert text.endswith("no bar is drawn")


def test_ctx03_more_than_the_window_is_shown_as_it_is() -> None:
    assert bar_text(1_123_639, 0, 1_000_000, None).endswith("] 112%")


def test_invalid_thresholds_leave_the_fill_and_take_the_markers() -> None:
    assert bar_text(100_000, 0, 200_000, None) == "[==========----------] 50%"


def shown(width: int, state: BarState, *, ascii_only: bool = False) -> str:
    return "".join(span.text for span in row(width, state, ascii_only=ascii_only))


STATE = BarState(82_000, 40_000, 200_000, LIMITS, cost=0.42, model="claude-x")


def test_the_row_says_count_distance_cost_and_model() -> None:
    text = shown(120, STATE)
    assert text.endswith("  82k / 200k  18k to warning  $0.42  claude-x")
    assert len(text) == 120


def test_a_cost_that_is_known_in_part_says_so() -> None:
    assert "  $0.42+?  " in shown(120, msgspec.structs.replace(STATE, cost_partial=True))
    assert "?" not in shown(120, msgspec.structs.replace(STATE, cost=0.0, cost_partial=True)), "all of it unknown"


@pytest.mark.parametrize(
    ("width", "gone"),
    [(70, ()), (62, ("claude-x",)), (51, ("claude-x", "$0.42")), (30, ("claude-x", "$0.42", "18k to"))],
)
def test_when_narrow_they_go_in_order(width: int, gone: tuple[str, ...]) -> None:
    text = shown(width, STATE)
    assert [name for name in ("claude-x", "$0.42", "18k to", "82k / 200k") if name not in text] == list(gone)


def test_at_sixty_columns_the_count_and_a_third_of_bar_stay() -> None:
    text = shown(60, STATE, ascii_only=True)
    assert "82k / 200k" in text
    assert text.count("-") + text.count("=") + text.count("#") >= 17


def test_the_ascii_row_has_the_same_marks_as_the_text_form() -> None:
    bare = BarState(80_000, 40_000, 200_000, LIMITS)
    assert shown(20 + len("  80k / 200k  20k to warning"), bare, ascii_only=True).startswith("###~====-!-|--------")


def test_unknown_and_estimated_are_marked() -> None:
    assert "? / 200k" in shown(80, BarState(None, 500, 200_000, LIMITS))
    assert "~82k / 200k" in shown(80, BarState(82_000, 0, 200_000, LIMITS, estimated=True))


def test_unknown_has_no_fill() -> None:
    roles = {span.fg for span in row(80, BarState(None, 90_000, 200_000, LIMITS))}
    assert roles.isdisjoint({"used", "cached"})


def test_eighths_and_the_edge_between_cached_and_used() -> None:
    spans = row(10, BarState(50_000, 31_250, 100_000, None))
    assert [(span.text, span.fg, span.bg) for span in spans] == [
        ("███", "cached", "free"),
        ("▏", "cached", "used"),
        ("█", "used", "free"),
        ("     ", "free", "free"),
    ]


def test_a_model_name_with_wide_letters_or_escapes_keeps_the_width() -> None:
    text = shown(100, BarState(1, 0, 200_000, LIMITS, model="\x1b[31m通义千问\u0301"))
    assert "\x1b" not in text
    assert text.endswith("[31m通义千问\u0301")
    assert len(text) == 100 - 4 + 1


@pytest.mark.parametrize(
    ("tokens", "failed", "tone"),
    [
        (None, False, "unknown"),
        (0, False, "normal"),
        (40_000, False, "soft"),
        (100_000, False, "warning"),
        (120_000, False, "hard"),
        (None, True, "hard"),
    ],
)
def test_tone_follows_the_level(tokens: int | None, failed: bool, tone: str) -> None:
    assert tone_of(tokens, LIMITS, failed=failed) == tone


def test_an_invalid_configuration_is_red() -> None:
    assert tone_of(0, None) == "hard"


@pytest.mark.parametrize(
    ("tokens", "text"),
    [(0, "0"), (999, "999"), (1000, "1k"), (8_250, "8.2k"), (82_999, "82k"), (1_250_000, "1.2M"), (999_999, "999k")],
)
def test_short_counts_round_down(tokens: int, text: str) -> None:
    assert short_count(tokens) == text


@given(
    st.integers(1, 300),
    st.none() | st.integers(0, 3_000_000),
    st.integers(0, 3_000_000),
    st.booleans(),
    st.floats(0, 1000),
)
def test_the_row_is_always_exactly_as_wide_as_asked(
    width: int, tokens: int | None, cached: int, ascii_only: bool, cost: float
) -> None:
    state = BarState(tokens, cached, 200_000, LIMITS, cost=cost, model="m")
    assert len(shown(width, state, ascii_only=ascii_only)) == width


@given(st.integers(0, 400_000), st.integers(0, 400_000))
def test_both_forms_say_the_same(tokens: int, cached: int) -> None:
    labels = 2 + len(f"{short_count(tokens)} / 200k") + 100
    spans = row(20 + labels, BarState(tokens, cached, 200_000, None), ascii_only=True)
    bar = "".join(span.text for span in spans if span.fg in FILLS)
    used, whole = bar.count("#") + bar.count("="), len(bar)
    assert used == min(whole, tokens * whole // 200_000)


FILLS: tuple[Role, ...] = ("cached", "used", "free")
