"""`/model`: what the keys give is listed at once; what servers on this machine offer is added when they answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from textual.content import Content

from tui.context.bar import short_count
from tui.screens.main import MainScreen
from tui.screens.pages import PickPage
from tui.widgets.sanitise import one_line

if TYPE_CHECKING:
    from tui.agent.agent import Agent
    from tui.models.base import ModelInfo
    from tui.models.factory import ModelChoice

__all__ = ["choose_model", "model_row", "use_named"]

_LOOKING = "Looking for servers on this machine…"
_NONE = "No other server answers on this machine. Any address: clew --base-url URL --model ID"


def choose_model(screen: MainScreen, pick: Callable[[PickPage, Callable[[str | None], None]], None]) -> None:
    """Open the list of models; the one that is picked answers from the next request on."""

    async def opened(agent: Agent) -> None:
        from tui.models.discover import LOCAL_PORTS, local_models
        from tui.models.factory import list_models

        now = agent.model_info
        known: dict[str, ModelInfo] = {}
        page = PickPage("Models", (), below=_LOOKING)

        def add(found: list[ModelInfo]) -> bool:
            new = {_key(info): info for info in found if _key(info) not in known}
            known.update(new)
            page.add(tuple((key, model_row(info, now=info == now)) for key, info in new.items()))
            return bool(new)

        def picked(key: str | None) -> None:
            if key is not None and known[key] != now:
                _use(screen, _choice(known[key]))

        add([now, *list_models(screen.options.environ)])
        pick(page, picked)
        ports = screen.options.local_ports
        there = add(await local_models(tuple(LOCAL_PORTS) if ports is None else ports))
        page.tell("" if there else _NONE)

    if screen.link is not None:
        screen.link.do(opened)


def use_named(screen: MainScreen, name: str) -> None:
    """Answer with the model of this name: one the keys give, else one a server on this machine offers."""
    from tui.models.factory import ModelChoice, list_models

    known = [info for info in list_models(screen.options.environ) if info.id == name]
    _use(screen, _choice(known[0]) if known else ModelChoice(model=name))


def model_row(info: ModelInfo, *, now: bool) -> Content:
    """Return one row: the name, who serves it, how large its window is."""
    place = one_line(info.base_url.removeprefix("http://").removeprefix("https://").removesuffix("/v1"), 40)
    window = short_count(info.window) if info.window else "?"
    facts = "  ".join(["", place or info.provider, window, *(["answers now"] if now else [])])
    return Content.assemble((one_line(info.id, 60), "bold" if now else ""), (facts, "$clew-dim"))


def _key(info: ModelInfo) -> str:
    return f"{info.base_url} {info.id}"


def _choice(info: ModelInfo) -> ModelChoice:
    from tui.models.factory import ModelChoice, reopened

    return reopened(ModelChoice(provider=info.provider, base_url=info.base_url, model=info.id))


def _use(screen: MainScreen, choice: ModelChoice) -> None:
    async def use(agent: Agent) -> None:
        from tui.models.discover import LOCAL_PORTS
        from tui.models.factory import with_server_window

        options = screen.options
        ports = tuple(LOCAL_PORTS) if options.local_ports is None else options.local_ports
        await agent.use_model(await with_server_window(choice, options.environ, ports=ports))

    if screen.link is not None:
        screen.link.do(use)
