"""Rules a person gave for a project: `bash(git status *)`, `edit(src/**)`, `deny bash(rm *)`.

Kept in the user's own data folder, one private file per project: a project's files change no permission.
"""

from __future__ import annotations

import contextlib
import glob
import os
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, cast

import msgspec

from tui.log.paths import private_folder, project_folder, real_project
from tui.messages import clean, new_id
from tui.tools.base import ToolError
from tui.tools.globs import compile_glob
from tui.tools.shell import simple_commands

__all__ = ["Rule", "RuleError", "add_rule", "load_rules", "parse_rule"]

Word = Literal["bash", "edit", "read"]
_FORM = re.compile(r"\s*(?P<deny>deny\s+)?(?P<word>bash|edit|read)\((?P<pattern>.+)\)\s*")


class RuleError(ToolError):
    """A rule that cannot be understood, or rules that cannot be read or kept."""


class NoRuleError(RuleError):
    """A text that is no rule."""


class Rule(msgspec.Struct, frozen=True):
    """One rule. `edit` covers write too; `read` is for paths outside the project."""

    text: str
    word: Word
    pattern: str
    """For bash the command with an optional last ` *`; else an absolute glob."""
    deny: bool = False

    def matches_command(self, words: Sequence[str]) -> bool:
        """Whether a simple command matches, word by word: `npm test` never matches `npm testify` (cezar#21)."""
        if self.word != "bash":
            return False
        if self.pattern == "*":
            return True
        open_end = self.pattern.endswith(" *")
        parsed = simple_commands(self.pattern.removesuffix(" *"))
        if parsed is None or len(parsed) != 1:
            return False
        wanted = parsed[0]
        return tuple(words[: len(wanted)]) == wanted and (open_end or len(words) == len(wanted))

    def matches_path(self, path: str) -> bool:
        """Whether a real, absolute path matches."""
        return self.word != "bash" and compile_glob(self.pattern).matches(path)


def parse_rule(text: str, root: Path) -> Rule:
    """Return the rule that `text` says. A relative glob counts from the project's real root. Raises `RuleError`."""
    match = _FORM.fullmatch(text)
    if match is None or not text.isprintable():
        raise NoRuleError(f"{text!r} is no rule. Write for example: bash(git status *), edit(src/**), deny bash(rm *).")
    word, pattern = cast("Word", match["word"]), match["pattern"].strip()
    if word == "bash":
        parsed = simple_commands(pattern.removesuffix(" *")) if pattern != "*" else ((),)
        if parsed is None or len(parsed) != 1:
            raise NoRuleError(f"{text!r} names no simple command: a rule holds plain words and at most one last *.")
    else:
        pattern = f"{Path.home()}{pattern[1:]}" if pattern.startswith("~/") else pattern
        # Real paths have no `..`, and the project's own name is no pattern.
        pattern = os.path.normpath(pattern if pattern.startswith("/") else f"{glob.escape(str(root))}/{pattern}")
    return Rule(text=text.strip(), word=word, pattern=pattern, deny=match["deny"] is not None)


def _file(home: Path, project: Path) -> Path:
    # The real path: through a link it is the same project, under the same rules.
    return project_folder(home, real_project(project)) / "rules.toml"


def _texts(home: Path, project: Path) -> list[str]:
    path = _file(home, project)
    try:
        raw = msgspec.toml.decode(path.read_bytes(), type=dict[str, list[str]])
    except FileNotFoundError:
        return []
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise RuleError(f"The rules in {path} cannot be read: {error}. None is in force; mend or remove it.") from error
    return raw.get("rules", [])


def load_rules(home: Path, project: Path) -> tuple[Rule, ...]:
    """Return the project's rules; none where there is no file. Raises `RuleError` where one cannot be understood."""
    root = real_project(project)
    try:
        return tuple(parse_rule(text, root) for text in _texts(home, project))
    except NoRuleError as error:
        path = _file(home, project)
        raise RuleError(f"The rules in {path} cannot be used: {error} None is in force; mend or remove it.") from error


def add_rule(home: Path, project: Path, text: str) -> tuple[Rule, ...]:
    """Keep one more rule for the project and return all. The file is replaced whole, mode 0600. Raises `RuleError`."""
    rule = parse_rule(clean(text), real_project(project))
    known = load_rules(home, project)
    if any(rule.text == other.text for other in known):
        return known
    _write(_file(home, project), [*(other.text for other in known), rule.text])
    return (*known, rule)


def _write(path: Path, texts: list[str]) -> None:
    # A JSON string of printable text is a TOML basic string too.
    lines = [f"    {msgspec.json.encode(text).decode()}," for text in texts]
    data = "\n".join(["# What the agent may do in this project without asking.", "rules = [", *lines, "]", ""])
    private_folder(path.parent)
    draft = path.with_name(f".{path.name}.{new_id()}")
    try:
        with os.fdopen(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
            file.write(data.encode())
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise RuleError(f"The rule could not be kept in {path}: {error}. The call itself was allowed once.") from error
