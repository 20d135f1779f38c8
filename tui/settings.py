"""Settings: flags over environment over the trusted project's file over the user's file over defaults.

One table, `KEYS`, names every setting with its words in each of those places and what it accepts.
A key nobody knows is reported and ignored; a value that cannot be used is an error, since guessing
another model, address or approval mode in its place would be worse than not starting.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from pathlib import Path
from typing import Literal, TypeAlias, cast
from urllib.parse import urlsplit

import msgspec

__all__ = [
    "KEYS",
    "ApproveMode",
    "Key",
    "Layer",
    "ModelSettings",
    "NotifyWord",
    "Places",
    "ResumeView",
    "Settings",
    "SettingsError",
    "environment_layer",
    "file_layer",
    "flag_layer",
    "merge",
    "places",
    "read_limited",
]

CompactionWord: TypeAlias = Literal["self", "auto", "off"]
EffortWord: TypeAlias = Literal["off", "low", "medium", "high"]
FailureWord: TypeAlias = Literal["lock", "pointer"]
EditingWord: TypeAlias = Literal["emacs", "vim"]
NotifyWord: TypeAlias = Literal["off", "bell", "terminal", "both"]
ApproveMode: TypeAlias = Literal["ask", "edits", "all"]
ResumeView: TypeAlias = Literal["auto", "checkpoint", "full"]
Value: TypeAlias = str | int
Raw: TypeAlias = object
"""What TOML, the environment or a flag gave: not checked yet."""

FILE_LIMIT = 1_000_000
"""Bytes of a settings file that are read."""
_WHOLE_LIMIT = 2**53 - 1


class SettingsError(Exception):
    """A setting that cannot be used. `str()` is one sentence that names where it stands."""


class Places(msgspec.Struct, frozen=True):
    """Where a user's things are kept. With `CLEW_HOME` both are that folder."""

    data: Path
    """Sessions, trust, crash reports."""
    config: Path
    """`settings.toml`, themes, prompts."""

    @property
    def prompts(self) -> Path:
        """Where the user's own `soft.md`, `warning.md` and `summary.md` may lie."""
        return self.config / "prompts"

    @property
    def settings_file(self) -> Path:
        """The user's settings."""
        return self.config / "settings.toml"


