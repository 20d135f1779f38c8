"""What tool results say, read tolerantly: listings, hits, numbered lines, test reports.

Only what is really in the text becomes a fact. Notices (in brackets, or after dots) are no data.
"""

from __future__ import annotations

import re

import msgspec

__all__ = ["Hit", "Lines", "TestReport", "hits_in", "is_cut", "is_refusal", "lines_in", "names_in", "report_of_tests"]

_NOTICE = re.compile(
    r"^\s*(?:\[.*\s.*\]|\.\.\.|…|\(.*\s.*\))\s*$|^(?:no (?:files|matches|results)\b.*)$", re.IGNORECASE
)
_CUT = re.compile(
    r"\b(?:truncated|limit reached|more (?:lines|matches|results|entries|files)|use offset|continue with offset"
    r"|offset=\d+|first \d[\d,]* of|of \d[\d,]* lines|not shown|there are more|narrow the pattern)\b",
    re.IGNORECASE,
)
_NOTE = re.compile(r"^\[(?:.*\b(?:lines?|offset|bytes?|UTF-8|truncated|characters)\b.*)\]$")
_EMPTY = re.compile(r"^\((?:empty line|.* is empty)\)$")
_HIT = re.compile(r"^(?P<path>[^\n:]+?):(?P<line>\d+):(?:\d+:)?\s?(?P<text>.*)$")
_REFUSED = re.compile(r"\b(?:refused|denied|not allowed|not permitted|rejected by|declined)\b", re.IGNORECASE)


class Hit(msgspec.Struct, frozen=True):
    """One line that a search found."""

    path: str
    line: int
    text: str

    @property
    def place(self) -> str:
        """Path and line as people write them."""
        return f"{self.path}:{self.line}"


class Lines(msgspec.Struct, frozen=True):
    """Numbered lines of a file; `cut` when there are more than these."""

    lines: tuple[tuple[int, str], ...]
    cut: bool = False
    total: int = 0
    """Lines of the whole file where the tool named it or it is all here; 0 for unknown."""

    @property
    def text(self) -> str:
        """The lines joined; without the newline at the end of the file."""
        return "\n".join(text for _, text in self.lines)


class TestReport(msgspec.Struct, frozen=True):
    """What a test run printed."""

    __test__ = False

    passed: int | None = None
    failed: int | None = None
    skipped: int | None = None
    summary: str = ""
    """The line the figures are from."""
    failures: tuple[str, ...] = ()

    @property
    def known(self) -> bool:
        """Whether any figure was found."""
        return self.passed is not None or self.failed is not None


def names_in(text: str) -> tuple[str, ...]:
    """Return the names or paths of a listing, folders with a slash at the end."""
    names: list[str] = []
    for line in text.splitlines():
        name = line.rstrip("\r").strip()
        if name and not _NOTICE.match(name):
            # A link is shown with its target, an odd file with its type.
            names.append(re.sub(r" -> .*$| \([\w ]+\)$", "", name.split("\t")[0]).removeprefix("./"))
    return tuple(names)


def is_cut(text: str) -> bool:
    """Whether the tool says that there is more than it shows."""
    return any(_CUT.search(line) for line in text.splitlines()[-4:] if _NOTICE.match(line))


def is_refusal(text: str) -> bool:
    """Whether an error result means that a person or a rule did not allow the call."""
    return _REFUSED.search(text) is not None


def hits_in(text: str, path: str = "") -> tuple[Hit, ...]:
    """Return the lines a search found; `path` is the file searched where the lines do not name it."""
    found: list[Hit] = []
    for line in text.split("\n"):
        match = _HIT.match(line)
        if match is not None:
            found.append(Hit(path=match["path"].removeprefix("./"), line=int(match["line"]), text=match["text"]))
            continue
        bare = re.match(r"^(\d+):\s?(.*)$", line) if path else None
        if bare is not None:
            found.append(Hit(path=path, line=int(bare[1]), text=bare[2]))
    return tuple(found)


