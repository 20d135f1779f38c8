"""Work that changes or runs: edits, new files, tests, commands."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence

from tui.models.rehearsal.desk import (
    Ask,
    Desk,
    Page,
    Work,
    a_number,
    ask,
    code,
    fenced,
    find_files,
    grep,
    note_trouble,
    read_whole,
)
from tui.models.rehearsal.evidence import Found
from tui.models.rehearsal.facts import Lines, is_cut, lines_in, names_in, report_of_tests
from tui.models.rehearsal.overview import MANIFESTS, Manifest, manifest_of
from tui.models.rehearsal.toolbox import Replacement

__all__ = ["create", "insert", "replace", "run_command", "run_tests", "test_commands", "unique_blocks"]

_MOST_FILES = 20
_MISSING = re.compile(r"No module named '?pytest|\b(?:npm|make|python3?|cargo|go): (?:command )?not found")
_EXIT = re.compile(r"(?i)\bexit(?:ed)?(?: with)?(?: code| status)?[: ]+(-?\d+)")


def replace(desk: Desk) -> Work:
    """Change a text in the files named, or wherever it is; reads before, reads again after."""
    old, new = _old_and_new(desk)
    word = (
        re.fullmatch(r"[A-Za-z_$][\w$]*", old) is not None and re.search(r"(?i)\brename\b", desk.task.text) is not None
    )
    files = list(dict.fromkeys(path for path in desk.task.paths if path not in (old, new)))
    if not files:
        hits, cut = yield from grep(desk, f"I search {code(old)} in the project.", _pattern(old, word=word))
        files = list(dict.fromkeys(hit.path for hit in hits))
        if cut or len(files) > _MOST_FILES:
            desk.page.add(
                f"- there may be more than I changed: I take {a_number(min(len(files), _MOST_FILES), 'file')} at most"
            )
    done = 0
    for path in files[:_MOST_FILES]:
        done += yield from _replace_in(desk, path, old, new, word=word)
    if done:
        desk.page.head(
            f"Changed {code(old)} to {code(new)} on {a_number(done, 'line')}."
            if new
            else f"Removed {code(old)} from {a_number(done, 'line')}."
        )
    else:
        desk.page.head(f"Nothing was changed: {code(old)} to {code(new)}.")


def _old_and_new(desk: Desk) -> tuple[str, str]:
    if desk.task.old:
        return desk.task.old, desk.task.new
    return desk.task.quoted[0], ""


def _pattern(old: str, *, word: bool) -> str:
    return rf"\b{re.escape(old)}\b" if word else re.escape(old.split("\n", 1)[0])


def _replace_in(desk: Desk, path: str, old: str, new: str, *, word: bool) -> Generator[Ask, list[Found], int]:
    got = yield from read_whole(desk, path, f"I read `{path}` before I change it.")
    if got is None:
        return 0
    path, lines = got
    pattern = re.compile(_pattern(old, word=word))
    hit = [index for index, (_, text) in enumerate(lines.lines) if pattern.search(text)]
    if not hit:
        desk.page.add(f"- {code(path)} does not contain {code(old)}")
        return 0
    blocks = unique_blocks([text for _, text in lines.lines], hit)
    changes = [Replacement(old=block, new=pattern.sub(lambda _: new, block)) for block in blocks]
    changes = [change for change in changes if change.old != change.new]
    return (yield from _apply(desk, path, changes, lines.lines[hit[0]][0], len(hit))) if changes else 0


def _apply(
    desk: Desk, path: str, changes: Sequence[Replacement], first: int, count: int
) -> Generator[Ask, list[Found], int]:
    """Edit, then read the place again and write down what it says now. Returns the lines changed."""
    why = f"I change {a_number(count, 'line')} in `{path}`."
    batches = [changes] if desk.tools.edits_at_once else [[change] for change in changes]
    for batch in batches:
        (found,) = yield from ask(why, desk.tools.edit(path, batch))
        if note_trouble(desk, found):
            return 0
    start = max(1, first - 1)
    (again,) = yield from ask(f"I read `{path}` again to see that it is right.", desk.tools.read(path, start, 6))
    if not note_trouble(desk, again):
        desk.page.add(f"- {code(path)}, {a_number(count, 'line')}; from line {start} it now reads:", "")
        desk.page.add(fenced(lines_in(again.text, start).text), "")
    return count


def unique_blocks(lines: Sequence[str], wanted: Sequence[int]) -> list[str]:
    """Return disjoint texts of whole lines, each once in the file, that together hold the `wanted` line indexes."""
    text = "\n".join(lines)
    spans: list[tuple[int, int]] = []
    for index in wanted:
        start, end = index, index + 1
        while text.count("\n".join(lines[start:end])) > 1 and (start > 0 or end < len(lines)):
            start, end = max(0, start - 1), min(len(lines), end + 1)
        if spans and start < spans[-1][1]:
            spans[-1] = (min(start, spans[-1][0]), max(end, spans[-1][1]))
        else:
            spans.append((start, end))
    return ["\n".join(lines[start:end]) for start, end in _merged(spans)]


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def insert(desk: Desk) -> Work:
    """Add a text to a file: after or before a line that is named, at the top, else at the end."""
    added = desk.task.fences[0].removesuffix("\n") if desk.task.fences else desk.task.quoted[0]
    path = desk.task.paths[0]
    got = yield from read_whole(desk, path, f"I read `{path}` before I add to it.")
    if got is None or not got[1].lines:
        desk.page.head(f"Nothing was added to {code(path)}.")
        return
    path, lines = got
    index, before = _anchor(desk, lines, added)
    if index is None:
        desk.page.head(f"Nothing was added: the place named is not in {code(path)}.")
        return
    (block,) = unique_blocks([text for _, text in lines.lines], [index])
    anchor = lines.lines[index][1]
    put = f"{added}\n{anchor}" if before else f"{anchor}\n{added}"
    change = Replacement(old=block, new=_swap_line(block, anchor, put))
    done = yield from _apply(desk, path, [change], lines.lines[index][0], added.count("\n") + 1)
    desk.page.head(
        f"Added {a_number(done, 'line')} to {code(path)}." if done else f"Nothing was added to {code(path)}."
    )


def _swap_line(block: str, anchor: str, put: str) -> str:
    rows = block.split("\n")
    rows[rows.index(anchor)] = put
    return "\n".join(rows)


def _anchor(desk: Desk, lines: Lines, added: str) -> tuple[int | None, bool]:
    """Return the index of the line to add beside, and whether before it."""
    text = desk.task.text
    before = re.search(r"(?i)\bbefore\b|\babove\b", text) is not None
    number = re.search(r"(?i)\b(?:after|before|below|above)\s+line\s+(\d+)", text)
    if number is not None:
        places = [index for index, (line, _) in enumerate(lines.lines) if line == int(number[1])]
        return (places[0] if places else None), before
    named = [quoted for quoted in desk.task.quoted if quoted != added] or list(desk.task.names)
    if re.search(r"(?i)\b(?:after|before|below|above)\b", text) and named:
        places = [index for index, (_, row) in enumerate(lines.lines) if named[0] in row]
        return (places[0] if places else None), before
    if re.search(r"(?i)\b(?:top|start|beginning|first line)\b|\bprepend\b", text):
        return 0, True
    return max((i for i, (_, row) in enumerate(lines.lines) if row.strip()), default=0), False


def create(desk: Desk) -> Work:
    """Write a new file with the content given; a file that is there is not overwritten unless that is asked."""
    path, content = desk.task.paths[0], desk.task.content
    if content is None:
        desk.page.head(
            f"The prompt does not give the content of {code(path)}, so I wrote nothing. Say: create it containing …"
        )
        return
    files, _ = yield from find_files(desk, f"I look whether `{path}` is there already.", [path.rsplit("/", 1)[-1]])
    if path in files and not re.search(r"(?i)\b(?:overwrite|replace|again|anew)\b", desk.task.text):
        desk.page.head(f"{code(path)} is there already; I left it as it is. Say overwrite to replace it.")
        return
    (found,) = yield from ask(f"I write `{path}`.", desk.tools.write(path, content))
    if note_trouble(desk, found):
        desk.page.head(f"{code(path)} was not written.")
        return
    desk.page.head(
        f"Wrote {code(path)}: {a_number(len(content.encode()), 'byte')}, {a_number(len(content.splitlines()), 'line')}."
    )
    desk.page.add(fenced(content.rstrip("\n")))


def run_tests(desk: Desk) -> Work:
    """Find out how the tests are run here, run them, and tell the figures."""
    commands = yield from test_commands(desk)
    if not commands:
        desk.page.head("I found no tests to run: no test script, no test target and no test files.")
        return
    for number, command in enumerate(commands):
        (found,) = yield from ask(f"I run the tests: `{command}`.", desk.tools.bash(command))
        missing = _MISSING.search(found.text) is not None
        if found.refused or not (found.is_error and missing and number + 1 < len(commands)):
            _show_tests(desk, command, found)
            return


def test_commands(desk: Desk) -> Generator[Ask, list[Found], list[str]]:
    """Return the commands that run this project's tests, the likeliest first."""
    top, manifests = yield from _manifests(desk)
    target = "".join(f" {path}" for path in desk.task.paths if re.fullmatch(r"[\w./-]+", path) and path != ".")
    commands: list[str] = []
    scripts = {path: dict(manifest.scripts) for path, manifest in manifests.items()}
    if "test" in scripts.get("package.json", {}):
        # The script itself is tried where npm is not installed.
        commands += ["npm test", scripts["package.json"]["test"]]
    config = manifests.get("pyproject.toml", Manifest()).text + manifests.get("setup.cfg", Manifest()).text
    if re.search(r"\bpytest\b", config) or {"pytest.ini", "conftest.py"} & set(top):
        commands.append(f"python3 -m pytest -q{target}")
    for path in ("Makefile", "makefile"):
        commands += [f"make {name}" for name in ("test", "tests", "check") if name in scripts.get(path, {})][:1]
    commands += [
        command for name, command in (("Cargo.toml", "cargo test"), ("go.mod", "go test ./...")) if name in top
    ]
    if not commands or commands[0].startswith("python3"):
        files, _ = yield from find_files(desk, "I look for test files.", ["test_*.py", "*_test.py"])
        folder = " -s tests" if any(file.startswith("tests/") for file in files) else ""
        commands += [f"python3 -m pytest -q{target}", f"python3 -m unittest discover{folder}"] if files else []
    own = ".venv/bin/python" if ".venv/" in top else "python3"
    return list(dict.fromkeys(re.sub(r"^python3\b", own, command) for command in commands))


