"""How many tokens a text may be, without a tokenizer: counted by script, corrected by what the model reports.

A character count alone is wrong by a factor of four for Chinese. Here a text is split the way byte-pair
tokenizers split it (word pieces, digit groups, punctuation, runs of blanks), in four classes; each class
has a factor per model, learned from the usage figures the provider reports.
"""

from __future__ import annotations

import json
import math
import re

import msgspec

from tui.messages import (
    Attachment,
    Image,
    Message,
    Refusal,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    ToolSpec,
    clean,
)

__all__ = [
    "Calibration",
    "Measure",
    "call_text",
    "estimate_message",
    "estimate_text",
    "estimate_tools",
    "image_tokens",
    "learn",
    "measure_message",
    "measure_text",
    "measure_tools",
]

_WIDE_RANGES = "\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe6f\uff00-\uffef\U00020000-\U0003ffff"
_EMOJI_RANGES = "\u2190-\u2bff\ufe00-\ufe0f\U00010000-\U0001ffff"

_WORDS = re.compile(r"[A-Z]?[a-z]{1,9}|[A-Z]{1,4}")
_DIGITS = re.compile(r"[0-9]{1,2}")
_MARKS = re.compile(r"[!-/:-@\[-`{-~]{1,2}")
_BLANKS = re.compile(r"[ \t]{2,16}|[\n\r]+|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")
_WIDE = re.compile(f"[{_WIDE_RANGES}]")
_EMOJI = re.compile(f"[{_EMOJI_RANGES}]")
_OTHER = re.compile(f"[^\x00-\x7f{_WIDE_RANGES}{_EMOJI_RANGES}]")

_PER_MESSAGE = 4
"""Role markers and separators of a chat template."""
_PER_CALL = 8
_OTHER_SHARE = 0.6
"""Tokens per character of alphabets beyond ASCII (Cyrillic, Arabic, Devanagari, accents)."""
_EMOJI_SHARE = 2

_IMAGE_EDGE = 1568
_IMAGE_PIXELS_PER_TOKEN = 750
_IMAGE_MOST = 1600
_IMAGE_LEAST = 64
_IMAGE_UNKNOWN = 1200


class Measure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Raw token counts by class: what an average tokenizer would need. Adds up."""

    text: int = 0
    """Word pieces, punctuation and blanks in ASCII."""
    digits: int = 0
    wide: int = 0
    """Chinese, Japanese, Korean: one per character."""
    other: int = 0
    """All other scripts and symbols."""
    images: int = 0

    def __add__(self, more: Measure) -> Measure:
        return Measure(
            text=self.text + more.text,
            digits=self.digits + more.digits,
            wide=self.wide + more.wide,
            other=self.other + more.other,
            images=self.images + more.images,
        )

    @property
    def total(self) -> int:
        """All classes, images included, in tokens."""
        return self.text + self.digits + self.wide + self.other + self.images

    @property
    def classes(self) -> tuple[int, int, int, int]:
        """The classes that have a learned factor, in the order of `Calibration.factors`."""
        return self.text, self.digits, self.wide, self.other


def measure_text(text: str) -> Measure:
    """Return the raw token counts of a text. Linear; about 100 ms for a million characters."""
    plain = len(_WORDS.findall(text)) + len(_MARKS.findall(text)) + len(_BLANKS.findall(text))
    digits = len(_DIGITS.findall(text))
    if text.isascii():
        return Measure(text=plain, digits=digits)
    emoji = len(_EMOJI.findall(text)) * _EMOJI_SHARE
    other = math.ceil(len(_OTHER.findall(text)) * _OTHER_SHARE)
    return Measure(text=plain, digits=digits, wide=len(_WIDE.findall(text)), other=other + emoji)


def image_tokens(image: Image) -> int:
    """Return the tokens of an image by its pixels; its bytes say nothing (a false alarm in other tools)."""
    if image.width <= 0 or image.height <= 0:
        return _IMAGE_UNKNOWN
    scale = min(1.0, _IMAGE_EDGE / max(image.width, image.height))
    pixels = image.width * scale * image.height * scale
    return max(_IMAGE_LEAST, min(_IMAGE_MOST, math.ceil(pixels / _IMAGE_PIXELS_PER_TOKEN)))


def measure_message(message: Message) -> Measure:
    """Return the raw token counts of a message as it is sent."""
    total = Measure(text=_PER_MESSAGE)
    for part in message.content:
        total += _measure_part(part)
    if isinstance(message, ToolResult):
        total += Measure(text=_PER_CALL)
    return total


def _measure_part(part: Text | Attachment | Image | Thinking | ToolCall | Refusal) -> Measure:
    match part:
        case Text() | Refusal():
            return measure_text(part.text)
        case Attachment():
            return measure_text(part.name) + measure_text(part.text) + Measure(text=_PER_CALL)
        case Image():
            return Measure(images=image_tokens(part))
        case Thinking():
            return measure_text(part.text or part.redacted)
        case ToolCall():
            return measure_text(part.name) + measure_text(call_text(part)) + Measure(text=_PER_CALL)


def measure_tools(tools: tuple[ToolSpec, ...], *, short: bool = False) -> Measure:
    """Return the raw token counts of the declared tools; `short` takes the one-line descriptions."""
    total = Measure()
    for tool in tools:
        described = tool.short if short and tool.short else tool.description
        total += measure_text(tool.name) + measure_text(described) + measure_text(_json(tool.parameters))
        total += Measure(text=_PER_CALL)
    return total


def _json(value: object) -> str:
    """Return the JSON text of any decoded value; cannot raise on a lone surrogate or a large number."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def call_text(call: ToolCall) -> str:
    """Return the argument text of a call as it is sent, or as it came where it was no JSON."""
    return clean(call.raw or _json(call.arguments))


