"""A run that is killed somewhere, gone on with and finished; and the judge of what is left.

item 1 ──► made, checked, accepted
item 2 ──► not made, the check fails; then made, checked, accepted
item 3 ──► half done, a handoff, done after its continuation, checked, accepted
"""

from __future__ import annotations

import random
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from signal import SIGKILL
from threading import Lock

import anyio
import msgspec

from tests.agent.handoffs import FILLER, bash_call, compact, is_summary, strings
from tests.faults.forker import Forker, order_in
from tests.faults.matrix import read_path
from tests.faults.orders import Counts, Kind, Order, Point
from tests.runs.support import newest_item, ready
from tests.support.provider import Provider, Received, Reply
from tui.log import RunRow, Store
from tui.log.check import check
from tui.log.entries import Answer, Entry, Prompt, Result, RunCard
from tui.log.paths import database_file
from tui.runs.plan import Plan, PlanItem
from tui.runs.state import Checked, CheckRun, Claimed, Ready, Step, outcome
from tui.runs.stored import read_run, replay

__all__ = ["LEAST", "PLAN", "Left", "Outcome", "judge", "look", "places", "try_points"]

LEAST = Counts(step=900, statement=400)
"""Places in one run. Fewer would mean that something is not written, or not seen, any more."""
RAN = "ran"
"""File to which each tool adds its label."""
CHECKED = "checked"
"""File to which each check adds a number of its own, which it prints too."""
CHECK = f'n=$$.$(date +%s%N); echo "$n"; echo "$n" >> {CHECKED}; test -e "item-$1"\n'
PLAN = Plan("three", tuple(PlanItem(f"make item-{n}", (("sh", "check.sh", str(n)),)) for n in (1, 2, 3)))
ATTEMPTS = [1, 2, 1]
"""Of each item, wherever the run was killed: a verification that gave no verdict is none."""


class Maker:
    """Does the items by what the request says, and nothing else. No label is given twice."""

    def __init__(self) -> None:
        self._labels = 0
        self._lock = Lock()

    def __call__(self, received: Received) -> Reply:
        if is_summary(received):
            return Reply(text="What was done.")
        number, since = newest_item(received)
        sent = [at for at, one in enumerate(since) if any("<continuation>\n" in text for text in strings(one))]
        continued, after = bool(sent), since[sent[-1] :] if sent else since
        turn = sum(message["role"] == "assistant" for message in after)
        if not number:
            return Reply(text="Yes?")
        if turn == 0:
            return self._work(number, received, continued=continued)
        if number == 3 and not continued:
            return Reply(calls=(compact("NOTE: item 3 is half done"),))
        return ready(f"item {number}") if turn == 1 else Reply(text="Done.")

    def _work(self, number: int, received: Received, *, continued: bool) -> Reply:
        with self._lock:
            self._labels += 1
            label = f"{number}.{self._labels}"
        half = number == 3 and not continued
        again = number == 2 and any("It was not accepted yet" in text for text in strings(received.body["messages"]))
        makes = number == 1 or again or continued
        call = bash_call(f"echo {label} >> {RAN}" + (f"; touch item-{number}" if makes else ""))
        return Reply(text=FILLER if half else "Working.", piece=8_000, calls=(call,))


class Left(msgspec.Struct, frozen=True):
    """What is there when all is over."""

    path: tuple[Entry, ...]
    row: RunRow
    steps: tuple[Step, ...]
    raw: tuple[bytes, ...]
    ran: tuple[str, ...]
    checked: tuple[str, ...]


def look(place: Order) -> Left:
    """Return what a place holds."""

    async def read() -> tuple[RunRow, list[tuple[int, int, bytes]]]:
        async with await Store.open(Path(place.home), Path(place.project), read_only=True) as store:
            (row,) = await store.runs()
        with closing(sqlite3.connect(database_file(Path(place.home), Path(place.project)))) as db:
            return row, db.execute("SELECT seq, time, event FROM run_event ORDER BY seq").fetchall()

    row, events = anyio.run(read)
    assert [seq for seq, _, _ in events] == list(range(1, row.seq + 1)), "no event is missing"
    raw = tuple(bytes(event) for _, _, event in events)
    steps = tuple(msgspec.json.decode(event, type=Step) for event in raw)
    return Left(tuple(read_path(place)), row, steps, raw, _lines(place, RAN), _lines(place, CHECKED))


def _lines(place: Order, name: str) -> tuple[str, ...]:
    return tuple((Path(place.project) / name).read_text().split())


