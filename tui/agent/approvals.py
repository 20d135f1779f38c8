"""Questions to a person: one at a time, answered once, void when the exchange ends."""

from __future__ import annotations

from collections.abc import Callable

import anyio
import msgspec

from tui.agent.events import AgentEvent, ApprovalAsked, ApprovalClosed
from tui.tools.base import Preview

__all__ = ["Approvals", "Decision"]


class Decision(msgspec.Struct, frozen=True):
    """What the person said. `rule` allows this and alike from now on; `reason` goes to the model on a refusal."""

    allowed: bool
    rule: str = ""
    reason: str = ""


class _Question:
    def __init__(self) -> None:
        self.answered = anyio.Event()
        self.decision = Decision(allowed=False)


class Approvals:
    """Asks through events and waits for the answer. Cancelling the wait closes the question."""

    def __init__(self, emit: Callable[[AgentEvent], None]) -> None:
        self._emit = emit
        self.turn = anyio.Lock()
        """Held from before a question until what its answer means is done, so that it counts for the next one."""
        self._open: dict[str, _Question] = {}

    async def ask(self, call_id: str, name: str, preview: Preview, suggestions: tuple[str, ...]) -> Decision:
        """Ask, and return the answer. Whoever asks holds `turn`."""
        question = self._open[call_id] = _Question()
        self._emit(ApprovalAsked(call_id=call_id, name=name, preview=preview, suggestions=suggestions))
        try:
            await question.answered.wait()
        finally:
            del self._open[call_id]
            self._emit(ApprovalClosed(call_id=call_id))
        return question.decision

    def answer(self, call_id: str, decision: Decision) -> bool:
        """Answer an open question; False where it is not open (any more): such an answer does nothing."""
        question = self._open.get(call_id)
        if question is None or question.answered.is_set():
            return False
        question.decision = decision
        question.answered.set()
        return True
