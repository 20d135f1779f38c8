"""Builds each request from the branch, and knows how full the context is.

project → validate → measure → clamp: nothing leaves any other way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from tui.agent.branch import Branch, file_states
from tui.agent.events import UsageChanged
from tui.agent.files import SeenFiles
from tui.agent.journal import Journal
from tui.agent.opening import load_older
from tui.agent.pictures import Pictures
from tui.context.checkpoint import Budget, Situation, compactable, plan
from tui.context.estimate import Calibration, Measure, learn, measure_message, measure_text, measure_tools
from tui.context.gate import is_latched
from tui.context.render import references, words_of
from tui.context.requests import Follower
from tui.context.thresholds import ConfigurationError, Given, Thresholds, resolve, uses_short_tools
from tui.context.usage import ContextUsage, clamp_output, measure_usage
from tui.context.validate import ImageLimits, ViewLimits, validate
from tui.context.view import WordFinder, project
from tui.log import SessionLog
from tui.log.entries import Answer, Checkpoint, Entry, Latch, Spent
from tui.log.gaps import page_of
from tui.messages import AssistantMessage, Image, Message, ToolSpec, Usage
from tui.models.base import ContextTooLong, Effort, Model, ModelInfo, Request, WindowSource

__all__ = ["RequestBuilder", "cost_of", "price"]

_MOST_MEASURES = 50_000
"""Remembered measures before the memory is begun anew; far more than any window holds."""


class _Measures:
    """Remembers the measure of each message: messages never change, and measuring is the dear part."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Message, Measure]] = {}

    def __call__(self, message: Message) -> Measure:
        held = self._known.get(id(message))
        if held is not None and held[0] is message:
            return held[1]
        if len(self._known) >= _MOST_MEASURES:
            self._known.clear()
        measure = measure_message(message)
        self._known[id(message)] = (message, measure)
        return measure


