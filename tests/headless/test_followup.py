"""`clew -p` and then `clew -c -p`: the summary for next time as processes make and use it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.handoffs import FILLER, Player, holds, serving
from tests.cli.support import ROOT, clew, environment
from tests.headless.test_engine import at as engine_at
from tests.headless.test_engine_handoff import bodies, entries, run
from tests.support.engine import Engine, engine
from tests.support.provider import Provider, Reply

__all__ = ["engine"]

SUMMARY = "SUMMARY: the parser was mended."
ANSWER = Reply(text=FILLER, piece=8_000)
SMALL = {"CLEW_FOLLOWUP_BUDGET": "30000"}


def at(provider: Provider, protocol: str) -> list[str]:
    url = provider.base_url + ("" if protocol == "anthropic" else "/v1")
    return ["--provider", protocol, "--base-url", url, "--model", "scripted", "--window", "200000"]


@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic", "openai-responses"])
@pytest.mark.parametrize("mode", ["text", "json"])
def test_the_answer_is_printed_the_summary_is_saved_and_the_next_start_begins_from_it(
    tmp_path: Path, protocol: str, mode: str
) -> None:
    player = Player(ANSWER, Reply(text="Second."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        first = clew("-p", "Mend it", "--mode", mode, *at(provider, protocol), cwd=tmp_path, env=SMALL)
        second = clew("-c", "-p", "Go on", cwd=tmp_path, env={**SMALL, "ANTHROPIC_API_KEY": "x", "OPENAI_API_KEY": "x"})
    assert first.returncode == 0, first.stderr
    assert second.returncode == 0, second.stderr
    assert second.stdout == b"Second.\n"
    if mode == "text":
        assert first.stdout.decode().strip() == FILLER.strip()
        assert b"A summary for next time is saved" in first.stderr
    else:
        lines = [json.loads(line) for line in first.stdout.splitlines()]
        assert any(line.get("entry", {}).get("kind") == "checkpoint" for line in lines)
        assert (lines[-1]["type"], lines[-1]["reason"]) == ("end", "answered")
    assert holds(player.asked[-1], SUMMARY)
    assert holds(player.asked[-1], "Mend it")
    assert not holds(player.asked[-1], FILLER[:300])
    assert b"Continues from its summary" in second.stderr


def test_a_summary_that_fails_changes_neither_the_answer_nor_the_status(tmp_path: Path) -> None:
    player = Player(ANSWER, Reply(text="Second."), summaries=(Reply(status=400, body='{"error": {"message": "no"}}'),))
    with serving(player) as provider:
        first = clew("-p", "Mend it", *at(provider, "openai-chat"), cwd=tmp_path, env=SMALL)
        second = clew("-c", "-p", "Go on", cwd=tmp_path, env=SMALL)
    assert (first.returncode, first.stdout.decode().strip()) == (0, FILLER.strip())
    assert b"No summary for next time was saved (provider-failure)" in first.stderr
    assert (second.returncode, second.stdout) == (0, b"Second.\n")
    assert holds(player.asked[-1], FILLER[:300]), "without one the view is as it was"


@pytest.mark.parametrize(
    ("flags", "bounded"), [([], True), (["--resume-view", "full"], False), (["--resume-view", "checkpoint"], True)]
)
def test_the_flags_choose_the_view(tmp_path: Path, flags: list[str], bounded: bool) -> None:
    player = Player(ANSWER, Reply(text="Second."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        clew("-p", "Mend it", *at(provider, "openai-chat"), cwd=tmp_path, env=SMALL)
        done = clew("-c", "-p", "Go on", *flags, cwd=tmp_path, env=SMALL)
    assert done.returncode == 0, done.stderr
    assert holds(player.asked[-1], SUMMARY) == bounded
    assert holds(player.asked[-1], FILLER[:300]) != bounded


def test_over_the_budget_nothing_is_sent_and_the_flags_are_named(tmp_path: Path) -> None:
    player = Player(ANSWER, Reply(text="Second."), summaries=(Reply(text=SUMMARY),))
    with serving(player) as provider:
        clew("-p", "Mend it", *at(provider, "openai-chat"), cwd=tmp_path, env=SMALL)
        asked = len(player.asked)
        refused = clew("-c", "-p", "Go on", "--resume-budget", "100", cwd=tmp_path, env=SMALL)
        assert (refused.returncode, refused.stdout, len(player.asked)) == (4, b"", asked)
        words = refused.stderr.decode()
        assert "--resume-view full" in words
        needed = words.partition("--resume-budget ")[2].split()[0]
        done = clew("-c", "-p", "Go on", "--resume-budget", needed, cwd=tmp_path, env=SMALL)
    assert (done.returncode, done.stdout) == (0, b"Second.\n"), done.stderr
    assert holds(player.asked[-1], SUMMARY)


def test_the_rehearsal_goes_on_with_this_repository_in_bounds(tmp_path: Path) -> None:
    (tmp_path / "fast.toml").write_text("pace = 0\n")
    fast = ("--provider", "rehearsal", "--model", str(tmp_path / "fast.toml"), "--window", "100000")
    asked = "Read tui/log/store.py and explain it. Where is ToolContext used?"
    plain = clew("-p", asked, *fast, cwd=ROOT, env={"CLEW_RESUME_VIEW": "full"})
    first = clew("-p", asked, *fast, cwd=ROOT, env=SMALL)
    assert (first.returncode, first.stdout) == (plain.returncode, plain.stdout) == (0, first.stdout)
    second = clew("-c", "-p", "Where is FastScreen defined?", cwd=ROOT, env=SMALL)
    assert second.returncode == 0, second.stderr
    assert b"tui/screens/fast.py" in second.stdout
    found = [json.loads(line) for line in clew("log", cwd=ROOT).stdout.splitlines()]
    kinds = [entry["kind"] for entry in found]
    at_start = kinds.index("resumed-from")
    assert kinds[at_start + 1] == "prompt"
    assert [entry["kind"] for entry in found[:at_start]].count("checkpoint") == 1
    (checkpoint,) = bodies(found[:at_start], "checkpoint")
    assert checkpoint["origin"] == "resume"


@pytest.mark.xdist_group("engine")
@pytest.mark.parametrize("protocol", ["openai-chat", "anthropic"])
def test_the_engine_writes_the_summary_it_goes_on_from(engine: Engine, protocol: str, tmp_path: Path) -> None:
    env = {**environment(), "CLEW_FOLLOWUP_BUDGET": "60"}
    first = run("-p", "What is the capital of France? One word.", *engine_at(engine, protocol), cwd=tmp_path, env=env)
    assert first.returncode == 0, first.stderr
    assert first.stdout.strip()
    found: list[dict[str, Any]] = entries(tmp_path)
    made, receipts = bodies(found, "checkpoint"), bodies(found, "receipt")
    assert len(made) + len(receipts) == 1, "one or the other"
    second = run(
        "-c", "-p", "What is the capital of Italy? One word.", "--resume-budget", "100000", cwd=tmp_path, env=env
    )
    assert second.returncode in (0, 1), second.stderr  # so small a model may talk until its window is full
    assert second.stdout.strip()
    assert len(bodies(entries(tmp_path), "resumed-from")) == len(made)
    for checkpoint in made:
        assert checkpoint["summary"].strip()
