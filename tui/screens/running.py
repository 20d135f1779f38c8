"""What `/run` and `/goal` do: begin a run, go on, pause, stop, answer what waits, and the board."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Literal, assert_never

import msgspec
from textual.content import Content

from tui.screens.main import MainScreen
from tui.screens.options import PlanGiven
from tui.screens.pages import EditPage, PickPage
from tui.screens.paging import Pages
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.agent.events import RunShown
    from tui.runs.driver import RunDriver
    from tui.runs.opening import Found
    from tui.runs.plan import Plan
    from tui.runs.state import Answered, Reviewed
    from tui.screens.board import Board, BoardPage, Wanted

__all__ = ["Work", "begin_given", "run_of", "run_work"]

_WORDS = "start PLAN, resume, pause, stop, verify, retry [TEXT], skip, accept or revise TEXT; alone: the board"
Picker = Callable[[PickPage, Callable[[str | None], None]], None]


class Work(msgspec.Struct, frozen=True):
    """How the pages of runs are opened."""

    pages: Pages
    board: Callable[[BoardPage, Callable[[Wanted | None], None]], None]


def run_of(agent: Agent) -> RunShown | None:
    """Return the session's run in figures, for its strip."""
    from tui.runs.attach import driver_of

    driver = driver_of(agent)
    return driver.book.shown if driver is not None else None


def run_work(screen: MainScreen, name: Literal["goal", "run"], rest: str, work: Work) -> None:
    """Run `/goal …` or `/run …`."""
    pick = work.pages.pick
    if name == "goal":
        _goal(screen, rest)
        return
    word, _, more = rest.partition(" ")
    more = more.strip()
    match word:
        case "":
            _do(screen, lambda driver: _board(screen, driver, work))
        case "status":
            _do(screen, _status)
        case "start":
            _do(screen, lambda driver: _start(screen, driver, more, pick))
        case "resume" | "verify":
            _do(screen, lambda driver: _resume(screen, driver, pick))
        case "pause":
            _do(screen, _pause)
        case "stop":
            _do(screen, _stop)
        case "retry" | "skip" | "accept" | "revise":
            _do(screen, lambda driver: _answer(screen, driver, _event(word, more), pick))
        case _:
            screen.note(f"/run takes {_WORDS}")


def _goal(screen: MainScreen, text: str) -> None:
    """Run `/goal TEXT`: a run of one item."""
    if not text:
        screen.note("/goal TEXT: what is to be reached")
        return

    async def begin(driver: RunDriver) -> str:
        from tui.runs.opening import begin_run, look_before_start
        from tui.runs.plan import goal_plan

        found = await look_before_start(driver, goal_plan(text))
        # A goal has no checks, and its text was typed this moment: only what stands in the way is asked about.
        return "; ".join(found.problems) or await begin_run(driver, found, "")

    _do(screen, begin)


def _do(screen: MainScreen, work: Callable[[RunDriver], Awaitable[str]]) -> None:
    """Do something with the session's driver, and say what came of it."""

    async def asked(agent: Agent) -> None:
        from tui.runs.attach import driver_of

        agent.check()
        driver = driver_of(agent)
        text = await work(driver) if driver is not None else "Runs cannot be used in this session"
        if text:
            screen.note(one_line(text, 300))

    if screen.link is None:
        screen.note("The session is not open yet", passing=True)
    else:
        screen.link.do(asked)


async def _status(driver: RunDriver) -> str:
    from tui.runs.report import status_text

    run = driver.book.run
    return status_text(run.plan, run.state, armed=driver.book.armed) if run is not None else _none(driver)


def _none(driver: RunDriver) -> str:
    return driver.book.trouble or "There is no run here; /run start PLAN begins one"


async def _board(screen: MainScreen, driver: RunDriver, work: Work) -> str:
    from tui.runs.stored import read_events
    from tui.screens.board import BoardPage

    run = driver.book.run
    if run is None:
        return _none(driver)
    happened = read_events(await driver.agent.journal.log.runs.events(run.id))

    def wanted(found: Wanted | None) -> None:
        if found is not None:
            _wish(screen, found, work.pages)

    work.board(BoardPage(lambda: _look(driver), happened), wanted)
    return ""


def _look(driver: RunDriver) -> Board:
    """Return how the run stands now."""
    from tui.runs.machine import waits_for
    from tui.screens.board import Board

    run = driver.book.run
    assert run is not None
    return Board(run.plan, run.state, driver.book.armed, waits_for(run.plan, run.state))


def _wish(screen: MainScreen, wanted: Wanted, pages: Pages) -> None:
    """Do what was asked for on the board; what cannot be taken back is asked about, what takes words gets them."""
    match wanted.wish:
        case "show":
            _do(screen, lambda driver: show_item(screen, driver, wanted.item))
        case "resume":
            _do(screen, lambda driver: _resume(screen, driver, pages.pick))
        case "pause":
            _do(screen, _pause)
        case "stop":
            rows = (("no", Content("No, it goes on")), ("yes", Content("Yes, stop it for good")))
            pages.pick(PickPage("Stop the run? It cannot be resumed then", rows), lambda key: _stopped(screen, key))
        case "retry" | "skip" | "accept" | "revise":
            _do(screen, lambda driver: _say(screen, driver, wanted, pages))
        case _:
            assert_never(wanted.wish)


def _stopped(screen: MainScreen, key: str | None) -> None:
    if key == "yes":
        _do(screen, _stop)


