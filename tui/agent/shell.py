"""`!command`: a command the person runs, beside the conversation or in it. Its output is nobody's authored words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import anyio
import msgspec

from tui.agent.events import PhaseChanged
from tui.log.entries import Prompt, Settled
from tui.messages import Attachment, Text, UserMessage, clean, new_id
from tui.tools.base import Outcome, ToolError
from tui.tools.bash import BASH

if TYPE_CHECKING:
    from tui.agent.agent import Agent

__all__ = ["run_shell"]


async def run_shell(agent: Agent, command: str, *, private: bool) -> None:
    """Run `command` when nothing else runs. Its output is in the context from the next request on, unless `private`.

    It is the person's own doing, so no rule is asked. Esc stops it, and what it printed until then is kept.
    Raises `AgentStoppedError`.
    """
    agent.check()
    agent.loop.job(lambda: _run(agent, clean(command), private=private))


async def _run(agent: Agent, command: str, *, private: bool) -> None:
    agent.emit(PhaseChanged("tools", command))
    left: list[Outcome] = []
    context = msgspec.structs.replace(agent.context(f"shell:{new_id()}"), leave=left.append)
    try:
        outcome = await BASH.run(context, {"command": command})
    except ToolError as error:
        outcome = Outcome(str(error), is_error=True)
    except anyio.get_cancelled_exc_class():
        with anyio.CancelScope(shield=True):
            kept = left[-1].text if left else ""
            await _keep(agent, command, f"{kept}\n[stopped]".lstrip(), private=private)
        raise
    await _keep(agent, command, outcome.text, private=private)


async def _keep(agent: Agent, command: str, output: str, *, private: bool) -> None:
    """Write it down, and leave the last exchange ended as it was."""
    message = UserMessage((Text(command), Attachment("output", clean(output))))
    newest = agent.journal.branch.newest(Settled)
    ended = newest.body if newest is not None and isinstance(newest.body, Settled) else Settled("answered")
    await agent.journal.append(Prompt(message, "shell", excluded=private), ended)