def lines_in(text: str, offset: int = 1) -> Lines:
    """Return the lines of a read result whose first line has number `offset`."""
    rows = text.split("\n")
    notices: list[str] = []
    while rows and _NOTE.match(rows[-1]):
        notices.append(rows.pop())
    if len(rows) == 1 and _EMPTY.match(rows[0]):
        rows = [""] if "line" in rows[0] else []
    cut = any(_CUT.search(notice) for notice in notices)
    lines = tuple(enumerate(rows, offset))
    return Lines(lines=lines, cut=cut, total=_total(notices, lines, cut=cut))


def _total(notices: list[str], lines: tuple[tuple[int, str], ...], *, cut: bool) -> int:
    for notice in notices:
        named = re.search(r"\bof (\d[\d,]*)(?: lines)?\b", notice)
        if named is not None:
            return int(named[1].replace(",", ""))
    return 0 if cut or not lines else lines[-1][0]


_COUNTS: tuple[tuple[str, str, str], ...] = (
    # (a line that carries the figures, passed, failed) for each runner; the last line that fits counts.
    (r"^=*\s*\d+ \w+(?:, \d+ \w+)*(?: in [\d.]+ ?s.*)?$", r"(\d+) passed", r"(\d+) (?:failed|errors?)\b"),
    (r"^Tests:\s+.*\d+ total", r"(\d+) passed", r"(\d+) failed"),
    (r"^\s*\d+ passing\b|^\s*\d+ failing\b", r"(\d+) passing", r"(\d+) failing"),
    (r"^\W*(?:pass|fail) \d+$", r"pass (\d+)", r"fail (\d+)"),
    (r"^test result: ", r"(\d+) passed", r"(\d+) failed"),
)
_FAILURES = (
    r"^(?:FAILED|ERROR) (\S+::\S+)",
    r"^(?:FAIL|ERROR): (\S+)",
    r"^\s*not ok \d+ - (.+?)(?:\s+#.*)?$",
    r"^--- FAIL: (\S+)",
    r"^FAIL[: ]\s*(\S.*)$",
    r"^✖ (.+?)(?: \([\d.]+ms\))?$",
)


def report_of_tests(output: str) -> TestReport:
    """Return the figures of a test run as printed by the usual runners, TAP, or plain PASS/FAIL lines."""
    failures = tuple(dict.fromkeys(name for rule in _FAILURES for name in re.findall(rule, output, re.MULTILINE)))
    for rule, passed, failed in _COUNTS:
        rows = [row for row in output.splitlines() if re.search(rule, row)]
        figures = "\n".join(rows)
        good, bad = re.findall(passed, figures), re.findall(failed, figures)
        if good or bad:
            wrong = sum(int(number) for number in bad) if rule == _COUNTS[0][0] else int(bad[-1]) if bad else 0
            skipped = re.findall(r"(\d+) skipped", figures)
            return TestReport(
                passed=int(good[-1]) if good else 0,
                failed=wrong,
                skipped=int(skipped[-1]) if skipped else None,
                summary=rows[-1].strip(" ="),
                failures=failures,
            )
    return _unittest(output, failures) or _by_line(output, failures)


def _unittest(output: str, failures: tuple[str, ...]) -> TestReport | None:
    ran = re.search(r"^Ran (\d+) tests? in .*$", output, re.MULTILINE)
    if ran is None:
        return None
    wrong = sum(int(number) for number in re.findall(r"(?:failures|errors)=(\d+)", output))
    skipped = re.search(r"skipped=(\d+)", output)
    left = int(skipped[1]) if skipped else 0
    return TestReport(
        passed=int(ran[1]) - wrong - left,
        failed=wrong,
        skipped=left if skipped else None,
        summary=ran[0],
        failures=failures,
    )


def _by_line(output: str, failures: tuple[str, ...]) -> TestReport:
    good = re.findall(r"^\s*(?:ok \d+\b|ok\s+\S+|PASS\b|--- PASS:|✔ ).*$", output, re.MULTILINE)
    bad = re.findall(r"^\s*(?:not ok \d+\b|FAIL\b|✖ ).*$", output, re.MULTILINE)
    if not good and not bad:
        return TestReport(failures=failures)
    return TestReport(passed=len(good), failed=len(bad), failures=failures)
