"""Puts a session together: store, log, model, tools, agent; one `async with` for all of it.

A front end runs one worker whose body is `async with open_session(...)`; leaving it cancels what runs,
writes that down, and closes everything in the reverse order.
"""

from __future__ import annotations

import datetime as dt
import random
import sys
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Literal

import anyio
import msgspec

from tui import __version__
from tui.agent.agent import Agent, AgentParts, Mode, chosen_model
from tui.agent.approvals import Approvals
from tui.agent.branch import Branch, file_states
from tui.agent.broadcast import Broadcast
from tui.agent.checkpoints import CheckpointMaker, CheckpointMakerParts
from tui.agent.compaction import Compaction, CompactionParts
from tui.agent.events import PhaseChanged, Said
from tui.agent.exchange import Exchange, ExchangeParts
from tui.agent.files import SeenFiles, Spill
from tui.agent.following import Follower
from tui.agent.instructions import find_instructions, system_prompt
from tui.agent.journal import Journal
from tui.agent.opening import open_branch
from tui.agent.reopening import Reopening
from tui.agent.requests import RequestBuilder
from tui.agent.saving import GRACE, Saver, SaverParts
from tui.agent.starting import Starting, StartingParts
from tui.agent.summariser import Summariser, SummaryLimits
from tui.agent.summary_models import SummaryModels
from tui.agent.toolrun import ToolRunner, ToolRunnerParts, progress_sink
from tui.context.followup import FOLLOWUP_BUDGET
from tui.context.gate import MOST_BARREN
from tui.context.info import context_info
from tui.context.summary import IDLE_SECONDS, TOTAL_SECONDS
from tui.context.templates import PromptFolder
from tui.context.thresholds import Given
from tui.log import LeaseHeld, LogError, MemorySession, Session, SessionLog, Store
from tui.log.entries import ApprovalMode, Body, ModelChosen, Notes, Prompt, Started
from tui.log.errors import NothingToContinue
from tui.messages import Json, clean
from tui.models.base import AuthFailed, Effort, Model
from tui.models.factory import ModelChoice, open_model, reopened, with_server_window
from tui.models.keys import KEY_ORIGINS
from tui.settings import Settings
from tui.tools.base import Preview, ToolContext
from tui.tools.permissions import Rule, RuleError, Verdict, add_rule, decide, load_rules
from tui.tools.recall import memory_tools
from tui.tools.registry import standard_tools
from tui.tools.session_tools import session_tools
from tui.tools.text import MAX_BYTES, Bounds

__all__ = ["SessionOptions", "inspect_session", "open_session"]


class SessionUnusable(LogError):
    """The session cannot be opened for a reason beside its log. `str()` says what to mend."""


def _as_it_is(log: SessionLog) -> SessionLog:
    return log


async def _nothing(_agent: Agent, _options: SessionOptions) -> None:
    """Attach nothing."""


class SessionOptions(msgspec.Struct, frozen=True):
    """Which session to open, and with what."""

    home: Path
    """The user's data folder."""
    cwd: Path
    open: Literal["new", "newest", "id"] = "new"
    session_id: str = ""
    persist: bool = True
    choice: ModelChoice | None = None
    """The model asked for; None takes the session's own, else the settings'."""
    approve: Mode | None = None
    interactive: bool = True
    environ: Mapping[str, str] = {}
    settings: Settings = Settings()
    prompt_folders: tuple[PromptFolder, ...] = ()
    """Where templates of the person's, then of the trusted project, may lie."""
    instructions_home: Path | None = None
    """Where the user's own AGENTS.md may lie."""
    held: Literal["refuse", "follow", "take", "look"] = "refuse"
    """What is done with a session that another window writes; `look` never writes it, free or not."""
    arrives: bool = False
    """It was not asked to go on: nothing runs by itself."""
    between: Callable[[SessionLog], SessionLog] = _as_it_is
    """What stands between the agent and its log: faults can be put there."""
    sleep: Callable[[float], Awaitable[None]] = anyio.sleep
    """How waits pass, in seconds: before retries, and before what goes on by itself."""

    attach: Callable[[Agent, SessionOptions], Awaitable[None]] = _nothing
    """Puts who works through lists (runs) into their seat, before anything goes on."""

    @property
    def wanted(self) -> ModelChoice:
        """The model named in this call, else what the settings say."""
        settings = self.settings
        return self.choice or ModelChoice(settings.provider, settings.model, settings.base_url, settings.window)


Report = Callable[[str], None]
_PRIVATE = frozenset({*KEY_ORIGINS, "CLEW_API_KEY"})
"""Variables no command the agent runs may see."""


def _silent(_text: str) -> None:
    """Report to nobody."""


