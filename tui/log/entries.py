"""The kinds of entry: what the log can say. Each body is a frozen struct whose tag is its kind.

An entry never changes. The branch (root to leaf) is the one truth from which the view the model
sees, the screen, usage, the queue, the handoff and everything else are derived by pure functions.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from tui.messages import AssistantMessage, Json, StopReason, ToolResult, Usage, UserMessage

__all__ = [
    "KINDS",
    "Allowance",
    "Announced",
    "Answer",
    "ApprovalMode",
    "Approved",
    "Body",
    "BranchSummary",
    "CarriedRequest",
    "Checkpoint",
    "Entry",
    "Failure",
    "Handoff",
    "HandoffError",
    "Label",
    "Latch",
    "ModelChosen",
    "Note",
    "Notes",
    "Notice",
    "Origin",
    "Phase",
    "Pinned",
    "Prompt",
    "Queue",
    "Receipt",
    "ReceiptReason",
    "Reference",
    "Result",
    "ResumedFrom",
    "RunCard",
    "Settled",
    "Spent",
    "Started",
    "TaskSet",
    "ToolStarted",
    "UnknownBody",
    "Waiting",
    "decode_body",
    "encode_body",
]

Origin: TypeAlias = Literal["authored", "shell", "command", "continuation", "dispatch"]
"""Who wrote a user message. Only `authored` words can become task, request or history."""


class Started(msgspec.Struct, frozen=True, tag="started", omit_defaults=True):
    """First entry of a session: where, and with which program it began."""

    cwd: str
    version: str
    system_sha256: str = ""


class Prompt(msgspec.Struct, frozen=True, tag="prompt", omit_defaults=True):
    """A message to the model; opens an exchange unless it is a steer. `queued` is the waiting message it delivers."""

    message: UserMessage
    origin: Origin = "authored"
    queued: str = ""
    steer: bool = False
    excluded: bool = False
    """Shown, never sent (`!!command`)."""


class Spent(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a session has cost, as far as prices are known."""

    dollars: float = 0.0
    partial: bool = False
    """Something was asked for whose price is not known: it cost more."""


class Answer(msgspec.Struct, frozen=True, tag="answer", omit_defaults=True):
    """What the model said, complete or not; the stop reason tells."""

    message: AssistantMessage
    estimate: int = 0
    """Our estimate of the request's tokens, to judge and calibrate the provider's report."""
    seconds: float = 0.0
    cost: float | None = None
    """Dollars, by the prices known when it was made; None is unknown."""
    spent: Spent | None = None
    """All that the session has cost, this answer included: one look-up, however long the branch. None: not kept."""


class ToolStarted(msgspec.Struct, frozen=True, tag="tool_started", omit_defaults=True):
    """Durable before the tool runs. Without a result after it the effects are unknown."""

    call_id: str
    name: str


class Result(msgspec.Struct, frozen=True, tag="result", omit_defaults=True):
    """Durable as soon as its tool ends. One per call on a path, for ever: the first durable one wins."""

    message: ToolResult
    details: dict[str, Json] = {}
    """For the screen and later checks: diff, exit status, file hashes. Tagged by `details["type"]`."""
    blob: str = ""
    """sha256 of the whole output, where the model got a part."""
    seconds: float = 0.0
    refused: str = ""
    """Why it did not run at all.

    One of `denied`, `not-started`, `unknown`, `bad-arguments`, `handoff`, `hard`, `invalid-config`.
    """


class Waiting(msgspec.Struct, frozen=True):
    """A message that waits: `steer` goes in after the running tools, `follow-up` when the exchange would end."""

    id: str
    message: UserMessage
    mode: Literal["steer", "follow-up"]
    origin: Origin = "authored"


class Queue(msgspec.Struct, frozen=True, tag="queue"):
    """All that waits, in order. The newest one on the path is the state: one look-up, however long the branch.

    Delivery writes the `Prompt` (which names the waiting id) and the shortened queue in one transaction.
    """

    items: tuple[Waiting, ...] = ()


