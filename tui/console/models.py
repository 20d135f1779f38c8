"""`clew models`: the models that can be used with the keys that are there."""

from __future__ import annotations

import os
import sys

import msgspec

from tui.log.jsonl import as_line
from tui.models.base import ModelInfo
from tui.models.factory import list_models
from tui.plain import plain_line
from tui.streams import write_bytes

__all__ = ["show_models"]


def show_models(*, as_json: bool) -> int:
    """Print the models, the rehearsal last."""
    models = list_models(os.environ)
    if as_json:
        write_bytes(as_line([msgspec.to_builtins(info) for info in models]))
        return 0
    for info in models:
        sys.stdout.write(_row(info) + "\n")
    return 0


def _row(info: ModelInfo) -> str:
    """Return one model as a line. Its id and address may be a server's words (llama.cpp#28969)."""
    where = plain_line(info.base_url) or "built in"
    return f"{plain_line(info.id):<36}  {plain_line(info.provider):<16}  {info.window:>9,}  {where}"
