"""Finds model servers on this machine, and asks a server how large a model's window is. Only when asked to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast
from urllib.parse import urlsplit

import anyio

from tui.messages import Json
from tui.models.answer import count
from tui.models.base import ModelError, ModelInfo
from tui.models.catalogue import describe
from tui.models.errors import sanitise
from tui.models.http import Http, Timeouts
from tui.models.keys import Secret

__all__ = ["LOCAL_PORTS", "local_models", "server_window"]

LOCAL_PORTS: Mapping[int, str] = {11434: "Ollama", 8080: "llama.cpp", 1234: "LM Studio", 8000: "vLLM"}
"""Where the usual local servers listen."""
_QUICK = Timeouts(connect=0.5, first_byte=1.5, between=1.5, tail=0.5)


async def local_models(ports: Sequence[int] = tuple(LOCAL_PORTS)) -> list[ModelInfo]:
    """Return the models that servers on this machine's usual ports offer, in the order of `ports`.

    Ports are asked at once, each for about two seconds at most. Only 127.0.0.1 is asked, never with a key.
    """
    found: dict[int, list[ModelInfo]] = {}

    async def ask(port: int) -> None:
        found[port] = await _models_at(f"http://127.0.0.1:{port}/v1")

    async with anyio.create_task_group() as group:
        for port in ports:
            group.start_soon(ask, port)
    return [info for port in ports for info in found.get(port, [])]


async def server_window(base_url: str, model: str, key: Secret | None = None) -> int | None:
    """Return the window in tokens that the server at `base_url` (ending in `/v1`) names for `model`, or None.

    Sources: `/models` (vLLM `max_model_len`, OpenRouter and LM Studio `context_length`), llama.cpp
    `/props` (`n_ctx`), Ollama `/api/ps` (`context_length` of the loaded model).
    """
    http = Http(base_url, key, "authorization", _QUICK)
    root = Http(_root(base_url), None, "authorization", _QUICK)
    try:
        return _listed(await _get(http, "/models"), model) or await _llama(root) or await _ollama(root, model)
    finally:
        await http.aclose()
        await root.aclose()


async def _models_at(base_url: str) -> list[ModelInfo]:
    http = Http(base_url, None, "authorization", _QUICK)
    try:
        listed = _rows(await _get(http, "/models"))
    finally:
        await http.aclose()
    names = [name for row in listed if isinstance(name := row.get("id"), str) and name == sanitise(name)]
    windows = {name: await server_window(base_url, name) for name in names[:1]}
    return [describe(name, "openai-chat", base_url, server=windows.get(name)) for name in names]


def _root(base_url: str) -> str:
    parts = urlsplit(base_url)
    return f"{parts.scheme}://{parts.netloc}"


async def _get(http: Http, path: str) -> Json:
    try:
        return await http.get_json(path)
    except ModelError:
        return None  # nobody there, or nothing of the kind: the same answer, and the next source is asked


def _rows(data: Json) -> list[dict[str, Json]]:
    rows = cast("dict[str, Json]", data).get("data") if isinstance(data, dict) else None
    listed = cast("list[Json]", rows) if isinstance(rows, list) else []
    return [cast("dict[str, Json]", row) for row in listed if isinstance(row, dict)]


def _listed(data: Json, model: str) -> int | None:
    for row in _rows(data):
        if row.get("id") == model:
            names = ("loaded_context_length", "max_model_len", "context_length", "max_context_length")
            return next((figure for name in names if (figure := count(row.get(name)))), None)
    return None


async def _llama(root: Http) -> int | None:
    props = await _get(root, "/props")
    if not isinstance(props, dict):
        return None
    found = cast("dict[str, Json]", props)
    settings = found.get("default_generation_settings")
    inner = cast("dict[str, Json]", settings) if isinstance(settings, dict) else {}
    return count(inner.get("n_ctx")) or count(found.get("n_ctx")) or None


async def _ollama(root: Http, model: str) -> int | None:
    """Return the window a loaded model really has; the one it was trained with is larger and would mislead."""
    running = await _get(root, "/api/ps")
    rows = cast("dict[str, Json]", running).get("models") if isinstance(running, dict) else None
    for row in cast("list[Json]", rows) if isinstance(rows, list) else []:
        if isinstance(row, dict):
            found = cast("dict[str, Json]", row)
            if model in (found.get("name"), found.get("model")):
                return count(found.get("context_length")) or None
    return None
