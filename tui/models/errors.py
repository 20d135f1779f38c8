"""What a provider said went wrong, as one typed error: from a status and body, or from inside the stream.

The words are foreign: they are bounded, and stripped of control characters and of anything like a key.
"""

from __future__ import annotations

import email.utils
import json
import math
import re
from collections.abc import Iterable, Mapping
from datetime import UTC
from decimal import Decimal
from typing import cast

import msgspec

from tui.messages import Json, clean
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
from tui.models.keys import Secret

__all__ = ["MESSAGE_LIMIT", "error_from_frame", "error_from_response", "retry_after", "sanitise"]

MESSAGE_LIMIT = 400
"""Most characters of a provider's words that are kept."""

_UNSAFE = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e007f\\s]+")
_ESCAPES = re.compile("(?:\x1b\\]|\x9d)[^\x07\x1b\x9c]*(?:\x07|\x1b\\\\|\x9c)?|(?:\x1b\\[|\x9b)[0-?]*[ -/]*[@-~]?")
_KEYLIKE = re.compile(r"(?i)\b(?:sk|pk|rk|gsk|xai|key)[-_][\w\-*.]{8,}|\bbearer\s+\S+|\bAIza[\w-]{20,}")

_CONTEXT = re.compile(
    r"""(?ix) context[ _-]?(?:length|window|size)[ _-]?(?:has[ ]been[ ])?exceed | model_max_prompt_tokens_exceeded
    | exceed_context_size | (?:maximum|max)[ ](?:context|prompt|model)[ ](?:length|size|window)
    | exceed\w*[ ].{0,60}context[ ](?:length|size|window|limit)
    | context[ ](?:length|size|window|limit)[ ].{0,40}exceed
    | longer[ ]than[ ].{0,40}(?:context|model[ ]length)
    | prompt[ ](?:is[ ])?too[ ]long | prompt[ ]exceeds[ ]max
    | input[ ](?:is[ ]|token[ ]count[ ].{0,40})?(?:too[ ]long|exceeds)
    | greater[ ]than[ ]the[ ]context[ ]length | context[ ]the[ ]overflows | context[ ]overflow
    | reached[ ]context[ ]length | exceeded[ ](?:model|max)[ ].{0,20}(?:token[ ]limit|context)
    | reduce[ ]the[ ]length[ ]of | tokens[ ]`?[ ]?\+[ ].?max_new_tokens
    | must[ ]have[ ]less[ ]than[ ][\d,_]+[ ]tokens | exceeds?[ ]the[ ]limit[ ]of[ ][\d,_]+
    | too[ ]large[ ]for[ ]model | request[ ]too[ ]large[ ]for | request_too_large | too[ ]many[ ]tokens:
    | (?:total[ ])?number[ ]of[ ]tokens[ ].{0,60}cannot[ ]exceed
    | \bn_ctx\b | max_(?:model|seq|input)_len | token[ ]limit[ ]exceeded | range[ ]of[ ]input[ ]length[ ]should[ ]be
    | (?:max|maximum)[ ](?:allowed[ ])?(?:input|prompt)[ ](?:length|size|tokens)
    | \b(?:tokens|prompt|input|conversation)\b[^.]{0,60}(?:exceed\w*|longer[ ]than|larger[ ]than|more[ ]than|>)[ ]
      [^.]{0,40}(?:limit|max|context|window|allowed|[\d,_]{3,})
    | (?:conversation|prompt|input|message[ ]you[ ]submitted)[ ](?:(?:is|was)[ ])?too[ ](?:long|large)
    | exceed\w*[ ]the[ ]max\w*[ ]number[ ]of[ ]tokens
    | support(?:s|ed)?[ ](?:(?:at[ ]most|only|up[ ]to|a[ ]maximum[ ]of)[ ])?[\d,_.]+k?[ ](?:(?:input|prompt)[ ])?tokens
    | context[ ](?:length|size|window)[ ](?:is|of)[ ][\d,_.]+[km]?
    """
)
_ANSWER = re.compile(r"(?i)\b(?:output|completion|generated)[ _]tokens")
"""It is the answer's limit that does not fit, not the window; unless the words name both."""
_WINDOW = re.compile(r"(?i)context[ _](?:length|size|window|limit)|in the messages|from the input")
_WHOLE = re.compile(r"(?i)too (?:large|long)|context[ _](?:length|size|window)")
_NUMBER = r"(\d[\d,_]*(?:\.\d+)?(?: ?[km]\b)?)(?![\d,_.]*(?: ?[kmg]i?b\b| ?(?:bytes|char|images|messages|%)))"
_EXCESS = re.compile(r"(?i) by [\d,_.]+")
_LEAST_WINDOW = 256
"""Tokens. A smaller figure is something else: no window is that small, and none could be worked in."""
_LIMITS = tuple(
    re.compile(pattern.replace("#", _NUMBER), re.IGNORECASE)
    for pattern in (
        r"# tokens? > # (?:maximum|limit)",
        r"\d+ \+ \d+ > #",
        r"available context size \(# tokens",
        r"(?:maximum|max)[ \w]*(?:context|prompt|model|input)[ \w]*(?:length|size|window)(?: is| of|:)? #",
        r"(?:maximum|max) number of tokens allowed \(#",
        r"(?:context|model)[ \w]*(?:length|size|window|limit)(?: is| of|:)?(?: only)? #",
        r"# (?:maximum |max )?(?:context length|context window|context size)",
        r"token limit:? #",
        r"must be <= #",
        r"less than # tokens",
        r"the limit of #",
        r"limit (?:is )?#",
        r"[\d,_]+ > #",
        r"range of input length should be \[\d+, ?#\]",
        r"(?:n_ctx|max_(?:model|seq|input)_len\w*)\W{1,3}#",
        r"(?:context|model)[ '\w]*(?:length|size|window) ?\(#",
        r"max(?:imum)?[ \w]*(?:: ?| )#",
        r"cannot exceed #",
        r"(?:at most|only|up to|supports?) # (?:input |prompt )?tokens",
        r"(?:limit|window) of #",
    )
)
_QUOTA = re.compile(
    r"(?i)insufficient[ _](?:quota|balance|credits?|funds)|billing|credit balance|out of credits"
    r"|exceeded your current quota|usage[ _]limits?|payment required|hard[ _]limit|requires more credits"
    r"|quota[ _]exceeded|exceeded.{0,20} quota"
)
_RATE = re.compile(
    r"(?i)rate[ _-]?limit|too many requests|per[ -](?:min|minute|second|day)\b|throttl|please wait before"
)
_IMAGE = re.compile(r"(?i)\bimages?\b|image_url|\bvision\b|multi-?modal|mmproj")
_BLIND = re.compile(
    r"(?i)mmproj|images? (?:inputs? )?(?:is|are) not (?:supported|allowed|accepted)|(?:no|without) vision|text[ -]only"
    r"|(?:not|n't) (?:support|accept|take|handle) (?:any )?(?:images?|image[ _]url|vision|multi-?modal)"
)
"""Not of one image (`image format not supported`), but of all."""
_AUTH = re.compile(
    r"(?i)(?:invalid|incorrect|missing|not valid|no).{0,20}api[ _-]?key|api key not valid|x-api-key|unauthori[sz]ed"
)
_MODEL = re.compile(
    r"(?i)model_not_found|\bmodel\b.{0,120}(?:not found|does not exist|not exist|is not available|not supported)"
    r"|(?:unknown|invalid|no such) model|not a valid model|(?:^|\s)model: \S"
)
_AGAIN = re.compile(
    r"""(?ix) (?:try[ ]again|retry|wait|retry_?(?:delay|after)) [\W_]{1,6} (?:(?:in|after|for|at[ ]least)\W+)?
    ((?:\d+(?:\.\d+)?[ ]?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?)(?![a-z])[ ]?|
    \d+(?:\.\d+)?(?:h|m)(?=\d))+)"""
)
_SPAN = re.compile(r"(?i)(\d+(?:\.\d+)?) ?(ms|milli|s|m|h)")
_EPOCH, _MILLIS = 1e9, 1e11
"""A figure above the first is a time, not a span; above the second it is in milliseconds."""
_UNIT = {"ms": 0.001, "milli": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0}
_OVERLOAD = re.compile(r"(?i)overloaded|temporarily|unavailable|try again|capacity|loading model|server_error|timeout")

