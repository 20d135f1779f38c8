from __future__ import annotations

import json
from typing import Any

import pytest

from tui.models.base import (
    AuthFailed,
    BadRequest,
    ContextTooLong,
    ImageRejected,
    ModelError,
    ModelNotFound,
    NotTheApi,
    Overloaded,
    QuotaExceeded,
    RateLimited,
)
from tui.models.errors import MESSAGE_LIMIT, error_from_frame, error_from_response, retry_after, sanitise
from tui.models.keys import Secret

NOW = 1_700_000_000.0


def said(status: int, message: str, headers: dict[str, str] | None = None, **fields: Any) -> ModelError:
    body = json.dumps({"error": {"message": message, **fields}}).encode()
    return error_from_response(status, headers or {}, body, now=NOW)


TOO_LONG: list[tuple[int, str, int | None]] = [
    (
        400,
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
        8192,
    ),
    (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens (1 in 2).", 4096),
    (400, "prompt is too long: 208310 tokens > 200000 maximum", 200000),
    (
        400,
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000, decrease input length",
        200000,
    ),
    (400, "request (3021 tokens) exceeds the available context size (1024 tokens), try increasing it", 1024),
    (400, "the request exceeds the available context size. try increasing the context size", None),
    (500, "Context size has been exceeded.", None),
    (400, "exceeds context length 4096", 4096),
    (400, "the input length exceeds the context length", None),
    (400, "prompt too long; exceeded max context length by 100 tokens", None),
    (400, "However, the model is loaded with context length of only 4096 tokens, when context the overflows", 4096),
    (400, "The number of tokens to keep from the initial prompt is greater than the context length", None),
    (400, "The decoder prompt (length 5000) is longer than the maximum model length of 4096.", 4096),
    (422, "`inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens", 4096),
    (422, "`inputs` must have less than 1000 tokens. Given: 1500", 1000),
    (400, "The input token count (1100000) exceeds the maximum number of tokens allowed (1048576).", 1048576),
    (400, "Please reduce the length of the messages or completion. Current length is 9000 while limit is 8192", 8192),
    (
        400,
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
        32768,
    ),
    (400, "This model's maximum prompt length is 131072 but the request contains 150000 tokens.", 131072),
    (400, "Input is too long for requested model.", None),
    (400, "Invalid request: Your request exceeded model token limit: 8192", 8192),
    (400, "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens", 32768),
    (400, "prompt token count of 130000 exceeds the limit of 128000", 128000),
    (400, "Your input exceeds the context window of this model. Please adjust your input and try again.", None),
    (400, "Prompt exceeds max length", None),
    (400, "invalid params, context window exceeds limit (2013)", None),
    (413, "Request exceeds the maximum size", None),
    (400, "total number of tokens in the prompt cannot exceed 4081", 4081),
    (400, "maximum context length is 128,000 tokens. However, your messages resulted in 130,000 tokens.", 128_000),
    (400, "This model's context window is 200k tokens; the request has 210k", 200_000),
    (400, "context window of 128K tokens exceeded", 128_000),
    (400, "maximum context length is 1M tokens, requested 1.2M", 1_000_000),
    (400, "This model's maximum context length is 4.096 tokens", 4_096),
    (400, "context length exceeded: max 32768, got 40000", 32_768),
    (400, "Input tokens exceed the configured limit of 272000 tokens. Your messages resulted in 300000.", 272_000),
    (400, "The input (40000 tokens) is longer than the model's context length (32768 tokens).", 32_768),
    (400, "Input length 40960 exceeds the maximum allowed input length of 32768", 32_768),
    (400, "input length (40000) exceeds max_model_len (32768)", 32_768),
    (400, "n_ctx 4096 too small for a prompt of 5000", 4_096),
    (400, "Prompt tokens (9000) + max tokens exceeds n_ctx=8192", 8_192),
    (400, "too many tokens: 9000 > 8192", 8_192),
    (400, "prompt length 9000 > 8192", 8_192),
    (400, "The request exceeds the maximum number of tokens: 8192", 8_192),
    (400, "Token limit exceeded: 140000 > 131072", 131_072),
    (400, "Number of input tokens (9001) has exceeded the limit of 8192", 8_192),
    (400, "tokens in request more than max tokens allowed: 8192", 8_192),
    (400, "Range of input length should be [1, 129024]", 129_024),
    (400, "Conversation is too long", None),
    (400, "Your conversation is too long for this model's window of 65536 tokens", 65_536),
    (400, "Prompt is too long (9000 tokens, max 8192)", 8_192),
    (400, "the request exceeds the available context size (4096)", 4_096),
    (400, "prompt has 9000 tokens, but the model only supports 8192 tokens", 8_192),
    (400, "input is too large. max input tokens is 8192", 8_192),
    (400, "This model supports at most 8192 tokens, but 9000 were provided", 8_192),
    (400, "maximum context length exceeded by 40000 tokens", None),
    (413, "Request exceeds the limit of 1024 KB", None),
    (413, "The request is larger than the maximum of 4096 bytes", None),
    (413, "Payload exceeds the limit of 32 MB", None),
    (429, "Request too large for gpt-4 on tokens per min (TPM): Limit 10000, Requested 12000.", 10000),
]


@pytest.mark.parametrize(("status", "message", "limit"), TOO_LONG)
def test_context_too_long_in_all_its_spellings(status: int, message: str, limit: int | None) -> None:
    error = said(status, message)
    assert isinstance(error, ContextTooLong)
    assert error.limit == limit
    assert not error.retryable


def test_llama_cpp_names_the_window_as_a_field() -> None:
    error = said(400, "too much", type="exceed_context_size_error", n_prompt_tokens=5000, n_ctx=4096, code=400)
    assert isinstance(error, ContextTooLong)
    assert error.limit == 4096


OTHERS: list[tuple[int, str, dict[str, Any], type[ModelError]]] = [
    (400, "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens", {}, BadRequest),
    (400, "max_tokens is too large: 100000. This model supports at most 16384 completion tokens", {}, BadRequest),
    (400, "max_tokens exceeds the maximum of 8192", {}, BadRequest),
    (400, "Invalid 'input[3].id': string too long. Expected a maximum length of 64.", {}, BadRequest),
    (400, "Invalid 'tools': array too long. Expected at most 128 items.", {}, BadRequest),
    (429, "Daily token limit exceeded: 140000 > 100000", {}, RateLimited),
    (429, "The number of tokens exceeds the limit of 100000 for today", {}, RateLimited),
    (429, "Number of input tokens has exceeded your per-minute rate limit", {}, RateLimited),
    (429, "This request would exceed your organization's rate limit of 40,000 tokens per minute", {}, RateLimited),
    (429, "Too many tokens, please wait before trying again.", {}, RateLimited),
    (429, "Rate limit reached", {"code": "rate_limit_exceeded"}, RateLimited),
    (429, "You exceeded your current quota", {"code": "insufficient_quota"}, QuotaExceeded),
    (429, "slow", {"type": "insufficient_quota"}, QuotaExceeded),
    (402, "Insufficient Balance", {}, QuotaExceeded),
    (400, "Your credit balance is too low to access the API", {}, QuotaExceeded),
    (401, "Incorrect API key provided", {}, AuthFailed),
    (401, "invalid x-api-key", {"type": "authentication_error"}, AuthFailed),
    (403, "Country not supported", {}, AuthFailed),
    (400, "API key not valid. Please pass a valid API key.", {}, AuthFailed),
    (404, "model: claude-none", {"type": "not_found_error"}, ModelNotFound),
    (404, "The model `gpt-9` does not exist or you do not have access to it.", {}, ModelNotFound),
    (404, 'model "x" not found, try pulling it first', {}, ModelNotFound),
    (400, "foo/bar is not a valid model ID", {}, ModelNotFound),
    (404, "File Not Found", {"type": "not_found_error"}, NotTheApi),
    (405, "Method Not Allowed", {}, NotTheApi),
    (400, "messages.0.content.1.image.source.base64: image exceeds 5 MB maximum", {}, ImageRejected),
    (500, "image input is not supported - hint: you may need to provide the mmproj", {}, ImageRejected),
    (400, "roles must alternate", {}, BadRequest),
    (422, "field required", {}, BadRequest),
    (500, "Internal server error", {}, Overloaded),
    (503, "Loading model", {}, Overloaded),
    (529, "Overloaded", {"type": "overloaded_error"}, Overloaded),
    (408, "timeout", {}, Overloaded),
]


@pytest.mark.parametrize(("status", "message", "fields", "kind"), OTHERS)
def test_each_refusal_has_its_type(status: int, message: str, fields: dict[str, Any], kind: type[ModelError]) -> None:
    error = said(status, message, **fields)
    assert type(error) is kind
    assert error.status == status
    assert message[:20] in str(error)


def test_a_quota_word_with_a_time_to_come_back_is_a_rate() -> None:
    error = said(429, "You exceeded your current quota", {"retry-after": "7"})
    assert isinstance(error, RateLimited)
    assert error.retry_after == 7


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "2500"}, 2.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT"}, 30.0),
        ({"retry-after": "Tue, 14 Nov 2023 22:13:50 GMT", "date": "Tue, 14 Nov 2023 22:13:40 GMT"}, 10.0),
        ({"retry-after": "Tue, 14 Nov 2000 22:13:50 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "-4"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": ""}, None),
        ({}, None),
    ],
)
def test_retry_after_in_each_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"x-ratelimit-reset": "1700000030"}, 30.0),
        ({"x-ratelimit-reset": "1700000030000"}, 30.0),
        ({"x-ratelimit-reset": "1600000000"}, 0.0),
        ({"ratelimit-reset": "12"}, 12.0),
        ({"x-ratelimit-reset-after": "2.5"}, 2.5),
        ({"x-ratelimit-reset-requests": "1m2s", "x-ratelimit-remaining-requests": "0"}, 62.0),
        (
            {
                "x-ratelimit-reset-requests": "1m2s",
                "x-ratelimit-remaining-requests": "7",
                "x-ratelimit-reset-tokens": "20ms",
                "x-ratelimit-remaining-tokens": "0",
            },
            0.02,
        ),
        ({"x-ratelimit-reset-requests": "1m2s"}, None),
        ({"x-ratelimit-reset": "soon"}, None),
        ({"x-ratelimit-reset": "90", "retry-after": "3"}, 3.0),
    ],
)
def test_when_a_limit_ends_is_waited_for(headers: dict[str, str], seconds: float | None) -> None:
    error = said(429, "slow down", headers)
    assert isinstance(error, RateLimited)
    assert error.retry_after == seconds
    assert isinstance(said(429, "You exceeded your current quota", {"x-ratelimit-reset": "90"}), QuotaExceeded)


