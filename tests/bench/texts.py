"""Made-up Markdown for benchmarks: prose, lists, tables, code, wide words. The same seed gives the same text."""

from __future__ import annotations

import random
from collections.abc import Iterator

__all__ = ["CHARS_PER_TOKEN", "markdown", "tokens"]

CHARS_PER_TOKEN = 4.2
"""Characters of a token in text like this."""

_PROSE = (
    "the stream keeps order while each entry becomes durable before effects run and nothing above it moves when "
    "more arrives so that cost stays flat however long a session grows 日本語 テスト naïve façade context window"
)
_WORDS = _PROSE.split()


def _sentence(rng: random.Random, words: int) -> str:
    picked = [rng.choice(_WORDS) for _ in range(words)]
    picked[words // 3] = f"**{picked[words // 3]}**"
    picked[words // 2] = f"`{picked[words // 2]}`"
    return " ".join(picked).capitalize() + "."


def _paragraph(rng: random.Random) -> str:
    return " ".join(_sentence(rng, rng.randint(8, 18)) for _ in range(rng.randint(2, 5)))


def _list(rng: random.Random) -> str:
    return "\n".join(f"- {_sentence(rng, rng.randint(5, 12))}" for _ in range(rng.randint(3, 8)))


def _table(rng: random.Random) -> str:
    rows = [f"| {_sentence(rng, 4)} | {rng.randint(1, 999)} | `v{n}` |" for n in range(rng.randint(3, 9))]
    return "\n".join(["| name | count | key |", "|---|--:|---|", *rows])


def _code(rng: random.Random) -> str:
    lines = [f"    value_{n} = compute({n}, 'text')  # {rng.choice(_WORDS)}" for n in range(rng.randint(4, 16))]
    return "\n".join(["```python", "def run(items):", *lines, "    return items", "```"])


def markdown(token_count: int, seed: int = 1) -> str:
    """Return about `token_count` tokens of Markdown."""
    rng = random.Random(seed)
    size = int(token_count * CHARS_PER_TOKEN)
    parts: list[str] = []
    length = 0
    while length < size:
        part = rng.choice((_paragraph, _paragraph, _paragraph, _list, _table, _code))(rng)
        if rng.random() < 0.15:
            part = f"## {' '.join(rng.choices(_WORDS, k=4))}\n\n{part}"
        parts.append(part)
        length += len(part) + 2
    return "\n\n".join(parts)[:size]


def tokens(text: str) -> Iterator[str]:
    """Cut a text into pieces of 3 to 6 characters, as a provider's deltas would be."""
    at = turn = 0
    while at < len(text):
        size = 3 + turn % 4
        yield text[at : at + size]
        at, turn = at + size, turn + 1