_STATUS = {
    "overloaded_error": 529,
    "api_error": 500,
    "server_error": 500,
    "internal_error": 500,
    "timeout_error": 504,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "invalid_request_error": 400,
    "invalid_request": 400,
    "exceed_context_size_error": 400,
    "context_length_exceeded": 400,
    "request_too_large": 413,
    "authentication_error": 401,
    "permission_error": 403,
    "billing_error": 402,
    "not_found_error": 404,
}
"""The status that a word inside a stream stands for."""


class _Said(msgspec.Struct, frozen=True):
    """A provider's words: the message for a person, all words for matching, numbers it gave as fields."""

    message: str
    words: str
    code: str = ""
    limit: int | None = None
    used: int | None = None


def sanitise(text: str, secrets: Iterable[Secret] = (), limit: int = MESSAGE_LIMIT) -> str:
    """Return foreign `text` fit to be shown: one line, bounded, no control characters, no keys."""
    for one in secrets:
        if one.reveal():
            text = text.replace(one.reveal(), "***")
    text = _ESCAPES.sub("", clean(text[: limit * 8]))
    text = _KEYLIKE.sub("***", _UNSAFE.sub(" ", text)).strip()
    return text if len(text) <= limit else text[: limit - 1] + "…"


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds a server asks to wait: `retry-after-ms`, or `retry-after` in seconds or as a date.

    `headers` have lower-case names; `now` is Unix time, used where the answer carries no date of its own.
    """
    millis = _number(headers.get("retry-after-ms"))
    if millis is not None:
        return millis / 1000
    value = headers.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    until = _date(value)
    if until is None:
        return None
    # The server's own clock is the right one to compare its date with; ours may be off.
    return max(0.0, until - (_date(headers.get("date", "")) or now))


def _reset(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds until a limit ends, for servers that name no `retry-after`: as a span, or as a time."""
    for name in ("ratelimit-reset", "x-ratelimit-reset-after", "x-ratelimit-reset"):
        number = _number(headers.get(name))
        if number is not None:
            at = number / 1000 if number > _MILLIS else number
            return max(0.0, at - now) if at > _EPOCH else at
    for what in ("requests", "tokens"):
        spans = _SPAN.findall(headers.get(f"x-ratelimit-reset-{what}", ""))
        if spans and _number(headers.get(f"x-ratelimit-remaining-{what}")) == 0:
            return _seconds(spans)
    return None