async def _say(screen: MainScreen, driver: RunDriver, wanted: Wanted, pages: Pages) -> str:
    """Ask for the words of an answer to the marked item, or whether it is meant, where the item waits for one."""
    from tui.runs.machine import waits_for

    run, number, word = driver.book.open, wanted.item + 1, wanted.wish
    if run is None or wanted.item != run.state.at or not waits_for(run.plan, run.state):
        return f"Item {number} waits for no answer"

    def answer(text: str) -> None:
        _do(screen, lambda driver: _answer(screen, driver, _event(word, text), pages.pick))

    def skipped(key: str | None) -> None:
        if key == "yes":
            answer("")

    match word:
        case "accept":
            answer("")
        case "skip":
            rows = (("no", Content("No")), ("yes", Content("Yes, skip it: the report calls it out")))
            pages.pick(PickPage(f"Skip item {number}, undone?", rows), skipped)
        case "retry" if not run.state.items[wanted.item].question:
            return f"Item {number} waits for a review, not for a retry"
        case _:
            title = f"What the agent is told about item {number}{' (may be empty)' if word == 'retry' else ''}"
            pages.edit(EditPage(title, "", keeps_same=True), lambda text: None if text is None else answer(text))
    return ""


async def show_item(screen: MainScreen, driver: RunDriver, index: int) -> str:
    """Mark the newest message that gave an item to the agent, reading older pages as far back as it is."""
    from tui.runs.message import gives_item

    run, feed = driver.book.run, screen.feed
    if run is None:
        return _none(driver)
    before = driver.agent.journal.log.depth + 1
    while entries := await driver.agent.history_page(before):
        given = [entry for entry in entries if gives_item(entry.body, run.plan, index)]
        if given:
            while feed.oldest > given[-1].depth:
                await feed.show_older(driver.agent)
            screen.reading.browse()
            screen.call_after_refresh(feed.transcript.go_to, given[-1].id)
            return ""
        before = entries[0].depth
    return f"Item {index + 1} has not been given to the agent in this conversation"


async def _start(screen: MainScreen, driver: RunDriver, path: str, pick: Picker) -> str:
    from tui.runs.opening import look_before_start
    from tui.runs.plan import PlanError, read_plan

    if not path:
        return "/run start PLAN: a TOML or Markdown file"
    source = (screen.options.cwd / Path(path).expanduser()).resolve()
    try:
        plan: Plan = read_plan(source)
    except PlanError as error:
        return str(error)
    found = await look_before_start(driver, plan)

    async def begin(driver: RunDriver) -> str:
        from tui.runs.opening import begin_run

        return await begin_run(driver, found, str(source))

    return await _with_answers(screen, driver, found, begin, pick)


async def _resume(screen: MainScreen, driver: RunDriver, pick: Picker) -> str:
    from tui.runs.opening import look_before_resume, resume_run

    return await _with_answers(screen, driver, await look_before_resume(driver), resume_run, pick)


def begin_given(screen: MainScreen, given: PlanGiven, pick: Picker) -> None:
    """Begin the plan of the command line, or go on with its run where that is not over."""

    async def begin(driver: RunDriver) -> str:
        from tui.runs.opening import begin_run, look_before_resume, look_before_start, resume_run

        async def anew(driver: RunDriver) -> str:
            return await begin_run(driver, found, given.source)

        resumes = driver.book.open is not None or bool(driver.book.trouble)
        found = await (look_before_resume(driver) if resumes else look_before_start(driver, given.plan))
        asked = tuple(question for question in found.questions if question.about == "checks" or not given.yes)
        found = msgspec.structs.replace(found, questions=asked)
        return await _with_answers(screen, driver, found, resume_run if resumes else anew, pick)

    _do(screen, begin)


async def _with_answers(
    screen: MainScreen,
    driver: RunDriver,
    found: Found,
    then: Callable[[RunDriver], Awaitable[str]],
    pick: Picker,
) -> str:
    """Say what stands in the way, else ask what a person must say yes to, all on one page, then go on."""
    if found.problems:
        return "; ".join(found.problems)
    if not found.questions:
        return await then(driver)
    rows = [f"    {row}" for question in found.questions for row in (f"- {question.text}", *question.rows)]

    def answered(key: str | None) -> None:
        if key == "yes":
            _do(screen, then)

    choices = (("no", Content("Not now")), ("yes", Content("Yes, begin")))
    below = "\n".join(one_line(row, 300) for row in rows)
    pick(PickPage("Before the run goes on", choices, below=below), answered)
    return ""


async def _pause(driver: RunDriver) -> str:
    if driver.book.open is None:
        return _none(driver)
    await driver.pause()
    return "The run is paused; /run resume goes on"


async def _stop(driver: RunDriver) -> str:
    if driver.book.open is None:
        return _none(driver)
    await driver.stop()
    return "The run is stopped for good; what the agent does now it does to its end"


async def _answer(screen: MainScreen, driver: RunDriver, event: Answered | Reviewed | None, pick: Picker) -> str:
    """Give an answer to the item that waits; one of a run that another process left takes it up first."""
    if event is None:
        return "/run revise TEXT: say what is wrong"

    async def then(driver: RunDriver) -> str:
        from tui.runs.opening import resume_run

        return await resume_run(driver) or await give(driver)

    async def give(driver: RunDriver) -> str:
        return "" if await driver.answer(event) else "No item waits for that answer"

    if driver.book.open is None:
        return _none(driver)
    if driver.book.armed:
        return await give(driver)
    from tui.runs.opening import look_before_resume

    return await _with_answers(screen, driver, await look_before_resume(driver), then, pick)


def _event(word: str, text: str) -> Answered | Reviewed | None:
    from tui.runs.state import Answered, Reviewed

    match word:
        case "accept":
            return Reviewed("human", accept=True, text=text)
        case "revise":
            return Reviewed("human", accept=False, text=text) if text else None
        case "retry":
            return Answered("retry", text)
        case _:
            return Answered("skip", text)
