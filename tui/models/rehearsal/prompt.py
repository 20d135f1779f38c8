"""What a prompt asks for: its tasks, and for each the kind of work and the things it names.

General means only: verbs and nouns of the trade decide the kind; paths, globs, names, quoted texts, code
fences and numbers are taken from the words. Nothing here knows any project.
"""

from __future__ import annotations

import enum
import itertools
import re
from collections.abc import Iterable

import msgspec

from tui.models.rehearsal.symbols import KINDS

__all__ = ["Intent", "Task", "parse_task", "split_tasks", "tasks_in"]


class Intent(enum.Enum):
    """Kinds of work."""

    OVERVIEW = "look over the project"
    LIST = "list files"
    COUNT = "count"
    SYMBOLS = "list definitions"
    WHERE = "find a name"
    SEARCH = "search a text"
    READ = "read a file"
    EXPLAIN = "explain"
    REPLACE = "change text"
    INSERT = "add text"
    CREATE = "create a file"
    TEST = "run the tests"
    REPAIR = "mend a test"
    RUN = "run a command"


class Task(msgspec.Struct, frozen=True):
    """One thing to do. `text` is the person's words for it, byte for byte."""

    text: str
    intent: Intent
    paths: tuple[str, ...] = ()
    globs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    """Identifiers."""
    quoted: tuple[str, ...] = ()
    """Quoted and back-quoted texts, in order."""
    fences: tuple[str, ...] = ()
    """The contents of code fences."""
    numbers: tuple[int, ...] = ()
    terms: tuple[str, ...] = ()
    """Words that carry meaning, for a search when nothing else is named."""
    old: str = ""
    new: str = ""
    """For a change: exact old and new text."""
    content: str | None = None
    """For a new file: exact content, None when the prompt gives none."""
    command: str = ""
    """For a run: the command, word for word."""
    subject: str = ""
    """For a count or a list of definitions: file, line, function, class, method, test, …"""


