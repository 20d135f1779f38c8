"""Beginning a run and going on with one: what stands in the way, what must be asked, and then the step itself."""

from __future__ import annotations

from pathlib import Path

import msgspec

from tui.log import RunHeld
from tui.runs.driver import RunDriver
from tui.runs.plan import Plan, PlanError, encode_plan, plan_hash, read_plan
from tui.runs.preconditions import Facts, Question, commands_of, problems, questions, shown_command
from tui.runs.stored import StoredRun
from tui.tools.base import Effect, Preview
from tui.tools.permissions import Allow

__all__ = ["Found", "begin_run", "look_before_resume", "look_before_start", "resume_run"]


class Found(msgspec.Struct, frozen=True):
    """What was found before a run begins or goes on."""

    facts: Facts
    problems: tuple[str, ...]
    """One line each; with any of them nothing can be done."""
    questions: tuple[Question, ...]
    """What a person must say yes to first."""


async def look_before_start(driver: RunDriver, plan: Plan) -> Found:
    """Look whether `plan` can begin in this session."""
    run = driver.book.open
    other = f"A run of this session is not over: {run.plan.title}. /run resume or /run stop it first." if run else ""
    checkout = await driver.book.parts.git.look()
    info = driver.agent.model_info
    unpriced = "" if info.priced else info.id
    return _found(Facts(plan, other, checkout, approved=_approved(driver, plan), unpriced=unpriced))


async def look_before_resume(driver: RunDriver) -> Found:
    """Look whether the session's run can go on."""
    book = driver.book
    run = book.open
    if run is None:
        return Found(Facts(Plan("", ())), (book.trouble or "There is no run to go on with.",), ())
    facts = Facts(
        run.plan,
        checkout=await book.parts.git.look(),
        before=run.state.checkout,
        plan_now=_hash_now(run),
        plan_then=run.plan_sha256,
        approved=frozenset(commands_of(run.plan)),  # at its start: the copy of the plan is what was approved
    )
    return _found(facts)


def _found(facts: Facts) -> Found:
    wrong = problems(facts)
    return Found(facts, wrong, () if wrong else questions(facts))


def _hash_now(run: StoredRun) -> str:
    """Return the hash of the plan's file as it is now; empty where it is gone or no plan any more."""
    if not run.source:
        return ""
    try:
        return plan_hash(encode_plan(read_plan(Path(run.source))))
    except PlanError:
        return ""


def _approved(driver: RunDriver, plan: Plan) -> frozenset[tuple[str, ...]]:
    """Return the checks that mode or rules of the person allow already."""
    return frozenset(check for check in commands_of(plan) if _allowed(driver, check))


def _allowed(driver: RunDriver, check: tuple[str, ...]) -> bool:
    command = shown_command(check)
    return isinstance(driver.agent.judge(Preview(command, Effect.EXECUTE, command=command)), Allow)


async def begin_run(driver: RunDriver, found: Found, source: str) -> str:
    """Begin the run that was looked at; return why it cannot, or nothing."""
    try:
        await driver.start(found.facts.plan, source, found.facts.checkout)
    except RunHeld as error:
        return str(error)
    return ""


async def resume_run(driver: RunDriver) -> str:
    """Go on with the run that was looked at; return why it cannot, or nothing."""
    try:
        await driver.resume()
    except RunHeld as error:
        return str(error)
    return ""
