"""What `/run` and `/goal` do: begin a run, go on, pause, stop, answer what waits, and the board."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from textual.content import Content

from tui.screens.main import MainScreen
from tui.screens.pages import PickPage, TextPage
from tui.screens.paging import Pages
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.agent.events import RunShown
    from tui.runs.driver import RunDriver
    from tui.runs.opening import Found
    from tui.runs.plan import Plan
    from tui.runs.state import Answered, Reviewed

__all__ = ["run_of", "run_work"]

_WORDS = "start PLAN, resume, pause, stop, verify, retry [TEXT], skip, accept or revise TEXT; alone: the board"


def run_of(agent: Agent) -> RunShown | None:
    """Return the session's run in figures, for its strip."""
    from tui.runs.attach import driver_of
    from tui.runs.report import shown

    driver = driver_of(agent)
    run = driver.book.run if driver is not None else None
    if driver is None or run is None:
        return None
    return shown(run.plan, run.state, armed=driver.book.armed)


def run_work(screen: MainScreen, name: Literal["goal", "run"], rest: str, pages: Pages) -> None:
    """Run `/goal …` or `/run …`."""
    if name == "goal":
        _goal(screen, rest)
        return
    word, _, more = rest.partition(" ")
    more = more.strip()
    match word:
        case "":
            _do(screen, lambda driver: _board(driver, pages))
        case "status":
            _do(screen, _status)
        case "start":
            _do(screen, lambda driver: _start(screen, driver, more, pages))
        case "resume" | "verify":
            _do(screen, lambda driver: _resume(screen, driver, pages))
        case "pause":
            _do(screen, _pause)
        case "stop":
            _do(screen, _stop)
        case "retry" | "skip" | "accept" | "revise":
            _do(screen, lambda driver: _answer(driver, word, more))
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


async def _board(driver: RunDriver, pages: Pages) -> str:
    run = driver.book.run
    if run is None:
        return _none(driver)
    lines = tuple(_board_lines(driver))
    pages.read(TextPage(f"Run: {one_line(run.plan.title, 80)}", lambda _width: Content("\n".join(lines))))
    return ""


def _board_lines(driver: RunDriver) -> Iterator[str]:
    """Yield state, items with their evidence, and what can be done."""
    from tui.runs.report import evidence_lines, status_text

    run = driver.book.run
    assert run is not None
    for line in status_text(run.plan, run.state, armed=driver.book.armed).split("\n"):
        yield one_line(line, 300)
    for number, item in enumerate(run.state.items, 1):
        if item.evidence:
            yield ""
            yield f"Item {number}, its newest checks"
            yield from (f"  {one_line(line, 300)}" for line in evidence_lines(item))
    yield ""
    yield f"/run {_WORDS}"


async def _start(screen: MainScreen, driver: RunDriver, path: str, pages: Pages) -> str:
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

    return await _with_answers(screen, driver, found, begin, pages)


async def _resume(screen: MainScreen, driver: RunDriver, pages: Pages) -> str:
    from tui.runs.opening import look_before_resume, resume_run

    return await _with_answers(screen, driver, await look_before_resume(driver), resume_run, pages)


async def _with_answers(
    screen: MainScreen,
    driver: RunDriver,
    found: Found,
    then: Callable[[RunDriver], Awaitable[str]],
    pages: Pages,
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
    pages.pick(PickPage("Before the run goes on", choices, below=below), answered)
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


async def _answer(driver: RunDriver, word: str, text: str) -> str:
    event = _event(word, text)
    if event is None:
        return "/run revise TEXT: say what is wrong"
    done = await driver.answer(event)
    return "" if done else "No item waits for that answer"


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