class Settled(msgspec.Struct, frozen=True, tag="settled", omit_defaults=True):
    """The exchange is over. `reason` is from a closed set and is always shown."""

    reason: Literal[
        "answered",
        "length",
        "empty",
        "refusal",
        "error",
        "aborted",
        "context-full",
        "interrupted",
        "handoff",
        "needs-person",
        "bound",
    ]
    detail: str = ""
    stop: StopReason | None = None


class ModelChosen(msgspec.Struct, frozen=True, tag="model", omit_defaults=True):
    """From here on this model answers."""

    provider: str
    model: str
    base_url: str = ""
    window: int = 0


class ApprovalMode(msgspec.Struct, frozen=True, tag="approval"):
    """From here on tools need this much asking."""

    mode: Literal["ask", "edits", "all"]


class Approved(msgspec.Struct, frozen=True, tag="approved", omit_defaults=True):
    """A person's answer to an approval question."""

    call_id: str
    allowed: bool
    rule: str = ""
    reason: str = ""


class Notice(msgspec.Struct, frozen=True, tag="notice", omit_defaults=True):
    """One line to the person; never sent to the model."""

    text: str
    level: Literal["info", "warning", "error"] = "info"
    code: str = ""
    """A stable word for what it is about, so that it is said once."""


class Reference(msgspec.Struct, frozen=True):
    """Words that stand in another entry of this path, never copied: where, and the sha256 of their UTF-8 bytes."""

    entry: str
    depth: int
    sha256: str
    size: int = 0
    """Bytes of UTF-8."""


class CarriedRequest(msgspec.Struct, frozen=True, omit_defaults=True):
    """An authored message a checkpoint carries. Open: its exchange has not settled with a complete answer."""

    words: Reference
    open: bool = True
    live: bool = False
    """Its exchange was going on, or waited for a handoff, when the checkpoint was made."""
    reply: bool = False
    """It answered a question of the model, so it is never the current request."""


class Failure(msgspec.Struct, frozen=True):
    """A tool call that failed before a checkpoint, so that it is not tried again unknowingly (openclaw#1084)."""

    name: str
    arguments: str
    error: str


class Allowance(msgspec.Struct, frozen=True, omit_defaults=True):
    """How much of each part a checkpoint renders, in code points; -1 is all of it. References stay whole."""

    task: int = -1
    current: int = -1
    item: int = -1
    pins: int = -1
    notes: int = -1
    later: int = -1
    """How many of the later requests, newest first."""


class ResumedFrom(msgspec.Struct, frozen=True, tag="resumed-from", omit_defaults=True):
    """From here on the checkpoint of this entry id is in force, with what a start added to it.

    Everything the view needs is in here, so that whoever reads the path sees the same view.
    """

    checkpoint: str
    """Empty where there was none: task, request and suffix stand alone."""
    last_depth: int | None = None
    """Entries up to this depth are not in the view but through the checkpoint; None: as the checkpoint says."""
    gap: tuple[int, int] | None = None
    """First and last depth of entries that neither the checkpoint covers nor the view holds."""
    request: Reference | None = None
    """The newest finished exchange's request, where the view does not hold that exchange."""
    request_shown: int = -1
    """How many code points of it are rendered; -1 is all."""
    notes: Reference | None = None
    task: Reference | None = None
    """Only without a checkpoint, which has its own."""
    dropped: int = 0
    """Results left out because their calls are not in the view."""


