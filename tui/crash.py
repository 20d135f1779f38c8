"""The last resort: an error nobody expected becomes one sentence, and its traceback a private file.

Installed as the interpreter's hook, so that nothing has to be caught blindly. The file holds no values
of variables: those may be keys or a person's words.
"""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import TypeAlias, cast

from tui.plain import plain_line

__all__ = ["crash_report", "install"]

Hook: TypeAlias = Callable[[type[BaseException], BaseException, TracebackType | None], None]


def install(data: Callable[[], Path]) -> None:
    """Make every uncaught error end in one sentence; its report goes to `crashes` in the folder `data` finds."""
    sys.excepthook = _hook(data)


def _hook(data: Callable[[], Path]) -> Hook:
    def hook(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        what = plain_line(f"{kind.__name__}: {_first(error)}", 300)
        where = crash_report(data() / "crashes", error, trace, datetime.now(UTC))
        kept = f"The report is in {plain_line(str(where))}." if where else "No report could be written."
        sentence = f"clew: an error that should not happen ended it ({what}). What was saved is kept. {kept}"
        sys.stderr.write(sentence + "\n")

    return hook


def _first(error: BaseException) -> BaseException:
    """Return the innermost first error of a group: the one that says something."""
    if isinstance(error, BaseExceptionGroup):
        return _first(cast("BaseExceptionGroup[BaseException]", error).exceptions[0])
    return error


def crash_report(folder: Path, error: BaseException, trace: TracebackType | None, now: datetime) -> Path | None:
    """Write the traceback of `error`, readable for this user alone; None where that is impossible."""
    path = folder / f"{now:%Y%m%dT%H%M%S}-{os.getpid()}.txt"
    lines = traceback.format_exception(type(error), error, trace)
    text = f"clew, Python {sys.version}\n{now.isoformat()}\n\n{''.join(lines)}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(text.encode("utf-8", "backslashreplace"))
    except OSError:
        return None
    return path
