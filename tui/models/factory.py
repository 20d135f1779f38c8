"""Opens the model that was chosen, and lists the ones that could be."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

import msgspec

from tui.models.base import AuthFailed, BadRequest, Model, ModelInfo, ModelNotFound
from tui.models.catalogue import CATALOGUE, describe
from tui.models.discover import LOCAL_PORTS, local_models, server_window
from tui.models.http import Http, Timeouts
from tui.models.keys import KEY_ORIGINS, Secret, from_keyring, is_loopback, key_for, origin

__all__ = ["PROVIDERS", "ModelChoice", "list_models", "open_model", "reopened", "unconnected", "with_server_window"]

PROVIDERS = ("anthropic", "openai-chat", "openai-responses", "rehearsal")
"""The words of `--provider`."""
DEFAULT_MODELS: Mapping[str, str] = {
    "anthropic": "claude-sonnet-5-5",
    "openai-chat": "gpt-5.5",
    "openai-responses": "gpt-5.5",
}
"""The model where only the provider was chosen and the base URL is its own."""
_ANTHROPIC_URL = "https://api.anthropic.com"
_OPENAI_URL = "https://api.openai.com/v1"


class ModelChoice(msgspec.Struct, frozen=True):
    """What the person asked for. An empty field means: what fits the others.

    `base_url` must be the person's own word (a flag, their settings): `CLEW_API_KEY` is sent there.
    """

    provider: str = ""
    model: str = ""
    base_url: str = ""
    window: int | None = None
    """Tokens; None: as the server or the catalogue says."""


def open_model(
    choice: ModelChoice,
    environ: Mapping[str, str],
    *,
    timeouts: Timeouts | None = None,
    server: int | None = None,
    lookup: Callable[[str], str | None] = from_keyring,
) -> Model:
    """Return the model of `choice`; no connection is made yet. Raises `ModelError` where it cannot be used.

    `server`: the window in tokens that the server told (see `with_server_window`). With nothing chosen the
    first provider whose key is in `environ` is taken, else the rehearsal.
    """
    means = _Means(environ, timeouts, server, lookup)
    match choice.provider or _provider(choice, environ):
        case "rehearsal":
            return _rehearsal(choice)
        case "anthropic":
            return _anthropic(choice, means)
        case "openai-chat" | "openai-responses" as provider:
            return _openai(choice, provider, means)
        case other:
            raise BadRequest(f"There is no provider {other!r}. Use one of: {', '.join(PROVIDERS)}.")


async def with_server_window(
    choice: ModelChoice,
    environ: Mapping[str, str],
    *,
    timeouts: Timeouts | None = None,
    lookup: Callable[[str], str | None] = from_keyring,
    ports: Sequence[int] = tuple(LOCAL_PORTS),
) -> Model:
    """Return the model of `choice`, its server asked for the window first where no setting names it.

    Takes at most a few seconds. Asks only servers whose address the person gave, and for a model that is only
    named, and for which there is no key, this machine's own.
    """
    choice = await _located(choice, environ, lookup, ports)
    model = open_model(choice, environ, timeouts=timeouts, lookup=lookup)
    if choice.window or not choice.base_url or model.info.provider == "rehearsal":
        return model
    key = key_for(choice.base_url, environ, explicit=True, lookup=lookup)
    url = chat_url(choice.base_url)
    found = await server_window(url, model.info.id, key)
    await model.aclose()
    return open_model(choice, environ, timeouts=timeouts, server=found, lookup=lookup)


def reopened(choice: ModelChoice) -> ModelChoice:
    """Return the choice a log remembers without an address that is the provider's own: no person gave that one."""
    own = {"anthropic": _ANTHROPIC_URL, "rehearsal": ""}.get(choice.provider, _default_chat_url(choice.model))
    return msgspec.structs.replace(choice, base_url="") if choice.base_url == own else choice


async def _located(
    choice: ModelChoice, environ: Mapping[str, str], lookup: Callable[[str], str | None], ports: Sequence[int]
) -> ModelChoice:
    """Return the choice with the address of the local server that offers the model, where nothing else says one."""
    if choice.provider or choice.base_url or choice.model in ("", "rehearsal"):
        return choice
    url = _ANTHROPIC_URL if choice.model.startswith("claude") else _OPENAI_URL
    if _has_key(url, environ) or lookup(origin(url)):
        return choice
    for info in await local_models(ports):
        if info.id == choice.model:
            return msgspec.structs.replace(choice, provider="openai-chat", base_url=info.base_url)
    return choice


