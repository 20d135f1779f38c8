"""R3: one line for each problem; what needs a person's word is asked with everything it is about."""

from __future__ import annotations

import pytest

from tui.runs.checkout import Checkout
from tui.runs.plan import Plan, PlanItem
from tui.runs.preconditions import Facts, commands_of, problems, questions

PYTEST = ("python3", "-m", "pytest", "-q", "-k", "a and b", "tests/test_x.py::test_y[1-2]")
PLAN = Plan("p", (PlanItem("one", (PYTEST, ("make",))), PlanItem("two", (PYTEST,))))
CLEAN = Checkout("main", "abc", "t1")


def with_check(*words: str) -> Plan:
    return Plan("p", (PlanItem("one", (words,)),))


def test_a_good_plan_has_no_problems() -> None:
    assert problems(Facts(PLAN, checkout=CLEAN)) == ()


@pytest.mark.parametrize(
    "words",
    [
        ("pytest", "|", "tee"),
        ("pytest", ">out"),
        ("a&&b",),
        ("a;b",),
        ("echo", "$HOME"),
        ("echo", "`id`"),
        ("ls", "*.py"),
        ("ls", "~/x"),
        ("a\nb",),
        ("a\0b",),
        ("cat", "<in"),
    ],
)
def test_words_that_only_a_shell_understands_are_problems(words: tuple[str, ...]) -> None:
    (line,) = problems(Facts(with_check(*words)))
    assert line.startswith("Item 1: the check ")
    assert "\n" not in line


def test_each_problem_has_its_line() -> None:
    plan = Plan("p", (PlanItem("a", (("x", "|"), ("",))), PlanItem("b", (("y", ";"),))))
    assert len(problems(Facts(plan, other="Somebody works here."))) == 4
    assert problems(Facts(Plan("p", ()))) == ("The plan has no items.",)


def test_every_check_is_shown_once_for_approval() -> None:
    assert commands_of(PLAN) == (PYTEST, ("make",))
    (question,) = questions(Facts(PLAN, checkout=CLEAN))
    assert question.about == "checks"
    assert question.rows == ("python3 -m pytest -q -k 'a and b' 'tests/test_x.py::test_y[1-2]'", "make")
    (left,) = questions(Facts(PLAN, checkout=CLEAN, approved=frozenset({PYTEST})))
    assert left.rows == ("make",)
    assert not questions(Facts(PLAN, checkout=CLEAN, approved=frozenset(commands_of(PLAN))))


ALL = frozenset(commands_of(PLAN))


def test_a_dirty_tree_is_one_question_at_the_start_and_none_on_resume() -> None:
    dirty = Checkout("main", "abc", "t2", (" M a.py", "?? b.py"))
    (question,) = questions(Facts(PLAN, checkout=dirty, approved=ALL))
    assert (question.about, question.rows) == ("dirty", (" M a.py", "?? b.py"))
    assert "2 uncommitted changes" in question.text
    assert not questions(Facts(PLAN, checkout=dirty, before=CLEAN, approved=ALL))


def test_on_resume_a_changed_plan_or_checkout_is_shown() -> None:
    facts = Facts(PLAN, checkout=Checkout("other", "def"), before=CLEAN, plan_now="2", plan_then="1", approved=ALL)
    plan, checkout = questions(facts)
    assert (plan.about, checkout.about) == ("plan", "checkout")
    assert checkout.rows == ("then: main at abc", "now:  other at def")
    same = Facts(PLAN, checkout=CLEAN, before=CLEAN, plan_now="1", plan_then="1", approved=ALL)
    assert not questions(same)
    gone = Facts(PLAN, checkout=CLEAN, before=CLEAN, plan_now="", plan_then="1", approved=ALL)
    assert not questions(gone)
