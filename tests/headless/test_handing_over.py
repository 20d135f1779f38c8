"""Handoffs without a screen: `clew` as a process against a real server on this machine, looked at by `clew info`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.agent.handoffs import Player, compact, serving, work
from tests.cli.support import clew
from tests.support.provider import Provider, Reply

NOTE = "The parser is done; next: the tests ✓."
BROKEN = Reply(status=401, body='{"error":{"message":"no"}}')


def at(provider: Provider) -> list[str]:
    return ["--base-url", provider.base_url + "/v1", "--model", "scripted", "--window", "32000", "--approve", "all"]


def info(cwd: Path, *more: str) -> dict[str, Any]:
    """Return what `clew info --json` says."""
    done = clew("info", "--json", *more, cwd=cwd)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_the_process_stays_until_the_note_is_delivered_and_answered(tmp_path: Path) -> None:
    with serving(Player(work(), Reply(calls=(compact(NOTE),)))) as provider:
        done = clew("-p", "fix it", "--verbose", *at(provider), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (0, b"All done.\n"), done.stderr
    assert b"checkpoint (self):" in done.stderr
    found = info(tmp_path)
    assert (found["handoff"]["phase"], found["handoff"]["done"]) == ("answered", 1)
    (cycle,) = found["cycles"]
    assert (cycle["closed"], cycle["note_head"]) == ("answered", NOTE)
    (checkpoint,) = found["checkpoints"]
    assert checkpoint["id"] == cycle["checkpoint"]
    assert (checkpoint["origin"], len(checkpoint["covers"]), len(checkpoint["task_sha256"])) == ("self", 2, 64)
    assert checkpoint["tokens_before"] > 0
    assert set(found["thresholds"]) == {"soft", "warning", "hard", "cap"}
    assert set(found["usage"]) == {"tokens", "cached", "percent", "source"}
    assert (found["window"], found["window_source"], found["level"]) == (32_000, "setting", "none")
    assert found["bar"].startswith("[")


NAMES: dict[str, set[str]] = {
    "flags": {"compact_soft_at", "compact_at", "compact_buffer", "compact_prompt"},
    "thresholds": {"soft", "warning", "hard", "cap"},
    "usage": {"tokens", "cached", "percent", "source"},
    "handoff": {
        "phase",
        "cycle",
        "attempts",
        "last_error",
        "detail",
        "stopped",
        "done",
        "note_length",
        "note_head",
    },
    "checkpoints": {"id", "origin", "covers", "kept_from", "tokens_before", "task_sha256"},
    "cycles": {
        "cycle",
        "phase",
        "closed",
        "attempts",
        "note_length",
        "note_head",
        "checkpoint",
        "summary_head",
        "seconds",
        "input_tokens",
        "output_tokens",
        "cost",
        "last_error",
    },
}
"""The names scripts may rely on, group by group; those of templates are the templates'."""
SINGLE = {
    "session",
    "leaf",
    "persisted",
    "model",
    "provider",
    "compaction",
    "window",
    "window_source",
    "level",
    "bar",
    "projected",
    "templates",
}


def test_the_names_of_the_json_form_are_a_contract(tmp_path: Path) -> None:
    with serving(Player(work(), Reply(calls=(compact(NOTE),)))) as provider:
        assert clew("-p", "fix it", *at(provider), cwd=tmp_path).returncode == 0
    found = info(tmp_path)
    assert found.keys() == SINGLE | NAMES.keys()
    for name, wanted in NAMES.items():
        groups = found[name] if isinstance(found[name], list) else [found[name]]
        assert [group.keys() for group in groups] == [wanted], name
    assert found["templates"].keys() == {"soft", "warning", "summary"}
    wrong = info(tmp_path, "--compact-at", "99%")
    assert wrong.keys() == (SINGLE | NAMES.keys() | {"error"}) - {"thresholds"}
    assert (wrong["level"], "|" in wrong["bar"]) == ("none", False)
    assert found["bar"].rpartition(" ")[2] == f"{found['usage']['percent']}%"


