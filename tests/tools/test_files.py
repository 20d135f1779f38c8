"""Files: opened only when regular, replaced as a whole or not at all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tui.tools.base import ToolError
from tui.tools.files import StoppedError, chunks, in_thread, read_whole, replace_file, sha256


def test_replace_refuses_what_is_not_as_expected(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"theirs")
    with pytest.raises(ToolError, match="changed by somebody else just now"):
        replace_file(file, "f", b"mine", sha256(b"as I saw it"))
    assert file.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [file]


def test_create_refuses_what_is_there_already(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"theirs")
    with pytest.raises(ToolError, match="created by somebody else just now"):
        replace_file(file, "f", b"mine", None)
    assert file.read_bytes() == b"theirs"
    assert list(tmp_path.iterdir()) == [file]


def test_replace_of_what_is_gone_makes_nothing(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        replace_file(tmp_path / "f", "f", b"mine", sha256(b"old"))
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_read_only_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(ToolError, match="read-only"):
        replace_file(file, "f", b"new", sha256(b"old"))
    assert file.read_bytes() == b"old"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_permission_is_written_in_place(tmp_path: Path) -> None:
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "f").write_bytes(b"old and longer")
    folder.chmod(0o555)
    try:
        replace_file(folder / "f", "f", b"new", sha256(b"old and longer"))
        assert (folder / "f").read_bytes() == b"new"
    finally:
        folder.chmod(0o755)


# A limit on the size of files is a disk that is full in the middle of a write.
_FULL = """
import resource, signal, sys
from pathlib import Path
from tui.tools.base import ToolError
from tui.tools.files import replace_file, sha256
path = Path(sys.argv[1])
old = path.read_bytes()
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
try:
    replace_file(path, "f", b"n" * 200_000, sha256(old))
except ToolError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_old_content_and_nothing_beside(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"o" * 100_000)
    repo = Path(__file__).resolve().parents[2]
    done = subprocess.run(
        [sys.executable, "-c", _FULL, file], cwd=repo, capture_output=True, text=True, check=True, encoding="utf-8"
    )
    assert done.stdout == "Could not write f: File too large. Nothing was changed.\n"
    assert file.read_bytes() == b"o" * 100_000
    assert list(tmp_path.iterdir()) == [file]


_KILLED = """
import sys
from pathlib import Path
from tui.tools.files import replace_file, sha256
path = Path(sys.argv[1])
one, two = b"1" * 500_000, b"2" * 500_000
print("ready", flush=True)
while True:
    replace_file(path, "f", two, sha256(one))
    replace_file(path, "f", one, sha256(two))
"""


def test_killed_at_any_moment_the_file_is_old_or_new(tmp_path: Path) -> None:
    file = tmp_path / "f"
    repo = Path(__file__).resolve().parents[2]
    for round_ in range(4):
        file.write_bytes(b"1" * 500_000)
        command = [sys.executable, "-c", _KILLED, file]
        with subprocess.Popen(command, cwd=repo, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            process.stdout.readline()
            for _ in range(round_ * 7):
                file.stat()
            process.send_signal(signal.SIGKILL)
        assert file.read_bytes() in (b"1" * 500_000, b"2" * 500_000)


def test_no_descriptor_is_left_behind_a_refusal(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "p")
    before = len(list(Path("/dev/fd").iterdir()))
    for path in (tmp_path / "p", tmp_path, tmp_path / "gone"):
        with pytest.raises(ToolError):
            read_whole(path, "p")
    assert len(list(Path("/dev/fd").iterdir())) == before


@pytest.mark.anyio
async def test_a_reader_that_was_asked_to_stop_stops_at_its_next_piece(tmp_path: Path) -> None:
    with (tmp_path / "f").open("wb") as file:
        file.truncate(8 << 30)
    with pytest.raises(StoppedError):
        await in_thread(lambda stop: (stop.set(), list(chunks(tmp_path / "f", "f", stop))))