class RequestBuilder:
    """One per agent. Holds what is learned of a model (window, factors) and nothing of the conversation."""

    def __init__(
        self,
        journal: Journal,
        system: str,
        tools: tuple[ToolSpec, ...],
        seen: SeenFiles,
        given: Callable[[str], Given] = lambda _model: Given(),
        *,
        effort: Callable[[str], Effort] = lambda _model: "",
        idle: float | None = None,
    ) -> None:
        self._journal = journal
        self._system = system
        self._tools = tools
        self._seen = seen
        self._given = given
        self._effort = effort
        self._idle = idle
        self._measures = _Measures()
        self._system_measure = measure_text(system)
        self._overheads: dict[bool, Measure] = {}
        self._calibrations: dict[str, Calibration] = {}
        self._windows: dict[str, int] = {}
        self._words: dict[str, str] = {}
        self.pictures = Pictures()
        """Which images a server will not take."""
        self._worth: tuple[tuple[str, str, Budget], bool] | None = None
        self._follower = Follower()
        self._usage: tuple[object, ContextUsage] | None = None
        self._sent = Measure()
        self._spent = _spent_along(journal.branch)
        self.told = ""
        """What the model is told with each request of the first exchange after a start; never stored."""
        self.output_limit = 0
        """Tokens the newest request allowed for its answer."""

    @property
    def estimate(self) -> int:
        """The raw measure of the newest request, in tokens of an average tokenizer."""
        return self._sent.total

    def info(self, model: Model) -> ModelInfo:
        """Return what is known of `model`, with the window its server has corrected."""
        known = self._windows.get(model.info.id)
        if known is None:
            return model.info
        return msgspec.structs.replace(model.info, window=known, window_source=WindowSource.SERVER)

    def given(self, model: Model) -> Given:
        """Return the thresholds for `model` as the person wrote them."""
        return self._given(model.info.id)

    def thresholds(self, model: Model) -> Thresholds | ConfigurationError:
        """Return the thresholds for the window in force."""
        return resolve(self.given(model), self.info(model).window, overhead=self.overhead(model).total)

    def overhead(self, model: Model) -> Measure:
        """Return the measure of system prompt and tool descriptions."""
        short = uses_short_tools(self.info(model).window)
        if short not in self._overheads:
            self._overheads[short] = self._system_measure + measure_tools(self._tools, short=short)
        return self._overheads[short]

    def measured(self, model: Model) -> ContextUsage:
        """Return how full the context is."""
        entries, window = self._journal.branch.entries, self.info(model).window
        scale, overhead = self._calibrations.get(model.info.id), self.overhead(model)
        ends = (entries[0].id, entries[-1].id) if entries else ()
        known = (ends, len(entries), window, scale, overhead, len(self._words))
        if self._usage is None or self._usage[0] != known:
            found = measure_usage(
                entries,
                window=window,
                overhead=overhead,
                calibration=scale,
                measure=self._measures,
                checkpoint=self.checkpoint,
                words=self._words,
            )
            self._usage = (known, found)
        return self._usage[1]

    def usage(self, model: Model) -> UsageChanged:
        """Return how full the context is, for front ends."""
        usage, thresholds = self.measured(model), self.thresholds(model)
        return UsageChanged(
            tokens=usage.tokens,
            cached=usage.cached,
            window=usage.window,
            source=usage.source,
            cost=None if self._spent == Spent(partial=True) else self._spent.dollars,
            cost_partial=self._spent.partial,
            thresholds=thresholds if isinstance(thresholds, Thresholds) else None,
            problem=thresholds.message if isinstance(thresholds, ConfigurationError) else usage.doubt,
        )

    @property
    def checkpoint(self) -> Entry | None:
        """The entry of the checkpoint in force, or None."""
        return self._journal.branch.checkpoint

    @property
    def checkpoint_body(self) -> Checkpoint | None:
        """The checkpoint in force, or None."""
        entry = self.checkpoint
        return entry.body if entry is not None and isinstance(entry.body, Checkpoint) else None

    @property
    def latch(self) -> Latch | None:
        """The newest latch on the path, or None."""
        entry = self._journal.branch.newest(Latch)
        return entry.body if entry is not None and isinstance(entry.body, Latch) else None

    @property
    def latched(self) -> bool:
        """Whether hard is latched."""
        return is_latched(self._journal.branch.newest(Latch), self.checkpoint)

    def budget(self, model: Model) -> Budget:
        """Return the room there is for a view; while what is set does not fit, the room there is without it."""
        limits = self.thresholds(model)
        scale = self._calibrations.get(model.info.id, Calibration())
        window, overhead = self.info(model).window, self.overhead(model)
        if isinstance(limits, ConfigurationError):
            limits = resolve(Given(), window, overhead=overhead.total)
        hard = window * 9 // 10 if isinstance(limits, ConfigurationError) else limits.hard
        return Budget(window, hard, scale.tokens(overhead), scale)

    def situation(self, pending_note: str = "") -> Situation:
        """Return what a checkpoint would be planned from."""
        entries, checkpoint = self._journal.branch.entries, self.checkpoint
        return Situation(
            entries=entries,
            checkpoint=checkpoint,
            requests=self._follower.along(entries, checkpoint),
            words=WordFinder(entries, self._words).read,
            pending_note=pending_note,
            measure=self._measures,
        )

    def compactable(self, model: Model) -> bool:
        """Whether a checkpoint would be worth it now."""
        entries, budget = self._journal.branch.entries, self.budget(model)
        if not entries:
            return False
        known = (entries[0].id, entries[-1].id, budget)
        if self._worth is None or self._worth[0] != known:  # asked several times for each request
            usage = self.measured(model)
            used = usage.estimate if usage.tokens is None else usage.tokens
            self._worth = (known, compactable(self.situation(), budget, used=used))
        return self._worth[1]

    def projected(self, model: Model) -> int | None:
        """Return how many tokens a checkpoint made now would leave; None where none can be made."""
        if not self._journal.branch.entries:
            return None
        usage = self.measured(model)
        return plan(self.situation(), self.budget(model), "manual", used=usage.tokens or usage.estimate).projected

    async def checkpointed(self) -> None:
        """Forget what the checkpoint in force covers (the log has it), once the words it refers to are at hand."""
        body = self.checkpoint_body
        if body is not None:
            await self._find_words(body)
            self._journal.branch.drop_before(body.last_depth + 1)

    async def _find_words(self, checkpoint: Checkpoint) -> None:
        wanted = {reference.entry: reference for reference in references(checkpoint)}
        words = {name: self._words[name] for name in wanted if name in self._words}
        for name, reference in wanted.items():
            if name not in words:
                found = await page_of(self._journal.log, reference.depth + 1, 1)
                text = words_of(found[0]) if found and found[0].id == name else None
                if text is not None:
                    words[name] = text
        self._words = words

    def tokens_of(self, messages: Sequence[Message], model: Model) -> int:
        """Return what messages measure in this model's tokens."""
        total = Measure()
        for message in messages:
            total += self._measures(message)
        return self._calibrations.get(model.info.id, Calibration()).tokens(total)

    def view(self) -> tuple[Message, ...]:
        """Return the messages of the next request, before validation. What it needs must be loaded."""
        return project(self._journal.branch.entries, checkpoint=self.checkpoint, words=self._words)

    async def build(self, model: Model, guidance: str = "") -> Request:
        """Return the next request. Raises `LogError` where the path cannot be read."""
        await self.load()
        info = self.info(model)
        messages = validate(self.view(), _limits(info, self.pictures))
        self.pictures.sending(messages)
        sent = self.overhead(model)
        for message in messages:
            sent += self._measures(message)
        self._sent = sent
        self.output_limit = clamp_output(info.max_output, self.measured(model))
        return Request(
            system=self._system,
            messages=messages,
            tools=_declared(self._tools, info) if info.tools else (),
            max_output=self.output_limit,
            images=await _images(self._journal.log, messages),
            guidance="\n\n".join(filter(None, (self.told, guidance))),
            session_id=self._journal.log.id,
            effort=self._effort(info.id),
            idle=self._idle,
        )

    def answered(self, answer: AssistantMessage, model: Model) -> None:
        """Learn from an answer's report: this model's factors; and that its images were good."""
        self.pictures.answered()
        if answer.usage is None:
            return
        reported = answer.usage.total - answer.usage.output
        if reported * 10 >= self._sent.total * 6:
            known = self._calibrations.get(model.info.id, Calibration())
            self._calibrations[model.info.id] = learn(known, self._sent, reported)

    def spent(self, dollars: float | None) -> Spent:
        """Count what an answer or a summary cost, accepted or not; None is unknown. Returns the session's cost."""
        self._spent = _more(self._spent, dollars)
        return self._spent

    def too_long(self, error: ContextTooLong, model: Model) -> None:
        """Learn the window a server named: it only ever lowers what was known (ollama#17889)."""
        if error.limit and error.limit < self.info(model).window:
            self._windows[model.info.id] = error.limit

    async def load(self) -> None:
        """Load what the view needs and memory does not hold: from the newest checkpoint's kept entries on."""
        branch = self._journal.branch
        body = self.checkpoint_body
        first = body.last_depth + 1 if body is not None else 0
        if body is not None and any(reference.entry not in self._words for reference in references(body)):
            await self._find_words(body)
        if branch.entries and branch.entries[0].depth > first:
            await load_older(self._journal.log, branch, first)
            self._seen.learn(file_states(branch.entries))


