"""`clew export` and `clew import`, as processes: what is written, where to, and what never is."""

from __future__ import annotations

import json
import os
import stat
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.cli.support import clew
from tui.console.readable import Part, html_part, markdown_part
from tui.log import Store
from tui.log.entries import Answer, Body, Checkpoint, ModelChosen, Note, Notice, Prompt, Result, Settled, ToolStarted
from tui.messages import (
    AssistantMessage,
    Attachment,
    Image,
    StopReason,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    UserMessage,
)

pytestmark = pytest.mark.anyio
KEY = "sk-ant-0123456789abcdef"
EVIL = "<script>alert(1)</script> [x](javascript:alert(1)) ![t](http://tracker.example/p.png) \x1b]52;c;YQ==\x07 </pre>"


@pytest.fixture
def home(isolated: Path) -> Path:
    return isolated / "clew"


def bodies(sha256: str = "") -> list[Body]:
    call = ToolCall(id="c1", name="bash", arguments={"command": "echo `date` ```"})
    return [
        ModelChosen(provider="rehearsal", model="rehearsal"),
        Prompt(
            UserMessage((Text(f"# Fix it\n{EVIL}"), Attachment("stdin", f"piped {KEY}"), Image(sha256, "image/png")))
        ),
        Answer(
            AssistantMessage((Thinking("hm"), Text(f"I look.\n```\n{EVIL}"), call), StopReason.TOOL_CALLS, model="m")
        ),
        ToolStarted("c1", "bash"),
        Result(ToolResult("c1", "bash", (Text(f"````\n{EVIL}\nkey {KEY}"),), is_error=True)),
        Note("n1", f"note {EVIL}"),
        Checkpoint("self", "a", "b", 3, f"Summary with **bold** {EVIL}"),
        Notice("said once"),
        Settled("interrupted", "The program ended."),
    ]


async def make(home: Path, project: Path) -> str:
    async with await Store.open(home, project) as store:
        session = await store.create(cwd=project)
        sha256 = await session.put_blob(b"\x89PNG picture")
        await session.append(*bodies(sha256))
        await session.put_blob(f"whole output with {KEY}".encode())
        return session.id


