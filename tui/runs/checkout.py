"""What git says of the project's directory. It only looks: neither the index nor any file is changed.

The state of all files is one tree id, made with an index of its own, so that two moments can be compared
and the difference shown, new files included. Where there is no git everything here is empty.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

import anyio
import anyio.to_thread
import msgspec

__all__ = ["Checkout", "Git"]

_LIMIT = 60
"""Seconds for one question to git."""


class Checkout(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is checked out. All empty: no git here."""

    branch: str = ""
    head: str = ""
    tree: str = ""
    """Of all files as they are, new ones included."""
    changed: tuple[str, ...] = ()
    """Lines of `git status --porcelain`: what is not committed."""

    @property
    def described(self) -> str:
        """One line for a person."""
        return f"{self.branch or '(no branch)'} at {self.head[:12] or '(no commit)'}"


class Git(msgspec.Struct, frozen=True):
    """The git of one directory."""

    cwd: Path
    environ: Mapping[str, str]

    async def look(self) -> Checkout:
        """Return what is checked out now."""
        return await anyio.to_thread.run_sync(self._look)

    async def tree(self) -> str:
        """Return the tree id of all files as they are now."""
        return await anyio.to_thread.run_sync(self._tree)

    async def diff(self, before: str, after: str) -> tuple[str, tuple[str, ...]]:
        """Return the difference between two trees as a patch, and the paths it touches."""
        if not before or not after:
            return "", ()
        return await anyio.to_thread.run_sync(self._diff, before, after)

    def _look(self) -> Checkout:
        if self._git("rev-parse", "--is-inside-work-tree").strip() != "true":
            return Checkout()
        changed = tuple(line for line in self._git("status", "--porcelain", "--", ".").splitlines() if line.strip())
        return Checkout(
            branch=self._git("symbolic-ref", "--quiet", "--short", "HEAD").strip(),
            head=self._git("rev-parse", "--verify", "--quiet", "HEAD").strip(),
            tree=self._tree(),
            changed=changed,
        )

    def _tree(self) -> str:
        try:
            return self._written_tree()
        except OSError:  # no room for an index: as if there were no git
            return ""

    def _written_tree(self) -> str:
        with tempfile.TemporaryDirectory(prefix="clew-") as folder:
            index = str(Path(folder) / "index")
            own = self.cwd / self._git("rev-parse", "--git-path", "index").strip()
            if own.is_file():
                shutil.copyfile(own, index)  # a copy knows what is unchanged: only changed files are read
            self._git("add", "--all", "--", ".", index=index)
            return self._git("write-tree", index=index).strip()

    def _diff(self, before: str, after: str) -> tuple[str, tuple[str, ...]]:
        patch = self._git("diff-tree", "-p", "--no-color", "--no-ext-diff", before, after)
        names = self._git("diff-tree", "-r", "-z", "--name-only", before, after)
        return patch, tuple(name for name in names.split("\0") if name)

    def _git(self, *words: str, index: str = "") -> str:
        """Return what git prints; nothing where it fails or is not there."""
        environ = {**self.environ, "GIT_OPTIONAL_LOCKS": "0", "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        if index:
            environ["GIT_INDEX_FILE"] = index
        try:
            done = subprocess.run(
                ["git", "-C", os.fspath(self.cwd), *words],
                capture_output=True,
                stdin=subprocess.DEVNULL,
                env=environ,
                timeout=_LIMIT,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ""
        return done.stdout.decode("utf-8", "replace") if done.returncode == 0 else ""
