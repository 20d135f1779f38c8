"""Opens the model that was chosen, and lists the ones that could be."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from tui.models.base import BadRequest, Model, ModelInfo

__all__ = ["PROVIDERS", "ModelChoice", "list_models", "open_model"]

PROVIDERS = ("anthropic", "openai-chat", "openai-responses", "rehearsal")
"""The words of `--provider`."""


class ModelChoice(msgspec.Struct, frozen=True):
    """What the person asked for. An empty field means: what fits the others."""

    provider: str = ""
    model: str = ""
    base_url: str = ""
    window: int | None = None
    """Tokens; None: as the server or the catalogue says."""


def open_model(choice: ModelChoice, environ: Mapping[str, str]) -> Model:
    """Return the model of `choice`, not yet connected. Raises `ModelError` where it cannot be used."""
    match choice.provider or "rehearsal":
        case "rehearsal":
            from tui.models.rehearsal import RehearsalModel

            return RehearsalModel(window=choice.window)
        case other:
            raise BadRequest(f"The provider {other!r} is not built yet. Use one of: {', '.join(PROVIDERS)}.")


def list_models(environ: Mapping[str, str]) -> list[ModelInfo]:
    """Return the models that can be used with the keys in `environ`, the rehearsal last."""
    return [ModelInfo(id="rehearsal", provider="rehearsal")]