class Page(HTMLParser):
    """What a page holds that is not text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.on: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.loaded += [value or "" for name, value in attrs if name in ("src", "srcset", "data", "poster")]
        self.links += [value or "" for name, value in attrs if name == "href"]
        self.on += [name for name, _ in attrs if name.startswith("on")]


async def test_a_page_is_whole_in_itself_and_runs_nothing(home: Path, tmp_path: Path) -> None:
    session = await make(home, tmp_path)
    done = clew("export", session, "--format", "html", cwd=tmp_path)
    text = done.stdout.decode()
    page = Page(text)
    assert done.returncode == 0
    assert not page.tags & {"script", "link", "iframe", "object", "form", "base"}
    assert page.on == []
    assert len(page.loaded) == 1
    assert page.loaded[0].startswith("data:image/png;base64,")
    assert not [link for link in page.links if not link.startswith("http")]
    assert "<strong>bold</strong>" in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "default-src 'none'" in text


async def test_markdown_keeps_its_structure_whatever_was_said(home: Path, tmp_path: Path) -> None:
    session = await make(home, tmp_path)
    text = clew("export", session, "--format", "md", cwd=tmp_path).stdout.decode()
    outside: list[str] = []
    fence = ""
    for line in text.split("\n"):
        if not fence and line.startswith("```"):
            fence = line
        elif fence and line == fence:
            fence = ""
        elif not fence:
            outside.append(line)
    assert fence == ""
    assert [line.split(" · ")[0] for line in outside if line.startswith("#")] == [
        "# \\# Fix it",
        "## You",
        "## m",
        "## Note to self",
        "## Checkpoint (self)",
    ]
    assert "> # Fix it" in outside
    assert "\x1b" not in text


@pytest.mark.parametrize("form", ["md", "html", "jsonl"])
async def test_a_key_is_never_in_it(home: Path, tmp_path: Path, form: str) -> None:
    session = await make(home, tmp_path)
    done = clew("export", session, "--format", form, cwd=tmp_path, env={"ANTHROPIC_API_KEY": KEY})
    assert done.returncode == 0
    assert KEY.encode() not in done.stdout
    assert b"a key was taken out" in done.stdout
    assert b"was taken out" in done.stderr
    assert KEY.encode() in clew("export", session, "--format", form, cwd=tmp_path).stdout


async def test_a_blob_with_a_key_stays_here(home: Path, tmp_path: Path) -> None:
    async with await Store.open(home, tmp_path) as store:
        session = await store.create(cwd=tmp_path)
        sha256 = await session.put_blob(f"env: {KEY}".encode())
        await session.append(Result(ToolResult("c1", "bash", (Text("cut"),)), blob=sha256))
    done = clew("export", session.id, "--format", "jsonl", cwd=tmp_path, env={"OPENAI_API_KEY": KEY})
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert [line["lost"] for line in lines if "blob" in line] == ["it holds a key"]


@pytest.mark.parametrize("umask", [0o000, 0o022])
async def test_a_file_is_private_and_never_written_over(home: Path, tmp_path: Path, umask: int) -> None:
    session = await make(home, tmp_path)
    before = os.umask(umask)
    try:
        done = clew("export", session, "-o", "out.md", cwd=tmp_path)
    finally:
        os.umask(before)
    path = tmp_path / "out.md"
    assert (done.returncode, done.stdout) == (0, b"")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    content = path.read_bytes()
    again = clew("export", session, "-o", "out.md", cwd=tmp_path)
    assert again.returncode == 1
    assert b"already" in again.stderr
    assert path.read_bytes() == content


async def test_a_round_trip_through_files(home: Path, tmp_path: Path) -> None:
    session = await make(home, tmp_path)
    assert clew("export", session, "--format", "jsonl", "-o", "one.jsonl", cwd=tmp_path).returncode == 0
    other = {"CLEW_HOME": str(tmp_path / "other-home")}
    done = clew("import", "one.jsonl", cwd=tmp_path, env=other)
    assert done.returncode == 0
    assert f"clew -r {session}".encode() in done.stdout
    clew("export", session, "--format", "jsonl", "-o", "two.jsonl", cwd=tmp_path, env=other)
    assert (tmp_path / "two.jsonl").read_bytes() == (tmp_path / "one.jsonl").read_bytes()


async def test_an_import_says_what_it_could_not_use(home: Path, tmp_path: Path) -> None:
    session = await make(home, tmp_path)
    lines = clew("export", session, "--format", "jsonl", cwd=tmp_path).stdout.splitlines(keepends=True)
    (tmp_path / "cut.jsonl").write_bytes(b"".join([*lines[:4], b'{"hello":\n', *lines[4:-1]]))
    other = {"CLEW_HOME": str(tmp_path / "other-home")}
    done = clew("import", "cut.jsonl", cwd=tmp_path, env=other)
    assert done.returncode == 1
    assert b"line 5: not-json:" in done.stderr
    assert b"cut-short" in done.stderr
    assert b"9 entries" in done.stdout
    assert session.encode() in clew("sessions", cwd=tmp_path, env=other).stdout


@pytest.mark.parametrize("name", ["", "nowhere.jsonl", "."])
def test_a_file_that_is_not_there_is_one_sentence(tmp_path: Path, name: str) -> None:
    done = clew(*["import", *([name] if name else [])], cwd=tmp_path)
    assert done.returncode == (1 if name else 2)
    assert len(done.stderr.splitlines()) == 1


async def test_the_same_session_is_not_imported_into_another_project(home: Path, tmp_path: Path) -> None:
    session = await make(home, tmp_path)
    clew("export", session, "--format", "jsonl", "-o", "one.jsonl", cwd=tmp_path)
    (tmp_path / "elsewhere").mkdir()
    done = clew("import", "../one.jsonl", cwd=tmp_path / "elsewhere")
    assert done.returncode == 1
    assert b"already" in done.stderr


def test_a_part_with_the_words_of_html_is_words() -> None:
    part = Part("prompt", "You", '"><img src=x onerror=alert(1)>&', "now")
    page = Page(html_part(part, lambda text: text, {}))
    assert page.tags == {"section", "h2", "time", "pre"}
    assert '> "><img' in markdown_part(part)
