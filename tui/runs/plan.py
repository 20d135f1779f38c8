"""A plan: what is to be done, in which order, and how the program knows that it is done.

Read from TOML, from a Markdown checklist, or made of one sentence; once a run has begun its copy never changes.
"""

from __future__ import annotations

import hashlib
import re
import shlex
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

import msgspec

from tui.messages import clean
from tui.plain import plain_line

__all__ = [
    "Bounds",
    "Plan",
    "PlanError",
    "PlanItem",
    "Review",
    "decode_plan",
    "encode_plan",
    "goal_plan",
    "markdown_plan",
    "plan_hash",
    "read_plan",
    "toml_plan",
]

Review: TypeAlias = Literal["human", "agent", "off"]
_REVIEWS: tuple[Review, ...] = ("human", "agent", "off")
MOST_BYTES = 1_000_000
"""Of a plan's file; a larger one is no list that a person wrote."""
MOST_ITEMS = 1_000


class PlanError(Exception):
    """A plan that cannot be used. `problems` has one line for each thing to mend."""

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class Bounds(msgspec.Struct, frozen=True, omit_defaults=True):
    """Where a run pauses by itself. Zero is no bound."""

    max_items: int = 0
    """Accepted and skipped ones together."""
    max_minutes: float = 0
    """Of active time."""
    max_cost: float = 0
    """Dollars."""
    max_turns_per_item: int = 0
    """Answers of the model."""


class PlanItem(msgspec.Struct, frozen=True, omit_defaults=True):
    """One piece of work. Without checks the program cannot accept it: a review decides."""

    text: str
    checks: tuple[tuple[str, ...], ...] = ()
    """Each a command as a list of words, run without a shell in the project's directory."""

    @property
    def title(self) -> str:
        """Its first line, safe to show."""
        return plain_line(next((line for line in self.text.splitlines() if line.strip()), ""), 200).strip()


