"""What is really in a folder, computed without any tool or model."""

from __future__ import annotations

from pathlib import Path


def files_below(root: Path) -> list[str]:
    """All files from the root, without caches."""
    found = (path.relative_to(root).as_posix() for path in sorted(root.rglob("*")) if path.is_file())
    return [name for name in found if "__pycache__" not in name]
