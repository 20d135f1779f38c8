"""The adapter for Anthropic Messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

from tui.messages import Json
from tui.models.anthropic_reader import AnthropicReader
from tui.models.anthropic_request import ThinkingWord, messages_body
from tui.models.base import BadRequest, Request
from tui.models.wire_model import WireModel

__all__ = ["AnthropicModel"]

_ADAPTIVE = re.compile(r"claude-[a-z]+-(?:4-[6-9]|[5-9]|\d\d)")
"""Models that are told how much to think by a word instead of a number."""
_BEGUN_WITHOUT = re.compile(r"(?i)expected .{0,3}thinking")
_NO_THINKING = re.compile(
    r"(?i)budget_tokens|output_config|\badaptive\b|thinking\.(?:type|enabled)"
    r"|\bthinking\b.{0,60}(?:not supported|unsupported|not permitted)"
    r"|(?:not|n't) support.{0,30}\bthinking\b|expected .{0,3}thinking"
)


class AnthropicModel(WireModel):
    """A model that speaks Anthropic Messages, at `…/v1/messages` under the base URL."""

    path: ClassVar[str] = "/v1/messages"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}

    _words: tuple[ThinkingWord, ...] | None = None

    @property
    def _ways(self) -> tuple[ThinkingWord, ...]:
        """Ways to ask for thinking that have not been refused, best first."""
        if self._words is None:
            newer = _ADAPTIVE.search(self._info.id) is not None
            self._words = ("adaptive", "budget", "none") if newer else ("budget", "adaptive", "none")
        return self._words

    def body(self, request: Request) -> dict[str, Json]:
        """Return the body of a request."""
        return messages_body(request, self._info, self._extra, self._ways[0])

    def adapt(self, error: BadRequest) -> bool:
        """Ask for thinking in another way, or not at all, where the model or the history so far does not take it."""
        words, ways = str(error), self._ways
        if len(ways) == 1 or not _NO_THINKING.search(words):
            return False
        self._words = ways[-1:] if _BEGUN_WITHOUT.search(words) else ways[1:]
        return True

    def reader(self) -> AnthropicReader:
        """Return a fresh reader."""
        return AnthropicReader(self._info, self._make_id, self._http.secrets)
