"""Large things by hash: images and whole tool outputs, stored once."""

from __future__ import annotations

import hashlib
import sqlite3

from tui.log.errors import Damaged

__all__ = ["get", "put"]


def put(db: sqlite3.Connection, sha256: str, data: bytes) -> None:
    """Store bytes under their hash unless they are there."""
    db.execute("INSERT OR IGNORE INTO blob(sha256, size, data) VALUES(?,?,?)", (sha256, len(data), data))


def get(db: sqlite3.Connection, sha256: str) -> bytes | None:
    """Return the bytes with this hash, or None. Raises `Damaged` if they do not fit it any more."""
    row = db.execute("SELECT data FROM blob WHERE sha256=?", (sha256,)).fetchone()
    if row is None:
        return None
    data = bytes(row[0])
    if hashlib.sha256(data).hexdigest() != sha256:
        raise Damaged(f"The stored bytes {sha256[:12]}… are not what was put there. Everything else is kept.")
    return data
