"""When a person is asked: modes, rules, and commands that only look harmless."""

from __future__ import annotations

import os
import re
import stat
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.support import make_context, preview
from tui.tools.base import Effect, Preview
from tui.tools.bash import BASH
from tui.tools.permissions import (
    Allow,
    Ask,
    Mode,
    Refuse,
    RuleError,
    add_rule,
    decide,
    load_rules,
    parse_rule,
    suggest,
)
from tui.tools.shell import simple_commands
from tui.tools.write import WRITE

ROOT = Path("/project")
MODES: tuple[Mode, ...] = ("ask", "edits", "all")


def _command(text: str) -> Preview:
    return Preview(title=text, effect=Effect.EXECUTE, command=text)


def _edit(*paths: str) -> Preview:
    away = tuple(path for path in paths if not path.startswith("/project/"))
    return Preview(title=paths[0], effect=Effect.EDIT, paths=paths, outside=away)


def _read(path: str) -> Preview:
    return Preview(path, Effect.READ, paths=(path,), outside=() if path.startswith("/project/") else (path,))


def _verdict(mode: Mode, shown: Preview, *rules: str) -> type[Allow | Ask | Refuse]:
    return type(decide(mode, shown, [parse_rule(rule, ROOT) for rule in rules]))


def test_each_mode_allows_what_it_says() -> None:
    shown = (_read("/project/a"), _edit("/project/a"), _command("make"), _read("/etc/passwd"), _edit("/etc/passwd"))
    verdicts = {mode: [_verdict(mode, one) for one in shown] for mode in MODES}
    assert verdicts == {
        "ask": [Allow, Ask, Ask, Ask, Ask],
        "edits": [Allow, Allow, Ask, Ask, Ask],
        "all": [Allow, Allow, Allow, Ask, Ask],
    }


@pytest.mark.parametrize("path", ["/project/.git/hooks/pre-commit", "/project/sub/.git/config", "/project/.clew/x"])
def test_the_mode_edits_is_not_for_files_that_run_later(path: str) -> None:
    assert _verdict("edits", _edit(path)) is Ask
    assert _verdict("edits", _edit("/project/.gitignore")) is Allow
    assert _verdict("edits", _edit(path), "edit(**)") is Allow


def test_outside_a_rule_must_name_every_path() -> None:
    assert _verdict("ask", _read("/etc/hosts"), "read(/etc/**)") is Allow
    assert _verdict("all", _edit("/etc/hosts"), "read(/etc/**)") is Ask
    assert _verdict("all", _edit("/project/a", "/etc/hosts"), "edit(**)") is Ask
    assert _verdict("all", _read("/etc/hosts"), "read(../etc/*)") is Allow


@pytest.mark.parametrize("mode", MODES)
def test_a_rule_that_denies_wins(mode: Mode) -> None:
    assert _verdict(mode, _command("rm -rf x"), "bash(rm *)", "deny bash(rm *)") is Refuse
    assert _verdict(mode, _command("ls && rm x"), "bash(ls *)", "deny bash(rm *)") is Refuse
    assert _verdict(mode, _edit("/project/src/a"), "edit(**)", "deny edit(src/**)") is Refuse
    assert _verdict(mode, _read("/project/.env"), "deny read(.env)") is Refuse
    assert _verdict(mode, _command("$(echo rm) x"), "bash(*)", "deny bash(rm *)") is Ask


HARMLESS = "bash(git *)"


@pytest.mark.parametrize(
    "command",
    [
        "git status $(touch x)",
        "git status `touch x`",
        "git diff <(touch x)",
        "git status\ntouch x",
        "git status;touch x",
        "git status&touch x",
        "git status & touch x",
        "git status && touch x",
        "git status || touch x",
        "git status | touch x",
        "git status > x",
        "git status 2>&1",
        "git status >> x",
        "git status < x",
        'git status "$(touch x)"',
        'git status "`touch x`"',
        "git status $HOME",
        "git status ${x:=y}",
        "git status $'a'",
        'git status $"a"',
        "git status *",
        "git status a?",
        "git status [a]",
        "git status {a,b}",
        "git status ~/x",
        "git status \\\ntouch x",
        "git status a\\ b",
        "git status 'a",
        'git status "a',
        "git status # note",
        "git status !!",
        'git status "!x"',
        "git status\rtouch x",
        "git status\vtouch x",
        "git status\u00a0x",
        "git\u200b status",
        "gіt status",
        "git status ;;",
        "git status |& cat",
        "(git status)",
        "{ git status; }",
        "! git status",
        "A=b git status",
        "A+=b git status",
        "if git status",
        "eval git status",
        "exec git status",
        "command git status",
        ". git",
        "gitx status",
        "./git status",
        "",
        "   ",
    ],
)
def test_beyond_simple_commands_no_rule_counts(command: str) -> None:
    assert _verdict("ask", _command(command), HARMLESS) is Ask


@pytest.mark.parametrize(
    "command", ["git status", "git", "git log | git cat-file", "git commit -m 'a b $(c)'", " git  x "]
)
def test_simple_commands_match(command: str) -> None:
    assert _verdict("ask", _command(command), HARMLESS) is Allow


def test_a_rule_ends_at_a_word() -> None:
    assert _verdict("ask", _command("npm test"), "bash(npm test)") is Allow
    for other in ("npm testify", "npm test x", "npm 'test x'", "npm", "npmtest", "npm test-all"):
        assert _verdict("ask", _command(other), "bash(npm test)") is Ask, other
    assert _verdict("ask", _command("npm test x"), "bash(npm test *)") is Allow
    assert _verdict("ask", _command("npm testify"), "bash(npm test *)") is Ask


