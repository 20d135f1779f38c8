"""Diffs of real bytes, bounded."""

from __future__ import annotations

import random
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tui.tools.diff import LINE_WINDOW, MAX_DIFF_LINES, diff

lines = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"\n", b"d\n", b"e\n"]), max_size=25)


def test_equal_is_empty() -> None:
    assert diff(b"a\n", b"a\n", "f").text == ""


def test_a_new_file_and_an_emptied_one() -> None:
    assert diff(b"", b"a\n", "f").text == "--- /dev/null\n+++ f\n@@ -0,0 +1 @@\n+a"
    assert diff(b"a\n", b"", "f").text == "--- f\n+++ f\n@@ -1 +0,0 @@\n-a"


def test_a_missing_last_line_end_is_shown() -> None:
    assert diff(b"a\n", b"a", "f").text.endswith("-a\n+a\n\\ No newline at end of file")


def test_line_ends_are_shown_where_they_change() -> None:
    assert "-a\\r\n+a" in diff(b"a\r\n", b"a\n", "f").text
    assert "-a\n+b" in diff(b"a\r\n", b"b\r\n", "f").text
    assert "-c\\rd\n+c\\re" in diff(b"c\rd\n", b"c\re\n", "f").text


def test_bytes_that_are_no_text_and_deceptive_ones_are_escaped() -> None:
    assert "-caf\\xe9\n+caf\\xe9!" in diff(b"caf\xe9\n", b"caf\xe9!\n", "f").text
    assert "+\\u202ex" in diff(b"", "\u202ex\n".encode(), "f").text
    assert "\x1b" not in diff(b"", b"\x1b[2J\n", "f").text


def test_binary_is_only_named() -> None:
    assert diff(b"a\0", b"b", "f").text == "Binary content of f changes: 2 to 1 bytes."


def test_one_character_in_a_line_of_500_kb() -> None:
    old = b'{"a": [' + b"1, " * 166_000 + b'"x"' + b", 1" * 1_000 + b"]}"
    shown = diff(old, old.replace(b'"x"', b'"y"'), "f")
    assert (shown.added, shown.removed) == (1, 1)
    assert len(shown.text) < 4 * LINE_WINDOW
    assert "-[…" in shown.text
    assert '"x"' in shown.text
    assert '"y"' in shown.text


def test_many_changed_lines_are_bounded() -> None:
    shown = diff(b"".join(b"a%d\n" % n for n in range(100_000)), b"".join(b"b%d\n" % n for n in range(100_000)), "f")
    assert (shown.added, shown.removed) == (100_000, 100_000)
    assert len(shown.text.split("\n")) == MAX_DIFF_LINES + 1
    assert shown.text.endswith("[… 199,603 more lines of this diff are not shown …]")


def test_few_kinds_of_lines_in_many_stretches_end() -> None:
    # The worst for difflib: every line is everywhere.
    rolls = random.Random(1)

    def text() -> bytes:
        return b"".join(b"u%d\n" % n + b"".join(b"%d\n" % rolls.randrange(2) for _ in range(400)) for n in range(100))

    assert diff(text(), text(), "f").added > 0


@settings(max_examples=40)
@given(old=lines, new=lines)
def test_patch_takes_it(old: list[bytes], new: list[bytes], tmp_path_factory: pytest.TempPathFactory) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    before, after = b"".join(old), b"".join(new)
    shown = diff(before, after, "f")
    if before == after or not before or not after:
        return
    folder = tmp_path_factory.mktemp("patch")
    (folder / "f").write_bytes(before)
    patch = shown.text.replace("--- f", "--- a/f", 1).replace("+++ f", "+++ b/f", 1) + "\n"
    subprocess.run(["git", "apply", "--unidiff-zero", "-"], cwd=folder, input=patch.encode(), check=True)
    assert Path(folder / "f").read_bytes() == after
    assert shown.added - shown.removed == len(new) - len(old)
