"""Trust in what a project brings along: its folder `.clew`, bound to the exact content.

Until a person trusts that content nothing in it is used; any later change asks again and shows the
difference. The decision is kept in the user's data folder, where the project cannot reach it. What is
used is what was hashed: the bytes are read once, into memory.
"""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Literal

import msgspec

from tui.plain import plain_line, plain_text

__all__ = ["Decision", "ProjectError", "ProjectFiles", "changes", "read_project", "recall", "remember"]

FOLDER = ".clew"
SETTINGS = "settings.toml"
PROMPTS = "prompts/"
_MOST_FILES = 500
_MOST_BYTES = 2_000_000
_MOST_LINES = 200


class ProjectError(Exception):
    """A `.clew` folder that cannot be trusted as it is. `str()` says why and what to do."""


class ProjectFiles(msgspec.Struct, frozen=True):
    """The content of a project's `.clew`, by path inside it (with `/`)."""

    root: Path
    """The project's real folder."""
    files: Mapping[str, bytes]

    @property
    def matters(self) -> bool:
        """Whether something in it would have an effect."""
        return any(name == SETTINGS or name.startswith(PROMPTS) for name in self.files)

    @property
    def settings(self) -> bytes | None:
        """The settings file, or None."""
        return self.files.get(SETTINGS)

    @property
    def prompts(self) -> dict[str, bytes]:
        """The templates, by file name."""
        return {name.removeprefix(PROMPTS): raw for name, raw in self.files.items() if name.startswith(PROMPTS)}

    @property
    def digest(self) -> str:
        """sha256 over every name and content."""
        parts = (part for name in sorted(self.files) for part in (os.fsencode(name), self.files[name]))
        return _sha256(b"".join(len(part).to_bytes(8, "big") + part for part in parts))


class Decision(msgspec.Struct, frozen=True):
    """What a person decided about one content."""

    project: str
    digest: str
    trusted: bool
    files: Mapping[str, str]
    """The text that was shown, to show the difference next time."""
    version: Literal[1] = 1


def read_project(cwd: Path) -> ProjectFiles | None:
    """Return what the project in `cwd` brings along, or None. Raises `ProjectError`."""
    root = Path(os.path.realpath(cwd))
    folder = root / FOLDER
    if not os.path.lexists(folder):
        return None
    if folder.is_symlink() or not folder.is_dir():
        raise ProjectError(f"{plain_line(str(folder))} is not a folder of its own, so nothing in it is used.")
    files: dict[str, bytes] = {}
    try:
        for path in _paths(folder):
            files[path.relative_to(folder).as_posix()] = _content(path)
            if len(files) > _MOST_FILES or sum(map(len, files.values())) > _MOST_BYTES:
                raise ProjectError(f"{plain_line(str(folder))} is too large to be trusted; nothing in it is used.")
    except OSError as error:
        raise ProjectError(f"{plain_line(str(folder))} cannot be read ({error.strerror}); it is not used.") from error
    return ProjectFiles(root=root, files=files) if files else None


def _paths(folder: Path) -> Iterator[Path]:
    """Yield every file below `folder`. A link would lead to content that is not hashed, so it is refused."""
    for place, folders, names in os.walk(folder, onerror=_raise):
        for name in (*folders, *names):
            if (Path(place) / name).is_symlink():
                shown = plain_line(str(Path(place) / name))
                raise ProjectError(f"{shown} is a link: nothing in {FOLDER} is used until a file is in its place.")
        yield from (Path(place) / name for name in names)


def _raise(error: OSError) -> None:
    raise error


def _content(path: Path) -> bytes:
    # A named pipe would block for ever; a device may never end.
    if not path.is_file():
        raise ProjectError(f"{plain_line(str(path))} is not a regular file: nothing in {FOLDER} is used.")
    with path.open("rb") as file:
        return file.read(_MOST_BYTES + 1)


def _store(home: Path, root: Path) -> Path:
    return home / "trust" / f"{_sha256(os.fsencode(root))}.json"


def recall(home: Path, root: Path) -> Decision | None:
    """Return the decision about the project in `root`; a damaged or missing one is None."""
    try:
        return msgspec.json.decode(_store(home, root).read_bytes(), type=Decision)
    except (OSError, msgspec.MsgspecError):
        return None


def remember(home: Path, project: ProjectFiles, *, trusted: bool) -> None:
    """Keep a decision, readable for this user alone. Raises `OSError`."""
    decision = Decision(
        project=plain_line(str(project.root)),
        digest=project.digest,
        trusted=trusted,
        files={plain_line(name): _as_text(content) for name, content in project.files.items()},
    )
    path = _store(home, project.root)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(msgspec.json.encode(decision))
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def changes(before: Decision | None, project: ProjectFiles) -> str:
    """Return the difference between what was decided about and what is there now, safe to print."""
    old: Mapping[str, str] = {} if before is None else before.files
    new = {plain_line(name): _as_text(content) for name, content in project.files.items()}
    lines: list[str] = []
    for name in sorted({*old, *new}):
        was, now = old.get(name, "").splitlines(), new.get(name, "").splitlines()
        lines += [plain_text(line) for line in difflib.unified_diff(was, now, f"a/{name}", f"b/{name}", lineterm="")]
    if len(lines) > _MOST_LINES:
        lines[_MOST_LINES:] = [f"… {len(lines) - _MOST_LINES} more lines; look at the files before you trust them."]
    return "\n".join(lines)


def _as_text(content: bytes) -> str:
    text = content.decode("utf-8", "replace")
    return f"(binary, sha256 {_sha256(content)})" if "\0" in text else text


def _sha256(content: bytes) -> str:
    import hashlib  # loads OpenSSL: most projects bring nothing along

    return hashlib.sha256(content).hexdigest()
