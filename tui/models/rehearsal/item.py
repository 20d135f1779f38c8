"""An item of a run, as the rehearsal reads it: what is to be done, and that it must be said when it is ready."""

from __future__ import annotations

import re

import msgspec

__all__ = ["Item", "item_in", "words_of_item"]

_ITEM = re.compile(
    r"^RUN ITEM (?P<number>\d+) of \d+ \(.*?\)\n\n(?P<text>.*?)\n\nChecks:(?P<rest>.*?)\n\nHow this works:",
    re.DOTALL | re.MULTILINE,
)
_WORD = re.compile(r"\n\nThe person says:\n(?P<word>.*)\Z", re.DOTALL)


class Item(msgspec.Struct, frozen=True):
    """One item that was given."""

    number: int
    text: str
    word: str = ""
    """What a person said about it."""


def item_in(text: str) -> Item | None:
    """Return the newest item a message or a checkpoint carries, or None."""
    found = list(_ITEM.finditer(text))
    if not found:
        return None
    word = _WORD.search(found[-1]["rest"])
    return Item(int(found[-1]["number"]), found[-1]["text"], word["word"] if word is not None else "")


def words_of_item(prompt: str) -> list[str]:
    """Return what a prompt asks for: of an item its own words and the person's, else the prompt as it is."""
    item = item_in(prompt)
    if item is None:
        return [prompt]
    return [item.text, item.word] if item.word.strip() else [item.text]
