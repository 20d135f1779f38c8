"""Which images a server will not take: those alone are left out of the view; the log keeps them all.

A refusal seldom says which image it means. Those of an answered request are known to be good, so the newest
other one is left out and the request repeated, until it is taken: then the last one left out was the cause,
and those before it are tried again with the next request.
"""

from __future__ import annotations

from collections.abc import Iterable

from tui.context.validate import describe_image
from tui.messages import Image, Message
from tui.models.base import ImageRejected

__all__ = ["Pictures"]


class Pictures:
    """One per agent; what it learned is learned anew by the next."""

    def __init__(self) -> None:
        self._blind: set[str] = set()
        self._taken: set[str] = set()
        self._refused: set[str] = set()
        self._doubted: list[str] = []
        self._sent: tuple[Image, ...] = ()

    @property
    def left_out(self) -> frozenset[str]:
        """sha256 of the images that are not sent."""
        return frozenset((*self._refused, *self._doubted))

    def seen_by(self, model: str) -> bool:
        """Whether the model has not been told to take no images at all."""
        return model not in self._blind

    def sending(self, messages: Iterable[Message]) -> None:
        """Remember which images the next request holds."""
        self._sent = tuple(part for message in messages for part in message.content if isinstance(part, Image))

    def answered(self) -> None:
        """Learn from an answer: what was sent is good, and what was left out last was not."""
        self._taken.update(image.sha256 for image in self._sent)
        if self._doubted:
            self._refused.add(self._doubted[-1])
            self._doubted.clear()

    def refused(self, error: ImageRejected, model: str) -> str:
        """Leave one image out, or all where the model takes none; return a line that says so, empty for nothing."""
        if not self._sent:
            return ""
        if error.blind:
            self._blind.add(model)
            return f"{model} takes no images: they are left out of what it gets. They stay in the log."
        image = self._suspect(error.sha256)
        if error.sha256:
            self._refused.add(image.sha256)
        else:
            self._doubted.append(image.sha256)
        return (
            f"The server refused an image: {describe_image(image)} is left out of what it gets, and stays in the log."
        )

    def _suspect(self, named: str) -> Image:
        by_name = [image for image in self._sent if image.sha256 == named]
        unknown = [image for image in self._sent if image.sha256 not in self._taken]
        return (by_name or unknown or self._sent)[-1]
