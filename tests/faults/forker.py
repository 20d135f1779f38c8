"""The other side of `child`: orders go in, how each process ended comes back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from tests.cli.support import environment
from tests.faults.child import Ended
from tests.faults.orders import Order
from tests.support.provider import Provider

__all__ = ["Forker", "order_in"]


class Forker:
    """A process that has imported everything and forks those that are to go wrong, as `module` says."""

    def __init__(self, module: str = "tests.faults.child") -> None:
        self._module = module

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", self._module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.communicate(timeout=60)

    def obey(self, order: Order) -> Ended:
        """Run one process; return how it ended."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(msgspec.json.encode(order) + b"\n")
        self._process.stdin.flush()
        return msgspec.json.decode(self._process.stdout.readline(), type=Ended)


def order_in(folder: Path, provider: Provider) -> Order:
    """Return an order for a session in a place of its own."""
    (folder / "project").mkdir(parents=True)
    return Order("play", str(folder / "home"), str(folder / "project"), provider.base_url)
