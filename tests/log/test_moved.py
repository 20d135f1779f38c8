"""Projects that are moved or renamed: found again, never bound anew by themselves, never mixed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.log.kit import prompt, raw
from tui.log import Store, find_session
from tui.log.errors import RebindRefused
from tui.log.identity import Identity, identity_of, is_gone, worktrees
from tui.log.moved import Moved, moved_here, rebind
from tui.log.paths import database_file, project_folder

pytestmark = pytest.mark.anyio


def git(folder: Path, *words: str) -> None:
    who = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    plain = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "PATH": os.environ["PATH"]}
    subprocess.run(["git", *words], cwd=folder, check=True, capture_output=True, env={**plain, **who})


def checkout(folder: Path) -> Path:
    folder.mkdir(parents=True)
    git(folder, "init", "-q")
    git(folder, "commit", "-q", "--allow-empty", "-m", "first")
    return folder


async def said(home: Path, project: Path, text: str = "the blue heron") -> str:
    """Make a session in which something was said."""
    async with await Store.open(home, project) as store:
        session = await store.create(cwd=project, first=[prompt(text)])
        await session.close()
        return session.id


async def titles(home: Path, project: Path) -> list[str]:
    async with await Store.open(home, project, read_only=True) as store:
        return [info.title for info in await store.sessions()]


async def test_a_renamed_directory_is_found_again_and_bound_only_when_asked(tmp_path: Path) -> None:
    home, old, new = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    old.mkdir()
    session = await said(home, old)
    (project_folder(home, old) / "rules.toml").write_text("rules = []\n")
    assert moved_here(home, old) == ()
    old.rename(new)
    assert moved_here(home, new) == (Moved(old, 1),)
    assert (await find_session(home, session)).project == old, "looking binds nothing"
    assert rebind(home, old, new) == 1
    assert (await find_session(home, session)).project == new
    assert await titles(home, new) == ["the blue heron"]
    assert moved_here(home, new) == ()
    assert (project_folder(home, new) / "rules.toml").exists()
    assert not project_folder(home, old).exists()


async def test_ses13_a_link_where_the_directory_was_is_the_same_project(tmp_path: Path) -> None:
    home, old, new = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    old.mkdir()
    session = await said(home, old)
    old.rename(new)
    old.symlink_to(new)
    for place in (old, new):
        assert moved_here(home, place) == (Moved(old, 1),)
    rebind(home, old, new)
    for place in (old, new):
        assert await titles(home, place) == ["the blue heron"]
    assert (await find_session(home, session)).project == new


async def test_a_checkout_that_was_copied_away_is_known_by_its_history(tmp_path: Path) -> None:
    home = tmp_path / "home"
    old = checkout(tmp_path / "old")
    (old / "sub").mkdir()
    await said(home, old / "sub")
    shutil.copytree(old, tmp_path / "new", symlinks=True)
    assert moved_here(home, tmp_path / "new" / "sub") == (), "the first one is still there"
    shutil.rmtree(old)
    assert moved_here(home, tmp_path / "new" / "sub") == (Moved(old / "sub", 1),)
    assert moved_here(home, tmp_path / "new") == (), "another place of the same checkout"
    assert moved_here(home, checkout(tmp_path / "third")) == (), "another checkout"


async def test_ses14_a_directory_that_is_gone_has_not_moved_to_just_any_other(tmp_path: Path) -> None:
    home, old, other = tmp_path / "home", tmp_path / "disk" / "a", tmp_path / "other"
    old.mkdir(parents=True)
    other.mkdir()
    session = await said(home, old)
    (tmp_path / "disk").rename(tmp_path / "unmounted")
    assert moved_here(home, other) == ()
    fresh = await said(home, other, "fresh")
    assert await titles(home, other) == ["fresh"]
    assert (await find_session(home, session)).project == old
    (tmp_path / "unmounted").rename(tmp_path / "disk")
    assert await titles(home, old) == ["the blue heron"]
    assert (await find_session(home, fresh)).project == other


async def test_a_number_that_was_given_to_another_directory_is_no_proof(tmp_path: Path) -> None:
    project = checkout(tmp_path / "a")
    known = identity_of(project)
    assert known.fits(known)
    assert not known.fits(Identity(known.inode)), "the checkout is another's"
    assert not Identity().fits(Identity()), "unknown is no likeness"
    assert Identity("1:2").fits(Identity("1:2"))


async def test_what_would_mix_or_tear_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    home, old, new = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    old.mkdir()
    await said(home, old)
    with pytest.raises(RebindRefused, match="still there"):
        rebind(home, old, new)
    old.rename(new)
    async with await Store.open(home, old) as store:
        (row,) = await store.sessions()
        await store.session(row.id)
        with pytest.raises(RebindRefused, match="another window"):
            rebind(home, old, new)
    await said(home, new, "own")
    with pytest.raises(RebindRefused, match="sessions of its own"):
        rebind(home, old, new)
    with pytest.raises(RebindRefused, match="no sessions of"):
        rebind(home, tmp_path / "c", tmp_path / "d")
    assert not project_folder(home, tmp_path / "d").exists()
    assert (await titles(home, old), await titles(home, new)) == (["the blue heron"], ["own"])


async def test_a_stop_between_the_rename_and_the_path_is_made_good_by_the_next_start(tmp_path: Path) -> None:
    home, old, new = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    old.mkdir()
    session = await said(home, old)
    old.rename(new)
    project_folder(home, old).rename(project_folder(home, new))  # and here the program was killed
    assert await titles(home, new) == ["the blue heron"]
    async with await Store.open(home, new):
        pass
    assert (await find_session(home, session)).project == new


async def test_a_log_of_before_learns_what_its_directory_is_known_by(tmp_path: Path) -> None:
    home, old, new = tmp_path / "home", tmp_path / "a", tmp_path / "b"
    old.mkdir()
    await said(home, old)
    with raw(database_file(home, old)) as db:
        db.execute("DELETE FROM meta WHERE name IN ('inode', 'git')")
    async with await Store.open(home, old):
        pass
    old.rename(new)
    assert moved_here(home, new) == (Moved(old, 1),)


def test_other_checkouts_of_the_repository_are_known_without_git(tmp_path: Path) -> None:
    main = checkout(tmp_path / "main")
    git(main, "worktree", "add", "-q", str(tmp_path / "side"))
    git(main, "worktree", "add", "-q", str(tmp_path / "gone"))
    shutil.rmtree(tmp_path / "gone")
    assert worktrees(main) == (tmp_path / "side",)
    assert worktrees(tmp_path / "side") == (main,)
    assert worktrees(main / "sub") == (tmp_path / "side" / "sub",)
    assert worktrees(tmp_path) == ()
    assert identity_of(main).git != identity_of(tmp_path / "side").git


def test_what_may_not_be_looked_at_is_not_gone(tmp_path: Path) -> None:
    assert is_gone(tmp_path / "nothing")
    (tmp_path / "file").write_text("")
    assert is_gone(tmp_path / "file" / "below")
    assert not is_gone(tmp_path / ("x" * 300)), "a name that cannot be asked for"
    assert identity_of(tmp_path / "nothing") == Identity()


def test_a_broken_pointer_is_no_checkout_and_no_error(tmp_path: Path) -> None:
    (tmp_path / ".git").write_bytes(b"gitdir: \0\xff/nowhere\n")
    assert identity_of(tmp_path).git == ""
    assert worktrees(tmp_path) == ()


async def test_a_directory_whose_sessions_hold_nothing_yet_has_not_moved(tmp_path: Path) -> None:
    home, here = tmp_path / "home", tmp_path / "a"
    here.mkdir()
    async with await Store.open(home, here) as store:
        await (await store.create(cwd=here)).close()
    assert moved_here(home, here) == ()
