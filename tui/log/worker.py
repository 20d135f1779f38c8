"""The one thread that touches the database, and the same without a thread for what lives in memory.

A write is never cut by cancellation: it ends, memory follows it on the worker's side, and only then does
the waiting task learn of its cancellation. So memory never disagrees with the disk.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable
from typing import Any, Literal, Protocol, TypeVar

import anyio

from tui.log.errors import LogClosed, LogError, LogUnwritable
from tui.log.schema import Database, open_memory, translated

__all__ = ["Inline", "Runner", "Work", "Worker", "snapshot", "transact"]

T = TypeVar("T")
Work = Callable[[sqlite3.Connection], T]

ATTEMPTS = 80
"""Waits of 50 + 10 ms for another's lock before a step is given up: about five seconds."""
_BUSY = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}


def _ignore(_result: Any) -> None:
    """Do nothing after a commit."""


class Runner(Protocol):
    """What runs work on the database."""

    @property
    def why_read_only(self) -> str:
        """Why nothing can be written; empty where it can."""
        ...

    async def read(self, work: Work[T]) -> T:
        """Run work in a read transaction; may be cancelled and is repeated while the database is busy."""
        ...

    async def write(self, work: Work[T], then: Callable[[T], None] = _ignore, *, durable: bool = True) -> T:
        """Run work in one transaction, then `then` on its result, before anything else touches the database.

        `durable=False` survives a crash of the program but perhaps not of the machine.
        """
        ...

    async def stop(self) -> None:
        """Close the database after the work that waits."""
        ...


def snapshot(db: sqlite3.Connection, work: Work[T]) -> T:
    """Run work on one unchanging state of the database."""
    db.execute("BEGIN")
    try:
        return work(db)
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")


def transact(db: sqlite3.Connection, work: Work[T], *, durable: bool = True) -> T:
    """Run work in one transaction: all of it is durable at the return, or nothing at the error."""
    db.execute("BEGIN IMMEDIATE") if durable else _begin_lightly(db)
    try:
        result = work(db)
        db.execute("COMMIT")
    finally:
        if db.in_transaction:
            db.execute("ROLLBACK")
        if not durable:
            db.execute("PRAGMA synchronous=FULL")
    return result


def _begin_lightly(db: sqlite3.Connection) -> None:
    db.execute("PRAGMA synchronous=NORMAL")
    try:
        db.execute("BEGIN IMMEDIATE")
    except BaseException:
        db.execute("PRAGMA synchronous=FULL")
        raise


class _Job:
    """One piece of work and whoever waits for it."""

    def __init__(self, run: Callable[[sqlite3.Connection], Any]) -> None:
        self.run = run
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[Any] = self.loop.create_future()
        self.cancelled = False

    def settle(self, result: Any, error: BaseException | None) -> None:
        """Hand the outcome to the loop; if that is gone, nobody waits any more."""
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(self._set, result, error)

    def _set(self, result: Any, error: BaseException | None) -> None:
        if self.future.done():
            return
        if error is None:
            self.future.set_result(result)
        else:
            self.future.set_exception(error)


