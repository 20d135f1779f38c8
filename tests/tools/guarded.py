"""A program that runs one tool call and waits for its end: for tests that kill it in the middle.

python -m tests.tools.guarded TOOL FOLDER ARGUMENTS
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio

from tests.tools.support import make_context, run
from tui.tools.bash import BASH
from tui.tools.launch import capture


async def main(tool: str, root: str, args: str) -> None:
    ctx = make_context(Path(root))
    given = json.loads(args)
    if tool == "bash":
        await run(BASH, ctx, **given)
    else:
        await capture(["/bin/sh", "-c", given["command"]], mark=ctx.call_id, env=ctx.environ)


if __name__ == "__main__":
    anyio.run(main, sys.argv[1], sys.argv[2], sys.argv[3])
