"""Usage: the CTX class of faults, with the figures users reported."""

from __future__ import annotations

import pytest

from tests.context.history import answer, branch, call, prompt, result
from tui.context.bar import bar_text
from tui.context.estimate import Calibration, Measure, learn, measure_message, measure_text
from tui.context.thresholds import Level, Thresholds, level_of
from tui.context.usage import ContextUsage, clamp_output, fits, measure_usage
from tui.log.entries import Checkpoint, Entry, Handoff, Note, Prompt, ResumedFrom
from tui.messages import Image, Message, StopReason, Text, Usage, UserMessage

WINDOW = 200_000
NO_OVERHEAD = Measure()


def usage(entries: list[Entry], overhead: Measure = NO_OVERHEAD, window: int = WINDOW) -> ContextUsage:
    return measure_usage(entries, window=window, overhead=overhead)


def exchange(report: Usage | None, estimate: int = 0) -> list[Entry]:
    return branch(prompt("hi"), answer("there", usage=report, estimate=estimate))


def checkpoint(last_depth: int, **fields: str) -> Checkpoint:
    origin = "resume" if fields.get("origin") == "resume" else "manual"
    return Checkpoint(origin, first="e0", last=f"e{last_depth}", last_depth=last_depth, summary="what was")


def test_ctx01_cached_tokens_count() -> None:
    found = usage(exchange(Usage(input=1, cache_read=42_320, cache_write=1_774, output=113)))
    assert (found.tokens, found.cached, found.source, found.percent) == (44_208, 42_320, "reported", 22)
    assert bar_text(found.tokens, found.cached, WINDOW, None) == "[####----------------] 22%"


def test_ctx02_the_newest_request_counts_never_a_sum() -> None:
    report = Usage(input=10, cache_read=50_000)
    entries = branch(prompt("a"), answer("b", usage=report), prompt("c"), answer("d", usage=report))
    assert usage(entries).tokens == 50_010


def test_ctx03_all_parts_share_one_base() -> None:
    found = usage(exchange(Usage(input=427, cache_write=1_016_242, output=106_970)), window=1_000_000)
    assert found.percent == 112


def test_ctx04_the_estimate_has_prompt_tools_and_messages_and_is_marked() -> None:
    found = usage(branch(prompt("word " * 100)), overhead=Measure(text=14_000))
    assert found.source == "estimated"
    assert found.tokens is not None
    assert found.tokens > 14_100


@pytest.mark.parametrize("count", [1, 500])
def test_ctx04_of_an_imported_history_without_any_figures_the_whole_counts(count: int) -> None:
    entries = branch(*(body for _ in range(count) for body in (prompt("word " * 100), answer("word " * 100))))
    found, whole = usage(entries, overhead=Measure(text=1_000)), measure_text("word " * 200 * count).total
    assert (found.source, found.tokens) == ("estimated", found.estimate)
    assert found.estimate >= 1_000 + whole


def test_ctx04_after_a_checkpoint_an_answer_without_figures_counts_what_is_in_the_view() -> None:
    covered = (prompt("word " * 5_000), answer("word " * 5_000))
    found = usage(branch(*covered, checkpoint(1), prompt("go on"), answer("done")), overhead=Measure(text=1_000))
    assert found.source == "estimated"
    assert 1_000 < found.estimate < 2_000


def test_ctx05_zero_is_never_believed() -> None:
    entries = branch(
        prompt("a"),
        answer("b", usage=Usage(input=40_000), estimate=40_000),
        prompt("c"),
        answer("d", usage=Usage(), estimate=41_000),
    )
    found = usage(entries)
    assert found.source == "estimated"
    assert found.tokens is not None
    assert found.tokens >= 41_000
    assert "no tokens at all" in found.doubt


def test_ctx09_a_report_far_below_the_estimate_is_not_believed_and_said() -> None:
    found = usage(exchange(Usage(input=16_386), estimate=50_000))
    assert found.source == "estimated"
    assert found.tokens is not None
    assert found.tokens > 50_000
    assert "16386" in found.doubt
    assert found.reported == 16_386


def test_a_report_at_sixty_percent_is_believed() -> None:
    text = measure_message(answer("there").message).total
    assert usage(exchange(Usage(input=6_000), estimate=10_000 - text)).source == "reported"
    assert usage(exchange(Usage(input=5_999), estimate=10_000 - text)).source == "estimated"


def test_no_false_alarm_on_images() -> None:
    pictures = UserMessage(tuple(Image(f"{n}", "image/png", 1600, 1200, 100) for n in range(10)))
    entries = branch(Prompt(pictures), answer("ten", usage=Usage(input=900), estimate=16_000))
    assert usage(entries).source == "reported"


def test_no_report_means_the_marked_estimate_for_thresholds_too() -> None:
    found = usage(exchange(None, estimate=170_000))
    assert found.source == "estimated"
    assert level_of(found.tokens, Thresholds(WINDOW, 120_000, 140_000, 160_000, 180_000)) is Level.HARD


