"""A session's tree as a person looks at it: landmarks on lines, other branches set in, long stretches folded.

    facts (log) ── build ──► Tree ── rows(tree, folds) ──► what a screen shows, row by row

The current path is the line that is not set in; where it is left, the others come first, each one step further
in, and the line goes on below them. Pure, and never recursive: a tree may be thousands of forks deep.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from typing import Literal, TypeAlias

import msgspec

from tui.log.nodes import Landmark, TreeFacts
from tui.log.segments import Place

__all__ = ["Folds", "Run", "Spot", "Stretch", "Tree", "TreeNode", "TreeRow", "after", "build", "find_row", "rows"]

NodeKind: TypeAlias = Literal["prompt", "steer", "checkpoint", "fork", "mark"]
_FIRST = 2
_LAST = 5
_LEAST = 3
"""Of a long stretch so many are shown at its ends, and fewer are never folded away."""


class Spot(msgspec.Struct, frozen=True, gc=False):
    """A place to go to: an entry, or the one before it."""

    entry: str
    before: bool = False


class TreeNode(msgspec.Struct, frozen=True, gc=False):
    """One landmark. A fork is the entry that branches go on from, a mark one that has only a label."""

    id: str
    place: Place
    kind: NodeKind
    text: str = ""
    label: str = ""
    time: int = 0
    """Milliseconds since 1970, UTC; 0 is not known."""
    branches: int = 0
    """How many ways on a fork has."""
    sessions: int = 0
    """How many sessions were forked here."""
    on_path: bool = False
    """It belongs to the current path."""


class Stretch(msgspec.Struct, frozen=True):
    """Landmarks of a run that are folded away."""

    nodes: tuple[TreeNode, ...]

    @property
    def key(self) -> str:
        """What names it while the tree stays as it is."""
        return f"stretch:{self.nodes[0].id}"


class Run(msgspec.Struct, frozen=True):
    """A piece of a line from one fork to the next, or to its end; `parts` in order."""

    indent: int
    lead: bool
    """It is the beginning of a branch that is set in."""
    parts: tuple[TreeNode | Stretch, ...]
    end: Spot
    above: str = ""
    """Id of the fork whose other branch it belongs to."""

    @property
    def nodes(self) -> Iterator[TreeNode]:
        """All its landmarks, folded away or not."""
        for part in self.parts:
            yield from part.nodes if isinstance(part, Stretch) else (part,)


class Tree(msgspec.Struct, frozen=True):
    """All runs in the order they are shown; `here` is the id of the newest landmark of the current path."""

    runs: tuple[Run, ...] = ()
    here: str = ""


class Folds(msgspec.Struct, frozen=True):
    """What a person opened, closed and looks for."""

    opened: frozenset[str] = frozenset()
    """Keys of stretches that are shown in full."""
    closed: frozenset[str] = frozenset()
    """Ids of forks whose other branches are hidden."""
    query: str = ""


class TreeRow(msgspec.Struct, frozen=True):
    """One row: a landmark, or how many are folded away (`node` None)."""

    indent: int
    lead: bool
    on_path: bool
    node: TreeNode | None
    key: str
    """Id of the landmark or key of the stretch; no two rows have the same."""
    folded: int = 0
    """Landmarks that are not shown: of the stretch, or of a closed fork's other branches."""


# --- from facts to a tree ---------------------------------------------------------------------------


class _Piece(msgspec.Struct, frozen=True):
    """What is still to be drawn: a segment from a depth on."""

    segment: int
    low: int
    indent: int
    lead: bool
    above: str