def _limits(info: ModelInfo, pictures: Pictures) -> ViewLimits:
    sees = info.images and pictures.seen_by(info.id)
    return ViewLimits(info.id, info.provider, sees_images=sees, images=ImageLimits(), rejected=pictures.left_out)


def _declared(tools: tuple[ToolSpec, ...], info: ModelInfo) -> tuple[ToolSpec, ...]:
    if not uses_short_tools(info.window):
        return tools
    return tuple(msgspec.structs.replace(tool, description=tool.short or tool.description) for tool in tools)


def price(usage: Usage | None, info: ModelInfo) -> float | None:
    """Return the dollars a request cost, or None where its price, or what it used, is not known."""
    if not info.priced:
        return None
    if usage is None:
        return 0.0 if not (info.input_price or info.output_price) else None
    dollars = (
        usage.input * info.input_price
        + usage.output * info.output_price
        + usage.cache_read * info.cache_read_price
        + usage.cache_write * info.cache_write_price
    ) / 1_000_000
    return round(dollars, 6)


def _spent_along(branch: Branch) -> Spent:
    """Return what the session has cost: as the newest answer says, and what came after it.

    Where no answer says it, as in sessions of other programs, the entries in memory are added up.
    """
    answer = branch.newest(Answer)
    known = answer.body.spent if answer is not None and isinstance(answer.body, Answer) else None
    spent, after = (known, answer.depth) if answer is not None and known is not None else (Spent(), -1)
    for entry in branch.entries:
        if entry.depth > after:
            spent = _more(spent, cost_of(entry))
    return spent


def _more(spent: Spent, dollars: float | None) -> Spent:
    if dollars is None:
        return Spent(spent.dollars, partial=True)
    return Spent(round(spent.dollars + dollars, 6), spent.partial)


def cost_of(entry: Entry) -> float | None:
    """Return the dollars an entry's request cost when it was made, None: unknown; zero for all other entries."""
    return entry.body.cost if isinstance(entry.body, Answer | Checkpoint) else 0.0


async def _images(log: SessionLog, messages: tuple[Message, ...]) -> dict[str, bytes]:
    """Return the bytes of every image that is sent, by sha256; one that is gone is left out."""
    found: dict[str, bytes] = {}
    for sha256 in {part.sha256 for message in messages for part in message.content if isinstance(part, Image)}:
        data = await log.blob(sha256)
        if data is not None:
            found[sha256] = data
    return found
