"""Scripts: exact sequences of answers for tests, documentation and screenshots, read from TOML.

A script is a list of `[[answer]]` tables. For each request the first answer that is not used up and whose
`when` holds is given; when none is left, `otherwise` decides: `plan` (the model thinks for itself, the
default) or `stop` (a `BadRequest` that says the script is over).

    otherwise = "plan"
    pace = 100                              # tokens per second where an answer names none; 0 = as fast as possible

    [[answer]]
    thinking = "First the list."            # reasoning, streamed before the text
    text = "I look around."                 # visible Markdown
    times = 1                               # the text is repeated this often
    calls = [{ name = "ls", arguments = { path = "." } }]
    delay = 0.5                             # seconds before the first word
    pace = 50                               # tokens per second for this answer; 0 = as fast as possible
    repeat = false                          # true: may be given any number of times
    stop = "complete"                       # complete, tool_calls, length, refusal, empty, error, dropped, stalled
    usage = { input = 900, cache_read = 100, cache_write = 0, output = 12 }   # instead of the honest figures
    error = { type = "rate_limited", message = "Slow down.", retry_after = 2.0, status = 429 }

    [answer.when]
    prompt = "(?i)tests?"                   # regular expression, searched in the newest user message
    number = 1                              # counts the answers since the newest user message, from 1
    guidance = "hard"                       # regular expression, searched in the guidance
    result = "Traceback"                    # regular expression, searched in the newest tool result

An answer with both text and `error` streams the text first, then fails: a connection lost half way.
`error.type` is one of: connection, auth, model_not_found, rate_limited, overloaded, quota, bad_request,
image_rejected, context_too_long (with `limit`), dropped, stalled, empty, not_the_api.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

import msgspec

from tui.messages import AssistantMessage, Json, StopReason, Usage, UserMessage
from tui.models.base import (
    AuthFailed,
    BadRequest,
    ConnectionFailed,
    ContextTooLong,
    EmptyAnswer,
    ImageRejected,
    ModelError,
    ModelNotFound,
    NotTheApi,
    Overloaded,
    QuotaExceeded,
    RateLimited,
    Request,
    StreamDropped,
    StreamStalled,
)

__all__ = ["Script", "ScriptError", "ScriptedAnswer", "ScriptedCall", "ScriptedError", "When", "load_script"]

_PLAIN_ERRORS: dict[str, type[ModelError]] = {
    "connection": ConnectionFailed,
    "auth": AuthFailed,
    "model_not_found": ModelNotFound,
    "rate_limited": RateLimited,
    "overloaded": Overloaded,
    "quota": QuotaExceeded,
    "bad_request": BadRequest,
    "image_rejected": ImageRejected,
    "dropped": StreamDropped,
    "stalled": StreamStalled,
    "empty": EmptyAnswer,
    "not_the_api": NotTheApi,
}


class ScriptError(ValueError):
    """A script that cannot be used. `str()` names the file and the place."""


class ScriptedCall(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A tool call to make."""

    name: str
    arguments: dict[str, Json] = {}


class ScriptedError(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An error to raise as a provider would."""

    type: Literal[
        "connection",
        "auth",
        "model_not_found",
        "rate_limited",
        "overloaded",
        "quota",
        "bad_request",
        "image_rejected",
        "context_too_long",
        "dropped",
        "stalled",
        "empty",
        "not_the_api",
    ]
    message: str = "The script asked for this error."
    retry_after: float | None = None
    status: int | None = None
    limit: int | None = None

    def exception(self) -> ModelError:
        """Return the error as the seam knows it."""
        if self.type == "context_too_long":
            return ContextTooLong(self.message, limit=self.limit, status=self.status)
        return _PLAIN_ERRORS[self.type](self.message, retry_after=self.retry_after, status=self.status)


class When(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Conditions of an answer; all that are given must hold."""

    prompt: str = ""
    number: int = 0
    guidance: str = ""
    result: str = ""

    def holds(self, request: Request) -> bool:
        """Whether this is the moment."""
        prompt, number, result = _situation(request)
        return (
            re.search(self.prompt, prompt) is not None
            and self.number in (0, number)
            and re.search(self.guidance, request.guidance) is not None
            and re.search(self.result, result) is not None
        )


class ScriptedAnswer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One answer, word for word."""

    text: str = ""
    times: int = 1
    thinking: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    stop: StopReason | None = None
    usage: Usage | None = None
    error: ScriptedError | None = None
    delay: float = 0.0
    pace: float | None = None
    repeat: bool = False
    when: When = When()


class Script(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A list of answers. Nothing in it changes; the model that plays it counts what is used up."""

    answer: tuple[ScriptedAnswer, ...] = ()
    otherwise: Literal["plan", "stop"] = "plan"
    pace: float | None = None
    """Tokens per second where an answer names none; None leaves it to the model."""

    def choose(self, request: Request, used: frozenset[int]) -> int | None:
        """Return the index of the answer for `request`, or None if none fits."""
        for index, answer in enumerate(self.answer):
            if (answer.repeat or index not in used) and answer.when.holds(request):
                return index
        return None


def load_script(path: Path) -> Script:
    """Read a script. Raises `ScriptError` when the file cannot be read or does not say what a script says."""
    try:
        script = msgspec.toml.decode(path.read_bytes(), type=Script)
    except OSError as error:
        raise ScriptError(f"The script {path} cannot be read: {error.strerror}.") from error
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError) as error:
        raise ScriptError(f"The script {path} is not valid: {error}.") from error
    _check_patterns(path, script)
    return script


def _check_patterns(path: Path, script: Script) -> None:
    for number, answer in enumerate(script.answer, 1):
        for pattern in (answer.when.prompt, answer.when.guidance, answer.when.result):
            try:
                re.compile(pattern)
            except re.error as error:
                raise ScriptError(f"The script {path}, answer {number}: {pattern!r} is no pattern: {error}.") from error


def _situation(request: Request) -> tuple[str, int, str]:
    """Newest user text, number of the answer asked for (from 1), newest tool result."""
    number, result = 1, ""
    for message in reversed(request.messages):
        if isinstance(message, UserMessage):
            return message.authored, number, result
        if isinstance(message, AssistantMessage):
            number += 1
        else:
            result = result or message.text
    return "", number, result
