"""The command line as data: a table of options, and a parser made from it.

A sub-command word wins as the first plain word; what follows `--` is always a prompt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, TypeAlias, cast

import msgspec

from tui import __version__
from tui.messages import clean
from tui.settings import KEYS

if TYPE_CHECKING:
    from argparse import ArgumentParser, Namespace

__all__ = [
    "COMMANDS",
    "Arguments",
    "CommandArguments",
    "RunArguments",
    "UsageError",
    "help_text",
    "parse",
    "version_text",
]

Command: TypeAlias = Literal["run", "sessions", "log", "export", "import", "info", "doctor", "models", "reset-terminal"]
COMMANDS: Mapping[str, str] = {
    "run": "work through a plan: PLAN.toml|PLAN.md [--headless] [--new] [--yes]; run status [--json]",
    "sessions": "list the sessions of this directory; trash ID, restore ID, purge [ID], rebind DIR",
    "log": "print every entry of a session, one JSON object a line",
    "export": "write a session to read or to carry: --format md|html|jsonl [-o FILE]",
    "import": "take a session in from FILE, written by export --format jsonl",
    "info": "how full a session's context is, its thresholds and handoffs",
    "doctor": "check the sessions of this directory, or one; --rebuild writes a clean copy beside a damaged file",
    "models": "list the models that can be used",
    "reset-terminal": "set back what a killed clew left switched on",
}
_TAKES: Mapping[str, int] = {"run": 1, "sessions": 100, "log": 1, "export": 1, "import": 1, "info": 1, "doctor": 1}
"""How many words may follow a command."""
_KEEPING = ("trash", "restore", "purge", "rebind")
"""What `clew sessions` can do with some of them."""
_TAKES_JSON = ("run", "sessions", "import", "info", "doctor", "models")

_TOP = """\
usage: clew [OPTIONS] [PROMPT]       open the app, with PROMPT sent at once
       clew -p PROMPT [OPTIONS]      print the final answer and leave
       clew COMMAND [ID] [--json]    {commands}

A command word wins; `clew -- log the errors` is a prompt. Input on stdin is added to the prompt.
"""
_END = """\
exit status: 0 answered, 1 error, 2 usage, 3 paused by a bound, 4 needs a person, 130 interrupted
"""


class UsageError(Exception):
    """Arguments that cannot be used. `str()` is one sentence."""


class RunArguments(msgspec.Struct, frozen=True):
    """What `clew run PLAN` was given."""

    plan: str
    """The plan's file."""
    headless: bool = False
    new: bool = False
    """Begin anew, where a run of this plan is not over."""
    yes: bool = False
    """Start with uncommitted changes; go on though plan or checkout changed."""


class Arguments(msgspec.Struct, frozen=True):
    """What a call asks for, apart from the settings among its flags."""

    prompt: str | None = None
    print: str | None = None
    """The prompt of `-p`; empty where it was given without one."""
    mode: Literal["text", "json"] | None = None
    newest: bool = False
    resume: str | None = None
    """The id of `-r`; empty where it was given without one."""
    no_session: bool = False
    cwd: str | None = None
    verbose: bool = False
    help: bool = False
    version: bool = False
    flags: Mapping[str, str | None] = {}
    """The settings among the flags, unchecked, by field."""
    run: RunArguments | None = None


class CommandArguments(msgspec.Struct, frozen=True):
    """A sub-command with what it was given."""

    name: str
    id: str = ""
    """The first word after it."""
    more: tuple[str, ...] = ()
    """The other words."""
    format: str = ""
    output: str = ""
    yes: bool = False
    """What cannot be undone need not be asked."""
    rebuild: bool = False
    """For `doctor`: write a clean copy."""
    json: bool = False
    cwd: str | None = None
    help: bool = False
    flags: Mapping[str, str | None] = {}
    """For `info`: the settings among the flags, unchecked, by field."""