@asynccontextmanager
async def open_session(
    options: SessionOptions, *, report: Report = _silent, offer: Report | None = None
) -> AsyncGenerator[Agent]:
    """Open a session and yield its agent, at work. Raises `LogError`, `ModelError` or `OSError` where it cannot.

    `report` takes lines for the person: a new session where there was none to continue. `offer` takes the one line
    on what was cut off and what waits for the person; without it `report` does.
    """
    async with AsyncExitStack() as stack:
        log = options.between(await _open_log(options, stack, report))
        broadcast = Broadcast()
        stack.callback(broadcast.close)
        journal = Journal(log, await open_branch(log), broadcast.emit)
        if log.writable and await log.imported():
            options = _stranger(options)
        model = await with_server_window(_choice(options, journal.branch), options.environ)
        agent = _Assembly(options, journal, broadcast).agent(model)
        stack.push_async_callback(agent.close)
        if log.writable:
            await _begin(options, journal, model)
            await options.attach(agent, options)
            stack.push_async_callback(agent.dispatcher.close)
            await _reopening(options, agent, journal, broadcast, offer or report).run()
            await agent.starting.opened()
            if agent.starting.line:
                report(agent.starting.line if options.interactive else agent.starting.line.partition(" F7")[0])
        async with anyio.create_task_group() as group:
            group.start_soon(agent.run)
            if not log.writable and options.persist:
                group.start_soon(Follower(journal, broadcast.emit, agent.tell, anyio.sleep).run)
            try:
                yield agent
            finally:
                group.cancel_scope.cancel()


@asynccontextmanager
async def inspect_session(options: SessionOptions) -> AsyncGenerator[Agent]:
    """Open the session `options.session_id` only to look at it; raises as `open_session` does.

    Nothing is written, nothing runs, no model is asked and no lease is taken; a key is not needed.
    """
    async with AsyncExitStack() as stack:
        store = await stack.enter_async_context(await Store.open(options.home, options.cwd, read_only=True))
        log = await store.session(options.session_id, write=False)
        stack.push_async_callback(log.close)
        broadcast = Broadcast()
        stack.callback(broadcast.close)
        journal = Journal(log, await open_branch(log), broadcast.emit)
        choice = _choice(options, journal.branch)
        try:
            model = await with_server_window(choice, options.environ)
        except AuthFailed:  # what is known of a model does not depend on its key
            model = open_model(choice, options.environ, lookup=lambda _origin: "no key")
        agent = _Assembly(options, journal, broadcast).agent(model)
        stack.push_async_callback(agent.close)
        yield agent


async def _open_log(options: SessionOptions, stack: AsyncExitStack, report: Report) -> SessionLog:
    if not options.persist:
        memory = MemorySession(str(options.cwd))
        stack.push_async_callback(memory.close)
        return memory
    store = await stack.enter_async_context(await Store.open(options.home, options.cwd))
    session_id = options.session_id
    if options.open == "newest":
        from tui.log.moved import moved_here

        newest = await store.newest()
        if newest is None and not options.interactive:
            raise NothingToContinue([moved.project for moved in moved_here(options.home, options.cwd)])
        if newest is None:
            report("There is no session to continue here: a new one begins.")
        session_id = newest.id if newest else ""
    log = await _held(options, store, session_id) if session_id else await store.create(cwd=str(options.cwd))
    stack.push_async_callback(log.close)
    return log


async def _held(options: SessionOptions, store: Store, session_id: str) -> Session:
    """Open a session, or follow it where another window has it and that will do."""
    try:
        writes = options.held != "look" and not store.why_read_only
        return await store.session(session_id, write=writes, take_over=options.held == "take")
    except LeaseHeld:
        if options.held != "follow":
            raise
        return await store.session(session_id, write=False)


def _stranger(options: SessionOptions) -> SessionOptions:
    """Return the options for a session that came from a file: its words choose no server and grant nothing."""
    settings = options.settings
    own = ModelChoice(settings.provider, settings.model, settings.base_url, settings.window)
    choice, approve = options.choice or own, options.approve or "ask"
    return msgspec.structs.replace(options, choice=choice, approve=approve, arrives=True)


def _choice(options: SessionOptions, branch: Branch) -> ModelChoice:
    """Return the model to use: asked for, else the session's own, else what the settings say."""
    if options.choice is not None:
        return options.choice
    entry = branch.newest(ModelChosen)
    if entry is None or not isinstance(entry.body, ModelChosen):
        return options.wanted
    return _own_choice(entry.body)


def _own_choice(own: ModelChosen) -> ModelChoice:
    return reopened(ModelChoice(own.provider, own.model, own.base_url, own.window or None))


