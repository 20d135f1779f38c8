"""The whole way through the house with a real engine: `clew -p` as a process, real HTTP, a real small model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.cli.support import clew
from tests.support.engine import Engine, engine

__all__ = ["engine"]
pytestmark = pytest.mark.xdist_group("engine")
PROTOCOLS = ["openai-chat", "anthropic"]


def at(engine: Engine, protocol: str) -> list[str]:
    """Return flags for the engine, with a window that leaves room for an answer beside the tools' descriptions."""
    url = engine.base_url + ("/v1" if protocol == "openai-chat" else "")
    return ["--provider", protocol, "--base-url", url, "--model", "smollm2", "--window", "8000"]


def log_of(tmp_path: Path, kind: str) -> list[dict[str, Any]]:
    """Return the bodies of one kind in the newest session, as `clew log` tells them."""
    done = clew("log", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    entries = [json.loads(line) for line in done.stdout.splitlines()]
    return [entry["body"] for entry in entries if entry["kind"] == kind]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_prompt_is_answered_printed_journalled_and_gone_on_with(
    engine: Engine, protocol: str, tmp_path: Path
) -> None:
    done = clew("-p", "Say hello.", *at(engine, protocol), cwd=tmp_path)
    (answer,), (settled,) = log_of(tmp_path, "answer"), log_of(tmp_path, "settled")
    message = answer["message"]
    text = "".join(part["text"] for part in message["content"])
    assert text
    assert settled["reason"] in ("answered", "length"), done.stderr
    if settled["reason"] == "answered":
        assert (done.returncode, done.stdout.decode().rstrip("\n")) == (0, text.rstrip("\n")), done.stderr
    assert (message["model"], message["provider"]) == ("smollm2", protocol)
    usage = message["usage"]
    assert usage.get("input", 0) + usage.get("cache_read", 0) > 100, "the system prompt was there"
    assert usage["output"] > 0

    again = clew("--mode", "json", "-c", "And again.", cwd=tmp_path)
    events = [json.loads(line) for line in again.stdout.splitlines()]
    assert (events[0]["model"], events[0]["provider"], events[0]["window"]) == ("smollm2", protocol, 8000)
    assert events[-1]["reason"] in ("answered", "length", "context-full"), again.stderr
    assert len(log_of(tmp_path, "prompt")) == 2
    assert len(log_of(tmp_path, "settled")) == 2


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_prompt_too_long_for_the_engine_is_one_sentence_with_its_figure(
    engine: Engine, protocol: str, tmp_path: Path
) -> None:
    done = clew("-p", "Say hello. " * engine.window, *at(engine, protocol), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b""), done.stderr
    assert str(engine.window) in done.stderr.decode()
    assert b"Traceback" not in done.stderr
    (settled,) = log_of(tmp_path, "settled")
    assert settled["reason"] == "context-full"
    assert not log_of(tmp_path, "answer")
