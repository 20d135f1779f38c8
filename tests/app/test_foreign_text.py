"""Foreign text in every place of every screen: no control reaches the terminal, and each row is as wide as the screen.

Classes ANSI, MARK, WIDTH, UNICODE and SECTERM of faults users met elsewhere.
"""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from textual.content import Content

from tests.app.painted import assert_sound
from tests.app.stage import DIFF, LIMITS, Stage, entries
from tests.app.waiting import page_ready
from tui.agent.events import (
    AgentEvent,
    AnswerDelta,
    AnswerStarted,
    ApprovalAsked,
    EntryAdded,
    PhaseChanged,
    QueueChanged,
    QueuedText,
    RetryWaiting,
    Said,
    ThinkingDeltaShown,
    ToolProgress,
    UsageChanged,
)
from tui.log.entries import (
    Answer,
    Body,
    Checkpoint,
    ModelChosen,
    Note,
    Notice,
    Prompt,
    Result,
    Settled,
    TaskSet,
    ToolStarted,
    UnknownBody,
)
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
from tui.models.base import ModelInfo
from tui.screens.help import info_content
from tui.screens.look import bar_state
from tui.screens.model_pick import model_row
from tui.screens.pages import PickPage, TextPage
from tui.tools.base import Effect, Preview
from tui.widgets.banner import Banner
from tui.widgets.context_bar import ContextBar
from tui.widgets.menu import PickMenu
from tui.widgets.sanitise import one_line
from tui.widgets.start import StartView

pytestmark = pytest.mark.anyio

HOSTILE = (
    "\x1b]8;;http://x\x1b]52;c;YQ==\x07\x1b\\label\x1b]8;;\x1b\\",
    "\x9d8;;http://x\x9clabel\x9d8;;\x9c",
    "\x1b[?1049h\x1b[?1000h\x1b[?1003h\x1b]0;x\x07",
    "\x1b]0;rm -rf ~\x07\x1b[21t\x1b[c\x1b[6n\x1bP$qm\x1b\\",
    "10%\r20%\r\x1b[K30%\n\x1b[2Aup",
    "\x1b_Gf=100;AAAA\x1b\\ \x1bc \x1b#8 \x0e\x0f \x07\x08",
    "\u202egnp.exe\u2066x \ufeffbom \U000e0041tag",
    "\ud99c lone \udcff byte",
    "\u2764\ufe0f 1\ufe0f\u20e3 👩\u200d👩\u200d👧 🇩🇪 \u2705\ufe0e ok",
    "日本語のファイル名.txt 한국어 각 e\u0301\u0301\u0301 \u200b\u200d",
    "שלום עולם العربية 12",
    "#define A\t\t 0x1",
    "[/INST] [/dim] [/home/u/App.csproj] [/ [0] [00] arr[i] x[-1] [b + [@click=app.quit]x[/]",
    "| a | b |\n|---|---|\n| [/x] | \t日 |",
    "[label](http://x/\x1b]52;c;YQ==\x07) ![i](\x9d) <http://a/\u202e> &#x202e;&#27;]0;x&#7;",
    "```\x1b[31m\n\t日\x1b[0m\n```\n> \x1b[2J\n- \x9b2J",
    "a" * 400,
    "日" * 200,
    "e\u0301" * 200,
    "x\u2028y\u2029z\x85w\x0cv\x0bu",
)
PIECES = st.sampled_from(HOSTILE) | st.text(max_size=12) | st.characters()
TEXTS = st.lists(PIECES, min_size=1, max_size=4).map("".join)


