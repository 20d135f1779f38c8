"""Try every place, or some: `python -m tests.faults [--sample N] [--seed TEXT] [--lanes N] [--only KIND:AT ...]`.

With `--steps`: every place of making the summary for next time, of moving in the tree, of forking.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import cast

from tests.faults.matrix import LEAST, Trial, every, sample
from tests.faults.moving import ForkLane, MoveLane
from tests.faults.orders import KINDS, Counts, Kind, Point
from tests.faults.report import commit, try_all
from tests.faults.saving import SavingLane
from tests.faults.steps import every_point


def _trial(text: str) -> Trial:
    """Return the trial that a report names: `step:12+step:3 at the screen`."""
    words = text.removesuffix(" at the screen")
    points: list[Point] = []
    for part in words.split("+"):
        kind, _, rest = part.partition(":")
        at, _, seed = rest.partition("/")
        if kind not in KINDS:
            raise argparse.ArgumentTypeError(f"{kind!r} is none of {', '.join(KINDS)}")
        points.append(Point(kind, int(at), int(seed or 0)))
    return Trial(tuple(points), screen=words != text)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("--sample", type=int, default=0, help="so many, chosen by the seed, instead of all")
    parser.add_argument("--seed", default=commit(), help="the commit that is checked out, where none is given")
    parser.add_argument("--steps", action="store_true", help="break single steps instead, everywhere")
    parser.add_argument("--network", action="store_true", help="keep the log as on a file system of the network")
    parser.add_argument("--lanes", type=int, default=2, help="how many run at once")
    parser.add_argument("--kind", action="append", choices=KINDS, help="only these kinds")
    parser.add_argument("--only", action="append", type=_trial, help="only these, as a report names them")
    return parser.parse_args()


def main() -> int:
    """Print the report; the status is 1 where something was lost, or there are fewer places than there were."""
    given = _arguments()
    if given.steps:
        lanes = (SavingLane(), MoveLane("move"), MoveLane("carry"), ForkLane())
        return 1 if sum(every_point(lane) for lane in lanes) else 0

    def choose(counts: Counts) -> Sequence[Trial]:
        if given.only:
            return cast("list[Trial]", given.only)
        if given.sample:
            return sample(counts, given.sample, given.seed)
        return every(counts, cast("list[Kind] | None", given.kind) or KINDS)

    if given.sample:
        print(f"seed: {given.seed}")
    outcome = try_all(choose, lanes=given.lanes, tell=lambda line: print(line, flush=True), network=given.network)
    print("\n".join(outcome.lines))
    if given.network:
        return 1 if outcome.losses else 0  # another journal has other places
    fewer = [kind for kind in KINDS if outcome.counts.of(kind) < LEAST.of(kind)]
    if fewer:
        print(f"fewer places than there were: {', '.join(fewer)}")
    return 1 if outcome.losses or fewer else 0


if __name__ == "__main__":
    sys.exit(main())
