"""Many items through many handoffs, unattended; `python -m tests.runs` has fifty of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runs.fifty import fifty

pytestmark = pytest.mark.anyio


async def test_items_go_through_handoffs_without_a_person(tmp_path: Path) -> None:
    state = await fifty(tmp_path, 9, 3)
    assert [item.status for item in state.items] == ["accepted"] * 9
    assert [item.attempts for item in state.items] == [1] * 9
    assert state.handoffs == 3
