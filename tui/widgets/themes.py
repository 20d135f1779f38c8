"""Themes are data: TOML files beside the program and in the user's folder, validated when read.

A file names the colours of the frame (`[chrome]`) and the styles of the transcript (`[transcript]`).
What cannot be used is said in one notice for all files, and the default stands in.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from textual.color import Color, ColorParseError
from textual.theme import Theme

from tui.widgets.theme import ThemeError, TranscriptTheme

__all__ = [
    "DEFAULT_NAME",
    "LIGHT_NAME",
    "TERMINAL_NAME",
    "Chrome",
    "ThemeFile",
    "broken_themes",
    "choose_theme",
    "fallback_name",
    "read_theme",
    "stamps",
    "theme_names",
]

DEFAULT_NAME = "clew-dark"
LIGHT_NAME = "clew-light"
"""Taken in its place where the terminal says that it is light."""
TERMINAL_NAME = "terminal"
"""The theme that uses the terminal's own 16 colours; taken without being asked where there are no more."""

_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,40}")
_LIMIT = 100_000


class Chrome(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The colours around the transcript: `#rrggbb` or, with `ansi`, `ansi_blue` and the like."""

    background: str
    surface: str
    text: str
    dim: str
    line: str
    accent: str
    ok: str
    soft: str
    warning: str
    hard: str
    cached: str
    selection: str


class ThemeFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One theme as its file says it. The file's name is the theme's name."""

    about: str
    chrome: Chrome
    dark: bool = True
    ansi: bool = False
    """Colours are the terminal's own 16."""
    transcript: dict[str, str] = {}

    def styles(self) -> TranscriptTheme:
        """Return the styles of the transcript. Raises `ThemeError`."""
        return TranscriptTheme.from_mapping(self.transcript)

    def textual(self, name: str) -> Theme:
        """Return the frame's colours as Textual wants them."""
        own = {f"clew-{key}": value for key, value in msgspec.structs.asdict(self.chrome).items()}
        c = self.chrome
        return Theme(
            name=name,
            primary=c.accent,
            secondary=c.cached,
            warning=c.warning,
            error=c.hard,
            success=c.ok,
            accent=c.accent,
            foreground=c.text,
            background=c.background,
            surface=c.surface,
            panel=c.surface,
            dark=self.dark,
            ansi=self.ansi,
            variables={**own, **self._derived()},
        )

    def _derived(self) -> dict[str, str]:
        c = self.chrome
        levels = {"soft": c.soft, "warning": c.warning, "hard": c.hard}
        ansi = {"ansi-background": "ansi_default", "ansi-foreground": "ansi_default"}
        cursor = ansi if self.ansi else {"input-cursor-background": c.accent, "input-cursor-foreground": c.background}
        return {
            **cursor,
            **{f"clew-{key}-cached": self._weaker(value) for key, value in levels.items()},
            "input-selection-background": c.selection,
            "screen-selection-background": c.selection,
            "scrollbar": c.line,
            "scrollbar-hover": c.dim,
            "scrollbar-active": c.accent,
            "scrollbar-background": c.background,
            "scrollbar-background-hover": c.background,
            "scrollbar-background-active": c.background,
            "scrollbar-corner-color": c.background,
        }

    def _weaker(self, colour: str) -> str:
        """Return a colour nearer to the background; one of the terminal's own palette cannot be mixed."""
        return colour if self.ansi else Color.parse(colour).blend(Color.parse(self.chrome.background), 0.4).hex


def read_theme(path: Path) -> ThemeFile:
    """Read and check one file. Raises `ThemeError` with one sentence that names the file."""
    try:
        with path.open("rb") as file:
            raw = file.read(_LIMIT)
        theme = msgspec.convert(tomllib.loads(raw.decode("utf-8")), ThemeFile)
        for key, value in msgspec.structs.asdict(theme.chrome).items():
            _check_colour(key, value)
        theme.styles()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError, ThemeError) as error:
        raise ThemeError(f"the theme {path.name} cannot be used: {error}") from error
    return theme


def _check_colour(key: str, value: str) -> None:
    try:
        Color.parse(value)
    except ColorParseError as error:
        raise ThemeError(f"{key} is no colour: {value!r}") from error


def choose_theme(name: str, folders: Sequence[Path], instead: str = DEFAULT_NAME) -> tuple[str, ThemeFile, str]:
    """Return the theme's name, the theme, and a notice (empty where all is well).

    Later folders win. Where `name` is unknown or broken, `instead` is taken; that one ships with the
    program, and a broken installation raises `ThemeError`.
    """
    wanted = name or instead
    notice = ""
    found = _find(wanted, folders)
    if found is None:
        known = ", ".join(sorted({path.stem for folder in folders for path in folder.glob("*.toml")}))
        notice = f"There is no theme {wanted!r}; {instead} is used. Themes: {known}."
    else:
        try:
            return wanted, read_theme(found), ""
        except ThemeError as error:
            notice = f"{str(error)[:1].upper()}{str(error)[1:]}. {instead} is used."
    ships = _find(instead, folders[:1])
    if ships is None:
        raise ThemeError(f"the theme {instead} is missing from {folders[0]}: install the program again")
    return instead, read_theme(ships), notice


def _find(name: str, folders: Sequence[Path]) -> Path | None:
    if not _NAME.fullmatch(name):
        return None
    for folder in reversed(folders):
        path = folder / f"{name}.toml"
        if path.is_file():
            return path
    return None


def fallback_name(environ: Mapping[str, str]) -> str:
    """Return the theme for this terminal where none is asked for: its own colours where it has but 16, or none."""
    if "NO_COLOR" in environ:
        return TERMINAL_NAME
    if environ.get("COLORTERM", "").lower() in ("truecolor", "24bit"):
        return DEFAULT_NAME
    term = environ.get("TERM", "")
    many = ("256", "direct", "kitty", "ghostty", "alacritty", "wezterm", "foot", "tmux")
    return DEFAULT_NAME if any(word in term for word in many) else TERMINAL_NAME


def theme_names(folders: Sequence[Path]) -> tuple[str, ...]:
    """Return the names of all theme files, each once, in order."""
    return tuple(sorted({path.stem for folder in folders for path in folder.glob("*.toml")}))


def broken_themes(folders: Sequence[Path]) -> str:
    """Return one sentence about every file that is no theme; empty where all are."""
    faults: list[str] = []
    for path in sorted(path for folder in folders for path in folder.glob("*.toml")):
        try:
            read_theme(path)
        except ThemeError as error:
            faults.append(str(error).removeprefix("the theme "))
    if not faults:
        return ""
    return f"{len(faults)} {'theme' if len(faults) == 1 else 'themes'} left out: {'; '.join(faults)}"


def stamps(folders: Sequence[Path]) -> tuple[tuple[str, int], ...]:
    """Return each theme's name with the time its file changed, to be compared."""
    found: list[tuple[str, int]] = []
    for path in (path for folder in folders for path in folder.glob("*.toml")):
        with suppress(OSError):  # gone between the two looks
            found.append((path.stem, path.stat().st_mtime_ns))
    return tuple(sorted(found))
