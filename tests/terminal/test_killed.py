"""What a person sees after clew was killed in the middle of a command, in a real terminal, and in print mode."""

from __future__ import annotations

import os
import re
import resource
import shlex
import shutil
import signal
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.agent.test_stopping import running
from tests.cli.support import clew
from tests.terminal.emulator import CLEW
from tests.terminal.test_tmux import Tmux

pytestmark = pytest.mark.skipif(shutil.which("tmux") is None, reason="tmux is not installed")
COMMAND = "sh nap.sh"


@pytest.fixture
def tmux(tmp_path: Path) -> Iterator[Tmux]:
    server = Tmux(tmp_path)
    yield server
    server.close()


def run_a_command(tmux: Tmux, project: Path) -> int:
    """Let clew run a command that does not end; return clew's process id."""
    project.mkdir()
    (project / "nap.sh").write_text("echo $$ > nap.pid\nexec sleep 600\n")
    script = f"echo $$ > clew.pid; exec {shlex.join(CLEW)} --approve all"
    tmux.type(f"cd {shlex.quote(str(project))} && sh -c {shlex.quote(script)}\n")
    tmux.until("● ready")
    tmux.type(f"run `{COMMAND}`")
    tmux.press("Enter")
    tmux.until(lambda screen: "running" in screen and (project / "nap.pid").exists())
    return int((project / "clew.pid").read_text())


def test_after_a_kill_one_line_says_what_ran_and_two_keys_lead_on(tmux: Tmux, tmp_path: Path) -> None:
    os.kill(run_a_command(tmux, tmp_path / "project"), signal.SIGKILL)
    tmux.until("illed")  # says the shell
    tmux.type(f"reset; clear; {shlex.join(CLEW)} -c\n")
    tmux.until(f"Interrupted while running `{COMMAND}`; effects unknown. /continue goes on.")
    shown = tmux.until("F6 review")
    assert re.search(r"F5 continue +F6 review", shown)
    tmux.press("F6")
    tmux.until(lambda screen: re.search(rf"effects unknown +`{COMMAND}`", screen) is not None)
    tmux.press("Escape")
    tmux.until(lambda screen: "What was done" not in screen)
    tmux.press("F5")
    tmux.until(lambda screen: "answered" in screen and "F6 review" not in screen)
    tmux.press("C-d")
    tmux.until("Continue with: clew -r")


def stored_draft(home: Path) -> str:
    """Return the draft as the log has it at this moment."""
    for path in home.rglob("log.sqlite"):
        with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as db:
            row = db.execute("SELECT data FROM scratch WHERE name='draft'").fetchone()
            return bytes(row[0]).decode() if row else ""
    return ""


def test_draft_queue_and_earlier_prompts_come_back_after_a_kill(tmux: Tmux, tmp_path: Path, isolated: Path) -> None:
    process = run_a_command(tmux, tmp_path / "project")
    tmux.type("after that, this")
    tmux.press("C-t")
    tmux.until(lambda screen: screen.count("after that, this") == 1 and "❯ after" not in screen)
    tmux.type("half a dra")
    tmux.until(lambda _screen: stored_draft(isolated) == "half a dra")
    os.kill(process, signal.SIGKILL)
    tmux.until("illed")
    tmux.type(f"reset; clear; {shlex.join(CLEW)} -c\n")
    tmux.until("F6 review")
    tmux.until("❯ half a dra")
    tmux.until("after that, this")
    tmux.press("C-c")
    tmux.press("Up")
    tmux.until("❯ after that, this")
    tmux.press("Up")
    tmux.until(f"❯ run `{COMMAND}`")


def test_print_mode_says_it_on_stderr(tmux: Tmux, tmp_path: Path) -> None:
    project = tmp_path / "project"
    os.kill(run_a_command(tmux, project), signal.SIGKILL)
    tmux.until("illed")
    done = clew("-p", "list the files", "-c", cwd=project)
    assert done.returncode == 0, done.stderr
    assert f"Interrupted while running `{COMMAND}`; effects unknown.".encode() in done.stderr
    assert b"Interrupted" not in done.stdout


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_in_the_middle_of_a_command_ends_it_in_order(
    number: signal.Signals, tmux: Tmux, tmp_path: Path
) -> None:
    os.kill(run_a_command(tmux, tmp_path / "project"), number)
    tmux.until("Continue with: clew -r")
    assert not running(int((tmp_path / "project" / "nap.pid").read_text())), "the command has ended with it"
    found = clew("log", cwd=tmp_path / "project")
    assert found.stdout.count(b'"kind":"result"') == 1
    assert b"Effects unknown" in found.stdout
    assert b'"reason":"interrupted"' in found.stdout


def test_suspended_in_the_middle_of_a_command_and_continued(tmux: Tmux, tmp_path: Path) -> None:
    pid = run_a_command(tmux, tmp_path / "project")
    os.kill(pid, signal.SIGTSTP)
    tmux.until("topped")  # says the shell
    tmux.type("fg\n")
    tmux.until(lambda screen: "running" in screen and COMMAND in screen)
    tmux.press("Escape")
    tmux.until("● ready")
    tmux.type("list the files")
    tmux.press("Enter")
    tmux.until("answered")
    tmux.press("C-d")
    tmux.until("Continue with: clew -r")
    assert clew("doctor", cwd=tmp_path / "project").returncode == 0


def test_a_full_disk_is_a_banner_that_stays_and_no_promise_at_the_end(tmux: Tmux, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    script = f"ulimit -f 700; exec {shlex.join(CLEW)} --approve all"
    tmux.type(f"cd {shlex.quote(str(project))} && sh -c {shlex.quote(script)}\n")
    tmux.until("● ready")
    tmux.type("run `seq 200000`")
    tmux.press("Enter")
    tmux.until("Nothing after this is saved")
    tmux.press("C-d")
    tmux.until("Not all of this session could be saved. Go on from what was with: clew -r")
    tmux.type(f"clear; {shlex.join(CLEW)} -c\n")
    tmux.until("/continue goes on.")
    tmux.press("C-d")
    tmux.until("Continue with: clew -r")
    assert clew("doctor", cwd=project).returncode == 0


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux changes the limits of another process")
def test_when_the_disk_has_room_again_one_key_goes_on_in_the_same_window(tmux: Tmux, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    script = f"ulimit -S -f 700; echo $$ > {shlex.quote(str(tmp_path / 'pid'))}; exec {shlex.join(CLEW)} --approve all"
    tmux.type(f"cd {shlex.quote(str(project))} && sh -c {shlex.quote(script)}\n")
    tmux.until("● ready")
    tmux.type("run `seq 200000`")
    tmux.press("Enter")
    tmux.until("Nothing after this is saved")
    pid = int((tmp_path / "pid").read_text())
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    tmux.press("F5")
    tmux.until(lambda screen: "Nothing after this" not in screen and "/continue goes on." in screen)
    tmux.type("list the files")
    tmux.press("Enter")
    tmux.until("answered")
    assert "Nothing after this is saved" not in tmux.screen
    tmux.press("C-d")
    tmux.until("Continue with: clew -r")
    assert clew("doctor", cwd=project).returncode == 0
