"""Paths: where a name really leads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.tools.support import make_context
from tui.tools.base import ToolError
from tui.tools.paths import file_type, locate, outside, shown


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (tmp_path / "out").mkdir()
    return folder


def test_inside_and_its_name(root: Path) -> None:
    place = locate(make_context(root), "a/../b/./c")
    assert place.real == Path(os.path.realpath(root)) / "b/c"
    assert (place.inside, place.name, outside(place)) == (True, "b/c", ())


@pytest.mark.parametrize(
    "text", ["..", "../out/x", "/etc/passwd", "outbox/x.txt", "outbox/a/b/new", "chain/x", "~/../x"]
)
def test_outside_by_the_real_path(root: Path, text: str) -> None:
    (root / "outbox").symlink_to("../out")
    (root / "chain").symlink_to("outbox")
    place = locate(make_context(root), text)
    assert not place.inside
    assert outside(place) == (str(place.real),)
    assert place.real == Path(os.path.realpath(root / text.replace("~", str(root))))


def test_a_name_that_begins_like_the_root_is_outside(root: Path) -> None:
    assert not locate(make_context(root), "../ws2/f").inside


def test_dot_dot_behind_a_link_is_the_parent_of_its_target(root: Path) -> None:
    (root / "outbox").symlink_to("../out")
    place = locate(make_context(root), "outbox/../x")
    assert place.real == Path(os.path.realpath(root.parent)) / "x"
    assert not place.inside


def test_a_link_back_into_the_project_is_inside(root: Path) -> None:
    (root.parent / "out/back").symlink_to(root)
    (root / "outbox").symlink_to("../out")
    assert locate(make_context(root), "outbox/back/f").inside


def test_a_circle_of_links_ends(root: Path) -> None:
    (root / "loop").symlink_to("loop")
    assert locate(make_context(root), "loop").inside


def test_the_root_may_be_reached_through_a_link(root: Path) -> None:
    (root.parent / "alias").symlink_to(root)
    assert locate(make_context(root.parent / "alias"), "f").inside
    assert locate(make_context(root), str(root.parent / "alias/f")).inside


@pytest.mark.parametrize("text", ["", "a\0b"])
def test_no_path(root: Path, text: str) -> None:
    with pytest.raises(ToolError, match="Nothing was done"):
        locate(make_context(root), text)


@pytest.mark.parametrize(
    "name", [b"bad\xff.txt", b"two\nlines", b"tab\t", "\u202etxt.exe".encode(), b"back\\slash", b"\\x41"]
)
def test_an_odd_name_is_shown_in_one_line_and_comes_back(root: Path, name: bytes) -> None:
    (root / os.fsdecode(name)).write_bytes(b"")
    place = locate(make_context(root), shown(os.fsdecode(name)))
    assert os.fsencode(place.real.name) == name
    place.name.encode()
    assert "\n" not in place.name


def test_a_project_in_a_folder_with_an_odd_name(root: Path) -> None:
    odd = root / os.fsdecode(b"p\xff")
    odd.mkdir()
    place = locate(make_context(odd), "f")
    assert (place.inside, place.name) == (True, "f")


@given(st.text(max_size=20))
def test_any_text_is_a_place_or_a_clear_error(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    ctx = make_context(tmp_path_factory.getbasetemp())
    try:
        place = locate(ctx, text)
    except ToolError:
        return
    place.name.encode()
    assert place.real.is_absolute()


def test_types_have_words(root: Path) -> None:
    os.mkfifo(root / "p")
    assert file_type((root / "p").stat().st_mode) == "named pipe (FIFO)"
    assert file_type(root.stat().st_mode) == "directory"
    assert file_type(0) == "special file"
