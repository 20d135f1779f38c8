"""One task with tools through the whole program, over every wire protocol, as the strictest servers take it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.support import clew
from tests.support.provider import Call, Provider, Reply


@pytest.mark.parametrize("protocol", ["openai-chat", "openai-responses", "anthropic"])
def test_a_task_with_tools_is_done_and_gone_on_with(protocol: str, tmp_path: Path) -> None:
    write = Call("write", json.dumps({"path": "made.txt", "content": "one\n"}))
    count = Call("bash", json.dumps({"command": "echo $((6 * 7))"}))
    steps = Reply(text="I look.", calls=(write, count)), Reply(text="It is 42."), Reply(text="Nothing more.")
    with Provider(*steps) as provider:
        url = provider.base_url + ("" if protocol == "anthropic" else "/v1")
        flags = ["--provider", protocol, "--base-url", url, "--model", "scripted", "--window", "32000"]
        done = clew("-p", "Do it.", *flags, "--approve", "all", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (0, b"It is 42.\n"), done.stderr
        again = clew("-p", "And more?", "-c", cwd=tmp_path)
        assert (again.returncode, again.stdout) == (0, b"Nothing more.\n"), again.stderr
        assert [request.problems for request in provider.requests] == [[], [], []]
        bodies = [json.dumps(request.body) for request in provider.requests]
    assert (tmp_path / "made.txt").read_text() == "one\n"
    assert "42" in bodies[1]
    assert "It is 42." in bodies[2]
    assert "Do it." in bodies[2]
