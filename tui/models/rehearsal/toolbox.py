"""The tools of a request, spoken to through their own schemas.

The planner thinks in roles (read, edit, …); which argument carries the path or the old text is read from
the declared schema, so that it works with any tool set that offers the roles.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias, cast

import msgspec

from tui.messages import Json, ToolSpec

__all__ = ["Planned", "Replacement", "Toolbox"]

_Schema: TypeAlias = dict[str, Any]
_PATH = ("path", "file", "file_path", "filename", "dir", "directory")
_MOST = 2_000


class Planned(msgspec.Struct, frozen=True):
    """A call to make; it has no id yet."""

    name: str
    arguments: dict[str, Json] = {}


class Replacement(msgspec.Struct, frozen=True):
    """Exact old text and what takes its place."""

    old: str
    new: str


class Toolbox:
    """What can be called in this request."""

    def __init__(self, specs: Iterable[ToolSpec]) -> None:
        self._properties = {spec.name: cast("_Schema", spec.parameters.get("properties") or {}) for spec in specs}

    def has(self, *names: str) -> bool:
        """Whether all these tools are offered."""
        return all(name in self._properties for name in names)

    @property
    def names(self) -> tuple[str, ...]:
        """All that is offered."""
        return tuple(self._properties)

    def ls(self, path: str = ".") -> Planned:
        """List one folder."""
        return self._call("ls", (_PATH, path), (("limit",), _MOST))

    def find(self, pattern: str, path: str = ".") -> Planned:
        """Find files by glob below `path`."""
        return self._call("find", (("pattern", "glob", "name"), pattern), (_PATH, path), (("limit",), _MOST))

    def grep(self, pattern: str, path: str = ".", glob: str = "") -> Planned:
        """Search a regular expression in the files below `path`."""
        pairs: list[tuple[tuple[str, ...], Json]] = [(("pattern", "query", "regex"), pattern), (_PATH, path)]
        if glob:
            pairs.append((("glob", "include"), glob))
        return self._call("grep", *pairs, (("limit",), 200))

    def read(self, path: str, offset: int = 0, limit: int = 0) -> Planned:
        """Read a file, or `limit` lines of it from line `offset` (from 1)."""
        pairs: list[tuple[tuple[str, ...], Json]] = [(_PATH, path)]
        if offset:
            pairs += [(("offset", "start", "start_line"), offset), (("limit", "lines"), limit or 60)]
        return self._call("read", *pairs)

    def write(self, path: str, content: str) -> Planned:
        """Write a whole file."""
        return self._call("write", (_PATH, path), (("content", "text"), content))

    def bash(self, command: str) -> Planned:
        """Run a shell command."""
        return self._call("bash", (("command", "cmd"), command))

    def compact(self, note: str) -> Planned:
        """Hand over to oneself."""
        return self._call("self_compact", (("note_to_self", "note"), note))

    @property
    def edits_at_once(self) -> bool:
        """Whether one edit call takes several replacements."""
        return "edits" in self._properties.get("edit", {})

    def edit(self, path: str, replacements: Iterable[Replacement]) -> Planned:
        """Replace exact texts in a file; only the first where the tool takes one at a time."""
        properties = self._properties.get("edit", {})
        path_key = _first(properties, _PATH)
        if not self.edits_at_once:
            one = next(iter(replacements))
            return Planned(name="edit", arguments={path_key: path} | _pair(properties, one))
        items = cast("_Schema", cast("_Schema", properties["edits"]).get("items") or {})
        inner = cast("_Schema", items.get("properties") or {})
        return Planned(name="edit", arguments={path_key: path, "edits": [_pair(inner, one) for one in replacements]})

    def _call(self, name: str, *pairs: tuple[tuple[str, ...], Json]) -> Planned:
        properties = self._properties.get(name, {})
        arguments: dict[str, Json] = {}
        for number, (keys, value) in enumerate(pairs):
            known = [key for key in keys if key in properties]
            if known:
                arguments[known[0]] = _within(cast("_Schema", properties[known[0]]), value)
            elif number == 0:
                arguments[keys[0]] = value
        return Planned(name=name, arguments=arguments)


def _first(properties: _Schema, keys: tuple[str, ...]) -> str:
    return next((key for key in keys if key in properties), keys[0])


def _within(schema: _Schema, value: Json) -> Json:
    """Keep a number below the maximum the schema names."""
    most = schema.get("maximum")
    return min(value, most) if isinstance(value, int) and isinstance(most, int) else value


def _pair(properties: _Schema, replacement: Replacement) -> dict[str, Json]:
    old = next((key for key in properties if key.lower().startswith("old")), "old_text")
    new = next((key for key in properties if key.lower().startswith("new")), "new_text")
    return {old: replacement.old, new: replacement.new}
