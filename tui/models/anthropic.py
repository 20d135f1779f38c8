"""The adapter for Anthropic Messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from tui.messages import Json
from tui.models.anthropic_reader import AnthropicReader
from tui.models.anthropic_request import messages_body
from tui.models.base import Request
from tui.models.wire_model import WireModel

__all__ = ["AnthropicModel"]


class AnthropicModel(WireModel):
    """A model that speaks Anthropic Messages, at `…/v1/messages` under the base URL."""

    path: ClassVar[str] = "/v1/messages"
    headers: ClassVar[Mapping[str, str]] = {"anthropic-version": "2023-06-01"}

    def body(self, request: Request) -> dict[str, Json]:
        """Return the body of a request."""
        return messages_body(request, self._info, self._extra)

    def reader(self) -> AnthropicReader:
        """Return a fresh reader."""
        return AnthropicReader(self._info, self._make_id)