class Checkpoint(msgspec.Struct, frozen=True, tag="checkpoint", omit_defaults=True):
    """Stands for all entries up to `last`. Entries of a greater depth are kept, those that came meanwhile too.

    With origin `resume` it is inert until a `ResumedFrom` names it on the same path.
    """

    origin: Literal["self", "manual", "overflow", "hard", "resume"]
    first: str
    """First entry newly covered."""
    last: str
    last_depth: int
    summary: str
    kept: str = ""
    """First kept entry; empty where none is."""
    cycle: str = ""
    """The handoff it discharges, whatever triggered it."""
    previous: str = ""
    """The checkpoint whose summary was merged into this one."""
    supersedes: str = ""
    """The checkpoint this one is an edited version of."""
    task: Reference | None = None
    task_set: bool = False
    """The task was set (by `/task` or a plan), not taken from the first message."""
    current: Reference | None = None
    current_open: bool = True
    current_live: bool = False
    later: tuple[CarriedRequest, ...] = ()
    """All requests but task and current one that fit the byte budget, newest first."""
    pins: Reference | None = None
    notes: Reference | None = None
    """The notepad as it was."""
    item: Reference | None = None
    note: str = ""
    """Only while the continuation of an unanswered cycle is covered: the whole note."""
    allowance: Allowance = Allowance()
    read: tuple[str, ...] = ()
    changed: tuple[str, ...] = ()
    running: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    pointer: bool = False
    """Made without a model: facts are found through `recall`."""
    barren: int = 0
    """Checkpoints in a row, this one included, with no progress between them."""
    tokens_before: int | None = None
    tokens_after: int = 0
    """Projected."""
    model: str = ""
    seconds: float = 0.0
    usage: Usage | None = None
    """Tokens of all its summary requests together: cost, never context."""
    cost: float | None = None
    """Dollars they cost when they were made; None is unknown."""
    hashes: tuple[tuple[str, str], ...] = ()
    """Files as the agent last saw them: real path and sha256."""
    resumed: ResumedFrom | None = None
    """How a start took it up: put in when the path is read, never written."""


class Note(msgspec.Struct, frozen=True, tag="note"):
    """A note to self, byte for byte. The newest one on the path belongs to the newest handoff entry."""

    id: str
    text: str


Phase: TypeAlias = Literal["none", "saved", "compacting", "ready", "delivered", "answered", "failed"]
HandoffError: TypeAlias = Literal[
    "",
    "empty",
    "truncated",
    "over-long",
    "tool-call",
    "refused",
    "aborted",
    "interrupted",
    "timeout",
    "provider-failure",
    "template",
    "does-not-fit",
]


class Handoff(msgspec.Struct, frozen=True, tag="handoff", omit_defaults=True):
    """The whole state of the handoff. The newest one on the path is the state: one look-up, however long the branch."""

    phase: Phase = "none"
    cycle: str = ""
    """uuid7 of the cycle."""
    note: str = ""
    """`Note.id`."""
    note_sha256: str = ""
    note_units: int = 0
    """UTF-16 units."""
    attempt: str = ""
    """The summary attempt that runs; a result with another id is void."""
    attempts: int = 0
    error: HandoffError = ""
    detail: str = ""
    """For a person: why it failed."""
    done: int = 0
    """Cycles done, each counted once."""
    stopped: bool = False
    """By the person (Esc): only a prompt, key or command goes on."""
    replaces: str = ""
    """The cycle this one took the place of."""
    closed: Literal["", "answered", "superseded", "dropped", "undone"] = ""
    """How the newest closed cycle ended."""


class Latch(msgspec.Struct, frozen=True, tag="latch"):
    """Hard was reached: falling usage does not release it; a checkpoint in force or a larger model does."""

    on: bool
    tokens: int
    hard: int


class Announced(msgspec.Struct, frozen=True, tag="announced", omit_defaults=True):
    """What the person was told of the level in a cycle: where it stands, and how often each level was said."""

    done: int
    """Cycles done when it was said."""
    level: Literal["none", "soft", "warning", "hard"] = "none"
    times: dict[str, int] = {}


class TaskSet(msgspec.Struct, frozen=True, tag="task", omit_defaults=True):
    """From here on this is the original task: set by the person, or a plan's title and items."""

    text: str
    origin: Literal["person", "plan"] = "person"


class Pinned(msgspec.Struct, frozen=True, tag="pinned"):
    """All pinned texts, oldest first. The newest one on the path is the state."""

    texts: tuple[str, ...] = ()


class Notes(msgspec.Struct, frozen=True, tag="notes"):
    """The notepad of the session, replaced whole."""

    text: str


class RunCard(msgspec.Struct, frozen=True, tag="run", omit_defaults=True):
    """What happened to a run, for the person; the run's own rows say what holds. Never sent to the model."""

    run: str
    what: Literal[
        "started",
        "accepted",
        "failed",
        "blocked",
        "skipped",
        "review",
        "repeated",
        "paused",
        "suspended",
        "resumed",
        "complete",
        "stopped",
        "left",
    ]
    """`left`: this branch goes on without the run."""
    text: str
    """One line."""
    detail: str = ""
    """What stands behind it: output of checks, reasons, the report."""
    item: int = -1
    """Index of the item it is about; -1 is none."""

    @property
    def ends_item(self) -> bool:
        """Whether from here on no item is in work on this branch."""
        return self.what in ("accepted", "blocked", "skipped", "complete", "stopped", "left")