_OWN: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (
        ("-p", "--print"),
        {
            "action": "once",
            "nargs": "?",
            "const": "",
            "metavar": "PROMPT",
            "help": "print the final answer; all else goes to stderr",
        },
    ),
    (
        ("--mode",),
        {"choices": ("text", "json"), "help": "what is printed: the answer, or every event as a line of JSON"},
    ),
    (
        ("-c", "--continue"),
        {"dest": "newest", "action": "store_true", "help": "go on with the newest session of this directory"},
    ),
    (
        ("-r", "--resume"),
        {"action": "once", "nargs": "?", "const": "", "metavar": "ID", "help": "go on with a session"},
    ),
    (("--no-session",), {"action": "store_true", "help": "keep nothing on disk"}),
    (("--cwd",), {"metavar": "DIR", "help": "work in this directory"}),
    (("--verbose",), {"action": "store_true", "help": "with -p: show how full the context is"}),
    (("--version",), {"action": "store_true", "help": "show the version"}),
    (("-h", "--help"), {"action": "store_true", "help": "show this"}),
)


_OF_COMMANDS: tuple[tuple[tuple[str, ...], dict[str, Any]], ...] = (
    (("--json",), {"action": "store_true"}),
    (("--format",), {"choices": ("md", "html", "jsonl")}),
    (("-o", "--output"), {"action": "once", "metavar": "FILE"}),
    (("--yes",), {"action": "store_true"}),
    (("--rebuild",), {"action": "store_true"}),
    (("--headless",), {"action": "store_true"}),
    (("--new",), {"action": "store_true"}),
)
"""Options that belong to commands alone."""


def _parser() -> ArgumentParser:
    import argparse

    class _Parser(argparse.ArgumentParser):
        """Reports instead of printing and leaving."""

        def error(self, message: str) -> NoReturn:
            raise UsageError(_plainly(message))

    class _Once(argparse.Action):
        """Takes its value once: of two prompts one would be lost without a word."""

        def __call__(
            self, parser: ArgumentParser, namespace: Namespace, values: Any, option: str | None = None
        ) -> None:
            if getattr(namespace, self.dest) is not None:
                parser.error(f"{option} was given twice, and only one can be used.")
            setattr(namespace, self.dest, values)

    parser = _Parser(prog="clew", add_help=False, allow_abbrev=False, usage=argparse.SUPPRESS)
    parser.register("action", "once", _Once)
    for names, how in _OWN[:-2]:
        parser.add_argument(*names, **how)
    for key in KEYS:
        if key.flag:
            parser.add_argument(key.option, metavar=key.metavar, dest=key.name, help=key.help.replace("%", "%%"))
    for names, how in _OWN[-2:]:
        parser.add_argument(*names, **how)
    parser.add_argument("words", nargs="*", help=argparse.SUPPRESS)
    return parser


def _plainly(message: str) -> str:
    """Return argparse's words as a sentence of ours."""
    name, _, what = message.removeprefix("argument ").partition(": ")
    option = name.rpartition("/")[2]
    if what.startswith("expected"):
        return f"{option} needs a value."
    if what.startswith("ignored explicit"):
        return f"{option} takes no value."
    if what.startswith("invalid choice"):
        value, _, choices = what.removeprefix("invalid choice: ").partition(" (choose from ")
        return f"{option} = {value} cannot be used: it must be one of {choices.rstrip(')').replace(chr(39), '')}."
    if name == "unrecognized arguments":
        return f"There is no option {what.split()[0]}; a prompt that begins with - goes after `--`."
    return message


def help_text() -> str:
    """Return what `--help` prints."""
    commands = f"\n{' ' * 37}".join(f"{name}: {what}" for name, what in COMMANDS.items())
    options = _parser().format_help().partition("options:\n")[2]
    return f"{_TOP.format(commands=commands)}\n{options}\n{_END}"


def parse(argv: Sequence[str]) -> Arguments | CommandArguments:
    """Return what `argv` (without the program's name) asks for. Raises `UsageError`."""
    if not argv:
        return Arguments()  # the most usual start needs no parser
    before, literal = _split(argv)
    parser = _parser()
    for names, how in _OF_COMMANDS:
        parser.add_argument(*names, **how)
    found = vars(parser.parse_intermixed_args(before))
    words = cast("list[str]", found.pop("words"))
    of_command = {name: found.pop(name) for name in ("json", "format", "output", "yes", "rebuild")}
    running = bool(words) and words[0] == "run"
    alone = [name for name in ("headless", "new") if found.pop(name)]
    if running and words[1:2] != ["status"]:
        return _run(words[1:] + literal, found, of_command, alone)
    if alone:
        raise UsageError(f"--{alone[0]} belongs to `clew run PLAN`.")
    if words and words[0] in COMMANDS:
        return _command(words, literal, found, of_command)
    if of_command["json"]:
        raise UsageError("--json belongs to a command; the events of a prompt come with --mode json.")
    if any(of_command.values()):
        raise UsageError(
            "--format, -o, --yes and --rebuild belong to commands: `clew export`, `clew sessions purge`, `clew doctor`."
        )
    return _arguments(words + literal, found)


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    if "--" not in argv:
        return list(argv), []
    at = list(argv).index("--")
    return list(argv[:at]), list(argv[at + 1 :])


