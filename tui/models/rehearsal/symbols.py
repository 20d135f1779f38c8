"""What a line of source defines, and which kind of file a name is: by rules per language, not by parsing."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath

import msgspec

__all__ = ["KINDS", "Symbol", "count_kinds", "defines", "kind_of", "language_of", "symbols_in"]

KINDS: dict[str, tuple[str, ...]] = {
    "Python": (".py", ".pyi"),
    "JavaScript": (".js", ".mjs", ".cjs", ".jsx"),
    "TypeScript": (".ts", ".tsx"),
    "C": (".c",),
    "header": (".h", ".hpp", ".hh"),
    "C++": (".cc", ".cpp", ".cxx"),
    "Go": (".go",),
    "Rust": (".rs",),
    "Java": (".java",),
    "Ruby": (".rb",),
    "shell": (".sh", ".bash"),
    "Markdown": (".md", ".markdown"),
    "reStructuredText": (".rst",),
    "text": (".txt",),
    "HTML": (".html", ".htm"),
    "CSS": (".css",),
    "JSON": (".json",),
    "TOML": (".toml",),
    "YAML": (".yaml", ".yml"),
    "SVG": (".svg",),
    "SQL": (".sql",),
}
"""Kinds of file by the word people use, with their endings."""

_BY_ENDING = {ending: kind for kind, endings in KINDS.items() for ending in endings}
_NAME = r"(?P<name>[A-Za-z_$][\w$]*)"
_BRACED = (
    (rf"^\s*(?:export\s+)?(?:default\s+)?(?:async\s+)?function\s*\*?\s*{_NAME}", "function"),
    (rf"^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\s+{_NAME}", "class"),
    (rf"^\s*(?:export\s+)?(?:interface|type|enum)\s+{_NAME}", "type"),
    (
        rf"^(?:export\s+)?(?:const|let|var)\s+{_NAME}\s*(?::[^=]+)?=\s*(?:async\s*)?(?:function\b|\([^)]*\)\s*(?::[^=]+)?=>|\w+\s*=>)",
        "function",
    ),
    (rf"^(?:module\.)?exports\.{_NAME}\s*=", "function"),
    (rf"^(?:export\s+)?(?:const|let|var)\s+{_NAME}\s*(?::[^=]+)?=", "value"),
    (rf"^\s+(?:static\s+|async\s+|get\s+|set\s+|#)*{_NAME}\s*\([^()]*\)\s*\{{", "method"),
)
_CURLY = (
    (rf"^\s*#\s*define\s+{_NAME}", "macro"),
    (rf"^(?:typedef\s+)?(?:struct|enum|union|class)\s+{_NAME}\s*(?:\{{|$)", "type"),
    (rf"^\}}\s*{_NAME}\s*;", "type"),
    (rf"^(?!return\b|else\b|typedef\b|#)[A-Za-z_][\w\s*&<>:,]*?[\s*&]{_NAME}\s*\([^;{{}}]*\)?\s*\{{?\s*$", "function"),
    (rf"^(?!return\b|typedef\b)[A-Za-z_][\w\s*]*?[\s*]{_NAME}\s*\([^;{{}}]*\)\s*\{{.*\}}\s*$", "function"),
)
_RULES: dict[str, tuple[tuple[str, str], ...]] = {
    "Python": (
        (rf"^(?:async\s+)?def\s+{_NAME}", "function"),
        (rf"^\s+(?:async\s+)?def\s+{_NAME}", "method"),
        (rf"^\s*class\s+{_NAME}", "class"),
        (rf"^{_NAME}\s*(?::[^=]+)?=(?!=)", "value"),
    ),
    "JavaScript": _BRACED,
    "TypeScript": _BRACED,
    "C": _CURLY,
    "header": (*_CURLY, (rf"^[A-Za-z_][\w\s*]*?[\s*]{_NAME}\s*\([^;{{}}]*\)\s*;", "declaration")),
    "C++": _CURLY,
    "Go": ((rf"^func\s+(?:\([^)]*\)\s*)?{_NAME}", "function"), (rf"^type\s+{_NAME}", "type")),
    "Rust": (
        (rf"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+{_NAME}", "function"),
        (rf"^\s*(?:pub(?:\([^)]*\))?\s+)?(?:struct|enum|trait|type)\s+{_NAME}", "type"),
    ),
    "Java": (
        (rf"^\s*(?:public\s+|final\s+|abstract\s+)*(?:class|interface|enum|record)\s+{_NAME}", "class"),
        (rf"^\s+(?:public|private|protected|static|final|\s)+[\w<>\[\]]+\s+{_NAME}\s*\(", "method"),
    ),
    "Ruby": ((rf"^\s*def\s+(?:self\.)?{_NAME}", "function"), (rf"^\s*(?:class|module)\s+{_NAME}", "class")),
    "shell": ((rf"^\s*(?:function\s+)?{_NAME}\s*\(\)", "function"),),
    "Make": ((r"^(?P<name>[A-Za-z][\w.-]*)\s*:(?!=)", "target"),),
    "Markdown": ((r"^#{1,6}\s+(?P<name>.+?)\s*#*$", "heading"),),
}
_COMPILED = {kind: tuple((re.compile(rule), what) for rule, what in rules) for kind, rules in _RULES.items()}
_LONGEST = 400
"""Characters: longer lines are data or minified, and would cost the patterns too much."""
_WORDS_THAT_CALL = frozenset({"if", "for", "while", "switch", "return", "catch", "function", "sizeof", "else", "with"})


class Symbol(msgspec.Struct, frozen=True):
    """Something defined: its name, what it is, its line (from 1) and the words of that line."""

    name: str
    what: str
    line: int
    text: str


def language_of(path: str) -> str:
    """Return the kind of file by its name, or its ending, or "other"."""
    name = PurePosixPath(path).name
    if name.lower() in {"makefile", "gnumakefile"} or name.endswith(".mk"):
        return "Make"
    return kind_of(path)


def kind_of(path: str) -> str:
    """Return the word for the file's kind, its own ending where no word is known, or "other"."""
    if PurePosixPath(path).name.lower() == "makefile":
        return "Make"
    ending = PurePosixPath(path).suffix.lower()
    return _BY_ENDING.get(ending, ending or "other")


