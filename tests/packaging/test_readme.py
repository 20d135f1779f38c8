"""The README names all there is, and nothing that is not."""

from __future__ import annotations

import re
from pathlib import Path

from tui.arguments import COMMANDS as WORDS
from tui.arguments import help_text
from tui.commands.table import COMMANDS as SLASH
from tui.headless.outcome import Exit
from tui.models.discover import LOCAL_PORTS
from tui.settings import KEYS

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def test_every_setting_is_named() -> None:
    assert not [key.place for key in KEYS if f"`{key.place}`" not in README]


def test_every_command_is_named() -> None:
    assert not [word for word in WORDS if f"clew {word}" not in README]
    short = README.replace("`-now`", "`/self-compact-now`")
    short = short.replace("`-edit`", "`/self-compact-edit`").replace("`-drop`", "`/self-compact-drop`")
    assert not [command.name for command in SLASH if f"`/{command.name}" not in short]


def test_no_command_is_made_up() -> None:
    known = {command.name for command in SLASH}
    assert set(re.findall(r"`/([a-z][a-z-]*)", README)) <= known


def test_no_flag_is_made_up() -> None:
    of_clew = re.findall(r"(?<![\w-])--[a-z][a-z-]+", README.replace("pip install --quiet", ""))
    assert not [flag for flag in of_clew if flag not in help_text() + " --yes --help"]


def test_statuses_and_ports_are_true() -> None:
    assert not [status for status in Exit if f"| {int(status)} |" not in README]
    assert not [port for port in LOCAL_PORTS if str(port) not in README]
