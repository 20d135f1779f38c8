"""How much a model is asked to think: a setting, in the words of each protocol, given up where it is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tests.agent.support import bash, options, said, session
from tests.models.helpers import ask, info_for, model_at, request
from tests.support.provider import Provider, Reply
from tui.models.anthropic import AnthropicModel
from tui.models.anthropic_request import messages_body
from tui.models.base import Effort, ModelInfo
from tui.models.chat_request import ChatDialect, chat_body
from tui.models.factory import ModelChoice
from tui.models.http import Http
from tui.models.responses_request import responses_body
from tui.settings import Settings

THINKS = info_for("messages", thinking=True)


def budget(effort: Effort, most: int, *, thinks: bool = True) -> int:
    body = messages_body(request(effort=effort, max_output=most), info_for("messages", thinking=thinks), {})
    thinking: Any = body.get("thinking", {})
    assert thinking.get("type", "enabled") == "enabled"
    return thinking.get("budget_tokens", 0)


def test_a_budget_is_part_of_the_answer_and_leaves_some_of_it() -> None:
    assert [budget(effort, 64_000) for effort in ("", "low", "medium", "high")] == [0, 4_096, 12_288, 32_000]
    assert budget("high", 8_192) == 4_096
    assert budget("high", 2_048) == 1_024
    assert budget("high", 2_047) == 0, "the provider takes no smaller one"
    assert budget("high", 64_000, thinks=False) == 0


def test_the_words_of_openai() -> None:
    asked = request(effort="medium")
    assert chat_body(asked, info_for("chat"), ChatDialect(), {})["reasoning_effort"] == "medium"
    assert "reasoning_effort" not in chat_body(request(), info_for("chat"), ChatDialect(), {})
    thinks = info_for("responses", thinking=True)
    assert responses_body(asked, thinks, {})["reasoning"] == {"effort": "medium"}
    assert "reasoning" not in responses_body(request(), thinks, {})
    assert "reasoning" not in responses_body(asked, info_for("responses"), {})


REFUSALS = {
    "chat": "Unrecognized request argument supplied: reasoning_effort",
    "messages": "messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`",
}


@pytest.mark.anyio
@pytest.mark.parametrize("protocol", ["chat", "messages"])
async def test_where_it_is_refused_the_request_is_repeated_without(protocol: Any) -> None:
    refused = Reply(status=400, body=json.dumps({"error": {"message": REFUSALS[protocol], "type": "invalid"}}))
    async with Provider(refused, Reply(text="fine")) as provider:
        await ask(model_at(provider.base_url, protocol, thinking=True), request(effort="high"))
        sent = ["reasoning_effort" in one.body or "thinking" in one.body for one in provider.requests]
    assert sent == [True, False]


@pytest.mark.anyio
@pytest.mark.parametrize(("name", "first"), [("claude-opus-5-5", "adaptive"), ("claude-sonnet-4-5", "enabled")])
async def test_each_way_to_ask_is_tried_once(name: str, first: str) -> None:
    refused = Reply(status=400, body=json.dumps({"error": {"message": f"thinking.type.{first}: not supported"}}))
    async with Provider(refused, refused, Reply(text="fine")) as provider:
        model = AnthropicModel(ModelInfo(name, "anthropic", thinking=True), Http(provider.base_url, None, "x-api-key"))
        await ask(model, request(effort="high"))
        sent = [one.body.get("thinking", {}).get("type", "") for one in provider.requests]
        effort = [one.body.get("output_config") for one in provider.requests]
    assert sorted(sent) == ["", "adaptive", "enabled"]
    assert (sent[0], sent[-1]) == (first, "")
    assert effort[sent.index("adaptive")] == {"effort": "high"}


@pytest.mark.anyio
async def test_the_setting_counts_for_every_request_and_signed_blocks_go_back_as_they_came(tmp_path: Path) -> None:
    signed = "because\u2028 \n"
    calls = Reply(thinking=signed, signature="c2ln", text="I look.", calls=(bash("echo here"),))
    async with Provider(calls, Reply(text="done"), Reply(text="again")) as provider:
        choice = ModelChoice("anthropic", "claude-scripted", provider.base_url, 64_000)
        given = msgspec.structs.replace(options(tmp_path, provider), choice=choice, settings=Settings(effort="low"))
        async with session(given) as (agent, _):
            assert await said(agent, "go") == "answered"
        reopened = msgspec.structs.replace(given, open="newest")
        async with session(reopened) as (agent, _):
            assert await said(agent, "go on") == "answered"
        bodies = [one.body for one in provider.requests]
    assert [body["thinking"] for body in bodies] == [{"type": "enabled", "budget_tokens": 4_096}] * 3
    for body in bodies[1:]:
        answer = next(message for message in body["messages"] if message["role"] == "assistant")
        assert answer["content"][0] == {"type": "thinking", "thinking": signed, "signature": "c2ln"}
        assert [block["type"] for block in answer["content"]] == ["thinking", "text", "tool_use"]
