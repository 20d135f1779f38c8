"""Pictures of the screens, compared: four sizes, fixed clock, version and ids.

After a change that is meant: `pytest tests/snapshots --snapshot-update`, and look at what changed.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import PurePath
from typing import Protocol

import pytest
from textual.app import App
from textual.pilot import Pilot

from tests.app.stage import ASKED, WAITING, Stage, conversation
from tui.agent.events import Failed, PhaseChanged

SIZES = [(60, 20), (80, 24), (120, 40), (200, 50)]
size = pytest.mark.parametrize("size", SIZES, ids=lambda pair: f"{pair[0]}x{pair[1]}")


class Compare(Protocol):
    def __call__(
        self,
        app: str | PurePath | App[object],
        *,
        terminal_size: tuple[int, int],
        run_before: Callable[[Pilot[object]], object] | None = None,
    ) -> bool: ...


@size
def test_start(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(Stage(), terminal_size=size)


@size
def test_conversation(snap_compare: Compare, size: tuple[int, int]) -> None:
    assert snap_compare(Stage(conversation()), terminal_size=size)


@size
def test_approval(snap_compare: Compare, size: tuple[int, int]) -> None:
    talk = conversation()
    events = [*talk[:6], talk[-1], PhaseChanged("approval"), ASKED, WAITING]
    assert snap_compare(Stage(events), terminal_size=size)


@size
def test_failed(snap_compare: Compare, size: tuple[int, int]) -> None:
    events = [*conversation(), Failed("The log cannot be written: No space left on device.")]
    assert snap_compare(Stage(events), terminal_size=size)


@pytest.mark.parametrize("theme", ["clew-light", "high-contrast", "terminal"])
def test_themes(snap_compare: Compare, theme: str) -> None:
    assert snap_compare(Stage(conversation(), theme=theme), terminal_size=(80, 24))