class _Builder:
    """Holds the facts by place while a tree is built."""

    def __init__(self, facts: TreeFacts) -> None:
        self._facts = facts
        self._limbs = {limb.span.segment: limb for limb in facts.limbs}
        self._growing: dict[int, dict[int, list[int]]] = {}
        for limb in facts.limbs:
            if limb.parent is not None and self._covers(limb.parent):
                there = self._growing.setdefault(limb.parent.segment, {})
                there.setdefault(limb.parent.depth, []).append(limb.span.segment)
        self._stops = {segment: sorted(depths) for segment, depths in self._growing.items()}
        self._path = self._current()
        self._labels = _newest_labels(facts.landmarks)
        self._sessions: dict[Place, list[str]] = {}
        for child in facts.children:
            self._sessions.setdefault(child.at, []).append(child.entry)
        self._nodes = self._by_segment()

    def _covers(self, place: Place) -> bool:
        limb = self._limbs.get(place.segment)
        return limb is not None and limb.span.low <= place.depth <= limb.span.high

    def _current(self) -> dict[int, int]:
        """Return the segments of the current path, each with its last depth there."""
        found: dict[int, int] = {}
        place = self._facts.leaf
        while place is not None and place.segment not in found and place.segment in self._limbs:
            found[place.segment] = place.depth
            place = self._limbs[place.segment].parent
        return found

    def _by_segment(self) -> dict[int, list[TreeNode]]:
        """Return the landmarks, and the places that have a name or a forked session and are nothing else."""
        found: dict[int, list[TreeNode]] = {}
        own = [landmark for landmark in self._facts.landmarks if landmark.kind != "label"]
        for mark in own:
            found.setdefault(mark.place.segment, []).append(
                self._node(mark.id, mark.place, mark.kind if mark.kind != "label" else "mark", mark.head, mark.time)
            )
        named = {label.about: label.id for label in self._labels.values()}
        named |= {place: entries[0] for place, entries in self._sessions.items()}
        for place in named.keys() - {landmark.place for landmark in own}:
            if self._covers(place) and len(self._ways(place)) < 2:
                found.setdefault(place.segment, []).append(self._node(named[place], place, "mark"))
        for nodes in found.values():
            nodes.sort(key=_depth)
        return found

    def _node(
        self, name: str, place: Place, kind: NodeKind, text: str = "", time: int = 0, *, branches: int = 0
    ) -> TreeNode:
        label = self._labels.get(place)
        return TreeNode(
            name,
            place,
            kind,
            text,
            label.head if label else "",
            time or (label.time if label else 0),
            branches=branches,
            sessions=len(self._sessions.get(place, ())),
            on_path=place.depth <= self._path.get(place.segment, -1),
        )

    def _ways(self, place: Place) -> list[tuple[int, int]]:
        """Return the ways on from a place as segments and first depths, the oldest first."""
        limb = self._limbs[place.segment]
        own = [(place.segment, place.depth + 1)] if limb.span.high > place.depth else []
        grown = self._growing.get(place.segment, {}).get(place.depth, [])
        return [*own, *((segment, self._limbs[segment].span.low) for segment in grown)]

    def tree(self) -> Tree:
        """Return the tree."""
        runs: list[Run] = []
        roots = [limb for limb in self._facts.limbs if limb.parent is None or not self._covers(limb.parent)]
        left = [
            _Piece(limb.span.segment, limb.span.low, 0, at > 0, "") for at, limb in reversed(list(enumerate(roots)))
        ]
        while left:
            run, ways = self._run(left.pop())
            if run.parts:
                runs.append(run)
            left += ways
        return Tree(tuple(runs), _here(runs))

    def _run(self, piece: _Piece) -> tuple[Run, list[_Piece]]:
        """Follow a line to its next fork; return it and what comes then, the next one last."""
        nodes: list[TreeNode] = []
        segment, low = piece.segment, piece.low
        while True:
            place = self._next_stop(segment, low)
            nodes += self._between(segment, low, place.depth)
            ways = self._ways(place)
            if len(ways) != 1:
                break
            segment, low = ways[0]
        name = self._facts.joints.get(place, "")
        fork = self._node(name, place, "fork", branches=len(ways)) if ways else None
        end = Spot(fork.id if fork else self._limbs[segment].tip)
        parts = _folded([*nodes, fork] if fork else nodes)
        run = Run(piece.indent, piece.lead, parts, end, piece.above)
        return run, self._pieces(piece, fork, ways) if fork else []

    def _next_stop(self, segment: int, low: int) -> Place:
        """Return the next place from a depth on where something else grows, or the segment's end."""
        stops = self._stops.get(segment, [])
        at = bisect_left(stops, low)
        return Place(segment, stops[at] if at < len(stops) else self._limbs[segment].span.high)

    def _between(self, segment: int, low: int, high: int) -> list[TreeNode]:
        nodes = self._nodes.get(segment, [])
        return nodes[bisect_left(nodes, low, key=_depth) : bisect_left(nodes, high + 1, key=_depth)]

    def _pieces(self, piece: _Piece, fork: TreeNode, ways: list[tuple[int, int]]) -> list[_Piece]:
        """Return the ways on: the other branches set in, then the line itself; the first to be drawn is the last."""
        line = next((way for way in ways if way[1] <= self._path.get(way[0], -1)), ways[-1])
        others = [
            _Piece(segment, low, piece.indent + 1, lead=True, above=fork.id)
            for segment, low in ways
            if (segment, low) != line
        ]
        return [_Piece(*line, piece.indent, lead=False, above=piece.above), *reversed(others)]