def test_the_names_are_there_while_nothing_was_handed_over(tmp_path: Path) -> None:
    with serving(Player()) as provider:
        assert clew("-p", "hi", *at(provider), cwd=tmp_path).returncode == 0
    found = info(tmp_path)
    assert found["handoff"] == {
        "phase": "none",
        "cycle": None,
        "attempts": 0,
        "last_error": None,
        "detail": "",
        "stopped": False,
        "done": 0,
        "note_length": 0,
        "note_head": "",
    }
    assert (found["cycles"], found["checkpoints"]) == ([], [])
    assert found["flags"] == dict.fromkeys(NAMES["flags"])


def test_a_handoff_that_fails_needs_a_person_and_loses_nothing(tmp_path: Path) -> None:
    with serving(Player(work(), Reply(calls=(compact(NOTE),)), summaries=(BROKEN,))) as provider:
        done = clew("-p", "fix it", *at(provider), cwd=tmp_path)
        assert done.returncode == 4, done.stderr
        found = info(tmp_path)
        assert f"clew -r {found['session']}".encode() in done.stderr
        assert f"clew info {found['session']}".encode() in done.stderr
        assert found["handoff"]["phase"] == "failed"
        assert found["handoff"]["last_error"] == "provider-failure"
        assert found["handoff"]["note_head"] == NOTE
        assert found["handoff"]["note_length"] == len(NOTE)
        again = clew("-p", "and then stop", "-c", *at(provider), cwd=tmp_path)
        assert again.returncode == 4, again.stderr
        assert b"What waits is kept too (1)" in again.stderr
    with serving(Player()) as provider:
        last = clew("-p", "go on", "-r", found["session"], *at(provider), cwd=tmp_path)
        assert last.returncode == 0, last.stderr
    assert info(tmp_path)["handoff"]["phase"] == "answered"


def test_info_as_text_and_with_other_thresholds(tmp_path: Path) -> None:
    with serving(Player()) as provider:
        assert clew("-p", "hi", *at(provider), "--compact-at", "50%", cwd=tmp_path).returncode == 0
    shown = clew("info", cwd=tmp_path).stdout.decode()
    assert "32,000 tokens (setting)" in shown
    assert info(tmp_path, "--compact-at", "40%")["thresholds"]["warning"] == 12_800
    assert info(tmp_path, "--compact-at", "40%")["flags"]["compact_at"] == "40%"
    wrong = info(tmp_path, "--compact-at", "99%")
    assert "thresholds" not in wrong
    assert "ordering" not in wrong["error"]
    assert "32000 tokens" in wrong["error"]
    assert info(tmp_path, wrong["session"][:20])["session"] == wrong["session"]


def test_thresholds_from_settings_for_a_model_of_their_own(tmp_path: Path, isolated: Path) -> None:
    (isolated / "clew").mkdir()
    settings = 'compact_at = "50%"\n[models.scripted]\ncompact_at = "30%"\ncompact_soft_at = "20%"\n'
    (isolated / "clew" / "settings.toml").write_text(settings)
    with serving(Player()) as provider:
        done = clew("-p", "hi", "--verbose", *at(provider), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert b"~-!-|" in done.stderr
    marks = info(tmp_path)["thresholds"]
    assert (marks["soft"], marks["warning"]) == (6_400, 9_600)


@pytest.mark.parametrize("wanted", ["nope", ""])
def test_info_of_a_session_that_is_not_there(wanted: str, tmp_path: Path) -> None:
    done = clew("info", *([wanted] if wanted else []), cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, b"")
    assert b"no session" in done.stderr


def test_a_word_that_is_no_mode_stops_the_start(tmp_path: Path) -> None:
    done = clew("-p", "hi", cwd=tmp_path, env={"CLEW_COMPACTION": "sometimes"})
    assert done.returncode == 2
    assert b"one of self, auto, off" in done.stderr