class Plan(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a run works through."""

    title: str
    items: tuple[PlanItem, ...]
    bounds: Bounds = Bounds()
    review: Review = "off"


def encode_plan(plan: Plan) -> bytes:
    """Return the bytes of a plan as they are stored: the same plan, the same bytes."""
    return msgspec.json.encode(plan)


def decode_plan(raw: bytes) -> Plan:
    """Return a stored plan. Raises `msgspec.MsgspecError`."""
    return msgspec.json.decode(raw, type=Plan)


def plan_hash(raw: bytes) -> str:
    """Return the sha256 of a plan's stored bytes, in hex."""
    return hashlib.sha256(raw).hexdigest()


def goal_plan(text: str) -> Plan:
    """Return a run of one item, which a person reviews."""
    words = clean(text).strip()
    if not words:
        raise PlanError("a goal needs words: /goal TEXT")
    item = PlanItem(words)
    return Plan(title=item.title[:80], items=(item,), review="human")


def read_plan(path: Path) -> Plan:
    """Return the plan in a file: TOML, or a Markdown checklist for `.md`. Raises `PlanError`."""
    try:
        with path.open("rb") as file:
            raw = file.read(MOST_BYTES + 1)
    except OSError as error:
        raise PlanError(f"{path}: {error.strerror or error}") from error
    if len(raw) > MOST_BYTES:
        raise PlanError(f"{path} is larger than {MOST_BYTES:,} bytes: that is no plan")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise PlanError(f"{path} is not UTF-8 (byte {error.start})") from error
    if path.suffix.lower() in (".md", ".markdown"):
        return markdown_plan(text, path.stem)
    return toml_plan(text, path.stem)


# --- TOML ---------------------------------------------------------------------------------------


def toml_plan(text: str, name: str = "plan") -> Plan:
    """Return the plan a TOML text says; `name` is its title where it has none. Raises `PlanError` with all problems."""
    try:
        found = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise PlanError(f"the plan is not TOML: {error}") from error
    reader = _Reader()
    plan = reader.plan(found, name)
    if reader.problems:
        raise PlanError(*reader.problems)
    return plan


class _Reader:
    """Takes a table apart and notes everything that is wrong with it."""

    def __init__(self) -> None:
        self.problems: list[str] = []

    def plan(self, table: Mapping[str, Any], name: str) -> Plan:
        self._known(table, ("title", "bounds", "review", "item"), "the plan")
        review = table.get("review", "off")
        if review not in _REVIEWS:
            self._say(f'review is {review!r}; it is "human", "agent" or "off"')
            review = "off"
        return Plan(
            title=self._text(table.get("title", name), "title"),
            items=tuple(self._items(table.get("item", []))),
            bounds=self._bounds(table.get("bounds", {})),
            review=review,
        )

    def _say(self, problem: str) -> None:
        self.problems.append(problem)

    def _known(self, table: Mapping[str, Any], names: tuple[str, ...], where: str) -> None:
        for name in table:
            if name not in names:
                self._say(f"{where} has {name!r}, which means nothing here; known: {', '.join(names)}")

    def _text(self, value: object, where: str) -> str:
        if isinstance(value, str) and value.strip():
            return clean(value).strip("\n")
        self._say(f"{where} must be a text that is not blank")
        return ""

    def _items(self, value: object) -> Iterator[PlanItem]:
        rows = cast("list[object]", value) if isinstance(value, list) else []
        if not isinstance(value, list) or not rows:
            self._say("the plan has no items: write [[item]] with a text and checks")
        if len(rows) > MOST_ITEMS:
            self._say(f"the plan has {len(rows)} items; {MOST_ITEMS} are the most")
        for number, row in enumerate(rows, 1):
            if isinstance(row, dict):
                yield self._item(cast("dict[str, Any]", row), f"item {number}")
            else:
                self._say(f"item {number} is not a table: write [[item]]")

    def _item(self, row: Mapping[str, Any], where: str) -> PlanItem:
        self._known(row, ("text", "checks"), where)
        return PlanItem(
            self._text(row.get("text"), f"{where}: text"), tuple(self._checks(row.get("checks", []), where))
        )

    def _checks(self, value: object, where: str) -> Iterator[tuple[str, ...]]:
        if not isinstance(value, list):
            self._say(f'{where}: checks is a list of commands, each a list of words: [["pytest", "-q"]]')
            return
        for number, check in enumerate(cast("list[object]", value), 1):
            words = cast("list[object]", check) if isinstance(check, list) else []
            texts = [word for word in words if isinstance(word, str)]
            if not texts or len(texts) != len(words):
                self._say(f'{where}, check {number}: write a list of words, e.g. ["pytest", "-q"], not {check!r}')
            else:
                yield tuple(texts)

    def _bounds(self, value: object) -> Bounds:
        table = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
        if not isinstance(value, dict):
            self._say("bounds is a table: [bounds]")
        names = ("max_items", "max_minutes", "max_cost", "max_turns_per_item")
        self._known(table, names, "bounds")
        items, minutes, cost, turns = (self._number(table.get(name, 0), name) for name in names)
        return Bounds(int(items), minutes, cost, int(turns))

    def _number(self, value: object, name: str) -> float:
        whole = name in ("max_items", "max_turns_per_item")
        good = isinstance(value, int if whole else int | float) and not isinstance(value, bool)
        number = cast("float", value) if good else -1.0
        if not 0 <= number < 2**53:  # NaN and infinity are refused by this too
            self._say(f"bounds: {name} must be a {'whole ' if whole else ''}number, 0 (no bound) or more")
            return 0
        return number


# --- Markdown -----------------------------------------------------------------------------------

_HEADING = re.compile(r"#{1,6}\s+(.+?)\s*#*\s*$")
_BOX = re.compile(r"(?P<indent>\s*)(?:[-*+]|\d+[.)])\s+\[(?P<mark>[ xX])\]\s+(?P<text>.*\S)\s*$")
_FENCE = re.compile(r"\s*(?P<fence>`{3,}|~{3,})[^`]*$")


class _Draft:
    """An item as it is read."""

    def __init__(self, text: str, *, done: bool) -> None:
        self.lines = [text]
        self.checks: list[tuple[str, ...]] = []
        self.done = done


def markdown_plan(text: str, name: str = "plan") -> Plan:
    """Return the plan a Markdown checklist says: boxes that are not ticked; a fenced block under one is its checks.

    Raises `PlanError`.
    """
    reader = _Lines()
    for line in text.splitlines():
        reader.take(line)
    problems = [*reader.problems]
    items = tuple(
        PlanItem(clean("\n".join(draft.lines)).strip(), tuple(draft.checks)) for draft in reader.items if not draft.done
    )
    if not items:
        problems.append("the checklist has no open items: write lines like `- [ ] what is to be done`")
    if problems:
        raise PlanError(*problems)
    return Plan(title=clean(reader.title or name), items=items)


class _Lines:
    """Reads a checklist line by line."""

    def __init__(self) -> None:
        self.title = ""
        self.items: list[_Draft] = []
        self.problems: list[str] = []
        self._fence = ""
        self._take: Callable[[str], None] = self._outside

    def take(self, line: str) -> None:
        self._take(line)

    def _outside(self, line: str) -> None:
        box, fence, heading = _BOX.match(line), _FENCE.match(line), _HEADING.match(line)
        if box is not None:
            self.items.append(_Draft(box["text"], done=box["mark"] != " "))
        elif fence is not None:
            self._fence, self._take = fence["fence"], self._inside
        elif heading is not None and not self.items:
            self.title = self.title or heading[1]
        elif self.items and line.strip() and line[0] in " \t":
            self.items[-1].lines.append(line.strip())

    def _inside(self, line: str) -> None:
        if line.strip().startswith(self._fence) and not line.strip().strip(self._fence[0]):
            self._take = self._outside
        elif self.items and line.strip() and not line.lstrip().startswith("#"):
            self._check(line.strip().removeprefix("$ "))

    def _check(self, line: str) -> None:
        try:
            self.items[-1].checks.append(tuple(shlex.split(line)))
        except ValueError as error:
            self.problems.append(f"item {len(self.items)}: the check `{plain_line(line, 80)}` cannot be read: {error}")
