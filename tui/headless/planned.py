"""A run without a screen: begins a plan or goes on with it, and says how it ended (`clew run PLAN --headless`)."""

from __future__ import annotations

import msgspec

from tui.agent.agent import Agent
from tui.log.entries import Settled
from tui.runs.attach import driver_of
from tui.runs.machine import waits_for
from tui.runs.opening import Found, begin_run, look_before_resume, look_before_start, resume_run
from tui.runs.plan import Plan
from tui.runs.report import report
from tui.runs.state import RunState

__all__ = ["PlanWork"]

_HOW = {
    "checks": "--approve all allows them, or a rule of yours for each",
    "cost": "--yes begins without that bound",
    "dirty": "--yes starts with them",
    "plan": "--yes goes on with the plan as it was",
    "checkout": "--yes goes on here",
}


class PlanWork(msgspec.Struct, frozen=True):
    """What a call of `clew run` is to do."""

    plan: Plan
    source: str
    yes: bool = False
    """The questions beside the approval of the checks are answered with yes."""

    async def begin(self, agent: Agent) -> Settled | None:
        """Begin the run, or go on with the session's; return why nothing was done, or None."""
        driver = driver_of(agent)
        if driver is None:
            return Settled("error", "This session was opened without runs.")
        resumes = driver.book.open is not None or bool(driver.book.trouble)
        found = await (look_before_resume(driver) if resumes else look_before_start(driver, self.plan))
        if found.problems:
            return Settled("error", "\n".join(found.problems))
        asked = self._asked(found)
        if asked:
            return Settled("needs-person", asked)
        refused = await (resume_run(driver) if resumes else begin_run(driver, found, self.source))
        return Settled("error", refused) if refused else None

    def _asked(self, found: Found) -> str:
        """Return the questions nobody here can answer."""
        left = [question for question in found.questions if question.about == "checks" or not self.yes]
        return "\n".join(
            "\n".join((f"{question.text} ({_HOW[question.about]})", *(f"    {row}" for row in question.rows)))
            for question in left
        )

    def ending(self, agent: Agent, settled: Settled) -> Settled:
        """Return how the run stands now, as the end of this call."""
        driver = driver_of(agent)
        run = driver.book.run if driver is not None else None
        if run is None or agent.journal.failure:
            return settled  # nothing more can be written here: how the run stands is another's to say
        ended = _ended(run.plan, run.state)
        return msgspec.structs.replace(ended, detail=ended.detail or settled.detail)

    def text(self, agent: Agent) -> str:
        """Return what is printed at the end: the report."""
        driver = driver_of(agent)
        run = driver.book.run if driver is not None else None
        return f"{run.plan.title}\n\n{report(run.plan, run.state)}\n" if run is not None else ""


def _ended(plan: Plan, state: RunState) -> Settled:
    if state.status == "complete":
        return Settled("answered")
    waiting = waits_for(plan, state)
    if waiting:
        return Settled("needs-person", waiting)
    if state.status == "paused" and state.why == "bound":
        return Settled("bound", state.detail)
    if state.status == "paused" and state.why in ("exchange", "error"):
        return Settled("error", state.detail)
    if state.status == "stopped":
        return Settled("aborted", "The run was stopped.")
    if state.suspended:
        return Settled("aborted", state.suspended)
    return Settled("needs-person", state.detail or "The run does not go on by itself.")
