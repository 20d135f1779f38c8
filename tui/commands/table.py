"""The commands a person types with a slash: one table that help, menu and dispatch all read."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal, TypeAlias

import msgspec

__all__ = ["COMMANDS", "Command", "Name", "Typed", "Unknown", "matching", "parse"]

Name: TypeAlias = Literal[
    "help",
    "new",
    "resume",
    "take-over",
    "continue",
    "view",
    "search",
    "tree",
    "fork",
    "rewind",
    "label",
    "run",
    "goal",
    "model",
    "approve",
    "task",
    "pin",
    "compact",
    "checkpoint",
    "self-compact-info",
    "self-compact-now",
    "self-compact-edit",
    "self-compact-drop",
    "theme",
    "quit",
]

_FIRST = re.compile(r"/([A-Za-z][A-Za-z0-9-]*)(?:\s+(.*))?", re.DOTALL)


class Command(msgspec.Struct, frozen=True):
    """One command: its word, what may follow, and one line for the person."""

    name: Name
    about: str
    arguments: str = ""

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.arguments}".rstrip()


COMMANDS: tuple[Command, ...] = (
    Command("help", "keys and commands"),
    Command("new", "a new session in this project; this one is kept"),
    Command("resume", "the sessions of this directory: go on with one, search, rename, throw away"),
    Command("take-over", "write this session here from now on; the other window can only read it then"),
    Command("continue", "go on with what is pending or was interrupted"),
    Command("view", "begin from the summary, or from the full view, after a start"),
    Command("search", "what was said in this session, behind every checkpoint, on all its branches", "TEXT"),
    Command("tree", "the session as a tree: go to another place, name it, fork there"),
    Command("fork", "a new session from here on; this one stays as it is", "[PROMPT]"),
    Command("rewind", "edit an earlier prompt: a new branch begins before it"),
    Command("label", "name this place in the tree; alone: take its name away", "[TEXT]"),
    Command("run", "a list of work, done and verified item by item; alone: its board", "[start PLAN|resume|stop|…]"),
    Command("goal", "a run of one item", "TEXT"),
    Command("model", "show the models, or answer with this one from now on", "[ID]"),
    Command("approve", "how much you are asked before a tool acts", "[ask|edits|all]"),
    Command("task", "from here on this is the task; checkpoints carry it word for word", "TEXT"),
    Command("pin", "checkpoints carry this word for word; alone: show what is pinned", "[TEXT]"),
    Command("compact", "put a summary in the place of the conversation; undo takes it back", "[INSTRUCTIONS|undo]"),
    Command("checkpoint", "show the newest checkpoint, and change its summary"),
    Command("self-compact-info", "how full the context is, where the levels are, the handoffs"),
    Command("self-compact-now", "hand over now; a pending handoff goes on", "[WHAT MATTERS]"),
    Command("self-compact-edit", "change the note of the pending handoff"),
    Command("self-compact-drop", "give the pending handoff up; asks once"),
    Command("theme", "show the themes, or use this one", "[NAME]"),
    Command("quit", "leave; the session can be continued"),
)


class Typed(msgspec.Struct, frozen=True):
    """A known command as it was typed. `rest` is what follows, without the blanks around it."""

    name: Name
    rest: str = ""


class Unknown(msgspec.Struct, frozen=True):
    """A slash and a word that is no command; `near` are the ones it may have meant."""

    word: str
    near: tuple[str, ...] = ()


def parse(text: str) -> Typed | Unknown | None:
    """Return the command in `text`, or None where it is a message: `/usr/bin is broken` is one."""
    found = _FIRST.fullmatch(text.rstrip())
    if found is None:
        return None
    word = found.group(1).lower()
    for command in COMMANDS:
        if command.name == word:
            return Typed(command.name, (found.group(2) or "").strip())
    return Unknown(found.group(1), tuple(command.name for command in matching("/" + word[:2])))


def matching(text: str) -> Sequence[Command]:
    """Return the commands that `text`, from its slash on, may become; none once an argument has begun."""
    if not text.startswith("/") or any(c.isspace() for c in text):
        return ()
    return [command for command in COMMANDS if command.name.startswith(text[1:].lower())]
