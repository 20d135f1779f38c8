from __future__ import annotations

import pytest

from tui.commands.completing import file_word, offers, put_word


def put(typed: str) -> list[str]:
    return [word for word, _, _ in offers(typed, {"theme": ("clew-dark", "clew-light")})]


def test_commands_then_their_arguments_are_offered() -> None:
    assert put("/self")[0] == "/self-compact-info"
    assert put("/approve ") == ["/approve ask", "/approve edits", "/approve all"]
    assert put("/approve ed") == ["/approve edits"]
    assert put("/approve edits") == []
    assert put("/theme li") == ["/theme clew-light"]


@pytest.mark.parametrize("typed", ["", "words", "/usr/bin is", "/zap x", "/task do it", "a /approve "])
def test_words_are_left_alone(typed: str) -> None:
    assert put(typed) == []


@pytest.mark.parametrize(
    ("before", "word"),
    [
        ("@", ""),
        ("see @sr", "sr"),
        ('@"my fi', "my fi"),
        ("me@home", None),
        ("@a b", None),
        ('@"a b" ', None),
        ("", None),
    ],
)
def test_a_file_is_named_after_an_at_sign(before: str, word: str | None) -> None:
    assert file_word(before) == word


def test_a_path_takes_the_place_of_what_was_typed() -> None:
    assert put_word("see @pa", "src/parser.py") == "see @src/parser.py "
    assert put_word('@"my', "my file.py") == '@"my file.py" '
