"""The message that gives an item to the agent. It carries the whole protocol: it relies on no skill and no file."""

from __future__ import annotations

from tui.log.entries import Prompt
from tui.runs.plan import Plan
from tui.runs.preconditions import shown_command
from tui.runs.state import ItemState

__all__ = ["TITLE", "gives_item", "item_message", "plan_words"]

TITLE = "RUN ITEM"
_PROTOCOL = """\
How this works:
- Do this item and nothing else: the other items have their own turn. Files may have changed since you last looked.
- When it is done and you have checked it yourself, call item_ready with your evidence (what you changed, how you
  checked it) as the only call, then end your answer. Nothing else counts as ready.
- The program then runs the checks itself, in the project's directory, and decides. If one fails you get its output.
- Do not touch: the plan, the commands of the checks, tests or their settings to make a check pass (unless the item
  says so), .git, .clew.
- If it cannot be done, say why and end your answer without item_ready: a person decides."""


def item_message(plan: Plan, index: int, item: ItemState) -> str:
    """Return the message for the item of this index, with what came of earlier attempts."""
    planned = plan.items[index]
    parts = [
        f"{TITLE} {index + 1} of {len(plan.items)} ({plan.title})",
        planned.text,
        _checks(planned.checks),
        _trouble(item),
        _word(item),
        _PROTOCOL,
    ]
    return "\n\n".join(part for part in parts if part)


def gives_item(body: object, plan: Plan, index: int) -> bool:
    """Whether an entry is the message that gave the item of this index."""
    begins = f"{TITLE} {index + 1} of {len(plan.items)} ({plan.title})"
    return isinstance(body, Prompt) and body.origin == "dispatch" and body.message.authored.startswith(begins)


def _checks(checks: tuple[tuple[str, ...], ...]) -> str:
    if not checks:
        return "Checks: none; what you did is reviewed."
    return "\n".join(["Checks:", *(f"    $ {shown_command(check)}" for check in checks)])


def _trouble(item: ItemState) -> str:
    if not item.trouble:
        return ""
    fenced = "\n".join(f"    {line}" for line in item.trouble.splitlines())
    return f"It was not accepted yet (attempt {item.attempts}):\n{fenced}"


def _word(item: ItemState) -> str:
    return f"The person says:\n{item.word}" if item.word.strip() else ""


def plan_words(plan: Plan) -> str:
    """Return a plan as the task of a session that begins with it: its title and its items."""
    rows = [f"{number}. {item.text}" for number, item in enumerate(plan.items, 1)]
    return "\n".join([f"Work through this list, item by item, as each is given: {plan.title}", "", *rows])
