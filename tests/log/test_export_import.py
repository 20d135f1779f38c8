"""A session written out and read back: byte for byte, and what becomes of files that are not whole."""

from __future__ import annotations

import io
import json
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import TypeAlias

import anyio
import anyio.to_thread
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.kit import Clock, answer, note, prompt, result, started, texts
from tui.log import ImportRefused, LeaseHeld, Session, Store
from tui.log.entries import Body, UnknownBody
from tui.log.exporting import export_lines
from tui.log.importing import Imported
from tui.log.jsonl import as_line, entry_object, raw_body, shown_body
from tui.log.lines import Line, read_lines

pytestmark = pytest.mark.anyio

ODD_TEXT = "a\0b\r\n\u2028\u2029\u0085\x1b[31m\x7f\ufeff\U0001f9f5 \\u0085 日本語"
ODD_BODIES: tuple[Body | UnknownBody, ...] = (
    prompt(ODD_TEXT),
    UnknownBody("from-tomorrow", b'{"type":"from-tomorrow","deep":' + b"[" * 200 + b"]" * 200 + b"}"),
    UnknownBody("from-tomorrow", b"\0"),
    UnknownBody("from-tomorrow", b"\xff\xfe not UTF-8 \n at all \xed\xa0\x80"),
    UnknownBody("from-tomorrow", b'{\n  "pretty": "\\u0085\xc2\x85"\n}'),
    UnknownBody("from-tomorrow", b'{"base64":"AA=="}'),
    UnknownBody("from-tomorrow", b""),
    UnknownBody("prompt", b'{"type":"prompt","message":null}'),
    answer("fine"),
)


async def _lines(session: Session) -> bytes:
    return b"".join([part async for part in export_lines(session)])


async def _export(home: Path, project: Path, session: str) -> bytes:
    async with await Store.open(home, project, read_only=True) as store:
        return await _lines(await store.session(session, write=False))


async def _import(home: Path, project: Path, content: bytes) -> Imported:
    async with await Store.open(home, project, clock=Clock(1_800_000_000_000)) as store:
        return await store.take_in(read_lines(io.BytesIO(content)))


async def _tree(home: Path) -> tuple[str, bytes]:
    """Make a session with three branches, odd bodies and a blob; return its id and its lines."""
    async with await Store.open(home, home / "shop", clock=Clock()) as store:
        session = await store.create(cwd=home / "shop")
        first = await session.append(*ODD_BODIES)
        sha256 = await session.put_blob(b"\0whole output\xff" * 1000)
        await session.append(started("c1"), result("c1"))
        await session.append(UnknownBody("names-a-blob", json.dumps({"it": sha256}).encode()))
        for at in (2, 5):
            await session.move(first[at].id)
            await session.append(prompt(f"branch from {at}"), note("there"))
        await session.move(first[-1].id)
        return session.id, await _lines(session)


async def test_a_tree_comes_back_byte_for_byte(tmp_path: Path) -> None:
    session, lines = await _tree(tmp_path / "one")
    assert lines.count(b"\n") == 1 + len(ODD_BODIES) + 3 + 1 + 4 + 1
    assert b"\x7f" not in lines
    done = await _import(tmp_path / "two", tmp_path / "elsewhere", lines)
    assert (done.session, done.faults, done.shared, done.blobs) == (session, (), 0, 1)
    assert await _export(tmp_path / "two", tmp_path / "elsewhere", session) == lines


async def test_the_landmarks_of_its_tree_come_with_it(tmp_path: Path) -> None:
    session, lines = await _tree(tmp_path / "one")
    await _import(tmp_path / "two", tmp_path / "elsewhere", lines)
    heads: list[list[tuple[str, str]]] = []
    for home, project in ((tmp_path / "one", tmp_path / "one" / "shop"), (tmp_path / "two", tmp_path / "elsewhere")):
        async with await Store.open(home, project) as store:
            facts = await (await store.session(session, write=False)).tree()
            heads.append(sorted((mark.id, mark.head) for mark in facts.landmarks))
    assert heads[0] == heads[1]
    assert len(heads[0]) == 3


