"""One writer per session: judged purely, and with real second processes."""

from __future__ import annotations

import os
import shutil
import signal
from pathlib import Path

import pytest

from tests.log.kit import Clock, end, line_of, note, other_program, stop, tell, texts
from tui.log import LeaseHeld, LeaseLost, Store
from tui.log.lease import STALE_MS, LeaseRow, Owner, Verdict, judge, process_start, start_by_ps, this_owner

ME = Owner(10, "host/space", "boot", "5")
NOW = 1_000_000


@pytest.mark.parametrize(
    ("owner", "silent", "starts", "verdict"),
    [
        (None, 0, "5", Verdict.FREE),
        (Owner(11, "host/space", "boot", "5"), 0, "5", Verdict.HELD),
        (Owner(11, "host/space", "boot", "5"), STALE_MS, "5", Verdict.HELD),
        (Owner(11, "host/space", "boot", "5"), STALE_MS + 1, "5", Verdict.STALE),
        (Owner(11, "host/space", "boot", "5"), -(10**9), "5", Verdict.HELD),
        (Owner(11, "host/space", "boot", "5"), 0, None, Verdict.DEAD),
        (Owner(11, "host/space", "boot", "5"), 0, "6", Verdict.DEAD),
        (Owner(11, "host/space", "earlier boot", "5"), 0, "5", Verdict.DEAD),
        (Owner(11, "host/other container", "boot", "5"), 0, None, Verdict.HELD),
        (Owner(11, "other/space", "boot", "5"), 0, None, Verdict.HELD),
        (Owner(11, "other/space", "boot", "5"), STALE_MS + 1, None, Verdict.STALE),
    ],
)
def test_judging(owner: Owner | None, silent: int, starts: str | None, verdict: Verdict) -> None:
    assert judge(LeaseRow(3, owner, NOW - silent), ME, NOW, lambda _pid: starts) is verdict
    assert judge(None, ME, NOW, lambda _pid: starts) is Verdict.FREE


def test_this_process_is_alive_and_an_ended_one_is_not() -> None:
    me = this_owner()
    assert process_start(me.pid) == me.started != ""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert process_start(child) is None  # a zombie writes nothing any more
    os.waitpid(child, 0)
    assert process_start(child) is None


@pytest.mark.skipif(shutil.which("ps") is None, reason="needs ps")
def test_without_proc_ps_tells_the_same_whatever_the_terminal_speaks(monkeypatch: pytest.MonkeyPatch) -> None:
    started = start_by_ps(os.getpid())
    assert started
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert start_by_ps(os.getpid()) == started
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    assert start_by_ps(child) is None  # a zombie
    os.waitpid(child, 0)
    assert start_by_ps(child) is None


HOLDER = """
import asyncio, sys
from pathlib import Path
from tui.log import LogError, Store
from tui.log.entries import Notice

async def main(home, session):
    async with await Store.open(Path(home), Path(home)) as store:
        log = await store.session(session) if session else await store.create(cwd=home)
        print(log.id, flush=True)
        for line in sys.stdin:
            try:
                await log.append(Notice(line.strip()))
                print("ok", flush=True)
            except LogError as error:
                print(type(error).__name__, log.writable, len(await log.page()), flush=True)

asyncio.run(main(sys.argv[1], sys.argv[2]))
"""


@pytest.mark.anyio
async def test_a_second_process_is_refused_until_the_first_is_gone(tmp_path: Path) -> None:
    holder = other_program(HOLDER, str(tmp_path), "")
    session = line_of(holder)
    tell(holder, "one")
    assert line_of(holder) == "ok"
    async with await Store.open(tmp_path, tmp_path) as store:
        with pytest.raises(LeaseHeld) as held:
            await store.session(session)
        assert f"process {holder.pid} on" in held.value.owner
        follower = await store.session(session, write=False)
        assert texts(await follower.page()) == ["one"]
        holder.kill()
        end(holder)
        ours = await store.session(session)
        await ours.append(note("two"))
        assert await follower.refresh()
        assert texts(await follower.page()) == ["one", "two"]


@pytest.mark.anyio
async def test_a_process_that_ends_well_gives_its_lease_back(tmp_path: Path) -> None:
    holder = other_program(HOLDER, str(tmp_path), "")
    session = line_of(holder)
    assert end(holder) == 0
    async with await Store.open(tmp_path, tmp_path) as store:
        assert (await store.session(session)).writable


@pytest.mark.anyio
async def test_a_sleeper_whose_lease_was_taken_is_refused_and_then_follows(tmp_path: Path) -> None:
    sleeper = other_program(HOLDER, str(tmp_path), "")
    session = line_of(sleeper)
    tell(sleeper, "one")
    assert line_of(sleeper) == "ok"
    stop(sleeper)
    clock = Clock(now=10**13)  # far later
    async with await Store.open(tmp_path, tmp_path, clock=clock) as store:
        ours = await store.session(session)
        await ours.append(note("two"))
        os.kill(sleeper.pid, signal.SIGCONT)
        tell(sleeper, "three")
        assert line_of(sleeper) == "LeaseLost False 2"
        assert texts(await ours.page()) == ["one", "two"]
    assert end(sleeper) == 0


@pytest.mark.anyio
async def test_two_windows_of_one_process_are_two_windows(tmp_path: Path) -> None:
    async with await Store.open(tmp_path, tmp_path) as one, await Store.open(tmp_path, tmp_path) as two:
        session = await one.create(cwd=tmp_path)
        for store in (one, two):
            with pytest.raises(LeaseHeld):
                await store.session(session.id)
        await session.close()
        again = await two.session(session.id)
        assert again.writable
        assert not session.writable


@pytest.mark.anyio
async def test_an_active_writer_shows_signs_of_life(tmp_path: Path) -> None:
    ours, theirs = Clock(), Clock()
    async with (
        await Store.open(tmp_path, tmp_path, clock=ours) as one,
        await Store.open(tmp_path, tmp_path, clock=theirs) as two,
    ):
        session = await one.create(cwd=tmp_path)
        ours.now += STALE_MS
        await session.append(note("still here"))
        theirs.now += STALE_MS + 1
        with pytest.raises(LeaseHeld):
            await two.session(session.id)
        theirs.now += STALE_MS
        taken = await two.session(session.id)
        for write in (session.append(note("no")), session.set_draft("no"), session.move("x")):
            with pytest.raises(LeaseLost):
                await write
        assert not session.writable
        await taken.append(note("yes"))
        assert texts(await session.page()) == ["still here", "yes"]
        await session.close()
        assert taken.writable
        await taken.append(note("more"))