def _command(words: list[str], literal: list[str], found: dict[str, Any], own: dict[str, Any]) -> CommandArguments:
    name, rest = words[0], [clean(word) for word in words[1:] + literal]
    if not found["help"]:
        _check_words(name, rest)
    if own["json"] and name not in _TAKES_JSON:
        raise UsageError(f"`clew {name}` has no --json: its lines are JSON already.")
    if (own["format"] or own["output"]) and name != "export":
        raise UsageError("--format and -o belong to `clew export`.")
    if own["rebuild"] and name != "doctor":
        raise UsageError("--rebuild belongs to `clew doctor`.")
    flags = _flags(found) if name == "info" else {}
    if any(value not in (None, False) for option, value in found.items() if option not in ("cwd", "help")):
        also = "settings, " if name == "info" else ""
        raise UsageError(f"`clew {name}` takes {also}--json and --cwd, no other option.")
    return CommandArguments(
        name=name,
        id="".join(rest[:1]),
        more=tuple(rest[1:]),
        format=own["format"] or "",
        output=own["output"] or "",
        yes=bool(own["yes"]),
        rebuild=bool(own["rebuild"]),
        json=bool(own["json"]),
        cwd=found["cwd"],
        help=bool(found["help"]),
        flags={name: value for name, value in flags.items() if value is not None},
    )


def _check_words(name: str, rest: list[str]) -> None:
    """Raise `UsageError` where a command has not the words it needs."""
    most = _TAKES.get(name, 0)
    if len(rest) > most or (name == "import" and not rest):
        takes = {"run": "takes one PLAN, or `status`", "import": "takes one FILE"}.get(name, "takes one ID")
        raise UsageError(
            f"`clew {name}` {takes if most else 'takes no more words'}; a prompt is written `clew -- {name} …`."
        )
    if name == "sessions" and rest and (rest[0] not in _KEEPING or (rest[0] != "purge" and len(rest) == 1)):
        raise UsageError(
            "`clew sessions` takes trash ID, restore ID, purge [ID] or rebind DIR, no more words; alone it lists them."
        )


def _run(words: list[str], found: dict[str, Any], own: dict[str, Any], alone: list[str]) -> Arguments:
    """Return what `clew run PLAN` asks for: a session that works through a plan."""
    if len(words) != 1:
        raise UsageError("`clew run` takes one PLAN (.toml or .md), or `status`; a prompt is written `clew -- run …`.")
    wrong = [name for name in ("json", "format", "output", "rebuild") if own[name]]
    wrong += [name for name in ("print", "newest", "resume", "no_session") if found[name] not in (None, False)]
    if wrong:
        name = {"newest": "continue", "no_session": "no-session"}.get(wrong[0], wrong[0])
        raise UsageError(f"--{name} does not go with `clew run PLAN`.")
    asked = _arguments([], found)
    plan = RunArguments(clean(words[0]), headless="headless" in alone, new="new" in alone, yes=bool(own["yes"]))
    return msgspec.structs.replace(asked, run=plan)


def _flags(found: dict[str, Any]) -> dict[str, str | None]:
    """Take the settings out of what was found."""
    return {key.name: _cleaned(found.pop(key.name)) for key in KEYS if key.flag}


def _arguments(words: list[str], found: dict[str, Any]) -> Arguments:
    flags = _flags(found)
    if found["print"] and words:
        raise UsageError("-p takes one PROMPT: put it in quotes.")
    chosen = [word for word, on in (("-c", found["newest"]), ("-r", found["resume"] is not None)) if on]
    if len(chosen) > 1 or (chosen and found["no_session"]):
        raise UsageError("Only one of -c, -r and --no-session can be used.")
    for name in ("print", "resume"):
        found[name] = _cleaned(found[name])
    return Arguments(prompt=clean(" ".join(words)) if words else None, flags=flags, **found)


def _cleaned(value: str | None) -> str | None:
    return None if value is None else clean(value)


def version_text() -> str:
    """Return what `--version` prints."""
    return f"clew {__version__}\n"
