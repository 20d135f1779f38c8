"""Sessions of every kind of entry, moved in, forked and branched: exported and imported they are the same."""

from __future__ import annotations

import asyncio
import io
import tempfile
from pathlib import Path
from typing import Any, get_args

import msgspec
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.log.kit import Clock, answer, note, prompt
from tui.log import Session, Store
from tui.log.entries import Body, Entry, Result, UnknownBody, encode_body
from tui.log.exporting import export_lines
from tui.log.lines import read_lines

KINDS: tuple[type[msgspec.Struct], ...] = get_args(Body)
"""Every kind of entry there is."""


def value_of(kind: Any) -> Any:
    """Return some value of a type of a body's field."""
    schema = msgspec.inspect.type_info(kind)
    return _some(schema)


def _some(info: msgspec.inspect.Type) -> Any:
    match info:
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            return cls(**{field.name: _some(field.type) for field in fields if field.required})
        case msgspec.inspect.StrType():
            return "a\0b \u2028 日本語"
        case msgspec.inspect.IntType():
            return 7
        case msgspec.inspect.FloatType():
            return 0.5
        case msgspec.inspect.BoolType():
            return True
        case msgspec.inspect.LiteralType(values=values):
            return values[0]
        case msgspec.inspect.UnionType(types=types):
            return _some(types[0])
        case msgspec.inspect.VarTupleType(item_type=item) | msgspec.inspect.ListType(item_type=item):
            return (_some(item),)
        case msgspec.inspect.DictType():
            return {}
        case msgspec.inspect.EnumType(cls=cls):
            return next(iter(cls))
        case msgspec.inspect.NoneType():
            return None
        case msgspec.inspect.AnyType():
            return None
        case other:
            raise AssertionError(other)


BODIES: tuple[Body | UnknownBody, ...] = (
    *(value_of(kind) for kind in KINDS),
    UnknownBody("from-tomorrow", b'{"type":"from-tomorrow","deep":[[[1]]]}'),
    UnknownBody("from-tomorrow", b"\xff\0 not UTF-8"),
    prompt("words"),
    answer("said"),
    note("told"),
)

Step = tuple[str, int, list[int]]
steps: st.SearchStrategy[list[Step]] = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "move", "fork", "blob", "switch"]),
        st.integers(0, 1000),
        st.lists(st.integers(0, len(BODIES) - 1), min_size=1, max_size=3),
    ),
    max_size=20,
)


class Grown:
    """A session, and all entries of its tree."""

    def __init__(self, session: Session, path: list[Entry]) -> None:
        self.session = session
        self.known = {entry.id: entry for entry in path}


async def _grow(store: Store, project: Path, script: list[Step]) -> list[Grown]:
    all_of_them = [Grown(await store.create(cwd=project), [])]
    here = all_of_them[0]
    for number, (what, which, kinds) in enumerate(script):
        at = sorted(here.known)[which % len(here.known)] if here.known else None
        match what:
            case "move" if at is not None:
                await here.session.move(at)
            case "fork" if at is not None:
                child = await here.session.fork(at)
                here = Grown(child, await child.page(limit=10_000))
                all_of_them.append(here)
            case "switch":
                here = all_of_them[which % len(all_of_them)]
            case "blob":
                sha256 = await here.session.put_blob(f"blob {which % 3}".encode() * 50)
                await _append(here, UnknownBody("names-a-blob", f'{{"it":"{sha256}"}}'.encode()))
            case _:
                bodies = [_told_apart(BODIES[kind], f"{number}-{at}") for at, kind in enumerate(kinds)]
                await _append(here, *bodies, note(f"step {number}"))
    return [grown for grown in all_of_them if grown.known]


def _told_apart(body: Body | UnknownBody, call: str) -> Body | UnknownBody:
    """A call has one result: each gets a call of its own."""
    if not isinstance(body, Result):
        return body
    return msgspec.structs.replace(body, message=msgspec.structs.replace(body.message, call_id=call))


async def _append(here: Grown, *bodies: Body | UnknownBody) -> None:
    here.known |= {entry.id: entry for entry in await here.session.append(*bodies)}


async def _lines(session: Session) -> bytes:
    return b"".join([part async for part in export_lines(session)])


async def _round_trip(script: list[Step], order: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        project = Path(folder, "p")
        project.mkdir()
        async with await Store.open(Path(folder, "one"), project, clock=Clock()) as store:
            grown = await _grow(store, project, script)
            whole = {one.session.id: await _lines(one.session) for one in grown}
        names = list(whole)  # each fork behind what it was forked from
        await _alone(Path(folder), project, names[order % len(names)] if names else "", whole)
        async with await Store.open(Path(folder, "beside"), project) as store:
            for name in names:
                done = await store.take_in(read_lines(io.BytesIO(whole[name])))
                assert done.faults == ()
            for name in names:
                assert await _lines(await store.session(name, write=False)) == whole[name]


async def _alone(folder: Path, project: Path, name: str, whole: dict[str, bytes]) -> None:
    """A session goes round by itself, and once more after it was purged."""
    if not name:
        return
    async with await Store.open(folder / "alone", project) as store:
        for _ in range(2):
            done = await store.take_in(read_lines(io.BytesIO(whole[name])))
            assert (done.faults, done.shared) == ((), 0)
            assert await _lines(await store.session(name, write=False)) == whole[name]
            await store.purge(name)


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(steps, st.integers(0, 100))
def test_any_sessions_come_back_byte_for_byte_alone_and_beside_their_origin(script: list[Step], order: int) -> None:
    asyncio.run(_round_trip(script, order))


def test_every_kind_of_entry_is_among_them() -> None:
    kinds = {encode_body(body)[0] for body in BODIES if not isinstance(body, UnknownBody)}
    assert len(kinds) == len(KINDS)
