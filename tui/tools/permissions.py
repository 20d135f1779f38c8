"""When a person is asked: one pure decision over the mode, what a call would do, and the project's rules."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from tui.tools.base import Effect, Preview
from tui.tools.rules import Rule, RuleError, add_rule, load_rules, parse_rule
from tui.tools.shell import simple_commands

__all__ = [
    "Allow",
    "Ask",
    "Mode",
    "Refuse",
    "Rule",
    "RuleError",
    "Verdict",
    "add_rule",
    "decide",
    "load_rules",
    "parse_rule",
    "suggest",
]

Mode: TypeAlias = Literal["ask", "edits", "all"]

_RUNS_OTHERS_WORDS = (
    "bash sh zsh dash fish env xargs sudo doas su ssh nohup nice timeout watch find python python3 node "
    "perl ruby npx uvx pipx docker podman make rm mv dd chmod chown kill "
)
_RUNS_OTHERS = frozenset(_RUNS_OTHERS_WORDS.split())
"""Programs whose first word says little of what they do: only the exact command is suggested as a rule."""


_RUNS_LATER = frozenset({".git", ".clew"})
"""Folders whose files (hooks, settings) can run commands or change permissions: the mode `edits` is not for them."""


class Allow(msgspec.Struct, frozen=True):
    """It may run. `why` names the rule or the mode."""

    why: str


class Ask(msgspec.Struct, frozen=True):
    """A person must decide. `reason` is one sentence."""

    reason: str
    mode: Mode | None = None
    """The least mode that would allow it; None where no mode does."""


class Refuse(msgspec.Struct, frozen=True):
    """It must not run. `reason` is one sentence."""

    reason: str


Verdict: TypeAlias = Allow | Ask | Refuse


def decide(mode: Mode, preview: Preview, rules: Sequence[Rule]) -> Verdict:
    """Return whether the call may run.

    Deny rules win, then allow rules; outside the project is always asked; reading inside is free; the mode
    decides the rest.
    """
    denied = next((rule for rule in rules if rule.deny and _touches(rule, preview)), None)
    if denied is not None:
        return Refuse(f"the project's rule `{denied.text}` forbids it.")
    if preview.effect is Effect.EXECUTE and _uncertain(preview, rules):
        # Before the rules that allow: `bash(*)` must not hide from `deny bash(rm *)` what nobody can read.
        return Ask("the command cannot be read with certainty, and the project has rules that forbid commands.")
    allowed = _allowing(preview, [rule for rule in rules if not rule.deny])
    if allowed is not None:
        return Allow(allowed)
    if preview.outside:
        return Ask(f"it reaches outside the project: {', '.join(preview.outside)}.")
    return _by_mode(mode, preview)


def _by_mode(mode: Mode, preview: Preview) -> Verdict:
    if preview.effect is Effect.READ:
        return Allow("reading in the project is free")
    if mode == "all":
        return Allow("the mode is `all`")
    if preview.effect is Effect.EXECUTE:
        return Ask("it runs a command.", "all")
    private = next((path for path in preview.paths if _RUNS_LATER & set(Path(path).parts)), None)
    if private is not None:
        return Ask(f"it changes {private}, from where commands may be run later.", "all")
    return Allow("the mode is `edits`") if mode == "edits" else Ask("it changes a file.", "edits")


def _touches(rule: Rule, preview: Preview) -> bool:
    """Whether a deny rule meets any part of the call."""
    if preview.effect is Effect.EXECUTE:
        return any(rule.matches_command(words) for words in simple_commands(preview.command) or ())
    return rule.word == preview.effect.value and any(rule.matches_path(path) for path in preview.paths)


def _uncertain(preview: Preview, rules: Sequence[Rule]) -> bool:
    forbids = any(rule.deny and rule.word == "bash" for rule in rules)
    return forbids and simple_commands(preview.command) is None


def _allowing(preview: Preview, rules: Sequence[Rule]) -> str | None:
    """Return the rules that together allow every part of the call, or None."""
    if preview.effect is Effect.EXECUTE:
        if preview.warning:
            # It looks like another command: a person has to see it (deepagents#1694).
            return None
        found = [
            next((rule.text for rule in rules if rule.matches_command(words)), None)
            for words in simple_commands(preview.command) or ((),)
        ]
    else:
        mine = [rule for rule in rules if rule.word == preview.effect.value]
        found = [next((rule.text for rule in mine if rule.matches_path(path)), None) for path in preview.paths]
    named = [text for text in found if text is not None]
    return ", ".join(dict.fromkeys(named)) if named and len(named) == len(found) else None


def suggest(preview: Preview) -> tuple[str, ...]:
    """Return rules that would allow this call and others like it, the narrowest useful one first; perhaps none."""
    if preview.warning and preview.effect is Effect.EXECUTE:
        return ()
    if preview.effect is not Effect.EXECUTE:
        return _path_rules(preview)
    parsed = simple_commands(preview.command)
    if parsed is None or len(parsed) != 1:
        return ()
    return _command_rules(preview.command.strip(), parsed[0])


def _command_rules(command: str, words: tuple[str, ...]) -> tuple[str, ...]:
    exact = f"bash({command})"
    program = Path(words[0]).name
    if program in _RUNS_OTHERS or len(words) == 1 or words[1].startswith("-") or words[0] != words[0].strip("'\""):
        return (exact,)
    general = f"bash({words[0]} {words[1]} *)"
    return (general, exact) if simple_commands(f"{words[0]} {words[1]}") == (words[:2],) else (exact,)


def _path_rules(preview: Preview) -> tuple[str, ...]:
    word = preview.effect.value
    special = set("*?[]{}()\\")
    if len(preview.paths) != 1 or not preview.paths[0].isprintable() or special & set(preview.paths[0]):
        return ()
    path = preview.paths[0]
    return (f"{word}({path})", f"{word}({Path(path).parent}/**)")
