"""The file layer of this process's own SQLite, made to fail: the product's engine on its own files.

The library that the standard `sqlite3` module has loaded is found in the process and its default VFS is given
other functions for opening, writing, syncing, cutting and deleting. Nothing of the product knows.
"""

from __future__ import annotations

import ctypes
import os
import random
import signal
import sqlite3
import sys
from collections.abc import Callable
from ctypes import CFUNCTYPE, POINTER, Structure, c_char_p, c_int, c_int64, c_void_p
from pathlib import Path
from typing import Any, Literal, TypeAlias

__all__ = ["Act", "FileLayer", "Verdict", "library"]

FULL = 13
IOERR = {"write": 778, "truncate": 1546, "sync": 1034, "delete": 2570}
OK = 0
Act: TypeAlias = Literal["write", "sync", "truncate", "delete"]
Verdict: TypeAlias = Literal["go", "full", "ioerr", "power"]


class _Methods(Structure):
    _fields_ = (("version", c_int), ("functions", c_void_p * 18))


class _File(Structure):
    _fields_ = (("methods", POINTER(_Methods)),)


class _Vfs(Structure):
    _fields_ = (
        ("version", c_int),
        ("file_size", c_int),
        ("longest_path", c_int),
        ("next", c_void_p),
        ("name", c_char_p),
        ("data", c_void_p),
        ("open", c_void_p),
        ("delete", c_void_p),
    )


_READ, _WRITE, _TRUNCATE, _SYNC, _SIZE = 1, 2, 3, 4, 5
# Names are passed on as addresses: the options of the open follow the name in memory.
_open_t = CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(_File), c_int, POINTER(c_int))
_delete_t = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int)
_io_t = CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_int64)
_truncate_t = CFUNCTYPE(c_int, c_void_p, c_int64)
_sync_t = CFUNCTYPE(c_int, c_void_p, c_int)
_size_t = CFUNCTYPE(c_int, c_void_p, POINTER(c_int64))
_trace_t = CFUNCTYPE(c_int, ctypes.c_uint, c_void_p, c_void_p, c_char_p)
_extension_t = CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)
_STATEMENTS = 1


def library() -> ctypes.CDLL | None:
    """Return the SQLite that `sqlite3` uses; None where it is built into the interpreter without its names."""
    sqlite3.connect(":memory:").close()
    places: list[str | None] = [None]
    if sys.platform == "linux":
        lines = Path("/proc/self/maps").read_text().splitlines()
        places += sorted({line.split()[-1] for line in lines if "sqlite3" in line and ".so" in line})
    for place in places:
        found = ctypes.CDLL(place)
        if hasattr(found, "sqlite3_vfs_find") and hasattr(found, "sqlite3_libversion"):
            found.sqlite3_libversion.restype = c_char_p
            if found.sqlite3_libversion().decode() == sqlite3.sqlite_version:
                return found
    return None


class _Unsynced:
    """What was written to one file since it was last synced: how it was before, and each write."""

    def __init__(self) -> None:
        self.before: list[tuple[int, bytes, int]] = []
        """Offset, old bytes, old size: newest last."""
        self.writes: list[tuple[int, bytes | int]] = []
        """Offset and bytes; for a cut the new size and -1."""