def _given(options: SessionOptions, model: str) -> Given:
    """Return the thresholds as the person wrote them, for the model of this id."""
    settings = options.settings.for_model(model)
    return Given(
        soft=settings.compact_soft_at,
        at=settings.compact_at,
        buffer=settings.compact_buffer,
        prompt=settings.compact_prompt,
    )


def _effort(options: SessionOptions, model: str) -> Effort:
    word = options.settings.for_model(model).effort
    return "" if word is None or word == "off" else word


def _own_mode(branch: Branch) -> Mode | None:
    entry = branch.newest(ApprovalMode)
    return entry.body.mode if entry is not None and isinstance(entry.body, ApprovalMode) else None


def _mode(options: SessionOptions, branch: Branch) -> Mode:
    """Return how much is asked: as told, else the session's own. Only one that begins takes the settings' word."""
    own = _own_mode(branch)
    if own is None and branch.newest(Prompt) is None:
        own = options.settings.approve
    return options.approve or own or "ask"


def _reopening(
    options: SessionOptions, agent: Agent, journal: Journal, broadcast: Broadcast, offer: Report
) -> Reopening:
    return Reopening(
        journal=journal,
        compaction=agent.compaction,
        loop=agent.loop,
        interactive=options.interactive,
        offer=offer,
        say=lambda text: broadcast.emit(Said(text)),
        sleep=options.sleep,
        opened="arrived" if options.arrives else "asked",
        left=_spill(options, journal).left,
    )


def _spill(options: SessionOptions, journal: Journal) -> Spill:
    return Spill(options.home / "spill" / journal.log.id)


async def _begin(options: SessionOptions, journal: Journal, model: Model) -> None:
    """Write what a session starts with, and what of it was chosen anew."""
    if not journal.branch.entries:
        await journal.append(Started(cwd=clean(str(options.cwd)), version=__version__))
    await journal.append(*_changed_choices(options, journal.branch, model))


def _changed_choices(options: SessionOptions, branch: Branch, model: Model) -> tuple[Body, ...]:
    """Return the entries for a model or an approval mode that differs from the branch's own."""
    bodies: list[Body] = []
    chosen = chosen_model(model.info)
    entry = branch.newest(ModelChosen)
    if entry is None or entry.body != chosen:
        bodies.append(chosen)
    mode = _mode(options, branch)
    if mode != (_own_mode(branch) or "ask"):
        bodies.append(ApprovalMode(mode))
    return tuple(bodies)


def _rules(options: SessionOptions) -> tuple[Rule, ...]:
    """Return the project's rules. With rules that cannot be read nothing may run: one of them may forbid it."""
    try:
        return load_rules(options.home, options.cwd)
    except RuleError as error:
        raise SessionUnusable(str(error)) from error