def test_each_command_of_a_list_needs_a_rule() -> None:
    assert _verdict("ask", _command("git add . && npm test"), HARMLESS) is Ask
    assert _verdict("ask", _command("git add . && npm test"), HARMLESS, "bash(npm test)") is Allow


@given(st.text(alphabet="gits $`()<>&|;\n'\"\\*?[]{}~#!=\x00é\u200b", max_size=12))
def test_what_is_certain_is_read_as_a_shell_reads_it(tail: str) -> None:
    """Each certain command has only these characters outside quotes, so that no shell expands it."""
    parsed = simple_commands(f"git {tail}")
    if parsed is None:
        return
    unquoted = "".join(part for index, part in enumerate(tail.replace('"', "'").split("'")) if index % 2 == 0)
    if "'" not in tail or '"' not in tail:
        assert set(unquoted) <= set("gits |;&=")
    assert "\n" not in tail
    assert "`" not in tail or "'" in tail


@pytest.mark.anyio
async def test_deceptive_commands_are_shown_escaped_and_match_no_rule(tmp_path: Path) -> None:
    for command in (
        "git log 'a\u200bb'",
        "git clone 'https://\u0430pple.com'",
        "git log '\u202egpj'",
        "git log '\U000e0041'",
    ):
        shown = await preview(BASH, make_context(tmp_path), command=command)
        assert shown.command == command
        assert shown.title.isascii()
        assert shown.warning
        assert _verdict("ask", shown, HARMLESS) is Ask
        assert suggest(shown) == ()


@pytest.mark.parametrize(
    ("command", "rules"),
    [
        ("git status -s", ("bash(git status *)", "bash(git status -s)")),
        ("npm test", ("bash(npm test *)", "bash(npm test)")),
        ("make", ("bash(make)",)),
        ("rm -rf x", ("bash(rm -rf x)",)),
        ("sudo ls x", ("bash(sudo ls x)",)),
        ("python -m pytest", ("bash(python -m pytest)",)),
        ("echo $(x)", ()),
        ("a && b", ()),
    ],
)
def test_suggestions_allow_what_they_were_made_for(command: str, rules: tuple[str, ...]) -> None:
    assert suggest(_command(command)) == rules
    for rule in rules:
        assert _verdict("ask", _command(command), rule) is Allow


def test_suggestions_for_paths_are_of_their_own_kind() -> None:
    assert suggest(_edit("/project/src/a.py")) == ("edit(/project/src/a.py)", "edit(/project/src/**)")
    assert suggest(_read("/etc/hosts")) == ("read(/etc/hosts)", "read(/etc/**)")
    assert suggest(_edit("/project/a*b")) == ()


@pytest.mark.parametrize("text", ["", "bash", "bash()", "bash(a", "run(x)", "bash(a && b)", "bash($x)", "bash(a\nb)"])
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(RuleError):
        parse_rule(text, ROOT)


def test_the_name_of_the_project_is_no_pattern() -> None:
    rule = parse_rule("edit(src/**)", Path("/home/[ab]*"))
    assert rule.matches_path("/home/[ab]*/src/x")
    assert not rule.matches_path("/home/aXY/src/x")


def test_rules_are_kept_in_the_users_folder_and_private(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    home.mkdir()
    assert load_rules(home, project) == ()
    add_rule(home, project, "bash(git status *)")
    add_rule(home, project, 'deny edit(a "b"\\ é/**)')
    rules = add_rule(home, project, "bash(git status *)")
    assert [rule.text for rule in rules] == ["bash(git status *)", 'deny edit(a "b"\\ é/**)']
    assert load_rules(home, project) == rules
    assert list(project.iterdir()) == []
    files = [path for path in home.rglob("*") if path.is_file()]
    assert [stat.S_IMODE(path.stat().st_mode) for path in files] == [0o600]
    (tmp_path / "link").symlink_to(project)
    assert load_rules(home, tmp_path / "link") == rules
    assert load_rules(home, tmp_path) == ()


def test_broken_rules_are_an_error_and_never_none(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    project.mkdir()
    home.mkdir()
    add_rule(home, project, "deny bash(rm *)")
    file = next(path for path in home.rglob("*.toml"))
    for content in ("rules = [", 'rules = ["nonsense"]', "rules = 3"):
        file.write_text(content)
        with pytest.raises(RuleError, match=re.escape(f"The rules in {file} cannot be")):
            load_rules(home, project)
        with pytest.raises(RuleError, match=re.escape(str(file))):
            add_rule(home, project, "bash(ls)")
        assert file.read_text() == content


@pytest.mark.anyio
async def test_a_write_through_a_link_to_outside_asks_in_every_mode_and_names_the_target(tmp_path: Path) -> None:
    root, away = tmp_path / "project", tmp_path / "away"
    root.mkdir()
    away.mkdir()
    (root / "link").symlink_to(away)
    shown = await preview(WRITE, make_context(root), path="link/a/b/new.xml", content="x")
    target = os.path.realpath(away / "a" / "b" / "new.xml")
    for mode in MODES:
        verdict = decide(mode, shown, ())
        assert isinstance(verdict, Ask)
        assert target in verdict.reason
    assert list(away.iterdir()) == []