def _seconds(spans: Iterable[tuple[str, str]]) -> float:
    return sum(float(number) * _UNIT[unit.lower()] for number, unit in spans)


def _wait_in_words(words: str) -> float | None:
    """Return the seconds to wait where only the message names them (`try again in 1m2.5s`, `retryDelay: 36s`)."""
    found = _AGAIN.search(words)
    if found is None:
        return None
    return _seconds(_SPAN.findall(found[1]))


def error_from_response(
    status: int, headers: Mapping[str, str], body: bytes, *, now: float, secrets: Iterable[Secret] = ()
) -> ModelError:
    """Return the error that an answer with `status` means. `headers` have lower-case names."""
    text = body.decode("utf-8", "replace")
    if 300 <= status < 400:
        return NotTheApi(
            f"The server redirects (HTTP {status}). Keys are not sent on; give the final address.", status=status
        )
    if _is_html(headers, text) and status < 500:
        return NotTheApi(
            f"The server answered with a web page (HTTP {status}), not with the API. Check the base URL.", status=status
        )
    if status < 300:
        return NotTheApi(f"The server gave no answer at all (HTTP {status}). Check the base URL.", status=status)
    said = _Said("", "") if _is_html(headers, text) else _read(text)
    error = _classify(said, status, retry_after(headers, now), tuple(secrets))
    if isinstance(error, RateLimited) and error.retry_after is None:
        error.retry_after = _reset(headers, now)
    return error


def error_from_frame(data: Json, *, secrets: Iterable[Secret] = ()) -> ModelError:
    """Return the error that an event inside a stream means. What it names no status for can be tried again."""
    said = _from_json(data)
    status = _STATUS.get(said.code) or (int(said.code) if re.fullmatch(r"[45]\d\d", said.code) else None)
    return _classify(said, status or _guess(said), None, tuple(secrets))


def _guess(said: _Said) -> int:
    if _RATE.search(said.words):
        return 429
    return 400 if _CONTEXT.search(said.words) or _IMAGE.search(said.words) else 500


def _classify(said: _Said, status: int, wait: float | None, secrets: tuple[Secret, ...]) -> ModelError:
    words = said.words
    shown = sanitise(said.message, secrets)
    text = f"{shown or 'The server gave no reason.'} (HTTP {status})"
    if _is_quota(words, status, wait):
        return QuotaExceeded(f"No quota or credit left: {text}", status=status)
    if _is_context(words, status, said):
        return ContextTooLong(
            f"The request is longer than the model's window: {text}", limit=_limit(said), status=status
        )
    return _by_status(words, text, status, wait, keyed=bool(secrets))


def _is_quota(words: str, status: int, wait: float | None) -> bool:
    """Tell quota from rate: a 429 is quota where its words say so and it names no time (rafter-cli#227)."""
    if status == 402 or "insufficient_quota" in words or "insufficient balance" in words.lower():
        return True
    if not _QUOTA.search(words) or status >= 500:
        return False
    return status != 429 or (wait is None and not _RATE.search(words))


