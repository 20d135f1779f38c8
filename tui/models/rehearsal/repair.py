"""Mends a failing test: small changes of the code it runs, each tried with the real test, the wrong ones taken back."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator

import msgspec

from tui.models.rehearsal.change import test_commands, unique_blocks
from tui.models.rehearsal.desk import Ask, Desk, Work, a_number, ask, code, grep, note_trouble, read_whole
from tui.models.rehearsal.evidence import Found
from tui.models.rehearsal.facts import report_of_tests
from tui.models.rehearsal.toolbox import Replacement

__all__ = ["repair"]

_MOST_TRIES = 16
_CALLED = re.compile(r"where .+? = (?:[\w.]+\.)?(\w+)\(|^>?\s*assert (?:not )?(?:[\w.]+\.)?(\w+)\(", re.MULTILINE)
_SWAPS = (
    (r" \+ ", " - "),
    (r" - ", " + "),
    (r" \* ", " / "),
    (r" / ", " * "),
    (r" // ", " / "),
    (r" <= ", " < "),
    (r" >= ", " > "),
    (r" < ", " <= "),
    (r" > ", " >= "),
    (r" == ", " != "),
    (r" != ", " == "),
    (r" and ", " or "),
    (r" or ", " and "),
    (r"\bTrue\b", "False"),
    (r"\bFalse\b", "True"),
    (r"\bmin\(", "max("),
    (r"\bmax\(", "min("),
    (r"\.upper\(", ".lower("),
    (r"\.lower\(", ".upper("),
    (r"\breturn None\b", "return 0"),
)


class _Line(msgspec.Struct, frozen=True):
    """A line of a function, and what it might rather be."""

    path: str
    old: str
    new: str


def repair(desk: Desk) -> Work:
    """Run the tests, change what the failing one calls, one small change at a time, until it passes."""
    commands = yield from test_commands(desk)
    if not commands:
        desk.page.head("I found no tests to run, so nothing was mended.")
        return
    output = yield from _fails(desk, commands[0])
    if output is None:
        desk.page.head(f"Nothing was changed: {code(commands[0])} passes already.")
        return
    for name in dict.fromkeys(match[1] or match[2] for match in _CALLED.finditer(output)):
        done = yield from _mend(desk, name, commands[0])
        if done:
            return
    desk.page.head("I could not mend it: no small change of what the failing test calls makes it pass.")


def _fails(desk: Desk, command: str) -> Generator[Ask, list[Found], str | None]:
    """Return what a failing run printed, or None where it passes."""
    (found,) = yield from ask(f"I run `{command}`.", desk.tools.bash(command))
    report = report_of_tests(found.text)
    return found.text if found.is_error or report.failed else None


def _mend(desk: Desk, name: str, command: str) -> Generator[Ask, list[Found], bool]:
    """Try small changes of one function; True where one makes the tests pass."""
    hits, _ = yield from grep(desk, f"I look for `{name}`.", rf"def {name}\b")
    for path in dict.fromkeys(hit.path for hit in hits):
        got = yield from read_whole(desk, path, f"I read `{path}`.")
        if got is None:
            continue
        lines = [text for _, text in got[1].lines]
        for tried, change in enumerate(_candidates(got[0], lines, name)):
            if tried >= _MOST_TRIES:
                break
            if (yield from _try(desk, lines, change, command)):
                return True
    return False


def _candidates(path: str, lines: list[str], name: str) -> Iterator[_Line]:
    start = next(index for index, text in enumerate(lines) if re.search(rf"\bdef {name}\b", text))
    for text in lines[start + 1 :]:
        if text and not text[0].isspace():
            return
        for pattern, new in _SWAPS:
            changed = re.sub(pattern, new, text, count=1)
            if changed != text and text.strip()[:1] not in ("#", '"', "'"):
                yield _Line(path, text, changed)


def _try(desk: Desk, lines: list[str], change: _Line, command: str) -> Generator[Ask, list[Found], bool]:
    index = lines.index(change.old)
    (block,) = unique_blocks(lines, [index])
    swapped = block.replace(change.old, change.new, 1)
    (edited,) = yield from ask(
        f"I try {code(change.new)} in `{change.path}`.", desk.tools.edit(change.path, [Replacement(block, swapped)])
    )
    if note_trouble(desk, edited):
        return False
    if (yield from _fails(desk, command)) is None:
        desk.page.head(f"Changed {code(change.old)} to {code(change.new)} in {code(change.path)}.")
        desk.page.add(f"- {code(command)} passes now, after {a_number(1, 'change')}")
        return True
    yield from ask("That was not it: I take it back.", desk.tools.edit(change.path, [Replacement(swapped, block)]))
    return False
