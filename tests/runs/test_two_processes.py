"""R3 and the lease: two processes on one run, and one that slept while another took it up."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Generator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.cli.support import environment
from tests.log.kit import stop
from tests.runs.support import Hands, call, repository, serving
from tests.runs.test_headless import PLAN
from tests.support.provider import Provider, Received, Reply
from tui.runs.state import Step

pytestmark = pytest.mark.anyio


def words(tmp_path: Path, provider: Provider, *more: str) -> list[str]:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(extra=""))
    given = ("--base-url", f"{provider.base_url}/v1", "--model", "scripted", "--window", "32000", "--provider")
    clew = [sys.executable, "-m", "tui", "run", str(plan), "--headless", *given, "openai-chat", "--approve", "all"]
    return [*clew, *more]


@contextmanager
def worker(command: list[str], project: Path) -> Generator[subprocess.Popen[str]]:
    """Run a process beside the test."""
    process = subprocess.Popen(
        command, cwd=project, env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


async def run(command: list[str], project: Path) -> subprocess.CompletedProcess[str]:
    return await anyio.to_thread.run_sync(
        partial(subprocess.run, command, cwd=project, env=environment(), capture_output=True, text=True, check=False)
    )


async def status(project: Path) -> dict[str, object]:
    done = await run([sys.executable, "-m", "tui", "run", "status", "--json"], project)
    return json.loads(done.stdout)


class Held(Hands):
    """Hands whose first answer takes until it is released."""

    def __call__(self, received: Received) -> Reply:
        if not self.asked:
            self.asked.append(received)
            return Reply(calls=(call("bash", command="touch item-1 by-the-sleeper"),), text="slow", hold=True)
        return super().__call__(received)


def database(isolated: Path) -> Path:
    (path,) = isolated.rglob("log.sqlite")
    return path


def events(path: Path) -> list[str]:
    with closing(sqlite3.connect(path)) as db:
        rows = db.execute("SELECT event FROM run_event ORDER BY seq").fetchall()
    return [type(_decode(row[0]).event).__name__ for row in rows]


def _decode(raw: bytes) -> Step:
    import msgspec

    return msgspec.json.decode(raw, type=Step)


@pytest.mark.parametrize("more", [(), ("--new",)])
async def test_a_second_process_is_refused_and_told_who_works(tmp_path: Path, more: tuple[str, ...]) -> None:
    """The same plan again, in the session of its run and in a new one."""
    project = repository(tmp_path)
    async with serving(Held()) as provider:
        command = words(tmp_path, provider)
        with worker(command, project) as first:
            await provider.request(0)
            second = await run([*command, *more], project)
            assert second.returncode == 1, second.stderr
            assert f"process {first.pid}" in second.stderr
            assert len(provider.requests) == 1
            shown = await status(project)
            assert str(first.pid) in str(shown["owner"])
            assert shown["status"] == "active"
            provider.release()
            assert await anyio.to_thread.run_sync(first.wait) == 0
        assert (await status(project))["done"] == 2


async def test_one_that_sleeps_beyond_its_lease_is_refused_when_it_wakes_up(tmp_path: Path, isolated: Path) -> None:
    project = repository(tmp_path)
    async with serving(Held()) as provider:
        command = words(tmp_path, provider)
        with worker(command, project) as sleeper:
            await provider.request(0)
            stop(sleeper)
            held = await run(command, project)
            assert held.returncode == 1, "asleep, it still holds its lease"
            with closing(sqlite3.connect(database(isolated))) as db:
                db.execute("UPDATE lease SET heartbeat=heartbeat-61000")
                db.commit()
            heir = await run([*command, "--yes"], project)
            assert heir.returncode == 0, heir.stderr
            before = events(database(isolated))
            provider.release()
            os.kill(sleeper.pid, signal.SIGCONT)
            _, said = await anyio.to_thread.run_sync(sleeper.communicate)
            assert sleeper.returncode == 1, said
        assert "took" in said or "taken" in said, said
        assert events(database(isolated)) == before
        assert before.count("Completed") == 1
        assert not (project / "by-the-sleeper").exists(), "its tools did not run"
        assert (await status(project))["done"] == 2