class _Assembly:
    """Makes the parts of one agent fit each other."""

    def __init__(self, options: SessionOptions, journal: Journal, broadcast: Broadcast) -> None:
        self._options = options
        self._journal = journal
        self._broadcast = broadcast
        self._approvals = Approvals(broadcast.emit)
        self._seen = SeenFiles(file_states(journal.branch.entries))
        self._spill = _spill(options, journal)
        self._rules = _rules(options)
        memory = memory_tools(lambda: journal.log.search, lambda text: journal.append(Notes(text)))
        self._tools = (*standard_tools(), *session_tools(self._info, self._ready), *memory)
        self._environ = {name: value for name, value in options.environ.items() if name not in _PRIVATE}
        self._agent: Agent | None = None

    def agent(self, model: Model) -> Agent:
        """Return the agent, not yet running."""
        specs = tuple(tool.spec for tool in self._tools)
        self._requests = RequestBuilder(
            self._journal,
            self._system(),
            specs,
            self._seen,
            lambda model: _given(self._options, model),
            effort=lambda model: _effort(self._options, model),
            idle=self._options.settings.model_idle,
        )
        parts = AgentParts(
            journal=self._journal,
            broadcast=self._broadcast,
            approvals=self._approvals,
            exchange=self._exchange,
            requests=self._requests,
            seen=self._seen,
            returns=self._options.interactive,
            compaction=self._compaction,
            context=self._context,
            judge=self._judge,
            saver=self._saver,
            starting=self._starting,
            checkpoint_idle=self._options.settings.checkpoint_idle,
            sleep=self._options.sleep,
            model_of=lambda own: with_server_window(_own_choice(own), self._options.environ),
        )
        self._agent = Agent(parts, model, _mode(self._options, self._journal.branch))
        return self._agent

    def _system(self) -> str:
        return system_prompt(
            cwd=self._options.cwd,
            today=dt.datetime.now().astimezone().date(),
            platform=sys.platform,
            instructions=list(find_instructions(self._options.cwd, self._options.instructions_home)),
        )

    def _info(self) -> dict[str, Json]:
        agent = self._agent
        assert agent is not None
        limits = self._requests.thresholds(agent.model)
        return context_info(self._requests.measured(agent.model), limits, agent.compaction.state)

    async def _ready(self, evidence: str) -> str:
        assert self._agent is not None
        return await self._agent.dispatcher.ready(evidence)

    def _judge(self, agent: Agent, preview: Preview) -> Verdict:
        return decide(agent.approval, preview, self._rules)

    def _saver(self, agent: Agent) -> Saver:
        settings = self._options.settings
        return Saver(
            SaverParts(
                journal=self._journal,
                requests=self._requests,
                compaction=agent.compaction,
                maker=self._maker(agent),
                model=lambda: agent.model,
                busy=lambda: not agent.idle,
                say=lambda text: self._broadcast.emit(Said(text)),
                budget=settings.resume_budget or settings.followup_budget or FOLLOWUP_BUDGET,
                grace=float(settings.shutdown_grace or GRACE),
                on=self._options.persist and settings.resume_view != "full",
            )
        )

    def _starting(self, agent: Agent) -> Starting:
        settings = self._options.settings
        return Starting(
            StartingParts(
                journal=self._journal,
                requests=self._requests,
                compaction=agent.compaction,
                seen=self._seen,
                model=lambda: agent.model,
                view=settings.resume_view or "auto",
                budget=settings.resume_budget or settings.followup_budget or FOLLOWUP_BUDGET,
            )
        )

    def _maker(self, agent: Agent) -> CheckpointMaker:
        settings = self._options.settings
        return CheckpointMaker(
            CheckpointMakerParts(
                journal=self._journal,
                requests=self._requests,
                summariser=self._summariser(),
                models=SummaryModels(settings, self._options.environ),
                model=lambda: agent.model,
                emit=self._broadcast.emit,
                pointer=settings.on_summary_failure == "pointer",
                folders=self._options.prompt_folders,
            )
        )

    def _compaction(self, agent: Agent) -> Compaction:
        settings = self._options.settings
        return Compaction(
            CompactionParts(
                journal=self._journal,
                requests=self._requests,
                maker=self._maker(agent),
                model=lambda: agent.model,
                emit=self._broadcast.emit,
                say=lambda text: self._broadcast.emit(Said(text)),
                returns=self._options.interactive,
                mode=settings.compaction or "self",
                most_barren=settings.most_checkpoints or MOST_BARREN,
                folders=self._options.prompt_folders,
            )
        )

    def _summariser(self) -> Summariser:
        settings = self._options.settings
        return Summariser(
            clock=time.monotonic,
            wall=time.time,
            random=random.random,
            sleep=self._options.sleep,
            limits=SummaryLimits(settings.summary_idle or IDLE_SECONDS, settings.summary_total or TOTAL_SECONDS),
            tell=lambda doing: self._broadcast.emit(PhaseChanged("compacting", doing)),
        )

    def _exchange(self, agent: Agent) -> Exchange:
        return Exchange(
            ExchangeParts(
                journal=self._journal,
                model=lambda: agent.model,
                requests=self._requests,
                compaction=agent.compaction,
                gate=agent.gate,
                tools=self._runner(agent),
                bound=agent.dispatcher.before_request,
                emit=self._broadcast.emit,
                clock=time.monotonic,
                wall=time.time,
                random=random.random,
                sleep=self._options.sleep,
            )
        )

    def _runner(self, agent: Agent) -> ToolRunner:
        return ToolRunner(
            ToolRunnerParts(
                tools=self._tools,
                append=self._journal.append,
                emit=self._broadcast.emit,
                approvals=self._approvals,
                judge=lambda preview: self._judge(agent, preview),
                context=lambda call_id: self._context(agent, call_id),
                put_blob=self._journal.log.put_blob,
                learn_rule=self._learn,
                clock=time.monotonic,
                interactive=self._options.interactive,
            )
        )

    def _context(self, agent: Agent, call_id: str) -> ToolContext:
        return ToolContext(
            root=self._options.cwd,
            cwd=self._options.cwd,
            call_id=call_id,
            states=self._seen,
            spill=self._spill,
            progress=progress_sink(self._broadcast.emit, call_id),
            environ=self._environ,
            images=agent.model.info.images,
            bounds=Bounds(bytes=min(MAX_BYTES, self._requests.budget(agent.model).result_bytes)),
            settings=self._options.settings.tools,
        )

    def _learn(self, rule: str) -> None:
        self._rules = add_rule(self._options.home, self._options.cwd, rule)
