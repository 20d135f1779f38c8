"""R19 and the status: a plan run by the program itself, as a script would."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.runs.support import Hands, repository, serving
from tests.runs.tidying import clew, tidied
from tests.support.provider import Provider, Reply

PLAN = """
title = "Two things"
{extra}
[[item]]
text = "make item-1"
checks = [["test", "-e", "item-1"]]

[[item]]
text = "make item-2"
checks = [["test", "-e", "item-2"]]
"""


def run(tmp_path: Path, provider: Provider, *more: str, extra: str = "") -> subprocess.CompletedProcess[bytes]:
    plan = tmp_path / "plan.toml"
    plan.write_text(PLAN.format(extra=extra))
    given = ("--base-url", f"{provider.base_url}/v1", "--model", "scripted", "--window", "32000", "--provider")
    return clew("run", str(plan), "--headless", *given, "openai-chat", *more, cwd=tmp_path / "project")


def test_complete_is_0_and_prints_the_report(tmp_path: Path) -> None:
    repository(tmp_path)
    with serving(Hands()) as provider:
        done = run(tmp_path, provider, "--approve", "all")
    assert done.returncode == 0, done.stderr
    assert b"[x] 1. make item-1\n[x] 2. make item-2\n" in done.stdout
    status = clew("run", "status", "--json", cwd=tmp_path / "project")
    shown = json.loads(status.stdout)
    assert (shown["status"], shown["done"], shown["total"], shown["owner"]) == ("complete", 2, 2, "")
    assert shown["items"][0]["evidence"][0]["command"] == ["test", "-e", "item-1"]
    assert b"2/2 done, complete" in clew("run", "status", cwd=tmp_path / "project").stdout


def test_a_bound_is_3_and_the_same_call_goes_on(tmp_path: Path) -> None:
    repository(tmp_path)
    with serving(Hands()) as provider:
        first = run(tmp_path, provider, "--approve", "all", extra="[bounds]\nmax_items = 1\n")
        assert first.returncode == 3, first.stderr
        assert b"the bound is 1" in first.stderr
        second = run(tmp_path, provider, "--approve", "all", extra="[bounds]\nmax_items = 1\n")
    assert second.returncode == 0, second.stderr


def test_checks_that_nobody_approved_are_shown_and_a_person_is_needed(tmp_path: Path) -> None:
    repository(tmp_path)
    with serving(Hands()) as provider:
        done = run(tmp_path, provider)
        assert not provider.requests
    assert done.returncode == 4
    assert b"test -e item-1" in done.stderr
    assert b"--approve all" in done.stderr
    assert clew("run", "status", cwd=tmp_path / "project").returncode == 1  # nothing is left half active


def test_a_dirty_tree_needs_a_yes_and_is_recorded(tmp_path: Path) -> None:
    project = repository(tmp_path)
    (project / "mine.txt").write_text("half done")
    with serving(Hands()) as provider:
        done = run(tmp_path, provider, "--approve", "all")
        assert done.returncode == 4
        assert b"?? mine.txt" in done.stderr
        assert run(tmp_path, provider, "--approve", "all", "--yes").returncode == 0


def test_a_review_by_a_person_is_4(tmp_path: Path) -> None:
    repository(tmp_path)
    with serving(Hands()) as provider:
        done = run(tmp_path, provider, "--approve", "all", extra='review = "human"')
    assert done.returncode == 4, done.stderr
    assert b"waits for your review" in done.stderr


def test_a_second_failure_is_4_with_the_question(tmp_path: Path) -> None:
    repository(tmp_path)
    with serving(Hands({1: ["true", "true"]})) as provider:
        done = run(tmp_path, provider, "--approve", "all")
    assert done.returncode == 4, done.stderr
    assert b"failed 2 times" in done.stderr


def test_a_model_that_cannot_be_asked_is_1(tmp_path: Path) -> None:
    repository(tmp_path)
    with Provider(Reply(status=400, body="{}"), repeat_last=True) as provider:
        done = run(tmp_path, provider, "--approve", "all")
    assert done.returncode == 1, done.stderr


@pytest.mark.parametrize(("text", "said"), [("", b"no items"), ("= 1", b"not TOML")])
def test_a_plan_that_is_none_is_2(tmp_path: Path, text: str, said: bytes) -> None:
    (tmp_path / "plan.toml").write_text(text)
    done = clew("run", "plan.toml", "--headless", cwd=tmp_path)
    assert done.returncode == 2
    assert said in done.stderr


def test_the_rehearsal_tidies_a_real_project(tmp_path: Path) -> None:
    """The first items of the plan; `python -m tests.runs` works through all of them, with handoffs."""
    shown = tidied(tmp_path, items=3, window=10_000)
    assert [item["status"] for item in shown["items"]] == ["accepted"] * 3