async def test_the_branch_is_the_same_when_opened(tmp_path: Path) -> None:
    session, lines = await _tree(tmp_path / "one")
    await _import(tmp_path / "two", tmp_path / "elsewhere", lines)
    async with await Store.open(tmp_path / "two", tmp_path / "elsewhere") as store:
        log = await store.session(session)
        bodies = [entry.body async for page in log.entries() for entry in page]
        assert [_shown(body) for body in bodies] == [_shown(body) for body in ODD_BODIES]
        await log.append(prompt("it goes on"))
        assert (await log.page(limit=1))[0].depth == len(ODD_BODIES)
        assert (await store.info(session)).title == "a\0b"


def _shown(body: Body | UnknownBody) -> object:
    return (body.kind, body.raw) if isinstance(body, UnknownBody) else body


async def test_a_folder_and_a_title_may_be_any_bytes(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "one", tmp_path, clock=Clock()) as store:
        session = await store.create(cwd=tmp_path / "caf\udce9", first=[prompt("hello")])
        lines = await _lines(session)
        path = store.path
    with closing(sqlite3.connect(path)) as db:
        db.execute("UPDATE session SET title=?", (b"caf\xe9",))
        db.commit()
    lines = await _export(tmp_path / "one", tmp_path, session.id)
    await _import(tmp_path / "two", tmp_path, lines)
    assert await _export(tmp_path / "two", tmp_path, session.id) == lines


async def test_a_fork_comes_back_alone_and_beside_its_origin(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "one", tmp_path, clock=Clock()) as store:
        origin = await store.create(cwd=tmp_path, first=[note("a"), prompt("b"), note("c")])
        fork = await origin.fork((await origin.page())[1].id)
        await fork.append(note("of the fork"))
        whole, part = await _lines(origin), await _lines(fork)
        fork_id = fork.id
    alone = await _import(tmp_path / "two", tmp_path, part)
    assert (alone.faults, alone.shared) == ((), 0)
    assert await _export(tmp_path / "two", tmp_path, fork_id) == part
    await _import(tmp_path / "three", tmp_path, whole)
    beside = await _import(tmp_path / "three", tmp_path, part)
    assert (beside.faults, beside.shared) == ((), 2)
    assert await _export(tmp_path / "three", tmp_path, fork_id) == part


async def test_what_is_here_is_never_changed(tmp_path: Path) -> None:
    session, lines = await _tree(tmp_path)
    for trashed in (False, True):
        async with await Store.open(tmp_path, tmp_path / "shop") as store:
            await store.trash(session, trashed=trashed)
        with pytest.raises(ImportRefused, match="trash" if trashed else "already"):
            await _import(tmp_path, tmp_path / "shop", lines.replace(b"fine", b"evil"))
        assert await _export(tmp_path, tmp_path / "shop", session) == lines


async def test_an_id_that_is_taken_stays_with_its_owner(tmp_path: Path) -> None:
    session, lines = await _tree(tmp_path)
    forged = lines.replace(session.encode(), b"0" * 32).replace(b"fine", b"evil")
    done = await _import(tmp_path, tmp_path / "shop", forged)
    assert {fault.fault for fault in done.faults} == {"id-taken", "leaf-lost"}
    assert await _export(tmp_path, tmp_path / "shop", session) == lines
    assert b"evil" not in await _export(tmp_path, tmp_path / "shop", "0" * 32)


async def test_another_sessions_entry_is_no_parent_and_no_leaf(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path, clock=Clock()) as store:
        secret = (await (await store.create(cwd=tmp_path)).append(note("private")))[0]
    header = {"clew": "session", "format": 1, "id": "0" * 32, "leaf": secret.id}
    entry = {"id": "e1", "parent": secret.id, "time": 1, "kind": "notice", "body": {"type": "notice", "text": "x"}}
    end = {"clew": "end", "entries": 1}
    done = await _import(tmp_path, tmp_path, b"".join(as_line(line) for line in (header, entry, end)))
    assert [fault.fault for fault in done.faults] == ["leaf-lost", "parent-lost"]
    assert b"private" not in await _export(tmp_path, tmp_path, "0" * 32)


