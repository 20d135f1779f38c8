"""What comes from the terminal, cut into keys, pastes and bursts, before Textual's parser sees it.

The parser works character by character and believes every sequence; measured, half a megabyte takes it
five seconds. So pastes are taken out whole, long runs of plain text (a paste without brackets) become
one event, and only the rest is parsed key by key. This module touches private names of Textual: the
parser has no public one.
"""

from __future__ import annotations

import codecs
import os
import re
import selectors
from collections.abc import Iterator
from typing import Literal

import msgspec
from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

__all__ = ["Piece", "Splitter", "TerminalDriver", "TypedBurst"]

_START, _END = "\x1b[200~", "\x1b[201~"
_RUN = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]{24,}")
"""Plain text that no hand types between two reads."""
_EVENT_TYPE = re.compile(r"(\x1b\[[\d:]*;\d+):(\d)((?:;[\d:]*)?[u~A-S])")
_READ = 65_536
_OPEN = re.compile(r"\x1b(?:\[[^\x1b@-~]*|O|[\]PX^_][^\x07\x1b]*|[^\x1b@-~]*)\Z")
"""Keys that end within a sequence: what comes next belongs to it."""
_TICK = 0.1
"""Seconds for which the beginning of a sequence is held back; longer pauses than that are Esc and a key."""
_PATIENCE = 20
"""Ticks without a byte after which a paste that never ended is taken as it is."""


class TypedBurst(events.Paste):
    """Text that came as keys, faster than anybody types."""


class Piece(msgspec.Struct, frozen=True):
    """Part of the input: `keys` go to the parser; the others are whole."""

    kind: Literal["keys", "paste", "burst", "escape"]
    text: str


class Splitter:
    """Cuts input into pieces, however it is cut into reads. The content of a paste cannot end it early twice."""

    def __init__(self) -> None:
        self._paste: list[str] | None = None
        self._held = ""
        self._open = False
        self._idle = 0

    @property
    def pasting(self) -> bool:
        """Whether the end of a paste is still to come."""
        return self._paste is not None

    def feed(self, text: str) -> list[Piece]:
        """Return what is certain after `text`."""
        text, self._held = self._held + text, ""
        self._idle = 0
        pieces: list[Piece] = []
        while text:
            text = self._in_paste(text, pieces) if self._paste is not None else self._outside(text, pieces)
        return pieces

    def idle(self) -> list[Piece]:
        """Nothing came for a tick: return what was held back, in the end also a paste that never ended."""
        self._idle += 1
        if self._paste is not None:
            if self._idle < _PATIENCE:
                return []
            text, self._paste, self._held = "".join(self._paste) + self._held, None, ""
            return [Piece("paste", text)]
        held, self._held = self._held, ""
        self._open = len(held) > 1
        if held == "\x1b":
            return [Piece("escape", held)]
        return [Piece("keys", held)] if held else []

    def _in_paste(self, text: str, pieces: list[Piece]) -> str:
        assert self._paste is not None
        body, end, rest = text.partition(_END)
        if end:
            pieces.append(Piece("paste", "".join([*self._paste, body])))
            self._paste = None
            return rest
        kept = _tail(text, _END)
        self._paste.append(text[: len(text) - kept])
        self._held = text[len(text) - kept :]
        return ""

    def _outside(self, text: str, pieces: list[Piece]) -> str:
        before, start, rest = text.partition(_START)
        if start:
            self._paste = []
        else:
            kept = _tail(before, _START)
            before, self._held = before[: len(before) - kept], before[len(before) - kept :]
        pieces += self._runs(before)
        return rest

    def _runs(self, text: str) -> Iterator[Piece]:
        at = 0
        for run in _RUN.finditer(text):
            start, end = run.span()
            if (start == 0 and self._open) or (start > 0 and _OPEN.search(text, at, start)):
                continue  # its first characters belong to a sequence; the parser knows which
            if start > at:
                yield Piece("keys", text[at:start])
            # One line and its Enter, sent by another program, is a line and an Enter: `burst` decides.
            end -= run.group().endswith("\r")
            yield Piece("burst", text[start:end])
            at = end
        if at < len(text):
            yield Piece("keys", text[at:])
            self._open = _OPEN.search(text, at) is not None
        elif text:
            self._open = False


def _tail(text: str, marker: str) -> int:
    """Return how many characters at the end of `text` begin `marker`."""
    return next((n for n in range(len(marker) - 1, 0, -1) if text.endswith(marker[:n])), 0)


class _Parser(XTermParser):
    """Textual's parser, with the event types of the kitty protocol: a release is no second press (codex#12645)."""

    def _sequence_to_key_events(self, sequence: str, alt: bool = False) -> Iterator[events.Key]:
        found = _EVENT_TYPE.fullmatch(sequence)
        if found is not None:
            if found.group(2) == "3":
                yield events.Key("<ignore>", sequence)
                return
            sequence = found.group(1) + found.group(3)
        yield from super()._sequence_to_key_events(sequence, alt)


class TerminalDriver(LinuxDriver):
    """Reads the terminal in large pieces; bytes that are no UTF-8 become U+FFFD instead of an error."""

    _ended = False

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        self._ended = False
        super().start_application_mode()

    def stop_application_mode(self) -> None:
        """Give the terminal back."""
        super().stop_application_mode()
        self._ended = True

    def write(self, data: str) -> None:
        """Write to the terminal; nothing while another program has it."""
        if not self._ended:
            super().write(data)

    def disable_input(self) -> None:
        """Stop reading; not again once the terminal is given back.

        The mouse must not be switched off after the main screen has come back (copilot-cli#3876).
        """
        if not self._ended:
            super().disable_input()

    def run_input_thread(self) -> None:
        """Wait for input and dispatch events until the app ends."""
        parser = _Parser(self._debug)
        splitter = Splitter()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                pieces: list[Piece] | None = None
                if selector.select(_TICK):
                    data = os.read(self.fileno, _READ)
                    if not data:
                        return  # the terminal is gone; SIGHUP ends the app
                    pieces = splitter.feed(decode(data))
                self._dispatch(parser, splitter.idle() if pieces is None else pieces)

    def _dispatch(self, parser: XTermParser, pieces: list[Piece]) -> None:
        for piece in pieces:
            match piece.kind:
                case "keys":
                    for event in parser.feed(piece.text):
                        self.process_message(event)
                case "paste":
                    self.process_message(events.Paste(piece.text))
                case "burst":
                    self.process_message(TypedBurst(piece.text))
                case "escape":
                    self.process_message(events.Key("escape", "\x1b"))
        for event in parser.tick():
            self.process_message(event)
