"""What libraries and natively written code print while the screen is open: kept off it, and shown afterwards.

Only the driver may write to the terminal. Anything else that writes to stdout or stderr would tear the
picture (opencode#15388), so both descriptors lead into a file meanwhile.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

__all__ = ["KEPT", "Printed"]

KEPT = 20_000
"""Bytes, from the end, that are kept."""


class Printed:
    """Holds stdout and stderr while the screen has the terminal."""

    def __init__(self) -> None:
        self._file, name = tempfile.mkstemp(prefix="clew-")
        Path(name).unlink()  # nobody else needs its name
        self._saved: tuple[int, int] | None = None

    def begin(self) -> None:
        """Let both descriptors lead into the file."""
        if self._saved is None:
            _flush()
            self._saved = (os.dup(1), os.dup(2))
            for descriptor in (1, 2):
                os.dup2(self._file, descriptor)

    def end(self) -> None:
        """Give both back."""
        if self._saved is not None:
            _flush()
            for descriptor, saved in zip((1, 2), self._saved, strict=True):
                os.dup2(saved, descriptor)
                os.close(saved)
            self._saved = None

    def text(self) -> str:
        """Return the end of what was printed."""
        size = os.fstat(self._file).st_size
        return os.pread(self._file, KEPT, max(0, size - KEPT)).decode("utf-8", "replace")


def _flush() -> None:
    for stream in (sys.__stdout__, sys.__stderr__):
        if stream is not None:
            stream.flush()
