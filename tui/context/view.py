"""The branch as the messages of the next request: one projection, for whoever needs it.

With a checkpoint in force: its rendering first, then the entries it kept, then what came after. Nothing
is repaired here beyond what the log itself says; `validate` has the last word before each request.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache

import msgspec

from tui.context.render import references, render_branch_summary, render_checkpoint, words_of
from tui.log.entries import (
    Answer,
    BranchSummary,
    Checkpoint,
    Entry,
    Prompt,
    Reference,
    Result,
    ResumedFrom,
    ToolStarted,
)
from tui.messages import (
    AssistantMessage,
    Attachment,
    Image,
    Message,
    Refusal,
    StopReason,
    Text,
    Thinking,
    ToolResult,
    UserMessage,
)

__all__ = [
    "EFFECTS_UNKNOWN",
    "NOT_STARTED",
    "WordFinder",
    "branch_message",
    "effective",
    "in_force",
    "messages_of",
    "orphaned",
    "project",
    "prompt_message",
    "standing",
    "taken_up",
]

NOT_STARTED = "Not started: interrupted before this call could run. Nothing was changed; call it again if needed."
EFFECTS_UNKNOWN = "Effects unknown: interrupted while this call was running. Check what it did before repeating it."

_ONLY_THOUGHT = "[The agent only thought here; nothing was said.]"
_MARKS = {
    StopReason.LENGTH: "[This answer was cut here by the output limit.]",
    StopReason.REFUSAL: "[The model declined here.]",
    StopReason.ERROR: "[This answer broke off here: the provider reported an error.]",
    StopReason.DROPPED: "[This answer broke off here: the connection ended.]",
    StopReason.STALLED: "[This answer broke off here: nothing more came.]",
    StopReason.ABORTED: "[The person stopped this answer here.]",
}


def in_force(entries: Sequence[Entry]) -> Entry | None:
    """Return the checkpoint in force, as it was taken up: the newest one that is not an unused resume checkpoint."""
    resumed: dict[str, Entry] = {}
    for entry in reversed(entries):
        match entry.body:
            case ResumedFrom(checkpoint=""):
                return taken_up(None, entry)
            case ResumedFrom(checkpoint=name):
                resumed.setdefault(name, entry)
            case Checkpoint(origin=origin) if origin != "resume" or entry.id in resumed:
                return taken_up(entry, resumed[entry.id]) if entry.id in resumed else entry
            case _:
                pass
    return None


def standing(newest: Entry | None, resumed: Entry | None, find: Callable[[str], Entry | None]) -> Entry | None:
    """Return the same from three look-ups: the newest checkpoint, the newest `ResumedFrom`, others by id."""
    taken = resumed.body if resumed is not None and isinstance(resumed.body, ResumedFrom) else None
    if resumed is not None and taken is not None and (newest is None or resumed.depth > newest.depth):
        return taken_up(find(taken.checkpoint), resumed) if taken.checkpoint else taken_up(None, resumed)
    if newest is None or not isinstance(newest.body, Checkpoint) or newest.body.origin != "resume":
        return newest
    before = newest.body.previous  # what was in force when the unused one was made
    if resumed is not None and taken is not None and taken.checkpoint == before:
        return taken_up(find(before) if before else None, resumed)
    return find(before) if before else None


def taken_up(checkpoint: Entry | None, resumed: Entry) -> Entry | None:
    """Return a checkpoint as a start took it up: in force from the place of `resumed` on."""
    how = resumed.body
    assert isinstance(how, ResumedFrom)
    if checkpoint is None and how.checkpoint:
        return None  # it cannot be read
    body = checkpoint.body if checkpoint is not None else _nothing(how)
    assert isinstance(body, Checkpoint)
    last = body.last_depth if how.last_depth is None else how.last_depth
    notes = how.notes if how.last_depth is not None else body.notes
    allowance = body.allowance
    if how.request_shown >= 0:  # the newest request is cut wherever it stands
        allowance = msgspec.structs.replace(allowance, current=how.request_shown)
    made = msgspec.structs.replace(body, last_depth=last, notes=notes, resumed=how, allowance=allowance)
    return Entry(checkpoint.id if checkpoint else "", resumed.parent, resumed.depth, resumed.time, made)


def _nothing(how: ResumedFrom) -> Checkpoint:
    return Checkpoint(origin="resume", first="", last="", last_depth=-1, summary="", task=how.task, pointer=True)


def effective(entries: Sequence[Entry], checkpoint: Entry | None) -> Sequence[Entry]:
    """Return the entries the view is made of besides the checkpoint: what it kept, then what came after.

    The one sequence that measuring, cutting, summarising and building use (oh-my-pi#11515).
    """
    if checkpoint is None or not isinstance(checkpoint.body, Checkpoint):
        return entries
    last = checkpoint.body.last_depth
    return [entry for entry in entries if entry.depth > last]


def project(
    entries: Sequence[Entry], *, checkpoint: Entry | None = None, words: Mapping[str, str] | None = None
) -> tuple[Message, ...]:
    """Return the messages of the next request, before validation.

    `entries` are those of the path from the first kept one on, or more. `checkpoint` is given where the one
    in force is not among them; `words` holds the words of referred entries by id where those are not.
    """
    found = checkpoint or in_force(entries)
    if found is None or not isinstance(found.body, Checkpoint):
        return tuple(messages_of(entries))
    later = _later(effective(entries, found), found)
    read = WordFinder(entries, words or {}).read
    said = tuple((reference, read(reference)) for reference in references(found.body))
    return (_checkpoint_message(found.body, said), *later)


def _later(held: Sequence[Entry], checkpoint: Entry) -> tuple[Message, ...]:
    """Return what follows a checkpoint. What a start took over is sent without its thinking."""
    body = checkpoint.body
    if not isinstance(body, Checkpoint) or body.resumed is None:
        return tuple(messages_of(held))
    suffix = [entry for entry in held if entry.depth < checkpoint.depth]
    lost = orphaned(suffix)
    kept = [_unthinking(entry) for entry in suffix if entry.id not in lost]
    return (*messages_of(kept), *messages_of(entry for entry in held if entry.depth > checkpoint.depth))


def orphaned(entries: Sequence[Entry]) -> set[str]:
    """Return the ids of results whose calls are not among the entries before them."""
    calls: set[str] = set()
    lost: set[str] = set()
    for entry in entries:
        match entry.body:
            case Answer(message=message):
                calls.update(call.id for call in message.calls)
            case Result(message=message) if message.call_id not in calls:
                lost.add(entry.id)
            case _:
                pass
    return lost


def _unthinking(entry: Entry) -> Entry:
    """Return an entry without thinking, and with words in its place where it held nothing else: places stay."""
    body = entry.body
    if not isinstance(body, Answer) or not any(isinstance(part, Thinking) for part in body.message.content):
        return entry
    rest = tuple(part for part in body.message.content if not isinstance(part, Thinking))
    content = rest or (Text(_ONLY_THOUGHT),)
    message = msgspec.structs.replace(body.message, content=content)
    return msgspec.structs.replace(entry, body=msgspec.structs.replace(body, message=message))


@lru_cache(maxsize=16)
def _checkpoint_message(checkpoint: Checkpoint, said: tuple[tuple[Reference, str | None], ...]) -> UserMessage:
    """Return the same message for the same checkpoint: it is rendered, and measured, once and not for each request."""
    return UserMessage((Text(render_checkpoint(checkpoint, dict(said).get)),))


class WordFinder:
    """Finds referred words among the given ones, else among the entries at hand."""

    def __init__(self, entries: Sequence[Entry], given: Mapping[str, str]) -> None:
        self._entries = entries
        self._given = given

    def read(self, reference: Reference) -> str | None:
        """Return the words, or None where they are not at hand."""
        if reference.entry in self._given:
            return self._given[reference.entry]
        place = reference.depth - self._entries[0].depth if self._entries else -1
        if not 0 <= place < len(self._entries) or self._entries[place].id != reference.entry:
            return None
        return words_of(self._entries[place])


def messages_of(entries: Iterable[Entry]) -> Iterator[Message]:
    """Yield the message of each entry that is sent, in order; calls without a durable result get one after them."""
    held = list(entries)
    started = {entry.body.call_id for entry in held if isinstance(entry.body, ToolStarted)}
    ended = {entry.body.message.call_id for entry in held if isinstance(entry.body, Result)}
    for entry in held:
        match entry.body:
            case Prompt(message=message, excluded=False):
                yield prompt_message(message)
            case Answer(message=message):
                yield from _answer(message, started, ended)
            case Result(message=message):
                yield message
            case BranchSummary() as summary:
                yield branch_message(summary)
            case _:
                pass


@lru_cache(maxsize=64)
def branch_message(summary: BranchSummary) -> UserMessage:
    """Return a branch summary as it is sent: history, in a frame that says so; one object, measured once."""
    return UserMessage((Text(render_branch_summary(summary)),))


def _answer(message: AssistantMessage, started: set[str], ended: set[str]) -> Iterator[Message]:
    if not message.stop.is_complete:
        yield from _incomplete(message, ended)
        return
    yield message
    for call in message.calls:
        if call.id not in ended:
            text = EFFECTS_UNKNOWN if call.id in started else NOT_STARTED
            yield ToolResult(call.id, call.name, (Text(text),), is_error=True)


def _incomplete(message: AssistantMessage, ended: set[str]) -> Iterator[Message]:
    """Yield what was kept of an answer that did not end well, marked. Its calls only where each has its result."""
    words = [_spoken(part) for part in message.content if isinstance(part, Text | Refusal) and part.text.strip()]
    calls = [call for call in message.calls if call.id in ended]
    mark = _MARKS.get(message.stop)
    if mark is None or not (words or calls or message.stop is StopReason.REFUSAL):
        return
    thinking = [part for part in message.content if isinstance(part, Thinking) and (part.signature or part.redacted)]
    content = (*(thinking if calls else ()), *words, Text(mark), *calls)
    yield msgspec.structs.replace(message, content=content)


def _spoken(part: Text | Refusal) -> Text:
    return part if isinstance(part, Text) else Text(part.text)


def prompt_message(message: UserMessage) -> UserMessage:
    """Return a prompt as it is sent: the authored words in one piece, byte for byte, attached matter around them."""
    if len(message.content) == 1 and isinstance(message.content[0], Text):
        return message
    return _arranged(message)


@lru_cache(maxsize=256)
def _arranged(message: UserMessage) -> UserMessage:
    """Return the same message for the same prompt: a large paste is copied and measured once."""
    before: list[Text | Image] = []
    after: list[Text | Image] = []
    words = [part.text for part in message.content if isinstance(part, Text)]
    seen_words = False
    for part in message.content:
        if isinstance(part, Text):
            seen_words = True
        else:
            (after if seen_words else before).append(_attached(part) if isinstance(part, Attachment) else part)
    authored = (Text("".join(words)),) if words else ()
    return UserMessage(content=(*before, *authored, *after))


def _attached(part: Attachment) -> Text:
    name = " ".join(part.name.replace('"', "'").split())
    return Text(f'<attached name="{name}">\n{part.text}\n</attached>')