class FileLayer:
    """Asks `judge` before each change of a file of a database what shall become of it. Once per process."""

    def __init__(self, judge: Callable[[Act, Path], Verdict], seed: int) -> None:
        self._judge = judge
        self._random = random.Random(seed)
        self._unsynced: dict[Path, _Unsynced] = {}
        self._paths: dict[int, Path] = {}
        self._tables: dict[int, _Methods] = {}
        self._kept: list[Any] = []  # what C holds pointers to
        found = library()
        assert found is not None, "the SQLite of this Python cannot be reached"
        self._library = found
        find = found.sqlite3_vfs_find
        find.restype, find.argtypes = POINTER(_Vfs), [c_char_p]
        self._vfs = find(None).contents
        self._real_open = _open_t(self._vfs.open)
        self._real_delete = _delete_t(self._vfs.delete)

    def install(self) -> None:
        """Put the functions in their places."""
        mine = _open_t(self._open), _delete_t(self._delete)
        self._kept += mine
        self._vfs.open, self._vfs.delete = (ctypes.cast(function, c_void_p).value for function in mine)

    def listen(self, statement: Callable[[str], None]) -> None:
        """Tell `statement` of each statement before it runs, on every connection that is opened from now on."""

        def traced(_kind: int, _context: int, _prepared: int, text: bytes) -> int:
            statement(text.decode("utf-8", "replace"))
            return 0

        def opened(connection: int, _message: int, _api: int) -> int:
            return self._library.sqlite3_trace_v2(c_void_p(connection), _STATEMENTS, callback, None)

        callback, extension = _trace_t(traced), _extension_t(opened)
        self._kept += (callback, extension)
        self._library.sqlite3_auto_extension(extension)

    def _open(self, vfs: Any, name: int | None, file: Any, flags: int, out: Any) -> int:
        status = self._real_open(vfs, name, file, flags, out)
        if status == OK and name and file.contents.methods:
            original = ctypes.addressof(file.contents.methods.contents)
            self._paths[ctypes.addressof(file.contents)] = Path(os.fsdecode(ctypes.string_at(name)))
            file.contents.methods = ctypes.pointer(self._table(original))
        return status

    def _table(self, original: int) -> _Methods:
        if original not in self._tables:
            self._tables[original] = self._made(_Methods.from_address(original))
        return self._tables[original]

    def _made(self, real: _Methods) -> _Methods:
        """Return a copy of a table of functions whose changing ones ask first."""
        table = _Methods.from_buffer_copy(real)
        io = _Real(real)

        def write(file: int, data: int, amount: int, offset: int) -> int:
            path = self._paths[file]
            verdict = self._ask("write", path)
            if verdict == "full" and amount > 1:
                io.write(file, data, amount // 2, offset)  # a disk gets full in the middle of a write
            if verdict != "go":
                return FULL if verdict == "full" else IOERR["write"]
            self._remember(path, io, file, offset, ctypes.string_at(data, amount))
            return io.write(file, data, amount, offset)

        def truncate(file: int, size: int) -> int:
            path = self._paths[file]
            if self._ask("truncate", path) == "ioerr":
                return IOERR["truncate"]
            self._remember(path, io, file, size, -1)
            return io.truncate(file, size)

        def sync(file: int, flags: int) -> int:
            path = self._paths[file]
            if self._ask("sync", path) == "ioerr":
                return IOERR["sync"]
            status = io.sync(file, flags)
            if status == OK:
                self._unsynced.pop(path, None)
            return status

        mine = _io_t(write), _truncate_t(truncate), _sync_t(sync)
        self._kept += (table, *mine)
        for place, function in zip((_WRITE, _TRUNCATE, _SYNC), mine, strict=True):
            table.functions[place] = ctypes.cast(function, c_void_p).value
        return table

    def _delete(self, vfs: Any, name: int, sync_folder: int) -> int:
        path = Path(os.fsdecode(ctypes.string_at(name)))
        if self._ask("delete", path) == "ioerr":
            return IOERR["delete"]
        self._unsynced.pop(path, None)
        return self._real_delete(vfs, name, sync_folder)

    def _ask(self, act: Act, path: Path) -> Verdict:
        verdict = self._judge(act, path)
        if verdict == "power":
            self._lose_power()
        return verdict

    def _remember(self, path: Path, io: _Real, file: int, offset: int, change: bytes | int) -> None:
        kept = self._unsynced.setdefault(path, _Unsynced())
        size = io.size(file)
        amount = len(change) if isinstance(change, bytes) else max(0, size - offset)
        kept.before.append((offset, io.read(file, offset, min(amount, max(0, size - offset))), size))
        kept.writes.append((offset, change))

    def _lose_power(self) -> None:
        """Leave of what was not synced any part, in no order, and be gone."""
        for path, kept in self._unsynced.items():
            if path.exists():
                path.write_bytes(_after_loss(path.read_bytes(), kept, self._random))
        for path in {path.parent for path in self._unsynced}:
            for shared in path.glob("*-shm"):
                shared.unlink()
        os.kill(os.getpid(), signal.SIGKILL)


def _after_loss(now: bytes, kept: _Unsynced, chance: random.Random) -> bytes:
    """Return a file as the disk may have it: as last synced, with some of the writes since."""
    content = bytearray(now)
    for offset, old, size in reversed(kept.before):
        content[offset : offset + len(old)] = old
        del content[size:]
        content += bytes(size - len(content))
    share = chance.choice((0.0, 0.5, 1.0))
    for offset, change in kept.writes:
        if chance.random() >= share:
            continue
        if isinstance(change, int):
            del content[offset:]
            continue
        part = change[: chance.choice((len(change), len(change) // 512 // 2 * 512))]
        content += bytes(max(0, offset - len(content)))
        content[offset : offset + len(part)] = part
    return bytes(content)


class _Real:
    """The functions of a file as SQLite has them."""

    def __init__(self, table: _Methods) -> None:
        self._read = _io_t(table.functions[_READ])
        self.write = _io_t(table.functions[_WRITE])
        self.truncate = _truncate_t(table.functions[_TRUNCATE])
        self.sync = _sync_t(table.functions[_SYNC])
        self._size = _size_t(table.functions[_SIZE])

    def read(self, file: int, offset: int, amount: int) -> bytes:
        """Return bytes of the file."""
        buffer = ctypes.create_string_buffer(max(amount, 1))
        self._read(file, ctypes.cast(buffer, c_void_p).value, amount, offset)
        return buffer.raw[:amount]

    def size(self, file: int) -> int:
        """Return how long the file is."""
        size = c_int64()
        self._size(file, ctypes.byref(size))
        return size.value
