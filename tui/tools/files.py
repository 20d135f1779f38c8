"""Files: opened only when regular, hashed as streams, replaced atomically.

A replace writes a temporary file beside the target, syncs it and renames it over the target, which
leaves the old or the new content and never half. Where that would cut a hard link, or the folder does
not allow a new file, the content is written in place instead: there a crash can leave half, so it is
the exception (pi-hashline-readmap#153).
"""

from __future__ import annotations

import errno
import hashlib
import os
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from typing import TypeVar

import anyio
import anyio.to_thread

from tui.tools.base import ToolError
from tui.tools.paths import file_type

__all__ = [
    "MAX_EDIT_BYTES",
    "MAX_READ_BYTES",
    "Stop",
    "StoppedError",
    "chunks",
    "in_thread",
    "open_regular",
    "read_whole",
    "replace_file",
    "sha256",
]

CHUNK = 1 << 20
MAX_EDIT_BYTES = 32 * CHUNK
"""Largest file that is edited or compared as a whole."""
MAX_READ_BYTES = 8 << 30
"""Largest file that is read through (for its hash and its line count)."""

_T = TypeVar("_T")


class StoppedError(Exception):
    """The call was cancelled while its thread was at work."""


class Stop:
    """Asked by a working thread between steps: raises `StoppedError` once its call was cancelled."""

    def __init__(self) -> None:
        self._event = Event()

    def set(self) -> None:
        """Ask the thread to stop."""
        self._event.set()

    def check(self) -> None:
        """Raise `StoppedError` if it was asked to."""
        if self._event.is_set():
            raise StoppedError


async def in_thread(work: Callable[[Stop], _T], *, abandon: bool = True) -> _T:
    """Run `work` in a thread. A cancelled caller leaves at once; the thread stops at its next check.

    With `abandon` false the caller waits for the end even when cancelled: for a write, whose result must be known.
    """
    stop = Stop()
    try:
        return await anyio.to_thread.run_sync(work, stop, abandon_on_cancel=abandon)
    finally:
        stop.set()


def open_regular(path: Path, name: str) -> int:
    """Return a descriptor for reading a regular file; never blocks on a FIFO or device (hermes-agent#82075).

    Raises `ToolError` for everything that is no regular file, before it is opened.
    """
    try:
        _refuse_special(path.stat().st_mode, name)
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    except OSError as error:
        raise _os_error("read", name, error) from error
    try:
        _refuse_special(os.fstat(fd).st_mode, name)
    except ToolError:
        os.close(fd)
        raise
    return fd


def _refuse_special(mode: int, name: str) -> None:
    if stat.S_ISREG(mode):
        return
    advice = "Use ls for a directory." if stat.S_ISDIR(mode) else "Only regular files can be read or changed."
    raise ToolError(f"{name} is a {file_type(mode)}. It was not opened. {advice}")


def _os_error(verb: str, name: str, error: OSError) -> ToolError:
    if error.errno == errno.ENOENT:
        return ToolError(f"{name} does not exist. Nothing was done; use ls or find to look for it.")
    if isinstance(error, BlockingIOError):
        return ToolError(f"Reading {name} would wait for data that may never come. Nothing was read.")
    return ToolError(f"Could not {verb} {name}: {error.strerror or error}. Nothing was changed.")


def chunks(path: Path, name: str, stop: Stop | None = None) -> Iterator[bytes]:
    """Yield a regular file's bytes in pieces of at most 1 MiB. Raises `ToolError`."""
    fd = open_regular(path, name)
    try:
        total = 0
        while piece := os.read(fd, CHUNK):
            if stop is not None:
                stop.check()
            total += len(piece)
            if total > MAX_READ_BYTES:
                raise ToolError(f"{name} is larger than {MAX_READ_BYTES >> 30} GiB. Use bash with head, tail or sed.")
            yield piece
    except OSError as error:
        raise _os_error("read", name, error) from error
    finally:
        os.close(fd)


def sha256(raw: bytes) -> str:
    """Return the hash by which states of a file are compared."""
    return hashlib.sha256(raw).hexdigest()


