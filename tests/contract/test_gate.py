"""The gate and the latch: which calls run, what the others are told, what ends the exchange."""

from __future__ import annotations

from typing import cast

import msgspec
import pytest

from tests.context.history import answer, branch, call, prompt, result
from tests.contract.handoff import NOTE, OTHER, counter, made, state
from tui.context.gate import (
    FREE_TOOLS,
    CompactionMode,
    GateFacts,
    Verdict,
    act_at_hard,
    is_latched,
    judge_batch,
    judge_latch,
    refused_answers,
)
from tui.context.thresholds import ConfigurationError, Level, Thresholds
from tui.log.entries import Checkpoint, Handoff, Latch, Note, Phase, Result
from tui.messages import ToolCall

LIMITS = Thresholds(200_000, 120_000, 140_000, 160_000, 180_000)
BROKEN = ConfigurationError("ordering", "The thresholds do not fit.")


def noted(call_id: str, note: object = NOTE) -> ToolCall:
    return ToolCall(call_id, "self_compact", {"note_to_self": cast("str", note)})


def judge(*calls: ToolCall, **facts: object) -> Verdict:
    base = GateFacts(state("none"), limits=LIMITS, tokens=170_000)
    return judge_batch(calls, msgspec.structs.replace(base, **facts), counter())


def results(verdict: Verdict) -> dict[str, Result]:
    return {body.message.call_id: body for body in verdict.append if isinstance(body, Result)}


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 0, 2)])
def test_a_recorded_note_refuses_its_siblings_whatever_the_order(order: tuple[int, ...]) -> None:
    calls = (noted("n"), call("a", "bash"), call("b", "context_info"))
    verdict = judge(*(calls[place] for place in order))
    assert verdict.run == ()
    assert verdict.ends == "handoff"
    given = results(verdict)
    assert list(given) == [calls[place].id for place in order]
    assert not given["n"].message.is_error
    assert given["a"].message.is_error
    assert given["a"].refused == "handoff"
    assert [type(body).__name__ for body in verdict.append[-2:]] == ["Note", "Handoff"]
    assert verdict.state.phase == "saved"


@pytest.mark.parametrize("facts", [{"compactable": False}, {"largest": 3}])
def test_after_an_error_result_siblings_run(facts: dict[str, object]) -> None:
    verdict = judge(noted("n"), call("a"), **facts)
    assert [c.id for c in verdict.run] == ["a"]
    assert verdict.ends == ""
    assert results(verdict)["n"].message.is_error


@pytest.mark.parametrize("note", ["", "  ", None, 7, ["x"], "x" * 24_001])
def test_an_invalid_note_is_an_error_and_siblings_run(note: object) -> None:
    verdict = judge(noted("n", note), call("a"))
    assert [c.id for c in verdict.run] == ["a"]
    assert len(verdict.append) == 1


def test_two_notes_in_one_answer_the_first_is_saved_the_other_told() -> None:
    verdict = judge(noted("n1"), noted("n2", OTHER), noted("n3"))
    given = results(verdict)
    assert [given[name].message.is_error for name in ("n1", "n2", "n3")] == [False, True, False]
    assert len([body for body in verdict.append if isinstance(body, Note)]) == 1


def test_unusable_arguments_are_answered_with_their_error() -> None:
    broken = ToolCall("n", "self_compact", {}, raw="{", error="The arguments are no JSON object.")
    assert "no JSON" in results(judge(broken))["n"].message.text


@pytest.mark.parametrize("phase", ["saved", "compacting", "ready"])
def test_while_a_handoff_is_pending_ordinary_calls_are_refused_and_the_exchange_ends(phase: Phase) -> None:
    verdict = judge(call("a", "write"), state=state(phase))
    assert verdict.run == ()
    assert verdict.ends == "handoff"
    assert "pending" in results(verdict)["a"].message.text


@pytest.mark.parametrize(("refused", "ends"), [(0, ""), (1, ""), (2, "handoff")])
def test_a_failed_handoff_ends_the_exchange_after_three_answers(refused: int, ends: str) -> None:
    verdict = judge(call("a", "write"), state=state("failed"), refused=refused)
    assert verdict.run == ()
    assert verdict.ends == ends


@pytest.mark.parametrize("name", sorted(FREE_TOOLS))
@pytest.mark.parametrize(
    "facts",
    [{"state": state("saved")}, {"state": state("failed")}, {"limits": BROKEN}, {"latched": True}],
    ids=["saved", "failed", "invalid configuration", "hard"],
)
def test_free_tools_run_under_every_lock(name: str, facts: dict[str, object]) -> None:
    assert [c.id for c in judge(call("a", name), **facts).run] == ["a"]


def test_t6_an_invalid_configuration_refuses_with_its_error_and_ends() -> None:
    verdict = judge(call("a", "read"), limits=BROKEN)
    assert verdict.ends == "needs-person"
    assert BROKEN.message in results(verdict)["a"].message.text
    assert results(verdict)["a"].refused == "invalid-config"


def test_t6_self_compact_still_works() -> None:
    assert judge(noted("n"), limits=BROKEN).state.phase == "saved"


def test_hard_refuses_with_real_numbers_and_leaves_a_turn() -> None:
    verdict = judge(call("a", "read"), latched=True)
    assert verdict.ends == ""
    text = results(verdict)["a"].message.text
    assert "170000" in text
    assert "160000" in text
    assert "self_compact" in text
    assert results(verdict)["a"].refused == "hard"


