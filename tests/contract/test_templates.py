"""Templates: reading order, fallbacks, fail closed, placeholders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.contract.vectors import VECTORS, InterpolateCase
from tui.context.templates import (
    PromptFolder,
    Template,
    TemplateFault,
    TemplateName,
    interpolate,
    read_template,
    shipped,
    values_for,
)
from tui.context.thresholds import Thresholds

LIMITS = Thresholds(window=1_000_000, soft=225_000, warning=250_000, hard=270_000, cap=900_000)
NAMES: tuple[TemplateName, ...] = ("soft", "warning", "summary")


@pytest.mark.parametrize("case", VECTORS.interpolate, ids=lambda case: case.template)
def test_interpolate_pairs(case: InterpolateCase) -> None:
    assert interpolate(case.template, values_for(250_000, LIMITS)) == case.expected


def test_a_value_is_never_interpolated_again() -> None:
    assert interpolate("{{tokens}}", {"tokens": "{{percent}}", "percent": "5"}) == "{{percent}}"


@pytest.mark.parametrize("name", NAMES)
def test_shipped_texts_leave_no_placeholder_open(name: TemplateName) -> None:
    text = interpolate(shipped(name), values_for(250_000, LIMITS))
    assert text.strip()
    assert "{{" not in text


@pytest.mark.parametrize(
    ("name", "needed"),
    [
        ("soft", ("optional", "self_compact", "exact paths", "checked", "next action", "complete")),
        ("warning", ("now", "self_compact", "exact paths", "Verified", "one action", "Complete")),
        (
            "summary",
            (
                *("history, not instructions", "Goal", "Constraints", "Planned", "Attempted", "Done", "reason"),
                *("Next steps", "Exact identifiers", "tool result", "previous summary", "call no tool"),
            ),
        ),
    ],
)
def test_shipped_texts_say_what_they_must(name: TemplateName, needed: tuple[str, ...]) -> None:
    assert [words for words in needed if words not in shipped(name)] == []


def text_of(found: Template | TemplateFault) -> str:
    assert isinstance(found, Template)
    return found.text


def test_the_users_folder_wins_over_the_projects_and_both_over_the_shipped(tmp_path: Path) -> None:
    user, project = tmp_path / "user", tmp_path / "project"
    user.mkdir()
    project.mkdir()
    assert text_of(read_template("soft", (PromptFolder(user), PromptFolder(project)))) == shipped("soft")
    (project / "soft.md").write_text("from the project")
    assert text_of(read_template("soft", (PromptFolder(user), PromptFolder(project)))) == "from the project"
    (user / "soft.md").write_text("from the user")
    found = read_template("soft", (PromptFolder(user), PromptFolder(project)))
    assert found == Template("from the user", str(user / "soft.md"))


def test_of_a_project_only_what_was_trusted_is_used(tmp_path: Path) -> None:
    folder = PromptFolder(tmp_path, {"soft.md": b"trusted", "summary.md": b"trusted"})
    assert text_of(read_template("soft", (folder,))) == shipped("soft"), "a missing file is no override"
    for name in ("soft", "warning", "summary"):
        (tmp_path / f"{name}.md").write_text("trusted")
    assert text_of(read_template("soft", (folder,))) == "trusted"
    assert text_of(read_template("summary", (folder,))) == "trusted"
    unknown = read_template("warning", (folder,))
    assert isinstance(unknown, Template)
    assert (unknown.text, "not what was trusted" in unknown.fault) == (shipped("warning"), True)
    (tmp_path / "summary.md").write_text("changed")
    assert isinstance(read_template("summary", (folder,)), TemplateFault)


def test_it_is_read_at_each_use(tmp_path: Path) -> None:
    for text in ("one", "two"):
        (tmp_path / "warning.md").write_text(text)
        assert text_of(read_template("warning", (PromptFolder(tmp_path),))) == text


def spoil(path: Path, how: str) -> None:
    match how:
        case "folder":
            path.mkdir()
        case "not UTF-8":
            path.write_bytes(b"\xff\xfe")
        case "empty":
            path.write_bytes(b"")
        case "blank":
            path.write_text("\ufeff \n")
        case "pipe":
            os.mkfifo(path)
        case "broken link":
            path.symlink_to(path.with_name("nowhere"))
        case _:
            path.write_bytes(b"x" * 300_000)


FAULTS = ["folder", "not UTF-8", "empty", "blank", "pipe", "broken link", "huge"]


@pytest.mark.parametrize("how", FAULTS)
@pytest.mark.parametrize("name", ["soft", "warning"])
def test_guidance_falls_back_and_says_so(tmp_path: Path, name: TemplateName, how: str) -> None:
    spoil(tmp_path / f"{name}.md", how)
    found = read_template(name, (PromptFolder(tmp_path),))
    assert text_of(found) == shipped(name)
    assert isinstance(found, Template)
    assert str(tmp_path) in found.fault


@pytest.mark.parametrize("how", FAULTS)
def test_the_summary_fails_closed(tmp_path: Path, how: str) -> None:
    spoil(tmp_path / "summary.md", how)
    found = read_template("summary", (PromptFolder(tmp_path),))
    assert isinstance(found, TemplateFault)
    assert str(tmp_path) in found.message


def test_a_missing_folder_or_one_that_is_a_file_is_no_override(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    folders = (PromptFolder(tmp_path / "none"), PromptFolder(tmp_path / "file"))
    assert text_of(read_template("summary", folders)) == shipped("summary")


def test_the_literal_beats_every_file_even_a_broken_one(tmp_path: Path) -> None:
    spoil(tmp_path / "summary.md", "folder")
    assert read_template("summary", (PromptFolder(tmp_path),), literal="Sum {{tokens}} up") == Template(
        "Sum {{tokens}} up", "--compact-prompt"
    )
    assert text_of(read_template("soft", (PromptFolder(tmp_path),), literal="Sum up")) == shipped("soft")
