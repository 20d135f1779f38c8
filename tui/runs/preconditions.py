"""What must be true before a run starts or goes on: one line for each problem, and what needs a person's word."""

from __future__ import annotations

import re
import shlex
from typing import Literal, TypeAlias

import msgspec

from tui.plain import plain_line
from tui.runs.checkout import Checkout
from tui.runs.plan import Plan

__all__ = ["Facts", "Question", "commands_of", "problems", "questions", "shown_command"]

_SHELL = re.compile(r"[|&;<>$`*\n\r\0]|^~")
"""What only a shell would give a meaning: in a list of words it is a mistake."""

Asked: TypeAlias = Literal["checks", "cost", "dirty", "plan", "checkout"]


class Question(msgspec.Struct, frozen=True):
    """Something that is shown to a person and needs a yes."""

    about: Asked
    text: str
    rows: tuple[str, ...] = ()


class Facts(msgspec.Struct, frozen=True):
    """What the preconditions look at."""

    plan: Plan
    other: str = ""
    """Who works on another run of this project, or which one of this session is not over; empty for nobody."""
    checkout: Checkout = Checkout()
    before: Checkout | None = None
    """The checkout when the run stopped; None at a start."""
    plan_now: str = ""
    """sha256 of the plan's file as it is now; empty where there is none."""
    plan_then: str = ""
    """sha256 of the copy the run works through."""
    approved: frozenset[tuple[str, ...]] = frozenset()
    """Checks the person has allowed by a rule or for everything."""
    unpriced: str = ""
    """The model whose price is not known; empty where it is."""


def shown_command(words: tuple[str, ...]) -> str:
    """Return a command as a person reads it: what is shown is what is run."""
    return plain_line(shlex.join(words), 2_000)


def commands_of(plan: Plan) -> tuple[tuple[str, ...], ...]:
    """Return every check of a plan once, in order."""
    return tuple(dict.fromkeys(check for item in plan.items for check in item.checks))


def problems(facts: Facts) -> tuple[str, ...]:
    """Return why the run cannot begin or go on, one line each; nothing where it can."""
    found: list[str] = []
    if not facts.plan.items:
        found.append("The plan has no items.")
    for number, item in enumerate(facts.plan.items, 1):
        found += [f"Item {number}: {fault}" for check in item.checks for fault in _faults(check)]
    if facts.other:
        found.append(facts.other)
    return tuple(found)


def _faults(check: tuple[str, ...]) -> list[str]:
    if not check or not check[0].strip():
        return ["a check is empty."]
    bad = next((word for word in check if _SHELL.search(word)), None)
    if bad is None:
        return []
    word, shown = plain_line(bad, 60), shown_command(check)
    return [f"the check {shown} has {word!r}: only a shell understands that, and checks run without. Use a script."]


def questions(facts: Facts) -> tuple[Question, ...]:
    """Return what a person is asked before the run begins or goes on, in order."""
    asked = [_checks(facts), _cost(facts), _dirty(facts), _plan_changed(facts), _checkout_changed(facts)]
    return tuple(question for question in asked if question is not None)


def _checks(facts: Facts) -> Question | None:
    open_ = [check for check in commands_of(facts.plan) if check not in facts.approved]
    if not open_:
        return None
    return Question("checks", "These commands verify the work. May the program run them?", _rows(open_))


def _rows(checks: list[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(shown_command(check) for check in checks)


def _cost(facts: Facts) -> Question | None:
    bound = facts.plan.bounds.max_cost
    if not bound or not facts.unpriced or facts.before is not None:
        return None
    return Question(
        "cost",
        f"The plan is bounded by ${bound:.2f}, and the price of {plain_line(facts.unpriced, 80)} is not known: it "
        "counts as nothing, so that bound will not stop the run. Begin all the same?",
    )


def _dirty(facts: Facts) -> Question | None:
    if facts.before is not None or not facts.checkout.changed:
        return None
    number = len(facts.checkout.changed)
    return Question(
        "dirty",
        f"The working tree has {number} uncommitted change{'' if number == 1 else 's'}. Start with them? "
        "It is written down which they were.",
        facts.checkout.changed[:20],
    )


def _plan_changed(facts: Facts) -> Question | None:
    if not facts.plan_then or facts.plan_now in ("", facts.plan_then):
        return None
    return Question("plan", "The plan's file has changed since the run began. Go on with the plan as it was?", ())


def _checkout_changed(facts: Facts) -> Question | None:
    before, now = facts.before, facts.checkout
    if before is None or (before.branch, before.head) == (now.branch, now.head):
        return None
    return Question(
        "checkout",
        "Another commit is checked out than when the run stopped. Go on here?",
        (f"then: {before.described}", f"now:  {now.described}"),
    )
