"""The one place that knows where the files beside the code are: themes and prompts.

In a wheel the themes are inside the package (one mapping in `pyproject.toml` puts them there); in a
checkout, and so in an editable install, they are the folder `themes` beside it.
"""

from __future__ import annotations

from pathlib import Path

__all__ = ["prompt_text", "prompts_folder", "theme_files", "themes_folder"]

_PACKAGE = Path(__file__).resolve().parent


def themes_folder() -> Path:
    """Return the folder of the themes that ship with the program."""
    inside = _PACKAGE / "themes"
    return inside if inside.is_dir() else _PACKAGE.parent / "themes"


def theme_files() -> list[Path]:
    """Return the shipped theme files, by name."""
    return sorted(themes_folder().glob("*.toml"))


def prompts_folder() -> Path:
    """Return the folder of the prompts that ship with the program."""
    return _PACKAGE / "context" / "prompts"


def prompt_text(name: str) -> str:
    """Return the shipped prompt `name` (without its ending). Raises `FileNotFoundError` where there is none."""
    return (prompts_folder() / f"{name}.md").read_text(encoding="utf-8")