@pytest.mark.parametrize(
    "body",
    [
        b'{"error": "boom"}',
        b'[{"error": {"message": "boom"}}]',
        b'{"message": "boom", "object": "error"}',
        b'{"detail": "boom"}',
        b'{"detail": [{"msg": "boom", "loc": ["body", "x"]}]}',
        b'{"errors": [{"message": "boom"}]}',
        b"boom",
        b'{"error": {"message": "boom", "code": null, "type": 7}}',
    ],
)
def test_the_words_are_found_wherever_they_are(body: bytes) -> None:
    assert "boom" in str(error_from_response(400, {}, body, now=NOW))


@pytest.mark.parametrize("body", [b"", b"null", b"[]", b"{}", b'{"error": null}', b"\xff\xfe", b"[" * 100_000])
def test_any_body_gives_an_error_and_no_exception(body: bytes) -> None:
    assert isinstance(error_from_response(400, {}, body, now=NOW), BadRequest)


@pytest.mark.parametrize(
    ("status", "kind"), [(200, NotTheApi), (403, NotTheApi), (404, NotTheApi), (502, Overloaded), (529, Overloaded)]
)
def test_a_web_page_is_not_the_api_unless_a_gateway_failed(status: int, kind: type[ModelError]) -> None:
    error = error_from_response(status, {}, b"<!DOCTYPE html><html><body>no</body>", now=NOW)
    assert type(error) is kind
    assert "<" not in str(error)


