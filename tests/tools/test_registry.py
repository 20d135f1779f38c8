"""The wall around the tools: a call always has a result that can be stored and sent."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.tools.support import make_context, preview, run
from tui.messages import Json, ToolSpec
from tui.tools.base import Effect, Outcome, Preview, Tool, ToolContext, ToolError
from tui.tools.registry import guarded, standard_tools
from tui.tools.schema import check

pytestmark = pytest.mark.anyio


def tool(result: Outcome | Exception) -> Tool:
    async def ahead(ctx: ToolContext, args: Mapping[str, Json]) -> Preview:
        if isinstance(result, Exception):
            raise result
        return Preview("t", Effect.READ)

    async def work(ctx: ToolContext, args: Mapping[str, Json]) -> Outcome:
        if isinstance(result, Exception):
            raise result
        return result

    return guarded(Tool(ToolSpec("t", "", {}, ""), Effect.READ, ahead, work))


async def test_the_order_is_fixed_and_every_schema_is_our_kind() -> None:
    names = [one.spec.name for one in standard_tools()]
    assert names == ["read", "write", "edit", "bash", "grep", "find", "ls"]
    for one in standard_tools():
        assert check(one.spec.parameters, None).startswith("Invalid arguments: ")
        assert one.spec.description
        assert one.spec.short


async def test_any_exception_becomes_a_tool_error(tmp_path: Path) -> None:
    broken = tool(FileNotFoundError(2, "No such file or directory", "x\udcff"))
    with pytest.raises(ToolError, match="t failed: FileNotFoundError") as caught:
        await run(broken, make_context(tmp_path))
    str(caught.value).encode()
    with pytest.raises(ToolError, match="t failed"):
        await preview(broken, make_context(tmp_path))


async def test_a_tool_error_passes_and_can_be_encoded(tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="no \ufffd") as caught:
        await run(tool(ToolError("no \udcff")), make_context(tmp_path))
    str(caught.value).encode()


async def test_no_result_is_empty_or_unencodable(tmp_path: Path) -> None:
    outcome = await run(tool(Outcome("", details={"path": "a\udcff"})), make_context(tmp_path))
    assert outcome.text == "(no output)"
    assert outcome.details == {"path": "a\ufffd"}
    assert (await run(tool(Outcome("\ud800")), make_context(tmp_path))).text == "\ufffd"
