"""Where soft, warning and hard lie: parsing, defaults and the rules they must keep (fail closed).

Integers and decimals throughout; floating point puts 1.001k and 0.35 % on the wrong side.
"""

from __future__ import annotations

import enum
import re
from fractions import Fraction
from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "ASSUMED_WINDOW",
    "Amount",
    "ConfigurationError",
    "Given",
    "Level",
    "Malformed",
    "Thresholds",
    "level_of",
    "parse",
    "resolve",
    "uses_short_tools",
]

ASSUMED_WINDOW = 32_768
"""Tokens taken for a model whose window nobody knows; shown as assumed."""

_LARGEST = 2**53 - 1
_ROOM = 2_000
_LARGE_WINDOW = 300_000
_SHORT_TOOLS_BELOW = 16_000
_SHAPE = re.compile(r"([0-9]+)(?:\.([0-9]+))?([kKmM%]?)")
_BLANKS = (
    "\t\n\v\f\r \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000\ufeff"
)
_MOST_DIGITS = 400
"""Beyond it a value is refused: Python would refuse to convert it anyway, with a worse message."""


class Amount(msgspec.Struct, frozen=True):
    """A parsed value: whole tokens, or a percentage of the window (an exact fraction)."""

    unit: Literal["tokens", "percent"]
    value: Fraction

    def tokens(self, window: int) -> int:
        """Return the amount in tokens; percentages are rounded half up."""
        if self.unit == "tokens":
            return int(self.value)
        return int((self.value * window * 2 + 100) // 200)


class Malformed(msgspec.Struct, frozen=True):
    """Why a value cannot be used."""

    reason: str


class Given(msgspec.Struct, frozen=True, omit_defaults=True):
    """What flags and settings say, as written; None is not set. A blank is an error, never "the default"."""

    soft: str | None = None
    at: str | None = None
    buffer: str | None = None
    prompt: str | None = None


class Thresholds(msgspec.Struct, frozen=True):
    """Resolved for one window, all in tokens: `0 < soft < warning <= hard <= cap`."""

    window: int
    soft: int
    warning: int
    hard: int
    cap: int


class ConfigurationError(msgspec.Struct, frozen=True):
    """The explicit values do not fit: ordinary tool calls are refused with this until they do."""

    code: Literal["window", "prompt", "soft", "at", "buffer", "sum", "ordering", "room"]
    message: str


class Level(enum.Enum):
    """How full the context is, weakest first."""

    NONE = "none"
    SOFT = "soft"
    WARNING = "warning"
    HARD = "hard"

    @property
    def rank(self) -> int:
        """0 for none to 3 for hard."""
        return list(Level).index(self)


def parse(raw: str, *, allow_zero: bool = False) -> Amount | Malformed:
    """Return the amount a value means, or why it means none. Zero only where it is allowed."""
    text = raw.strip(_BLANKS)
    if not text:
        return Malformed("it is blank")
    match = _SHAPE.fullmatch(text)
    if match is None:
        return Malformed("it is not a number with an optional k, m or %")
    whole, part, suffix = match[1].lstrip("0") or "0", (match[2] or "").rstrip("0"), match[3].lower()
    if len(whole) + len(part) > _MOST_DIGITS:
        return Malformed("it has too many digits")
    if match[2] is not None and not suffix:
        return Malformed("tokens without a suffix are a whole number, without a point")
    value = Fraction(int(whole + part), 10 ** len(part))
    if suffix == "%":
        return _positive(Amount("percent", value), allow_zero=allow_zero)
    value *= {"": 1, "k": 1_000, "m": 1_000_000}[suffix]
    if value.denominator != 1:
        return Malformed("it does not come out as a whole number of tokens")
    if value > _LARGEST:
        return Malformed(f"it is larger than {_LARGEST}")
    return _positive(Amount("tokens", value), allow_zero=allow_zero)


def _positive(amount: Amount, *, allow_zero: bool) -> Amount | Malformed:
    return amount if amount.value or allow_zero else Malformed("it must be more than zero")


def resolve(given: Given, window: int, *, overhead: int | None = None) -> Thresholds | ConfigurationError:
    """Return the thresholds for a window of `window` tokens, or the first error.

    `overhead` is the tokens of system prompt and tool descriptions; None is not measured yet. Called again
    whenever the model or its window changes.
    """
    if window <= 0:
        return ConfigurationError(
            "window", f"The context window is {window} tokens; set --window to what the model has."
        )
    if given.prompt is not None and not given.prompt.strip(_BLANKS):
        return ConfigurationError("prompt", "--compact-prompt is blank; give it a text or leave it out.")
    defaults = _defaults(window)
    amounts: list[int] = []
    for name, raw, default in _values(given, defaults):
        tokens = _tokens(name, raw or "", window) if raw is not None else default
        if isinstance(tokens, ConfigurationError):
            return tokens
        amounts.append(tokens)
    soft, warning, buffer = amounts
    if given.soft is None and soft >= warning:
        soft = warning * 6 // 7
    return _ordered(window, soft, warning, buffer, overhead)


def _defaults(window: int) -> tuple[int, int, int]:
    if window >= _LARGE_WINDOW:
        return 225_000, 250_000, 20_000
    soft, warning, buffer = (Amount("percent", Fraction(share)).tokens(window) for share in (60, 70, 10))
    return soft, warning, buffer


_Name: TypeAlias = Literal["soft", "at", "buffer"]
_FLAGS: dict[_Name, str] = {"soft": "--compact-soft-at", "at": "--compact-at", "buffer": "--compact-buffer"}


def _values(given: Given, defaults: tuple[int, int, int]) -> tuple[tuple[_Name, str | None, int], ...]:
    soft, warning, buffer = defaults
    return ("soft", given.soft, soft), ("at", given.at, warning), ("buffer", given.buffer, buffer)


def _tokens(name: _Name, raw: str, window: int) -> int | ConfigurationError:
    parsed = parse(raw, allow_zero=name == "buffer")
    if isinstance(parsed, Malformed):
        return ConfigurationError(
            name,
            f"{_FLAGS[name]} is {_shown(raw)}, but {parsed.reason}; write tokens (90000, 90k, 0.5m) or a share (60%).",
        )
    tokens = parsed.tokens(window)
    if tokens > _LARGEST:
        return ConfigurationError(name, f"{_FLAGS[name]} is {_shown(raw)}, more than {_LARGEST} tokens.")
    return tokens


def _shown(raw: str) -> str:
    return repr(raw if len(raw) <= 40 else raw[:40] + "…")


def _ordered(
    window: int, soft: int, warning: int, buffer: int, overhead: int | None
) -> Thresholds | ConfigurationError:
    if warning + buffer > _LARGEST:
        return ConfigurationError("sum", f"--compact-at plus --compact-buffer is more than {_LARGEST} tokens.")
    cap = window * 9 // 10
    hard = min(warning + buffer, cap)
    if not 0 < soft < warning <= hard:
        return ConfigurationError(
            "ordering",
            f"The compaction thresholds do not fit a window of {window} tokens: soft {soft}, warning {warning}, "
            f"hard {hard}, cap {cap} (nine tenths of the window). Needed: 0 < soft < warning <= hard <= cap. "
            "For example: --compact-soft-at 60% --compact-at 70% --compact-buffer 10%.",
        )
    if overhead is not None and hard - overhead < _ROOM:
        return ConfigurationError(
            "room",
            f"Only {max(0, hard - overhead)} tokens are left for the conversation: hard is {hard}, and the system "
            f"prompt and tool descriptions take {overhead}. At least {_ROOM} are needed: use a model with a larger "
            f"window than {window}, raise --compact-at, or shorten the project's instructions.",
        )
    return Thresholds(window=window, soft=soft, warning=warning, hard=hard, cap=cap)


def level_of(tokens: int | None, thresholds: Thresholds) -> Level:
    """Return the level reached, equality included. Unknown usage reaches none."""
    if tokens is None or tokens < thresholds.soft:
        return Level.NONE
    if tokens < thresholds.warning:
        return Level.SOFT
    return Level.WARNING if tokens < thresholds.hard else Level.HARD


def uses_short_tools(window: int) -> bool:
    """Whether tools are declared with their one-line descriptions: below a 16k window."""
    return window < _SHORT_TOOLS_BELOW
