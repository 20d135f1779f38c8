"""`clew info`: how full a session's context is, its thresholds, its handoffs; no model is asked."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tui.agent.session import SessionOptions, inspect_session
from tui.agent.session_info import info_json, info_rows
from tui.agent.wishes import info_facts
from tui.console.loading import load
from tui.console.sessions import wanted_session
from tui.log.jsonl import as_line
from tui.models.base import ModelError
from tui.models.factory import ModelChoice
from tui.plain import plain_line
from tui.settings import Places
from tui.streams import say, write_bytes

__all__ = ["InfoCall", "show_info"]

_MODEL_FLAGS = frozenset({"model", "provider", "base_url", "window"})


class InfoCall(msgspec.Struct, frozen=True):
    """Which session, and the settings it is looked at with."""

    own: Places
    cwd: Path
    wanted: str
    flags: Mapping[str, str | None]
    environ: Mapping[str, str]


async def show_info(call: InfoCall, *, as_json: bool) -> int:
    """Print the facts of a session, the newest here where none is named."""
    project, session_id = await wanted_session(call.own.data, call.cwd, call.wanted)
    loaded = load(call.own, call.environ, call.flags, call.cwd, ask=False)
    for notice in loaded.notices:
        say(notice)
    settings = loaded.settings.for_model(loaded.settings.model)
    choice = ModelChoice(settings.provider, settings.model, settings.base_url, settings.window)
    options = SessionOptions(
        home=call.own.data,
        cwd=project,
        session_id=session_id,
        choice=choice if call.flags.keys() & _MODEL_FLAGS else None,
        environ=call.environ,
        settings=loaded.settings,
        prompt_folders=loaded.prompts,
        instructions_home=call.own.config,
    )
    try:
        async with inspect_session(options) as agent:
            facts = await info_facts(agent, persisted=True)
    except ModelError as error:
        say(f"clew: {error}")
        return 1
    if as_json:
        write_bytes(as_line(info_json(facts)))
        return 0
    rows = info_rows(facts)
    wide = max(len(name) for name, _ in rows)
    for name, value in rows:
        sys.stdout.write(f"{name.ljust(wide)}  {plain_line(value, 600)}\n")
    return 0
