"""What the tests of the tools share: a context over a real folder."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from tui.messages import Json
from tui.tools.base import Outcome, Preview, Tool, ToolContext
from tui.tools.text import MAX_BYTES, Bounds

__all__ = ["States", "make_context", "preview", "run"]


class States:
    """The states of files, in memory."""

    def __init__(self) -> None:
        self.hashes: dict[str, str] = {}

    def seen(self, path: str) -> str | None:
        return self.hashes.get(path)

    def note(self, path: str, sha256: str) -> None:
        self.hashes[path] = sha256


def make_context(
    root: Path,
    *,
    images: bool = False,
    settings: Mapping[str, Json] | None = None,
    progress: Callable[[str], None] = lambda _text: None,
    path: str | None = None,
    call: str = "",
    room: int = MAX_BYTES,
) -> ToolContext:
    spills = root.parent / f"{root.name}-spills"

    def spill(call_id: str, suffix: str = ".txt") -> Path:
        spills.mkdir(mode=0o700, exist_ok=True)
        file = spills / f"{call_id}{suffix}"
        file.touch(mode=0o600)
        return file

    real = Path(os.path.realpath(root))
    return ToolContext(
        root=real,
        cwd=real,
        call_id=call or os.urandom(8).hex(),
        states=States(),
        spill=spill,
        progress=progress,
        environ={"PATH": os.environ["PATH"] if path is None else path, "HOME": str(root)},
        images=images,
        bounds=Bounds(bytes=room),
        settings=settings or {},
    )


async def run(tool: Tool, ctx: ToolContext, **args: Json) -> Outcome:
    return await tool.run(ctx, args)


async def preview(tool: Tool, ctx: ToolContext, **args: Json) -> Preview:
    return await tool.preview(ctx, args)
