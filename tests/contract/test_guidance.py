"""Guidance to the model and announcements to the person."""

from __future__ import annotations

import pytest

from tests.contract.handoff import state
from tui.context.gate import CompactionMode
from tui.context.guidance import announce, guidance_name, guidance_text, wants_response
from tui.context.templates import shipped
from tui.context.thresholds import Level, Thresholds
from tui.log.entries import Announced, Phase

LIMITS = Thresholds(200_000, 120_000, 140_000, 160_000, 180_000)


def name(
    tokens: int | None = 170_000, *, mode: CompactionMode = "self", phase: Phase = "none", compactable: bool = True
) -> str:
    return guidance_name(mode=mode, tokens=tokens, limits=LIMITS, state=state(phase), compactable=compactable)


@pytest.mark.parametrize(
    ("tokens", "wanted"), [(119_999, ""), (120_000, "soft"), (140_000, "warning"), (160_000, "hard"), (None, "")]
)
def test_the_level_names_the_guidance(tokens: int | None, wanted: str) -> None:
    assert name(tokens) == wanted


@pytest.mark.parametrize("phase", ["saved", "compacting", "ready", "failed"])
def test_absent_while_a_handoff_is_pending(phase: Phase) -> None:
    assert name(phase=phase) == ""


def test_absent_when_nothing_is_compactable_or_in_other_modes() -> None:
    assert name(compactable=False) == ""
    assert name(mode="auto") == name(mode="off") == ""
    assert name(phase="delivered") == "hard"


def test_live_numbers() -> None:
    assert "123456" in guidance_text("soft", shipped("soft"), 123_456, LIMITS)
    hard = guidance_text("hard", "unused", 161_000, LIMITS)
    assert "161000" in hard
    assert "160000" in hard
    assert "{{" not in hard


def said(*tokens: int | None, done: int = 0) -> list[str]:
    """Return the levels said for a course of usage."""
    known = Announced(done)
    found: list[str] = []
    for now in tokens:
        step = announce(known, done=done, tokens=now, limits=LIMITS)
        if step is not None:
            known = step.remembered
            if step.text:
                found.append(step.remembered.level)
    return found


def test_each_crossing_once_upwards_only() -> None:
    assert said(1, 120_000, 130_000, 139_999, 140_000, 150_000, 160_000, 170_000) == ["soft", "warning", "hard"]


def test_the_strongest_only() -> None:
    assert said(1, 165_000) == ["hard"]


def test_once_more_after_falling_below_and_then_never_again() -> None:
    assert said(120_000, 1, 120_000, 1, 120_000, 1, 120_000) == ["soft", "soft"]


def test_falling_says_nothing() -> None:
    assert said(165_000, 145_000, 125_000) == ["hard"]


def test_unknown_changes_nothing() -> None:
    assert said(120_000, None, 125_000) == ["soft"]


def test_a_new_cycle_begins_anew() -> None:
    known = Announced(0, "soft", {"soft": 2})
    step = announce(known, done=1, tokens=125_000, limits=LIMITS)
    assert step is not None
    assert step.text


@pytest.mark.parametrize(
    ("before", "after", "asks"),
    [
        (Level.NONE, Level.SOFT, False),
        (Level.NONE, Level.WARNING, True),
        (Level.SOFT, Level.HARD, True),
        (Level.WARNING, Level.HARD, True),
        (Level.HARD, Level.HARD, False),
        (Level.HARD, Level.WARNING, False),
    ],
)
def test_crossing_warning_or_hard_asks_for_a_response(before: Level, after: Level, asks: bool) -> None:
    assert wants_response(before, after) is asks