def read_whole(path: Path, name: str, stop: Stop | None = None) -> bytes:
    """Return all bytes of a file that is to be edited; at most `MAX_EDIT_BYTES`. Raises `ToolError`."""
    pieces: list[bytes] = []
    total = 0
    for piece in chunks(path, name, stop):
        total += len(piece)
        if total > MAX_EDIT_BYTES:
            limit = MAX_EDIT_BYTES >> 20
            raise ToolError(f"{name} is larger than {limit} MiB. Nothing was changed; change it with bash instead.")
        pieces.append(piece)
    return b"".join(pieces)


def replace_file(path: Path, name: str, new: bytes, expected: str | None) -> None:
    """Make `new` the content of the real path `path`. `expected` is the sha256 it must still have; None: no file.

    Mode, owner and hard links are kept; a new file follows the umask. Raises `ToolError`, and then the old
    content is still there.
    """
    try:
        if expected is None:
            path.parent.mkdir(parents=True, exist_ok=True)
            _create(path, name, new)
        else:
            _replace(path, name, new, expected)
    except OSError as error:
        raise _os_error("write", name, error) from error


def _create(path: Path, name: str, new: bytes) -> None:
    temporary = _write_beside(path, new, 0o666)
    try:
        _place_new(temporary, path)
    except FileExistsError as error:
        message = f"{name} was created by somebody else just now. It was kept; read it, then decide."
        raise ToolError(message) from error
    finally:
        temporary.unlink(missing_ok=True)
    _sync_folder(path.parent)


def _place_new(temporary: Path, path: Path) -> None:
    """Give the finished file its name, without replacing one that appeared meanwhile."""
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: look, then rename.
        if os.path.lexists(path):
            raise FileExistsError(errno.EEXIST, "exists", str(path)) from None
        temporary.rename(path)


def _replace(path: Path, name: str, new: bytes, expected: str) -> None:
    old = path.stat()
    if not os.access(path, os.W_OK):
        # A rename would not ask: the folder's permission is enough for it.
        raise ToolError(f"{name} is read-only. Nothing was changed; chmod it first if that is wanted.")
    temporary = None if old.st_nlink > 1 else _beside_like(path, new, old)
    try:
        # As late as can be: a change since the file was looked at is not to be lost (stella#5502).
        if sha256(read_whole(path, name)) != expected:
            raise ToolError(f"{name} was changed by somebody else just now. Their version was kept; read it again.")
        if temporary is None:
            _write_in_place(path, new)
        else:
            temporary.replace(path)
            _sync_folder(path.parent)
    finally:
        if temporary is not None:
            temporary.unlink(missing_ok=True)


def _beside_like(path: Path, new: bytes, old: os.stat_result) -> Path | None:
    """Return a finished temporary file with mode and owner of the old one; None where the folder forbids it."""
    try:
        temporary = _write_beside(path, new, stat.S_IMODE(old.st_mode) & 0o700)
    except PermissionError:
        return None
    try:
        made = temporary.stat()
        if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
            os.chown(temporary, old.st_uid, old.st_gid)
        temporary.chmod(stat.S_IMODE(old.st_mode))
    except PermissionError:
        # Another owner's file in our folder: only writing in place keeps its owner.
        temporary.unlink(missing_ok=True)
        return None
    return temporary


def _write_beside(path: Path, new: bytes, mode: int) -> Path:
    temporary = path.parent / f".clew-{secrets.token_hex(8)}"
    fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    try:
        _write_all(fd, new)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    finally:
        os.close(fd)
    return temporary


def _write_all(fd: int, new: bytes) -> None:
    rest = memoryview(new)
    while rest:
        rest = rest[os.write(fd, rest) :]
    os.fsync(fd)


def _write_in_place(path: Path, new: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        _write_all(fd, new)
        os.ftruncate(fd, len(new))
        os.fsync(fd)
    finally:
        os.close(fd)


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        # Some file systems cannot sync a folder; the rename itself has happened.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP, errno.EBADF):
            raise
    finally:
        os.close(fd)
