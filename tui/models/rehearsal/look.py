"""Work that only looks: listing, counting, definitions, names, texts, files."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Generator

from tui.models.rehearsal.desk import (
    Ask,
    Desk,
    Hit,
    Work,
    a_number,
    ask,
    code,
    fenced,
    find_files,
    grep,
    note_trouble,
    read_whole,
    some,
)
from tui.models.rehearsal.evidence import Found
from tui.models.rehearsal.facts import Lines, lines_in, names_in
from tui.models.rehearsal.symbols import Symbol, count_kinds, defines, language_of, symbols_in

__all__ = ["count", "explain", "list_files", "read", "search", "symbols", "where"]

_FENCE_WORDS = {
    "Python": "python",
    "JavaScript": "js",
    "TypeScript": "ts",
    "C": "c",
    "header": "c",
    "Make": "make",
    "shell": "sh",
}
_GROUPS = {
    "function": ("function", "method", "declaration"),
    "class": ("class", "type"),
    "method": ("method",),
    "type": ("type", "class"),
    "macro": ("macro",),
    "heading": ("heading",),
    "target": ("target",),
}
_ANYWHERE = {
    "function": r"^\s*(?:export\s+)?(?:default\s+)?(?:pub\s+)?(?:async\s+)?(?:def|function|fn|func)\s+\w+",
    "class": r"^\s*(?:export\s+)?(?:default\s+)?(?:abstract\s+)?class\s+\w+",
    "method": r"^\s+(?:async\s+)?def\s+\w+",
    "type": r"^\s*(?:typedef\s+|export\s+|pub\s+)?(?:struct|enum|interface|trait|type)\s+\w+",
    "macro": r"^\s*#\s*define\s+\w+",
    "test": r"^\s*(?:async\s+)?def\s+test\w*|^\s*(?:it|test)\(|^\s*func\s+Test\w+|^\s*#\[test\]",
    "heading": r"^#{1,6}\s+\S",
}


def list_files(desk: Desk) -> Work:
    """List a folder, or the files for a glob."""
    task, page = desk.task, desk.page
    if task.globs:
        files, cut = yield from find_files(desk, f"I look for {_all(task.globs)}.", task.globs, desk.where)
        page.head(f"{_least(cut)}{a_number(len(files), 'file')} for {_all(task.globs)}{_inside(desk)}.")
        page.add(*some(code(file) for file in files))
        return
    listing, every = yield from ask(
        f"I list {_place(desk.where)} and everything below it.",
        desk.tools.ls(desk.where),
        desk.tools.find("*", desk.where),
    )
    if note_trouble(desk, listing):
        return
    names = names_in(listing.text)
    files = [name for name in names_in(every.text) if not name.endswith("/")] if not every.is_error else []
    folders = [name for name in names if name.endswith("/")]
    page.head(
        f"{_place(desk.where).capitalize()} holds {a_number(len(folders), 'folder')} "
        f"and {a_number(len(names) - len(folders), 'file')}."
    )
    page.add(*some(code(name) for name in names))
    if files:
        page.add("", f"Below it there are {a_number(len(files), 'file')}: {_kinds(files)}.")


def count(desk: Desk) -> Work:
    """Count files, lines, definitions or occurrences."""
    task = desk.task
    if task.subject == "line" and task.paths:
        return _count_lines(desk)
    if (task.names or task.quoted) and not (task.subject == "file" and task.globs):
        return _count_occurrences(desk)
    if task.subject in _ANYWHERE and not task.globs:
        return symbols(desk) if task.paths and task.subject != "test" else _symbols_anywhere(desk)
    if task.subject in ("file", "folder", "") or task.globs:
        return _count_files(desk)
    return search(desk)


def _count_files(desk: Desk) -> Work:
    globs = desk.task.globs or ("*",)
    files, cut = yield from find_files(desk, f"I count the files for {_all(globs)}.", globs, desk.where)
    named = f" for {_all(globs)}" if desk.task.globs else ""
    desk.page.head(
        f"There {'is' if len(files) == 1 else 'are'} {_least(cut)}"
        f"**{a_number(len(files), 'file')}**{named}{_inside(desk)}."
    )
    if not desk.task.globs:
        desk.page.add(*some(f"{kind}: {number}" for kind, number in count_kinds(files)))
        return
    folders = Counter(file.rsplit("/", 1)[0] if "/" in file else "." for file in files)
    desk.page.add(*some(f"{code(folder)}: {number}" for folder, number in sorted(folders.items())))


def _count_lines(desk: Desk) -> Work:
    rows: list[str] = []
    for path in desk.task.paths:
        got = yield from read_whole(desk, path, f"I read `{path}` to count its lines.")
        if got is not None:
            total = got[1].total or len(got[1].lines)
            rows.append(f"{code(got[0])} has {_least(got[1].cut and not got[1].total)}**{a_number(total, 'line')}**")
    desk.page.head("; ".join(rows) + "." if rows else "I could not count any lines.")


def _count_occurrences(desk: Desk) -> Work:
    for name in desk.task.names or desk.task.quoted:
        hits, cut = yield from grep(desk, f"I search {code(name)}.", _word(name), desk.where)
        files = Counter(hit.path for hit in hits)
        desk.page.add(
            f"{code(name)} is on {_least(cut)}**{a_number(len(hits), 'line')}** in {a_number(len(files), 'file')}."
        )
        desk.page.add(*some(f"{code(path)}: {number}" for path, number in files.most_common()))
    desk.page.head("Counted by a search of whole words.")


def symbols(desk: Desk) -> Work:
    """List what files define."""
    if not desk.task.paths:
        return _symbols_anywhere(desk)
    return _symbols_in_paths(desk)


def _symbols_in_paths(desk: Desk) -> Work:
    heads: list[str] = []
    for path in (yield from _expand(desk)):
        got = yield from read_whole(desk, path, f"I read `{path}` for its definitions.")
        if got is None:
            continue
        wanted = _wanted(desk, symbols_in(got[0], got[1].lines))
        heads.append(f"{code(got[0])} has {_tally(wanted) or 'no definitions of that kind'}")
        desk.page.add(
            f"### {code(got[0])}", "", *(some(_symbol_row(symbol) for symbol in wanted) or ["- none found"]), ""
        )
        if got[1].cut:
            desk.page.add("The file goes on beyond what I read.")
    desk.page.head("; ".join(heads) + "." if heads else "I found no file to look into.")


def _expand(desk: Desk) -> Generator[Ask, list[Found], list[str]]:
    """Files as they are; a folder becomes the source files in it (bounded)."""
    paths: list[str] = []
    for path in desk.task.paths:
        if "." in path.rsplit("/", 1)[-1].lstrip(".") or language_of(path) == "Make":
            paths.append(path)
            continue
        files, _ = yield from find_files(desk, f"I look which files are in `{path}`.", ["*"], path)
        paths += [file for file in files if symbols_rules_known(file)][:8] or [path]
    return paths


def symbols_rules_known(path: str) -> bool:
    """Whether definitions can be told in a file of this kind, headings aside."""
    return language_of(path) in _FENCE_WORDS or language_of(path) in ("Go", "Rust", "Java", "Ruby", "C++")


def _symbols_anywhere(desk: Desk) -> Work:
    subject = desk.task.subject if desk.task.subject in _ANYWHERE else "function"
    hits, cut = yield from grep(desk, f"I search all definitions of a {subject}.", _ANYWHERE[subject], desk.where)
    files = Counter(hit.path for hit in hits)
    many = "classes" if subject == "class" else f"{subject}s"
    desk.page.head(f"I found {_least(cut)}**{a_number(len(hits), subject, many)}** in {a_number(len(files), 'file')}.")
    desk.page.add(*some(f"{code(hit.place)}: {code(hit.text)}" for hit in hits))


def _wanted(desk: Desk, found: list[Symbol]) -> list[Symbol]:
    group = _GROUPS.get(desk.task.subject)
    kept = [symbol for symbol in found if group is None or symbol.what in group]
    return [symbol for symbol in kept if symbol.what != "value"] or kept


def _tally(found: list[Symbol]) -> str:
    """How many of each, as "2 functions and 1 class"."""
    counts = Counter(symbol.what for symbol in found)
    rows = [a_number(number, what, "classes" if what == "class" else "") for what, number in counts.items()]
    return " and ".join(part for part in (", ".join(rows[:-1]), "".join(rows[-1:])) if part)


def _symbol_row(symbol: Symbol) -> str:
    return f"`{symbol.name}` ({symbol.what}, line {symbol.line}): {code(symbol.text)}"


def where(desk: Desk) -> Work:
    """Say where names are defined and used, and show the definition."""
    heads: list[str] = []
    for name in desk.task.names[:4]:
        last = name.rsplit(".", 1)[-1]
        more = desk.tools.find(f"*{last}*")
        calls = (more,) if desk.where == "." else ()
        hits, cut = yield from grep(desk, f"I search `{name}`.", _word(name), desk.where, *calls)
        if not hits and last != name:
            hits, cut = yield from grep(desk, f"I search `{last}` alone.", _word(last), desk.where)
        if not hits:
            heads.append(f"No line{_inside(desk)} contains {code(name)}")
            continue
        made = [(hit, what) for hit in hits if (what := defines(hit.path, hit.text, last))]
        heads.append(_where_head(name, made, len(hits), cut=cut))
        yield from _show_definitions(desk, made)
        _show_uses(desk, [hit for hit in hits if hit not in [one for one, _ in made]])
    desk.page.head(". ".join(heads) + ".")


def _where_head(name: str, made: list[tuple[Hit, str]], hits: int, *, cut: bool) -> str:
    places = ", ".join(f"{code(hit.place)} ({what})" for hit, what in made[:6])
    start = f"{code(name)} is defined in {places}" if made else f"I found no definition of {code(name)}"
    return f"{start}; it is on {_least(cut)}{a_number(hits, 'line')} in all"


def _show_definitions(desk: Desk, made: list[tuple[Hit, str]]) -> Work:
    for hit, _ in made[:2]:
        start = max(1, hit.line - 3)
        (found,) = yield from ask(f"I read around `{hit.place}`.", desk.tools.read(hit.path, start, 24))
        if not note_trouble(desk, found):
            lines = lines_in(found.text, start)
            desk.page.add(f"### {code(hit.place)}", "", _quote(hit.path, lines), "")


def _show_uses(desk: Desk, uses: list[Hit]) -> None:
    if uses:
        files = len({hit.path for hit in uses})
        desk.page.add(f"### Used on {a_number(len(uses), 'line')} in {a_number(files, 'file')}", "")
        desk.page.add(*some((f"{code(hit.place)}: {code(hit.text)}" for hit in uses), 25), "")


def search(desk: Desk) -> Work:
    """Search a quoted text, or the words of the question, and read where most of it is."""
    pattern, shown = _search_pattern(desk)
    hits, cut = yield from grep(
        desk, f"I search {shown} and list the project.", pattern, desk.where, desk.tools.ls(".")
    )
    if not hits:
        desk.page.head(f"I found nothing{_inside(desk)} for {shown}.")
        return
    ranked = _rank(desk, hits)
    best = ranked[0]
    desk.page.head(
        f"{shown} is on {_least(cut)}{a_number(len(hits), 'line')} in {a_number(len(ranked), 'file')}, "
        f"most of all in {code(best)}."
    )
    yield from _read_densest(desk, best, [hit for hit in hits if hit.path == best])
    desk.page.add("### Where", "", *some((f"{code(hit.place)}: {code(hit.text)}" for hit in hits), 25))


def _search_pattern(desk: Desk) -> tuple[str, str]:
    exact = desk.task.quoted or desk.task.names
    if exact:
        return "|".join(re.escape(text) for text in exact), ", ".join(code(text) for text in exact)
    terms = desk.task.terms or tuple(re.findall(r"\w{4,}", desk.task.text))[:4] or (desk.task.text.strip()[:40],)
    return "(?i)" + "|".join(re.escape(_stem(term)) for term in terms), ", ".join(code(term) for term in terms)


def _stem(term: str) -> str:
    for ending in ("ations", "ation", "ings", "ing", "ions", "ion", "ies", "ed", "es", "s"):
        if term.lower().endswith(ending) and len(term) - len(ending) >= 4:
            return term[: -len(ending)]
    return term


def _rank(desk: Desk, hits: tuple[Hit, ...]) -> list[str]:
    """Files by the number of different terms, then of hits; source before prose."""
    stems = [_stem(term).lower() for term in desk.task.terms] or [""]

    def score(path: str) -> tuple[int, int, int, str]:
        text = "\n".join(hit.text for hit in hits if hit.path == path).lower() + path.lower()
        number = sum(1 for hit in hits if hit.path == path)
        return -sum(stem in text for stem in stems), -int(symbols_rules_known(path)), -number, path

    return sorted({hit.path for hit in hits}, key=score)


def _read_densest(desk: Desk, path: str, hits: list[Hit]) -> Work:
    middle = max(hits, key=lambda hit: sum(abs(other.line - hit.line) <= 15 for other in hits)).line
    start = max(1, middle - 5)
    (found,) = yield from ask(f"Most of it is in `{path}`; I read there.", desk.tools.read(path, start, 40))
    if not note_trouble(desk, found):
        lines = lines_in(found.text, start)
        desk.page.add(f"### {code(f'{path}:{start}')}", "", _quote(path, lines), "")
        inside = symbols_in(path, lines.lines)
        if inside:
            desk.page.add("Defined there: " + ", ".join(f"`{symbol.name}`" for symbol in inside[:12]) + ".", "")


def read(desk: Desk) -> Work:
    """Show the text of files, or the lines asked for."""
    heads: list[str] = []
    for path in desk.task.paths:
        start, number = _line_range(desk.task.text)
        if start:
            (found,) = yield from ask(f"I read `{path}` from line {start}.", desk.tools.read(path, start, number))
            got = None if note_trouble(desk, found) else (path, lines_in(found.text, start))
        else:
            got = yield from read_whole(desk, path, f"I read `{path}`.")
        if got is not None:
            heads.append(_show_lines(desk, got[0], got[1], number))
    desk.page.head("; ".join(heads) + "." if heads else "I could not read what was asked for.")


def _show_lines(desk: Desk, path: str, lines: Lines, number: int) -> str:
    rows = (
        lines.lines[-number:] if number and re.search(r"(?i)\blast\b", desk.task.text) else lines.lines[: number or 80]
    )
    shown = Lines(lines=rows)
    desk.page.add(f"### {code(path)}", "", _quote(path, shown), "")
    if not rows:
        return f"{code(path)} has no such lines"
    return f"{code(path)}, lines {rows[0][0]} to {rows[-1][0]}" + (f" of {lines.total}" if lines.total else "")


def _line_range(text: str) -> tuple[int, int]:
    """First line and how many; (0, n) for the first or last n, (0, 0) for all."""
    span = re.search(r"(?i)\blines?\s+(\d{1,8})\s*(?:-|–|\.\.|to|through|until|and)\s*(\d{1,8})", text)
    if span is not None:
        first, last = int(span[1]), int(span[2])
        return first, max(1, last - first + 1)
    one = re.search(r"(?i)\bline\s+(\d{1,8})\b", text)
    if one is not None:
        return int(one[1]), 1
    several = re.search(r"(?i)\b(?:first|last|top)\s+(\d{1,6})\s+lines?", text)
    return (0, int(several[1])) if several is not None else (0, 0)


def explain(desk: Desk) -> Work:
    """Say what a file or a name is, from its own text."""
    if not desk.task.paths:
        yield from where(desk)
        return
    heads: list[str] = []
    for path in (yield from _expand(desk)):
        got = yield from read_whole(desk, path, f"I read `{path}`.")
        if got is not None:
            heads.append(_explain_file(desk, *got))
    desk.page.head("; ".join(heads) + "." if heads else "I could not read what was asked for.")


def _explain_file(desk: Desk, path: str, lines: Lines) -> str:
    words = opening_words(path, lines.text)
    found = symbols_in(path, lines.lines)
    desk.page.add(f"### {code(path)}", "")
    if words:
        desk.page.add(f"> {words}", "")
    used = _imports(lines.text)
    if used:
        desk.page.add("It uses " + ", ".join(f"`{name}`" for name in used[:15]) + ".", "")
    shown = [symbol for symbol in found if symbol.what != "value"] or found
    desk.page.add(*some((_symbol_row(symbol) for symbol in shown), 30), "")
    return (
        f"{code(path)} has {a_number(lines.total or len(lines.lines), 'line')} and {a_number(len(shown), 'definition')}"
    )


def opening_words(path: str, text: str) -> str:
    """Return the first sentence or paragraph a file says about itself, or ""."""
    if language_of(path) in ("Markdown", "text", "reStructuredText"):
        rows = [row.strip() for row in re.split(r"\n\s*\n", text)]
        prose = (row for row in rows if row and not re.match(r"[#=`<!\[|\-]", row))
        return " ".join(next(prose, "").split())[:400]
    doc = re.match(r"\s*(?:#!.*\n)?\s*[rRuU]?(\"\"\"|''')(.+?)\1", text, re.DOTALL)
    if doc is not None:
        return " ".join(doc[2].strip().split("\n\n")[0].split())[:400]
    comment = re.match(r"\s*/\*+(.+?)\*/|\s*((?:(?://|#(?!include|define|if|!)|;)[^\n]*\n)+)", text, re.DOTALL)
    if comment is None:
        return ""
    return " ".join(re.sub(r"(?m)^\s*(?://+|#+|\*+|;+)", "", comment[1] or comment[2] or "").split())[:400]


def _imports(text: str) -> list[str]:
    rules = (
        r"^\s*(?:from\s+([\w.]+)\s+import|import\s+([\w.]+))",
        r"(?:\bfrom\s+|\brequire\()\s*['\"]([^'\"]+)['\"]",
        r"^\s*#\s*include\s*[<\"]([^>\"]+)[>\"]",
    )
    found = (match for rule in rules for match in re.finditer(rule, text, re.MULTILINE))
    return list(dict.fromkeys(next(group for group in match.groups() if group) for match in found))


def _quote(path: str, lines: Lines) -> str:
    return fenced(lines.text, _FENCE_WORDS.get(language_of(path), ""))


def _word(name: str) -> str:
    """Return a pattern for `name` as a whole word where it begins and ends with word characters."""
    start = r"\b" if re.match(r"\w", name) else ""
    end = r"\b" if re.search(r"\w$", name) else ""
    return f"{start}{re.escape(name)}{end}"


def _all(globs: tuple[str, ...]) -> str:
    return ", ".join(code(glob) for glob in globs)


def _least(cut: bool) -> str:
    return "at least " if cut else ""


def _inside(desk: Desk) -> str:
    return "" if desk.where == "." else f" in {code(desk.where)}"


def _place(path: str) -> str:
    return "the project" if path == "." else f"`{path}`"


def _kinds(files: list[str]) -> str:
    return ", ".join(f"{number} {kind}" for kind, number in count_kinds(files))