_UNDERSTOOD = 20_000
_UNDERSTOOD_TASK = 4_000
"""Characters of a prompt, and of one task, that are looked at for what they mean."""
_LONG_WORD = re.compile(r"\S{300,}")
_FENCE = re.compile(r"^[ \t]*```[^\n]*\n(.*?)^[ \t]*```[ \t]*$", re.DOTALL | re.MULTILINE)
_QUOTED = re.compile(r"`([^`\n]+)`|\"([^\"\n]+)\"|“([^”\n]+)”|«([^»\n]+)»|(?<!\w)'([^'\n]+)'(?!\w)|‘([^’\n]+)’")
_ITEM = re.compile(r"^(?:[ \t]{0,3})(?:\d{1,3}[.)]|[-*•+])[ \t]+(?=\S)", re.MULTILINE)
_ENDINGS = {ending for endings in KINDS.values() for ending in endings} | {
    ".cfg",
    ".ini",
    ".lock",
    ".xml",
    ".csv",
    ".log",
    ".env",
    ".mk",
    ".vue",
    ".kt",
    ".swift",
    ".php",
    ".lua",
    ".tcss",
}
_BARE_FILES = {"makefile", "dockerfile", "license", "readme", "changelog", "gemfile", "procfile", "justfile"}
_WORD = re.compile(r"[^\s`\"“”«»,;()<>{}]+")
_NAME = re.compile(r"^[A-Za-z_$][\w$]*(?:\.[A-Za-z_$][\w$]*)*$")
_MARKED_NAME = re.compile(
    r"\b([A-Za-z_$][\w$]*)\(\)|\b(?:function|method|class|variable|constant|struct|type|macro|symbol|identifier|name|def)"
    r"\s+(?:named\s+|called\s+)?([A-Za-z_$][\w$]{2,})"
    r"|\b([A-Za-z_$][\w$]{2,})\s+(?:function|method|class|variable|constant|struct|macro|symbol)\b"
)
_ASKED = re.compile(
    r"(?i)\bwhere\s+(?:is|are|do|does|did)\s+(?:the\s+|we\s+)?([A-Za-z_$][\w$]*)\s+(?:is\s+|get\s+|gets\s+|being\s+)?"
    r"(?:defined|used|called|declared|imported|implemented|set|come|live)"
    r"|\b(?:calls?|uses?|imports?|(?:usages?|uses|callers|references|definition|occurrences)\s+(?:of|to))\s+(?:the\s+)?"
    r"([A-Za-z_$][\w$]{2,})\s*\??\s*$"
    r"|^\W*(?:grep|search)\s+(?:for\s+)?(?:the\s+(?:word|text|string|name)\s+)?([A-Za-z_$][\w$]{2,})\b"
)
_COMMON = (
    "hello hi hey thanks thank ok okay yes good morning evening ping "
    "a an the this that these those is are was were be been being do does did done have has had can could "
    "would should will shall may might must i we you he she it they me us them my our your its their and "
    "or but not no nor so if then than as at by for from in into of off on onto out over to up with "
    "within without about after before between through what which who whom whose where when why how all "
    "any each every some more most many much other such only own same too very just now here there please "
    "tell show list give find search look locate grep see check get read open print display explain "
    "describe summarize summarise understand say count number file files folder folders directory "
    "directories project repo repository code codebase source line lines function functions class classes "
    "method methods defined define defines definition definitions declared used use uses usage usages "
    "called call calls caller callers imported import references reference referenced mention mentions "
    "mentioned occurrence occurrences occur appear appears work works happen happens contain contains "
    "containing named name names every everything anything something place places let want need like also "
    "first next new old one two it's what's run make new thing things whole implemented implementation "
    "handled set up there's where's word text string variable constant symbol identifier project's "
    "program programs programme module modules exist exists "
)
_STOP = frozenset(_COMMON.split())
_NO_FOLDERS = frozenset({"current", "root", "top", "working", "python", "total", "git", "main", "same", "whole"})


def tasks_in(prompts: Iterable[str]) -> tuple[Task, ...]:
    """Return all tasks of these prompts, in order."""
    return tuple(parse_task(part) for prompt in prompts for part in split_tasks(prompt))


def split_tasks(prompt: str) -> list[str]:
    """Return the parts of a prompt that are tasks of their own: list items, else sentences with a verb each."""
    # A paste of any size is a prompt: its beginning is understood, the rest goes with the last part.
    masked = _mask(prompt[:_UNDERSTOOD])
    marks = list(_ITEM.finditer(masked))
    if len(marks) >= 2 and not _makes_a_file(masked[: marks[0].start()]):
        ends = [*(mark.start() for mark in marks[1:]), len(prompt)]
        return [prompt[mark.end() : end].strip() for mark, end in zip(marks, ends, strict=True)]
    if _makes_a_file(masked):
        return [prompt.strip()] if prompt.strip() else []
    return _sentences(prompt, masked)


def _makes_a_file(masked: str) -> bool:
    rule = r"(?i)\b(?:create|write|make|generate|save)\b.{0,300}?\b(?:containing|contents?|text|says)\b"
    return re.search(rule, masked) is not None


def _sentences(prompt: str, masked: str) -> list[str]:
    cuts = [0, *(match.end() for match in _BREAK.finditer(masked)), len(prompt)]
    parts: list[str] = []
    for start, end in itertools.pairwise(cuts):
        part = prompt[start:end]
        if parts and not _stands_alone(masked[start:end]):
            parts[-1] += part
        elif part.strip():
            parts.append(part)
    return [re.sub(r"(?i)(?:,?\s+(?:and\s+)?then|,\s+and)\s*$", "", part).strip() for part in parts if part.strip()]


