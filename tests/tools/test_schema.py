"""Arguments are checked before anything runs, and what is wrong is said."""

from __future__ import annotations

import msgspec
import pytest

from tui.messages import Json
from tui.tools.base import ToolError
from tui.tools.registry import standard_tools
from tui.tools.schema import arguments, check

SCHEMA: dict[str, Json] = {
    "type": "object",
    "properties": {
        "path": {"type": "string"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 9},
        "ratio": {"type": "number"},
        "on": {"type": "boolean"},
        "kind": {"enum": ["a", "b"]},
        "edits": {
            "type": "array",
            "minItems": 1,
            "items": {"type": "object", "properties": {"old": {"type": "string"}}, "required": ["old"]},
        },
    },
    "required": ["path"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "value",
    [
        {"path": ""},
        {"path": "x", "limit": 1},
        {"path": "x", "limit": 9, "ratio": 2, "on": False, "kind": "a", "edits": [{"old": ""}]},
        {"path": "x", "limit": None},
        {"path": "x", "edits": [{"old": "", "more": 1}]},
    ],
)
def test_fits(value: Json) -> None:
    assert check(SCHEMA, value) == ""


WRONG: list[tuple[Json, str]] = [
    ({}, "`path` is missing"),
    ([], "arguments must be an object, not array"),
    ("{", "arguments must be an object, not string"),
    (None, "arguments must be an object, not null"),
    ({"path": None}, "`path` must be a string, not null"),
    ({"path": 1}, "`path` must be a string, not integer"),
    ({"path": "", "limit": 0}, "`limit` must be at least 1"),
    ({"path": "", "limit": 10}, "`limit` must be at most 9"),
    ({"path": "", "limit": True}, "`limit` must be an integer, not boolean"),
    ({"path": "", "limit": "1"}, "`limit` must be an integer, not string"),
    ({"path": "", "limit": 1.5}, "`limit` must be an integer, not number"),
    ({"path": "", "on": 1}, "`on` must be a boolean, not integer"),
    ({"path": "", "kind": "c"}, '`kind` must be one of "a", "b"'),
    ({"path": "", "edits": []}, "`edits` needs at least 1 item(s)"),
    ({"path": "", "edits": [{}]}, "`edits[0].old` is missing"),
    ({"path": "", "edits": [{"old": 1}]}, "edits[0].old must be a string, not integer"),
    ({"path": "", "pth": 1}, "`pth` is not known"),
]


@pytest.mark.parametrize(("value", "said"), WRONG)
def test_does_not_fit(value: Json, said: str) -> None:
    message = check(SCHEMA, value)
    assert message.startswith(f"Invalid arguments: {said}. Nothing was run. Expected: {{")


def test_all_problems_are_said_at_once() -> None:
    message = check(SCHEMA, {"limit": "x", "more": 1})
    assert "`path` is missing; `more` is not known; `limit` must be an integer" in message


def test_empty_arguments_do_only_where_nothing_is_required() -> None:
    free = {tool.spec.name for tool in standard_tools() if not check(tool.spec.parameters, {})}
    assert free == {"ls"}


class _Args(msgspec.Struct, frozen=True):
    path: str
    limit: int = 5


def test_arguments_as_a_struct() -> None:
    assert arguments({"path": "x", "limit": None}, _Args) == _Args("x")
    with pytest.raises(ToolError, match="Nothing was run"):
        arguments({"path": 1}, _Args)
