"""Every test runs in a world of its own: home, settings, folder, environment, time zone, keys."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

settings.register_profile("default", deadline=None)  # no test is timed: machines differ
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "default")

_DROPPED_PREFIXES = ("CLEW_", "XDG_", "TEXTUAL", "GIT_", "LC_", "CLICOLOR")
_DROPPED_SUFFIXES = ("_API_KEY", "_AUTH_TOKEN", "_BASE_URL", "_PROXY", "_PROXY".lower(), "_HOST")
_DROPPED_NAMES = (
    "NO_COLOR",
    "FORCE_COLOR",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "LANGUAGE",
    "EDITOR",
    "VISUAL",
    "TMUX",
    "STY",
    "SSH_CONNECTION",
    "PYTHONIOENCODING",
    "PYTHONUTF8",
    "PYTHONWARNINGS",
    "BASH_ENV",
    "ENV",
)


def _is_dropped(name: str) -> bool:
    return name in _DROPPED_NAMES or name.startswith(_DROPPED_PREFIXES) or name.endswith(_DROPPED_SUFFIXES)


def _fixed(home: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "USERPROFILE": str(home),
        "CLEW_HOME": str(home / "clew"),
        "XDG_CONFIG_HOME": str(home / ".config"),
        "XDG_DATA_HOME": str(home / ".local" / "share"),
        "XDG_CACHE_HOME": str(home / ".cache"),
        "XDG_STATE_HOME": str(home / ".local" / "state"),
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_NOSYSTEM": "1",
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "TZ": "UTC",
    }


@pytest.fixture(autouse=True)
def isolated(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Move the process into an empty home and an empty folder; yields the home. `tmp_path` stays empty."""
    home = tmp_path_factory.mktemp("home")
    for name in filter(_is_dropped, list(os.environ)):
        monkeypatch.delenv(name)
    for name, value in _fixed(home).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path_factory.mktemp("cwd"))
    time.tzset()
    yield home
    monkeypatch.undo()
    time.tzset()


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """The one event loop the program runs on."""
    return "asyncio"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Print what tests report beside passing (property `report`); with workers it comes to the one that prints."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, text in report.user_properties:
                if name == "report":
                    terminalreporter.section(report.nodeid)
                    terminalreporter.write_line(str(text))
