"""What to answer next, decided from one request alone.

The open prompts become tasks; each task's work is replayed over the results that are there. The first thing
that is missing is asked for; when nothing is missing, the pages become the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress

import msgspec

from tui.models.base import Request
from tui.models.rehearsal import change, look, overview, repair
from tui.models.rehearsal.desk import Ask, Desk, Page, Work
from tui.models.rehearsal.evidence import Evidence, Found, Scope, scope_of
from tui.models.rehearsal.handoff import Carried, carried_work, is_summary, must_hand_over, note_for, row_of, summary_of
from tui.models.rehearsal.item import item_in, words_of_item
from tui.models.rehearsal.prompt import Intent, Task, tasks_in
from tui.models.rehearsal.review import verdict_on
from tui.models.rehearsal.toolbox import Planned, Toolbox

__all__ = ["Draft", "next_answer"]

MOST_ROUNDS = 60
"""Answers with calls in one exchange; then it tells what it has."""

_WORK: dict[Intent, Callable[[Desk], Work]] = {
    Intent.OVERVIEW: overview.overview,
    Intent.LIST: look.list_files,
    Intent.COUNT: look.count,
    Intent.SYMBOLS: look.symbols,
    Intent.WHERE: look.where,
    Intent.SEARCH: look.search,
    Intent.READ: look.read,
    Intent.EXPLAIN: look.explain,
    Intent.REPLACE: change.replace,
    Intent.INSERT: change.insert,
    Intent.CREATE: change.create,
    Intent.REPAIR: repair.repair,
    Intent.TEST: change.run_tests,
    Intent.RUN: change.run_command,
}


class Draft(msgspec.Struct, frozen=True):
    """An answer before it is streamed."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Planned, ...] = ()


class _Progress(msgspec.Struct, frozen=True):
    """How far the tasks are: pages of those done, and what the first open one wants."""

    pages: tuple[tuple[Task, Page], ...]
    open: tuple[Task, ...] = ()
    wanted: Ask | None = None
    rest: tuple[Planned, ...] = ()
    """Those of the wanted calls that are not made yet."""


def next_answer(request: Request) -> Draft:
    """Return what to say and call now."""
    if is_summary(request):
        return Draft(text=summary_of(request))
    scope = scope_of(request.messages)
    if Toolbox(request.tools).has("review") and scope.prompts:
        return Draft(text="I look at what changed.", calls=(verdict_on(scope.prompts[0]),))
    carried = _carried(scope)
    handing_over = must_hand_over(request)
    progress = _replay(request, scope, _tasks(scope, carried), without_locked=handing_over)
    if progress.wanted is None:
        return _item_ready(request, scope, carried, progress) or Draft(text=_report(progress.pages, carried))
    if handing_over:
        return _hand_over(request, scope, carried, progress)
    if sum(bool(answer.calls) for answer in scope.answers) >= MOST_ROUNDS:
        return Draft(text=_cut_short(progress, carried))
    return _ask(scope, progress)


def _item_ready(request: Request, scope: Scope, carried: Carried, progress: _Progress) -> Draft | None:
    """Say that the item of a run is ready, once; None where there is none, or nothing came of it."""
    asked = [*scope.prompts, carried.asked]
    item = next((found for found in map(item_in, reversed(asked)) if found is not None), None)
    told = any(call.name == "item_ready" for answer in scope.answers for call in answer.calls)
    if item is None or told or not Toolbox(request.tools).has("item_ready"):
        return None
    rows = [*carried.done, *(f"{task.text}: {page.headline}" for task, page in progress.pages)]
    evidence = "\n".join(row_of(row) for row in rows) or "There was nothing to do."
    return Draft(
        text=f"Item {item.number} is done as far as I can tell.",
        calls=(Planned("item_ready", {"evidence": evidence[:4_000]}),),
    )


def _carried(scope: Scope) -> Carried:
    """Return what a note or checkpoint says; a checkpoint before a new prompt is only history."""
    carried = carried_work(scope.carried) if scope.carried else Carried()
    return Carried() if scope.prompts and carried.open is None else carried


def _tasks(scope: Scope, carried: Carried) -> tuple[Task, ...]:
    """Return the tasks of the prompts; of what was carried over only what is left."""
    if carried.open is not None:
        left = tasks_in_rows(carried.open)
    else:
        asked = tasks_in(words_of_item(carried.asked) if carried.asked else [])
        left = tuple(task for task in asked if not any(row.startswith(f"{task.text}: ") for row in carried.done))
    return left + tasks_in([words for prompt in scope.prompts for words in words_of_item(prompt)])


def tasks_in_rows(rows: Sequence[str]) -> tuple[Task, ...]:
    """Return one task for each row of a note."""
    return tuple(task for row in rows for task in tasks_in([row])[:1])


