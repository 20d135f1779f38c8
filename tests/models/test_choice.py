"""Which model is opened, with which key, and what is known of it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.models.helpers import ask, finished
from tests.support.provider import Provider, Reply, Script
from tui.models.base import AuthFailed, BadRequest, Model, ModelError, WindowSource
from tui.models.catalogue import ASSUMED_WINDOW, CATALOGUE, describe, known
from tui.models.discover import local_models, server_window
from tui.models.factory import ModelChoice, list_models, open_model, unconnected, with_server_window
from tui.models.keys import KEY_ORIGINS, Secret, from_keyring, is_loopback, key_for, origin

KEYS = {name: f"key-of-{name}" for name in KEY_ORIGINS}


def no_keyring(where: str) -> str | None:
    return None


def opened(environ: dict[str, str], **choice: Any) -> Model:
    return open_model(ModelChoice(**choice), environ, lookup=no_keyring)


@pytest.mark.parametrize(
    ("url", "where"),
    [
        ("https://API.OpenAI.com/v1", "https://api.openai.com:443"),
        ("http://localhost:8080", "http://localhost:8080"),
        ("http://[::1]/v1", "http://[::1]:80"),
    ],
)
def test_an_origin_is_scheme_host_and_port(url: str, where: str) -> None:
    assert origin(url) == where


@pytest.mark.parametrize("url", ["http://127.0.0.1:1/v1", "http://localhost", "http://[::1]:2"])
def test_this_machine_is_known(url: str) -> None:
    assert is_loopback(url)
    assert not is_loopback("http://localhost.evil.com")


def test_each_key_goes_to_its_own_origin() -> None:
    for name, where in KEY_ORIGINS.items():
        assert key_for(where, KEYS, lookup=no_keyring) == Secret(KEYS[name])


@pytest.mark.parametrize(
    "url",
    [
        "http://api.openai.com/v1",
        "https://api.openai.com:8443/v1",
        "https://api.openai.com.evil.com/v1",
        "https://evil.com/api.openai.com",
        "http://127.0.0.1:8080/v1",
    ],
)
def test_no_key_goes_anywhere_else(url: str) -> None:
    assert key_for(url, KEYS, explicit=True, lookup=no_keyring) is None


def test_the_own_key_needs_an_address_the_person_gave() -> None:
    environ = {"CLEW_API_KEY": "mine"}
    assert key_for("https://x.example/v1", environ, lookup=no_keyring) is None
    assert key_for("https://x.example/v1", environ, explicit=True, lookup=no_keyring) == Secret("mine")
    bound = environ | {"CLEW_BASE_URL": "https://x.example/v1"}
    assert key_for("https://x.example/other", bound, lookup=no_keyring) == Secret("mine")
    assert key_for("https://y.example/v1", bound, explicit=True, lookup=no_keyring) is None


def test_the_keyring_is_asked_last_and_only_for_the_origin() -> None:
    asked: list[str] = []

    def lookup(where: str) -> str:
        asked.append(where)
        return "stored\n"

    assert key_for("https://api.openai.com/v1", {"OPENAI_API_KEY": " e \n"}, lookup=lookup) == Secret("e")
    assert key_for("https://api.openai.com/v1", {"OPENAI_API_KEY": " "}, lookup=lookup) == Secret("stored")
    assert asked == ["https://api.openai.com:443"]
    assert key_for("http://127.0.0.1:8080", {}, lookup=lookup) is None


def test_a_missing_keyring_is_no_key() -> None:
    assert from_keyring("https://clew-test.invalid:443") is None


@pytest.mark.parametrize("value", ["sk-“quoted”", "two words", "line\nbreak", "\x1b[0m"])
def test_a_broken_key_is_named_and_not_shown(value: str) -> None:
    with pytest.raises(AuthFailed, match="OPENAI_API_KEY") as caught:
        key_for("https://api.openai.com/v1", {"OPENAI_API_KEY": value}, lookup=no_keyring)
    assert value not in str(caught.value)


def test_the_longest_prefix_is_the_model() -> None:
    names = {"claude-opus-5-5": 4, "claude-opus-5-20260724": 5, "anthropic/claude-opus-4.6": 5, "gpt-5-mini-2025": 0.25}
    assert {name: row.prices[0] for name in names if (row := known(name)) and row.prices} == names
    assert known("llama3.2:1b") is None
    for row in CATALOGUE:
        assert known(row.prefix) == row
        assert row.max_output <= row.window


def test_the_window_comes_from_the_strongest_source() -> None:
    def window(**given: int) -> tuple[int, WindowSource]:
        info = describe("claude-sonnet-5", "anthropic", "", **given)
        return info.window, info.window_source

    assert window(setting=1000, server=2000) == (1000, WindowSource.SETTING)
    assert window(server=2000) == (2000, WindowSource.SERVER)
    assert window() == (1_000_000, WindowSource.CATALOGUE)
    unknown = describe("qwen", "openai-chat", "")
    assert (unknown.window, unknown.window_source) == (ASSUMED_WINDOW, WindowSource.ASSUMED)
    assert describe("gpt-5.5", "openai-chat", "", setting=8_000).max_output == 4_000


def test_without_a_key_the_rehearsal_opens() -> None:
    assert opened({}).info.provider == "rehearsal"
    assert [info.provider for info in list_models({})] == ["rehearsal"]


def test_the_first_key_decides() -> None:
    assert opened({"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"}).info.id.startswith("claude")
    assert opened({"OPENAI_API_KEY": "b"}).info.provider == "openai-chat"
    providers = {info.provider for info in list_models({"ANTHROPIC_API_KEY": "a", "OPENAI_API_KEY": "b"})}
    assert providers == {"anthropic", "openai-chat", "rehearsal"}


@pytest.mark.parametrize(
    ("choice", "provider", "url"),
    [
        ({"model": "claude-haiku-4-5"}, "anthropic", "https://api.anthropic.com"),
        ({"model": "gpt-5.5"}, "openai-chat", "https://api.openai.com/v1"),
        ({"model": "deepseek-chat"}, "openai-chat", "https://api.deepseek.com/v1"),
        ({"model": "x", "base_url": "http://127.0.0.1:8080"}, "openai-chat", "http://127.0.0.1:8080/v1"),
        ({"model": "x", "base_url": "https://h/api/v1/chat/completions/"}, "openai-chat", "https://h/api/v1"),
        ({"model": "x", "base_url": "http://h/v1/", "provider": "anthropic"}, "anthropic", "http://h"),
    ],
)
def test_what_is_chosen_is_opened(choice: dict[str, Any], provider: str, url: str) -> None:
    info = opened(KEYS, **choice).info
    assert (info.provider, info.base_url) == (provider, url)


@pytest.mark.parametrize(
    ("choice", "kind", "words"),
    [
        ({"provider": "openai-responses"}, AuthFailed, "OPENAI_API_KEY"),
        ({"provider": "nobody"}, BadRequest, "Use one of"),
        ({"provider": "anthropic"}, AuthFailed, "ANTHROPIC_API_KEY"),
        ({"model": "gpt-5.5"}, AuthFailed, "OPENAI_API_KEY"),
        ({"base_url": "http://127.0.0.1:1"}, BadRequest, "--model"),
        ({"base_url": "nonsense", "model": "x"}, BadRequest, "https://"),
    ],
)
def test_what_cannot_work_says_what_to_do(choice: dict[str, str], kind: type[ModelError], words: str) -> None:
    with pytest.raises(kind, match=words):
        opened({}, **choice)


@pytest.mark.anyio
async def test_the_environments_keys_stay_away_from_a_given_address() -> None:
    async with Provider(Reply(text="x"), Reply(text="y")) as provider:
        choice = {"model": "x", "base_url": provider.base_url}
        assert finished(await ask(opened(KEYS, **choice))).message.text == "x"
        await ask(opened(KEYS | {"CLEW_API_KEY": "mine"}, **choice))
        first, second = provider.requests
        assert "authorization" not in first.headers
        assert "key-of" not in json.dumps(first.headers)
        assert second.headers["authorization"] == "Bearer mine"


def _serving(**routes: Any) -> Provider:
    return Provider(
        Script(models=("qwen", "\x1b[31mbad"), routes={f"/{k.replace('_', '/')}": v for k, v in routes.items()})
    )


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("routes", "window"),
    [
        ({"props": {"default_generation_settings": {"n_ctx": 4096}}}, 4096),
        ({"v1_models": {"data": [{"id": "qwen", "max_model_len": 8192}]}}, 8192),
        ({"v1_models": {"data": [{"id": "other", "max_model_len": 8192}]}}, None),
        ({"api_ps": {"models": [{"name": "qwen", "context_length": 2048}]}}, 2048),
        ({"props": {"default_generation_settings": None}}, None),
        ({"props": [], "api_ps": {"models": None}}, None),
        ({}, None),
    ],
)
async def test_a_server_is_asked_for_its_window(routes: dict[str, Any], window: int | None) -> None:
    async with _serving(**routes) as provider:
        assert await server_window(provider.base_url + "/v1", "qwen") == window


@pytest.mark.anyio
async def test_the_servers_window_is_used_unless_it_is_set() -> None:
    async with _serving(props={"default_generation_settings": {"n_ctx": 4096}}) as provider:
        choice = ModelChoice(model="qwen", base_url=provider.base_url)
        info = (await with_server_window(choice, {}, lookup=no_keyring)).info
        assert (info.window, info.window_source) == (4096, WindowSource.SERVER)
        fixed = ModelChoice(model="qwen", base_url=provider.base_url, window=2000)
        assert (await with_server_window(fixed, {}, lookup=no_keyring)).info.window == 2000


@pytest.mark.anyio
async def test_local_servers_are_found_and_odd_names_left_out() -> None:
    async with _serving() as provider, Provider(Script(routes={"/v1/models": "nonsense"})) as other:
        ports = [int(one.base_url.rsplit(":", 1)[1]) for one in (provider, other)]
        found = await local_models([1, *ports])
        assert [(info.id, info.base_url) for info in found] == [("qwen", f"{provider.base_url}/v1")]
        assert all("authorization" not in one.headers for one in provider.others)


@pytest.mark.parametrize(
    ("choice", "environ", "alone"),
    [
        (ModelChoice(), {}, True),
        (ModelChoice(window=8_000), {}, True),
        (ModelChoice(), {"OPENAI_API_KEY": "b"}, False),
        (ModelChoice("rehearsal"), {}, False),
        (ModelChoice(model="rehearsal"), {}, False),
        (ModelChoice(model="play.toml"), {}, False),
    ],
)
def test_only_what_nobody_named_is_a_stand_in(choice: ModelChoice, environ: dict[str, str], *, alone: bool) -> None:
    assert unconnected(choice, environ) is alone
