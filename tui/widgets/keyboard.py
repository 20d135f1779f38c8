"""What comes from the terminal, cut into keys, pastes and bursts, before Textual's parser sees it.

The parser works character by character and believes every sequence; measured, half a megabyte takes it
five seconds. So pastes are taken out whole, long runs of plain text (a paste without brackets) become
one event, and only the rest is parsed key by key. This module touches private names of Textual: the
parser has no public one.
"""

from __future__ import annotations

import codecs
import math
import os
import re
import selectors
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import ClassVar, Literal, TextIO

import msgspec
from textual import events
from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver

from tui.first_frame import FIRST
from tui.widgets.printed import Printed
from tui.widgets.title import title, title_back

__all__ = ["PHANTOM", "Piece", "Splitter", "TerminalDriver", "TerminalShade", "TypedBurst", "is_dark"]

_START, _END = "\x1b[200~", "\x1b[201~"
_RUN = re.compile(r"[^\x00-\x08\x0b\x0c\x0e-\x1f\x7f]{24,}")
"""Plain text that no hand types between two reads."""
_EVENT_TYPE = re.compile(r"(\x1b\[[\d:]*;\d+):(\d)((?:;[\d:]*)?[u~A-S])")
_READ = 65_536
_OPEN = re.compile(r"\x1b(?:\[[^\x1b@-~]*|O|[\]PX^_][^\x07\x1b]*|[^\x1b@-~]*)\Z")
"""Keys that end within a sequence: what comes next belongs to it."""
# What a terminal answers when it is asked: colours, strings, device attributes, modes, a cursor's or window's place.
_REPLY = re.compile(
    r"\x1b\][0-9]{1,4};[^\x07\x1b]{0,400}(?:\x07|\x1b\\)|\x1bP[0-9>!][^\x07\x1b]{0,400}\x1b\\"
    r"|\x1b\[[?>=][0-9;]*[cn]|\x1b\[(?:[2-9]|[0-9]{2,});[0-9]+R|\x1b\[[0-9]+;[0-9]+;[0-9]+t"
)
_REPLY_BEGUN = re.compile(r"\x1b(?:\][0-9]{1,4}(?:;[^\x07\x1b]{0,400}\x1b?)?|P[0-9>!][^\x07\x1b]{0,400}\x1b?)\Z")
_BACKGROUND = re.compile(r"\x1b\]11;rgba?:([0-9a-fA-F]{2,4})/([0-9a-fA-F]{2,4})/([0-9a-fA-F]{2,4})")
_SHADE = re.compile(r"\x1b\[\?997;([12])n")
_MOUSE = re.compile(r"\x1b\[<[0-9]+;[0-9]+;[0-9]+[Mm]\x1b?\Z")
PHANTOM = 0.3
"""Seconds after the mouse's last word in which a lone ESC is no key: some terminals send one when it leaves."""
_TICK = 0.1
"""Seconds for which the beginning of a sequence is held back; longer pauses than that are Esc and a key."""
_MUTE = ("", "dumb", "linux")
"""Terminals that would print a question instead of answering it."""
_PATIENCE = 20
"""Ticks without a byte after which a paste that never ended is taken as it is."""


class TypedBurst(events.Paste):
    """Text that came as keys, faster than anybody types."""


class TerminalShade(events.Event):
    """The terminal says whether it is dark."""

    def __init__(self, *, dark: bool) -> None:
        self.dark = dark
        super().__init__()


class Piece(msgspec.Struct, frozen=True):
    """Part of the input: `keys` go to the parser; the others are whole. A `reply` is the terminal's own, no text."""

    kind: Literal["keys", "paste", "burst", "escape", "reply"]
    text: str


