"""The rehearsal on this very repository: it lists, reads, searches and answers from what is really there."""

from __future__ import annotations

import json
import re
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import ROOT, clew


def used(events: list[dict[str, Any]]) -> set[str]:
    """Return the names of the tools that ran."""
    entries = [event["entry"] for event in events if event["type"] == "entry"]
    return {entry["body"]["message"]["name"] for entry in entries if entry["kind"] == "result"}


@pytest.mark.parametrize(
    ("prompt", "tools", "facts"),
    [
        ("List the files in tui/log.", {"ls"}, [path.name for path in (ROOT / "tui" / "log").glob("*.py")]),
        (
            "What does tui/log/lease.py do?",
            {"read"},
            [f"{len((ROOT / 'tui/log/lease.py').read_text().splitlines())} lines", "class Lease"],
        ),
        ("Where is FastScreen defined?", {"grep"}, ["tui/screens/fast.py"]),
        (
            "Which files import pathspec?",
            {"grep"},
            [
                str(p.relative_to(ROOT))
                for p in (ROOT / "tui").rglob("*.py")
                if re.search(r"^(from|import) pathspec", p.read_text(), re.MULTILINE)
            ],
        ),
    ],
)
def test_it_answers_from_what_is_there(prompt: str, tools: set[str], facts: list[str]) -> None:
    done = clew("--mode", "json", "--no-session", "--provider", "rehearsal", "-p", prompt, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    assert tools <= used(events)
    assert facts
    assert [fact for fact in facts if fact not in events[-1]["text"]] == []


TASKS = """\
1. Read tui/context/handoff.py and explain it.
2. Where is ToolContext used?
3. List the functions in tui/agent/gate.py.
4. Read tui/log/store.py.
5. Create notes.md containing `Looked at all of it.`
6. Search for `projected`.
7. Read tui/context/usage.py.
"""


@pytest.mark.parametrize(("window", "handoffs"), [(6_000, 5), (8_000, 3), (12_000, 2)])
def test_a_task_goes_through_handoffs_and_ends_whatever_the_window(tmp_path: Path, window: int, handoffs: int) -> None:
    (tmp_path / "fast.toml").write_text("pace = 0\n")
    (tmp_path / "p").mkdir()
    shutil.copytree(ROOT / "tui", tmp_path / "p" / "tui", ignore=shutil.ignore_patterns("__pycache__"))
    fast = ("--provider", "rehearsal", "--model", str(tmp_path / "fast.toml"), "--window", str(window))
    done = clew("-p", TASKS, *fast, "--approve", "all", cwd=tmp_path / "p")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "p" / "notes.md").read_text().strip() == "Looked at all of it."
    found = json.loads(clew("info", "--json", cwd=tmp_path / "p").stdout)
    assert (found["handoff"]["phase"], found["handoff"]["last_error"]) == ("answered", None)
    assert handoffs <= found["handoff"]["done"] <= 12
    made = [checkpoint for checkpoint in found["checkpoints"] if checkpoint["origin"] == "self"]
    assert len(made) == found["handoff"]["done"]
    assert {checkpoint["task_sha256"] for checkpoint in made} == {sha256(TASKS.encode()).hexdigest()}
    for number in (2, 5, 6):
        assert f"{number}. {TASKS.splitlines()[number - 1][3:]}: " in done.stdout.decode()
    assert (b"more did not fit into the context" in done.stdout) == (window < 12_000)
