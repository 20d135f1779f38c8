"""What an empty session shows: where it is, who answers, and how to connect a model."""

from __future__ import annotations

from pathlib import Path

import msgspec
from textual.content import Content
from textual.widgets import Static

from tui.widgets.sanitise import one_line

__all__ = ["StartFacts", "StartView", "start_content"]

_WAYS = (
    ("ANTHROPIC_API_KEY=… clew", "a key (or OPENAI_API_KEY)"),
    ("clew --model NAME", "a local server, found by itself"),
    ("clew --base-url URL --model ID", "any other address"),
)


class StartFacts(msgspec.Struct, frozen=True):
    """What is known at the start."""

    version: str
    cwd: Path
    home: Path
    model: str = ""
    provider: str = ""
    unconnected: bool = False
    """No model was named and none was found."""
    left: tuple[str, str] = ("", "")
    """What the newest session here was in the middle of, and the keys that go on with it."""

    @property
    def place(self) -> str:
        """The folder as a person writes it."""
        if self.cwd == self.home or self.home in self.cwd.parents:
            inside = self.cwd.relative_to(self.home)
            return "~" if inside == Path() else f"~/{inside}"
        return str(self.cwd)


def start_content(facts: StartFacts) -> Content:
    """Return the lines. They name the rehearsal for what it is."""
    rows = [
        Content.assemble(("clew ", "bold $clew-accent"), (facts.version, "$clew-dim")),
        Content.assemble((one_line(facts.place, 200), "$clew-dim")),
        Content(""),
    ]
    if facts.provider == "rehearsal":
        rows += _rehearsal(unconnected=facts.unconnected)
    elif facts.model:
        rows.append(Content.assemble((one_line(facts.model, 100), "$clew-text"), (" answers.", "$clew-dim")))
    waits, keys = facts.left
    if waits:
        rows += [Content(""), Content.assemble((one_line(waits, 200), "$clew-warning")), Content(one_line(keys, 200))]
    return Content("\n").join(rows)


def _rehearsal(*, unconnected: bool) -> list[Content]:
    what = Content.assemble(("A small program, no model: real tools on this project, offline.", "$clew-dim"))
    if not unconnected:
        return [Content.assemble(("The rehearsal answers.", "$clew-text")), what]
    wide = max(len(way) for way, _ in _WAYS)
    rows = [
        Content.assemble(("No model is connected: the rehearsal answers.", "$clew-warning")),
        what,
        Content(""),
        Content.assemble(("Three ways to connect a model:", "$clew-text")),
    ]
    rows += [Content.assemble((f"  {way.ljust(wide)}  ", "$clew-accent"), (about, "$clew-dim")) for way, about in _WAYS]
    return rows


class StartView(Static):
    """Stands where the transcript will be, until there is one."""

    DEFAULT_CSS = """
    StartView { height: 1fr; padding: 1 2; content-align: left bottom; }
    """

    def __init__(self, facts: StartFacts) -> None:
        super().__init__(start_content(facts), id="start", markup=False)
        self._facts = facts

    def answers(self, model: str, provider: str, *, unconnected: bool = False) -> None:
        """Say who answers; `unconnected` that no model was named and none was found."""
        self._facts = msgspec.structs.replace(self._facts, model=model, provider=provider, unconnected=unconnected)
        self.update(start_content(self._facts))

    def waits(self, what: str, keys: str) -> None:
        """Say what the newest session here was in the middle of, and which keys go on with it."""
        self._facts = msgspec.structs.replace(self._facts, left=(what, keys))
        self.update(start_content(self._facts))
