"""The command line as a contract: what each form of a call asks for."""

from __future__ import annotations

import pytest

from tui.arguments import COMMANDS, Arguments, CommandArguments, RunArguments, UsageError, help_text, parse
from tui.cli import front_for, message_of
from tui.messages import Attachment, Text


def prompt(*argv: str) -> Arguments:
    asked = parse(argv)
    assert isinstance(asked, Arguments)
    return asked


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["fix it"], "fix it"),
        (["fix", "it"], "fix it"),
        (["--", "log", "the", "errors"], "log the errors"),
        (["--", "log the errors"], "log the errors"),
        (["log the errors"], "log the errors"),
        (["- a list"], "- a list"),
        (["--", "--version"], "--version"),
        (["--", "a", "--", "b"], "a -- b"),
        (["--model", "m", "fix", "--verbose", "it"], "fix it"),
        (["  kept\n as it is\t"], "  kept\n as it is\t"),
        (["bad \udcff byte"], "bad \ufffd byte"),
        ([], None),
    ],
)
def test_a_prompt_is_what_was_written(argv: list[str], words: str | None) -> None:
    assert prompt(*argv).prompt == words


@pytest.mark.parametrize(
    ("argv", "printed", "words"),
    [
        (["-p", "hi"], "hi", None),
        (["-phi"], "hi", None),
        (["--print=-x"], "-x", None),
        (["-p", "log"], "log", None),
        (["-p"], "", None),
        (["-p", "--", "log", "it"], "", "log it"),
    ],
)
def test_print_takes_one_prompt(argv: list[str], printed: str, words: str | None) -> None:
    asked = prompt(*argv)
    assert (asked.print, asked.prompt) == (printed, words)


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in ("run", "import")])
def test_a_command_word_wins(name: str) -> None:
    assert parse([name]) == CommandArguments(name=name)
    assert parse(["--cwd", "d", name]) == CommandArguments(name=name, cwd="d")