def _is_context(words: str, status: int, said: _Said) -> bool:
    if status in (401, 403, 404) or (_IMAGE.search(words) and "token" not in words):
        return False
    if said.limit is not None or status == 413:
        return True
    rate = _RATE.search(words) and "too large" not in words.lower()
    if status == 429 and (rate or not _WHOLE.search(words)):
        return False  # tokens may be limited by the minute or the day too: waiting helps then, compacting does not
    return bool(_CONTEXT.search(words)) and (not _ANSWER.search(words) or bool(_WINDOW.search(words)))


def _unwelcome(text: str, *, keyed: bool) -> str:
    if keyed:
        return f"The server did not accept the key: {text}. Set the right one and start again; nothing is lost."
    return f"The server wants a key, and none was sent: {text}. Put it into CLEW_API_KEY and start again."


def _by_status(words: str, text: str, status: int, wait: float | None, *, keyed: bool) -> ModelError:
    wait = _wait_in_words(words) if wait is None else wait
    if status == 401 or (status in (400, 403) and _AUTH.search(words)) or status == 403:
        return AuthFailed(_unwelcome(text, keyed=keyed), status=status)
    if status in (400, 413, 415, 422, 500, 501) and _IMAGE.search(words):
        return ImageRejected(f"The server rejected an image: {text}", status=status, blind=bool(_BLIND.search(words)))
    if status in (400, 404, 422) and _MODEL.search(words):
        return ModelNotFound(f"The server does not know this model: {text}. Choose one that it has.", status=status)
    if status in (404, 405, 501):
        return NotTheApi(f"The address answers, but has no such path. Check the base URL: {text}", status=status)
    if status == 429:
        return RateLimited(f"Too many requests: {text}", retry_after=wait, status=status)
    if status >= 500 or status in (408, 409, 425):
        return Overloaded(f"The server failed or is overloaded: {text}", retry_after=wait, status=status)
    return BadRequest(f"The server refused the request: {text}", status=status)


def _limit(said: _Said) -> int | None:
    if said.limit:
        return said.limit
    words = _EXCESS.sub(" ", said.message)
    for pattern in _LIMITS:
        found = pattern.search(words)
        if found:
            number = _tokens(found[found.lastindex or 1])
            return number if number >= _LEAST_WINDOW else None
    return None


def _tokens(figure: str) -> int:
    """Return the tokens a figure means: `8,192`, `8_192`, `4.096` as some countries write it, `128k`, `1.5M`."""
    plain = re.sub("[,_ ]", "", figure[:20]).lower()
    times = {"k": 1_000, "m": 1_000_000}.get(plain[-1], 1)
    plain = plain.rstrip("km")
    if times == 1 or re.fullmatch(r"\d{1,3}(?:\.\d{3})+", plain):
        plain = plain.replace(".", "")
    return int(Decimal(plain) * times)


def _read(text: str) -> _Said:
    try:
        return _from_json(json.loads(text))
    except (ValueError, RecursionError):
        return _Said(text, text)


def _from_json(data: Json) -> _Said:
    """Find the words wherever a server may put them: `error` as object or text, a list, `detail`, `message`."""
    if isinstance(data, list):
        return _from_json(cast("list[Json]", data)[0] if data else {})
    if not isinstance(data, dict):
        return _Said(str(data), str(data))
    whole = cast("dict[str, Json]", data)
    inner = whole.get("error") or whole.get("errors") or whole.get("detail") or whole
    if isinstance(inner, list):
        inner = cast("list[Json]", inner)[0] if inner else whole
    if not isinstance(inner, dict):
        return _Said(str(inner), str(inner), str(whole.get("code") or ""))
    error = cast("dict[str, Json]", inner)
    message = str(error.get("message") or error.get("msg") or error.get("detail") or "")
    where = [str(part) for key in ("loc", "param", "metadata") if (part := error.get(key))]
    codes = [str(code) for key in ("type", "code", "status") if (code := error.get(key))]
    code = next((word for word in codes if word in _STATUS or word.isdigit()), "")
    words = " ".join([*codes, message, *where, *([str(error["details"])[:2000]] if error.get("details") else [])])
    if where:
        message = f"{message} ({sanitise(', '.join(where), limit=200)})"
    return _Said(message, words, code, _int(error.get("n_ctx")), _int(error.get("n_prompt_tokens")))


def _is_html(headers: Mapping[str, str], text: str) -> bool:
    head = text[:200].lstrip("\ufeff \t\r\n").lower()
    return "text/html" in headers.get("content-type", "").lower() or head.startswith(("<!doctype", "<html", "<head"))


def _int(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else None


def _number(value: str | None) -> float | None:
    try:
        number = float(value or "")
    except ValueError:
        return None
    return number if math.isfinite(number) and number >= 0 else None


def _date(value: str) -> float | None:
    try:
        when = email.utils.parsedate_to_datetime(value)
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
