"""Names that fit any file system, files nobody else can read, and which file systems get no WAL."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.kit import note
from tui.log import Store, find_session
from tui.log.paths import is_network, mount_type, project_folder, read_mounts, tighten

MOUNTS = r"""proc /proc proc rw 0 0
/dev/sda1 / ext4 rw,relatime 0 0
server:/export /home nfs4 rw,vers=4.2 0 0
//nas/share /mnt/my\040share cifs rw 0 0
user@host: /home/me/far fuse.sshfs rw 0 0
/dev/sdb1 /home/me/near btrfs rw 0 0
tmpfs /tmp tmpfs rw 0 0
"""
MAC_MOUNTS = """/dev/disk3s1s1 on / (apfs, sealed, local, read-only, journaled)
//me@nas/share on /Volumes/my share (smbfs, nodev, nosuid, mounted by me)
"""


@pytest.mark.parametrize(
    ("path", "mounts", "kind"),
    [
        ("/etc/x", MOUNTS, "ext4"),
        ("/home/me/data", MOUNTS, "nfs4"),
        ("/homely", MOUNTS, "ext4"),
        ("/mnt/my share/x", MOUNTS, "cifs"),
        ("/home/me/far/away", MOUNTS, "fuse.sshfs"),
        ("/home/me/near", MOUNTS, "btrfs"),
        ("/Volumes/my share/clew", MAC_MOUNTS, "smbfs"),
        ("/Users/me", MAC_MOUNTS, "apfs"),
        ("/x", "", ""),
        ("/x", "nonsense\n\n a b", ""),
    ],
)
def test_the_innermost_mount_decides(path: str, mounts: str, kind: str) -> None:
    assert mount_type(path, mounts) == kind


@pytest.mark.parametrize(
    ("kind", "network"),
    [("ext4", False), ("apfs", False), ("nfs4", True), ("smbfs", True), ("fuse.sshfs", True), ("newfs", False)],
)
def test_a_kind_nobody_knows_counts_as_local_and_one_through_fuse_as_far(kind: str, network: bool) -> None:
    assert is_network(Path("/mnt/x/log"), f"disk / ext4 rw 0 0\nwhere /mnt {kind} rw 0 0\n") is network


def test_without_a_readable_list_of_mounts_a_path_counts_as_local(tmp_path: Path) -> None:
    assert read_mounts(tmp_path / "not there") == ""
    assert read_mounts(tmp_path) == ""
    assert not is_network(tmp_path, "")
    table = tmp_path / "mounts"
    table.write_bytes(b"server:/x " + bytes(tmp_path) + b"/\xff nfs4 rw 0 0\n")
    assert is_network(Path(os.fsdecode(bytes(tmp_path) + b"/\xff/log")), read_mounts(table))


@given(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1))
def test_a_project_folder_has_a_short_plain_name(name: str) -> None:
    folder = project_folder(Path("/home"), Path("/p") / name)
    assert folder.parent == Path("/home/projects")
    assert folder.name.isascii()
    assert len(folder.name) < 100
    assert folder.name.strip(".- ") == folder.name


def test_like_names_get_unlike_folders(tmp_path: Path) -> None:
    names = ["a b", "a-b", "A-b", "ä-b", "日本" * 40, "日本" * 39]
    assert len({project_folder(tmp_path, tmp_path / name) for name in names}) == len(names)
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert (
        project_folder(tmp_path, tmp_path / "link").name[-20:] == project_folder(tmp_path, tmp_path / "real").name[-20:]
    )


@pytest.mark.anyio
@pytest.mark.parametrize("raw", [b"\xff\xfe latin", ("漢字" * 40).encode(), b"line\nbreak"])
async def test_a_project_of_any_name_works_and_is_found(tmp_path: Path, raw: bytes) -> None:
    project = tmp_path.joinpath(*[os.fsdecode(raw)] * 9)
    home = tmp_path / "h"
    async with await Store.open(home, project) as store:
        session = await store.create(cwd=project, first=[note("a")])
        assert (await store.info(session.id)).cwd == project
    for prefix in (session.id, session.id[:20]):
        assert (await find_session(home, prefix)).project == project


@pytest.fixture(params=[0o000, 0o022, 0o077, 0o277])
def umasked(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder, made before the umask was set."""
    before = os.umask(request.param)
    yield tmp_path
    os.umask(before)


@pytest.mark.anyio
async def test_nobody_else_can_read_anything_whatever_the_umask(umasked: Path) -> None:
    home = umasked / "deep" / "home"
    async with await Store.open(home, Path("/")) as store:
        session = await store.create(cwd="/", first=[note("secret")])
        await session.put_blob(b"x" * 100_000)
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (home.parent, home, *home.rglob("*"))}
    assert {"log.sqlite", "log.sqlite-wal", "log.sqlite-shm", "catalogue.sqlite"} <= set(modes)
    assert set(modes.values()) == {0o600, 0o700}


@pytest.mark.anyio
async def test_files_that_were_open_to_others_are_tightened(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        path = store.path
    path.chmod(0o666)
    path.parent.chmod(0o777)
    async with await Store.open(tmp_path, tmp_path):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    tighten(tmp_path / "not there")


@pytest.mark.anyio
async def test_a_commit_is_durable_by_its_settings(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as store:
        await store.create(cwd=tmp_path)
        db = sqlite3.connect(store.path)
        assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert db.execute("PRAGMA application_id").fetchone() == (0x636C6577,)
        db.close()
