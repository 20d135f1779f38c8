"""The adapter for OpenAI Chat Completions and all servers that speak it."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import ClassVar

import msgspec

from tui.messages import Json, new_id
from tui.models.base import BadRequest, ModelInfo, Request
from tui.models.chat_reader import ChatReader
from tui.models.chat_request import ChatDialect, chat_body, dialect_for
from tui.models.http import Http
from tui.models.wire_model import WireModel

__all__ = ["ChatModel", "adapted"]


class ChatModel(WireModel):
    """A model that speaks Chat Completions, at `…/chat/completions` under the base URL (which ends in `/v1`)."""

    path: ClassVar[str] = "/chat/completions"

    def __init__(
        self,
        info: ModelInfo,
        http: Http,
        *,
        extra: Mapping[str, Json] | None = None,
        clock: Callable[[], float] = time.time,
        make_id: Callable[[], str] = new_id,
    ) -> None:
        super().__init__(info, http, extra=extra, clock=clock, make_id=make_id)
        self._dialect = dialect_for(info)
        self._tried = {self._dialect}

    def body(self, request: Request) -> dict[str, Json]:
        """Return the body of a request."""
        return chat_body(request, self._info, self._dialect, self._extra)

    def reader(self) -> ChatReader:
        """Return a fresh reader."""
        return ChatReader(self._info, self._make_id, self._http.secrets)

    def adapt(self, error: BadRequest) -> bool:
        """Give up a field the server refuses; each dialect is tried once."""
        dialect = adapted(self._dialect, str(error))
        if dialect in self._tried:
            return False
        self._dialect = dialect
        self._tried.add(dialect)
        return True


def adapted(dialect: ChatDialect, refusal: str) -> ChatDialect:
    """Return the dialect that a refusal (its words) asks for; the same one where it asks for nothing."""
    words = refusal.lower()
    if "max_completion_tokens" in words or "max_tokens" in words:
        swap = bool(
            re.search(r"unsupported|not supported|unknown|unrecognized|not permitted|unexpected|use '?max", words)
        )
        return msgspec.structs.replace(dialect, completion_tokens=not dialect.completion_tokens) if swap else dialect
    if dialect.effort and re.search(r"reasoning[_ ]effort", words):
        return msgspec.structs.replace(dialect, effort=False)
    if "reasoning_content" in words:
        return msgspec.structs.replace(dialect, replay_reasoning=not dialect.replay_reasoning)
    named = "stream_options" in words or "include_usage" in words
    vague = re.search(
        r"no reason|unknown (field|param|argument|key)|unrecognized|unexpected|not permitted|extra", words
    )
    if dialect.include_usage and (named or vague):
        return msgspec.structs.replace(dialect, include_usage=False)
    return dialect