class Worker:
    """A thread of its own with a queue. `tick` runs on it about every `period` seconds."""

    def __init__(self, opener: Callable[[], Database], tick: Work[None], period: float) -> None:
        self._opener = opener
        self._tick = tick
        self._period = period
        self._jobs: queue.SimpleQueue[_Job | Literal["stop"]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._main, name="clew-log", daemon=True)
        self._stopping = threading.Event()
        self._current: _Job | None = None
        self._database: Database | None = None
        self._opened: _Job | None = None
        self._ended: _Job | None = None

    @property
    def why_read_only(self) -> str:
        """Why nothing can be written; empty where it can."""
        return self._database.why_read_only if self._database else "it is closed"

    async def start(self) -> None:
        """Start the thread and open the database on it. Raises what the opener raises."""
        self._opened, self._ended = _Job(_ignore), _Job(_ignore)
        self._thread.start()
        await _outcome(self._opened.future)

    async def read(self, work: Work[T]) -> T:
        """See `Runner.read`."""
        job = self._put(lambda db: self._patiently(lambda: snapshot(db, work)))
        try:
            return await job.future
        except asyncio.CancelledError:
            job.cancelled = True  # the progress handler ends the query
            raise

    async def write(self, work: Work[T], then: Callable[[T], None] = _ignore, *, durable: bool = True) -> T:
        """See `Runner.write`."""

        def run(db: sqlite3.Connection) -> T:
            if self.why_read_only:
                raise LogUnwritable(
                    f"The log is view-only: {self.why_read_only}. Nothing was changed. Use another folder (CLEW_HOME)."
                )
            result = self._patiently(lambda: transact(db, work, durable=durable))
            then(result)
            return result

        return await _outcome(self._put(run).future)

    async def bare(self, work: Work[T]) -> T:
        """Run work outside any transaction: what SQLite does only there."""
        return await _outcome(self._put(work).future)

    async def stop(self) -> None:
        """See `Runner.stop`."""
        if self._ended is None:
            return
        if not self._stopping.is_set():
            self._stopping.set()
            self._jobs.put("stop")
        await _outcome(self._ended.future)

    def _put(self, run: Callable[[sqlite3.Connection], Any]) -> _Job:
        if self._stopping.is_set():
            raise LogClosed("The log was closed before. What was saved is kept; open it again to go on.")
        job = _Job(run)
        self._jobs.put(job)
        return job

    def _patiently(self, step: Callable[[], T]) -> T:
        """Repeat a step that changed nothing yet while another program holds the lock."""
        for attempt in range(ATTEMPTS):
            try:
                return step()
            except sqlite3.OperationalError as error:
                last = attempt == ATTEMPTS - 1
                if error.sqlite_errorcode & 0xFF not in _BUSY or last or self._gone():
                    raise
                time.sleep(0.01)
        raise AssertionError  # the last attempt returns or raises

    def _gone(self) -> bool:
        return self._stopping.is_set() or (self._current is not None and self._current.cancelled)

    def _main(self) -> None:
        opened, ended = self._opened, self._ended
        assert opened is not None
        assert ended is not None
        try:
            self._database = self._opener()
        except BaseException as error:  # handed to whoever opens; the thread has nobody else to tell
            opened.settle(None, error)
            ended.settle(None, None)
            return
        opened.settle(None, None)
        error: BaseException | None = None
        try:
            self._serve(self._database)
        except BaseException as caught:  # handed to whoever closes
            error = caught
        ended.settle(None, error)

    def _serve(self, database: Database) -> None:
        db = database.connection
        db.set_progress_handler(lambda: self._current is not None and self._current.cancelled, 20_000)
        beat = time.monotonic()
        try:
            while (job := self._next(beat)) != "stop":
                if job is not None:
                    self._do(job, database)
                if time.monotonic() - beat >= self._period:
                    beat = time.monotonic()
                    self._beat(database)
        finally:
            db.close()
            if database.copy is not None:
                shutil.rmtree(database.copy, ignore_errors=True)
            self._database = None

    def _next(self, beat: float) -> _Job | Literal["stop"] | None:
        try:
            return self._jobs.get(timeout=max(0.0, beat + self._period - time.monotonic()))
        except queue.Empty:
            return None

    def _do(self, job: _Job, database: Database) -> None:
        if job.cancelled:
            return
        self._current = job
        try:
            with translated(database.path):
                result = job.run(database.connection)
        except BaseException as error:  # belongs to whoever asked, not to this thread
            job.settle(None, error)
        else:
            job.settle(result, None)
        finally:
            self._current = None

    def _beat(self, database: Database) -> None:
        # A failed sign of life is no news: the next write meets the same fault, and there somebody can act.
        with contextlib.suppress(LogError), translated(database.path):
            if not database.why_read_only:
                transact(database.connection, self._tick, durable=False)


async def _outcome(future: asyncio.Future[T]) -> T:
    """Wait for a step that must not be cut; a cancellation of the task itself is delivered after it ended."""
    cut: asyncio.CancelledError | None = None
    with anyio.CancelScope(shield=True):
        while not future.done():
            try:
                await asyncio.wait([future])
            except asyncio.CancelledError as error:
                cut = error
    if cut is not None:
        future.exception()  # seen: the cancellation is what the caller hears
        raise cut
    return future.result()


class Inline:
    """The same without a thread, for a database in memory: nothing there can block."""

    why_read_only = ""

    def __init__(self) -> None:
        self._db: sqlite3.Connection | None = open_memory().connection

    async def read(self, work: Work[T]) -> T:
        """See `Runner.read`."""
        with translated(None):
            return snapshot(self.connection(), work)

    async def write(self, work: Work[T], then: Callable[[T], None] = _ignore, *, durable: bool = True) -> T:
        """See `Runner.write`."""
        return self.write_now(work, then, durable=durable)

    def write_now(self, work: Work[T], then: Callable[[T], None] = _ignore, *, durable: bool = True) -> T:
        """Write without awaiting."""
        with translated(None):
            result = transact(self.connection(), work, durable=durable)
        then(result)
        return result

    async def stop(self) -> None:
        """See `Runner.stop`."""
        self.stop_now()

    def stop_now(self) -> None:
        """Forget everything."""
        if self._db is not None:
            self._db.close()
        self._db = None

    def connection(self) -> sqlite3.Connection:
        """Return the open connection. Raises `LogClosed`."""
        if self._db is None:
            raise LogClosed("This session was closed; it was never saved (--no-session).")
        return self._db