_BREAK = re.compile(r"(?i)[.?!;][\s]+|,?\s+(?:and\s+)?then\s+|\n{2,}|,\s+and\s+(?=\w+\s)")
_VERBS = re.compile(
    r"(?i)^\W*(?:and\s+|also\s+|please\s+|finally\s+|next,?\s+|now\s+|can you\s+|could you\s+|tell me\s+)*"
    r"(?:list|show|find|count|search|grep|read|open|print|explain|describe|summari[sz]e|change|replace|rename|set|update"
    r"|add|append|insert|remove|delete|create|write|make|run|execute|test|check|where|what|which|who|how|locate|look"
    r"|fix|mend|repair|display|do the|does|edit|give|in\s+\S+,?\s+(?:change|replace|rename))\b"
)


def _stands_alone(masked: str) -> bool:
    return _VERBS.search(masked) is not None


def parse_task(text: str) -> Task:
    """Return what one part of a prompt asks for."""
    fences = tuple(match[1] for match in _FENCE.finditer(text))
    whole = _FENCE.sub(" ", text)
    bare = _LONG_WORD.sub(" ", whole[:_UNDERSTOOD_TASK])
    quoted = tuple(next(group for group in match.groups() if group is not None) for match in _QUOTED.finditer(bare))
    plain = _QUOTED.sub(
        lambda match: f" {_inner(match)} " if _is_path(_inner(match)) or _is_glob(_inner(match)) else " ` ", bare
    )
    words = [word.rstrip(".:!?'").lstrip("'") for word in _WORD.findall(plain)]
    paths = tuple(dict.fromkeys(_tidy(word) for word in words if _is_path(word) and not _is_glob(word)))
    paths = paths or _folders(plain)
    globs = tuple(dict.fromkeys(word for word in words if _is_glob(word)))
    names = _names(plain, words, quoted)
    operands = _operands(bare)
    task = Task(
        text=text,
        intent=Intent.OVERVIEW,
        paths=paths,
        globs=globs or _kind_globs(plain),
        names=names,
        quoted=quoted,
        fences=fences,
        numbers=tuple(int(word) for word in words if re.fullmatch(r"[0-9]{1,8}", word)),
        terms=_terms(words, paths),
        old=operands[0],
        new=operands[1],
        content=_content(text, fences, whole),
        command=_command(bare, fences),
        subject=_subject(plain),
    )
    return msgspec.structs.replace(task, intent=_intent(task, plain.lower()))


def _mask(text: str) -> str:
    """Return `text` of the same length with everything quoted or fenced blanked out."""
    for pattern in (_FENCE, _QUOTED):
        text = pattern.sub(
            lambda match: re.sub(r"[^\n]", "`", match[0]) if match.re is _QUOTED else "`" * len(match[0]), text
        )
    return text


def _inner(match: re.Match[str]) -> str:
    return next(group for group in match.groups() if group is not None)


def _tidy(path: str) -> str:
    return (path.removeprefix("@").removeprefix("./").rstrip("/")) or "."


def _is_glob(word: str) -> bool:
    return (
        re.fullmatch(r"[\w./\-*?\[\]]*[*?][\w./\-*?\[\]]*", word) is not None
        and re.search(r"[\w./]", word.strip("?")) is not None
        and "*" in word
    )


def _is_path(word: str) -> bool:
    word = word.removeprefix("@")
    if re.search(r"\s|://|[*?=()]", word) or not re.search(r"\w", word):
        return False
    last = word.rstrip("/").rsplit("/", 1)[-1]
    ending = "." + last.rsplit(".", 1)[-1].lower() if "." in last[1:] else ""
    if ending in _ENDINGS or last.lower() in _BARE_FILES:
        return True
    if word.endswith("/") and len(word) > 1:
        return True
    return (
        "/" in word
        and re.fullmatch(r"[\w.@+~-]+(?:/[\w.@+~-]+)+", word) is not None
        and word.lower() not in {"and/or", "he/she"}
    )


