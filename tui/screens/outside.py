"""What happens outside the screen: the clipboard, the pager, the person's editor. The session goes on meanwhile."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from subprocess import DEVNULL, PIPE

from textual import on
from textual.app import App

from tui.screens.reading import ReadingBars
from tui.widgets.clipboard import native_commands, osc52

__all__ = ["OutsideApp", "editor_command", "pager_command"]

_PATIENCE = 5.0
"""Seconds a clipboard program may take."""


def editor_command(environ: Mapping[str, str]) -> list[str]:
    """Return the person's editor. Raises `ValueError` where it cannot be read as a command."""
    import shlex

    return shlex.split(environ.get("VISUAL") or environ.get("EDITOR") or "vi")


def pager_command(environ: Mapping[str, str]) -> list[str]:
    """Return the person's pager. Raises `ValueError` where it cannot be read as a command."""
    import shlex

    return shlex.split(environ.get("PAGER") or "less")


def _counted(text: str) -> str:
    lines = text.count("\n") + 1
    return f"{lines:,} lines" if lines > 1 else f"{len(text):,} characters"


class OutsideApp(App[int], inherit_bindings=False):
    """An app that can hand the terminal to another program and have it back."""

    @on(ReadingBars.CopyAsked)
    def _copy(self, event: ReadingBars.CopyAsked) -> None:
        async def copy() -> None:
            self.say(await self.put_on_clipboard(event.text, self.environ))

        self.run_worker(copy(), group="clipboard", exclusive=True)

    @on(ReadingBars.OpenAsked)
    def _open_block(self, event: ReadingBars.OpenAsked) -> None:
        where = self.page if event.where == "page" else self.edit
        self.run_worker(where(event.text), group="outside", exclusive=True)

    @property
    def environ(self) -> Mapping[str, str]:
        """The environment the app was started in."""
        raise NotImplementedError

    def say(self, text: str) -> None:
        """Tell the person."""
        raise NotImplementedError

    def to_terminal(self, data: str) -> None:
        """Write a sequence of our own making to the terminal."""
        if self._driver is not None:
            self._driver.write(data)

    async def put_on_clipboard(self, text: str, environ: Mapping[str, str]) -> str:
        """Copy `text`; return what is known of it, for the person."""
        sequence = osc52(text, environ)
        self.to_terminal(sequence)
        for command in native_commands(environ, sys.platform):
            if await _feed(command, text):
                return f"Copied {_counted(text)}"
        if sequence:
            return f"Sent {_counted(text)} to the terminal; it does not say whether it took them"
        return "Too long for the terminal's clipboard, and no clipboard program is here; open it in the editor (e)"

    async def run_outside(self, argv: Sequence[str]) -> int | None:
        """Give the terminal to a program until it ends; return its status, or None where it cannot be started."""
        if shutil.which(argv[0]) is None:
            return None
        with self.suspend(), _interrupts_are_not_ours():
            process = await asyncio.create_subprocess_exec(*argv)
            status = await process.wait()
        self.refresh(layout=True)
        return status

    async def page(self, text: str) -> None:
        """Show a text in the pager."""
        async with _file(text, "clew.md") as path:
            await self._open(pager_command, path)

    async def edit(self, text: str) -> str | None:
        """Open a text in the person's editor; return what it is now, or None where it could not be edited."""
        async with _file(text, "clew.md") as path:
            if not await self._open(editor_command, path):
                return None
            try:
                return path.read_text(encoding="utf-8")
            except (OSError, UnicodeDecodeError) as error:
                self.say(f"What the editor wrote cannot be read ({error}); the text is as it was")
                return None

    async def _open(self, command: Callable[[Mapping[str, str]], list[str]], path: Path) -> bool:
        try:
            argv = command(self.environ)
        except ValueError as error:
            self.say(f"The command in VISUAL, EDITOR or PAGER cannot be read: {error}")
            return False
        status = await self.run_outside([*argv, str(path)])
        if status is None:
            self.say(f"{argv[0] if argv else 'The program'} is not installed; set VISUAL, EDITOR or PAGER")
        elif status:
            self.say(f"{argv[0]} ended with status {status}; the text is as it was")
        return status == 0


@contextmanager
def _interrupts_are_not_ours() -> Generator[None]:
    """Leave Ctrl+C to the program that has the terminal: the kernel sends it to both."""
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(signal.SIGINT, lambda: None)
    try:
        yield
    finally:
        loop.remove_signal_handler(signal.SIGINT)


@asynccontextmanager
async def _file(text: str, name: str) -> AsyncGenerator[Path]:
    """Hold a text in a private file while it is needed."""
    folder = Path(tempfile.mkdtemp(prefix="clew-"))
    path = folder / name
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(text)
        yield path
    finally:
        shutil.rmtree(folder, ignore_errors=True)


async def _feed(command: Sequence[str], text: str) -> bool:
    """Give a program its input; return whether it took it."""
    if shutil.which(command[0]) is None:
        return False
    process = await asyncio.create_subprocess_exec(*command, stdin=PIPE, stdout=DEVNULL, stderr=DEVNULL)
    try:
        await asyncio.wait_for(process.communicate(text.encode("utf-8", "replace")), _PATIENCE)
    except TimeoutError:
        process.kill()
        await process.wait()
    return process.returncode == 0
