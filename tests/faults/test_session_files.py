"""Faults that session files had elsewhere, with their values: nothing is lost, and what is wrong is named."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.agent.support import bodies, options, path_of, said, session, texts
from tests.cli.support import clew
from tests.log.kit import note, prompt, raw, started
from tests.support.provider import Provider, Reply
from tui.log import Store, check
from tui.log.entries import Answer, Body, Prompt, Result, Settled, ToolStarted, UnknownBody
from tui.log.paths import database_file
from tui.messages import AssistantMessage, StopReason, Text, ToolCall, ToolResult
from tui.widgets.transcript.blocks import BlockBuilder

pytestmark = pytest.mark.anyio
FRAGMENT = b'{"type":"message","id":"e9","te'


async def written(tmp_path: Path, *first: Body) -> Path:
    """Write a session of these bodies; return its database."""
    given = options(tmp_path, None)
    async with await Store.open(given.home, given.cwd) as store:
        await store.create(cwd=given.cwd, first=[prompt("hi"), Settled("answered"), *first])
    return database_file(given.home, given.cwd)


@pytest.mark.parametrize("tail", [FRAGMENT, FRAGMENT + b"\n", b"\0" * 2000, b'{"whole":1}'])
@pytest.mark.parametrize("where", ["", "-wal", "-journal"])
async def test_a_tail_of_anything_costs_nothing_at_any_cycle(tmp_path: Path, tail: bytes, where: str) -> None:
    database = await written(tmp_path)
    given = options(tmp_path, None, open="newest")
    for cycle in range(3):
        with database.with_name(database.name + where).open("ab") as file:
            file.write(tail)
        async with await Store.open(given.home, given.cwd) as store:
            newest = await store.newest()
            assert newest is not None
            log = await store.session(newest.id)
            await log.append(note(f"cycle {cycle}"))
            assert len(await log.page()) == 3 + cycle


NASTY = 'a\nb\r\nc\rd\u2028e\u2029f\x85g\x1ch\x00i\t{"type":"prompt"}\n'


async def test_output_with_every_line_end_is_one_entry_and_one_line(tmp_path: Path) -> None:
    result = Result(ToolResult("c", "bash", (Text(NASTY),)))
    await written(tmp_path, started("c"), result)
    async with session(options(tmp_path, None, open="newest")) as (agent, _):
        assert bodies(await path_of(agent), Result) == [result]
    home = {"CLEW_HOME": str(tmp_path / "home")}
    done = clew("log", cwd=tmp_path / "project", env=home)
    lines = done.stdout.split(b"\n")[:-1]
    assert [json.loads(line)["kind"] for line in lines][2:4] == ["tool_started", "result"]
    assert len(done.stdout.decode().splitlines()) == len(lines), "readers that split at other line ends see the same"


async def test_one_unreadable_entry_among_seven_thousand_hides_no_other(tmp_path: Path) -> None:
    database = await written(tmp_path, *(note(f"n{number}") for number in range(7000)))
    with raw(database) as db:
        db.execute("UPDATE entry SET body = substr(body, 1, length(body) / 2) WHERE (key & 0xffffffff) = 3000")
    async with session(options(tmp_path, None, open="newest")) as (agent, _):
        path = await path_of(agent)
    assert [entry.depth for entry in path[:7002]] == list(range(7002))
    (bad,) = [entry for entry in path if isinstance(entry.body, UnknownBody)]
    assert (bad.depth, bad.kind) == (3000, "notice")
    assert any("cannot be understood" in finding.what for finding in await check(database))


SHAPES = (
    "null",
    "{}",
    '{"type":"KIND"}',
    '{"type":"KIND","message":null}',
    '{"type":"KIND","message":7}',
    '{"type":"KIND","message":{"content":[null,null]}}',
    '{"type":"KIND","message":{"content":[{"type":"?"}]}}',
    '{"type":"KIND","message":' + '{"content":' * 200 + "1" + "}" * 200 + "}",
)


@pytest.mark.parametrize("kind", ["prompt", "answer", "result", "checkpoint", "handoff", "queue", "settled"])
async def test_an_entry_of_any_shape_kills_no_view(tmp_path: Path, kind: str) -> None:
    database = await written(tmp_path, *(note("x") for _ in SHAPES), prompt("after"), Settled("answered"))
    with raw(database) as db:
        for at, shape in enumerate(SHAPES, start=2):
            body = shape.replace("KIND", kind).encode()
            db.execute("UPDATE entry SET kind=?, body=? WHERE (key & 0xffffffff) = ?", (kind, body, at))
    async with Provider(Reply(text="fine")) as provider:
        async with session(options(tmp_path, provider, open="newest")) as (agent, _):
            builder = BlockBuilder()
            blocks = [change.block for entry in agent.branch for change in builder.add(entry, "none")]
            assert blocks
            assert await said(agent, "go on") == "answered"
            assert len(bodies(await path_of(agent), Prompt)) >= 3
        assert "after" in texts(provider.requests[0])
    home = {"CLEW_HOME": str(tmp_path / "home")}
    for argv in (["log"], ["export", "--format", "md"], ["export", "--format", "html"], ["info"], ["sessions"]):
        done = clew(*argv, cwd=tmp_path / "project", env=home)
        assert done.returncode == 0, (argv, done.stderr)


async def test_the_leaf_is_what_was_left_and_never_what_is_newest(tmp_path: Path) -> None:
    """An old branch has an open call and the newest entry; opening neither goes there nor writes there."""
    given = options(tmp_path, None, open="newest")
    call = ToolCall("old", "bash", {"command": "make"})
    async with await Store.open(given.home, given.cwd) as store:
        log = await store.create(cwd=given.cwd, first=[prompt("hi"), Settled("answered")])
        home = (await log.page())[1].id
        await log.append(prompt("live"), Settled("answered"))
        live = (await log.page())[-1].id
        await log.move(home)
        await log.append(prompt("old way"), Answer(AssistantMessage((call,), StopReason.TOOL_CALLS)), started("old"))
        await log.move(live)
    async with session(given) as (agent, _):
        path = await path_of(agent)
        assert agent.idle
    assert live in [entry.id for entry in path]
    assert not bodies(path, ToolStarted)
    assert not bodies(path, Result)
    assert [each.message.authored for each in bodies(path, Prompt)] == ["hi", "live"]


async def test_a_finished_call_never_runs_again_and_an_open_one_is_reported(tmp_path: Path) -> None:
    calls = tuple(ToolCall(name, "bash", {"command": f"touch {name}"}) for name in ("k1", "k2"))
    done = Result(ToolResult("k1", "bash", (Text("done"),)))
    await written(
        tmp_path,
        prompt("work"),
        Answer(AssistantMessage(calls, StopReason.TOOL_CALLS)),
        started("k1"),
        done,
        started("k2"),
    )
    async with Provider(Reply(text="I see.")) as provider:
        async with session(options(tmp_path, provider, open="newest")) as (agent, _):
            assert await said(agent, "continue") == "answered"
            results = bodies(await path_of(agent), Result)
        assert "Effects unknown" in texts(provider.requests[0])
    assert [(each.message.call_id, each.refused) for each in results] == [("k1", ""), ("k2", "unknown")]
    assert not list((tmp_path / "project").iterdir())


async def test_every_parent_is_an_older_entry_of_the_log(tmp_path: Path) -> None:
    async with Provider(Reply(status=500, body="no"), Reply(text="fine"), repeat_last=True) as provider:
        given = options(tmp_path, provider)
        async with session(given) as (agent, _):
            await agent.save_draft("a draft is no parent")
            assert await said(agent, "hi") in ("answered", "error")
            path = await path_of(agent)
    seen: set[str | None] = {None}
    for entry in path:
        assert entry.parent in seen
        seen.add(entry.id)


def test_continuing_where_nothing_is_says_so(tmp_path: Path) -> None:
    done = clew("-p", "hi", "-c", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.count(b"\n") == 1
    assert b"no session to continue" in done.stderr
    assert clew("-p", "list the files", cwd=tmp_path).returncode == 0
    assert clew("-p", "list the files", "-c", cwd=tmp_path).returncode == 0