def _manifests(desk: Desk) -> Generator[Ask, list[Found], tuple[tuple[str, ...], dict[str, Manifest]]]:
    (listing,) = yield from ask("I look how things are run here.", desk.tools.ls("."))
    top = names_in(listing.text) if not note_trouble(desk, listing) else ()
    wanted = [name for name in MANIFESTS if name in top]
    if not wanted:
        return top, {}
    results = yield from ask(
        f"I read {', '.join(f'`{name}`' for name in wanted)}.", *(desk.tools.read(name) for name in wanted)
    )
    read = {name: found for name, found in zip(wanted, results, strict=True) if not found.is_error}
    return top, {name: manifest_of(name, lines_in(found.text).text) for name, found in read.items()}


def _show_tests(desk: Desk, command: str, found: Found) -> None:
    if found.refused:
        note_trouble(desk, found)
        desk.page.head(f"The tests were not run: {code(command)} was refused.")
        return
    report = report_of_tests(found.text)
    if report.known:
        figures = f"**{report.passed or 0} passed, {report.failed or 0} failed**"
        figures += f", {report.skipped} skipped" if report.skipped else ""
    else:
        figures = "no figures I can read" + (", but it ended with an error" if found.is_error else "")
    desk.page.head(f"The tests ran with {code(command)}: {figures}.")
    desk.page.add(*(f"- failed: {code(name)}" for name in report.failures[:20]))
    if report.summary:
        desk.page.add(f"- the runner says: {code(report.summary)}")
    if report.failed or found.is_error or not report.known:
        _show_output(desk.page, found.text)


