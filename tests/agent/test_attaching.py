"""What a person names with an `@` goes with the words; the words stay as they are."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import anyio
import pytest

from tests.agent.support import bodies, options, path_of, said, session
from tests.support.provider import Provider, Reply
from tui.agent.agent import Agent
from tui.agent.attaching import MOST_BYTES, MOST_NAMES, mentions
from tui.agent.events import Said
from tui.log.entries import Prompt
from tui.messages import Attachment, Image, Text, UserMessage

pytestmark = pytest.mark.anyio
PNG = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + struct.pack(">II", 4, 3) + b"rest"


@pytest.mark.parametrize(
    ("words", "names"),
    [
        ('see @a.png and @"b c.JPG" me@x.png @notes.txt', ["a.png", "b c.JPG", "notes.txt"]),
        ("@a @a\n@b", ["a", "b"]),
        ("(@a) @", ["a)"]),
        ('@"" no', ['""']),
        ("mail me@example.org", []),
        ("", []),
    ],
)
def test_names_behind_an_at_sign(words: str, names: list[str]) -> None:
    assert mentions(words) == names


def test_a_flood_of_names_is_bounded() -> None:
    assert len(mentions(" ".join(f"@{n}" for n in range(10_000)))) == MOST_NAMES


async def parts_of(agent: Agent, words: str) -> tuple[Text | Attachment | Image, ...]:
    assert await said(agent, words) == "answered"
    return bodies(await path_of(agent), Prompt)[-1].message.content[1:]


async def test_a_file_a_folder_and_an_image_go_with_the_words(tmp_path: Path) -> None:
    given = options(tmp_path, None)
    (given.cwd / "src").mkdir()
    (given.cwd / "src" / "a b.py").write_text("x = 1\n")
    (given.cwd / "p.png").write_bytes(PNG)
    words = 'Look at @"src/a b.py", @src and @p.png. Not @nowhere or @property.'
    async with session(given) as (agent, _):
        file, folder, image = await parts_of(agent, words)
        assert bodies(await path_of(agent), Prompt)[-1].message.authored == words
        assert file == Attachment("src/a b.py", "x = 1")
        assert folder == Attachment("src", "a b.py")
        assert isinstance(image, Image)
        assert (image.width, image.height) == (4, 3)
        assert await agent.journal.log.blob(image.sha256) == PNG


async def test_the_model_gets_the_words_whole_and_the_file_beside_them(tmp_path: Path) -> None:
    async with Provider(Reply("seen")) as provider:
        given = options(tmp_path, provider)
        (given.cwd / "a.txt").write_text("the content\n")
        async with session(given) as (agent, _):
            assert await said(agent, "What is in @a.txt?") == "answered"
        (message,) = [one for one in provider.requests[0].body["messages"] if one["role"] == "user"]
        assert "What is in @a.txt?" in str(message["content"])
        assert "the content" in str(message["content"])


async def test_what_cannot_be_read_is_said_and_the_words_go_alone(tmp_path: Path) -> None:
    given = options(tmp_path, None)
    os.mkfifo(given.cwd / "pipe")
    (given.cwd / "loop").symlink_to("loop")
    (given.cwd / "tool").write_bytes(b"\x7fELF\0\0\0")
    async with session(given) as (agent, events):
        assert await parts_of(agent, "@pipe @tool @loop @/dev/zero") == ()
        lines = [event.text for event in events.waiting() if isinstance(event, Said)]
    assert [line.split()[2] for line in lines if line.startswith("Not attached: ")] == ["pipe", "tool", "/dev/zero"]


async def test_a_message_takes_so_much_and_no_more(tmp_path: Path) -> None:
    given = options(tmp_path, None, window=1_000_000)
    for n in range(8):
        (given.cwd / f"{n}.txt").write_text(f"{'x' * 99}\n" * 400)
    async with session(given) as (agent, events):
        parts = await parts_of(agent, " ".join(f"@{n}.txt" for n in range(8)))
        lines = [event.text for event in events.waiting() if isinstance(event, Said)]
    sizes = [len(part.text) for part in parts if isinstance(part, Attachment)]
    assert MOST_BYTES - 40_000 < sum(sizes) <= MOST_BYTES
    assert sum("It can be read" in line for line in lines) == 8 - len(sizes)


async def test_what_is_sent_later_stays_later_however_long_a_file_takes(tmp_path: Path) -> None:
    given = options(tmp_path, None, window=1_000_000)
    (given.cwd / "large.txt").write_text("line\n" * 2_000_000)
    async with session(given) as (agent, _):
        async with anyio.create_task_group() as group:
            for words in ("first @large.txt", "second"):
                group.start_soon(agent.send, UserMessage((Text(words),)), "follow-up")
        await agent.settled()
        prompts = [body.message.authored for body in bodies(await path_of(agent), Prompt)]
    assert prompts == ["first @large.txt", "second"]
