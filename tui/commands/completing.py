"""What the menu above the editor offers: commands, their arguments, files. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from tui.commands.table import COMMANDS, Command, Name, matching

__all__ = ["Offer", "file_word", "offers", "put_word"]

Offer = tuple[str, str, str]
"""What is put into the editor, how it is shown, what it does."""

_ARGUMENT = re.compile(r"/([a-z-]+) (\S*)")
_FILE = re.compile(r"(?:^|(?<=\s))@(?:\"([^\"\n]*)|([^\s\"]*))$")


def offers(typed: str, words: Mapping[Name, Sequence[str]]) -> tuple[Offer, ...]:
    """Return what `typed` may become: a command, or an argument of one. `words` are arguments known only here."""
    commands = tuple((f"/{command.name}", command.usage, command.about) for command in matching(typed))
    found = _ARGUMENT.fullmatch(typed)
    if commands or found is None:
        return commands
    command = next((command for command in COMMANDS if command.name == found[1]), None)
    if command is None:
        return ()
    known = [*_choices(command), *words.get(command.name, ())]
    return tuple(
        (f"/{command.name} {word}", word, "") for word in known if found[2].lower() in word.lower() and word != found[2]
    )


def _choices(command: Command) -> Sequence[str]:
    """Return the words a command's usage lists: `[ask|edits|all]`."""
    inside = command.arguments.strip("[]")
    return inside.split("|") if "|" in inside and inside.islower() else ()


def file_word(before: str) -> str | None:
    """Return what follows the `@` that is being typed, given the line up to the cursor; None where there is none."""
    found = _FILE.search(before)
    return None if found is None else found[1] if found[1] is not None else found[2]


def put_word(before: str, path: str) -> str:
    """Return the line up to the cursor with `path` in place of the word after its `@`."""
    start = before.rindex("@")
    shown = f'"{path}"' if any(char.isspace() for char in path) else path
    return f"{before[:start]}@{shown} "
