"""A model that hands over to itself, on the wire: told what to do for each kind of request."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from tests.agent.support import bodies, options
from tests.support.provider import Call, Provider, Received, Reply
from tui.agent.session import SessionOptions
from tui.log.entries import Checkpoint, Entry, Handoff, Note, Prompt
from tui.models.factory import ModelChoice

FILLER = "The work goes on and is told about at length. " * 1_500
"""Words enough to make a checkpoint worth it in any window used here."""


def compact(note: str, name: str = "") -> Call:
    return Call("self_compact", json.dumps({"note_to_self": note}), id=name)


def bash_call(command: str, name: str = "") -> Call:
    return Call("bash", json.dumps({"command": command}), id=name)


def work(command: str = "echo worked", name: str = "") -> Reply:
    """Return an answer that does something, and says so much about it that a checkpoint is worth it."""
    return Reply(text=FILLER, piece=4_000, calls=(bash_call(command, name),))


def is_summary(received: Received) -> bool:
    """Whether a request asks for a summary: it declares no tools."""
    return not received.body.get("tools")


class Player:
    """Gives `turns` in order to ordinary requests and `summaries` (the last again and again) to the others."""

    def __init__(self, *turns: Reply, summaries: tuple[Reply, ...] = (Reply(text="What was done."),)) -> None:
        self.turns = list(turns)
        self.summaries = list(summaries)
        self.asked: list[Received] = []
        self.summarised: list[Received] = []

    def __call__(self, received: Received) -> Reply:
        if is_summary(received):
            self.summarised.append(received)
            return self.summaries.pop(0) if len(self.summaries) > 1 else self.summaries[0]
        self.asked.append(received)
        return self.turns.pop(0) if self.turns else Reply(text="All done.")


def serving(player: Callable[[Received], Reply]) -> Provider:
    return Provider(player, repeat_last=True)


def wired(tmp_path: Path, provider: Provider, protocol: str = "openai-chat", **more: Any) -> SessionOptions:
    """Return options that speak `protocol` to the provider."""
    window = more.pop("window", 32_000)
    given = options(tmp_path, provider, window=window, **more)
    if protocol == "anthropic":
        choice = ModelChoice(provider="anthropic", model="claude-scripted", base_url=provider.base_url, window=window)
        given = msgspec.structs.replace(given, choice=choice)
    if protocol == "openai-responses":
        choice = ModelChoice(protocol, "scripted", f"{provider.base_url}/v1", window)
        given = msgspec.structs.replace(given, choice=choice)
    return given


def strings(value: Any) -> Iterator[str]:
    """Yield every string in a decoded body, whole."""
    match value:
        case str():
            yield value
        case {**inner}:
            yield from strings(list(inner.values()))
        case [*inner]:
            for one in inner:
                yield from strings(one)
        case _:
            pass


def holds(received: Received, text: str) -> bool:
    """Whether `text` stands in one piece in a message of the request."""
    return any(text in found for found in strings(received.body.get("messages") or received.body["input"]))


def continuations(path: list[Entry]) -> list[Prompt]:
    return [prompt for prompt in bodies(path, Prompt) if prompt.origin == "continuation"]


def phases(path: list[Entry]) -> list[str]:
    return [handoff.phase for handoff in bodies(path, Handoff)]


def check_cycles(path: list[Entry]) -> None:
    """What holds for every path: a continuation per cycle and its note's bytes, a checkpoint per cycle, results."""
    notes = {note.id: note.text for note in bodies(path, Note)}
    cycles = {handoff.cycle: notes[handoff.note] for handoff in bodies(path, Handoff) if handoff.phase == "delivered"}
    sent = continuations(path)
    assert len({prompt.queued for prompt in sent}) == len(sent)
    assert {prompt.queued for prompt in sent} == set(cycles)
    for prompt in sent:
        assert prompt.message.authored.startswith(cycles[prompt.queued] + "\n\n<continuation>")
    named = [checkpoint.cycle for checkpoint in bodies(path, Checkpoint) if checkpoint.cycle]
    assert len(named) == len(set(named))
