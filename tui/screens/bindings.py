"""Every binding there is, by where it works; and a person's own keys for them, judged before they are used."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from textual.binding import Binding, BindingType

from tui.screens.board import BOARD_BINDINGS
from tui.screens.filter_page import FILTER_BINDINGS
from tui.screens.main import SCREEN_BINDINGS
from tui.screens.pages import EDIT_BINDINGS, PICK_BINDINGS, TEXT_BINDINGS
from tui.widgets.editor import EDITOR_BINDINGS
from tui.widgets.reading_bars import BROWSE_BINDINGS, SEARCH_BINDINGS

__all__ = ["GROUPS", "Keymap", "judged", "keys_of"]

Keymap: TypeAlias = Mapping[str, str]
"""The keys of a binding by its id, several separated by commas."""

GROUPS: tuple[tuple[str, Sequence[BindingType]], ...] = (
    ("Everywhere", SCREEN_BINDINGS),
    ("Editor", EDITOR_BINDINGS),
    ("Stepping through the conversation", BROWSE_BINDINGS),
    ("Searching it", SEARCH_BINDINGS),
    ("Lists to type into", FILTER_BINDINGS),
    ("Lists", PICK_BINDINGS),
    ("Pages", TEXT_BINDINGS),
    ("The board of a run", BOARD_BINDINGS),
    ("Texts to change", EDIT_BINDINGS),
)
_TOGETHER: tuple[tuple[str, ...], ...] = (
    ("Everywhere", "Editor"),
    ("Everywhere", "Stepping through the conversation"),
    ("Everywhere", "Searching it"),
    ("Lists to type into",),
    ("Lists",),
    ("Pages",),
    ("The board of a run",),
    ("Texts to change",),
)
"""Groups whose keys work at the same time."""
_KEY = re.compile(r"(?:(?:ctrl|alt|shift|super)\+)*(?:[a-z0-9_]{2,40}|[!-~])")


def bindings_of(*titles: str) -> Iterator[Binding]:
    """Yield the bindings of these groups (all of them without a title)."""
    for title, bindings in GROUPS:
        if not titles or title in titles:
            yield from (binding for binding in bindings if isinstance(binding, Binding))


def keys_of(binding: Binding, keymap: Keymap) -> str:
    """Return the keys a binding really has."""
    return keymap.get(binding.id or "", binding.key)


def judged(wanted: Keymap) -> tuple[dict[str, str], list[str]]:
    """Return what of a person's keys can be used, and a notice for each that cannot."""
    known = {binding.id for binding in bindings_of()}
    used: dict[str, str] = {}
    notices: list[str] = []
    for name, keys in wanted.items():
        tidy = ",".join(key.strip() for key in keys.split(","))
        if name not in known:
            notices.append(f"Keys: there is no binding {name[:60]!r}; F1 lists them all.")
        elif bad := next((key for key in tidy.split(",") if _KEY.fullmatch(key) is None), None):
            notices.append(f"Keys: {name} cannot be on {bad[:40]!r}, which is no key; it stays where it was.")
        elif other := _taken(name, tidy, {**wanted, **used}):
            notices.append(f"Keys: {name} and {other} would both be on {tidy}; {name} stays where it was.")
        else:
            used[name] = tidy
    return used, notices


def _taken(name: str, keys: str, keymap: Keymap) -> str:
    """Return another binding that works at the same time and has one of these keys."""
    for titles in _TOGETHER:
        group = {binding.id or "": binding for binding in bindings_of(*titles)}
        if name not in group:
            continue
        own = _keys(group[name].key)
        for other, binding in group.items():
            # What has the keyboard may shadow what works everywhere, as Esc does: shared from the start.
            shared = (_keys(keys) & _keys(keys_of(binding, keymap))) - (own & _keys(binding.key))
            if other != name and shared:
                return other
    return ""


def _keys(keys: str) -> set[str]:
    return {key.strip() for key in keys.split(",")}
