"""Settings: every key in every place, their order, and what is said about bad ones."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.cli.support import ROOT
from tui.settings import (
    KEYS,
    Key,
    Settings,
    SettingsError,
    environment_layer,
    file_layer,
    flag_layer,
    merge,
    places,
    read_limited,
)

GOOD = {
    "model": ("a/b:c", "a/b:c"),
    "provider": ("openai-chat", "openai-chat"),
    "base_url": ("http://localhost:8080/v1", "http://localhost:8080/v1"),
    "window": ("32000", 32000),
    "approve": ("edits", "edits"),
    "theme": ("night", "night"),
    "notify": ("bell", "bell"),
    "notify_after": ("30", 30),
    "editing": ("vim", "vim"),
    "bash_timeout": ("30", 30),
    "effort": ("high", "high"),
    "compaction": ("auto", "auto"),
    "compact_soft_at": ("60%", "60%"),
    "compact_at": ("1.5k", "1.5k"),
    "compact_buffer": ("0", "0"),
    "compact_prompt": (" two words ", " two words "),
    "on_summary_failure": ("pointer", "pointer"),
    "summary_model": ("small", "small"),
    "summary_provider": ("anthropic", "anthropic"),
    "summary_base_url": ("http://localhost:8081/v1", "http://localhost:8081/v1"),
    "model_idle": ("600", 600),
    "summary_idle": ("30", 30),
    "summary_total": ("60", 60),
    "most_checkpoints": ("3", 3),
    "resume_view": ("checkpoint", "checkpoint"),
    "resume_budget": ("50000", 50000),
    "followup_budget": ("100000", 100000),
    "checkpoint_idle": ("300", 300),
    "shutdown_grace": ("5", 5),
}
BAD = {
    "model": ["", " m", "a\x1b[2J", "a\nb"],
    "provider": ["openai", "Anthropic"],
    "base_url": [
        "localhost:8080",
        "ftp://h/",
        "http://",
        "http://u:secret@h/",
        "http://h:99999/",
        "http://h/?q=1",
        "http://[::1",
    ],
    "window": ["0", "-1", "1e3", "32k", "٣٢", "9" * 30, " 8"],
    "approve": ["none", "ALL"],
    "theme": ["", "\x07"],
    "notify": ["", "loud", "true"],
    "notify_after": ["-1", "1.5", "86401"],
    "editing": ["nano"],
    "bash_timeout": ["0", "86401", "1.5"],
    "effort": ["max", "HIGH", "1"],
    "on_summary_failure": ["", "drop", "Lock"],
    "summary_base_url": ["http://u:secret@h/"],
    "model_idle": ["0", "2m", "86401"],
    "summary_idle": ["0", "2m"],
    "most_checkpoints": ["0", "-1"],
    "resume_view": ["", "Full", "bounded"],
    "resume_budget": ["0", "240k", "-1"],
    "followup_budget": ["0", "240k"],
    "checkpoint_idle": ["0", "86401"],
    "shutdown_grace": ["0", "601"],
}


def settings_of(text: str) -> Settings:
    return merge((file_layer(text.encode(), "s.toml"),))


def test_every_key_is_covered_here() -> None:
    assert set(GOOD) == {key.name for key in KEYS} == set(Settings.__struct_fields__) - {"models", "keys", "explicit"}


@pytest.mark.parametrize("name", GOOD)
def test_a_key_is_taken_from_the_environment(name: str) -> None:
    text, value = GOOD[name]
    settings = merge((environment_layer({f"CLEW_{name.upper()}": text}),))
    assert getattr(settings, name) == value
    assert settings.explicit == {name}


@pytest.mark.parametrize("name", GOOD)
def test_a_key_is_taken_from_a_flag(name: str) -> None:
    text, value = GOOD[name]
    assert getattr(merge((flag_layer({name: text}),)), name) == value


@pytest.mark.parametrize("key", KEYS, ids=lambda key: key.name)
def test_a_key_is_taken_from_a_file(key: Key) -> None:
    value = GOOD[key.name][1]
    table, _, last = key.place.rpartition(".")
    text = (f"[{table}]\n" if table else "") + f"{last} = {value!r}"
    assert getattr(settings_of(text), key.name) == value


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_a_bad_value_is_one_sentence_and_never_used(name: str, text: str) -> None:
    with pytest.raises(SettingsError) as caught:
        flag_layer({name: text})
    said = str(caught.value)
    assert said.startswith(f"Arguments: --{name.replace('_', '-')}")
    assert "must be" in said
    assert said.isascii()
    assert said.isprintable()
    assert "secret" not in said


def test_flags_win_over_environment_over_project_over_user() -> None:
    user = file_layer(b'model = "user"\ntheme = "user"\nprovider = "anthropic"\nwindow = 1', "user")
    project = file_layer(b'model = "project"\ntheme = "project"\nprovider = "openai-chat"', "project")
    env = environment_layer({"CLEW_MODEL": "env", "CLEW_THEME": "env"})
    flags = flag_layer({"model": "flag", "theme": None})
    settings = merge((user, project, env, flags))
    assert (settings.model, settings.theme, settings.provider, settings.window) == ("flag", "env", "openai-chat", 1)


def test_an_empty_variable_sets_nothing() -> None:
    assert environment_layer({key.env: "" for key in KEYS}).values == {}


def test_an_unknown_variable_is_reported_with_what_it_may_mean() -> None:
    layer = environment_layer({"CLEW_WINDWO": "8000", "CLEW_XYZZY": "1", "CLEW_HOME": "/x", "CLEWX": "1"})
    assert layer.values == {}
    assert layer.notices == (
        'Environment: "CLEW_WINDWO" is unknown and ignored. Is CLEW_WINDOW meant?',
        'Environment: "CLEW_XYZZY" is unknown and ignored.',
    )


def test_every_variable_of_the_program_is_known() -> None:
    names = {
        name for path in (ROOT / "tui").rglob("*.py") for name in re.findall(r'"(CLEW_[A-Z_]+)"', path.read_text())
    }
    assert names
    assert environment_layer(dict.fromkeys(names, "")).notices == ()


def test_an_unknown_key_is_reported_with_its_file_and_ignored() -> None:
    layer = file_layer(b'modle = "x"\n[bash]\nshell = "zsh"\n[models.m]\nwindow = 5\ncolour = 1\n', "/u/settings.toml")
    assert layer.values == {}
    assert layer.notices == (
        '/u/settings.toml: the key "modle" is unknown and ignored.',
        '/u/settings.toml: the key "bash.shell" is unknown and ignored.',
        '/u/settings.toml: the key models."m"."colour" is unknown and ignored.',
    )


def test_a_key_with_escapes_in_its_name_is_shown_plain() -> None:
    (notice,) = file_layer(b'"a\\u001b]52;c;YQ==\\u0007\\u009b" = 1', "s").notices
    assert notice.isascii()
    assert notice.isprintable()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"model = ", "not TOML"),
        (b"\xff\xfe", "not UTF-8"),
        (b"a = " + b"[" * 5000, "nested too deeply"),
        (b"bash = 3", "bash must be a table"),
        (b"models = 3", "models must be a table"),
        (b"[models]\nm = 3", 'models."m" must be a table'),
        (b"window = true", "window = true"),
        (b"window = 1.5", "window = 1.5"),
        (b"compact_at = 1.5", "compact_at = 1.5"),
        (b"model = 1979-05-27", "model"),
        (b'model = ["a"]', 'model = ["a"]'),
    ],
)
def test_a_file_that_cannot_be_used_is_named(content: bytes, words: str) -> None:
    with pytest.raises(SettingsError, match=r"^s\.toml: ") as caught:
        file_layer(content, "s.toml")
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bom_and_windows_line_ends_are_fine() -> None:
    assert settings_of('\ufeffmodel = "m"\r\nwindow = 7\r\n').window == 7


def test_what_is_set_for_one_model_counts_for_it_alone() -> None:
    settings = settings_of('window = 1\ncompact_at = 7\n[models."a/b"]\nwindow = 2\ncompact_at = "50%"')
    assert (settings.for_model("a/b").window, settings.for_model("a/b").compact_at) == (2, "50%")
    assert (settings.for_model("other").window, settings.for_model("other").compact_at) == (1, "7")


def test_a_flag_wins_over_what_is_set_for_one_model() -> None:
    own = file_layer(b'[models.m]\nwindow = 2\ncompact_at = "1k"', "s")
    settings = merge((own, flag_layer({"window": "3"}))).for_model("m")
    assert (settings.window, settings.compact_at) == (3, "1k")


def test_models_of_two_files_are_put_together() -> None:
    layers = (file_layer(b'[models.m]\nwindow = 1\ncompact_at = "1k"', "u"), file_layer(b"[models.m]\nwindow = 2", "p"))
    own = merge(layers).models["m"]
    assert (own.window, own.compact_at) == (2, "1k")


def test_tools_are_told_only_what_is_set() -> None:
    assert Settings().tools == {}
    assert settings_of("[bash]\ntimeout = 9").tools == {"bash.timeout": 9}


def test_a_missing_file_is_no_settings_and_a_folder_is_an_error(tmp_path: Path) -> None:
    assert read_limited(tmp_path / "none.toml") is None
    with pytest.raises(SettingsError, match="must be a file"):
        read_limited(tmp_path)


def test_a_huge_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "s.toml").write_bytes(b"#" * 1_000_001)
    with pytest.raises(SettingsError, match="no settings"):
        read_limited(tmp_path / "s.toml")


def test_clew_home_moves_everything(tmp_path: Path) -> None:
    own = places({"CLEW_HOME": str(tmp_path / "x")})
    assert (own.data, own.config) == (tmp_path / "x", tmp_path / "x")
    assert own.settings_file == tmp_path / "x" / "settings.toml"


def test_without_clew_home_the_platform_decides(isolated: Path) -> None:
    own = places({})
    assert isolated in own.data.parents
    assert isolated in own.config.parents


@given(st.binary(max_size=200))
def test_no_content_raises_anything_else(content: bytes) -> None:
    said = ""
    try:
        file_layer(content, "s")
    except SettingsError as error:
        said = str(error)
    assert "\n" not in said
