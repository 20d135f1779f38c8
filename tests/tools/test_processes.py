"""Processes by session and by mark."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tui.tools.guardian import pids
from tui.tools.processes import MARK, in_session, kill, marked, signal_name


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-c", "import sys; print(flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, MARK: "this-call"},
        start_new_session=True,
    )
    with process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_found_by_session_until_it_has_ended(child: subprocess.Popen[bytes]) -> None:
    assert in_session(child.pid) == (child.pid,)
    kill([child.pid], signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    # Ended, not yet collected: no survivor.
    assert in_session(child.pid) == ()


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
def test_found_by_its_mark_and_no_other(child: subprocess.Popen[bytes]) -> None:
    (found,) = marked("this-call")
    assert found.pid == child.pid
    assert found.command.startswith(sys.executable)
    assert marked("this") == ()


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_without_proc_ps_names_the_processes(child: subprocess.Popen[bytes], tmp_path: Path) -> None:
    assert {os.getpid(), child.pid} <= set(pids(tmp_path))


def test_killing_what_is_gone_is_no_error(child: subprocess.Popen[bytes]) -> None:
    child.kill()
    child.wait()
    kill([child.pid], signal.SIGTERM)


def test_names() -> None:
    assert signal_name(9) == "SIGKILL"
    assert signal_name(999) == "signal 999"