def test_what_came_after_the_report_is_estimated_on_top() -> None:
    entries = branch(
        prompt("a"), answer("", call("c1"), usage=Usage(input=1_000), estimate=1_000), result("c1", "word " * 500)
    )
    found = usage(entries)
    assert found.tokens is not None
    assert 1_500 <= found.tokens <= 1_520


def test_what_is_excluded_does_not_count() -> None:
    entries = [*exchange(Usage(input=1_000), estimate=1_000)]
    more = branch(
        *[entry.body for entry in entries if isinstance(entry.body, Prompt)], prompt("x" * 40_000, excluded=True)
    )
    assert usage([entries[0], entries[1], more[1]]).tokens == 1_000


@pytest.mark.parametrize("stop", [StopReason.DROPPED, StopReason.ERROR, StopReason.STALLED, StopReason.ABORTED])
def test_figures_of_a_request_that_did_not_end_do_not_count(stop: StopReason) -> None:
    entries = branch(
        prompt("a"),
        answer("b", usage=Usage(input=900), estimate=900),
        prompt("c"),
        answer("d", stop=stop, usage=Usage(input=5)),
    )
    found = usage(entries)
    assert found.tokens is not None
    assert found.tokens > 900


@pytest.mark.parametrize("stop", [StopReason.LENGTH, StopReason.REFUSAL, StopReason.EMPTY])
def test_figures_of_a_request_seen_through_count(stop: StopReason) -> None:
    assert usage(branch(prompt("a"), answer("b", stop=stop, usage=Usage(input=900), estimate=900))).tokens == 900


def test_unknown_between_a_checkpoint_and_the_next_completed_answer() -> None:
    before = exchange(Usage(input=150_000, cache_read=9_000), estimate=150_000)
    entries = [*before, *branch(checkpoint(1), prompt("go on"), start=2)]
    found = usage(entries)
    assert (found.tokens, found.cached, found.percent, found.source) == (None, 0, None, "unknown")
    assert 0 < found.estimate < 500
    assert level_of(found.tokens, Thresholds(WINDOW, 1, 2, 3, 4)) is Level.NONE
    again = [*entries, *branch(answer("fine", usage=Usage(input=700, cache_read=10), estimate=600), start=4)]
    assert (usage(again).tokens, usage(again).cached) == (710, 10)


def test_the_kept_tail_of_a_checkpoint_holds_no_figures() -> None:
    entries = [*exchange(Usage(input=150_000)), *branch(checkpoint(0), start=2)]
    assert usage(entries).source == "unknown"


def test_handoff_entries_change_nothing() -> None:
    entries = [*exchange(Usage(input=900), estimate=900), *branch(Note("n", "x" * 9_000), Handoff("saved"), start=2)]
    assert usage(entries).tokens == 900


def test_an_unused_resume_checkpoint_is_inert_and_a_used_one_in_force() -> None:
    before = exchange(Usage(input=150_000), estimate=150_000)
    entries = [*before, *branch(checkpoint(1, origin="resume"), start=2)]
    assert usage(entries).tokens == 150_000
    assert usage([*entries, *branch(ResumedFrom("e2"), start=3)]).source == "unknown"


def test_calibration_scales_what_is_estimated() -> None:
    entries = branch(prompt("界" * 1_000))
    scale = learn(Calibration(), Measure(wide=1_000), 1_800)
    found = measure_usage(entries, window=WINDOW, overhead=NO_OVERHEAD, calibration=scale)
    assert found.tokens is not None
    assert 1_750 < found.tokens < 1_850


def test_it_looks_no_further_than_the_newest_answer() -> None:
    seen: list[Message] = []

    def counting(message: Message) -> Measure:
        seen.append(message)
        return measure_message(message)

    report = Usage(input=90_000)
    entries = branch(*[body for _ in range(500) for body in (prompt("a"), answer("b", usage=report, estimate=90_000))])
    measure_usage(
        [*entries, *branch(prompt("new"), start=1_000)], window=WINDOW, overhead=NO_OVERHEAD, measure=counting
    )
    assert len(seen) == 2


def test_output_is_clamped_to_what_is_left() -> None:
    assert clamp_output(8_192, ContextUsage(199_000, 0, WINDOW, "reported", 199_000)) == 1_000
    assert clamp_output(8_192, ContextUsage(None, 0, WINDOW, "unknown", 195_000)) == 5_000
    assert clamp_output(8_192, ContextUsage(250_000, 0, WINDOW, "reported", 250_000)) == 1


def test_what_cannot_fit_is_known_before_it_is_sent() -> None:
    assert fits(ContextUsage(199_900, 0, WINDOW, "reported", 199_900))
    assert not fits(ContextUsage(199_990, 0, WINDOW, "reported", 199_990))
    assert not fits(ContextUsage(None, 0, WINDOW, "unknown", 250_000))


def test_text_parts_are_what_is_measured() -> None:
    assert measure_message(UserMessage((Text("hello"),))).total == measure_text("hello").total + 4
