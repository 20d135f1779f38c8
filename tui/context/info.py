"""What `context_info` answers and the info screen shows of the context: figures, no prose."""

from __future__ import annotations

import msgspec

from tui.context.bar import bar_text
from tui.context.thresholds import ConfigurationError, Thresholds, level_of
from tui.context.usage import ContextUsage
from tui.log.entries import Handoff
from tui.messages import Json

__all__ = ["context_info", "usage_facts"]


def usage_facts(usage: ContextUsage) -> dict[str, Json]:
    """Return `tokens` (null is unknown), `cached`, `percent` and `source`."""
    return {
        "tokens": usage.tokens,
        "cached": usage.cached,
        "percent": usage.percent,
        "source": usage.source,
    }


def context_info(usage: ContextUsage, limits: Thresholds | ConfigurationError, state: Handoff) -> dict[str, Json]:
    """Return the answer of the tool: usage, level, thresholds, distances, handoff, configuration error."""
    facts: dict[str, Json] = {"window": usage.window, **usage_facts(usage), "estimate": usage.estimate}
    if isinstance(limits, ConfigurationError):
        facts |= {
            "configuration_error": limits.message,
            "bar": bar_text(usage.tokens, usage.cached, usage.window, None),
        }
    else:
        facts |= {
            "level": level_of(usage.tokens, limits).value,
            "thresholds": msgspec.to_builtins(limits),
            "until_warning": None if usage.tokens is None else max(0, limits.warning - usage.tokens),
            "until_hard": None if usage.tokens is None else max(0, limits.hard - usage.tokens),
            "bar": bar_text(usage.tokens, usage.cached, usage.window, limits),
        }
    return {**facts, "handoff": state.phase, "cycles_done": state.done}
