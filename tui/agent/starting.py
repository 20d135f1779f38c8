"""What a start begins from: the whole view as it was, or a bounded one that is put together by look-ups.

Decided when the session opens, shown in one line, changed by one key; written (`ResumedFrom`) with the first
prompt and before its request, so that one path has one view.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

import anyio.to_thread
import msgspec

from tui.agent.compaction import Compaction
from tui.agent.files import SeenFiles
from tui.agent.journal import Journal
from tui.agent.requests import RequestBuilder
from tui.context.followup import FOLLOWUP_BUDGET, Refused, Source, opens_exchange, plan_start, view_bytes
from tui.context.render import reference_to, references, words_of
from tui.context.thresholds import ConfigurationError
from tui.log import Damaged
from tui.log.entries import (
    Answer,
    Body,
    Checkpoint,
    Entry,
    Notes,
    Prompt,
    Reference,
    Result,
    ResumedFrom,
    Settled,
    UnknownBody,
)
from tui.messages import Message, UserMessage
from tui.models.base import Model
from tui.settings import ResumeView

__all__ = ["Choice", "Starting", "StartingParts", "Way"]

Choice = Literal["bounded", "full"]
Way = Literal["full", "larger", "cut"]
"""What can be done where nothing was sent."""
_PAGE = 200
_MOST_STEERS = 64
_FILE_BYTES = 8 * 2**20
"""Larger files are not hashed at a start."""


class StartingParts(msgspec.Struct, frozen=True):
    """What a start needs."""

    journal: Journal
    requests: RequestBuilder
    compaction: Compaction
    seen: SeenFiles
    model: Callable[[], Model]
    view: ResumeView = "auto"
    budget: int = FOLLOWUP_BUDGET
    """Bytes."""


class Starting:
    """Stands between an opened session and its first request. Does nothing for a session that has just begun."""

    def __init__(self, parts: StartingParts) -> None:
        self._parts = parts
        self._journal = parts.journal
        self._pending = False
        self._cut = False
        self.refused: Refused | None = None
        """Why nothing was sent, until that is settled."""
        self.budget = parts.budget
        """Bytes the first request may have."""
        self.choice: Choice = "full"
        """What the first request will be made from."""
        self.line = ""
        """For the person: what it begins from; empty where there is nothing to choose."""

    # --- opening

    async def opened(self) -> None:
        """Decide what to begin from. Costs look-ups, however long the session is. Raises `LogError`."""
        branch = self._journal.branch
        if branch.newest(Prompt) is None:
            return
        self._pending = True
        view = self._parts.view
        covered = self._covers_newest()
        if view == "checkpoint" or (view == "auto" and covered):
            self.choice = "bounded"
        self._say(covered=covered)
        await self._look_at_files()

    def _covers_newest(self) -> bool:
        """Whether an unused resume checkpoint covers the newest exchange, and nothing waits to go on."""
        branch = self._journal.branch
        newest, settled = branch.newest(Checkpoint), branch.newest(Settled)
        if newest is None or not isinstance(newest.body, Checkpoint) or newest.body.origin != "resume":
            return False
        later = (branch.newest(Prompt), branch.newest(Answer), branch.newest(ResumedFrom), settled)
        ended = settled is not None and isinstance(settled.body, Settled) and settled.body.reason == "answered"
        return (
            ended
            and not self._parts.compaction.unanswered
            and all(entry is None or entry.depth < newest.depth for entry in later)
        )

    def _say(self, *, covered: bool) -> None:
        if self.choice == "bounded":
            what = "its summary" if covered else "the newest checkpoint"
            self.line = f"Continues from {what} and the newest exchanges that fit. F7: the full view instead"
        elif covered:
            self.line = "Continues from the full view. F7: from the summary instead"

    def toggle(self) -> str:
        """Take the other view; return the line that says so, empty where it is too late."""
        if not self._pending:
            return ""
        self.choice = "full" if self.choice == "bounded" else "bounded"
        if self.choice == "bounded":
            self.line = "Continues from a summary and the newest exchanges that fit. F7: the full view instead"
        else:
            self.line = "Continues from the full view. F7: the bounded one instead"
        return self.line

    def choose(self, way: Way | None) -> str:
        """Settle a refusal; return what to say. None leaves everything as it is."""
        refused, self.refused = self.refused, None
        match way:
            case "full":
                self.choice = "full"
                return "The full view is sent with what you send next"
            case "larger" if refused is not None:
                self.budget = max(self.budget, refused.needed)
                return f"{self.budget:,} bytes are allowed for what you send next"
            case "cut":
                self._cut = True
                return "The previous request is sent as the number of its entry alone, with what you send next"
            case _:
                return ""

    async def _look_at_files(self) -> None:
        """Name the files that changed on disk since the agent last saw them."""
        newest = self._journal.branch.newest(Checkpoint)
        if newest is not None and isinstance(newest.body, Checkpoint):
            self._parts.seen.learn(dict(newest.body.hashes))
        states = self._parts.seen.states()
        changed = await anyio.to_thread.run_sync(_changed, states)
        lines: list[str] = []
        if changed:
            lines.append(
                "Files changed on disk since you last read them, read them again before relying on them: "
                + ", ".join(changed)
            )
        notes = self._journal.branch.newest(Notes)
        if notes is not None and isinstance(notes.body, Notes) and notes.body.text and self.choice == "full":
            lines.append(f"YOUR NOTES (written with write_notes; verbatim):\n{notes.body.text}")
        self._parts.requests.told = "\n\n".join(lines)

    # --- the first prompt

    async def bodies(self, message: UserMessage) -> tuple[Body, ...] | Refused:
        """Return what is written before the first prompt, or why nothing is sent. Raises `LogError`."""
        self.refused = None
        if not self._pending or self.choice == "full":
            self._pending = False
            return ()
        planned = plan_start(await self._source(), message, self._fits, cut=self._cut)
        if isinstance(planned, Refused):
            # Where the tokens are too many a larger budget would not help.
            needed = planned.needed if planned.needed > self.budget else 0
            self.refused = msgspec.structs.replace(planned, needed=needed)
            return self.refused
        return (planned.entry,)

    async def begun(self, written: Sequence[Body]) -> None:
        """Take note that the first prompt is durable, and forget what the bounded view does not hold."""
        self._pending = False
        if written:
            await self._parts.requests.checkpointed()

    def settled(self) -> None:
        """Take note that an exchange is over: what was told at the start is not told again."""
        self._pending = False
        self._parts.requests.told = ""

    def refusal(self, refused: Refused) -> str:
        """Return the sentence that offers what can be done."""
        larger = f", or --resume-budget {refused.needed} (or more)" if refused.needed else ""
        return (
            f"Nothing was sent. {refused.why} The session and your words are kept. Continue with --resume-view full"
            f"{larger}."
        )

    def _fits(self, view: Sequence[Message]) -> bool:
        requests, model = self._parts.requests, self._parts.model()
        if view_bytes(view) > self.budget:
            return False
        limits = requests.thresholds(model)
        if isinstance(limits, ConfigurationError):
            return True
        return requests.tokens_of(view, model) <= limits.soft - requests.overhead(model).total

    # --- look-ups

    async def _source(self) -> Source:
        branch, log = self._journal.branch, self._journal.log
        checkpoint = branch.newest(Checkpoint)
        covered = checkpoint.body.last_depth if checkpoint and isinstance(checkpoint.body, Checkpoint) else -1
        tail, whole, damaged = await self._tail(covered)
        request = await self._previous()
        notes = branch.newest(Notes)
        task = await self._first_request() if checkpoint is None else None
        told = [entry for entry in (request, notes, task) if entry is not None]
        words = {entry.id: text for entry in told if (text := words_of(entry)) is not None}
        if checkpoint is not None and isinstance(checkpoint.body, Checkpoint):
            words |= await self._words(references(checkpoint.body))
        return Source(
            checkpoint=checkpoint,
            tail=tail,
            whole=whole,
            leaf=log.depth,
            request=_reference(request),
            request_depth=request.depth if request is not None else -1,
            notes=_reference(notes),
            task=_reference(task),
            words=words,
            damaged=damaged,
        )

    async def _tail(self, covered: int) -> tuple[list[Entry], bool, list[tuple[int, int]]]:
        """Return the newest entries after `covered`, page by page while they might fit, and what of them is lost."""
        found: list[Entry] = []
        gaps: list[tuple[int, int]] = []
        before, size = self._journal.log.depth + 1, 0
        while before > covered + 1 and size <= self.budget:
            most = min(_PAGE, before - covered - 1)
            try:
                page = await self._journal.log.page(before=before, limit=most)
                before = page[0].depth
            except Damaged as error:
                if not error.gaps:
                    raise
                page, gaps = list(error.kept), [*gaps, *error.gaps]
                before = min([*(entry.depth for entry in page), *(low for low, _high in error.gaps)])
            gaps += [(e.depth, e.depth) for e in page if isinstance(e.body, UnknownBody) and e.body.error]
            found[:0] = page
            size += _bytes(page)
        return found, before <= covered + 1, gaps

    async def _previous(self) -> Entry | None:
        """Return the prompt that opened the newest exchange: look-ups back from the newest prompt."""
        entry = self._journal.branch.newest(Prompt)
        for _step in range(_MOST_STEERS):
            found = entry is None or opens_exchange(entry) or isinstance(entry.body, UnknownBody)
            if found or entry is None or entry.parent is None:
                return entry
            entry = await (await self._journal.log.at(entry.parent)).newest("prompt")
        return entry

    async def _first_request(self) -> Entry | None:
        first = await self._journal.log.page(before=min(_PAGE, self._journal.log.depth + 1), limit=_PAGE)
        return next((entry for entry in first if opens_exchange(entry)), None)

    async def _words(self, wanted: Sequence[Reference]) -> dict[str, str]:
        found: dict[str, str] = {}
        for reference in wanted:
            entry = await self._journal.log.find(reference.entry)
            text = words_of(entry) if entry is not None else None
            if text is not None:
                found[reference.entry] = text
        return found


def _reference(entry: Entry | None) -> Reference | None:
    if entry is None:
        return None
    # One that cannot be read is named all the same: without words nothing is sent in its place.
    return reference_to(entry) if words_of(entry) is not None else Reference(entry.id, entry.depth, "")


def _bytes(entries: Sequence[Entry]) -> int:
    return view_bytes([e.body.message for e in entries if isinstance(e.body, Prompt | Answer | Result)])


def _changed(states: dict[str, str]) -> list[str]:
    """Return the files that are not any more what was seen. For another thread."""
    return sorted(path for path, sha256 in states.items() if _hash(Path(path)) not in (sha256, ""))


def _hash(path: Path) -> str:
    """Return the sha256 of a file; "gone" where there is none, empty where it is too large to look at."""
    try:
        if path.stat().st_size > _FILE_BYTES:
            return ""
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError:
        return "gone"
