"""bash: real processes, and nothing of them left."""

from __future__ import annotations

import math
import os
import shlex
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.tools.support import make_context, preview, run
from tui.tools.base import Effect, Outcome, ToolContext, ToolError
from tui.tools.bash import BASH

pytestmark = pytest.mark.anyio

PYTHON = shlex.quote(sys.executable)


def alive(pid: int) -> bool:
    """Whether a process still runs; one that has ended and waits to be collected does not."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    stat = Path(f"/proc/{pid}/stat")
    try:
        return stat.read_bytes().rpartition(b")")[2].split()[0] not in (b"Z", b"X")
    except OSError:
        return not Path("/proc/self").exists()


def pids(outcome: Outcome) -> list[int]:
    return [int(line) for line in outcome.text.split("\n") if line.isdigit()]


async def bash(root: Path, command: str, **args: float) -> Outcome:
    return await run(BASH, make_context(root), command=command, **args)


async def test_output_status_and_folder(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "pwd; echo err >&2; echo out")
    assert outcome.text == f"{os.path.realpath(tmp_path)}\nerr\nout"
    assert not outcome.is_error
    assert outcome.details["type"] == "bash"
    assert (outcome.details["exit"], outcome.details["timed_out"], outcome.details["spill"]) == (0, False, "")


async def test_a_silent_command_has_a_result(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "mkdir -p x")
    assert outcome.text == "(no output)"
    assert (tmp_path / "x").is_dir()


async def test_failure_is_an_error_with_its_status(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "echo no; exit 3")
    assert outcome.is_error
    assert outcome.text == "no\n[exit status 3]"
    assert outcome.details["exit"] == 3


async def test_signals_are_named(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "kill -9 $$")
    assert outcome.text == "(no output)\n[ended by signal 9 (SIGKILL)]"
    assert (outcome.details["exit"], outcome.details["signal"]) == (-9, "SIGKILL")
    outcome = await bash(tmp_path, "sh -c 'kill -15 $$' 2>/dev/null; exit $?")
    assert "[exit status 143 (128 + 15: SIGTERM)]" in outcome.text


async def test_the_time_limit_ends_the_whole_tree_and_keeps_the_output(tmp_path: Path) -> None:
    loop = f"{PYTHON} -c 'while True: pass'"
    outcome = await bash(tmp_path, f"echo $$; {loop} & echo $!; sleep 600", timeout=0.5)
    assert outcome.is_error
    assert outcome.details["timed_out"] is True
    assert "[stopped after 0.5 s: the time limit." in outcome.text
    assert len(pids(outcome)) == 2
    assert not any(alive(pid) for pid in pids(outcome))


async def test_a_child_that_ignores_term_is_killed(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "(trap '' TERM; sleep 600) & echo $!; wait", timeout=0.3)
    assert outcome.details["timed_out"] is True
    assert len(pids(outcome)) == 1
    assert not alive(pids(outcome)[0])


async def test_groups_of_job_control_are_ended_too(tmp_path: Path) -> None:
    # `set -m` gives every job a process group of its own; the session is still one.
    outcome = await bash(tmp_path, "set -m; sleep 600 & echo $!; timeout 600 sleep 600", timeout=0.3)
    assert len(pids(outcome)) == 1
    assert not alive(pids(outcome)[0])


@pytest.mark.parametrize("redirect", ["", ">/dev/null", "2>/dev/null", ">/dev/null 2>&1"])
async def test_a_background_process_cannot_hang_the_call_and_ends_with_it(tmp_path: Path, redirect: str) -> None:
    outcome = await bash(tmp_path, f"sleep 600 {redirect} & echo $!; echo done")
    assert "done" in outcome.text
    assert "[a background process was still running when the shell ended; ended with it]" in outcome.text
    assert not outcome.is_error
    assert not alive(pids(outcome)[0])


@pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid")
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_a_daemon_is_reported(tmp_path: Path) -> None:
    # The pipe tells that it has left the session, however slow the machine is.
    daemon = "setsid sh -c 'echo up >p; exec sleep 600' >/dev/null 2>&1"
    outcome = await bash(tmp_path, f"mkfifo p; {daemon} & read -r said <p; echo $said")
    (survivor,) = outcome.details["survivors"]
    try:
        assert outcome.text.startswith("up\n")
        assert "sleep 600" in survivor["command"]
        assert alive(survivor["pid"])
        assert f"[still running in a session of its own: {survivor['pid']} (" in outcome.text
    finally:
        os.kill(survivor["pid"], signal.SIGKILL)


class Watch:
    """Cancels a call once its output says so, and keeps the output."""

    def __init__(self, wanted: str) -> None:
        self.text = ""
        self.seen = anyio.Event()
        self._wanted = wanted

    def show(self, text: str) -> None:
        self.text += text
        if self._wanted in self.text:
            self.seen.set()

    @property
    def pids(self) -> list[int]:
        return [int(line) for line in self.text.split("\n") if line.isdigit()]


async def cancelled(root: Path, command: str, wanted: str = "ready") -> Watch:
    watch = Watch(wanted)
    ctx = make_context(root, progress=watch.show)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(lambda: run(BASH, ctx, command=command))
        await watch.seen.wait()
        tasks.cancel_scope.cancel()
    return watch


async def test_cancel_ends_the_whole_tree(tmp_path: Path) -> None:
    watch = await cancelled(tmp_path, "echo $$; sleep 600 & echo $!; echo ready; sleep 600")
    assert len(watch.pids) == 2
    assert not any(alive(pid) for pid in watch.pids)


async def test_cancel_ends_what_ignores_term(tmp_path: Path) -> None:
    watch = await cancelled(tmp_path, "trap '' TERM; (trap '' TERM HUP INT; sleep 600) & echo $!; echo ready; wait")
    assert len(watch.pids) == 1
    assert not any(alive(pid) for pid in watch.pids)


@pytest.mark.skipif(shutil.which("setsid") is None, reason="needs setsid")
@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs /proc")
async def test_cancel_ends_daemons_too(tmp_path: Path) -> None:
    command = "setsid sh -c 'echo $$; echo ready; exec sleep 600' & sleep 600"
    watch = await cancelled(tmp_path, command)
    assert len(watch.pids) == 1
    assert not alive(watch.pids[0])


async def test_cancel_ends_a_flood(tmp_path: Path) -> None:
    watch = await cancelled(tmp_path, "echo $$ > pid; exec yes ready")
    assert watch.text
    assert not alive(int((tmp_path / "pid").read_text()))


async def test_cancel_before_the_start_leaves_nothing(tmp_path: Path) -> None:
    ctx = make_context(tmp_path)
    with anyio.CancelScope() as scope:
        scope.cancel()
        await run(BASH, ctx, command="echo $$ > pid; sleep 600")
    assert scope.cancelled_caught
    file = tmp_path / "pid"
    assert not file.exists() or not file.read_text().strip() or not alive(int(file.read_text()))


async def test_input_is_at_its_end(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "cat; echo foreground; cat & wait; echo background; read x || echo none")
    assert outcome.text == "foreground\nbackground\nnone"


async def test_there_is_no_terminal(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, f"""{PYTHON} -c "open('/dev/tty').read(1)" """)
    assert outcome.is_error
    assert "/dev/tty" in outcome.text
    outcome = await bash(tmp_path, "tty; test -t 0 || test -t 1 || test -t 2 || echo no terminal")
    assert "no terminal" in outcome.text


async def test_a_password_prompt_fails_at_once(tmp_path: Path) -> None:
    script = "import getpass, warnings; warnings.simplefilter('ignore'); getpass.getpass('Password: ')"
    outcome = await bash(tmp_path, f'{PYTHON} -c "{script}"')
    assert outcome.is_error
    assert "EOFError" in outcome.text


@pytest.mark.skipif(shutil.which("git") is None, reason="needs git")
async def test_git_opens_no_editor(tmp_path: Path) -> None:
    identity = "git config user.email a@b; git config user.name a"
    conflict = (
        f"git init -q -b main . && {identity}; echo 1 > f; git add f; git commit -qm one; git checkout -qb side; "
        "echo 2 > f; git commit -qam two; git checkout -q main; echo 3 > f; git commit -qam three; "
        "git checkout -q side; git rebase -q main; echo 4 > f; git add f; git rebase --continue && git log --format=%s"
    )
    outcome = await bash(tmp_path, conflict)
    assert outcome.text.endswith("two\nthree\none")


async def test_the_environment_is_quiet_and_the_callers(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, 'echo "$PAGER $TERM $GIT_TERMINAL_PROMPT $HOME ${FORCE_COLOR-unset}"')
    assert outcome.text == f"cat dumb 0 {tmp_path} unset"


async def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, r"printf '\xf0'")
    assert outcome.text == "\ufffd\n[binary output, 1 byte]"
    outcome = await bash(tmp_path, "head -c 5000 /dev/urandom; printf '\\0'")
    assert outcome.text.endswith("[binary output, 5,001 bytes]")
    outcome.text.encode()


async def test_odd_file_names_are_valid_text(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, r"""touch $'bad\xff.txt'; ls -N 2>/dev/null || ls""")
    outcome.text.encode()
    assert ".txt" in outcome.text


async def test_progress_lines_show_their_last_state(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, r"printf '10%%\r20%%\r\033[K30%%\n\033[2Aup'")
    assert outcome.text == "30%\nup"


async def test_no_rest_of_a_sequence_stays(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, r"printf '\033[?1049h\033[?1000h\033[1;1H\033]0;title\007text\033[0m\033(B'")
    assert outcome.text == "text"


async def test_output_at_the_limits_is_whole(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "seq 2000")
    assert outcome.text == "\n".join(map(str, range(1, 2_001)))
    outcome = await bash(tmp_path, f"""{PYTHON} -c "print(('x' * 199 + '\\n') * 256, end='')" """)
    assert outcome.text == "\n".join(["x" * 199] * 256)
    assert outcome.details["truncated"] is False
    outcome = await bash(tmp_path, f"""{PYTHON} -c "print(('x' * 200 + '\\n') * 200, end='')" """)
    assert outcome.text == "\n".join(["x" * 200] * 200)


async def test_one_line_more_is_cut_and_kept_whole_in_a_file(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "seq 2001")
    whole = b"".join(b"%d\n" % n for n in range(1, 2_002))
    assert outcome.details["truncated"] is True
    assert Path(outcome.details["spill"]).read_bytes() == whole
    assert outcome.full == whole
    assert "[… 1 line (4 bytes) cut here; the whole output is in " in outcome.text
    assert outcome.text.startswith("1\n2\n")
    assert outcome.text.endswith("\n2000\n2001")


async def test_one_enormous_line(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, f"""{PYTHON} -c "print('x' * 2_000_000)" """)
    assert len(outcome.text.encode()) < 52 * 1024
    assert Path(outcome.details["spill"]).stat().st_size == 2_000_001
    assert Path(outcome.details["spill"]).stat().st_mode & 0o077 == 0


async def test_a_flood_until_the_limit(tmp_path: Path) -> None:
    outcome = await bash(tmp_path, "yes", timeout=0.3)
    assert outcome.details["timed_out"] is True
    assert len(outcome.text.encode()) < 52 * 1024
    assert Path(outcome.details["spill"]).stat().st_size <= 64 << 20


async def test_a_spill_that_fails_costs_the_file_not_the_command(tmp_path: Path) -> None:
    root = tmp_path / "ws"
    root.mkdir()
    (tmp_path / "ws-spills").write_text("in the way")
    outcome = await bash(root, "seq 3000")
    assert "the whole output could not be kept" in outcome.text
    assert outcome.text.rstrip().endswith("3000")


async def test_output_is_live(tmp_path: Path) -> None:
    seen: list[str] = []
    await run(BASH, make_context(tmp_path, progress=seen.append), command="echo é; printf '1\\r2'")
    assert "".join(seen) == "é\n2"


async def test_silence_is_told_on_the_screen_and_not_in_the_result(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    watch = Watch("no output for")
    ctx = make_context(tmp_path, progress=watch.show, settings={"bash.idle": 0.1})

    async def let_on() -> None:
        await watch.seen.wait()
        await anyio.to_thread.run_sync((tmp_path / "gate").write_text, "on\n")

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(let_on)
        assert (await run(BASH, ctx, command="cat gate")).text == "on"
    assert "the command has no terminal and no input. Esc stops it]" in watch.text


@pytest.mark.parametrize("command", ["", "  \n", "a\0b"])
async def test_no_command(tmp_path: Path, command: str) -> None:
    ctx = make_context(tmp_path)
    assert (await preview(BASH, ctx, command=command)).error
    with pytest.raises(ToolError, match="Nothing was run"):
        await run(BASH, ctx, command=command)


@pytest.mark.parametrize("timeout", [0.0, -1.0, 3_601.0, math.inf, math.nan])
async def test_limits_that_are_none(tmp_path: Path, timeout: float) -> None:
    with pytest.raises(ToolError, match="at most 3600 seconds"):
        await bash(tmp_path, "true", timeout=timeout)


async def test_the_setting_is_the_default_limit(tmp_path: Path) -> None:
    ctx = make_context(tmp_path, settings={"bash.timeout": 0.2})
    outcome = await run(BASH, ctx, command="sleep 600")
    assert "[stopped after 0.2 s" in outcome.text


def without_shell(root: Path) -> ToolContext:
    return make_context(root, settings={"bash.shell": str(root / "none")})


def without_folder(root: Path) -> ToolContext:
    gone = root / "gone"
    gone.mkdir()
    ctx = make_context(gone)
    gone.rmdir()
    return ctx


@pytest.mark.parametrize("make", [without_shell, without_folder])
async def test_what_cannot_be_started(tmp_path: Path, make: Callable[[Path], ToolContext]) -> None:
    with pytest.raises(ToolError, match=r"could not be started: No such file.*Nothing was run"):
        await run(BASH, make(tmp_path), command="true")


async def test_preview_is_the_command_itself(tmp_path: Path) -> None:
    shown = await preview(BASH, make_context(tmp_path), command="echo a\u202eb\nrm x")
    assert shown.effect is Effect.EXECUTE
    assert shown.command == "echo a\u202eb\nrm x"
    assert shown.title == "echo a\\u202eb"
    assert "text direction controls" in shown.warning


async def test_no_descriptor_is_left(tmp_path: Path) -> None:
    await bash(tmp_path, "true")
    before = len(list(Path("/dev/fd").iterdir()))
    for _ in range(5):
        await bash(tmp_path, "seq 3000")
    assert len(list(Path("/dev/fd").iterdir())) == before