def test_commands_take_what_they_know() -> None:
    assert parse(["doctor", "ab12", "--json"]) == CommandArguments(name="doctor", id="ab12", json=True)
    assert parse(["log", "ab12"]) == CommandArguments(name="log", id="ab12")
    assert parse(["sessions", "--help"]) == CommandArguments(name="sessions", help=True)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["run"], "takes one PLAN"),
        (["run", "a", "b"], "takes one PLAN"),
        (["run", "plan.toml", "--json"], "--json does not go"),
        (["run", "plan.toml", "-c"], "--continue does not go"),
        (["run", "status", "more"], "takes one PLAN, or `status`"),
        (["import"], "takes one FILE"),
        (["import", "a", "b"], "takes one FILE"),
        (["sessions", "trash"], "trash ID"),
        (["sessions", "rebind"], "rebind DIR"),
        (["--headless", "x"], "clew run PLAN"),
        (["--new"], "clew run PLAN"),
        (["sessions", "more"], "no more words"),
        (["log", "a", "b"], "one ID"),
        (["log", "--json"], "JSON already"),
        (["models", "--model", "m"], "no other option"),
        (["sessions", "-p"], "no other option"),
        (["--json"], "--mode json"),
        (["--nope"], "There is no option --nope"),
        (["--mod", "x"], "There is no option --mod;"),
        (["--mode", "xml"], "--mode = 'xml' cannot be used: it must be one of text, json."),
        (["--model"], "--model needs a value."),
        (["--model", "--verbose"], "--model needs a value."),
        (["--no-session=1"], "--no-session takes no value."),
        (["--verbose=x"], "--verbose takes no value."),
        (["-p", "a", "-p", "b"], "-p was given twice"),
        (["-p", "a", "--print=b"], "--print was given twice"),
        (["-r", "a", "-r", "b"], "-r was given twice"),
        (["export", "-o", "a", "-o", "b"], "-o was given twice"),
        (["-p", "a", "b"], "quotes"),
        (["-c", "-r", "x"], "Only one"),
        (["-c", "--no-session"], "Only one"),
    ],
)
def test_what_cannot_be_used_is_one_sentence(argv: list[str], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse(argv)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_plan_is_run_with_the_options_of_a_session() -> None:
    asked = prompt("run", "plan.toml", "--headless", "--yes", "--model", "m", "--mode", "json")
    assert asked.run == RunArguments("plan.toml", headless=True, yes=True)
    assert (asked.flags["model"], asked.mode, asked.prompt) == ("m", "json", None)
    assert prompt("run", "a.md", "--new").run == RunArguments("a.md", new=True)
    assert parse(["run", "status", "--json"]) == CommandArguments(name="run", id="status", json=True)
    assert prompt("--", "run", "away").prompt == "run away"


def test_options_of_the_contract() -> None:
    asked = prompt("-r", "ab", "--cwd", "d", "--verbose", "go on")
    assert (asked.resume, asked.cwd, asked.verbose, asked.prompt) == ("ab", "d", True, "go on")
    assert prompt("-c").newest
    assert prompt("--resume").resume == ""
    assert prompt("--no-session").no_session
    assert prompt("--mode", "json", "x").mode == "json"
    flags = prompt("--model", "m", "--base-url", "u", "--window", "9", "--approve", "all", "--theme", "t").flags
    assert {name: value for name, value in flags.items() if value} == {
        "model": "m",
        "base_url": "u",
        "window": "9",
        "approve": "all",
        "theme": "t",
    }


def test_help_names_every_option_and_command() -> None:
    shown = help_text()
    options = (
        "--print --mode --continue --resume --no-session --model --provider --base-url --window --approve --cwd "
        "--theme "
        "--compact-soft-at --compact-at --compact-buffer --compact-prompt"
    )
    for word in (*options.split(), "--verbose", "--version", *COMMANDS, "130"):
        assert word in shown


@pytest.mark.parametrize(
    ("argv", "terminals", "term", "front"),
    [
        ([], True, "xterm", "app"),
        (["hi"], True, "xterm-256color", "app"),
        (["hi"], False, "xterm", "headless"),
        (["-p", "hi"], True, "xterm", "headless"),
        (["-p", "hi"], True, "dumb", "headless"),
        (["--mode", "json", "hi"], True, "xterm", "headless"),
        (["hi"], False, "dumb", "headless"),
        (["run", "plan.toml"], True, "xterm", "app"),
        (["run", "plan.toml", "--headless"], True, "xterm", "headless"),
        (["run", "plan.toml", "--mode", "json"], True, "xterm", "headless"),
    ],
)
def test_the_front_end_is_decided_once(argv: list[str], terminals: bool, term: str, front: str) -> None:
    assert front_for(prompt(*argv), terminals=terminals, term=term) == front


@pytest.mark.parametrize(("terminals", "term"), [(False, "xterm"), (True, "dumb"), (True, ""), (True, "unknown")])
def test_no_app_without_a_terminal_that_can_show_it(terminals: bool, term: str) -> None:
    with pytest.raises(UsageError, match="clew -p PROMPT"):
        front_for(prompt(), terminals=terminals, term=term)


@pytest.mark.parametrize(("terminals", "term"), [(False, "xterm"), (True, "dumb")])
def test_a_plan_needs_a_terminal_or_the_word_that_it_needs_none(terminals: bool, term: str) -> None:
    with pytest.raises(UsageError, match="clew run PLAN --headless"):
        front_for(prompt("run", "plan.toml"), terminals=terminals, term=term)


def test_piped_input_stands_beside_the_authored_words() -> None:
    piped = Attachment(name="stdin", text="data\n")
    both = message_of("look at this ", piped)
    assert both is not None
    assert both.content == (Text("look at this "), piped)
    assert both.authored == "look at this "
    alone = message_of("", piped)
    assert alone is not None
    assert alone.content == (piped,)
    assert message_of(" \n", None) is None
    assert message_of("", Attachment(name="stdin", text=" \n")) is None
    assert message_of("look", Attachment(name="stdin", text="\n")) is not None
