"""Where one task is worked on: what it may ask for, and the page its findings are written on.

A piece of work is a generator: it yields an `Ask` and is sent the results. It never knows whether they were
there already or had to be waited for, and it writes down each finding at once, so that a page that is cut off
(a bound, a refusal) is still true.
"""

from __future__ import annotations

import re
from collections.abc import Generator, Iterable, Sequence
from typing import TypeAlias

import msgspec

from tui.models.rehearsal.evidence import Found
from tui.models.rehearsal.facts import Hit, Lines, hits_in, is_cut, lines_in, names_in
from tui.models.rehearsal.prompt import Task
from tui.models.rehearsal.toolbox import Planned, Toolbox

__all__ = [
    "Ask",
    "Desk",
    "Hit",
    "Page",
    "Work",
    "a_number",
    "ask",
    "fenced",
    "find_files",
    "grep",
    "read_whole",
    "some",
]

MOST_SHOWN = 40
_MOST_PAGES = 6
_LONGEST_CODE = 160


class Ask(msgspec.Struct, frozen=True):
    """Calls that are wanted now, together, and what is said beside them."""

    why: str
    calls: tuple[Planned, ...]


Work: TypeAlias = Generator[Ask, list[Found], None]


class Page:
    """The findings of one task, in Markdown."""

    def __init__(self) -> None:
        self.headline = ""
        self.lines: list[str] = []

    def head(self, headline: str) -> None:
        """Set the one sentence that says what came out."""
        self.headline = headline

    def add(self, *lines: str) -> None:
        """Write lines down."""
        self.lines.extend(lines)

    @property
    def text(self) -> str:
        """Headline and findings."""
        return "\n\n".join(part for part in (self.headline, "\n".join(self.lines).strip("\n")) if part)


class Desk(msgspec.Struct, frozen=True):
    """One task, the tools of the request and the page."""

    task: Task
    tools: Toolbox
    page: Page

    @property
    def where(self) -> str:
        """The first folder or file the task names, or the project."""
        return self.task.paths[0] if self.task.paths else "."


def ask(why: str, *calls: Planned) -> Generator[Ask, list[Found], list[Found]]:
    """Ask for calls; returns their results in order."""
    return (yield Ask(why=why, calls=calls))


def note_trouble(desk: Desk, found: Found) -> bool:
    """Write down that a call failed or was refused; returns whether it did."""
    if not found.is_error:
        return False
    what = _short_call(found.call)
    first = next((line.strip() for line in found.text.splitlines() if line.strip()), "no reason was given")
    verb = "was refused" if found.refused else "failed"
    desk.page.add(f"- `{what}` {verb}: {first}")
    return True


def _short_call(call: Planned) -> str:
    value = next(iter(call.arguments.values()), "")
    return f"{call.name} {value}".strip()[:120].replace("`", "'")


def find_files(
    desk: Desk, why: str, globs: Sequence[str], path: str = "."
) -> Generator[Ask, list[Found], tuple[list[str], bool]]:
    """Return the files for these globs, sorted, from the project's root, and whether there may be more."""
    results = yield from ask(why, *(desk.tools.find(glob, path) for glob in globs))
    files: set[str] = set()
    cut = False
    for found in results:
        if not note_trouble(desk, found):
            files |= {_below(path, name) for name in names_in(found.text) if not name.endswith("/")}
            cut = cut or is_cut(found.text)
    return sorted(files), cut


def _below(path: str, name: str) -> str:
    if path in (".", "") or name.startswith((path + "/", "/")) or name == path:
        return name
    return f"{path}/{name}"


def grep(
    desk: Desk, why: str, pattern: str, path: str = ".", *more: Planned
) -> Generator[Ask, list[Found], tuple[tuple[Hit, ...], bool]]:
    """Return the lines that match, and whether there may be more. `more` calls go along; their results are kept."""
    results = yield from ask(why, desk.tools.grep(pattern, path), *more)
    if note_trouble(desk, results[0]):
        return (), False
    is_file = "." in path.rsplit("/", 1)[-1] and path != "."
    return hits_in(results[0].text, path if is_file else ""), is_cut(results[0].text)


def read_whole(desk: Desk, path: str, why: str) -> Generator[Ask, list[Found], tuple[str, Lines] | None]:
    """Read a file to its end (bounded), looking for it by name if it is not at `path`; None if there is none."""
    (found,) = yield from ask(why, desk.tools.read(path))
    if found.is_error and not found.refused:
        path = (yield from _elsewhere(desk, path)) or path
        (found,) = yield from ask(f"It is at `{path}`.", desk.tools.read(path))
    if note_trouble(desk, found):
        return None
    lines = lines_in(found.text)
    for _ in range(_MOST_PAGES):
        if not lines.cut or not lines.lines:
            break
        (more,) = yield from ask("The file goes on.", desk.tools.read(path, lines.lines[-1][0] + 1, 2_000))
        if more.is_error:
            break
        page = lines_in(more.text, lines.lines[-1][0] + 1)
        lines = Lines(lines=lines.lines + page.lines, cut=page.cut, total=page.total)
    return path, lines


def _elsewhere(desk: Desk, path: str) -> Generator[Ask, list[Found], str]:
    name = path.rsplit("/", 1)[-1]
    files, _ = yield from find_files(desk, f"`{path}` cannot be read as it stands; I look for `{name}`.", [f"{name}*"])
    exact = [file for file in files if file.rsplit("/", 1)[-1] == name]
    return min(exact or files, key=len, default="")


def a_number(count: int, one: str, many: str = "") -> str:
    """Return "1 file" or "2 files"."""
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def some(items: Iterable[str], most: int = MOST_SHOWN) -> list[str]:
    """Return list lines, with the number of those left out."""
    rows = list(items)
    left = len(rows) - most
    return [f"- {row}" for row in rows[:most]] + ([f"- and {left:,} more"] if left > 0 else [])


def fenced(text: str, language: str = "") -> str:
    """Return a code fence that `text` cannot close."""
    longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def code(text: str) -> str:
    """Return `text` (its beginning, if it is long) as inline code, whatever backticks it has."""
    text = text.strip()
    text = text if len(text) <= _LONGEST_CODE else text[:_LONGEST_CODE].rstrip() + "…"
    if "`" not in text:
        return f"`{text}`"
    longest = max(len(run) for run in re.findall(r"`+", text))
    return f"{'`' * (longest + 1)} {text} {'`' * (longest + 1)}"
