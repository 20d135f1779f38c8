"""The adapter for OpenAI Responses."""

from __future__ import annotations

from typing import ClassVar

from tui.messages import Json
from tui.models.base import Request
from tui.models.responses_reader import ResponsesReader
from tui.models.responses_request import responses_body
from tui.models.wire_model import WireModel

__all__ = ["ResponsesModel"]


class ResponsesModel(WireModel):
    """A model that speaks OpenAI Responses, at `…/responses` under the base URL (which ends in `/v1`)."""

    path: ClassVar[str] = "/responses"

    def body(self, request: Request) -> dict[str, Json]:
        """Return the body of a request."""
        return responses_body(request, self._info, self._extra)

    def reader(self) -> ResponsesReader:
        """Return a fresh reader."""
        return ResponsesReader(self._info, self._make_id, self._http.secrets)