def _rehearsal(choice: ModelChoice) -> Model:
    """Return the built-in model; a model name that ends in `.toml` is the script it plays."""
    from tui.models.rehearsal import RehearsalModel, ScriptError, load_script

    if not choice.model.endswith(".toml"):
        return RehearsalModel(window=choice.window)
    try:
        script = load_script(Path(choice.model).expanduser())
    except (ScriptError, OSError) as error:
        raise ModelNotFound(f"The script cannot be played: {error}") from error
    return RehearsalModel(window=choice.window, script=script)


def unconnected(choice: ModelChoice, environ: Mapping[str, str]) -> bool:
    """Whether the rehearsal could answer only because nothing was named and there is no key."""
    named = choice.provider or choice.model or choice.base_url
    return not named and _provider(choice, environ) == "rehearsal"


def list_models(environ: Mapping[str, str]) -> list[ModelInfo]:
    """Return the models that can be used with the keys in `environ`, the rehearsal last. No network, no keyring."""
    urls = {"anthropic": _ANTHROPIC_URL, "openai-chat": _OPENAI_URL}
    made: list[ModelInfo] = []
    for row in CATALOGUE:
        url = "https://api.deepseek.com/v1" if row.prefix.startswith("deepseek") else urls[row.provider]
        if row.listed and _has_key(url, environ):
            made.append(describe(row.prefix, row.provider, url))
    return [*made, open_model(ModelChoice("rehearsal"), environ).info]


def chat_url(base_url: str) -> str:
    """Return the address under which `/chat/completions` is: with a bare host it is `/v1`."""
    url = base_url.strip().rstrip("/").removesuffix("/chat/completions").removesuffix("/responses")
    return f"{url}/v1" if urlsplit(url).path in ("", "/") else url


def anthropic_url(base_url: str) -> str:
    """Return the address under which `/v1/messages` is."""
    return base_url.strip().rstrip("/").removesuffix("/messages").removesuffix("/v1")


def _provider(choice: ModelChoice, environ: Mapping[str, str]) -> str:
    name = choice.model.lower()
    if name == "rehearsal" or name.endswith(".toml"):
        return "rehearsal"
    if choice.base_url:
        return "anthropic" if origin(choice.base_url) == origin(_ANTHROPIC_URL) else "openai-chat"
    if name:
        return "anthropic" if name.startswith("claude") else "openai-chat"
    if _has_key(_ANTHROPIC_URL, environ):
        return "anthropic"
    return "openai-chat" if _has_key(_OPENAI_URL, environ) else "rehearsal"


def _has_key(url: str, environ: Mapping[str, str]) -> bool:
    return any(where == origin(url) and environ.get(name, "").strip() for name, where in KEY_ORIGINS.items())


class _Means(msgspec.Struct, frozen=True):
    """What a model is opened with, beside the choice."""

    environ: Mapping[str, str]
    timeouts: Timeouts | None
    server: int | None
    lookup: Callable[[str], str | None]


def _key(choice: ModelChoice, url: str, means: _Means) -> Secret | None:
    """Return the key for `url`; a provider's own address without one cannot work and says so at once."""
    key = key_for(url, means.environ, explicit=bool(choice.base_url), lookup=means.lookup)
    if key is None and not choice.base_url and not is_loopback(url):
        names = [name for name, where in KEY_ORIGINS.items() if where == origin(url)]
        raise AuthFailed(f"There is no key for {urlsplit(url).hostname}. Set {names[0]}, or choose another model.")
    return key


def _info(choice: ModelChoice, provider: str, url: str, means: _Means) -> ModelInfo:
    name = choice.model or ("" if choice.base_url else DEFAULT_MODELS[provider])
    if not name:
        raise BadRequest("Name the model as well: --model ID. `clew models` lists what local servers offer.")
    return describe(name, provider, url, setting=choice.window, server=means.server)


def _anthropic(choice: ModelChoice, means: _Means) -> Model:
    from tui.models.anthropic import AnthropicModel

    url = anthropic_url(choice.base_url or _ANTHROPIC_URL)
    http = Http(url, _key(choice, url, means), "x-api-key", means.timeouts)
    return AnthropicModel(_info(choice, "anthropic", url, means), http)


def _openai(choice: ModelChoice, provider: Literal["openai-chat", "openai-responses"], means: _Means) -> Model:
    from tui.models.openai_chat import ChatModel
    from tui.models.openai_responses import ResponsesModel

    url = chat_url(choice.base_url or _default_chat_url(choice.model))
    http = Http(url, _key(choice, url, means), "authorization", means.timeouts)
    info = _info(choice, provider, url, means)
    return ChatModel(info, http) if provider == "openai-chat" else ResponsesModel(info, http)


def _default_chat_url(model: str) -> str:
    return "https://api.deepseek.com/v1" if model.lower().startswith("deepseek") else _OPENAI_URL
