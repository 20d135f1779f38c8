"""`clew export`: a session to read (Markdown, HTML) or to carry elsewhere (JSON lines). A key never goes with it."""

from __future__ import annotations

import contextlib
import os
from collections.abc import AsyncIterator, Callable, Generator, Mapping
from pathlib import Path

import msgspec

from tui.console.readable import Facts, Part, html_end, html_part, html_start, markdown_part, markdown_start, parts_of
from tui.console.readable import when as written
from tui.console.sessions import wanted_session
from tui.log import Damaged, Session, SessionInfo, Store
from tui.log.exporting import branches, export_lines
from tui.models.keys import KEY_ORIGINS
from tui.plain import plain_line
from tui.streams import CannotStartError, say, write_bytes

__all__ = ["ExportCall", "KeyCover", "export_session", "export_to"]

_COVERED = "[a key was taken out]"
_SHORTEST = 8
"""Letters of the shortest thing that is taken for a key: `ollama` is a word."""


class KeyCover:
    """Takes the keys of this environment out of what leaves, and counts them."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        values = {environ.get(name, "").strip() for name in (*KEY_ORIGINS, "CLEW_API_KEY")}
        self._keys = sorted((value for value in values if len(value) >= _SHORTEST), key=len, reverse=True)
        self.count = 0

    def text(self, text: str) -> str:
        """Return words without keys."""
        for key in self._keys:
            self.count += text.count(key)
            text = text.replace(key, _COVERED)
        return text

    def data(self, data: bytes) -> bytes:
        """Return bytes without keys."""
        for key in self._keys:
            self.count += data.count(key.encode())
            data = data.replace(key.encode(), _COVERED.encode())
        return data


class ExportCall(msgspec.Struct, frozen=True):
    """What is exported, and where to."""

    home: Path
    cwd: Path
    wanted: str
    format: str
    """Markdown, unless it says else."""
    output: str
    """A file; empty or - is stdout."""
    environ: Mapping[str, str]


async def export_session(call: ExportCall) -> int:
    """Write a session to stdout or to a new file; return the exit status. Raises as `export_to` does."""
    whole, told = await export_to(call)
    if told:
        say(f"clew: {told}")
    return 0 if whole else 1


async def export_to(call: ExportCall) -> tuple[bool, str]:
    """Write a session; return whether all of it could be read, and what is to be told.

    Raises `LogError`, `OSError`, and `CannotStartError` where the file is there already.
    """
    project, session_id = await wanted_session(call.home, call.cwd, call.wanted)
    cover = KeyCover(call.environ)
    async with await Store.open(call.home, project, read_only=True) as store:
        session = await store.session(session_id, write=False)
        info = await store.info(session_id)
        with _target(call.output) as write:
            try:
                async for part in _content(session, info, call.format, cover):
                    write(part)
            except Damaged as error:
                return False, f"{error} All that can be read was written."
    if cover.count:
        return True, f"a key of yours stood in it {cover.count} time(s) and was taken out; this copy differs there."
    return True, ""


@contextlib.contextmanager
def _target(out: str) -> Generator[Callable[[bytes], None]]:
    """Give what writes: to stdout, or to a new private file, which is taken away again where that fails."""
    if out in ("", "-"):
        yield write_bytes
        return
    path = Path(out)
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise CannotStartError(
            f"{plain_line(out)} is there already; nothing was written. Give another name."
        ) from error
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield lambda content: _written(file.write(content))
            file.flush()
            os.fsync(file.fileno())
    except BaseException:
        path.unlink()
        raise


def _written(_count: int) -> None:
    """Take note of nothing."""


def _content(session: Session, info: SessionInfo, form: str, cover: KeyCover) -> AsyncIterator[bytes]:
    match form:
        case "jsonl":
            return export_lines(session, cover.data)
        case "html":
            return _html(session, info, cover)
        case _:
            return _markdown(session, info, cover)


async def _facts(session: Session, info: SessionInfo, cover: KeyCover) -> Facts:
    return Facts(
        session=info.id,
        title=cover.text(info.title),
        cwd=cover.text(str(info.cwd)),
        begun=written(info.created),
        used=written(info.updated),
        branches=await session.examine(lambda db: branches(db, info.id)),
    )


async def _markdown(session: Session, info: SessionInfo, cover: KeyCover) -> AsyncIterator[bytes]:
    yield _bytes(markdown_start(await _facts(session, info, cover)))
    async for page in session.entries():
        yield _bytes("".join(markdown_part(part) for entry in page for part in parts_of(entry, cover.text)))


async def _html(session: Session, info: SessionInfo, cover: KeyCover) -> AsyncIterator[bytes]:
    rendered = _renderer()
    yield _bytes(html_start(await _facts(session, info, cover)))
    lost: Damaged | None = None
    try:
        async for page in session.entries():
            parts = [part for entry in page for part in parts_of(entry, cover.text)]
            pictures = await _pictures(session, parts)
            yield _bytes("".join(html_part(part, rendered, pictures) for part in parts))
    except Damaged as error:
        lost = error
    yield _bytes(html_end())
    if lost is not None:
        raise lost


async def _pictures(session: Session, parts: list[Part]) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for part in parts:
        data = await session.blob(part.sha256) if part.sha256 else None
        if data is not None:
            found[part.sha256] = data
    return found


def _renderer() -> Callable[[str], str]:
    from markdown_it import MarkdownIt

    # No raw HTML, and no pictures: they would be loaded from wherever a stranger's words say.
    return MarkdownIt("commonmark", {"html": False}).enable("table").disable("image").render


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")