def estimate_text(text: str) -> int:
    """Return the uncalibrated tokens of a text."""
    return measure_text(text).total


def estimate_message(message: Message) -> int:
    """Return the uncalibrated tokens of a message. A caller keeps the result: messages never change."""
    return measure_message(message).total


def estimate_tools(tools: tuple[ToolSpec, ...]) -> int:
    """Return the uncalibrated tokens of the declared tools."""
    return measure_tools(tools).total


_ROW = tuple[float, float, float, float]
_SPREAD: tuple[_ROW, _ROW, _ROW, _ROW] = (
    (0.25, 0.0, 0.0, 0.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)
"""How unsure the first factors are, as variances: words are alike everywhere, other scripts are not."""
_NOISE = 0.002
_DRIFT = 0.0005
_BOUNDS = (0.3, 4.0)


class Calibration(msgspec.Struct, frozen=True):
    """One model's factor for each class of `Measure`, and how sure they are. Learned by `learn`; kept per model."""

    factors: _ROW = (1.0, 1.0, 1.0, 1.0)
    spread: tuple[_ROW, _ROW, _ROW, _ROW] = _SPREAD
    samples: int = 0

    def tokens(self, measure: Measure) -> int:
        """Return the calibrated tokens of a measure; images are taken as they are."""
        text, digits, wide, other = self.factors
        scaled = text * measure.text + digits * measure.digits + wide * measure.wide + other * measure.other
        return round(scaled) + measure.images


def learn(calibration: Calibration, measure: Measure, reported: int) -> Calibration:
    """Return the calibration after a request of `measure` was reported as `reported` prompt tokens.

    A Kalman step on the relative error, so that short and long requests count the same. A request
    with images teaches nothing (servers count them each in their own way), nor does a report that
    cannot be true: the caller passes believed reports alone.
    """
    if reported <= 0 or measure.total <= 0 or measure.images:
        return calibration
    x = [n / reported for n in measure.classes]
    px = [sum(row[j] * x[j] for j in range(4)) for row in calibration.spread]
    scale = sum(a * b for a, b in zip(x, px, strict=True)) + _NOISE
    error = 1.0 - sum(f * n for f, n in zip(calibration.factors, x, strict=True))
    low, high = _BOUNDS
    factors = [min(high, max(low, f + gain / scale * error)) for f, gain in zip(calibration.factors, px, strict=True)]
    spread = [
        [calibration.spread[i][j] - px[i] * px[j] / scale + (_DRIFT if i == j else 0.0) for j in range(4)]
        for i in range(4)
    ]
    return Calibration(
        factors=_row(factors),
        spread=(_row(spread[0]), _row(spread[1]), _row(spread[2]), _row(spread[3])),
        samples=calibration.samples + 1,
    )


def _row(values: list[float]) -> _ROW:
    a, b, c, d = values
    return a, b, c, d
