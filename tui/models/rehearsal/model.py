"""The model itself: streams what the planner or a script answers, at a set pace, with honest figures."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, asynccontextmanager

import anyio
import msgspec

from tui.messages import AssistantMessage, Refusal, StopReason, Text, Thinking, ToolCall, Usage, new_id
from tui.models.base import (
    BadRequest,
    Connecting,
    ContextTooLong,
    Finished,
    ModelError,
    ModelEvent,
    ModelInfo,
    Request,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    WindowSource,
)
from tui.models.rehearsal.planner import Draft, next_answer
from tui.models.rehearsal.script import Script, ScriptedAnswer
from tui.models.rehearsal.tokens import Ledger, Measured, count_tokens
from tui.models.rehearsal.toolbox import Planned

__all__ = ["WINDOW", "RehearsalModel", "pieces_of"]

WINDOW = 24_000
"""Tokens: small on purpose, so that a handoff can be seen in minutes."""

_DELTAS_PER_SECOND = 50
_TOKENS_AT_ONCE = 8


class _Speech(msgspec.Struct, frozen=True):
    """A draft with what only a script can set."""

    draft: Draft
    stop: StopReason | None = None
    usage: Usage | None = None
    error: ModelError | None = None
    delay: float = 0.0
    pace: float = 0.0


class RehearsalModel:
    """The built-in model: deterministic, no network, no key, nothing but the request to go by.

    `window`: tokens of context. `pace`: tokens per second, 0 for as fast as the reader takes them.
    `sleep` and `ids` come from outside, so that tests need no time and get the same ids.
    """

    def __init__(
        self,
        window: int | None = None,
        pace: float = 200.0,
        *,
        script: Script | None = None,
        sleep: Callable[[float], Awaitable[None]] = anyio.sleep,
        ids: Callable[[], str] = new_id,
        thinking: bool = True,
    ) -> None:
        self._info = ModelInfo(
            id="rehearsal",
            provider="rehearsal",
            window=WINDOW if window is None else window,
            window_source=WindowSource.CATALOGUE if window is None else WindowSource.SETTING,
            max_output=4_096,
            tools=True,
            thinking=thinking,
            priced=True,
        )
        self._pace = pace if script is None or script.pace is None else script.pace
        self._script = script
        self._used: frozenset[int] = frozenset()
        self._sleep = sleep
        self._ids = ids
        self._ledger = Ledger()

    @property
    def info(self) -> ModelInfo:
        """What is known of it."""
        return self._info

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[AsyncIterator[ModelEvent], None]:
        """Answer `request`. Raises `ContextTooLong` over the window, and whatever a script says."""
        async with aclosing(self._events(request)) as events:
            yield events

    async def aclose(self) -> None:
        """Nothing is open between answers."""

    async def _events(self, request: Request) -> AsyncGenerator[ModelEvent, None]:
        yield Connecting()
        measured = self._measure(request)
        speech = self._speech(request)
        await self._sleep(speech.delay)
        room = min(request.max_output, self._info.max_output, self._info.window - measured.total)
        voice = _Voice(speech.draft, room, self._ids)
        pace = speech.pace
        for event, tokens in voice.events(_TOKENS_AT_ONCE if pace <= 0 else max(1, round(pace / _DELTAS_PER_SECOND))):
            await self._sleep(tokens / pace if pace > 0 else 0)
            yield event
        if speech.error is not None:
            raise speech.error
        yield Finished(message=self._message(voice, speech, measured))

    def _measure(self, request: Request) -> Measured:
        """Count the request. Raises `ContextTooLong` when it leaves no room for an answer."""
        measured, window = self._ledger.measure(request), self._info.window
        if measured.total >= window:
            raise ContextTooLong(
                f"This request has {measured.total:,} tokens and the window of the rehearsal model holds {window:,}. "
                "Nothing was answered; compact the conversation and send it again.",
                limit=window,
                status=400,
            )
        self._ledger.remember(request)
        return measured

    def _speech(self, request: Request) -> _Speech:
        index = self._script.choose(request, self._used) if self._script is not None else None
        if self._script is not None and index is not None:
            self._used |= {index}
            return _scripted(self._script.answer[index], self._pace)
        if self._script is not None and self._script.otherwise == "stop":
            raise BadRequest("The script has no answer for this request. Nothing was answered; add one to the script.")
        draft = next_answer(request)
        if not self._info.thinking:
            draft = msgspec.structs.replace(draft, thinking="")
        return _Speech(draft=draft, pace=self._pace)

    def _message(self, voice: _Voice, speech: _Speech, measured: Measured) -> AssistantMessage:
        honest = Usage(input=measured.total - measured.cached, cache_read=measured.cached, output=voice.spent)
        return AssistantMessage(
            content=voice.content(refused=speech.stop is StopReason.REFUSAL),
            stop=speech.stop or voice.stop,
            model=self._info.id,
            provider=self._info.provider,
            usage=speech.usage or honest,
        )


def _scripted(answer: ScriptedAnswer, pace: float) -> _Speech:
    calls = tuple(Planned(name=call.name, arguments=call.arguments) for call in answer.calls)
    return _Speech(
        draft=Draft(text=answer.text * answer.times, thinking=answer.thinking, calls=calls),
        stop=answer.stop,
        usage=answer.usage,
        error=answer.error.exception() if answer.error is not None else None,
        delay=answer.delay,
        pace=pace if answer.pace is None else answer.pace,
    )


class _Voice:
    """Says a draft in small pieces, as far as `room` tokens go, and knows what was said."""

    def __init__(self, draft: Draft, room: int, ids: Callable[[], str]) -> None:
        self._draft = draft
        self._room = room
        self._ids = ids
        self._said = ["", ""]
        self._calls: list[ToolCall] = []
        self.spent = 0

    def events(self, size: int) -> Iterator[tuple[ModelEvent, int]]:
        """Yield each event with its tokens; `size` is about the tokens of one delta."""
        for place, text, kind in ((0, self._draft.thinking, ThinkingDelta), (1, self._draft.text, TextDelta)):
            for piece, tokens in self._pieces(text, size):
                self._said[place] += piece
                yield kind(text=piece), tokens
        for index, call in enumerate(self._draft.calls):
            raw = msgspec.json.encode(call.arguments).decode()
            whole = 0
            for piece, tokens in self._pieces(raw, size):
                whole += len(piece)
                yield ToolCallDelta(index=index, name=call.name, text=piece), tokens
            if whole == len(raw):
                self._calls.append(ToolCall(id=self._ids(), name=call.name, arguments=dict(call.arguments)))

    def _pieces(self, text: str, size: int) -> Iterator[tuple[str, int]]:
        for piece in pieces_of(text, size):
            tokens = count_tokens(piece)
            if self.spent + tokens > self._room:
                self._room = 0
                return
            self.spent += tokens
            yield piece, tokens

    @property
    def stop(self) -> StopReason:
        """How the answer ended."""
        if self._room == 0:
            return StopReason.LENGTH
        if self._calls:
            return StopReason.TOOL_CALLS
        return StopReason.COMPLETE if self._draft.text.strip() else StopReason.EMPTY

    def content(self, *, refused: bool) -> tuple[Text | Thinking | ToolCall | Refusal, ...]:
        """Return what was said, in order."""
        thinking, text = self._said
        parts: list[Text | Thinking | ToolCall | Refusal] = [Thinking(text=thinking)] if thinking else []
        if text:
            parts.append(Refusal(text=text) if refused else Text(text=text))
        return (*parts, *self._calls)


def pieces_of(text: str, size: int) -> Iterator[str]:
    """Cut `text` after blanks into pieces of about `size` words; a very long word is cut too. Loses nothing."""
    words = re.findall(r"\s*\S{1,32}", text) or ([text] if text else [])
    said = 0
    for start in range(0, len(words), size):
        piece = "".join(words[start : start + size])
        said += len(piece)
        yield piece
    if said < len(text) and text.strip():
        yield text[said:]
