"""What is known of models beforehand: window, largest answer, prices. Data, and one look-up.

Figures are from the providers' public pages (Anthropic and OpenAI, late 2026). A server that tells its
own window is believed over this table, and a person's setting over both.
"""

from __future__ import annotations

import re

import msgspec

from tui.models.base import ModelInfo, WindowSource

__all__ = ["ASSUMED_WINDOW", "CATALOGUE", "Known", "describe", "known"]

ASSUMED_WINDOW = 32_768
"""Tokens, where nobody knows better."""
_SMALL_OUTPUT = 8_192


class Known(msgspec.Struct, frozen=True):
    """One family of models: every id that begins with `prefix`. Prices are dollars per million tokens."""

    prefix: str
    window: int
    max_output: int
    prices: tuple[float, float, float, float] | None = None
    """Input, output, cache read, cache write; None where they are not known."""
    thinking: bool = True
    images: bool = True
    listed: bool = True
    """Offered in the list of models (older ones are only known)."""
    provider: str = "anthropic"


_M = 1_000_000
CATALOGUE: tuple[Known, ...] = (
    Known("claude-fable-5", _M, 128_000, (10, 50, 1, 12.5), listed=False),
    Known("claude-opus-5-5", _M, 128_000, (4, 20, 0.2, 5)),
    Known("claude-opus-5", _M, 128_000, (5, 25, 0.5, 6.25), listed=False),
    Known("claude-opus-4-6", 200_000, 128_000, (5, 25, 0.5, 6.25), listed=False),
    Known("claude-opus-4-5", 200_000, 64_000, (5, 25, 0.5, 6.25), listed=False),
    Known("claude-opus-4", 200_000, 32_000, (15, 75, 1.5, 18.75), listed=False),
    Known("claude-sonnet-5-5", _M, 128_000, (2, 10, 0.2, 2.5)),
    Known("claude-sonnet-5", _M, 128_000, (2, 10, 0.2, 2.5), listed=False),
    Known("claude-sonnet-4", 200_000, 64_000, (3, 15, 0.3, 3.75), listed=False),
    Known("claude-haiku-4-5", 200_000, 64_000, (1, 5, 0.1, 1.25)),
    Known("claude", 200_000, 32_000, listed=False),
    Known("gpt-5.5", 1_050_000, 128_000, (5, 30, 0.5, 0), provider="openai-chat"),
    Known("gpt-5.4", 1_050_000, 128_000, (2.5, 15, 0.25, 0), listed=False, provider="openai-chat"),
    Known("gpt-5-mini", 400_000, 128_000, (0.25, 2, 0.025, 0), provider="openai-chat"),
    Known("gpt-5-nano", 400_000, 128_000, (0.05, 0.4, 0.005, 0), listed=False, provider="openai-chat"),
    Known("gpt-5", 400_000, 128_000, (1.25, 10, 0.125, 0), listed=False, provider="openai-chat"),
    Known("gpt-4.1", 1_047_576, 32_768, (2, 8, 0.5, 0), thinking=False, listed=False, provider="openai-chat"),
    Known("gpt-4o-mini", 128_000, 16_384, (0.15, 0.6, 0.075, 0), False, listed=False, provider="openai-chat"),
    Known("gpt-4o", 128_000, 16_384, (2.5, 10, 1.25, 0), False, listed=False, provider="openai-chat"),
    Known("o4-mini", 200_000, 100_000, (1.1, 4.4, 0.275, 0), listed=False, provider="openai-chat"),
    Known("o3", 200_000, 100_000, (2, 8, 0.5, 0), listed=False, provider="openai-chat"),
    Known("deepseek-reasoner", 128_000, 64_000, images=False, listed=False, provider="openai-chat"),
    Known("deepseek-chat", 128_000, 8_192, images=False, provider="openai-chat"),
)
"""The table. The longest prefix wins."""


def known(model: str) -> Known | None:
    """Return what the table says of a model id, which may carry a vendor before it (`anthropic/claude-…`)."""
    name = re.sub(r"(?<=\d)\.(?=\d)", "-", model.rpartition("/")[2].lower())
    rows = [row for row in CATALOGUE if name.startswith(row.prefix.replace(".", "-"))]
    return max(rows, key=lambda row: len(row.prefix), default=None)


def describe(
    model: str, provider: str, base_url: str, *, setting: int | None = None, server: int | None = None
) -> ModelInfo:
    """Return all that is known of a model. The window: setting, else server, else table, else assumed."""
    row = known(model)
    window, source = _window(row, setting, server)
    if row is None:
        most = min(_SMALL_OUTPUT, max(window // 4, 256))
        return ModelInfo(model, provider, base_url, window, source, most)
    prices = row.prices or (0.0, 0.0, 0.0, 0.0)
    return ModelInfo(
        model,
        provider,
        base_url,
        window,
        source,
        max_output=min(row.max_output, max(window // 2, 256)),
        images=row.images,
        thinking=row.thinking,
        priced=row.prices is not None,
        input_price=prices[0],
        output_price=prices[1],
        cache_read_price=prices[2],
        cache_write_price=prices[3],
    )


def _window(row: Known | None, setting: int | None, server: int | None) -> tuple[int, WindowSource]:
    if setting:
        return setting, WindowSource.SETTING
    if server:
        return server, WindowSource.SERVER
    return (row.window, WindowSource.CATALOGUE) if row else (ASSUMED_WINDOW, WindowSource.ASSUMED)
