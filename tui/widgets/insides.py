"""Private names of Textual that are used here, each with its type, in one place.

Textual is pinned to its minor version; `FAST_FRAME` says whether what the fast frame needs is all there.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from operator import attrgetter
from typing import TypeAlias, cast

from textual._compositor import Compositor, CompositorUpdate
from textual.app import App
from textual.geometry import Region
from textual.message_pump import MessagePump
from textual.screen import Screen
from textual.timer import Timer
from textual.widget import Widget

__all__ = [
    "FAST_FRAME",
    "AnyApp",
    "CompositorUpdate",
    "app_of",
    "dirty_of",
    "display_of",
    "mouse_of",
    "starter_of",
    "ticking_of",
]

AnyApp: TypeAlias = App[object]

app_of = cast("Callable[[MessagePump], AnyApp]", attrgetter("app"))
"""The app, with a type that is known."""
dirty_of = cast("Callable[[Compositor], set[Region]]", attrgetter("_dirty_regions"))
"""What is to be painted, in cells of the screen."""
display_of = cast("Callable[[AnyApp], Callable[[Screen[None], CompositorUpdate], None]]", attrgetter("_display"))
"""What writes an update to the terminal, between the marks of a synchronised frame, and places the cursor."""
mouse_of = cast("Callable[[AnyApp], Callable[[Screen[None]], None]]", attrgetter("_update_mouse_over"))
"""What looks again which widget is under the mouse."""
starter_of = cast("Callable[[AnyApp], Callable[[Widget, Widget], None]]", attrgetter("_start_widget"))
"""What gives a widget outside the tree, like a scrollbar, its task."""

ticking_of = cast("Callable[[Screen[None]], Timer]", attrgetter("_update_timer"))
"""What paints a screen's changes at the next tick; paused while there are none."""


def _all_there() -> bool:
    compositor = Compositor()
    return (
        all(callable(getattr(App, name, None)) for name in ("_display", "_update_mouse_over"))
        and all(callable(getattr(Screen, name, None)) for name in ("_compositor_refresh", "_refresh_layout"))
        and isinstance(vars(Screen).get("_update_timer"), property)
        and isinstance(getattr(compositor, "_dirty_regions", None), set)
        and isinstance(getattr(compositor, "visible_widgets", None), dict)
    )


FAST_FRAME = os.environ.get("CLEW_FRAME") != "plain" and _all_there()
"""Whether screens paint the fast way; else, or with CLEW_FRAME=plain, the compositor does all."""
