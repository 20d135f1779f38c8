"""R1: a plan from TOML, from a checklist, from one sentence; everything wrong with it is said at once."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tui.runs.plan import (
    Bounds,
    Plan,
    PlanError,
    PlanItem,
    decode_plan,
    encode_plan,
    goal_plan,
    markdown_plan,
    plan_hash,
    read_plan,
    toml_plan,
)

PLAN = """
title = "Tidy up"
review = "agent"

[bounds]
max_items = 5
max_minutes = 1.5
max_cost = 2
max_turns_per_item = 30

[[item]]
text = '''
Rename foo to bar.
Everywhere.'''
checks = [["pytest", "-q"], ["python3", "-c", "import bar"]]

[[item]]
text = "Say hello"
"""


def test_a_toml_plan_is_read_whole() -> None:
    assert toml_plan(PLAN) == Plan(
        title="Tidy up",
        items=(
            PlanItem("Rename foo to bar.\nEverywhere.", (("pytest", "-q"), ("python3", "-c", "import bar"))),
            PlanItem("Say hello"),
        ),
        bounds=Bounds(5, 1.5, 2, 30),
        review="agent",
    )


def test_without_a_title_it_has_the_name_of_its_file_and_no_bounds(tmp_path: Path) -> None:
    path = tmp_path / "spring clean.toml"
    path.write_text('[[item]]\ntext = "x"\n', encoding="utf-8-sig")
    assert read_plan(path) == Plan("spring clean", (PlanItem("x"),), Bounds(0, 0, 0, 0), "off")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("= 1", "the plan is not TOML"),
        ("", "the plan has no items"),
        ("item = 3", "the plan has no items"),
        ("item = [3]", "item 1 is not a table"),
        ('[[item]]\ntext = " "', "item 1: text must be a text"),
        ("[[item]]", "item 1: text must be a text"),
        ('[[item]]\ntext = "x"\nchecks = "pytest"', "checks is a list of commands"),
        ('[[item]]\ntext = "x"\nchecks = ["pytest -q"]', "item 1, check 1: write a list of words"),
        ('[[item]]\ntext = "x"\nchecks = [["pytest", 3]]', "item 1, check 1: write a list of words"),
        ('[[item]]\ntext = "x"\nchecks = [[]]', "item 1, check 1: write a list of words"),
        ('[[item]]\ntext = "x"\ncheck = []', "item 1 has 'check', which means nothing here"),
        ('review = "me"\n[[item]]\ntext = "x"', "review is 'me'"),
        ('bounds = 3\n[[item]]\ntext = "x"', "bounds is a table"),
        ('[bounds]\nmax_items = -1\n[[item]]\ntext = "x"', "max_items must be a whole number"),
        ('[bounds]\nmax_items = 1.5\n[[item]]\ntext = "x"', "max_items must be a whole number"),
        ('[bounds]\nmax_items = true\n[[item]]\ntext = "x"', "max_items must be a whole number"),
        ('[bounds]\nmax_cost = nan\n[[item]]\ntext = "x"', "max_cost must be a number"),
        ('[bounds]\nmax_cost = inf\n[[item]]\ntext = "x"', "max_cost must be a number"),
        ('[bounds]\nmax_hours = 1\n[[item]]\ntext = "x"', "bounds has 'max_hours'"),
        ('title = 3\n[[item]]\ntext = "x"', "title must be a text"),
        ('items = 3\n[[item]]\ntext = "x"', "the plan has 'items'"),
    ],
)
def test_what_is_wrong_is_said(text: str, problem: str) -> None:
    with pytest.raises(PlanError) as caught:
        toml_plan(text)
    assert any(problem in line for line in caught.value.problems), caught.value.problems


def test_all_problems_are_said_at_once_one_line_each() -> None:
    with pytest.raises(PlanError) as caught:
        toml_plan('review = "x"\n[bounds]\nmax_items = -1\n[[item]]\ntext = ""\nchecks = [1]')
    assert len(caught.value.problems) == 4
    assert not any("\n" in line for line in caught.value.problems)


CHECKLIST = """
# Clean the cellar

Some words.

- [x] done before
  ```
  true
  ```
- [ ] Rename `foo` to `bar`
  in all modules

  ```sh
  # a remark
  pytest -q "tests/test foo.py"
  $ python3 -m mypy .
  ```
* [ ] Second
1. [ ] Third
~~~
make test
~~~
"""


def test_a_checklist_gives_its_open_boxes_and_their_fenced_checks() -> None:
    assert markdown_plan(CHECKLIST, "file") == Plan(
        title="Clean the cellar",
        items=(
            PlanItem(
                "Rename `foo` to `bar`\nin all modules",
                (("pytest", "-q", "tests/test foo.py"), ("python3", "-m", "mypy", ".")),
            ),
            PlanItem("Second"),
            PlanItem("Third", (("make", "test"),)),
        ),
    )


@pytest.mark.parametrize("text", ["", "# only a title", "- [x] all done", "- no box"])
def test_a_checklist_without_open_boxes_is_no_plan(text: str) -> None:
    with pytest.raises(PlanError, match="no open items"):
        markdown_plan(text)


def test_a_check_with_an_open_quote_is_named() -> None:
    with pytest.raises(PlanError, match="item 1: the check `echo 'x` cannot be read"):
        markdown_plan("- [ ] x\n  ```\n  echo 'x\n  ```\n")


def test_a_file_that_is_not_there_not_text_or_huge_is_refused(tmp_path: Path) -> None:
    with pytest.raises(PlanError, match="No such file"):
        read_plan(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(PlanError, match="not UTF-8"):
        read_plan(tmp_path / "bytes.toml")
    (tmp_path / "big.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(PlanError, match="larger than"):
        read_plan(tmp_path / "big.toml")


def test_a_goal_is_a_run_of_one_item_that_a_person_reviews() -> None:
    plan = goal_plan("  make it faster\nmuch faster ")
    assert plan == Plan("make it faster", (PlanItem("make it faster\nmuch faster"),), review="human")
    with pytest.raises(PlanError):
        goal_plan(" \n")


words = st.text(st.characters(codec="utf-8"), max_size=20)


@given(
    st.builds(
        Plan,
        words,
        st.lists(st.builds(PlanItem, words, st.lists(st.lists(words).map(tuple)).map(tuple))).map(tuple),
        st.builds(Bounds, st.integers(0, 99), st.floats(0, 99), st.floats(0, 99), st.integers(0, 9)),
        st.sampled_from(["human", "agent", "off"]),
    )
)
def test_the_copy_in_the_store_is_the_plan(plan: Plan) -> None:
    raw = encode_plan(plan)
    assert decode_plan(raw) == plan
    assert plan_hash(raw) == plan_hash(encode_plan(decode_plan(raw)))