def _here(runs: Sequence[Run]) -> str:
    """Return the newest landmark that is not behind the leaf."""
    here = ""
    for run in runs:
        for node in run.nodes:
            here = node.id if node.on_path else here
    return here


def _depth(node: TreeNode) -> int:
    return node.place.depth


def _newest_labels(landmarks: Sequence[Landmark]) -> dict[Place, Landmark]:
    """Return the label in force of each place; an empty one takes the name away."""
    newest: dict[Place, Landmark] = {}
    for landmark in landmarks:
        if landmark.kind == "label":
            known = newest.get(landmark.about)
            if known is None or (landmark.time, landmark.place) >= (known.time, known.place):
                newest[landmark.about] = landmark
    return {place: label for place, label in newest.items() if label.head}


def _folded(nodes: Sequence[TreeNode]) -> tuple[TreeNode | Stretch, ...]:
    """Fold the middle of a long run away; what has a label stays, and so does a fork."""
    parts: list[TreeNode | Stretch] = []
    quiet: list[TreeNode] = []
    for at, node in enumerate(nodes):
        inside = _FIRST <= at < len(nodes) - _LAST and not node.label and not node.sessions
        if inside:
            quiet.append(node)
        else:
            parts += _stretch(quiet)
            quiet = []
            parts.append(node)
    return tuple(parts)


def _stretch(nodes: list[TreeNode]) -> list[TreeNode | Stretch]:
    return [Stretch(tuple(nodes))] if len(nodes) >= _LEAST else [*nodes]


def build(facts: TreeFacts) -> Tree:
    """Return the tree of a session."""
    return _Builder(facts).tree()


# --- from a tree to rows ----------------------------------------------------------------------------


def rows(tree: Tree, folds: Folds) -> tuple[TreeRow, ...]:
    """Return the rows to show. Costs what is shown, and the number of runs."""
    return tuple(_found(tree, folds.query) if folds.query.strip() else _shown(tree, folds))


def _shown(tree: Tree, folds: Folds) -> Iterator[TreeRow]:
    hidden = _hidden(tree, folds.closed) if folds.closed else {}
    for run in tree.runs:
        if run.above in hidden and run.indent > 0:
            continue
        lead = run.lead
        for part in run.parts:
            if isinstance(part, Stretch) and part.key not in folds.opened:
                yield TreeRow(run.indent, lead, part.nodes[0].on_path, None, part.key, len(part.nodes))
                lead = False
                continue
            for node in part.nodes if isinstance(part, Stretch) else (part,):
                yield TreeRow(run.indent, lead, node.on_path, node, node.id, hidden.get(node.id, 0))
                lead = False


def _hidden(tree: Tree, closed: frozenset[str]) -> dict[str, int]:
    """Return the forks whose other branches are hidden, those inside hidden ones too, with how much that is."""
    hidden = dict.fromkeys(closed, 0)
    for run in tree.runs:
        if run.above in hidden:
            hidden[run.above] += sum(len(part.nodes) if isinstance(part, Stretch) else 1 for part in run.parts)
            last = run.parts[-1]
            if isinstance(last, TreeNode) and last.kind == "fork":
                hidden.setdefault(last.id, 0)
    return hidden


def _found(tree: Tree, query: str) -> Iterator[TreeRow]:
    """Yield the landmarks that hold every word of a query, on one level: matches are few, their places many."""
    words = query.casefold().split()
    for run in tree.runs:
        for node in run.nodes:
            text = f"{node.text} {node.label}".casefold()
            if all(word in text for word in words):
                yield TreeRow(0, lead=False, on_path=node.on_path, node=node, key=node.id)


def after(tree: Tree, node_id: str) -> Spot:
    """Return where one stands after a landmark: with a prompt answered, as before the next one that opens something."""
    for run in tree.runs:
        passed: TreeNode | None = None
        for node in run.nodes:
            if passed is not None and node.kind == "prompt":
                return Spot(node.id, before=True)
            if node.id == node_id:
                passed = node
                if node.kind in ("fork", "mark"):
                    return Spot(node.id)
        if passed is not None:
            return run.end
    return Spot(node_id)


def find_row(shown: Sequence[TreeRow], wanted: str, otherwise: int = 0) -> int:
    """Return where a row is by its key; where it is gone, the nearest to `otherwise`."""
    at = next((at for at, row in enumerate(shown) if row.key == wanted), -1)
    return at if at >= 0 else max(0, min(otherwise, len(shown) - 1))
