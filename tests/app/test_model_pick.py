"""`/model` and `/approve`: lists to pick from; local servers are asked only then, and never waited for."""

from __future__ import annotations

import socket
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import msgspec
import pytest
from textual.widgets import OptionList

from tests.app.test_session import Room, room
from tests.app.waiting import page_ready, until
from tui.log.entries import ApprovalMode
from tui.screens.pages import PickPage

pytestmark = pytest.mark.anyio


class Models(BaseHTTPRequestHandler):
    """Says that it offers one model."""

    def do_GET(self) -> None:
        known = self.path == "/v1/models"
        body = msgspec.json.encode({"data": [{"id": "local-model", "max_model_len": 32_000}]} if known else {})
        self.send_response(200 if known else 404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing."""


@contextmanager
def server() -> Generator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Models) as http:
        thread = Thread(target=http.serve_forever)
        thread.start()
        try:
            yield http.server_port
        finally:
            http.shutdown()
            thread.join()


def nobody() -> int:
    """Return a port at which nothing listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def page(here: Room) -> PickPage:
    await page_ready(here.pilot, PickPage)
    shown = here.app.screen
    assert isinstance(shown, PickPage)
    await until(here.pilot, lambda: shown.query(OptionList), "its rows")
    return shown


def rows(shown: PickPage) -> list[str]:
    options = shown.query_one(OptionList)
    return [str(options.get_option_at_index(at).prompt) for at in range(options.option_count)]


async def test_a_model_of_a_local_server_can_be_picked(tmp_path: Path) -> None:
    with server() as port:
        async with room(tmp_path, local_ports=(nobody(), port)) as here:
            await here.say("/model")
            shown = await page(here)
            await until(here.pilot, lambda: len(rows(shown)) == 2, "the server's model")
            assert rows(shown)[0].endswith("answers now")
            assert rows(shown)[1].split() == ["local-model", f"127.0.0.1:{port}", "32k"]
            await here.pilot.press("end", "enter")
            await until(here.pilot, lambda: here.link.agent.model_info.id == "local-model", "the model")
            assert here.link.agent.model_info.window == 32_000


async def test_without_a_server_the_list_says_what_can_be_done(tmp_path: Path) -> None:
    async with room(tmp_path, local_ports=(nobody(),)) as here:
        await here.say("/model")
        shown = await page(here)
        await until(here.pilot, lambda: "--base-url" in str(shown.query(".page-below").first().render()), "the word")
        assert len(rows(shown)) == 1
        await here.pilot.press("escape")
        await until(here.pilot, lambda: here.app.screen is here.app.main, "the way back")


async def test_how_much_is_asked_can_be_picked(tmp_path: Path) -> None:
    async with room(tmp_path) as here:
        await here.say("/approve")
        shown = await page(here)
        assert [row.split()[0] for row in rows(shown)] == ["ask", "edits", "all"]
        await here.pilot.press("down", "enter")
        await until(here.pilot, lambda: here.link.agent.approval == "edits", "the mode")
        assert here.kind(ApprovalMode) == [ApprovalMode("edits")]