class ModelSettings(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is set for one model alone, under `[models."its id"]`."""

    window: int | None = None
    effort: EffortWord | None = None
    compact_soft_at: str | None = None
    compact_at: str | None = None
    compact_buffer: str | None = None
    compact_prompt: str | None = None


class Settings(msgspec.Struct, frozen=True, omit_defaults=True):
    """Everything a person can set. None or empty means: not set, so the program decides."""

    model: str = ""
    provider: str = ""
    base_url: str = ""
    window: int | None = None
    """Tokens."""
    approve: ApproveMode | None = None
    theme: str = ""
    model_idle: int | None = None
    """Seconds the model's server may send nothing; None is as long as each phase usually takes."""
    bash_timeout: int | None = None
    """Seconds a command may run where the call names no limit."""
    compaction: CompactionWord | None = None
    effort: EffortWord | None = None
    """How much the model is asked to think before it answers; None and off ask for nothing."""
    compact_soft_at: str | None = None
    compact_at: str | None = None
    compact_buffer: str | None = None
    compact_prompt: str | None = None
    """Raw, like the thresholds above: judged where they are used, together with the window."""
    on_summary_failure: FailureWord | None = None
    summary_model: str = ""
    """Empty: the model in force writes the summaries."""
    summary_provider: str = ""
    summary_base_url: str = ""
    summary_idle: int | None = None
    """Seconds without a byte."""
    summary_total: int | None = None
    """Seconds for one request to a server elsewhere."""
    most_checkpoints: int | None = None
    """In a row, with no work between them."""
    editing: EditingWord | None = None
    """Whose keys the editor knows beside the arrows."""
    notify: NotifyWord | None = None
    """How a person is called who looks elsewhere."""
    notify_after: int | None = None
    """Seconds of work after which its end is told."""
    keys: Mapping[str, str] = {}
    """Other keys for bindings, by the id of each; several are separated by commas."""
    resume_view: ResumeView | None = None
    resume_budget: int | None = None
    """Bytes of UTF-8 the first request after a start may have; for this start alone."""
    followup_budget: int | None = None
    """The same for every start; above it a summary for next time is made."""
    checkpoint_idle: int | None = None
    """Seconds of rest after which that summary is made unasked."""
    shutdown_grace: int | None = None
    """Seconds the program waits at its end for a request to be really over."""
    models: Mapping[str, ModelSettings] = {}
    explicit: frozenset[str] = frozenset()
    """Names set by flag or environment: these win over what is set for one model."""

    def for_model(self, model: str) -> Settings:
        """Return the settings with what is set for `model` alone put in."""
        own = self.models.get(model)
        if own is None:
            return self
        values = {name: value for name, value in msgspec.structs.asdict(own).items() if value is not None}
        return msgspec.structs.replace(self, **{n: v for n, v in values.items() if n not in self.explicit})

    @property
    def tools(self) -> dict[str, int]:
        """What tools are told, by the names they know."""
        return {} if self.bash_timeout is None else {"bash.timeout": self.bash_timeout}


class Key(msgspec.Struct, frozen=True):
    """One setting: its field, its words in a file, the environment and among the flags, and its check."""

    name: str
    accept: Callable[[Raw], Value]
    """Returns the value, or raises `ValueError` with what it must be."""
    help: str
    metavar: str = ""
    path: str = ""
    """Dotted place in the file, where it is not the name."""
    flag: bool = True
    per_model: bool = False
    secret: bool = False
    """Never repeated in a message: it may carry a password by mistake."""

    @property
    def place(self) -> str:
        """Its dotted place in a settings file."""
        return self.path or self.name

    @property
    def env(self) -> str:
        """Its environment variable."""
        return "CLEW_" + self.name.upper()

    @property
    def option(self) -> str:
        """Its flag."""
        return "--" + self.name.replace("_", "-")


class Layer(msgspec.Struct, frozen=True):
    """What one source sets, already checked."""

    values: Mapping[str, Value] = {}
    models: Mapping[str, Mapping[str, Value]] = {}
    keys: Mapping[str, str] = {}
    notices: tuple[str, ...] = ()
    explicit: bool = False


_NO_SETTINGS = frozenset(
    ["CLEW_API_KEY", "CLEW_ASCII", "CLEW_CALL", "CLEW_CYCLES", "CLEW_FRAME", "CLEW_HOME", "CLEW_REDUCED_MOTION"]
)
"""Variables of clew and of its tests that are no settings."""


def places(environ: Mapping[str, str]) -> Places:
    """Return where this user's data and settings are. Raises `SettingsError`."""
    home = environ.get("CLEW_HOME")
    if home:
        folder = _own_folder(home)
        return Places(data=folder, config=folder)
    from platformdirs import PlatformDirs

    dirs = PlatformDirs("clew", appauthor=False)
    return Places(data=Path(dirs.user_data_dir), config=Path(dirs.user_config_dir))


def _own_folder(home: str) -> Path:
    advice = "Name a folder, or one that can be made."
    try:
        folder = Path.cwd() / Path(home).expanduser()
        taken = folder.exists() and not folder.is_dir()
    except (OSError, RuntimeError, ValueError):
        raise SettingsError(f"CLEW_HOME = {_shown(home)} cannot be used as a folder. {advice}") from None
    if taken:
        raise SettingsError(f"CLEW_HOME = {_shown(home)} is a file, not a folder. {advice}")
    return folder


def _one_of(*words: str) -> Callable[[Raw], Value]:
    def accept(value: Raw) -> Value:
        if isinstance(value, str) and value in words:
            return value
        raise ValueError(f"it must be one of {', '.join(words)}")

    return accept


def _whole(low: int, high: int, unit: str) -> Callable[[Raw], Value]:
    def accept(value: Raw) -> Value:
        if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 18:
            value = int(value)
        if type(value) is int and low <= value <= high:
            return value
        raise ValueError(f"it must be a whole number of {unit}, from {low} to {high}")

    return accept


def _word(value: Raw) -> Value:
    if isinstance(value, str) and value.strip() == value and value.isprintable() and 0 < len(value) <= 500:
        return value
    raise ValueError("it must be a name: printable, not blank, without blanks around it")


def _address(value: Raw) -> Value:
    wanted = "it must be an address like http://localhost:8080/v1, without a user name, password, ? or #"
    if not isinstance(value, str) or not value.isprintable() or " " in value or "\\" in value:
        raise ValueError(wanted)
    try:
        parts = urlsplit(value)
        sound = parts.scheme in ("http", "https") and parts.hostname and (parts.port is None or parts.port > 0)
    except ValueError:
        raise ValueError(wanted) from None
    # Whatever is in front of an @ would end up in logs and errors; keys come from the environment.
    if not sound or "@" in parts.netloc or "?" in value or "#" in value:
        raise ValueError(wanted)
    return value


def _raw(value: Raw) -> Value:
    if isinstance(value, str):
        return value
    if type(value) is int:
        return str(value)
    raise ValueError('it must be a text like "60%" or a whole number')


def _text(value: Raw) -> Value:
    if isinstance(value, str):
        return value
    raise ValueError("it must be a text")


_PROVIDER = _one_of("anthropic", "openai-chat", "openai-responses", "rehearsal")

KEYS = (
    Key("model", _word, "the model to use, by its id", "ID"),
    Key(
        "provider",
        _PROVIDER,
        "how to talk to it: anthropic, openai-chat, openai-responses or rehearsal",
        "NAME",
    ),
    Key("base_url", _address, "the server's address, for local and other servers", "URL", secret=True),
    Key("window", _whole(1, _WHOLE_LIMIT, "tokens"), "the size of its context window, in tokens", "N", per_model=True),
    Key("model_idle", _whole(1, 86_400, "seconds"), "how long the model may send nothing, in seconds", flag=False),
    Key("approve", _one_of("ask", "edits", "all"), "what tools may do unasked: ask, edits or all", "MODE"),
    Key("theme", _word, "the theme of the screen", "NAME"),
    Key("notify", _one_of("off", "bell", "terminal", "both"), "how you are called when you look elsewhere", flag=False),
    Key("notify_after", _whole(0, 86_400, "seconds"), "seconds of work after which its end is told", flag=False),
    Key("editing", _one_of("emacs", "vim"), "the editor's keys: emacs or vim", "WORD", flag=False),
    Key(
        "bash_timeout",
        _whole(1, 86_400, "seconds"),
        "how long a command may run, in seconds",
        "N",
        path="bash.timeout",
        flag=False,
    ),
    Key(
        "effort",
        _one_of("off", "low", "medium", "high"),
        "how much the model thinks before it answers: off, low, medium or high",
        "LEVEL",
        flag=False,
        per_model=True,
    ),
    Key("compaction", _one_of("self", "auto", "off"), "self, auto or off", "MODE", flag=False),
    Key("compact_soft_at", _raw, "where the agent is told: 90000, 90k or 60%", "N", per_model=True),
    Key("compact_at", _raw, "where it is told to hand over: tokens or a share of the window", "N", per_model=True),
    Key("compact_buffer", _raw, "how far above that tools stop until it has", "N", per_model=True),
    Key(
        "resume_view",
        _one_of("auto", "checkpoint", "full"),
        "what -c and -r begin from: auto, checkpoint or full",
        "VIEW",
    ),
    Key("resume_budget", _whole(1, _WHOLE_LIMIT, "bytes"), "bytes the first request after -c or -r may have", "N"),
    Key("followup_budget", _whole(1, _WHOLE_LIMIT, "bytes"), "the same for every start", "N", flag=False),
    Key("checkpoint_idle", _whole(1, 86_400, "seconds"), "rest before a summary for next time", "N", flag=False),
    Key("shutdown_grace", _whole(1, 600, "seconds"), "how long the end waits for a request", "N", flag=False),
    Key("compact_prompt", _text, "the instruction for summaries, word for word", "TEXT", per_model=True),
    Key("on_summary_failure", _one_of("lock", "pointer"), "lock, or pointer: go on without a summary", flag=False),
    Key("summary_model", _word, "the model that writes the summaries", flag=False),
    Key("summary_provider", _PROVIDER, "how to talk to it", flag=False),
    Key("summary_base_url", _address, "its server's address", flag=False, secret=True),
    Key("summary_idle", _whole(1, 86_400, "seconds"), "how long a summary may send nothing, in seconds", flag=False),
    Key("summary_total", _whole(1, 86_400, "seconds"), "how long one may take, in seconds", flag=False),
    Key("most_checkpoints", _whole(1, 1_000, "checkpoints"), "how many may be made without work", flag=False),
)
_BY_PLACE = {key.place: key for key in KEYS}
_TABLES = {place.partition(".")[0] for place in _BY_PLACE if "." in place} | {"models", "keys"}


def _check(key: Key, value: Raw, source: str, word: str) -> Value:
    try:
        return key.accept(value)
    except ValueError as error:
        shown = "" if key.secret else f" = {_shown(value)}"
        raise SettingsError(f"{source}: {word}{shown} cannot be used: {error}.") from None


def _shown(value: Raw) -> str:
    """Return the value for a message: one short ASCII line, whatever is in it."""
    import json

    text = json.dumps(value, default=str)
    return text if len(text) <= 80 else text[:77] + "..."


def flag_layer(flags: Mapping[str, str | None]) -> Layer:
    """Return what the flags set; None is a flag that was not given. Raises `SettingsError`."""
    given = ((key, flags.get(key.name)) for key in KEYS)
    values = {key.name: _check(key, value, "Arguments", key.option) for key, value in given if value is not None}
    return Layer(values=values, explicit=True)


def environment_layer(environ: Mapping[str, str]) -> Layer:
    """Return what the environment sets; an empty variable sets nothing. Raises `SettingsError`."""
    given = ((key, environ.get(key.env, "")) for key in KEYS)
    return Layer(
        values={key.name: _check(key, value, "Environment", key.env) for key, value in given if value},
        notices=_strangers(environ),
        explicit=True,
    )


def _strangers(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return a notice for each variable that looks like one of clew's and is none."""
    known = {key.env for key in KEYS} | _NO_SETTINGS
    strange = sorted(name for name in environ if name.startswith("CLEW_") and name not in known)
    return tuple(f"Environment: {_shown(name)} is unknown and ignored.{_meant(name, known)}" for name in strange)


def _meant(name: str, known: Collection[str]) -> str:
    from difflib import get_close_matches  # only where something is wrong

    near = get_close_matches(name, known, 1, 0.8)
    return f" Is {near[0]} meant?" if near else ""


def read_limited(path: Path) -> bytes | None:
    """Return a settings file's bytes, or None where there is no such file. Raises `SettingsError`."""
    try:
        if not path.exists():
            return None
        if not path.is_file():
            raise SettingsError(f"{path}: it must be a file.")
        with path.open("rb") as file:
            content = file.read(FILE_LIMIT + 1)
    except OSError as error:
        raise SettingsError(f"{path}: cannot be read: {error.strerror}.") from error
    if len(content) > FILE_LIMIT:
        raise SettingsError(f"{path}: more than {FILE_LIMIT:,} bytes are no settings.")
    return content


def file_layer(content: bytes | None, source: str) -> Layer:
    """Return what a settings file sets. `source` names it in messages. Raises `SettingsError`."""
    if content is None:
        return Layer()
    try:
        document = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise SettingsError(f"{source}: it is not UTF-8 (at byte {error.start}).") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(f"{source}: it is not TOML: {str(error).rstrip('.')}.") from None
    except RecursionError:
        raise SettingsError(f"{source}: it is nested too deeply.") from None
    return _document_layer(document, source)


def _document_layer(document: Mapping[str, Raw], source: str) -> Layer:
    values: dict[str, Value] = {}
    notices: list[str] = []
    for place, value in _flat(document, source):
        key = _BY_PLACE.get(place)
        if key is None:
            notices.append(f"{source}: the key {_shown(place)} is unknown and ignored.")
        else:
            values[key.name] = _check(key, value, source, place)
    models, more = _models(document.get("models", {}), source)
    keys = _keys(document.get("keys", {}), source)
    return Layer(values=values, models=models, keys=keys, notices=(*notices, *more))


def _keys(table: Raw, source: str) -> dict[str, str]:
    """Return the `[keys]` table; which ids and keys there are is known to the screen alone."""
    keys: dict[str, str] = {}
    for name, value in cast("dict[str, Raw]", table).items():
        if isinstance(value, dict):  # without quotes, TOML reads the dot of an id as a table
            inner = _keys(cast("dict[str, Raw]", value), source)
            keys.update({f"{name}.{rest}": word for rest, word in inner.items()})
        elif isinstance(value, str) and value.isprintable() and len(value) <= 200:
            keys[name] = value
        else:
            raise SettingsError(f"{source}: keys.{_shown(name)} = {_shown(value)} cannot be used: it must be a text.")
    return keys


def _flat(document: Mapping[str, Raw], source: str) -> Iterator[tuple[str, Raw]]:
    """Yield each dotted place and its value, the tables of models left out."""
    for name, value in document.items():
        if name in _TABLES and not isinstance(value, dict):
            raise SettingsError(f"{source}: {name} must be a table.")
        if name in _TABLES and name not in ("models", "keys"):
            yield from ((f"{name}.{inner}", item) for inner, item in cast("dict[str, Raw]", value).items())
        elif name not in ("models", "keys"):
            yield name, value


def _models(tables: Raw, source: str) -> tuple[dict[str, dict[str, Value]], list[str]]:
    models: dict[str, dict[str, Value]] = {}
    notices: list[str] = []
    for model, table in cast("dict[str, Raw]", tables).items():
        where = f"models.{_shown(model)}"
        if not isinstance(table, dict):
            raise SettingsError(f"{source}: {where} must be a table.")
        models[model] = {}
        for name, value in cast("dict[str, Raw]", table).items():
            key = _BY_PLACE.get(name)
            if key is None or not key.per_model:
                notices.append(f"{source}: the key {where}.{_shown(name)} is unknown and ignored.")
            else:
                models[model][key.name] = _check(key, value, source, f"{where}.{name}")
    return models, notices


def merge(layers: tuple[Layer, ...]) -> Settings:
    """Return the settings of all layers, the weakest first."""
    values: dict[str, Value] = {}
    models: dict[str, dict[str, Value]] = {}
    explicit: set[str] = set()
    keys: dict[str, str] = {}
    for layer in layers:
        values.update(layer.values)
        keys.update(layer.keys)
        explicit.update(layer.values if layer.explicit else ())
        for model, own in layer.models.items():
            models.setdefault(model, {}).update(own)
    return msgspec.convert({**values, "models": models, "keys": keys, "explicit": explicit}, Settings)
