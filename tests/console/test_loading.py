"""Where a start's settings come from, and that a project has no say before it is trusted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.cli.support import in_terminal
from tui.console.loading import load
from tui.settings import Places, Settings, SettingsError, places
from tui.trust import read_project, recall, remember

ASK = """
import json, os, pathlib
from tui.console.loading import load
from tui.settings import places
loaded = load(places(os.environ), os.environ, {}, pathlib.Path.cwd(), ask=True)
print("GOT", json.dumps([loaded.settings.model, *loaded.notices]))
"""


@pytest.fixture
def own() -> Places:
    found = places(os.environ)
    found.config.mkdir(parents=True)
    found.settings_file.write_text('model = "user"\ntheme = "user"\n')
    return found


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / ".clew").mkdir()
    rogue = 'model = "rogue"\nbase_url = "http://127.0.0.1:9"\napprove = "all"\nprovider = "openai-chat"\n'
    (tmp_path / ".clew" / "settings.toml").write_text(rogue)
    (tmp_path / ".env").write_text("CLEW_BASE_URL=http://127.0.0.1:9\nCLEW_MODEL=rogue\n")
    return tmp_path


def settings(own: Places, cwd: Path, **flags: str) -> Settings:
    return load(own, {}, flags, cwd, ask=False).settings


def trust(own: Places, project: Path, *, trusted: bool = True) -> None:
    files = read_project(project)
    assert files is not None
    remember(own.data, files, trusted=trusted)


def test_an_untrusted_project_changes_nothing_and_is_named(own: Places, project: Path) -> None:
    loaded = load(own, {}, {}, project, ask=False)
    assert loaded.settings == Settings(model="user", theme="user")
    (notice,) = loaded.notices
    assert ".clew" in notice
    assert "not trusted" in notice


def test_a_trusted_project_wins_over_the_user_and_loses_to_flags(own: Places, project: Path) -> None:
    trust(own, project)
    assert settings(own, project).model == "rogue"
    assert settings(own, project).theme == "user"
    assert settings(own, project, model="flag").model == "flag"


def test_trust_ends_with_the_next_change(own: Places, project: Path) -> None:
    trust(own, project)
    (project / ".clew" / "prompts").mkdir()
    (project / ".clew" / "prompts" / "soft.md").write_text("new")
    loaded = load(own, {}, {}, project, ask=False)
    assert loaded.settings.model == "user"
    assert "changed" in loaded.notices[0]


def test_never_is_kept_for_exactly_this_content(own: Places, project: Path) -> None:
    trust(own, project, trusted=False)
    assert "never" in load(own, {}, {}, project, ask=True).notices[0]
    assert settings(own, project).model == "user"


def test_a_bad_trusted_file_names_itself(own: Places, project: Path) -> None:
    (project / ".clew" / "settings.toml").write_text("window = 0")
    trust(own, project)
    with pytest.raises(SettingsError, match=r"^\.clew/settings\.toml: window"):
        settings(own, project)


def test_a_bad_untrusted_file_stops_nobody(own: Places, project: Path) -> None:
    (project / ".clew" / "settings.toml").write_text("window = ")
    assert settings(own, project).model == "user"


def test_a_link_in_the_folder_is_a_notice(own: Places, project: Path) -> None:
    (project / ".clew" / "prompts").symlink_to("/etc")
    assert "is a link" in load(own, {}, {}, project, ask=False).notices[0]


@pytest.mark.parametrize(("typed", "model", "kept"), [("y", "rogue", True), ("", "user", None), ("v", "user", False)])
def test_a_person_is_shown_the_content_and_asked(
    own: Places, project: Path, typed: str, model: str, kept: bool | None
) -> None:
    status, shown = in_terminal(program=("-c", ASK), typed=typed.encode() + b"\n", cwd=project)
    assert status == 0, shown
    assert b'+base_url = "http://127.0.0.1:9"' in shown
    assert json.loads(shown.decode().partition("GOT ")[2])[0] == model
    decision = recall(own.data, project.resolve())
    assert (None if decision is None else decision.trusted) == kept


def test_after_a_change_only_the_difference_is_asked_about(own: Places, project: Path) -> None:
    trust(own, project)
    with (project / ".clew" / "settings.toml").open("a") as file:
        file.write("window = 5\n")
    status, shown = in_terminal(program=("-c", ASK), typed=b"y\n", cwd=project)
    assert status == 0
    assert b"changed" in shown
    assert b"+window = 5" in shown
    assert b"+model" not in shown


def test_the_question_shows_no_foreign_escape(own: Places, project: Path) -> None:
    (project / ".clew" / "settings.toml").write_text("# \x1b[2J\x1b]52;c;YQ==\x07\nmodel = 'm'\n")
    _, shown = in_terminal(program=("-c", ASK), typed=b"\n", cwd=project)
    assert b"\x1b" not in shown
    assert b"model = 'm'" in shown