def _show_output(page: Page, output: str) -> None:
    rows = output.rstrip("\n").split("\n")
    page.add(
        "",
        f"The last lines of its output{' (cut by the tool)' if is_cut(output) else ''}:",
        "",
        fenced("\n".join(rows[-20:])),
        "",
    )


def run_command(desk: Desk) -> Work:
    """Run the command given, or the project's own command of the name that is used."""
    command = desk.task.command
    if not command:
        command = yield from _named_command(desk)
    if not command:
        return
    (found,) = yield from ask(f"I run `{command}`.", desk.tools.bash(command))
    if found.refused:
        note_trouble(desk, found)
        desk.page.head(f"{code(command)} was refused, so it was not run.")
        return
    status = _EXIT.search(found.text)
    ending = f"exit status {status[1]}" if status is not None else "an error" if found.is_error else "no error"
    desk.page.head(f"{code(command)} ended with {ending}.")
    _show_output(desk.page, found.text)


def _named_command(desk: Desk) -> Generator[Ask, list[Found], str]:
    _, manifests = yield from _manifests(desk)
    words = {word.lower() for word in re.findall(r"[\w:-]+", desk.task.text)}
    offered: list[str] = []
    for path, manifest in manifests.items():
        for name, command in manifest.scripts:
            run = f"npm run {name}" if path == "package.json" else command
            if path.endswith(".toml"):
                continue
            if name.lower() in words or (name == "all" and words & {"build", "compile"}):
                return run
            offered.append(run)
    known = ", ".join(code(run) for run in offered[:20])
    desk.page.head(
        f"I found no command of that name. The project offers {known}."
        if known
        else "I found no command of that name in the project."
    )
    return ""
