"""The long shows of runs: `python -m tests.runs`.

A dozen items on a real project by the rehearsal, through handoffs; and fifty items through ten and more, with
a scripted model.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

import anyio

from tests.runs.fifty import fifty
from tests.runs.tidying import tidied


def main() -> int:
    """Run both and say what came of them."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ["CLEW_HOME"] = f"{folder}/home"
        shown = tidied(Path(folder), items=12, window=10_000)
        accepted = sum(item["status"] == "accepted" for item in shown["items"])
        sys.stdout.write(f"the shop: {accepted} of 12 accepted, {shown['handoffs']} handoffs\n")
        state = anyio.run(fifty, Path(folder), 50, 5)
        done = sum(item.status == "accepted" for item in state.items)
        sys.stdout.write(f"the long list: {done} of 50 accepted, {state.handoffs} handoffs\n")
    return 0 if accepted == 12 and shown["handoffs"] >= 2 and done == 50 and state.handoffs >= 10 else 1


if __name__ == "__main__":
    raise SystemExit(main())
