"""What every shipped theme must hold: words are readable, and levels can be told apart by those it is made for."""

from __future__ import annotations

from itertools import combinations

import pytest
from textual.color import Color

from tui.resources import themes_folder
from tui.widgets.theme import DARK
from tui.widgets.themes import read_theme

THEMES = sorted(path.stem for path in themes_folder().glob("*.toml"))
FIXED = [name for name in THEMES if not read_theme(themes_folder() / f"{name}.toml").ansi]

# How red, green and blue look to eyes without one kind of cone (Machado, Oliveira and Fernandes 2009).
EYES = {
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
}


def luminance(colour: Color) -> float:
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one: str, two: str) -> float:
    low, high = sorted((luminance(Color.parse(one)), luminance(Color.parse(two))))
    return (high + 0.05) / (low + 0.05)


def seen(colour: str, eye: str) -> tuple[float, ...]:
    linear = Color.parse(colour).normalized
    return tuple(sum(weight * part for weight, part in zip(row, linear, strict=True)) for row in EYES[eye])


def apart(one: str, two: str, eye: str) -> float:
    return sum((a - b) ** 2 for a, b in zip(seen(one, eye), seen(two, eye), strict=True)) ** 0.5


def test_there_are_six_at_least() -> None:
    assert len(THEMES) >= 6
    assert {"clew-dark", "clew-light", "high-contrast", "terminal", "safe-dark", "safe-light"} <= set(THEMES)


@pytest.mark.parametrize("name", FIXED)
def test_words_are_readable(name: str) -> None:
    chrome = read_theme(themes_folder() / f"{name}.toml").chrome
    least = 7.0 if name == "high-contrast" else 4.5
    for word in (chrome.text, chrome.accent, chrome.warning, chrome.hard):
        assert contrast(word, chrome.background) >= least, word
        assert contrast(word, chrome.surface) >= least * 0.9, word
    assert contrast(chrome.dim, chrome.background) >= 4.0


@pytest.mark.parametrize("eye", EYES)
@pytest.mark.parametrize("name", ["safe-dark", "safe-light"])
def test_what_must_be_told_apart_can_be(name: str, eye: str) -> None:
    theme = read_theme(themes_folder() / f"{name}.toml")
    chrome = theme.chrome
    levels = (chrome.ok, chrome.soft, chrome.warning, chrome.hard)
    for one, two in combinations(levels, 2):
        assert apart(one, two, eye) >= 0.12, (one, two)
    words = {**DARK, **theme.transcript}
    assert apart(words["added"].split()[-1], words["removed"].split()[-1], eye) >= 0.25
