"""A small, strict checker for the JSON schemas of our own tools: enough for them, and no more.

Known words: type, properties, required, additionalProperties (false), enum, items, minItems, minimum, maximum.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TypeVar, cast

import msgspec

from tui.messages import Json
from tui.tools.base import ToolError

__all__ = ["arguments", "check"]

_Struct = TypeVar("_Struct", bound=msgspec.Struct)

_TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "null": (type(None),),
}


def check(schema: Mapping[str, Json], value: Json) -> str:
    """Return "" where `value` satisfies `schema`, else what is wrong, followed by the schema itself.

    A null for a property that is not required counts as absent: strict modes of some providers send it.
    """
    problems = _problems(schema, value, "arguments")
    if not problems:
        return ""
    return f"Invalid arguments: {'; '.join(problems)}. Nothing was run. Expected: {json.dumps(schema, sort_keys=True)}"


def _problems(schema: Mapping[str, Json], value: Json, where: str) -> list[str]:
    wrong = _wrong_type(schema, value, where) or _wrong_value(schema, value, where)
    if wrong:
        return [wrong]
    if isinstance(value, dict):
        return _object_problems(schema, cast("dict[str, Json]", value), where)
    if isinstance(value, list):
        return _array_problems(schema, cast("list[Json]", value), where)
    return []


def _wrong_type(schema: Mapping[str, Json], value: Json, where: str) -> str:
    kind = cast("str | None", schema.get("type"))
    if kind is None:
        return ""
    fits = isinstance(value, _TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
    return "" if fits else f"{where} must be {_article(kind)}, not {_name(value)}"


def _wrong_value(schema: Mapping[str, Json], value: Json, where: str) -> str:
    allowed = cast("list[Json] | None", schema.get("enum"))
    if allowed is not None and value not in allowed:
        return f"{where} must be one of {', '.join(json.dumps(item) for item in allowed)}"
    if isinstance(value, (int, float)):
        if "minimum" in schema and value < schema["minimum"]:
            return f"{where} must be at least {schema['minimum']}"
        if "maximum" in schema and value > schema["maximum"]:
            return f"{where} must be at most {schema['maximum']}"
    return ""


def _object_problems(schema: Mapping[str, Json], value: dict[str, Json], where: str) -> list[str]:
    known = cast("dict[str, dict[str, Json]]", schema.get("properties", {}))
    required = cast("list[str]", schema.get("required", []))
    prefix = "" if where == "arguments" else f"{where}."
    found = [f"`{prefix}{name}` is missing" for name in required if name not in value]
    if schema.get("additionalProperties") is False:
        found += [f"`{prefix}{name}` is not known" for name in value if name not in known]
    for name, item in value.items():
        if name in known and not (item is None and name not in required):
            found += _problems(known[name], item, f"`{prefix}{name}`" if not prefix else f"{prefix}{name}")
    return found


def _array_problems(schema: Mapping[str, Json], value: list[Json], where: str) -> list[str]:
    least = cast("int", schema.get("minItems", 0))
    if len(value) < least:
        return [f"{where} needs at least {least} item(s)"]
    items = cast("dict[str, Json] | None", schema.get("items"))
    bare = where.strip("`")
    return [p for i, item in enumerate(value) for p in _problems(items, item, f"{bare}[{i}]")] if items else []


def _article(kind: str) -> str:
    return f"an {kind}" if kind[0] in "aio" else f"a {kind}"


def _name(value: Json) -> str:
    for kind, types in _TYPES.items():
        if isinstance(value, types) and (kind == "boolean" or not isinstance(value, bool)):
            return kind
    return "something else"


def arguments(args: Mapping[str, Json], into: type[_Struct]) -> _Struct:
    """Return checked arguments as a struct; raises `ToolError` where they do not fit after all."""
    given = {name: value for name, value in args.items() if value is not None}
    try:
        return msgspec.convert(given, into)
    except msgspec.ValidationError as error:
        raise ToolError(f"Invalid arguments: {error}. Nothing was run; call again with valid arguments.") from error