Damage: TypeAlias = Callable[[list[bytes]], list[bytes]]
Faults: TypeAlias = list[tuple[int, str]]
NO_END: Faults = [(1, "leaf-lost"), (5, "not-json"), (6, "cut-short")]
FALSE_BLOB = b'{"blob":"' + b"0" * 64 + b'","base64":"AA=="}\n'
DAMAGES: dict[str, tuple[Damage, Faults]] = {
    "end without LF": (lambda lines: [*lines[:-1], lines[-1][:-1]], []),
    "BOM and CRLF": (lambda lines: [b"\xef\xbb\xbf" + lines[0].replace(b"\n", b"\r\n"), *lines[1:]], []),
    "NUL tail": (lambda lines: [*lines, b"\0" * 2000], []),
    "NUL in place of the end": (
        lambda lines: [*lines[:-2], b"\0" * 2000],
        [(1, "leaf-lost"), (5, "not-json"), (6, "cut-short")],
    ),
    "no end": (lambda lines: [*lines[:-1]], [(6, "cut-short")]),
    "cut in the last entry": (
        lambda lines: [*lines[:-2], lines[-2][:40]],
        [(1, "leaf-lost"), (5, "not-json"), (6, "cut-short")],
    ),
    "cut in the middle": (
        lambda lines: [*lines[:2], lines[2][:50] + b"\n", *lines[3:]],
        [(3, "not-json"), (4, "parent-lost")],
    ),
    "foreign object": (lambda lines: [*lines[:2], b'{"role":"user","content":null}\n', *lines[2:]], [(3, "foreign")]),
    "foreign values": (lambda lines: [*lines[:2], b"[1,2]\n", b"7\n", *lines[2:]], [(3, "foreign"), (4, "foreign")]),
    "line twice": (lambda lines: [*lines[:3], lines[2], *lines[3:]], [(4, "duplicate-id")]),
    "two sessions": (lambda lines: [*lines[:3], lines[0], *lines[3:]], [(1, "leaf-lost"), (4, "second-header")]),
    "leaf unknown": (lambda lines: [lines[0].replace(b'"leaf":"', b'"leaf":"x'), *lines[1:]], [(1, "leaf-lost")]),
    "blob is another": (
        lambda lines: [*lines[:2], FALSE_BLOB, *lines[2:]],
        [(3, "bad-blob")],
    ),
    "deep brackets": (lambda lines: [*lines[:2], b"[" * 100_000 + b"\n", *lines[2:]], [(3, "foreign")]),
}


@pytest.mark.parametrize("name", DAMAGES)
async def test_a_file_that_is_not_whole_is_named_line_by_line(tmp_path: Path, name: str) -> None:
    damage, faults = DAMAGES[name]
    async with await Store.open(tmp_path / "one", tmp_path, clock=Clock()) as store:
        session = await store.create(cwd=tmp_path, first=[note(word) for word in "abcd"])
        lines = (await _lines(session)).splitlines(keepends=True)
    done = await _import(tmp_path / "two", tmp_path, b"".join(damage(lines)))
    assert [(fault.line, fault.fault) for fault in done.faults] == faults
    assert all(fault.text for fault in done.faults)


async def test_a_gap_is_shown_where_it_is_and_nothing_after_it_is_lost(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "one", tmp_path, clock=Clock()) as store:
        session = await store.create(cwd=tmp_path, first=[note(str(number)) for number in range(3000)])
        lines = (await _lines(session)).splitlines(keepends=True)
    lines[1500] = lines[1500][:30] + b"\n"
    done = await _import(tmp_path / "two", tmp_path, b"".join(lines))
    assert [(fault.line, fault.fault) for fault in done.faults] == [(1501, "not-json"), (1502, "parent-lost")]
    async with await Store.open(tmp_path / "two", tmp_path) as store:
        log = await store.session(session.id, write=False)
        shown = texts([entry async for page in log.entries() for entry in page])
    assert len(shown) == 3000
    assert shown[1498] == "1498"
    assert "line 1502 of the imported file follows what is lost (left out: line 1501)" in shown[1499]
    assert shown[1500] == "1500"


