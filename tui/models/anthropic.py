"""The adapter for Anthropic Messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import ClassVar

import msgspec

from tui.messages import Json
from tui.models.anthropic_reader import AnthropicReader
from tui.models.anthropic_request import messages_body
from tui.models.base import BadRequest, Request
from tui.models.wire_model import WireModel

__all__ = ["AnthropicModel"]

_NO_THINKING = re.compile(
    r"(?i)budget_tokens|thinking\.(?:type|enabled)|\bthinking\b.{0,60}(?:not supported|unsupported|not permitted)"
    r"|(?:not|n't) support.{0,30}\bthinking\b|expected .{0,3}thinking"
)


class AnthropicModel(WireModel):
    """A model that speaks Anthropic Messages, at `…/v1/messages` under the base URL."""

    path: ClassVar[str] = "/v1/messages"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}

    _thinks = True

    def body(self, request: Request) -> dict[str, Json]:
        """Return the body of a request."""
        asked = request if self._thinks else msgspec.structs.replace(request, effort="")
        return messages_body(asked, self._info, self._extra)

    def adapt(self, error: BadRequest) -> bool:
        """Ask for no thinking where the model, or a history that was begun without it, does not take it."""
        gives_up = self._thinks and _NO_THINKING.search(str(error)) is not None
        self._thinks = self._thinks and not gives_up
        return gives_up

    def reader(self) -> AnthropicReader:
        """Return a fresh reader."""
        return AnthropicReader(self._info, self._make_id)
