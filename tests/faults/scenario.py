"""One session with everything in it, and a model on the wire that knows only what it is shown.

prompt ──► two tools, the second ends first; a steer and a follow-up are sent meanwhile
       ──► self_compact with a call beside it ──► summary ──► continuation
       ──► two tools ──► report ──► the follow-up's exchange
"""

from __future__ import annotations

from pathlib import Path
from threading import Lock

from tests.agent.handoffs import FILLER, bash_call, compact, is_summary, strings
from tests.support.provider import Received, Reply

__all__ = ["FOLLOW_UP", "GO", "GO_ON", "NOTE", "RAN", "SAID", "STEER", "TASK", "WORDS", "Worker", "said"]

TASK = "Do it\tall.\r\n{{tokens}} [/red] \u2028 \U0001f9f6  \n"
STEER = " steer:\tmind the \x1b[31mred\x1b[0m ones \u0085\n"
FOLLOW_UP = "\tthen, last of all: report \U0001f9f6\r\n"
NOTE = "next: the rest\r\n\t\U0001f9f6 \u2028 [/x]  \n"
GO_ON = "Go on."
WORDS = (TASK, STEER, FOLLOW_UP)
"""What the person says, in this order."""
RAN = "ran"
"""File in the project to which each tool adds its label when it runs."""
GO = "go"
"""File in the project without which the tools of the first batch do not end."""
SAID = "said"
"""File beside the project: how many of the person's messages were acknowledged."""


class Worker:
    """Works, hands over, works on, reports: by what the request says, and nothing else. No label is given twice."""

    def __init__(self) -> None:
        self._labels = 0
        self._lock = Lock()

    def __call__(self, received: Received) -> Reply:
        if is_summary(received):
            return Reply(text="What was done.")
        messages = received.messages
        sent = [
            at for at, message in enumerate(messages) if any("<continuation>\n" in text for text in strings(message))
        ]
        after = messages[sent[-1] :] if sent else messages
        if not any(message["role"] == "tool" for message in after):
            return self._work(first=not sent)
        if sent:
            return Reply(text="All done.")
        return Reply(text="I pause.", calls=(compact(NOTE), bash_call(f"echo lost{self._label()} >> {RAN}")))

    def _label(self) -> int:
        with self._lock:
            self._labels += 1
            return self._labels

    def _work(self, *, first: bool) -> Reply:
        """Two calls, the first of which ends last. The bounds are for those whose program was killed."""
        label = self._label()
        name = f"second{label}"
        begins = f"echo {name} >> {RAN}; "
        if first:
            begins += f"for i in $(seq 100); do [ -e {GO} ] && break; sleep 0.02; done; "
        waits = f"echo first{label} >> {RAN}; for i in $(seq 200); do [ -e {name} ] && break; sleep 0.01; done"
        calls = (bash_call(waits), bash_call(f"{begins}touch {name}"))
        return Reply(text=FILLER, piece=8_000, calls=calls)


def said(project: Path) -> int:
    """Return how many of the person's messages were acknowledged."""
    file = project.parent / SAID
    return file.stat().st_size if file.exists() else 0
