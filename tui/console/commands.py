"""Runs one sub-command: its report to stdout, an error as one sentence."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import anyio
import msgspec

from tui.log.errors import LogError
from tui.settings import Places
from tui.streams import say

__all__ = ["CommandCall", "run_command"]


class CommandCall(msgspec.Struct, frozen=True):
    """A sub-command and what it works on."""

    name: str
    own: Places
    cwd: Path
    id: str = ""
    """The first word after it."""
    more: tuple[str, ...] = ()
    format: str = ""
    output: str = ""
    yes: bool = False
    rebuild: bool = False
    as_json: bool = False
    flags: Mapping[str, str | None] = {}
    """The settings among the flags, unchecked, by field."""

    @property
    def home(self) -> Path:
        """The user's data folder."""
        return self.own.data


def run_command(call: CommandCall) -> int:
    """Run a sub-command; return its exit status."""
    try:
        return anyio.run(_run, call)
    except LogError as error:
        sys.stdout.flush()
        say(f"clew: {error}")
        return 1


async def _run(call: CommandCall) -> int:
    match call.name:
        case "run":
            from tui.console.runs import show_status

            return await show_status(call.home, call.cwd, as_json=call.as_json)
        case "sessions" if call.id:
            from tui.console.keeping import keep_sessions

            return await keep_sessions(call.own, call.cwd, (call.id, *call.more), sure=call.yes)
        case "sessions":
            from tui.console.sessions import show_sessions

            return await show_sessions(call.home, call.cwd, as_json=call.as_json)
        case "export":
            from tui.console.export import ExportCall, export_session

            return await export_session(ExportCall(call.home, call.cwd, call.id, call.format, call.output, os.environ))
        case "import":
            from tui.console.imports import import_session

            return await import_session(call.home, call.cwd, call.id, as_json=call.as_json)
        case "log":
            from tui.console.entries import show_entries

            return await show_entries(call.home, call.cwd, call.id)
        case "doctor":
            from tui.console.doctor import rebuild, show_checks

            if call.rebuild:
                return await rebuild(call.home, call.cwd, call.id, as_json=call.as_json)
            return await show_checks(call.home, call.cwd, call.id, as_json=call.as_json)
        case "info":
            from tui.console.info import InfoCall, show_info

            info = InfoCall(call.own, call.cwd, call.id, call.flags, os.environ)
            return await show_info(info, as_json=call.as_json)
        case _:
            from tui.console.models import show_models

            return show_models(as_json=call.as_json)
