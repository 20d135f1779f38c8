"""The files of a project as grep and find see them: hidden ones too, without .git and what .gitignore names.

ripgrep lists them where it is installed, else Python does; both give the same files. Only .gitignore files
count (at any depth, up to the project's root or the nearest repository's), not .ignore, global or parent
settings, so that an answer depends on the project alone. Links are not followed, and only regular files are listed.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import anyio
import msgspec
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from tui.tools.base import ToolContext, ToolError
from tui.tools.files import Stop, chunks, in_thread
from tui.tools.launch import capture
from tui.tools.paths import Place, file_type

__all__ = ["Found", "files_under", "ripgrep"]

RIPGREP_SECONDS = 60.0
_ARGUMENTS = [
    "--no-config",
    "--hidden",
    "--no-ignore-dot",
    "--no-ignore-exclude",
    "--no-ignore-global",
    "--no-ignore-parent",
    "--no-require-git",
    "--no-messages",
    "--color",
    "never",
    "--null",
    "--glob",
    "!.git",
]
_ANY_FOLDER = "(?P<ps_d>/)"
"""What pathspec makes of `*/`: it finds the first slash, not the last."""
_MAX_IGNORE_BYTES = 1 << 20


class Found(msgspec.Struct, frozen=True):
    """Files under `base`: names with `/`, sorted by their bytes; undecodable ones in surrogateescape."""

    base: Path
    names: tuple[str, ...]
    prefix: str
    """The part of each name up to the folder that was asked for, with its final `/`."""


def ripgrep(environ: Mapping[str, str]) -> str | None:
    """Return the path of ripgrep, where it is installed."""
    return shutil.which("rg", path=environ.get("PATH", os.defpath))


async def files_under(ctx: ToolContext, place: Place, pattern: str | None = None) -> Found:
    """Return the files in a folder, or the one file. With `pattern`, a ripgrep pattern, only files it may match.

    The filter is only a help: files may be in the answer that do not match.
    """
    try:
        mode = place.real.stat().st_mode
    except OSError as error:
        raise ToolError(f"{place.name} cannot be searched: {error.strerror}. Use ls to see what is there.") from error
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise ToolError(f"{place.name} is a {file_type(mode)}. It was not opened; only files and folders are searched.")
    if not stat.S_ISDIR(mode):
        return Found(place.real.parent, (place.real.name,), "")
    base, prefix = await in_thread(lambda _: _scope(ctx.root, place))
    program = ripgrep(ctx.environ)
    names = await _by_ripgrep(program, ctx, base, pattern) if program else None
    if names is None:
        names = await in_thread(lambda stop: tuple(_walk(base, prefix, stop)))
    return Found(base, tuple(sorted((name for name in names if name.startswith(prefix)), key=os.fsencode)), prefix)


async def _by_ripgrep(program: str, ctx: ToolContext, base: Path, pattern: str | None) -> tuple[str, ...] | None:
    """Return what ripgrep lists, or None where it could not tell."""
    special = await _ask([program, *_ARGUMENTS, "--glob", ".rgignore", "--files", "./"], ctx, base)
    if special is None or special.stdout:
        # ripgrep 13 obeys .rgignore whatever it is told; the answer must not depend on which program gives it.
        return None
    if pattern is not None:
        filter_by = ["--files-with-matches", "--text", "--encoding", "none", "-e", pattern, "./"]
        listed = await _ask([program, *_ARGUMENTS, *filter_by], ctx, base)
        # Status 2 can be a folder it may not read, or a pattern it does not take: then all files are candidates.
        if listed is not None and listed.returncode in (0, 1):
            return _names(listed.stdout)
    listed = await _ask([program, *_ARGUMENTS, "--files", "./"], ctx, base)
    return _names(listed.stdout) if listed is not None and (listed.returncode in (0, 1) or listed.stdout) else None


async def _ask(command: list[str], ctx: ToolContext, base: Path) -> subprocess.CompletedProcess[bytes] | None:
    with anyio.move_on_after(RIPGREP_SECONDS):
        try:
            return await capture(command, mark=ctx.call_id, cwd=base, env=ctx.environ)
        except OSError:
            return None
    return None


def _names(listed: bytes) -> tuple[str, ...]:
    return tuple(os.fsdecode(name.removeprefix(b"./")) for name in listed.split(b"\0") if name)


class _Rule(msgspec.Struct, frozen=True):
    """One line of a .gitignore."""

    regex: re.Pattern[str]
    ignores: bool
    """False for a line that begins with `!`."""


class _Level(msgspec.Struct, frozen=True):
    """One folder's rules, on the way from the base to an entry."""

    folder: str
    """Relative to the base, with a final `/`; empty for the base."""
    rules: tuple[_Rule, ...]
    """The last line of its .gitignore first: the last that fits decides."""
    repository: bool
    """Whether it holds `.git`: rules of folders above do not reach into it."""


