"""The entry: arguments and settings in, one front end started, an exit status out.

    argv ──► arguments ──► settings (flags, environment, trusted project, user) ──► app | headless | console

Nothing heavy is imported before it is known to be needed: `--version` loads no event loop, a sub-command
no screen, and the app no network code before its first paint.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from tui import crash
from tui.arguments import Arguments, CommandArguments, UsageError, help_text, parse, version_text
from tui.messages import Attachment, Text, UserMessage
from tui.plain import plain_line
from tui.settings import Places, SettingsError, places
from tui.streams import InputError, abandon_stdout, harden, is_terminal, read_piped, say

if TYPE_CHECKING:
    from tui.agent.session import SessionOptions
    from tui.console.loading import Loaded

__all__ = ["front_for", "main", "message_of"]

Front: TypeAlias = Literal["app", "headless"]


def main(argv: Sequence[str] | None = None) -> int:
    """Run `clew` with `argv` (None: the process's own); return the exit status."""
    harden()
    crash.install(lambda: places(os.environ).data)
    try:
        status = _run(sys.argv[1:] if argv is None else argv)
        sys.stdout.flush()
    except (UsageError, SettingsError) as error:
        say(f"clew: {error} (`clew --help` shows what there is.)")
        return 2
    except InputError as error:
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
    from tui.console import run_command

    return run_command(asked.name, asked.id, as_json=asked.json, places=places(os.environ), cwd=_directory(asked.cwd))


def _directory(given: str | None) -> Path:
    """Return the real directory to work in. Raises `UsageError`."""
    try:
        folder = Path(given or os.curdir).expanduser().resolve(strict=True)
    except (OSError, RuntimeError, ValueError):
        shown = plain_line(given) if given else "the current directory"
        raise UsageError(f"{shown} does not exist, so there is nothing to work in.") from None
    if not folder.is_dir():
        raise UsageError(f"{plain_line(str(folder))} is not a directory.")
    return folder


def front_for(asked: Arguments, *, terminals: bool, term: str) -> Front:
    """Return the front end for a call. `terminals`: stdin and stdout both are. Raises `UsageError`.

    Looking at one of the two alone leaves a screen in somebody's file (nori-skillsets#530).
    """
    if asked.print is not None or asked.mode is not None:
        return "headless"
    if terminals and term in ("", "dumb", "unknown"):
        raise UsageError(f"A terminal with TERM={term or '(unset)'} cannot show the app; `clew -p PROMPT` works there.")
    if terminals:
        return "app"
    if asked.prompt is not None:
        return "headless"
    raise UsageError("Without a terminal on stdin and stdout the app cannot open; use `clew -p PROMPT`.")


def message_of(prompt: str, piped: Attachment | None) -> UserMessage | None:
    """Return what is sent: the authored words as they are, what was piped in beside them; None for nothing."""
    words = (Text(prompt),) if prompt.strip() else ()
    content = words if piped is None else (*words, piped)
    return UserMessage(content) if content else None


def _session(asked: Arguments) -> int:
    from tui.console.loading import load

    front = front_for(
        asked, terminals=is_terminal(sys.stdin) and is_terminal(sys.stdout), term=os.environ.get("TERM", "")
    )
    if front == "headless" and asked.resume == "":
        raise UsageError("-r needs an ID here; `clew sessions` lists them.")
    message = message_of(asked.print or asked.prompt or "", read_piped())
    if front == "headless" and message is None:
        raise UsageError("There is nothing to send: give a PROMPT, or pipe one in.")
    own, cwd = places(os.environ), _directory(asked.cwd)
    loaded = load(own, os.environ, asked.flags, cwd, ask=front == "app")
    options = _options(asked, loaded, own, cwd, os.environ, interactive=front == "app")
    if front == "app":
        return _app(options, message, loaded.notices)
    for notice in loaded.notices:
        say(notice)
    assert message is not None
    return _headless(asked, options, message)


def _options(
    asked: Arguments, loaded: Loaded, own: Places, cwd: Path, environ: Mapping[str, str], *, interactive: bool
) -> SessionOptions:
    from tui.agent.session import SessionOptions
    from tui.models.factory import ModelChoice

    settings = loaded.settings.for_model(loaded.settings.model)
    resumed = asked.newest or asked.resume is not None
    # A session goes on with its own model and mode, unless a flag names another.
    given = {name for name, value in asked.flags.items() if value is not None}
    choose = not resumed or bool(given & {"model", "provider", "base_url", "window"})
    choice = ModelChoice(settings.provider, settings.model, settings.base_url, settings.window)
    return SessionOptions(
        home=own.data,
        cwd=cwd,
        open="newest" if asked.newest else "id" if resumed else "new",
        session_id=_session_id(asked, own, cwd),
        persist=not asked.no_session,
        choice=choice if choose else None,
        approve=settings.approve if not resumed or "approve" in given else None,
        interactive=interactive,
        environ=environ,
        settings=settings,
        instructions_home=own.config,
    )


def _session_id(asked: Arguments, own: Places, cwd: Path) -> str:
    if asked.resume != "":
        return asked.resume or ""
    from tui.console.ask import choose_session

    return choose_session(own.data, cwd)


def _app(options: SessionOptions, message: UserMessage | None, notices: tuple[str, ...]) -> int:
    from tui.app import run_app

    return run_app(options, message, notices)


def _headless(asked: Arguments, options: SessionOptions, message: UserMessage) -> int:
    from tui.headless.notes import usage_note
    from tui.headless.run import Headless, run
    from tui.headless.sinks import JsonSink, TextSink

    sink = JsonSink() if asked.mode == "json" else TextSink()
    status = run(Headless(options, message, sink, usage_note if asked.verbose else None))
    return int(status)
