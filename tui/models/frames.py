"""The JSON of one server-sent event, decoded in one place for every protocol (claude-code-router#1672)."""

from __future__ import annotations

import json

from tui.messages import Json
from tui.models.errors import error_from_frame
from tui.models.sse import SseEvent

__all__ = ["decoded"]


def decoded(event: SseEvent) -> Json:
    """Return the data of an event; None where it is no JSON, which is passed over.

    Raises the `ModelError` of an event that is named an error and whose data is plain text.
    """
    try:
        return json.loads(event.data)
    except (ValueError, RecursionError):
        if event.name == "error":
            raise error_from_frame(event.data) from None
        return None
