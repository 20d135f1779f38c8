"""The rehearsal on this very repository: it lists, reads, searches and answers from what is really there."""

from __future__ import annotations

import json
import re
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