class Splitter:
    """Cuts input into pieces, however it is cut into reads. The content of a paste cannot end it early twice."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._mouse_at = -math.inf
        self._paste: list[str] | None = None
        self._held = ""
        self._open = False
        self._idle = 0

    @property
    def resting(self) -> bool:
        """Whether so long nothing came that nothing is held back any more, here or in a parser behind."""
        return self._idle > _PATIENCE

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
        if _REPLY_BEGUN.fullmatch(held):
            return []  # half a reply is no text either
        self._open = len(held) > 1
        if held == "\x1b":
            phantom = self._clock() - self._mouse_at < PHANTOM
            return [] if phantom else [Piece("escape", held)]
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
            begun = _REPLY_BEGUN.search(before)
            kept = max(kept, len(before) - begun.start()) if begun is not None else kept
            before, self._held = before[: len(before) - kept], before[len(before) - kept :]
        if before and _MOUSE.search(before) is not None:
            self._mouse_at = self._clock()
        at = 0
        for reply in _REPLY.finditer(before):
            pieces += self._runs(before[at : reply.start()])
            pieces.append(Piece("reply", reply.group()))
            at = reply.end()
        pieces += self._runs(before[at:])
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


def is_dark(reply: str) -> bool | None:
    """Return what a reply says of the terminal's background; None where it says nothing of it."""
    shade = _SHADE.fullmatch(reply)
    if shade is not None:
        return shade[1] == "1"
    found = _BACKGROUND.match(reply)
    if found is None:
        return None
    red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in found.groups())
    return 0.299 * red + 0.587 * green + 0.114 * blue < 0.5


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


class _Bell(threading.Event):
    """An event that a thread can wait for beside a file."""

    def __init__(self) -> None:
        super().__init__()
        self.heard, self._rung = os.pipe()

    def set(self) -> None:
        """Let those who wait go on."""
        super().set()
        os.write(self._rung, b"\0")


class TerminalDriver(LinuxDriver):
    """Reads the terminal in large pieces; bytes that are no UTF-8 become U+FFFD instead of an error."""

    _ended = False
    _titled = False
    _screen: TextIO | None = None
    _ending: _Bell | None = None
    printed: ClassVar[Printed | None] = None
    """What others printed while a driver had the terminal."""

    def start_application_mode(self) -> None:
        """Take the terminal over."""
        self._ended = False
        if self._screen is None:
            # A way to the terminal of the driver's own: all other ways lead into a file from here on.
            encoding = getattr(sys.__stderr__, "encoding", None) or "utf-8"
            self._file = self._screen = os.fdopen(os.dup(2), "w", encoding=encoding, errors="replace")
        if TerminalDriver.printed is None:
            TerminalDriver.printed = Printed()
        TerminalDriver.printed.begin()
        if self._ending is None:
            self.exit_event = self._ending = _Bell()
        super().start_application_mode()
        before = FIRST.take_over()
        if before is not None:
            self.attrs_before = before
        if os.environ.get("TERM", "") not in _MUTE:
            self.write("\x1b[?2031h\x1b]11;?\x07")

    def stop_application_mode(self) -> None:
        """Give the terminal back, with the title it had."""
        self.give_title("")
        if os.environ.get("TERM", "") not in _MUTE:
            self.write("\x1b[?2031l")
        super().stop_application_mode()
        self._ended = True

    def give_title(self, text: str) -> None:
        """Name the window; empty gives it its own name again."""
        if bool(text) != self._titled:
            self._titled = bool(text)
            self.write(title(text, os.environ) if text else title_back(os.environ))

    def close(self) -> None:
        """Write what is left; then others may print again."""
        super().close()
        if TerminalDriver.printed is not None:
            TerminalDriver.printed.end()

    def _get_terminal_size(self) -> tuple[int, int]:
        try:
            return os.get_terminal_size(self.fileno)
        except OSError:
            return 80, 25

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
        """Wait for input and dispatch events until the app ends. Where nothing is held back, nothing wakes it."""
        parser = _Parser(self._debug)
        splitter = Splitter()
        decode = codecs.getincrementaldecoder("utf-8")("replace").decode
        with selectors.SelectSelector() as selector:
            selector.register(self.fileno, selectors.EVENT_READ)
            if self._ending is not None:
                selector.register(self._ending.heard, selectors.EVENT_READ)
            while not self.exit_event.is_set():
                pieces: list[Piece] | None = None
                for key, _ in selector.select(None if splitter.resting else _TICK):
                    data = os.read(key.fd, _READ)
                    if key.fd != self.fileno:
                        continue
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
                case "reply":
                    dark = is_dark(piece.text)
                    if dark is not None:
                        self.process_message(TerminalShade(dark=dark))
        for event in parser.tick():
            self.process_message(event)
