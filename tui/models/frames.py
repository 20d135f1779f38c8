"""The JSON of one server-sent event, decoded in one place for every protocol (claude-code-router#1672)."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Sequence
from typing import cast

import msgspec

from tui.messages import Json
from tui.models.errors import error_from_frame
from tui.models.keys import Secret
from tui.models.sse import SseEvent

__all__ = ["decoded", "opened"]


_TELLING = frozenset({"error", "detail", "message", "type", "status"})
"""Names without which nothing is an error."""


def decoded(event: SseEvent, secrets: Sequence[Secret] = ()) -> Json:
    """Return the data of an event; None where it is no JSON, which is passed over.

    Control characters may stand raw inside strings, as some servers write them: a piece of text is worth more
    than a rule. Raises the `ModelError` of an event that is named an error and whose data is no object.
    """
    data: Json = None
    with contextlib.suppress(ValueError, RecursionError):
        try:
            data = msgspec.json.decode(event.data)  # several times as fast, and strict
        except msgspec.DecodeError:
            data = json.loads(event.data, strict=False)
    if event.name != "error" or isinstance(data, dict):
        return cast("Json", data)
    raise error_from_frame(event.data, secrets=secrets)


def opened(data: Json, name: str, secrets: Sequence[Secret]) -> dict[str, Json] | None:
    """Return an event's object, or None where it is none. Raises the `ModelError` it stands for.

    Servers fail inside a stream in many words: `error` as object or text, a type, object or status of that name,
    or only a `detail`, as a framework writes it. An `error` with nothing in it is none.
    """
    if not isinstance(data, dict):
        return None
    event = cast("dict[str, Json]", data)
    if name != "error" and _TELLING.isdisjoint(event) and event.get("object") != "error" and len(event) > 1:
        return event
    named = "error" in (name, event.get("type"), event.get("object"), event.get("status"))
    bare = "code" in event or len(event) == 1
    said = bare and any(isinstance(event.get(key), str) and event[key] for key in ("detail", "message"))
    error = event.get("error")
    says = any(cast("dict[str, Json]", error).values()) if isinstance(error, dict) else bool(error)
    if says or named or said:
        raise error_from_frame(event, secrets=secrets)
    return event
