"""A model that is only named is found on this machine's own servers; a script is played by its path."""

from pathlib import Path
from urllib.parse import urlsplit

import anyio
import pytest

from tests.support.provider import Provider
from tests.support.wire import Script
from tui.models.base import ModelError, ModelNotFound
from tui.models.factory import ModelChoice, open_model, with_server_window


def nothing(_where: str) -> None:
    """Find no key in a keyring."""


def test_a_named_model_is_found_on_a_local_server() -> None:
    async def run() -> None:
        async with Provider(Script(models=("tiny-local",))) as server:
            port = urlsplit(server.base_url).port or 0
            model = await with_server_window(ModelChoice(model="tiny-local"), {}, lookup=nothing, ports=(port,))
            assert model.info.id == "tiny-local"
            assert urlsplit(model.info.base_url).port == port
            await model.aclose()

    anyio.run(run)


def test_a_key_keeps_the_choice_with_its_provider() -> None:
    async def run() -> None:
        async with Provider(Script(models=("gpt-x",))) as server:
            port = urlsplit(server.base_url).port or 0
            environ = {"OPENAI_API_KEY": "sk-test"}
            model = await with_server_window(ModelChoice(model="gpt-x"), environ, lookup=nothing, ports=(port,))
            assert urlsplit(model.info.base_url).hostname == "api.openai.com"
            assert not server.others
            await model.aclose()

    anyio.run(run)


def test_a_script_is_played_by_its_path(tmp_path: Path) -> None:
    script = tmp_path / "demo.toml"
    script.write_text('[[answer]]\ntext = "played"\n')
    assert open_model(ModelChoice(model=str(script)), {}).info.provider == "rehearsal"


def test_a_script_that_is_not_there_or_broken_is_one_clear_error(tmp_path: Path) -> None:
    broken = tmp_path / "broken.toml"
    broken.write_text("[[answer\n")
    for path in (tmp_path / "none.toml", broken):
        with pytest.raises(ModelNotFound) as caught:
            open_model(ModelChoice(model=str(path)), {})
        assert isinstance(caught.value, ModelError)
        assert path.name in str(caught.value)
