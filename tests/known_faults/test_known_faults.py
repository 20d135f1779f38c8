"""Each known fault names tests that are there."""

from __future__ import annotations

import ast
import functools
from pathlib import Path

import msgspec
import pytest

HERE = Path(__file__).parent
ROOT = HERE.parent.parent
FILES = sorted(HERE.glob("*.toml"))


class Fault(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One kind of fault."""

    kind: str
    """What goes wrong elsewhere."""
    tests: list[str]
    """`file::name` or `file::Class::name` of those that would fail if it went wrong here."""


@functools.cache
def defined(file: Path) -> frozenset[str]:
    """Return the tests of a file, as `name` or `Class::name`."""
    found: set[str] = set()
    for node in ast.parse(file.read_bytes()).body:
        if isinstance(node, ast.ClassDef):
            found |= {f"{node.name}::{name}" for name in _functions(node.body)}
    return frozenset(found | _functions(ast.parse(file.read_bytes()).body))


def _functions(body: list[ast.stmt]) -> set[str]:
    return {
        node.name
        for node in body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test_")
    }


def missing(test: str) -> bool:
    """Return whether nothing of that name is there."""
    file, _, name = test.partition("::")
    path = ROOT / file
    return not path.is_file() or name not in defined(path)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_fault_names_tests_that_exist(file: Path) -> None:
    faults = msgspec.toml.decode(file.read_bytes(), type=dict[str, Fault])
    assert list(faults) == [f"{file.stem}-{number:02}" for number in range(1, len(faults) + 1)]
    assert not [name for name, fault in faults.items() if not fault.tests or not fault.kind]
    assert not [(name, test) for name, fault in faults.items() for test in fault.tests if missing(test)]


def test_none_was_taken_out() -> None:
    assert sum(len(msgspec.toml.decode(file.read_bytes(), type=dict[str, Fault])) for file in FILES) >= 202


def test_a_test_that_is_not_there_is_found() -> None:
    assert missing("tests/known_faults/test_known_faults.py::test_that_is_not_there")
    assert missing("tests/not_there.py::test_any")
    assert not missing("tests/known_faults/test_known_faults.py::test_a_test_that_is_not_there_is_found")
