"""The system prompt: whose words are in it, in which order, and that the same day gives the same bytes."""

from __future__ import annotations

import datetime as dt
import re
from pathlib import Path

from tui.agent.instructions import MOST_BYTES, find_instructions, system_prompt

DAY = dt.date(2031, 2, 3)


def prompt_of(cwd: Path, home: Path | None = None) -> str:
    return system_prompt(cwd=cwd, today=DAY, platform="linux", instructions=list(find_instructions(cwd, home)))


def project_in(tmp_path: Path) -> Path:
    project = tmp_path / "outer" / "project"
    project.mkdir(parents=True)
    return project


def test_the_persons_words_come_first_then_from_the_outermost_folder_inwards(tmp_path: Path) -> None:
    project, home = project_in(tmp_path), tmp_path / "home"
    home.mkdir()
    places = [home, tmp_path, tmp_path / "outer", project]
    for number, folder in enumerate(places):
        (folder / "AGENTS.md").write_text(f"rule {number}\n")
    text = prompt_of(project, home)
    at = [text.index(f"rule {number}") for number in range(4)]
    assert at == sorted(at)
    assert all(f"Instructions from {folder / 'AGENTS.md'}:" in text for folder in places)


def test_in_a_folder_with_both_files_the_first_name_is_taken(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "AGENTS.md").write_text("from agents")
    (project / "CLAUDE.md").write_text("from claude")
    (tmp_path / "CLAUDE.md").write_text("outer claude")
    text = prompt_of(project)
    assert "from agents" in text
    assert "from claude" not in text
    assert text.index("outer claude") < text.index("from agents")


def test_the_date_is_in_it_the_time_is_not_and_equal_days_give_equal_bytes(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "AGENTS.md").write_text("a rule")
    first, second = prompt_of(project), prompt_of(project)
    assert first.encode() == second.encode()
    assert "2031-02-03" in first
    assert not re.search(r"\d:\d\d", first.replace(str(tmp_path), ""))
    assert str(project) in first


def test_what_cannot_be_read_is_passed_over_and_nothing_stops_the_start(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "AGENTS.md").mkdir()
    (project / "CLAUDE.md").write_bytes(b"caf\xe9 \xff\n")
    (tmp_path / "outer" / "AGENTS.md").symlink_to(tmp_path / "nowhere")
    (tmp_path / "AGENTS.md").write_text(" \n")
    text = prompt_of(project)
    assert "caf\ufffd \ufffd" in text
    assert text.count("Instructions from") == 1
    text.encode()


def test_a_huge_file_is_cut_with_a_line_that_names_it(tmp_path: Path) -> None:
    project = project_in(tmp_path)
    (project / "AGENTS.md").write_text("first\n" + "é" * MOST_BYTES + "\nlast")
    text = prompt_of(project)
    assert "first" in text
    assert "last" not in text
    assert f"[cut here: read {project / 'AGENTS.md'} for the rest]" in text
    assert len(text.encode()) < 2 * MOST_BYTES
