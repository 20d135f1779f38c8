"""What an exchange's end means, and what comes next: decided here and nowhere else."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from tui.agent.attaching import draft_of
from tui.agent.branch import Branch, open_calls
from tui.agent.toolrun import broken_off, refused
from tui.context.view import NOT_STARTED
from tui.log.entries import Answer, Body, Entry, Prompt, Queue, Settled, Waiting
from tui.messages import AssistantMessage, StopReason, ToolCall
from tui.models.base import ConnectionFailed, ContextTooLong, EmptyAnswer, ModelError, StreamDropped, StreamStalled

__all__ = [
    "GOES_ON",
    "call_words",
    "cut_calls",
    "deliver",
    "headline",
    "held_back",
    "next_waiting",
    "own_words",
    "recovery",
    "settled_by",
    "settled_by_error",
    "steers_due",
    "stop_of",
    "stopped",
]

GOES_ON = ("answered", "length", "empty", "refusal")
"""After these the next waiting message is sent; after any other it would only fail the same way."""
_ENDED = "The program ended"
_REFUSED = (
    "What it refused stays in the conversation, and may be refused again: say it in other words, "
    "choose another model, or begin a new session."
)
_LONGEST = 60
"""Letters of a call where it is named in a sentence."""
OUTPUT_LIMIT = (
    "Not run: the answer reached its output limit of {limit} tokens before this call was complete. "
    "Nothing was changed. Do it in smaller parts."
)


def settled_by(answer: AssistantMessage) -> Settled:
    """Return how an exchange ends whose last answer is `answer`."""
    match answer.stop:
        case StopReason.COMPLETE | StopReason.TOOL_CALLS:
            return Settled("answered", stop=answer.stop)
        case StopReason.LENGTH:
            return Settled("length", "The answer reached the output limit and is cut.", answer.stop)
        case StopReason.REFUSAL:
            return Settled("refusal", f"{answer.error or 'The model refused.'} {_REFUSED}", answer.stop)
        case StopReason.EMPTY:
            return Settled("empty", "The model answered with nothing, twice.", answer.stop)
        case StopReason.ABORTED:
            return Settled("aborted", stop=answer.stop)
        case StopReason.ERROR | StopReason.DROPPED | StopReason.STALLED:
            return Settled("error", answer.error, answer.stop)


def settled_by_error(error: ModelError, why: str = "") -> Settled:
    """Return how an exchange ends when its request failed for good; `why` says why it is not tried again."""
    if isinstance(error, ContextTooLong):
        return Settled("context-full", str(error), StopReason.ERROR)
    if isinstance(error, EmptyAnswer):
        return Settled("empty", str(error), StopReason.EMPTY)
    return Settled("error", f"{str(error).removesuffix('.')}. {why}" if why else str(error), stop_of(error))


def stop_of(error: ModelError) -> StopReason:
    """Return the stop reason of an answer that ended with `error`: a lost connection is told from all else."""
    if isinstance(error, StreamDropped | ConnectionFailed):
        return StopReason.DROPPED
    return StopReason.STALLED if isinstance(error, StreamStalled) else StopReason.ERROR


def cut_calls(answer: AssistantMessage, limit: int) -> tuple[Body, ...]:
    """Return the results of calls in an answer cut by the output limit: none ran (Cogtrix#1370)."""
    return tuple(refused(call, OUTPUT_LIMIT.format(limit=limit), "bad-arguments") for call in answer.calls)


def steers_due(branch: Branch) -> tuple[Body, ...]:
    """Return what delivers all waiting steers, in order, before the next request of a running exchange."""
    steers = [item for item in branch.queue if item.mode == "steer"]
    if not steers:
        return ()
    rest = tuple(item for item in branch.queue if item.mode != "steer")
    prompts = tuple(Prompt(item.message, item.origin, queued=item.id, steer=True) for item in steers)
    return (*prompts, Queue(rest))


def next_waiting(branch: Branch) -> Waiting | None:
    """Return the waiting message whose turn it is when the agent is idle: steers first, then follow-ups."""
    queue = branch.queue
    return next((item for item in queue if item.mode == "steer"), queue[0] if queue else None)


def held_back(queue: tuple[Waiting, ...]) -> tuple[Body, ...]:
    """Return the queue for a continuation: what waited for it follows it, steers first, each its own exchange."""
    steers = tuple(msgspec.structs.replace(item, mode="follow-up") for item in queue if item.mode == "steer")
    return (Queue((*steers, *(item for item in queue if item.mode != "steer"))),) if steers else ()


def deliver(branch: Branch) -> tuple[Body, ...]:
    """Return what opens an exchange with the next waiting message: the prompt, and the queue without it."""
    item = next_waiting(branch)
    if item is None:
        return ()
    rest = tuple(other for other in branch.queue if other != item)
    return Prompt(item.message, item.origin, queued=item.id), Queue(rest)


def own_words(queue: tuple[Waiting, ...]) -> tuple[str, ...]:
    """Return what of a queue goes back to the editor: what a person wrote, not what a command said for them."""
    return tuple(draft_of(item.message) for item in queue if item.origin == "authored")


def stopped(branch: Branch, settled: Settled) -> tuple[Body, ...]:
    """Return what ends a stopped exchange: its reason, and an empty queue (the texts go back to the editor)."""
    return (settled, Queue()) if branch.queue else (settled,)


def recovery(
    entries: list[Entry], partial: AssistantMessage | None, *, exchange_open: bool, left: Callable[[str], str]
) -> tuple[Body, ...]:
    """Return what makes a branch whole that its owner left in the middle: once, durably.

    The growing answer is kept and marked; each open call gets its one result, with what it had printed (`left`,
    by its id); the exchange ends as interrupted.
    """
    bodies: list[Body] = []
    if partial is not None and exchange_open:
        bodies.append(Answer(partial))
    calls = open_calls(entries)
    bodies += [
        broken_off(call, left(call.id)) if started else refused(call, NOT_STARTED, "not-started")
        for call, started in calls
    ]
    if exchange_open:
        running = [call for call, started in calls if started]
        bodies.append(Settled("interrupted", f"{_ENDED}{_cut_short(running, writing=partial is not None)}."))
    return tuple(bodies)


def _cut_short(running: list[ToolCall], *, writing: bool) -> str:
    """Return what an interruption cut; empty where nothing ran."""
    if not running:
        return " while an answer was written; what had come is kept" if writing else ""
    named = [call_words(call) for call in running[:2]]
    more = [f"{len(running) - 2} more"] if len(running) > 2 else []
    return f" while running {' and '.join([*named, *more])}; effects unknown"


def headline(settled: Settled) -> str:
    """Return how an interruption is told when the session is opened again: one sentence."""
    return f"Interrupted{settled.detail.removeprefix(_ENDED)}"


def call_words(call: ToolCall) -> str:
    """Return a call as a person names it: `pytest -q` for a command, `edit notes.txt` for a file."""
    about = next(
        (value for key in ("command", "path", "pattern") if isinstance(value := call.arguments.get(key), str)), ""
    )
    line = next((line.strip() for line in about.splitlines() if line.strip()), "")
    words = line if call.name == "bash" and line else f"{call.name} {line}".strip()
    return f"`{words if len(words) <= _LONGEST else words[: _LONGEST - 1] + '…'}`"
