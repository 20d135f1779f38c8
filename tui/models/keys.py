"""API keys: where they come from, and the one place each may be sent to.

A key is bound to scheme, host and port. The key of one provider never travels to another address,
whatever a project's files or a redirect say; a key for any other address is named with that address.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any, NoReturn
from urllib.parse import urlsplit

from tui.models.base import AuthFailed, BadRequest

__all__ = ["KEY_ORIGINS", "Secret", "from_keyring", "is_loopback", "key_for", "origin", "secret"]

KEY_ORIGINS: Mapping[str, str] = {
    "ANTHROPIC_API_KEY": "https://api.anthropic.com:443",
    "OPENAI_API_KEY": "https://api.openai.com:443",
    "OPENROUTER_API_KEY": "https://openrouter.ai:443",
    "DEEPSEEK_API_KEY": "https://api.deepseek.com:443",
    "MISTRAL_API_KEY": "https://api.mistral.ai:443",
    "GROQ_API_KEY": "https://api.groq.com:443",
    "XAI_API_KEY": "https://api.x.ai:443",
    "GEMINI_API_KEY": "https://generativelanguage.googleapis.com:443",
    "TOGETHER_API_KEY": "https://api.together.xyz:443",
    "MOONSHOT_API_KEY": "https://api.moonshot.ai:443",
    "CEREBRAS_API_KEY": "https://api.cerebras.ai:443",
}
"""Which environment variable holds the key of which origin (scheme, host and port)."""

_PORTS = {"https": 443, "http": 80}


class Secret:
    """A key. Shows itself only through `reveal`; never in text, logs, tracebacks or pickles."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """Return the key itself. Only the line that writes the header calls this."""
        return self._value

    def __repr__(self) -> str:
        return "Secret('***')"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and other.reveal() == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __reduce__(self) -> NoReturn:
        raise TypeError("A secret is not copied or stored.")


def secret(value: str, name: str) -> Secret:
    """Return `value` as a key, without the blanks and line ends that copying adds.

    Raises `AuthFailed` where it holds what no HTTP header can: the message names the variable, never the value.
    """
    stripped = value.strip()
    if not stripped.isascii() or not stripped.isprintable() or " " in stripped:
        raise AuthFailed(f"The key in {name} holds blanks or letters that no key has. Copy it again.")
    return Secret(stripped)


def origin(url: str) -> str:
    """Return scheme, host and port of `url`, lower case, the port always given. Raises `BadRequest`."""
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise BadRequest("The base URL is not a valid address. Give one like https://host/v1.") from None
    if parts.scheme not in _PORTS or not parts.hostname:
        raise BadRequest("The base URL must begin with http:// or https:// and name a host.")
    if parts.username is not None or parts.password is not None:
        raise BadRequest("The base URL holds a user name or password. Put the key into CLEW_API_KEY instead.")
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return f"{parts.scheme}://{host}:{port or _PORTS[parts.scheme]}"


def is_loopback(url: str) -> bool:
    """Whether `url` names this machine."""
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")


def from_keyring(where: str) -> str | None:
    """Return the password of service `clew` and user `where` from the OS keyring, where one can be used."""
    try:
        keyring: Any = importlib.import_module("keyring")
        errors: Any = importlib.import_module("keyring.errors")
    except ImportError:
        return None
    try:
        found: str | None = keyring.get_password("clew", where)
    except errors.KeyringError:  # no backend, locked, or refused: the same as having no key there
        return None
    return found


def key_for(
    base_url: str,
    environ: Mapping[str, str],
    *,
    explicit: bool = False,
    lookup: Callable[[str], str | None] = from_keyring,
) -> Secret | None:
    """Return the key for `base_url`, or None where there is none for exactly that origin.

    `explicit`: the person named this address themselves, so `CLEW_API_KEY` is meant for it; with
    `CLEW_BASE_URL` set as well the key is bound to that address alone. Raises `AuthFailed` for a broken key.
    """
    where = origin(base_url)
    own = environ.get("CLEW_API_KEY", "").strip()
    bound = environ.get("CLEW_BASE_URL", "").strip()
    if own and (origin(bound) == where if bound else explicit):
        return secret(own, "CLEW_API_KEY")
    for name, known in KEY_ORIGINS.items():
        if known == where and environ.get(name, "").strip():
            return secret(environ[name], name)
    stored = None if is_loopback(base_url) else lookup(where)
    return secret(stored, "the keyring") if stored and stored.strip() else None
