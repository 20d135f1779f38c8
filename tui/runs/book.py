"""The book of a session's run: the state in memory, and the one way every transition is written.

A transition is one transaction: state, event, cards, and what else belongs to it. Memory follows after the commit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import anyio
import msgspec

from tui.agent.agent import Agent
from tui.agent.events import RunChanged, RunShown, Said
from tui.log import LogError, RunLost
from tui.log.entries import Body, RunCard, TaskSet
from tui.messages import clean, new_id
from tui.runs.checkout import Checkout, Git
from tui.runs.checks import CHECK_SECONDS
from tui.runs.machine import begin, step
from tui.runs.message import plan_words
from tui.runs.plan import Plan, encode_plan, plan_hash
from tui.runs.report import report, shown
from tui.runs.review import Reviewer
from tui.runs.state import Card, Event, Paused, Started, Step, Suspended, Why
from tui.runs.stored import RunUnreadable, StoredRun, first_write, next_write, read_run

__all__ = ["DriverParts", "RunBook"]


class DriverParts(msgspec.Struct, frozen=True):
    """What the driver needs from its surroundings."""

    git: Git
    now: Callable[[], int]
    """Milliseconds since 1970, UTC."""
    monotonic: Callable[[], float]
    """Seconds, by a clock that nobody sets."""
    check_seconds: float = CHECK_SECONDS
    reviewer: Callable[[Agent], Reviewer] | None = None
    """Who reviews; None asks the session's own model."""


class RunBook:
    """At most one run of its session is not over."""

    def __init__(self, agent: Agent, parts: DriverParts) -> None:
        self.agent = agent
        self.parts = parts
        self.run: StoredRun | None = None
        """The session's newest run; over, or not."""
        self.trouble = ""
        """Why the session's run cannot be gone on with; empty where it can."""
        self.closed = False
        self._generation = 0
        self._since: float | None = None
        self._turn = anyio.Lock()

    @property
    def open(self) -> StoredRun | None:
        """The run that is not over, or None."""
        return self.run if self.run is not None and not self.run.state.over else None

    @property
    def armed(self) -> bool:
        """Whether this process works on the run."""
        return self._generation > 0 and self.open is not None and not self.closed

    @property
    def token(self) -> int | None:
        """What a dispatch that is scheduled now must still find; None where there is nothing to schedule."""
        run = self.open
        return run.state.token if run is not None and self.armed else None

    @property
    def shown(self) -> RunShown | None:
        """The run in figures, or None."""
        run = self.run
        if run is None:
            return None
        return shown(run.plan, run.state, armed=self.armed, priced=self.agent.model_info.priced)

    @property
    def since_ms(self) -> int:
        """Milliseconds since the last event of this process."""
        return 0 if self._since is None else round((self.parts.monotonic() - self._since) * 1_000)

    async def load(self) -> None:
        """Find the session's run. One that another process left is taken up by a person's word alone."""
        log = self.agent.journal.log
        rows = await log.runs.all()
        own = next((row for row in rows if row.session == log.id), None)
        if own is not None:
            try:
                self.run = read_run(own)
            except RunUnreadable as error:
                self.trouble = str(error)
                await self.card("paused", self.trouble)
        elif rows:
            await self._leave()
        self.tell()

    async def _leave(self) -> None:
        """On a branch that was forked out of a run, say that the run stays where it is."""
        await self.agent.requests.load()
        if self.agent.requests.situation().requests.item is not None:
            await self.card("left", "The run stays with the session it belongs to; here no item is in work.")

    async def card(self, what: Literal["paused", "left"], text: str) -> None:
        """Tell something of the run that is no transition; once, however often it is found."""
        newest = self.agent.journal.branch.newest(RunCard)
        if newest is not None and isinstance(newest.body, RunCard) and newest.body.text == text:
            return
        await self.agent.journal.append(RunCard(self.run.id if self.run is not None else "", what, text))

    async def start(self, plan: Plan, source: str, checkout: Checkout) -> None:
        """Begin a run; all preconditions hold. Raises `RunHeld`, and leaves nothing half active."""
        async with self._turn:
            name = new_id()
            generation = await self.agent.journal.log.runs.take(name)
            taken = Step(Started(checkout))
            state, cards = step(plan, begin(plan), taken)
            run = StoredRun(name, self.agent.session_id, source, plan, plan_hash(encode_plan(plan)), state)
            bodies = (*self._task(plan), *self._cards(run, cards))
            await self.agent.journal.append(*bodies, run=first_write(run, generation, taken))
            self.run, self._generation, self._since = run, generation, self.parts.monotonic()
        if not await self.agent.journal.log.title():
            await self.agent.journal.log.set_title(plan.title)
        self.tell()

    def _task(self, plan: Plan) -> tuple[Body, ...]:
        """Return the plan as the task, where the session begins with it."""
        asked = self.agent.requests.situation().requests.task
        return (TaskSet(plan_words(plan), "plan"),) if asked is None else ()

    async def take_up(self) -> None:
        """Become the one who works on the run. Raises `RunHeld`."""
        run = self.open
        if run is not None and not self.armed:
            self._generation = await self.agent.journal.log.runs.take(run.id)
            self._since = None

    async def feed(self, event: Event, *more: Body) -> bool:
        """Give the machine an event and write what it says; False where it does not apply."""
        async with self._turn:
            run = self.open
            if run is None or not self._generation or self.closed:
                return False
            taken, now = Step(event, self.since_ms), self.parts.monotonic()
            state, cards = step(run.plan, run.state, taken)
            if state is run.state:
                return False
            after = msgspec.structs.replace(run, state=state)
            write = next_write(run.id, self._generation, state, taken)
            await self.agent.journal.append(*self._cards(after, cards), *more, run=write)
            self.run, self._since = after, now
        self.tell()
        return True

    def _cards(self, run: StoredRun, cards: tuple[Card, ...]) -> tuple[Body, ...]:
        return tuple(RunCard(run.id, card.what, clean(card.text), _detail(run, card), card.item) for card in cards)

    def tell(self) -> None:
        """Tell front ends how the run stands."""
        self.agent.emit(RunChanged(self.shown))

    async def pause(self, why: Why, detail: str = "") -> None:
        """Pause, with the checkout as it is."""
        await self.feed(Paused(why, detail, await self.parts.git.look()))

    async def suspend(self, reason: str) -> None:
        """Let nothing go on by itself."""
        if not self.closed:
            await self.feed(Suspended(reason))

    async def fault(self, detail: str) -> None:
        """Pause after an error of our own; where even that fails, let go of the run as it stands in the database."""
        try:
            await self.pause("error", detail)
        except RunLost as error:
            self.lost(error)
        except LogError:
            raise  # the log cannot be written: that stops the agent
        except Exception:  # what failed may be what pausing needs too
            self._let_go(f"{detail}. The run is let go of; /run resume takes it up again.")

    def lost(self, error: RunLost) -> None:
        """Let go of a run that another process took up."""
        self._let_go(str(error))

    def _let_go(self, why: str) -> None:
        self._generation = 0
        self.agent.emit(Said(why))
        self.tell()


def _detail(run: StoredRun, card: Card) -> str:
    return report(run.plan, run.state) if card.what in ("complete", "stopped") else clean(card.detail)
