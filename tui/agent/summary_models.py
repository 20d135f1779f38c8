"""Which model writes the summaries: the one in force, or one of its own that is opened when it is first needed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

import msgspec

from tui.models.base import Model, ModelInfo
from tui.models.factory import ModelChoice, reopened, with_server_window
from tui.settings import Settings

__all__ = ["SummaryModels", "summary_choice"]


def summary_choice(settings: Settings, now: ModelInfo) -> ModelChoice | None:
    """Return the model that is set for summaries, on the server of the one in force unless another is set; or None."""
    name = settings.summary_model
    if not name or (name == now.id and not settings.summary_base_url):
        return None
    window = settings.for_model(name).window if name in settings.models else None
    if settings.summary_base_url or settings.summary_provider:
        return ModelChoice(settings.summary_provider, name, settings.summary_base_url, window)
    if now.provider == "rehearsal":
        return ModelChoice(model=name, window=window)
    return msgspec.structs.replace(reopened(ModelChoice(now.provider, now.id, now.base_url)), model=name, window=window)


class SummaryModels:
    """Holds at most one open model beside the session's own."""

    def __init__(self, settings: Settings, environ: Mapping[str, str]) -> None:
        self._settings = settings
        self._open: Callable[[ModelChoice], Awaitable[Model]] = lambda choice: with_server_window(choice, environ)
        self._choice: ModelChoice | None = None
        self._model: Model | None = None

    async def get(self, now: Model) -> Model:
        """Return the model to ask while `now` is in force. Raises `ModelError` where it cannot be used."""
        choice = summary_choice(self._settings, now.info)
        if choice is None:
            return now
        if self._model is None or choice != self._choice:
            await self.aclose()
            self._model, self._choice = await self._open(choice), choice
        return self._model

    async def aclose(self) -> None:
        """Close the model that was opened here, if one was."""
        model, self._model = self._model, None
        if model is not None:
            await model.aclose()
