"""What a directory is known by beside its path: its inode, its git checkout, and the checkouts beside it.

    project ──► inode, first line of the checkout's history   (kept in its database: a move changes neither)
            ──► the same place in the repository's other checkouts

Files are read, git is never run.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import msgspec

__all__ = ["Identity", "identity_of", "is_gone", "worktrees"]

_LONGEST = 4_096


class Identity(msgspec.Struct, frozen=True):
    """What stays the same when a directory is moved or renamed; empty where it is not known."""

    inode: str = ""
    """Kept by a move within one file system."""
    git: str = ""
    """Kept by any move of a whole checkout: the first line of its history and the place within it."""

    def fits(self, other: Identity) -> bool:
        """Whether both may well be one directory. A number alone is given again to another one soon."""
        same = bool(self.inode) and self.inode == other.inode
        return self.git == other.git and (same or bool(self.git))


def identity_of(project: Path) -> Identity:
    """Return what a directory is known by; nothing where it is not there."""
    try:
        found = project.stat()
    except OSError:
        return Identity()
    return Identity(f"{found.st_dev}:{found.st_ino}", _git(project))


def is_gone(project: Path) -> bool:
    """Whether there is surely no such directory. One that may not be looked at is not gone."""
    try:
        project.stat()
    except (FileNotFoundError, NotADirectoryError):
        return True
    except OSError:
        return False
    return False


def worktrees(project: Path) -> tuple[Path, ...]:
    """Return the directories that are to the repository's other checkouts what this one is to its own."""
    root = _root(project)
    if root is None:
        return ()
    own = _git_folder(root)
    common = _common(own)
    roots = [common.parent] if common.name == ".git" else []
    roots += [Path(_line(pointer)).parent for pointer in sorted(common.glob("worktrees/*/gitdir"))]
    places = (Path(os.path.realpath(other / project.relative_to(root))) for other in roots if other.is_dir())
    return tuple(dict.fromkeys(place for place in places if place != project))


def _git(project: Path) -> str:
    root = _root(project)
    first = _line(_git_folder(root) / "logs" / "HEAD") if root is not None else ""
    if root is None or not first:
        return ""
    inside = os.fsencode(project.relative_to(root))
    return hashlib.sha256(os.fsencode(first) + b"\0" + inside).hexdigest()


def _root(project: Path) -> Path | None:
    """Return the root of the checkout a directory lies in."""
    return next((folder for folder in (project, *project.parents) if os.path.lexists(folder / ".git")), None)


def _git_folder(root: Path) -> Path:
    """Return where a checkout keeps what is its own: `.git`, or where that file points."""
    pointer = root / ".git"
    if pointer.is_dir():
        return pointer
    return Path(os.path.normpath(root / _line(pointer).removeprefix("gitdir:").strip()))


def _common(own: Path) -> Path:
    """Return what all checkouts of a repository share."""
    shared = _line(own / "commondir")
    return Path(os.path.normpath(own / shared)) if shared else own


def _line(path: Path) -> str:
    """Return the first line of a file; empty where it cannot be read."""
    try:
        with path.open("rb") as file:
            return os.fsdecode(file.readline(_LONGEST)).rstrip("\n")
    except (OSError, ValueError):  # a name with NUL in a broken pointer
        return ""