def _names(plain: str, words: list[str], quoted: tuple[str, ...]) -> tuple[str, ...]:
    found: list[str] = [
        text.removesuffix("()") for text in quoted if _NAME.match(text.removesuffix("()")) and not _is_path(text)
    ]
    for match in _MARKED_NAME.finditer(plain):
        name = next(group for group in match.groups() if group)
        if name.lower() not in _STOP:
            found.append(name)
    found += [word for word in (word.removesuffix("()") for word in words) if _looks_like_a_name(word)]
    asked = _ASKED.search(plain.strip())
    if asked is not None:
        name = next(group for group in asked.groups() if group)
        if name.lower() not in _STOP:
            found.append(name)
    return tuple(dict.fromkeys(found))


def _folders(plain: str) -> tuple[str, ...]:
    """Folders named as such: "the src folder", "files in src"."""
    rule = (
        r"(?i)\b(?:files?|folders?|modules?|tests?|function|functions|class|classes|everything|lines|what(?:'s| is))\s+"
        r"(?:are\s+|is\s+)?(?:in|under|below|inside)\s+(?:the\s+)?(?:folder\s+|directory\s+)?([\w.-]+)\b"
        r"|\bthe\s+([\w.-]+)\s+(?:folder|directory|dir)\b"
    )
    found = (next(group for group in match.groups() if group) for match in re.finditer(rule, plain))
    return tuple(dict.fromkeys(name for name in found if name.lower() not in _STOP | _NO_FOLDERS))


def _looks_like_a_name(word: str) -> bool:
    marked = re.search(r"\w_\w|^_\w|[a-z0-9][A-Z]|^[A-Z]{2,}[a-z]\w|^[A-Z][A-Z0-9]*_", word) is not None
    return marked and _NAME.match(word) is not None and not _is_path(word)


def _kind_globs(plain: str) -> tuple[str, ...]:
    """Globs for "Python files", "test files", ".py files"."""
    found = [f"*.{ending}" for ending in re.findall(r"(?<![\w/])\.(\w{1,5})\s+files?\b", plain)]
    for match in re.finditer(
        r"(?i)\b([A-Za-z+]+)(?:\s+source)?(?:\s+(?:files?|modules?|scripts?|sources?|headers?|documents?))\b", plain
    ):
        for kind, endings in KINDS.items():
            if match[1].lower() in {kind.lower(), endings[0].lstrip(".")}:
                found += [f"*{ending}" for ending in endings]
    return tuple(dict.fromkeys(found))


def _terms(words: list[str], paths: tuple[str, ...]) -> tuple[str, ...]:
    good = (
        word for word in words if re.fullmatch(r"[\w-]{3,}", word) and word.lower() not in _STOP and word not in paths
    )
    return tuple(dict.fromkeys(word for word in good if not word.isdigit()))


_OPERAND = r"(?:the\s+)?(?:\w+\s+){0,2}?(?:`([^`\n]+)`|\"([^\"\n]*)\"|“([^”\n]*)”|(?<!\w)'([^'\n]*)'|([^\s`\"',;]+))"
_CHANGES = (
    (
        re.compile(
            rf"(?is)\b(?:change|replace|rename|substitute|swap|turn|update|edit|modify|set|correct|fix|bump|switch)\b\s+{_OPERAND}(?:\s+(?:in|inside|of)\s+\S+?)?\s+(?:to|with|by|into|for|→|->|=>)\s+{_OPERAND}"
        ),
        False,
    ),
    (
        re.compile(
            rf"(?is)\b(?:use|put|have|write|want)\s+{_OPERAND}\s+(?:instead\s+of|in\s+place\s+of|rather\s+than)\s+{_OPERAND}"
        ),
        True,
    ),
    (
        re.compile(
            rf"(?is)\binstead\s+of\s+{_OPERAND},?\s+(?:use|put|have|write|it\s+should\s+(?:say|be|read))\s+{_OPERAND}"
        ),
        False,
    ),
    (
        re.compile(rf"(?is){_OPERAND}\s+(?:should|must|ought\s+to)\s+(?:be|become|read|say|be\s+called)\s+{_OPERAND}"),
        False,
    ),
)


