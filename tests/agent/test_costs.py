"""What a session cost: a price that is not known is unknown, never nothing."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tests.agent.support import bodies, options, path_of, said, session, until
from tests.support.provider import Provider, Reply
from tui.agent.agent import Agent
from tui.agent.events import AnswerDelta
from tui.agent.opening import FIRST_PAGE
from tui.log.entries import Answer, Notice
from tui.log.store import Store
from tui.messages import Text, UserMessage
from tui.models.factory import ModelChoice, open_model

pytestmark = pytest.mark.anyio
PRICED = "gpt-5-scripted"
PAID = Reply(text="fine", tokens=(1_000, 0, 0, 100))
DOLLARS = 0.00225


def choice(provider: Provider, model: str) -> ModelChoice:
    return ModelChoice("openai-chat", model, f"{provider.base_url}/v1", 32_000)


def shown(agent: Agent) -> tuple[float | None, bool]:
    return agent.usage.cost, agent.usage.cost_partial


@pytest.mark.parametrize(
    ("models", "wanted"),
    [
        ((PRICED,), (DOLLARS, False)),
        ((PRICED, PRICED), (2 * DOLLARS, False)),
        (("scripted",), (None, True)),
        (("scripted", PRICED), (DOLLARS, True)),
        ((PRICED, "scripted"), (DOLLARS, True)),
    ],
    ids=["known", "known twice", "unknown", "unknown, then known", "known, then unknown"],
)
async def test_known_and_unknown_prices_add_up_the_same_now_and_when_opened_again(
    tmp_path: Path, models: tuple[str, ...], wanted: tuple[float | None, bool]
) -> None:
    async with Provider(PAID, repeat_last=True) as provider:
        given = options(tmp_path, provider)
        async with session(given) as (agent, _):
            for name in models:
                await agent.use_model(open_model(choice(provider, name), {}))
                assert await said(agent, "hi") == "answered"
            assert shown(agent) == wanted
            costs = [answer.cost for answer in bodies(await path_of(agent), Answer)]
            assert costs == [DOLLARS if name == PRICED else None for name in models]
        async with session(msgspec.structs.replace(given, open="newest")) as (agent, _):
            assert shown(agent) == wanted


async def test_what_a_long_session_cost_is_known_when_it_is_opened_again(tmp_path: Path) -> None:
    """Only the newest entries are read then: the newest answer carries the figure for all before it."""
    async with Provider(PAID, repeat_last=True) as provider:
        given = msgspec.structs.replace(options(tmp_path, provider), choice=choice(provider, PRICED))
        async with session(given) as (agent, _):
            for _ in range(2):
                assert await said(agent, "hi") == "answered"
        async with await Store.open(given.home, given.cwd) as store:
            newest = await store.newest()
            assert newest is not None
            log = await store.session(newest.id)
            await log.append(*(Notice(f"line {number}") for number in range(FIRST_PAGE)))
            await log.close()
        async with session(msgspec.structs.replace(given, open="newest")) as (agent, _):
            assert shown(agent) == (2 * DOLLARS, False)
            assert await said(agent, "hi") == "answered"
            assert shown(agent) == (round(3 * DOLLARS, 6), False)
            kept = bodies(await path_of(agent), Answer)[-1].spent
            assert kept is not None
            assert kept.dollars == round(3 * DOLLARS, 6)


async def test_the_rehearsal_is_free_and_known_to_be(tmp_path: Path) -> None:
    async with session(options(tmp_path, None)) as (agent, _):
        assert await said(agent, "hi") == "answered"
        assert shown(agent) == (0.0, False)


async def test_an_answer_without_figures_cost_something_unknown(tmp_path: Path) -> None:
    async with Provider(PAID, Reply(text="fine", usage="absent")) as provider:
        given = msgspec.structs.replace(options(tmp_path, provider), choice=choice(provider, PRICED))
        async with session(given) as (agent, _):
            for _ in range(2):
                assert await said(agent, "hi") == "answered"
            assert shown(agent) == (DOLLARS, True)


async def test_an_interrupted_answer_cost_something_unknown(tmp_path: Path) -> None:
    async with Provider(Reply(text="a long answer", stop_at=-60, stop_how="silence")) as provider:
        given = msgspec.structs.replace(options(tmp_path, provider), choice=choice(provider, PRICED))
        async with session(given) as (agent, events):
            await agent.send(UserMessage((Text("hi"),)))
            await until(events, lambda event: isinstance(event, AnswerDelta))
            await agent.interrupt()
            assert [answer.cost for answer in bodies(await path_of(agent), Answer)] == [None]
