"""The published input/output pairs, typed."""

from __future__ import annotations

from pathlib import Path

import msgspec


class ParsedValue(msgspec.Struct, frozen=True):
    unit: str
    value: float


class ParseExpected(msgspec.Struct, frozen=True):
    ok: bool
    parsed: ParsedValue | None = None


class ParseCase(msgspec.Struct, frozen=True, rename="camel"):
    raw: str
    allow_zero: bool
    expected: ParseExpected


class Inputs(msgspec.Struct, frozen=True, rename="camel"):
    soft_at: str
    at: str
    buffer: str
    compact_prompt: str | None = None


class Limits(msgspec.Struct, frozen=True, rename="camel"):
    context_window: int
    soft_tokens: int
    warning_tokens: int
    hard_tokens: int
    cap: int = 0


class ResolveExpected(msgspec.Struct, frozen=True):
    ok: bool
    thresholds: Limits | None = None


class ResolveCase(msgspec.Struct, frozen=True):
    inputs: Inputs
    window: int
    expected: ResolveExpected


class PercentCase(msgspec.Struct, frozen=True):
    tokens: int
    window: int
    expected: int


class BarUsage(msgspec.Struct, frozen=True, rename="camel"):
    tokens: int | None
    cached_tokens: int


class BarCase(msgspec.Struct, frozen=True):
    usage: BarUsage
    thresholds: Limits
    expected: str


class InterpolateCase(msgspec.Struct, frozen=True):
    template: str
    expected: str


class Vectors(msgspec.Struct, frozen=True):
    parse: list[ParseCase]
    resolve: list[ResolveCase]
    percent: list[PercentCase]
    bar: list[BarCase]
    interpolate: list[InterpolateCase]


VECTORS = msgspec.json.decode(Path(__file__).with_name("data").joinpath("vectors.json").read_bytes(), type=Vectors)
