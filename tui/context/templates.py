"""Templates: `soft.md`, `warning.md`, `summary.md`, read at each use; a person's own file wins over the shipped one."""

from __future__ import annotations

import re
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

import msgspec

from tui.context.bar import percent
from tui.context.thresholds import Thresholds
from tui.resources import prompt_text

__all__ = [
    "PromptFolder",
    "Template",
    "TemplateFault",
    "TemplateName",
    "interpolate",
    "read_template",
    "shipped",
    "values_for",
]

TemplateName: TypeAlias = Literal["soft", "warning", "summary"]

_PLACEHOLDER = re.compile(r"\{\{([a-z_]+)\}\}")
_LARGEST = 256 * 1024
_SHIPPED = "shipped"


class PromptFolder(msgspec.Struct, frozen=True):
    """A folder in which templates may lie: the person's own, or a project's."""

    path: Path
    trusted: Mapping[str, bytes] | None = None
    """For a project's: the content a person has trusted, by file name. Other content of these names is not used."""


class Template(msgspec.Struct, frozen=True, omit_defaults=True):
    """A text to use. `source` is a path, `shipped`, or `--compact-prompt`."""

    text: str
    source: str = _SHIPPED
    fault: str = ""
    """Why a file of the person's was passed over; said once."""


class TemplateFault(msgspec.Struct, frozen=True):
    """The summary instruction cannot be read: no summary is asked for until it can."""

    message: str


def interpolate(template: str, values: Mapping[str, str]) -> str:
    """Return the template with its known placeholders filled in; unknown ones stay as they are."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), template)


def values_for(tokens: int, thresholds: Thresholds) -> dict[str, str]:
    """Return the placeholder values for a known usage."""
    window = thresholds.window
    return {
        "tokens": str(tokens),
        "percent": str(percent(tokens, window)),
        "context_window": str(window),
        "soft_tokens": str(thresholds.soft),
        "warning_tokens": str(thresholds.warning),
        "hard_tokens": str(thresholds.hard),
        "hard_percent": str(percent(thresholds.hard, window)),
    }


def shipped(name: TemplateName) -> str:
    """Return the text that came with the package."""
    return prompt_text(name)


def read_template(
    name: TemplateName, folders: Sequence[PromptFolder] = (), *, literal: str | None = None
) -> Template | TemplateFault:
    """Return the template in force: the first of `folders` that has the file, else the shipped text.

    `folders` are the user's, then the trusted project's. A missing file is no override. One that cannot be
    used falls back to the shipped text, but for the summary it is a fault (fail closed). `literal` is
    `--compact-prompt`: it is the summary instruction, word for word, and beats every file.
    """
    if name == "summary" and literal is not None:
        return Template(literal, "--compact-prompt")
    for folder in folders:
        found = _read(folder.path / f"{name}.md", folder.trusted)
        if found is None:
            continue
        if isinstance(found, Template):
            return found
        if name == "summary":
            return TemplateFault(f"{found.message} Nothing was compacted; mend or remove the file, then try again.")
        return Template(shipped(name), fault=f"{found.message} The shipped text is used.")
    return Template(shipped(name))


def _read(path: Path, trusted: Mapping[str, bytes] | None) -> Template | TemplateFault | None:
    """Return what a file holds, why it cannot be used, or None where there is none. Never blocks on a pipe."""
    try:
        mode = path.stat().st_mode
        if not stat.S_ISREG(mode):
            return TemplateFault(f"{path} is not a file.")
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except FileNotFoundError:
        return TemplateFault(f"{path} is a link that leads nowhere.") if path.is_symlink() else None
    except NotADirectoryError:
        return None
    except OSError as error:
        return TemplateFault(f"{path} cannot be read ({error.strerror}).")
    if trusted is not None and trusted.get(path.name) != raw:
        return TemplateFault(f"{path} is not what was trusted: start clew here again to look at it.")
    return _decoded(path, raw)


def _decoded(path: Path, raw: bytes) -> Template | TemplateFault:
    if len(raw) > _LARGEST:
        return TemplateFault(f"{path} is larger than {_LARGEST // 1024} kB.")
    try:
        text = raw.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError:
        return TemplateFault(f"{path} is not UTF-8.")
    return Template(text, str(path)) if text.strip() else TemplateFault(f"{path} is empty.")