class Label(msgspec.Struct, frozen=True, tag="label"):
    """A name for an entry of the tree. Of all labels of an entry the newest counts; an empty one takes it away."""

    text: str
    about: str
    """The entry it names, on this path or another."""


class BranchSummary(msgspec.Struct, frozen=True, tag="branch-summary", omit_defaults=True):
    """What was done on a branch that was left, carried to where the work goes on. History, never instructions."""

    left: str
    """The leaf of that branch when it was left."""
    shared: str
    """The newest entry both paths have; empty where they have none."""
    summary: str
    changed: tuple[str, ...] = ()
    """Files that branch had changed: leaving it does not change them back."""
    model: str = ""
    seconds: float = 0.0
    usage: Usage | None = None
    """Tokens of all its summary requests together: cost, never context."""


ReceiptReason: TypeAlias = Literal[
    "cancelled",
    "truncated",
    "empty",
    "byte-bound",
    "provider-failure",
    "tool-call",
    "timeout",
    "unconfirmed",
    "log",
]


class Receipt(msgspec.Struct, frozen=True, tag="receipt"):
    """A resume checkpoint that did not come about, and nothing else of it: the answer before it stands."""

    exchange: str
    """Entry id of the prompt that opened the newest exchange."""
    reason: ReceiptReason


class UnknownBody(msgspec.Struct, frozen=True):
    """A kind from a newer version, or a body that does not fit its kind: kept, shown, exported, never sent."""

    kind: str
    raw: bytes
    error: str = ""


Body: TypeAlias = (
    Started
    | Prompt
    | Answer
    | ToolStarted
    | Result
    | Queue
    | Settled
    | ModelChosen
    | ApprovalMode
    | Approved
    | Notice
    | Checkpoint
    | Note
    | Handoff
    | Latch
    | Announced
    | TaskSet
    | Pinned
    | Notes
    | ResumedFrom
    | Receipt
    | RunCard
    | Label
    | BranchSummary
)

KINDS: dict[str, type[Body]] = {
    str(body.__struct_config__.tag): body
    for body in (
        Started,
        Prompt,
        Answer,
        ToolStarted,
        Result,
        Queue,
        Settled,
        ModelChosen,
        ApprovalMode,
        Approved,
        Notice,
        Checkpoint,
        Note,
        Handoff,
        Latch,
        Announced,
        TaskSet,
        Pinned,
        Notes,
        ResumedFrom,
        Receipt,
        RunCard,
        Label,
        BranchSummary,
    )
}
"""Every kind this version knows, by its word in the log."""

_encoder = msgspec.json.Encoder()
_decoders: dict[str, msgspec.json.Decoder[Body]] = {}


class Entry(msgspec.Struct, frozen=True):
    """One line of the log. `depth` counts from 0 at the root of its path; a parent is always older."""

    id: str
    parent: str | None
    depth: int
    time: int
    """Milliseconds since 1970, UTC."""
    body: Body | UnknownBody

    @property
    def kind(self) -> str:
        """Its word in the log."""
        return self.body.kind if isinstance(self.body, UnknownBody) else str(self.body.__struct_config__.tag)


def encode_body(body: Body | UnknownBody) -> tuple[str, bytes]:
    """Return the kind and the JSON bytes of a body. Cannot raise on text that went through `clean`."""
    if isinstance(body, UnknownBody):
        return body.kind, body.raw
    return str(body.__struct_config__.tag), _encoder.encode(body)


def decode_body(kind: str, raw: bytes) -> Body | UnknownBody:
    """Return the body of a stored entry; what cannot be understood comes back as `UnknownBody`, never as an error."""
    known = KINDS.get(kind)
    if known is None:
        return UnknownBody(kind=kind, raw=raw)
    decoder = _decoders.get(kind)
    if decoder is None:
        decoder = _decoders[kind] = msgspec.json.Decoder(known)
    try:
        return decoder.decode(raw)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        return UnknownBody(kind=kind, raw=raw, error=str(error))