def _level(base: Path, folder: str) -> _Level:
    return _Level(folder, _rules(base / folder / ".gitignore"), _is_there(base / folder / ".git"))


def _is_there(path: Path) -> bool:
    """Whether there is such a file; in a folder that cannot be searched there is none."""
    try:
        return path.exists()
    except OSError:
        return False


def _rules(path: Path) -> tuple[_Rule, ...]:
    try:
        raw = b"".join(chunks(path, ".gitignore"))[:_MAX_IGNORE_BYTES]
    except ToolError:
        return ()
    lines = [os.fsdecode(line.removesuffix(b"\r")) for line in raw.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    rules = [rule for rule in map(_rule, lines) if rule is not None]
    return tuple(reversed(rules))


def _rule(line: str) -> _Rule | None:
    """Return what one line means: nothing for a comment, an empty line, and one that is no pattern."""
    if line.endswith("/**/"):
        # All folders below; pathspec takes it for the folder itself.
        line += "*/"
    try:
        regex, ignores = GitIgnoreSpecPattern.pattern_to_regex(line)
    except ValueError:
        return None
    return None if regex is None or ignores is None else _Rule(re.compile(regex), ignores)


def _fits(regex: re.Pattern[str], name: str) -> bool:
    """Whether a pattern means this very entry.

    The patterns of pathspec also match what is in a folder they mean. Here each folder is asked for on the way
    down, so that counts for nothing: `!folder/` brings back the folder, and says nothing of the files in it.
    """
    if regex.pattern == _ANY_FOLDER:
        return name.endswith("/")
    match = regex.search(name)
    if match is None:
        return False
    if match.groupdict().get("ps_d"):
        return match.end() == len(name)
    # `folder/**` is all below the folder, and not itself.
    return not match[0].endswith("/") or match.end() < len(name)


def _is_ignored(levels: tuple[_Level, ...], name: str) -> bool:
    """Whether an entry is ignored; `name` is relative to the base, with a final `/` for a folder."""
    for level in reversed(levels):
        below = name.removeprefix(level.folder)
        said = next((rule.ignores for rule in level.rules if _fits(rule.regex, below)), None)
        if said is not None:
            return said
        if level.repository:
            return False
    return False


def _scope(root: Path, place: Place) -> tuple[Path, str]:
    """Return the folder to list from and the prefix that was asked for.

    What is asked for by name is searched even where it is ignored, or outside: then it is its own base.
    """
    if not place.inside or place.real == root:
        return place.real, ""
    levels = (_level(root, ""),)
    name = ""
    for part in place.real.relative_to(root).parts:
        name = f"{name}{part}/"
        if part == ".git" or _is_ignored(levels, name):
            return place.real, ""
        levels = (*levels, _level(root, name))
    return root, name


def _walk(base: Path, prefix: str, stop: Stop) -> Iterator[str]:
    levels = [_level(base, "")]
    parts = [part for part in prefix.split("/") if part]
    levels += [_level(base, "/".join(parts[: depth + 1]) + "/") for depth in range(len(parts))]
    todo: list[tuple[_Level, ...]] = [tuple(levels)]
    while todo:
        stop.check()
        here = todo.pop()
        for entry in _entries(base / here[-1].folder):
            name = here[-1].folder + entry.name
            if entry.name == ".git" or entry.is_symlink():
                continue
            if entry.is_dir(follow_symlinks=False):
                if not _is_ignored(here, f"{name}/"):
                    todo.append((*here, _level(base, f"{name}/")))
            elif entry.is_file(follow_symlinks=False) and not _is_ignored(here, name):
                yield name


def _entries(folder: Path) -> list[os.DirEntry[str]]:
    """Return what a folder holds; one that cannot be read, or is gone meanwhile, holds nothing."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except OSError:
        return []
