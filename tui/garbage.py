"""When garbage is looked for: not while a start imports, and afterwards only among what came later."""

from __future__ import annotations

import gc

__all__ = ["hold", "release"]


def hold() -> None:
    """Look for none: nothing that is imported is garbage, and looking costs a sixth of the start."""
    gc.disable()


def release() -> None:
    """Look again, but never through what is there now: it stays."""
    gc.freeze()
    gc.set_threshold(20_000, 10, 20)
    gc.enable()