def test_a_redirect_is_told_and_not_followed() -> None:
    assert isinstance(error_from_response(302, {"location": "http://evil"}, b"", now=NOW), NotTheApi)


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        ({"type": "error", "error": {"type": "overloaded_error", "message": "x"}}, Overloaded),
        ({"error": {"code": 502, "message": "x"}}, Overloaded),
        ({"error": {"message": "500"}}, Overloaded),
        ({"error": "boom"}, Overloaded),
        ({"error": {"code": 429, "message": "x"}}, RateLimited),
        ({"error": {"message": "Rate limit exceeded"}}, RateLimited),
        ({"error": {"type": "invalid_request_error", "message": "x"}}, BadRequest),
        ({"error": {"type": "authentication_error", "message": "x"}}, AuthFailed),
        ({"error": {"message": "Context size has been exceeded."}}, ContextTooLong),
        ("plain words", Overloaded),
    ],
)
def test_errors_inside_the_stream(frame: Any, kind: type[ModelError]) -> None:
    assert type(error_from_frame(frame)) is kind


HOSTILE = (
    "\x1b]8;;http://x\x1b]52;c;YQ==\x07\x1b\\label\x1b]8;;\x1b\\ \x9d0;t\x9c \x1b[21t\x1bP$qm\x1b\\"
    " a\u202eb\u200bc\U000e0041 \ud800 \x00\r\nend"
)


