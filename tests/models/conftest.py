from __future__ import annotations

from typing import Any

import pytest

from tests.support.engine import engine

__all__ = ["engine"]


@pytest.fixture
def anyio_backend() -> tuple[str, dict[str, Any]]:
    """One loop, in debug mode: forgotten tasks and slow callbacks show."""
    return "asyncio", {"debug": True}
