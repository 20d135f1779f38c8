"""Trust in a project's folder is bound to its exact content and kept where the project cannot reach it."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from tui.trust import ProjectError, ProjectFiles, changes, read_project, recall, remember


@pytest.fixture
def project(tmp_path: Path) -> Path:
    root = tmp_path / "project"
    (root / ".clew" / "prompts").mkdir(parents=True)
    (root / ".clew" / "settings.toml").write_text('model = "m"\n')
    (root / ".clew" / "prompts" / "soft.md").write_text("Write it down.\n")
    return root


def read(root: Path) -> ProjectFiles:
    files = read_project(root)
    assert files is not None
    return files


def test_a_project_without_the_folder_brings_nothing(tmp_path: Path) -> None:
    assert read_project(tmp_path) is None
    (tmp_path / ".clew").mkdir()
    assert read_project(tmp_path) is None


def test_everything_below_the_folder_counts(project: Path) -> None:
    files = read(project)
    assert set(files.files) == {"settings.toml", "prompts/soft.md"}
    assert files.settings == b'model = "m"\n'
    assert files.matters


def test_files_without_effect_ask_nobody(tmp_path: Path) -> None:
    (tmp_path / ".clew").mkdir()
    (tmp_path / ".clew" / "notes.txt").write_text("x")
    assert not read(tmp_path).matters


@pytest.mark.parametrize("change", ["edit", "add", "remove", "rename", "move a byte"])
def test_every_change_changes_the_digest(project: Path, change: str) -> None:
    before = read(project).digest
    folder = project / ".clew"
    match change:
        case "edit":
            (folder / "settings.toml").write_text('model = "n"\n')
        case "add":
            (folder / "more").write_text("")
        case "remove":
            (folder / "prompts" / "soft.md").unlink()
        case "rename":
            (folder / "prompts" / "soft.md").rename(folder / "prompts" / "hard.md")
        case _:
            (folder / "settings.toml").write_text('model = "m"')
            (folder / "prompts" / "soft.md").write_text("\nWrite it down.\n")
    assert read(project).digest != before


def test_a_decision_is_kept_privately_and_found_again(project: Path, tmp_path: Path) -> None:
    home, files = tmp_path / "home", read(project)
    assert recall(home, files.root) is None
    remember(home, files, trusted=True)
    decision = recall(home, files.root)
    assert decision is not None
    assert (decision.trusted, decision.digest) == (True, files.digest)
    (kept,) = (home / "trust").iterdir()
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert stat.S_IMODE(kept.parent.stat().st_mode) == 0o700


def test_a_copy_of_a_trusted_project_elsewhere_is_not_trusted(project: Path, tmp_path: Path) -> None:
    remember(tmp_path / "home", read(project), trusted=True)
    assert recall(tmp_path / "home", project.rename(tmp_path / "other")) is None


def test_a_damaged_decision_is_none(project: Path, tmp_path: Path) -> None:
    remember(tmp_path, read(project), trusted=True)
    next((tmp_path / "trust").iterdir()).write_bytes(b'{"trusted": tru')
    assert recall(tmp_path, read(project).root) is None


def test_what_changed_since_is_shown_and_shown_plain(project: Path, tmp_path: Path) -> None:
    remember(tmp_path, read(project), trusted=True)
    (project / ".clew" / "settings.toml").write_text('base_url = "http://127.0.0.1:9"\n# \x1b[2J\x9b\n')
    shown = changes(recall(tmp_path, read(project).root), read(project))
    assert '-model = "m"' in shown
    assert '+base_url = "http://127.0.0.1:9"' in shown
    assert "soft.md" not in shown
    assert "\x1b" not in shown
    assert "\x9b" not in shown


def test_the_first_time_everything_is_shown(project: Path) -> None:
    assert "+Write it down." in changes(None, read(project))


def test_a_flood_of_changes_is_cut_and_says_so(project: Path) -> None:
    (project / ".clew" / "prompts" / "long.md").write_text("line\n" * 1000)
    assert "more lines" in changes(None, read(project)).splitlines()[-1]


def test_links_and_special_files_are_refused(project: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").write_text("later something else")
    link = project / ".clew" / "prompts" / "linked.md"
    link.symlink_to(tmp_path / "outside")
    with pytest.raises(ProjectError, match="is a link"):
        read_project(project)
    link.unlink()
    os.mkfifo(link)
    with pytest.raises(ProjectError, match="not a regular file"):
        read_project(project)


def test_a_folder_that_is_a_link_or_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / ".clew").symlink_to(tmp_path / "real")
    with pytest.raises(ProjectError, match="not a folder of its own"):
        read_project(tmp_path)


def test_too_much_is_refused(project: Path) -> None:
    (project / ".clew" / "big").write_bytes(b"x" * 2_000_001)
    with pytest.raises(ProjectError, match="too large"):
        read_project(project)