def _operands(bare: str) -> tuple[str, str]:
    """Return the old and the new text of a change, or two empty strings."""
    for pattern, swapped in _CHANGES:
        match = pattern.search(bare)
        if match is None:
            continue
        first = next((group for group in match.groups()[:5] if group is not None), "")
        second = next((group for group in match.groups()[5:] if group is not None), "")
        if match.groups()[9] is not None:
            second = second.rstrip(".?!:")
        if first and first.lower() not in _STOP:
            return (second, first) if swapped else (first, second)
    return "", ""


def _content(text: str, fences: tuple[str, ...], bare: str) -> str | None:
    """Return the exact content of a new file, where the prompt gives one."""
    if fences:
        return fences[0]
    lead = re.search(
        r"(?i)\b(?:containing|that\s+(?:contains|says|reads)|with(?:\s+the|\s+this)?\s+(?:contents?|text|lines?|words?)"
        r"|contents?\s*:|saying|whose\s+content\s+is)\b:?\s*(?:the\s+(?:text|words?|lines?)\s*:?\s*|exactly\s*:?\s*)?",
        bare,
    )
    if lead is None:
        written = re.search(
            r"(?i)\b(?:write|put|save|store)\s+(`[^`\n]+`|\"[^\"\n]+\"|'[^'\n]+')\s+(?:in|into|to)\b", bare
        )
        return written[1][1:-1] if written is not None else None
    rest = bare[lead.end() :]
    quoted = _QUOTED.match(rest)
    if quoted is not None:
        return _inner(quoted)
    return text[text.rfind(rest) :] if rest.strip() else None


def _command(bare: str, fences: tuple[str, ...]) -> str:
    match = re.search(
        r"(?i)\b(?:run|execute|launch|try|call)\b[^`\"'\n]{0,40}(?:`([^`\n]+)`|\"([^\"\n]+)\"|'([^'\n]+)')", bare
    )
    if match is not None:
        return next(group for group in match.groups() if group)
    if fences and re.search(r"(?i)\b(?:run|execute)\b", bare):
        return fences[0].strip("\n")
    return ""


_SUBJECTS = (
    ("function", r"functions?|defs?|procedures?|routines?"),
    ("class", r"class(?:es)?"),
    ("method", r"methods?"),
    ("test", r"tests?|test cases?"),
    ("type", r"structs?|types?|interfaces?|enums?"),
    ("macro", r"macros?"),
    ("heading", r"headings?|sections?|chapters?"),
    ("target", r"targets?"),
    ("symbol", r"symbols?|definitions?|exports?|declarations?|names"),
    ("line", r"lines?"),
    ("folder", r"folders?|director(?:y|ies)"),
    ("file", r"files?|modules?|scripts?|documents?"),
)


def _subject(plain: str) -> str:
    """Return the first thing that is counted or listed."""
    places = [(match.start(), what) for what, rule in _SUBJECTS if (match := re.search(rf"(?i)\b(?:{rule})\b", plain))]
    return min(places)[1] if places else ""


def _said(text: str, words: str) -> bool:
    return re.search(rf"\b(?:{words})\b", text) is not None


def _intent(task: Task, text: str) -> Intent:
    for choose in (_change_intent, _run_intent, _look_intent):
        intent = choose(task, text)
        if intent is not None:
            return intent
    if task.paths:
        return Intent.EXPLAIN
    if task.names:
        return Intent.WHERE
    return Intent.SEARCH if task.quoted or _is_topic(task, text) else Intent.OVERVIEW


