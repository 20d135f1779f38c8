"""The entry: arguments and settings in, one front end started, an exit status out.

    argv ──► arguments ──► settings (flags, environment, trusted project, user) ──► app | headless | console

Nothing heavy is imported before it is known to be needed: `--version` loads no event loop, a sub-command
no screen, and the app no network code before its first paint.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

import msgspec

from tui import __version__, crash, garbage
from tui.arguments import Arguments, CommandArguments, RunArguments, UsageError, help_text, parse, version_text
from tui.first_frame import FIRST
from tui.messages import Attachment, Text, UserMessage
from tui.plain import needs_ascii, plain_line
from tui.settings import Places, SettingsError, places
from tui.streams import CannotStartError, abandon_stdout, draw_on_terminal, harden, is_terminal, read_piped, say

if TYPE_CHECKING:
    from tui.agent.session import SessionOptions
    from tui.console.loading import Loaded
    from tui.headless.planned import PlanWork
    from tui.runs.plan import Plan
    from tui.screens.options import Elsewhere

__all__ = ["front_for", "main", "message_of"]

Front: TypeAlias = Literal["app", "headless"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run `clew` with `argv` (None: the process's own); return the exit status."""
    harden()
    crash.install(lambda: places(os.environ).data)
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except UsageError as error:
        for row in f"clew: {error} (`clew --help` shows what there is.)".splitlines():
            say(row)
        return 2
    except SettingsError as error:
        say(f"clew: {error} Nothing was done.")
        return 2
    except CannotStartError as error:
        say(f"clew: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        abandon_stdout()
        return 1
    except OSError as error:
        say(f"clew: {error.strerror or error}{f': {error.filename}' if error.filename else ''}.")
        abandon_stdout()
        return 1
    return status


def _run(argv: Sequence[str]) -> int:
    asked = parse(argv)
    if asked.help:
        sys.stdout.write(help_text())
        return 0
    if isinstance(asked, CommandArguments):
        return _command(asked)
    if asked.version:
        sys.stdout.write(version_text())
        return 0
    return _session(asked)


def _command(asked: CommandArguments) -> int:
    if asked.name == "reset-terminal":
        from tui.console.reset import reset_terminal

        return reset_terminal()
    from tui.console.commands import CommandCall, run_command

    own, cwd = places(os.environ), _directory(asked.cwd)
    return run_command(
        CommandCall(
            name=asked.name,
            own=own,
            cwd=cwd,
            id=asked.id,
            more=asked.more,
            format=asked.format,
            output=asked.output,
            yes=asked.yes,
            rebuild=asked.rebuild,
            as_json=asked.json,
            flags=asked.flags,
        )
    )


def _directory(given: str | None) -> Path:
    """Return the real directory to work in. Raises `UsageError`."""
    if given == "":  # a variable that was not set: the current directory is not what was meant
        raise UsageError("--cwd is empty, so there is nothing to work in.")
    shown = plain_line(given) if given else "The current directory"
    try:
        folder = Path(given or os.curdir).expanduser().resolve(strict=True)
    except (FileNotFoundError, RuntimeError, ValueError):
        raise UsageError(f"{shown} does not exist, so there is nothing to work in.") from None
    except OSError as error:
        raise UsageError(f"{shown} cannot be used: {error.strerror}.") from None
    if not folder.is_dir():
        raise UsageError(f"{plain_line(str(folder))} is not a directory.")
    return folder


def front_for(asked: Arguments, *, terminals: bool, term: str) -> Front:
    """Return the front end for a call. `terminals`: stdin and stdout both are. Raises `UsageError`.

    Looking at one of the two alone leaves a screen in somebody's file (nori-skillsets#530).
    """
    if asked.print is not None or asked.mode is not None or (asked.run is not None and asked.run.headless):
        return "headless"
    if terminals and term in ("", "dumb", "unknown"):
        instead = "clew -p PROMPT" if asked.run is None else "clew run PLAN --headless"
        raise UsageError(f"A terminal with TERM={term or '(unset)'} cannot show the app; `{instead}` works there.")
    if terminals:
        return "app"
    if asked.prompt is not None:
        return "headless"
    if asked.run is not None:
        raise UsageError("Without a terminal on stdin and stdout the app cannot open; use `clew run PLAN --headless`.")
    raise UsageError("Without a terminal on stdin and stdout the app cannot open; use `clew -p PROMPT`.")


def message_of(prompt: str, piped: Attachment | None) -> UserMessage | None:
    """Return what is sent: the authored words as they are, what was piped in beside them; None for nothing."""
    words = (Text(prompt),) if prompt.strip() else ()
    said = bool(words) or (piped is not None and bool(piped.text.strip()))
    return UserMessage(words if piped is None else (*words, piped)) if said else None


class _Start(msgspec.Struct, frozen=True):
    """Everything a front end is started from."""

    asked: Arguments
    loaded: Loaded
    own: Places
    cwd: Path
    front: Front
    session_id: str = ""
    """The session that `-r` means, or that the run of a plan belongs to."""
    given: tuple[Plan, str] | None = None
    """The plan that the app works through, and its file."""


def _session(asked: Arguments) -> int:
    front = front_for(
        asked, terminals=is_terminal(sys.stdin) and is_terminal(sys.stdout), term=os.environ.get("TERM", "")
    )
    own, cwd = places(os.environ), _directory(asked.cwd)
    if front == "app":
        garbage.hold()  # the app releases it
        draw_on_terminal()
        outcome = _opened(asked, own, cwd)
        while not isinstance(outcome, int):
            # As if started there: another project has its own settings, trust and rules.
            there = Arguments(cwd=str(outcome.project), resume=outcome.session)
            outcome = _opened(there, own, _directory(there.cwd))
        return outcome
    if asked.resume == "":
        raise UsageError("-r needs an ID here; `clew sessions` lists them.")
    if asked.run is not None:
        from tui.headless.planned import PlanWork

        loaded = _load(asked, own, cwd, ask=False)
        start = _Start(asked, loaded, own, cwd, front, _run_session(asked.run, own, cwd))
        return _headless(start, PlanWork(*_plan(asked.run, cwd), asked.run.yes))
    message = message_of(asked.print or asked.prompt or "", read_piped())
    if message is None:
        raise UsageError("There is nothing to send: give a PROMPT, or pipe one in.")
    start = _Start(asked, _load(asked, own, cwd, ask=False), own, cwd, front, _resumed(asked, own, cwd, ask=False))
    return _headless(start, message)


def _opened(asked: Arguments, own: Places, cwd: Path) -> int | Elsewhere:
    given = _plan(asked.run, cwd) if asked.run is not None else None  # before the screen opens: it may be no plan
    loaded = _load(asked, own, cwd, ask=True)
    session = _run_session(asked.run, own, cwd) if asked.run is not None else _resumed(asked, own, cwd, ask=True)
    start = _Start(asked, loaded, own, cwd, "app", session, given)
    FIRST.draw(("*", ">") if needs_ascii(os.environ) else ("●", "❯"))
    try:
        return _app(start)
    finally:
        FIRST.give_back()


def _resumed(asked: Arguments, own: Places, cwd: Path, *, ask: bool) -> str:
    """Return the whole id of the session that `-r` means; empty without one. `ask`: a person can be asked."""
    if not asked.resume:
        return ""
    import anyio

    from tui.console.sessions import resumed_session

    return anyio.run(partial(resumed_session, own.data, cwd, asked.resume, ask=ask))


def _run_session(run: RunArguments, own: Places, cwd: Path) -> str:
    """Return the session of this plan's run that is not over; empty where a new one begins."""
    import anyio

    from tui.console.runs import unfinished_session

    return "" if run.new else anyio.run(unfinished_session, own.data, cwd, str(_plan_file(run, cwd)))


def _plan_file(run: RunArguments, cwd: Path) -> Path:
    return (cwd / Path(run.plan).expanduser()).resolve()


def _plan(run: RunArguments, cwd: Path) -> tuple[Plan, str]:
    """Return the plan to work through, and its file. Raises `UsageError`."""
    from tui.runs.plan import PlanError, read_plan

    file = _plan_file(run, cwd)
    try:
        return read_plan(file), str(file)
    except PlanError as error:
        problems = "\n  ".join(map(plain_line, error.problems))
        raise UsageError(f"The plan cannot be used, and nothing was begun:\n  {problems}.") from error


def _load(asked: Arguments, own: Places, cwd: Path, *, ask: bool) -> Loaded:
    from tui.console.loading import load

    return load(own, os.environ, asked.flags, cwd, ask=ask)


def _options(start: _Start) -> SessionOptions:
    """Return what the session is opened with; a resumed one keeps its own model and mode, unless a flag says else."""
    from tui.agent.session import SessionOptions
    from tui.models.factory import ModelChoice
    from tui.runs.attach import attach_runs

    asked = start.asked
    settings = start.loaded.settings.for_model(start.loaded.settings.model)
    resumed = asked.newest or bool(start.session_id)
    given = {name for name, value in asked.flags.items() if value is not None}
    choice = ModelChoice(settings.provider, settings.model, settings.base_url, settings.window)
    return SessionOptions(
        home=start.own.data,
        cwd=start.cwd,
        open="newest" if asked.newest else "id" if resumed else "new",
        session_id=start.session_id,
        persist=not asked.no_session,
        choice=choice if not resumed or given & {"model", "provider", "base_url", "window"} else None,
        approve=settings.approve if not resumed or "approve" in given else None,
        interactive=start.front == "app",
        environ=os.environ,
        settings=start.loaded.settings,
        prompt_folders=start.loaded.prompts,
        instructions_home=start.own.config,
        attach=attach_runs,
    )


def _app(start: _Start) -> int | Elsewhere:
    from tui.app import run_app
    from tui.resources import themes_folder
    from tui.screens.options import AppOptions, PlanGiven
    from tui.widgets.recall import history_file

    yes = start.asked.run is not None and start.asked.run.yes

    options = AppOptions(
        session=lambda: _options(start),
        cwd=start.cwd,
        version=__version__,
        prompt=start.asked.prompt,
        plan=PlanGiven(*start.given, yes) if start.given is not None else None,
        pick=start.asked.resume == "",
        theme=start.loaded.settings.theme,
        theme_folders=(themes_folder(), start.own.config / "themes"),
        history=None if start.asked.no_session else lambda: history_file(start.own.data, start.cwd),
        export=partial(_export, start),
        environ=os.environ,
        keymap=start.loaded.settings.keys,
        vim=start.loaded.settings.editing == "vim",
        notify=start.loaded.settings.notify or "both",
        notify_after=10 if start.loaded.settings.notify_after is None else start.loaded.settings.notify_after,
        notices=start.loaded.notices,
    )
    return run_app(options)


async def _export(start: _Start, session: str, file: str) -> str:
    """Write a session to a file in the directory of the start, in the form its name says; return what is to be told."""
    from tui.console.export import ExportCall, export_to

    form = Path(file).suffix.lstrip(".").lower()
    if form not in ("md", "html", "jsonl"):
        return f"{plain_line(file)} was not written: its name must end in .md, .html or .jsonl"
    place = start.cwd / Path(file).expanduser()
    try:
        _whole, told = await export_to(ExportCall(start.own.data, start.cwd, session, form, str(place), os.environ))
    except (CannotStartError, OSError) as error:
        return str(error)
    return f"Written to {plain_line(str(place))}{f'; {told}' if told else ''}"


def _headless(start: _Start, message: UserMessage | PlanWork) -> int:
    from tui.headless.notes import usage_note
    from tui.headless.run import Headless, run
    from tui.headless.sinks import JsonSink, TextSink

    for notice in start.loaded.notices:
        say(notice)
    sink = JsonSink() if start.asked.mode == "json" else TextSink()
    options = _options(start)
    return int(run(Headless(options, message, sink, usage_note if start.asked.verbose else None)))