def test_hard_never_refuses_where_nothing_can_be_compacted() -> None:
    assert judge(call("a", "read"), latched=True, compactable=False).run


def test_delivered_is_not_a_lock() -> None:
    assert judge(call("a", "read"), state=state("delivered")).run


def test_switched_off_nothing_is_gated_and_the_tool_says_so() -> None:
    verdict = judge(noted("n"), call("a", "read"), mode="off", latched=True, limits=BROKEN)
    assert [c.id for c in verdict.run] == ["a"]
    assert "switched off" in results(verdict)["n"].message.text
    assert verdict.state == state("none")


@pytest.mark.parametrize(("mode", "runs"), [("self", False), ("auto", True), ("off", True)])
def test_the_gate_at_hard_belongs_to_mode_self(mode: CompactionMode, runs: bool) -> None:
    assert bool(judge(call("a", "read"), latched=True, mode=mode).run) is runs


# --- the latch ------------------------------------------------------------------------------------


def test_falling_usage_does_not_release_it() -> None:
    assert judge_latch(latched=True, tokens=5, level=Level.NONE, hard=8, compactable=True) is None


def test_a_larger_window_does_unless_it_is_still_hard() -> None:
    off = judge_latch(latched=True, tokens=5, level=Level.SOFT, hard=8, compactable=True, larger_window=True)
    assert off == Latch(on=False, tokens=5, hard=8)
    assert judge_latch(latched=True, tokens=9, level=Level.HARD, hard=8, compactable=True, larger_window=True) is None


@pytest.mark.parametrize(
    ("tokens", "level", "compactable", "latches"),
    [
        (9, Level.HARD, True, True),
        (9, Level.HARD, False, False),
        (None, Level.HARD, True, False),
        (7, Level.WARNING, True, False),
    ],
)
def test_when_it_latches(tokens: int | None, level: Level, compactable: bool, latches: bool) -> None:
    found = judge_latch(latched=False, tokens=tokens, level=level, hard=8, compactable=compactable)
    assert (found is not None and found.on) is latches


def test_a_checkpoint_in_force_releases_it_without_an_entry() -> None:
    before = branch(Latch(on=True, tokens=9, hard=8), start=5)[0]
    older, newer = branch(made(), start=4)[0], branch(made(), start=6)[0]
    assert is_latched(before, None)
    assert is_latched(before, older)
    assert not is_latched(before, newer)
    assert not is_latched(None, None)
    assert not is_latched(branch(Latch(on=False, tokens=1, hard=8))[0], None)
    assert isinstance(newer.body, Checkpoint)


# --- counting refused answers ---------------------------------------------------------------------


def test_answers_in_a_row_with_all_calls_refused() -> None:
    refused = [answer("", call("a")), result("a", refused="hard", is_error=True)]
    assert refused_answers(branch(prompt("go"), *refused)) == 1
    assert refused_answers(branch(prompt("go"), *refused, *refused, *refused)) == 3


def test_a_call_that_ran_words_or_the_person_end_the_row() -> None:
    refused = [answer("", call("a")), result("a", refused="hard", is_error=True)]
    both = [answer("", call("a"), call("b")), result("a", refused="hard", is_error=True), result("b")]
    assert refused_answers(branch(prompt("go"), *refused, *both)) == 0
    assert refused_answers(branch(prompt("go"), *refused, answer("words"))) == 0
    assert refused_answers(branch(prompt("go"), *refused, prompt("more"))) == 0


def test_state_after_a_batch_without_notes_is_the_state_before() -> None:
    assert judge(call("a")).state == Handoff(done=3)


# --- what the program does by itself --------------------------------------------------------------


def act(
    *,
    mode: CompactionMode = "self",
    latched: bool = True,
    compactable: bool = True,
    refused: int = 3,
    has_tools: bool = True,
    checkpoint: Checkpoint | None = None,
    progress: bool = False,
) -> str:
    return act_at_hard(
        mode=mode,
        latched=latched,
        compactable=compactable,
        refused=refused,
        has_tools=has_tools,
        checkpoint=checkpoint,
        progress=progress,
    )


def test_three_refused_answers_or_no_tools_or_mode_auto_make_one_checkpoint_without_a_note() -> None:
    assert act() == "checkpoint"
    assert act(refused=0, has_tools=False) == "checkpoint"
    assert act(refused=0, mode="auto") == "checkpoint"


def test_the_model_has_its_turns_first() -> None:
    assert act(refused=2) == ""
    assert act(latched=False) == ""
    assert act(mode="off", refused=9) == ""


def test_at_hard_again_without_new_work_it_ends() -> None:
    hard = msgspec.structs.replace(made(), origin="hard", barren=1)
    assert act(checkpoint=hard) == "context-full"
    assert act(checkpoint=hard, progress=True) == "checkpoint"


@pytest.mark.parametrize(("barren", "ends"), [(4, "checkpoint"), (5, "context-full")])
def test_cmp09_cmp10_five_checkpoints_in_a_row_without_progress_are_the_most(barren: int, ends: str) -> None:
    assert act(checkpoint=msgspec.structs.replace(made(), barren=barren)) == ends


def test_nothing_compactable_at_hard_is_a_dead_end_and_said() -> None:
    assert act(compactable=False) == "context-full"