def talk(text: str) -> list[AgentEvent]:
    """Return a session that holds `text` wherever a stranger's words can stand."""
    call = ToolCall(id="c9", name=text, arguments={text: text, "path": text}, raw=text)
    bodies: list[Body] = [
        Prompt(UserMessage((Text(text), Attachment(text, text), Image("image/png", "aa", 1, 1)))),
        Answer(
            AssistantMessage((Thinking(text), Text(text), call), StopReason.ERROR, error=text, model=text), seconds=2.0
        ),
        ToolStarted("c9", text),
        Result(ToolResult("c9", text, (Text(text),)), details={"type": "edit", "diff": f"{DIFF}+{text}\n-{text}"}),
        ModelChosen(provider=text, model=text, window=10),
        TaskSet(text),
        Note("n1", text),
        Notice(text, "warning"),
        Checkpoint("manual", "e0", "e1", 1, summary=text, note=text),
        Settled("error", detail=text, stop=StopReason.ERROR),
    ]
    path = entries(*bodies)
    unknown = msgspec.structs.replace(path[-1], id="u1", body=UnknownBody(kind=text, raw=b"{}", error=text))
    return [
        *(EntryAdded(entry) for entry in (*path, unknown)),
        PhaseChanged("tools", text),
        QueueChanged((QueuedText("q", text, "steer"),)),
        AnswerStarted("a"),
        ThinkingDeltaShown(text),
        AnswerDelta(text),
        ToolProgress("c9", text),
        UsageChanged(1, 0, 100, "reported", problem=text),
        RetryWaiting(text, 1, 2, 3.0),
        Said(text),
    ]


async def show(app: Stage, text: str) -> None:
    """Put `text` everywhere on the main screen."""
    main = app.main
    main.note(text)
    main.editor.show_draft(text)
    main.query_one(PickMenu).offer(((text, text, text),))
    main.query_one(ContextBar).show(bar_state(UsageChanged(1, 0, 100, "reported", 0.1, LIMITS), text))
    main.query_one(Banner).say(text, "notice")


@settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])
@given(TEXTS, st.sampled_from([(40, 12), (60, 20), (80, 24), (81, 50)]))
async def test_the_main_screen_stays_whole(text: str, size: tuple[int, int]) -> None:
    app = Stage(talk(text))
    async with app.run_test(size=size) as pilot:
        await show(app, text)
        await pilot.pause()
        assert_sound(app.screen)
        app.main.feed.act("fold")
        await pilot.pause()
        assert_sound(app.screen)
        app.main.feed.act("home")
        app.main.editor.show_draft(text + "\n" + text)
        await pilot.press("up", "left", "shift+home")
        await pilot.pause()
        assert_sound(app.screen)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_each_hostile_text_by_itself(text: str) -> None:
    app = Stage(
        [
            *talk(text),
            ApprovalAsked(
                "c", text, Preview(text, Effect.EDIT, paths=(text,), outside=(text,), diff=text, warning=text), (text,)
            ),
        ]
    )
    async with app.run_test(size=(60, 30)) as pilot:
        await show(app, text)
        await pilot.pause()
        assert_sound(app.screen)
        for key in ("pageup", "pageup", "ctrl+o", "ctrl+home"):
            await pilot.press(key)
            await pilot.pause()
            assert_sound(app.screen)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_pages_and_lists(text: str) -> None:
    app = Stage()
    async with app.run_test(size=(60, 20)) as pilot:
        info = ModelInfo(id=text, provider=text, base_url=text, window=10)
        rows = ((text, model_row(info, now=True)), ("t", Content(one_line(text))))
        app.push_screen(PickPage(one_line(text), rows, below=one_line(text)))
        await page_ready(pilot, PickPage)
        assert_sound(app.screen)
        app.push_screen(TextPage(one_line(text), lambda width: info_content([(text, text)], width)))
        await page_ready(pilot, TextPage)
        await pilot.pause()
        assert_sound(app.screen)


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
async def test_an_empty_session_names_its_folder_and_model(text: str) -> None:
    app = Stage()
    async with app.run_test(size=(60, 20)) as pilot:
        app.main.query_one(StartView).answers(text, text)
        await pilot.pause()
        assert_sound(app.screen)