def _replay(request: Request, scope: Scope, tasks: Sequence[Task], *, without_locked: bool) -> _Progress:
    evidence = Evidence(scope.messages, without_locked=without_locked)
    tools = Toolbox(request.tools)
    pages: list[tuple[Task, Page]] = []
    for index, task in enumerate(tasks):
        page = Page()
        pages.append((task, page))
        work = _WORK[task.intent](Desk(task=task, tools=tools, page=page))
        wanted, rest = _run(work, evidence, tools)
        if wanted is not None:
            return _Progress(pages=tuple(pages), open=tuple(tasks[index:]), wanted=wanted, rest=rest)
    return _Progress(pages=tuple(pages))


def _run(work: Work, evidence: Evidence, tools: Toolbox) -> tuple[Ask | None, tuple[Planned, ...]]:
    """Drive one piece of work as far as the evidence goes."""
    try:
        wanted = next(work)
        while True:
            found = [_answer(call, evidence, tools) for call in wanted.calls]
            missing = tuple(call for call, one in zip(wanted.calls, found, strict=True) if one is None)
            if missing:
                work.close()
                return wanted, missing
            wanted = work.send([one for one in found if one is not None])
    except StopIteration:
        return None, ()


def _answer(call: Planned, evidence: Evidence, tools: Toolbox) -> Found | None:
    if not tools.has(call.name):
        return Found(call=call, text=f"The tool {call.name} is not offered in this session.", is_error=True)
    return evidence.look_up(call)


def _ask(scope: Scope, progress: _Progress) -> Draft:
    """Say briefly what is done and what comes, and call."""
    assert progress.wanted is not None
    task = progress.open[0]
    said = "\n".join(answer.text for answer in scope.answers)
    finished = [f"✓ {row_of(f'{done.text}: {page.headline}')}" for done, page in progress.pages[:-1]]
    news = [row for row in finished if row not in said]
    total = len(progress.pages) + len(progress.open) - 1
    names = ", ".join(call.name for call in progress.rest)
    thinking = f"Task {len(progress.pages)} of {total}: {task.intent.value}. Next: {names}."
    return Draft(text="\n\n".join([*news, progress.wanted.why]), thinking=thinking, calls=progress.rest)


def _hand_over(request: Request, scope: Scope, carried: Carried, progress: _Progress) -> Draft:
    done = [f"{task.text}: {page.headline}" for task, page in progress.pages[:-1]]
    left = [task.text for task in progress.open]
    step = ", ".join(f"{call.name} {next(iter(call.arguments.values()), '')}" for call in progress.rest)
    if carried.open == tuple(left) and Evidence(scope.messages, without_locked=True).calls:
        # Begun anew it would come as far as this again, and again.
        done.append(_as_far_as_it_goes(progress.open[0], scope, Toolbox(request.tools)))
        left, step = left[1:], ""
    action = f"Begin with the first that is not done: {step}".rstrip(": ") + "." if left else ""
    note = note_for(scope, carried, done, left, action)
    return Draft(
        text="The context is getting full; I write a note to myself and hand over.",
        thinking=f"{len(done)} done, {len(left)} left.",
        calls=(Toolbox(request.tools).compact(note),),
    )


def _as_far_as_it_goes(task: Task, scope: Scope, tools: Toolbox) -> str:
    """Return the row of a task that does not fit into the context: what is not there counts as not looked at."""
    page, evidence = Page(), Evidence(scope.messages, without_locked=True)
    work = _WORK[task.intent](Desk(task=task, tools=tools, page=page))
    with suppress(StopIteration):
        wanted = next(work)
        for _ in range(MOST_ROUNDS):
            found = [_answer(call, evidence, tools) or _not_looked_at(call) for call in wanted.calls]
            wanted = work.send(found)
    return f"{task.text}: {page.headline or 'not done'} (more did not fit into the context)"


def _not_looked_at(call: Planned) -> Found:
    return Found(call=call, text="Not looked at: the context was full.", is_error=True)


def _report(pages: Sequence[tuple[Task, Page]], carried: Carried) -> str:
    parts = [f"## Done before\n\n{_carried_rows(carried)}"] if carried.done else []
    if len(pages) + len(carried.done) > 1:
        number = len(carried.done)
        parts += [f"## {number + index}. {_title(task)}\n\n{page.text}" for index, (task, page) in enumerate(pages, 1)]
    else:
        parts += [page.text for _, page in pages]
    return "\n\n".join(part for part in parts if part.strip()) or _nothing(carried)


def _nothing(carried: Carried) -> str:
    if carried.asked:
        return "Nothing is left to do."
    return (
        "There is nothing asked that I can act on. "
        "Ask about this project: its files, where a name is used, a change, its tests."
    )


def _carried_rows(carried: Carried) -> str:
    return "\n".join(f"{index}. {row}" for index, row in enumerate(carried.done, 1))


def _title(task: Task) -> str:
    words = " ".join(task.text.split())
    return words if len(words) <= 80 else words[:77].rstrip() + "…"


def _cut_short(progress: _Progress, carried: Carried) -> str:
    left = "\n".join(f"- {_title(task)}" for task in progress.open)
    ending = f"I stopped after {MOST_ROUNDS} rounds of calls. Not finished:\n\n{left}\n\nSay continue to go on."
    return f"{_report(progress.pages, carried)}\n\n{ending}"