async def test_depths_stay_as_they_were_behind_a_gap(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "one", tmp_path, clock=Clock()) as store:
        session = await store.create(cwd=tmp_path, first=[note(str(number)) for number in range(9)])
        await session.move((await session.page())[4].id)
        await session.append(note("five again"), note("six again"))
        lines = (await _lines(session)).splitlines(keepends=True)
    del lines[3:6]  # entries 2, 3 and 4: what the second branch stands on, too
    await _import(tmp_path / "two", tmp_path, b"".join(lines))
    async with await Store.open(tmp_path / "two", tmp_path) as store:
        log = await store.session(session.id, write=False)
        shown = texts([entry async for page in log.entries() for entry in page])
    assert len(shown) == 7
    assert shown[:2] == ["0", "1"]
    assert shown[5:] == ["five again", "six again"]


@pytest.mark.parametrize(
    "content",
    [b"", b"\n\n", b"hello\n", b'{"type":"session","version":3,"id":"x"}\n', b"\xff\xfe", b"[]", b'{"clew":"session"}'],
)
async def test_a_foreign_file_is_refused_whole(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(ImportRefused, match="changed"):
        await _import(tmp_path, tmp_path, content)
    async with await Store.open(tmp_path, tmp_path) as store:
        assert await store.sessions() == []


@pytest.mark.parametrize("name", ["../../evil", "", "/etc", "A" * 32, "0" * 31])
async def test_a_session_id_that_is_no_id_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(ImportRefused):
        await _import(tmp_path, tmp_path, as_line({"clew": "session", "format": 1, "id": name}))


async def test_a_newer_format_is_refused_politely(tmp_path: Path) -> None:
    with pytest.raises(ImportRefused, match="format 2"):
        await _import(tmp_path, tmp_path, as_line({"clew": "session", "format": 2, "id": "0" * 32}))


async def test_a_listing_without_header_becomes_a_session_of_its_own(tmp_path: Path) -> None:
    async with await Store.open(tmp_path / "one", tmp_path, clock=Clock()) as store:
        session = await store.create(cwd=tmp_path, first=[prompt("from a listing"), note("b")])
        listing = b"".join([as_line(entry_object(entry)) for entry in await session.page()])
    done = await _import(tmp_path / "two", tmp_path, listing)
    assert (done.faults, done.entries, done.title) == ((), 2, "from a listing")
    assert done.session != session.id


async def test_what_a_killed_import_left_is_taken_away_by_the_next_one(tmp_path: Path) -> None:
    session, lines = await _tree(tmp_path / "one")
    whole = read_lines(io.BytesIO(lines))

    def cut() -> Iterator[tuple[int, Line]]:
        yield next(whole)
        yield next(whole)
        raise OSError(5, "the disk went away")

    async with await Store.open(tmp_path / "two", tmp_path) as store:
        with pytest.raises(OSError, match="went away"):
            await store.take_in(cut())
        assert await store.sessions() == []
    done = await _import(tmp_path / "two", tmp_path, lines)
    assert done.faults == ()
    assert await _export(tmp_path / "two", tmp_path, session) == lines


async def test_two_imports_of_one_session_at_once(tmp_path: Path) -> None:
    _, lines = await _tree(tmp_path / "one")
    begun, go_on = threading.Event(), threading.Event()

    def slowly() -> Iterator[tuple[int, Line]]:
        rows = read_lines(io.BytesIO(lines))
        yield next(rows)
        begun.set()
        go_on.wait(60)
        yield from rows

    clock = Clock(1_800_000_000_000)
    async with (
        await Store.open(tmp_path / "two", tmp_path, clock=clock) as store,
        anyio.create_task_group() as group,
    ):
        group.start_soon(store.take_in, slowly())
        await anyio.to_thread.run_sync(begun.wait, 60)
        with pytest.raises(LeaseHeld):
            await _import(tmp_path / "two", tmp_path, lines)
        go_on.set()
    async with await Store.open(tmp_path / "two", tmp_path) as store:
        assert len(await store.sessions()) == 1


@given(st.binary(max_size=60) | st.text(max_size=30).map(lambda text: json.dumps({"a": text}).encode()))
async def test_any_bytes_stand_in_a_line_and_come_back(raw: bytes) -> None:
    line = as_line({"body": shown_body(raw)})
    assert line.count(b"\n") == 1
    found = list(read_lines(io.BytesIO(as_line({"id": "e", "time": 1, "kind": "k", "body": shown_body(raw)}))))
    assert getattr(found[0][1], "body", None) == raw
    assert raw_body(line[len(b'{"body":') : -2]) == raw