def judge(left: Left) -> None:
    """Judge what is left. Raises `AssertionError`."""
    run = read_run(left.row)
    state = run.state
    assert replay(run.plan, list(left.raw)) == state, "state and events are one"
    assert (state.status, [item.status for item in state.items]) == ("complete", ["accepted"] * 3), "no item is lost"
    assert [item.attempts for item in state.items] == ATTEMPTS, "attempts are counted exactly"
    cards = [entry.body for entry in left.path if isinstance(entry.body, RunCard)]
    assert Counter(card.item for card in cards if card.what == "accepted") == {0: 1, 1: 1, 2: 1}, "accepted once"
    assert sum(card.what == "complete" for card in cards) == 1
    _judge_checks(left)
    _judge_calls(left)


def _judge_checks(left: Left) -> None:
    """Every claimed check ran; each verdict is of one `item_ready`; each claim came with its message."""
    events = [step.event for step in left.steps]
    claimed: list[CheckRun] = [run for event in events if isinstance(event, Checked) for run in event.runs]
    numbers = [run.tail.strip() for run in claimed]
    assert len(set(numbers)) == len(numbers), "no check is claimed twice"
    assert set(numbers) <= set(left.checked), "no check is claimed that did not run"
    verdicts = [outcome(event.runs) for event in events if isinstance(event, Checked)]
    assert verdicts == ["pass", "fail", "pass", "pass"]
    assert sum(isinstance(event, Ready) for event in events) == len(verdicts), "checks run once for each item_ready"
    given = [entry for entry in left.path if isinstance(entry.body, Prompt) and entry.body.origin == "dispatch"]
    assert len(given) == sum(isinstance(event, Claimed) for event in events), "a claim and its message are one"


def _judge_calls(left: Left) -> None:
    """No tool ran twice, and each call has exactly one result."""
    assert len(set(left.ran)) == len(left.ran), "no tool runs twice"
    calls = [call.id for entry in left.path if isinstance(entry.body, Answer) for call in entry.body.message.calls]
    results = [entry.body.message.call_id for entry in left.path if isinstance(entry.body, Result)]
    assert sorted(calls) == sorted(results), "each call has one result"


# --- many of them


class Outcome(msgspec.Struct, frozen=True):
    """What came of some trials."""

    counts: Counts
    tried: int
    killed: int
    losses: tuple[str, ...]

    @property
    def line(self) -> str:
        """The report in a line."""
        return (
            f"{self.counts.step} steps of the loop, {self.counts.statement} writing statements; "
            f"{self.tried} tried, {self.killed} killed, losses: {len(self.losses)}"
        )


class _Bench:
    """A provider, and a process that forks those that are killed."""

    def __init__(self, folder: Path, provider: Provider, forker: Forker) -> None:
        self._folder, self._provider, self._forker = folder, provider, forker
        self._number = 0

    def place(self) -> Order:
        self._number += 1
        order = order_in(self._folder / str(self._number), self._provider)
        (Path(order.project) / "check.sh").write_text(CHECK)
        return order

    def count(self) -> Counts:
        """Run it unharmed."""
        report = None
        for _ in range(2):  # the first one shows what is imported late
            place = self.place()
            ended = self._forker.obey(place)
            assert ended.report is not None, f"the run itself ended with {ended.status}"
            report = ended.report
            self._forker.obey(Order("import", modules=report.modules))
            judge(look(place))
        assert report is not None
        return report.counts

    def killed(self, point: Point) -> bool:
        """Kill it at a point, go on, finish and judge; return whether the point was reached."""
        place = self.place()
        first = self._forker.obey(msgspec.structs.replace(place, point=point))
        assert first.status in (0, SIGKILL), f"it ended with status {first.status}"
        again = self._forker.obey(msgspec.structs.replace(place, act="finish"))
        assert again.status == 0, f"what was left could not be finished (status {again.status})"
        judge(look(place))
        found = anyio.run(check, database_file(Path(place.home), Path(place.project)))
        assert not found, found
        return first.status == SIGKILL


def places(counts: Counts, kind: Kind, most: int, seed: str) -> list[Point]:
    """Return every place of a kind, or so many that `seed` chooses."""
    every = range(1, counts.of(kind) + 1)
    chosen = every if most >= len(every) else sorted(random.Random(seed).sample(every, most))
    return [Point(kind, at) for at in chosen]


def try_points(statements: int, steps: int, seed: str) -> Outcome:
    """Kill a run at so many writes and steps of the loop; return what came of it."""
    losses: list[str] = []
    killed = 0
    with (
        tempfile.TemporaryDirectory(prefix="clew-killed-") as folder,
        Provider(Maker(), repeat_last=True) as provider,
        Forker("tests.runs.killed_child") as forker,
    ):
        bench = _Bench(Path(folder), provider, forker)
        counts = bench.count()
        points: Sequence[Point] = (
            *places(counts, "statement", statements, seed),
            *places(counts, "step", steps, seed),
        )
        for point in points:
            try:
                killed += bench.killed(point)
            except AssertionError as error:
                losses.append(f"{point}: {error}")
    return Outcome(counts, len(points), killed, tuple(losses))
