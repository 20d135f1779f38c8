"""Reads the settings of a start: every layer in its order, the project's only where it is trusted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec

from tui.console.ask import ask_trust
from tui.context.templates import PromptFolder
from tui.plain import plain_line
from tui.settings import (
    Places,
    Settings,
    environment_layer,
    file_layer,
    flag_layer,
    merge,
    read_limited,
)
from tui.trust import FOLDER, ProjectError, ProjectFiles, read_project, recall, remember

__all__ = ["Loaded", "load"]


class Loaded(msgspec.Struct, frozen=True):
    """The settings in force, and what a person should know about where they came from."""

    settings: Settings
    notices: tuple[str, ...] = ()
    prompts: tuple[PromptFolder, ...] = ()
    """Where templates may lie: the person's folder, then the trusted project's."""


def load(own: Places, environ: Mapping[str, str], flags: Mapping[str, str | None], cwd: Path, *, ask: bool) -> Loaded:
    """Return the settings for a start in `cwd`. `ask`: a person can be asked. Raises `SettingsError`, `OSError`."""
    flagged, surrounding = flag_layer(flags), environment_layer(environ)
    user = file_layer(read_limited(own.settings_file), plain_line(str(own.settings_file)))
    trusted, notices = _trusted(own, cwd, ask=ask)
    project = file_layer(trusted.settings if trusted else None, ".clew/settings.toml")
    layers = (user, project, surrounding, flagged)
    told = tuple(notice for layer in layers for notice in layer.notices)
    return Loaded(
        settings=merge(layers), notices=told + notices, prompts=(PromptFolder(own.prompts), *_prompts(trusted))
    )


def _prompts(trusted: ProjectFiles | None) -> tuple[PromptFolder, ...]:
    return () if trusted is None else (PromptFolder(trusted.root / FOLDER / "prompts", trusted.prompts),)


def _trusted(own: Places, cwd: Path, *, ask: bool) -> tuple[ProjectFiles | None, tuple[str, ...]]:
    """Return what the project brings along, which is nothing until its exact content is trusted."""
    try:
        project = read_project(cwd)
    except ProjectError as error:
        return None, (str(error),)
    if project is None or not project.matters:
        return None, ()
    refusal = _judge(own, project, ask=ask)
    return (None, (refusal,)) if refusal else (project, ())


def _judge(own: Places, project: ProjectFiles, *, ask: bool) -> str:
    """Return why the project is not trusted; empty where it is."""
    before = recall(own.data, project.root)
    known = before is not None and before.digest == project.digest
    if known and before is not None:
        return "" if before.trusted else "The settings in .clew are not used here: you answered `never`."
    if not ask:
        what = "have changed since they were trusted" if before and before.trusted else "are not trusted"
        return f"The settings in .clew {what}, so they are not used; start `clew` here in a terminal to look at them."
    answer = ask_trust(project, before)
    if answer != "no":
        remember(own.data, project, trusted=answer == "yes")
    return "" if answer == "yes" else "The settings in .clew are not used."
