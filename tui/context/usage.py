"""How full the context is: one pure function; bar, thresholds, info and log take its result.

The provider's newest report on this branch counts, plus an estimate of what came after it; never a sum
over requests (claude-code#13997). A report that cannot be true is not believed. "Unknown" is a value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import msgspec

from tui.context.bar import percent
from tui.context.estimate import Calibration, Measure, measure_message
from tui.context.view import messages_of, project
from tui.log.entries import Answer, Checkpoint, Entry, ResumedFrom
from tui.messages import Message, StopReason

__all__ = ["ContextUsage", "Source", "clamp_output", "fits", "measure_usage"]

Source: TypeAlias = Literal["reported", "estimated", "unknown"]
Measurer: TypeAlias = Callable[[Message], Measure]

_ENDED = frozenset(
    {StopReason.COMPLETE, StopReason.TOOL_CALLS, StopReason.LENGTH, StopReason.REFUSAL, StopReason.EMPTY}
)
"""The provider saw the request through: its figures are final."""
_BELIEVED_PERCENT = 60
_LEAST_OUTPUT = 64


class ContextUsage(msgspec.Struct, frozen=True):
    """Tokens the next request starts from."""

    tokens: int | None
    """None is unknown: it neither locks nor announces."""
    cached: int
    window: int
    source: Source
    estimate: int
    """The calibrated estimate of the next request, whatever the source: refuses what cannot fit."""
    reported: int | None = None
    """What the newest report said, believed or not."""
    doubt: str = ""
    """Why the newest report is not believed; said to the person once."""

    @property
    def percent(self) -> int | None:
        """Share of the window, rounded half up; None while unknown."""
        return None if self.tokens is None else percent(self.tokens, self.window)


def measure_usage(
    entries: Sequence[Entry],
    *,
    window: int,
    overhead: Measure,
    calibration: Calibration | None = None,
    measure: Measurer = measure_message,
    checkpoint: Entry | None = None,
    words: dict[str, str] | None = None,
) -> ContextUsage:
    """Return the usage of a branch. Costs the entries since the newest answer, not the branch.

    `overhead` is the measure of system prompt and declared tools; `measure` may remember its results;
    `checkpoint` and `words` as for `project`.
    """
    scale = calibration or Calibration()
    found = _newest_answer(entries)
    if isinstance(found, int) and _was_measured(entries[found]):
        return _after_answer(entries, found, window, scale, measure)
    total = overhead
    for message in project(entries, checkpoint=checkpoint, words=words):
        total += measure(message)
    estimate = scale.tokens(total)
    if found == "checkpoint" or (checkpoint is not None and found == "none"):
        return ContextUsage(None, 0, window, "unknown", estimate)
    return ContextUsage(estimate, 0, window, "estimated", estimate)


def _was_measured(entry: Entry) -> bool:
    """Whether something is known of the request of an answer: of an imported one there may be nothing."""
    return isinstance(entry.body, Answer) and (entry.body.message.usage is not None or entry.body.estimate > 0)


def _newest_answer(entries: Sequence[Entry]) -> int | Literal["checkpoint", "none"]:
    """Return where the newest completed request stands, unless a checkpoint in force is newer.

    Answers before a resume checkpoint was taken up belong to what it covers.
    """
    resumed: set[str] = set()
    for place in reversed(range(len(entries))):
        match entries[place].body:
            case Answer(message=message) if message.stop in _ENDED and not resumed:
                return place
            case ResumedFrom(checkpoint=name):
                resumed.add(name)
            case Checkpoint(origin=origin) if origin != "resume" or entries[place].id in resumed:
                return "checkpoint"
            case _:
                pass
    return "checkpoint" if resumed else "none"


def _after_answer(
    entries: Sequence[Entry], place: int, window: int, scale: Calibration, measure: Measurer
) -> ContextUsage:
    body = entries[place].body
    assert isinstance(body, Answer)
    later = Measure()
    for message in messages_of(entries[place + 1 :]):
        later += measure(message)
    after = scale.tokens(later)
    answer = measure(body.message)
    estimate = scale.tokens(Measure(text=body.estimate)) + scale.tokens(answer) + after
    report = body.message.usage
    if report is None:
        return ContextUsage(estimate, 0, window, "estimated", estimate)
    doubt = _doubt(report.total, body.estimate + answer.total, _images(entries[:place], measure))
    if doubt:
        return ContextUsage(estimate, 0, window, "estimated", estimate, report.total, doubt)
    tokens = report.total + after
    cached = min(report.cache_read, tokens)
    return ContextUsage(tokens, cached, window, "reported", tokens, report.total)


def _images(entries: Sequence[Entry], measure: Measurer) -> Callable[[], int]:
    """Return what counts the tokens of all images so far, when asked: servers count them each in their own way."""
    return lambda: sum(measure(message).images for message in messages_of(entries))


def _doubt(reported: int, estimate: int, images: Callable[[], int]) -> str:
    """Return why a report cannot be true, or nothing."""
    if reported <= 0:
        return "The server reported no tokens at all for a request that was not empty; the estimate counts."
    if estimate <= 0 or reported * 100 >= estimate * _BELIEVED_PERCENT:
        return ""
    if reported * 100 >= (estimate - images()) * _BELIEVED_PERCENT:
        return ""
    return (
        f"The server reported {reported} tokens where about {estimate} were sent: it may have cut the beginning of the "
        "prompt without saying so. The estimate counts; raise the server's context length, or set --window to it."
    )


def fits(usage: ContextUsage) -> bool:
    """Whether the next request can be sent at all: some room is left for the answer."""
    used = usage.tokens if usage.tokens is not None else usage.estimate
    return used + _LEAST_OUTPUT <= usage.window


def clamp_output(most: int, usage: ContextUsage) -> int:
    """Return how many tokens the answer may have: at most what is left of the window, at least 1 to ask for.

    A request that fills the window must not be sent at all: see `fits`.
    """
    used = usage.tokens if usage.tokens is not None else usage.estimate
    return max(1, min(most, usage.window - used))
