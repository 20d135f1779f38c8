"""The rehearsal works through a plan on a small real project, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.runs.shop import SEARCHED, make_shop

ROOT = Path(__file__).resolve().parents[2]


def clew(*words: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[bytes]:
    """Run the program in `cwd`."""
    given = {**os.environ, "PYTHONPATH": str(ROOT), "PATH": SEARCHED, **environ}
    return subprocess.run(
        [sys.executable, "-m", "tui", *words], cwd=cwd, env=given, capture_output=True, timeout=900, check=False
    )


def tidied(folder: Path, *, items: int, window: int) -> dict[str, Any]:
    """Tidy a shop in `folder`; return where the run stands at the end."""
    project = folder / "shop"
    project.mkdir()
    plan = make_shop(project, items)
    (folder / "fast.toml").write_text("pace = 0\n")
    fast = ("--provider", "rehearsal", "--model", str(folder / "fast.toml"), "--window", str(window))
    done = clew("run", str(plan), "--headless", *fast, "--approve", "all", cwd=project)
    assert done.returncode == 0, done.stderr
    return json.loads(clew("run", "status", "--json", cwd=project).stdout)
