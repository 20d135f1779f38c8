"""The live part of the branch in memory, and what is derived from it. No state beside the entries.

The log is written first; this follows after the commit, never before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from tui.context.view import standing
from tui.log.entries import (
    Answer,
    Body,
    Checkpoint,
    Entry,
    Prompt,
    Queue,
    Result,
    ResumedFrom,
    Settled,
    ToolStarted,
    Waiting,
)
from tui.messages import ToolCall

__all__ = ["Branch", "file_states", "open_calls", "queue_of"]


class Branch:
    """The entries the next request may need, oldest first, and the newest of each kind seen."""

    def __init__(
        self,
        entries: Iterable[Entry] = (),
        newest: Mapping[str, Entry] | None = None,
        checkpoints: Iterable[Entry] = (),
    ) -> None:
        self._entries: list[Entry] = list(entries)
        self._newest: dict[str, Entry] = dict(newest or {})
        for entry in self._entries:
            self._newest[entry.kind] = entry
        self._checkpoints = {
            entry.id: entry
            for entry in (*checkpoints, *self._newest.values(), *self._entries)
            if isinstance(entry.body, Checkpoint)
        }
        self.forks: Mapping[int, int] = {}
        """How many other branches leave the path, by the depth after which they do. For the eye alone."""

    @property
    def entries(self) -> Sequence[Entry]:
        """All entries held, oldest first."""
        return self._entries

    def add(self, entries: Iterable[Entry]) -> None:
        """Take entries that have just been committed."""
        for entry in entries:
            self._entries.append(entry)
            self._newest[entry.kind] = entry
            if isinstance(entry.body, Checkpoint):
                self._checkpoints[entry.id] = entry

    def prepend(self, entries: Iterable[Entry]) -> None:
        """Take older entries of the path that were not held yet; those already held are passed over."""
        first = self._entries[0].depth if self._entries else None
        older = [entry for entry in entries if first is None or entry.depth < first]
        self._entries[:0] = older
        for entry in older:
            self._newest.setdefault(entry.kind, entry)

    def newest(self, kind: type[Body]) -> Entry | None:
        """Return the newest entry of this kind on the path."""
        return self._newest.get(str(kind.__struct_config__.tag))

    @property
    def checkpoint(self) -> Entry | None:
        """The entry of the checkpoint in force, or None: a look-up, not a walk."""
        return standing(self.newest(Checkpoint), self.newest(ResumedFrom), self._checkpoints.get)

    def drop_before(self, depth: int) -> None:
        """Forget entries older than `depth`: a checkpoint covers them; the log still has them."""
        self._entries = [entry for entry in self._entries if entry.depth >= depth]

    @property
    def queue(self) -> tuple[Waiting, ...]:
        """All waiting messages."""
        return queue_of(self.newest(Queue))

    @property
    def exchange_open(self) -> bool:
        """Whether something of an exchange has no `Settled` after it: one that is resumed has no prompt of its own."""
        settled = self.newest(Settled)
        last = settled.depth if settled is not None else -1
        begun = (self.newest(Prompt), self.newest(Answer), self.newest(ToolStarted))
        return any(entry is not None and entry.depth > last for entry in begun)

    @property
    def continuation_due(self) -> bool:
        """Whether a continuation was just written and nothing has come after it: its exchange is to be run."""
        prompt = self.newest(Prompt)
        if prompt is None or not isinstance(prompt.body, Prompt) or prompt.body.origin != "continuation":
            return False
        later = (self.newest(Settled), self.newest(Answer))
        return all(entry is None or entry.depth < prompt.depth for entry in later)


def queue_of(entry: Entry | None) -> tuple[Waiting, ...]:
    """Return the waiting messages that the newest queue entry names."""
    return entry.body.items if entry is not None and isinstance(entry.body, Queue) else ()


def open_calls(entries: Sequence[Entry]) -> list[tuple[ToolCall, bool]]:
    """Return each call that may run but has no result, in order, and whether it was started.

    Only calls of complete answers count: those of any other answer never run.
    """
    calls: dict[str, ToolCall] = {}
    started: set[str] = set()
    for entry in entries:
        match entry.body:
            case Answer(message=message) if message.stop.is_complete:
                calls.update((call.id, call) for call in message.calls)
            case ToolStarted(call_id=call_id):
                started.add(call_id)
            case Result(message=message):
                calls.pop(message.call_id, None)
            case _:
                pass
    return [(call, call.id in started) for call in calls.values()]


def file_states(entries: Iterable[Entry]) -> dict[str, str]:
    """Return the sha256 the agent last saw of each file, by real path (it must survive resume: kimi-code#3096)."""
    states: dict[str, str] = {}
    for entry in entries:
        if not isinstance(entry.body, Result):
            continue
        path, sha = entry.body.details.get("path"), entry.body.details.get("sha256")
        if isinstance(path, str) and isinstance(sha, str):
            states[path] = sha
    return states
