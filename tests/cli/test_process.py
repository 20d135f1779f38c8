"""`clew` as a process: streams, statuses, encodings, what it imports. No session is opened here."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.support import LIMIT, clew, environment, in_terminal

NOTHING_HEAVY = """
import sys
from tui.cli import main
status = main({argv!r})
heavy = {{"textual", "rich", "httpx", "markdown_it", "pygments", "keyring"}} & set(sys.modules)
print("HEAVY", sorted(heavy), status, file=sys.stderr)
"""


@pytest.mark.parametrize("argv", [["--version"], ["--help"], ["sessions"], ["sessions", "--json"], ["doctor"], ["log"]])
def test_light_calls_import_nothing_heavy(argv: list[str]) -> None:
    code = NOTHING_HEAVY.format(argv=argv)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=environment(), check=True, stdin=subprocess.DEVNULL
    )
    assert b"HEAVY []" in done.stderr


@pytest.mark.parametrize("changes", [{"NO_COLOR": "1"}, {"TERM": "dumb"}, {"TERM": None}, {"FORCE_COLOR": "1"}, {}])
@pytest.mark.parametrize("argv", [["--help"], ["--version"], ["sessions"], ["models"], ["doctor"], ["--nope"], []])
def test_no_escape_byte_leaves_a_pipe(argv: list[str], changes: dict[str, str | None]) -> None:
    done = clew(*argv, env=changes)
    assert b"\x1b" not in done.stdout + done.stderr


def test_version_and_help_go_to_stdout() -> None:
    assert clew("--version").stdout.startswith(b"clew ")
    assert clew("--help").stdout.startswith(b"usage: clew")
    assert clew("log", "--help").returncode == 0


@pytest.mark.parametrize(
    "argv", [["--nope"], ["run"], ["--mode", "xml", "x"], ["--window", "many", "-p", "x"], ["-p"], []]
)
def test_bad_use_is_one_sentence_and_status_2(argv: list[str]) -> None:
    done = clew(*argv)
    assert done.returncode == 2
    assert done.stdout == b""
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("clew: ")


def test_a_foreign_argument_is_shown_plain() -> None:
    done = clew("--\x1b]52;c;YQ==\x07", b"--cwd=\xff\x9b")
    assert done.returncode == 2
    assert b"\x1b" not in done.stderr
    assert b"\x9b" not in done.stderr.replace("\u241b".encode(), b"")


@pytest.mark.parametrize("stdin", [b"", b"data"])
def test_without_a_terminal_and_a_prompt_there_is_a_hint(stdin: bytes) -> None:
    done = clew(stdin=stdin)
    assert done.returncode == 2
    assert b"clew -p" in done.stderr


def test_a_dumb_terminal_gets_advice_instead_of_a_screen() -> None:
    status, shown = in_terminal(env={"TERM": "dumb"})
    assert status == 2
    assert b"clew -p" in shown
    assert b"\x1b" not in shown


def test_the_app_is_drawn_on_the_terminal_wherever_stderr_goes(tmp_path: Path) -> None:
    status, shown = in_terminal("--no-session", typed=b"\x04", after=b"Enter", cwd=tmp_path, errors=tmp_path / "errors")
    assert status == 0
    assert b"Enter" in shown
    assert b"\x1b" not in (tmp_path / "errors").read_bytes()


@pytest.mark.parametrize(
    ("name", "words"), [("", b"--cwd is empty"), ("x" * 5_000, b"name too long"), ("file", b"is not a directory")]
)
def test_a_directory_that_cannot_be_used_is_told(name: str, words: bytes, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    done = clew("--cwd", name, "-p", "x", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert words in done.stderr


def test_settings_that_cannot_be_used_say_that_nothing_was_done(isolated: Path) -> None:
    (isolated / "settings.toml").write_text("model = ")
    done = clew("-p", "x", env={"CLEW_HOME": str(isolated)})
    assert done.returncode == 2
    assert done.stderr.startswith(f"clew: {isolated}/settings.toml: it is not TOML".encode())
    assert done.stderr.endswith(b" Nothing was done.\n")


def test_a_missing_directory_is_named() -> None:
    done = clew("--cwd", "/no/such/place", "-p", "x")
    assert done.returncode == 2
    assert b"/no/such/place" in done.stderr


@pytest.mark.parametrize("argv", [["sessions"], ["doctor"], ["log"], ["models"], ["-p", "x"]], ids=" ".join)
@pytest.mark.parametrize("home", ["a file", "of no user", "too long"])
def test_a_home_that_is_no_folder_is_one_sentence(argv: list[str], home: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("kept")
    name = {"a file": str(file), "of no user": "~nosuchuser/x", "too long": "/" + "x" * 5_000}[home]
    done = clew(*argv, env={"CLEW_HOME": name}, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("clew: CLEW_HOME")
    assert len(line) < 600
    assert file.read_text() == "kept"


def test_a_deleted_working_directory_is_no_traceback(tmp_path: Path) -> None:
    script = f'mkdir {tmp_path}/gone && cd {tmp_path}/gone && rmdir {tmp_path}/gone && exec "$0" -m tui -p x </dev/null'
    done = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, env=environment(), check=False)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&-", "<&- >&- 2>&-"])
def test_closed_streams_are_no_traceback(closed: str) -> None:
    script = f'exec "$0" -m tui sessions {closed}'
    done = subprocess.run(["sh", "-c", script, sys.executable], capture_output=True, env=environment(), check=False)
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr, "closed as it should be when the interpreter ends"
    assert done.returncode == 0


def test_a_reader_that_has_gone_is_no_traceback() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, "-m", "tui", "--help"]
    with os.fdopen(writer, "wb") as gone:
        done = subprocess.run(command, stdout=gone, stderr=subprocess.PIPE, env=environment(), check=False)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no full device")
def test_a_full_device_is_one_sentence() -> None:
    with Path("/dev/full").open("wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "tui", "--help"], stdout=full, stderr=subprocess.PIPE, env=environment(), check=False
        )
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert b"space" in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "latin-1", "utf-8"])
def test_no_encoding_can_raise(encoding: str, tmp_path: Path) -> None:
    folder = tmp_path / "日本語 ✓"
    folder.mkdir()
    (folder / "clew.toml").write_text("")
    done = clew("sessions", "--cwd", str(folder), "--wörds", env={"PYTHONIOENCODING": encoding})
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


def test_an_error_nobody_expected_is_one_sentence_and_a_private_report(isolated: Path) -> None:
    code = "import sys\nfrom tui import crash\nfrom pathlib import Path\n"
    code += (
        f"crash.install(lambda: Path({str(isolated)!r}))\nsecret = 'sk-' + 'hidden'\nraise RuntimeError('a\\x1b[2Jb')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment(), check=False)
    assert done.returncode == 1
    (line,) = done.stderr.decode().splitlines()
    assert "should not happen" in line
    assert "\x1b" not in line
    (report,) = (isolated / "crashes").iterdir()
    assert str(report) in line
    assert stat.S_IMODE(report.stat().st_mode) == 0o600
    assert stat.S_IMODE(report.parent.stat().st_mode) == 0o700
    assert "RuntimeError" in report.read_text()
    assert "sk-hidden" not in report.read_text()


def test_a_report_that_cannot_be_written_is_no_second_error() -> None:
    code = "from tui import crash\nfrom pathlib import Path\n"
    code += "crash.install(lambda: Path('/dev/null/x'))\nraise RuntimeError"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment(), check=False)
    assert done.returncode == 1
    assert b"No report could be written" in done.stderr
    assert b"Traceback" not in done.stderr


def test_nothing_is_created_by_looking(isolated: Path) -> None:
    for argv in (["sessions"], ["doctor"], ["models"], ["--version"]):
        assert clew(*argv).returncode == 0
    assert clew("log").returncode == 1
    assert not (isolated / "clew").exists()


def test_models_as_json_are_a_list() -> None:
    models = json.loads(clew("models", "--json").stdout)
    assert [info["id"] for info in models] == ["rehearsal"]
    assert clew("models").stdout.startswith(b"rehearsal")


def test_a_silent_pipe_says_what_is_waited_for() -> None:
    reader, writer = os.pipe()
    child = subprocess.Popen(
        [sys.executable, "-m", "tui", "-p", "x", "--cwd", "."], stdin=reader, stderr=subprocess.PIPE, env=environment()
    )
    os.close(reader)
    assert child.stderr is not None
    try:
        assert b"waiting for stdin" in child.stderr.readline()
    finally:
        child.kill()
        os.close(writer)
        child.communicate(timeout=LIMIT)