def count_kinds(paths: Iterable[str]) -> list[tuple[str, int]]:
    """Return how many files there are of each kind, most first."""
    counts = Counter(kind_of(path) for path in paths)
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))


def symbols_in(path: str, lines: Sequence[tuple[int, str]]) -> list[Symbol]:
    """Return what the numbered `lines` of `path` define, in order."""
    rules = _COMPILED.get(language_of(path), ())
    fenced = _fenced(lines) if language_of(path) == "Markdown" else set[int]()
    found = (_symbol(rules, number, text) for number, text in lines if number not in fenced)
    return [symbol for symbol in found if symbol is not None]


def defines(path: str, text: str, name: str) -> str:
    """Return what `text`, a line of `path`, defines under exactly this name, or ""."""
    symbol = _symbol(_COMPILED.get(language_of(path), ()), 0, text)
    return symbol.what if symbol is not None and symbol.name == name else ""


def _symbol(rules: Sequence[tuple[re.Pattern[str], str]], number: int, text: str) -> Symbol | None:
    if len(text) > _LONGEST:
        return None
    for pattern, what in rules:
        match = pattern.match(text)
        if match is not None and match["name"] not in _WORDS_THAT_CALL:
            return Symbol(name=match["name"], what=what, line=number, text=text.strip())
    return None


def _fenced(lines: Sequence[tuple[int, str]]) -> set[int]:
    inside, numbers = False, set[int]()
    for number, text in lines:
        fence = text.lstrip().startswith(("```", "~~~"))
        if fence or inside:
            numbers.add(number)
        inside = inside != fence
    return numbers