def test_foreign_words_are_harmless_and_bounded() -> None:
    error = str(said(400, HOSTILE + "x" * 10_000))
    assert error.isprintable()
    assert len(error) < MESSAGE_LIMIT + 100
    assert "52;c" not in error
    error.encode()


def test_keys_are_masked_whether_known_or_only_key_like() -> None:
    text = "bad key abcdefgh12345 and sk-ant-0123456789 and Bearer tok.en and AIzaSyA1234567890abcdefghij"
    masked = sanitise(text, (Secret("abcdefgh12345"),))
    assert masked == "bad key *** and *** and *** and ***"


@pytest.mark.parametrize(
    ("words", "seconds"),
    [
        ("Rate limit reached. Please try again in 1.242s. Visit the site.", 1.242),
        ("Please try again in 6m0s.", 360.0),
        ("try again in 20ms", 0.02),
        ("try again in 1h2m3.5s", 3723.5),
        ("Please retry after 3 seconds.", 3.0),
        ("Retry in 2 minutes", 120.0),
        ("Please wait 10 seconds", 10.0),
        ("try again later", None),
        ("retry 5 times", None),
        ("try again in 5 shifts", None),
    ],
)
def test_a_wait_that_only_the_words_name_is_honoured(words: str, seconds: float | None) -> None:
    error = said(429, words)
    assert isinstance(error, RateLimited)
    assert error.retry_after == seconds
    assert said(429, words, {"retry-after": "7"}).retry_after == 7.0, "the header is the server's own word"


def test_a_wait_may_stand_in_the_details() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "36s"}]
    assert said(429, "Resource exhausted", details=details).retry_after == 36.0
    assert error_from_frame({"error": {"code": 503, "message": "busy", "details": details}}).retry_after == 36.0


def test_a_refused_key_is_told_from_one_that_was_not_sent() -> None:
    body = b'{"error":{"message":"no"}}'
    wrong = error_from_response(401, {}, body, now=0, secrets=(Secret("sk-x"),))
    missing = error_from_response(401, {}, body, now=0)
    assert str(wrong).startswith("The server did not accept the key: no (HTTP 401). Set the right one")
    assert str(missing).startswith("The server wants a key, and none was sent: no (HTTP 401). Put it into CLEW_API_KEY")


@pytest.mark.parametrize("status", [201, 204, 206])
def test_a_success_without_an_answer_is_not_the_api(status: int) -> None:
    assert isinstance(error_from_response(status, {}, b"", now=0), NotTheApi)
