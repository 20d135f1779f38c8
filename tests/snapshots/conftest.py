"""The snapshot plugin keeps its reports in a folder it names in the environment: give that name back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

_NAME = "TEXTUAL_SNAPSHOT_TEMPDIR"


@pytest.fixture(autouse=True)
def reports(isolated: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Set the variable again, which the isolation of each test took away."""
    folder = request.config.stash.get(_FOLDER, "")
    if folder:
        monkeypatch.setenv(_NAME, folder)


_FOLDER = pytest.StashKey[str]()


def pytest_collection_modifyitems(config: pytest.Config) -> None:
    """Remember the folder while the environment is still the plugin's."""
    config.stash[_FOLDER] = os.environ.get(_NAME, "")
