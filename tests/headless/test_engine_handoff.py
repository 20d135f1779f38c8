"""Handoffs with a real engine: it writes the summary, it gets the note, and its own figures say how full it is."""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import clew, environment
from tests.support.engine import Engine, running_engine
from tests.support.provider import Call, Provider, Reply

pytestmark = pytest.mark.xdist_group("engine")
WINDOW = 2_816
TASK = "Count the cranes."
NOTE = "  Say: the cranes are counted.\r\n\tThere were three. é {{tokens}} [/red]  "
TOWN = "The harbour of the town has three quays, and each has a crane.\n"


@pytest.fixture(scope="module")
def large() -> Generator[Engine, None, None]:
    """An engine with one slot that holds a short handoff."""
    with running_engine(WINDOW, 1) as running:
        yield running


def entries(tmp_path: Path) -> list[dict[str, Any]]:
    done = clew("log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def bodies(found: list[dict[str, Any]], kind: str) -> list[dict[str, Any]]:
    return [entry["body"] for entry in found if entry["kind"] == kind]


def at(engine: Engine, protocol: str, window: int) -> list[str]:
    url = engine.base_url + ("/v1" if protocol == "openai-chat" else "")
    return ["--provider", protocol, "--base-url", url, "--model", "smollm2", "--window", str(window)]


def run(*words: str, cwd: Path, env: dict[str, str]) -> subprocess.CompletedProcess[bytes]:
    """Run `clew` for as long as a small engine on a slow machine may take."""
    return subprocess.run(
        [sys.executable, "-m", "tui", *words],
        cwd=cwd,
        env=env,
        capture_output=True,
        stdin=subprocess.DEVNULL,
        check=False,
        timeout=600,
    )


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic"])
def test_the_engine_finishes_a_handoff_that_another_server_failed(large: Engine, protocol: str, tmp_path: Path) -> None:
    env = {**environment(), "CLEW_ON_SUMMARY_FAILURE": "pointer"}
    work = Reply(text=TOWN * 110, piece=500, calls=(Call("ls", "{}"),))
    saved = Reply(calls=(Call("self_compact", json.dumps({"note_to_self": NOTE})),))
    refusal = Reply(status=400, body='{"error": {"message": "no"}}')
    with Provider(work, saved, refusal, repeat_last=True) as provider:
        where = ["--base-url", provider.base_url + "/v1", "--model", "scripted", "--window", "8000"]
        done = clew("-p", TASK, *where, cwd=tmp_path)
    assert done.returncode == 4, done.stderr
    done = run("-c", "-p", "Say hello.", *at(large, protocol, 6_000), cwd=tmp_path, env=env)
    assert done.returncode in (0, 1), done.stderr  # so small a model may talk until its window is full
    found = entries(tmp_path)
    (checkpoint,) = bodies(found, "checkpoint")
    assert checkpoint["summary"].strip()
    assert checkpoint["task"]["sha256"] == hashlib.sha256(TASK.encode()).hexdigest()
    sent = [body for body in bodies(found, "prompt") if body.get("origin") == "continuation"]
    assert [body["queued"] for body in sent] == [checkpoint["cycle"]]
    assert sent[0]["message"]["content"][0]["text"].startswith(NOTE + "\n\n<continuation>")
    phases = [body["phase"] for body in bodies(found, "handoff")]
    assert phases[:3] == ["saved", "compacting", "failed"]
    assert phases[3:6] == ["compacting", "ready", "delivered"]
    reported = [body["message"].get("usage", {}) for body in bodies(found, "answer")][-1]
    assert 300 < reported.get("input", 0) + reported.get("cache_read", 0) < WINDOW, "the engine's own count"
