"""What a person asks of a session by a command, beside sending: functions of the agent, one for each wish.

Each may raise `AgentStoppedError` or `LogError`. Those that return text return what to tell the person.
"""

from __future__ import annotations

from tui.agent.agent import Agent
from tui.agent.session_info import InfoFacts
from tui.context.handoff_events import CompactAsked, ResumeAsked
from tui.context.render import words_of
from tui.context.templates import Template, TemplateFault, TemplateName, read_template
from tui.log.entries import Checkpoint, Entry, Handoff, Note, Pinned, Reference, Settled, TaskSet
from tui.log.gaps import page_of
from tui.messages import Text, UserMessage, clean

__all__ = [
    "PIN_LIMIT",
    "compact",
    "drop_note",
    "edit_note",
    "go_on",
    "hand_over",
    "info_facts",
    "pending_note",
    "pin",
    "pinned",
    "set_task",
    "unpin",
    "words",
]

PIN_LIMIT = 8_000
"""Bytes of UTF-8 that all pinned texts may have together: they are in every request after a checkpoint."""
_GO_ON = (
    "Go on with what was interrupted. First look at what was done and what was not; do not repeat what is done, and "
    "check the effects of anything that has no result."
)


async def compact(agent: Agent, instructions: str = "") -> None:
    """Make a checkpoint, when the running exchange has settled."""
    agent.check()
    phase = agent.compaction.state.phase
    if phase in ("compacting", "ready") or not agent.idle:
        running = phase not in ("compacting", "ready")
        await agent.compaction.feed(CompactAsked(running=running, compactable=True, instructions=instructions))
        if not running:
            return
    agent.loop.job(lambda: agent.compaction.compact(instructions))


async def hand_over(agent: Agent, about: str = "") -> str:
    """Ask the agent to hand over now; a handoff that is pending goes on instead, without the model."""
    agent.check()
    if agent.compaction.mode == "off":
        return "Self-compaction is switched off (compaction = off); /compact makes a checkpoint."
    if agent.compaction.state.phase in ("saved", "ready", "failed"):
        _retry(agent, about)
        return ""
    text = await agent.compaction.now(about)
    if text:
        await agent.send(UserMessage((Text(text),)), origin="command")
    return ""


def _retry(agent: Agent, about: str) -> None:
    async def again() -> None:
        await agent.compaction.now(about)

    agent.loop.job(again)


def pending_note(agent: Agent) -> str:
    """Return the note of the handoff that is pending; empty where there is none."""
    note = agent.compaction.note()
    return note.text if note is not None and agent.compaction.unanswered else ""


async def edit_note(agent: Agent, note: str) -> None:
    """Put `note` in the place of the pending one."""
    agent.check()
    await agent.compaction.edit(note)


async def drop_note(agent: Agent, *, confirmed: bool = False) -> str:
    """Give the pending handoff up; return the question to ask first, or nothing where it is done."""
    agent.check()
    return await agent.compaction.drop(confirmed=confirmed)


async def go_on(agent: Agent) -> str:
    """Go on with what is pending: a handoff, its continuation, what waits, or an exchange that was cut off."""
    agent.check()
    if not agent.idle:
        return "The agent is at work."
    phase = agent.compaction.state.phase
    if phase in ("saved", "ready", "failed"):
        _retry(agent, "")
    elif phase == "delivered":
        await agent.compaction.feed(ResumeAsked(compactable=agent.compaction.compactable()))
        agent.compaction.resume()
        agent.loop.start(resume=True)
    elif agent.queue:
        agent.loop.start()
    elif _cut_off(agent):
        await agent.send(UserMessage((Text(_GO_ON),)), origin="command")
    else:
        return "There is nothing to go on with: the last exchange has its answer."
    return ""


def _cut_off(agent: Agent) -> bool:
    entry = agent.journal.branch.newest(Settled)
    return entry is not None and isinstance(entry.body, Settled) and entry.body.reason != "answered"


async def set_task(agent: Agent, text: str) -> str:
    """Make `text` the original task from here on."""
    agent.check()
    await agent.journal.append(TaskSet(clean(text)))
    return "That is the task from here on: every checkpoint carries it word for word"


def pinned(agent: Agent) -> tuple[str, ...]:
    """Return the pinned texts, oldest first."""
    entry = agent.journal.branch.newest(Pinned)
    return entry.body.texts if entry is not None and isinstance(entry.body, Pinned) else ()


async def pin(agent: Agent, text: str) -> str:
    """Pin a text: every checkpoint carries it word for word. Refused where all of them would be too large."""
    agent.check()
    texts = (*pinned(agent), clean(text))
    size = pin_size(texts)
    if size > PIN_LIMIT:
        return (
            f"Not pinned: with it the pins would have {size:,} bytes, and {PIN_LIMIT:,} is the most; "
            f"{pin_size(texts[:-1]):,} are pinned. /pin alone shows them, to take one away"
        )
    await agent.journal.append(Pinned(texts))
    return f"Pinned ({size:,} of {PIN_LIMIT:,} bytes): every checkpoint carries it word for word"


async def unpin(agent: Agent, text: str) -> None:
    """Take a pinned text away; does nothing where it is gone."""
    agent.check()
    texts = list(pinned(agent))
    if text in texts:
        texts.remove(text)
        await agent.journal.append(Pinned(tuple(texts)))


def pin_size(texts: tuple[str, ...]) -> int:
    """Return the bytes of UTF-8 of pinned texts, as a checkpoint carries them."""
    return len("\n\n".join(texts).encode())


async def words(agent: Agent, reference: Reference) -> str | None:
    """Return the words a checkpoint refers to, from the log; None where they are not on this path."""
    found = await page_of(agent.journal.log, reference.depth + 1, 1)
    return words_of(found[0]) if found and found[0].id == reference.entry else None


async def info_facts(agent: Agent, *, persisted: bool) -> InfoFacts:
    """Return what the info screen and `clew info` show. Reads the whole path; asks no model."""
    await agent.requests.load()
    path: list[Entry] = []
    async for page in agent.journal.log.entries():
        path += [entry for entry in page if isinstance(entry.body, Handoff | Note | Checkpoint)]
    requests, model = agent.requests, agent.model
    return InfoFacts(
        session=agent.session_id,
        leaf=agent.journal.log.leaf,
        persisted=persisted,
        model=requests.info(model),
        mode=agent.compaction.mode,
        given=requests.given(model),
        usage=requests.measured(model),
        limits=requests.thresholds(model),
        projected=requests.projected(model),
        state=agent.compaction.state,
        path=path,
        templates=_templates(agent),
    )


def _templates(agent: Agent) -> tuple[tuple[str, str], ...]:
    literal = agent.requests.given(agent.model).prompt
    names: tuple[TemplateName, ...] = ("soft", "warning", "summary")
    found = ((name, read_template(name, agent.compaction.folders, literal=literal)) for name in names)
    return tuple((name, _source(template)) for name, template in found)


def _source(template: Template | TemplateFault) -> str:
    if isinstance(template, TemplateFault):
        return template.message
    return f"{template.source} ({template.fault})" if template.fault else template.source