def _change_intent(task: Task, text: str) -> Intent | None:
    if (
        task.paths
        and _said(text, "create|write|make|generate|save|put|store")
        and (task.content is not None or _said(text, "create|new|generate"))
    ):
        return Intent.CREATE
    if task.old and not _said(text, "where|how many|show|list|which"):
        return Intent.REPLACE
    if task.paths and _said(text, "add|append|insert|prepend") and (task.quoted or task.fences):
        return Intent.INSERT
    if task.paths and _said(text, "remove|delete|drop|strip") and task.quoted:
        return Intent.REPLACE
    if task.paths and _said(text, "add") and _said(text, "file"):
        return Intent.CREATE
    return None


def _run_intent(task: Task, text: str) -> Intent | None:
    if task.command:
        return Intent.RUN
    if _said(text, "fix|mend|repair") and _said(text, "tests?|test suite|unit tests") and not task.old:
        return Intent.REPAIR
    if _said(text, "tests?|test suite|unit tests|specs?") and _said(
        text, "run|execute|pass|passing|green|fail|failing|fails|broken|launch|start|succeed|ok|rerun"
    ):
        return Intent.TEST
    if re.match(r"\W*(?:please\s+)?test\b(?!\s+files?)", text) and not task.names:
        return Intent.TEST
    return (
        Intent.RUN
        if re.match(r"\W*(?:please\s+)?(?:run|execute|build|compile|lint)\b", text) and not _said(text, "where|what")
        else None
    )


_SYMBOL_SUBJECTS = frozenset({"function", "class", "method", "type", "macro", "heading", "target", "symbol"})


def _look_intent(task: Task, text: str) -> Intent | None:
    if _said(text, "how many|count|number of"):
        return Intent.COUNT
    if task.paths and _said(text, r"lines?") and task.numbers:
        return Intent.READ
    if (
        task.subject in _SYMBOL_SUBJECTS
        and not task.names
        and _said(
            text,
            "show|list|what|which|name|find|give|tell|print|display|all|every|see|has|have|contains?|defines?|exports?",
        )
    ):
        return Intent.SYMBOLS
    if task.paths and not task.names and _said(text, "defines?|exports?|contains?|declares?|provides?|offers?"):
        return Intent.SYMBOLS
    if _is_where(task, text):
        return Intent.WHERE if task.names else Intent.SEARCH
    if _is_listing(task, text):
        return Intent.LIST
    if task.paths and _said(text, "show|read|print|open|display|cat|view|give|see|look at|dump"):
        return Intent.READ
    if (task.paths or task.names) and _said(
        text, "explain|describe|summari[sz]e|what|how|purpose|understand|about|why"
    ):
        return Intent.EXPLAIN
    return None


def _is_where(task: Task, text: str) -> bool:
    if not (task.names or task.quoted or task.terms) or (task.globs and not task.names and not task.quoted):
        return False
    if task.paths and not task.names and not task.quoted:
        return False
    return _said(
        text,
        "where|who|find|search|grep|look for|locate|usages?|references?|callers?|occurrences?|used|uses|defined|called"
        "|calls|imports?|imported|mentions?|mentioned|which files?|todo|fixme|look up",
    )


def _is_listing(task: Task, text: str) -> bool:
    if task.globs and _said(text, "list|show|find|what|which|all|are there|give|search|locate|name"):
        return True
    wanted = _said(text, "files?|folders?|director(?:y|ies)|tree|layout|structure|contents?")
    asked = _said(text, "list|ls|show|what|which|tree|layout|structure|give|see|display|print")
    file_named = any("." in path.rsplit("/", 1)[-1] for path in task.paths)
    return asked and (wanted or _said(text, r"ls|everything in")) and not file_named and not _is_topic(task, text)


_PROJECT = "project|repo|repository|codebase|code base|program|package|application|app|this|here|it|library"


def _is_topic(task: Task, text: str) -> bool:
    """Whether it is about a subject that could be searched, not the project as a whole."""
    if not task.terms:
        return False
    return _said(text, "how|where|why|find|search|which") or not _said(text, _PROJECT)
