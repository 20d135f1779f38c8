"""What `context_info` answers."""

from __future__ import annotations

from tui.context.bar import bar_text
from tui.context.info import context_info
from tui.context.thresholds import ConfigurationError, Thresholds
from tui.context.usage import ContextUsage
from tui.log.entries import Handoff

LIMITS = Thresholds(200_000, 120_000, 140_000, 160_000, 180_000)


def test_all_figures() -> None:
    found = context_info(ContextUsage(130_000, 9_000, 200_000, "reported", 130_000), LIMITS, Handoff("saved", done=2))
    assert found["level"] == "soft"
    assert (found["until_warning"], found["until_hard"]) == (10_000, 30_000)
    assert (found["tokens"], found["cached"], found["percent"], found["window"]) == (130_000, 9_000, 65, 200_000)
    assert (found["handoff"], found["cycles_done"]) == ("saved", 2)
    assert found["bar"] == bar_text(130_000, 9_000, 200_000, LIMITS)


def test_unknown_stays_unknown() -> None:
    found = context_info(ContextUsage(None, 0, 200_000, "unknown", 5_000), LIMITS, Handoff())
    assert found["tokens"] is None
    assert found["until_hard"] is None
    assert found["level"] == "none"


def test_past_the_marks_nothing_is_negative() -> None:
    found = context_info(ContextUsage(190_000, 0, 200_000, "reported", 190_000), LIMITS, Handoff())
    assert (found["until_warning"], found["until_hard"]) == (0, 0)


def test_a_configuration_error_is_told_in_its_words() -> None:
    usage = ContextUsage(1, 0, 200_000, "reported", 1)
    found = context_info(usage, ConfigurationError("soft", "soft is wrong"), Handoff())
    assert found["configuration_error"] == "soft is wrong"
    assert "thresholds" not in found
