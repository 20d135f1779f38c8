"""The facts in its answers against values computed from the files, on three unlike projects with random names."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.models.rehearsal.drive import Project
from tests.models.rehearsal.looking import files_below
from tests.models.rehearsal.projects import Names, c_project, draw, python_project, web_project

pytestmark = pytest.mark.anyio


@pytest.fixture
def names() -> Names:
    return draw(random.SystemRandom().randrange(10**9))


def lines_with(root: Path, word: str) -> list[str]:
    """Every path:line that holds the word, computed without the model."""
    found: list[str] = []
    for name in files_below(root):
        for number, line in enumerate((root / name).read_text().splitlines(), 1):
            if word in line:
                found.append(f"{name}:{number}")
    return found


@pytest.mark.parametrize(
    "prompt",
    [
        "What does this project do?",
        "Give me an overview of the repository.",
        "what is this?",
        "Explain this codebase to me",
    ],
)
async def test_it_tells_what_a_project_is(tmp_path: Path, names: Names, prompt: str) -> None:
    for make in (python_project, web_project, c_project):
        root = make(tmp_path, names)
        said = (await Project(root).ask(prompt)).text
        assert names.purpose.rstrip(".") in said
        assert f"{len(files_below(root))} files" in said


@pytest.mark.parametrize(
    "prompt", ["Where is {} defined and used?", "find `{}`", "Who calls {}?", "show me all usages of {}", "grep for {}"]
)
async def test_it_finds_definition_and_uses(tmp_path: Path, names: Names, prompt: str) -> None:
    for make in (python_project, web_project, c_project):
        root = make(tmp_path, names)
        exchange = await Project(root).ask(prompt.format(names.function))
        places = lines_with(root, names.function)
        assert all(place in exchange.text for place in places)
        assert f"{len(places)} lines" in exchange.text
        assert "grep" in exchange.names


@pytest.mark.parametrize(
    ("prompt", "ending"),
    [
        ("How many Python files are there?", ".py"),
        ("count the .js files", ".js"),
        ("Tell me the number of markdown files please", ".md"),
        ("how many *.c files does it have", ".c"),
    ],
)
async def test_it_counts_files(tmp_path: Path, names: Names, prompt: str, ending: str) -> None:
    for make in (python_project, web_project, c_project):
        root = make(tmp_path, names)
        number = sum(name.endswith(ending) for name in files_below(root))
        said = (await Project(root).ask(prompt)).text
        assert f"**{number} file{'' if number == 1 else 's'}**" in said


@pytest.mark.parametrize(
    "prompt", ["List the functions in {}", "what functions does {} have?", "Which functions are in `{}`?"]
)
async def test_it_lists_functions(tmp_path: Path, names: Names, prompt: str) -> None:
    said = (await Project(python_project(tmp_path, names)).ask(prompt.format(f"src/{names.package}/core.py"))).text
    assert f"`{names.function}` (function, line 11)" in said
    assert f"`{names.other}` (function, line 15)" in said
    said = (await Project(web_project(tmp_path, names)).ask(prompt.format(f"src/{names.package}.js"))).text
    assert f"`{names.function}` (function, line 1)" in said
    said = (await Project(c_project(tmp_path, names)).ask(prompt.format("main.c"))).text
    assert f"`{names.function}` (function, line 5)" in said
    assert "`main` (function, line 10)" in said


@pytest.mark.parametrize(
    "prompt", ["Run the tests", "do the tests pass?", "please execute the test suite", "Are all tests green?"]
)
async def test_it_runs_the_tests(tmp_path: Path, names: Names, prompt: str) -> None:
    python = (await Project(python_project(tmp_path, names)).ask(prompt)).text
    assert "**2 passed, 1 failed**" in python
    assert f"tests/test_core.py::test_{names.other}" in python
    web = (await Project(web_project(tmp_path, names)).ask(prompt)).text
    assert "**1 passed, 1 failed**" in web
    assert f"failed: `{names.other}`" in web
    c = (await Project(c_project(tmp_path, names)).ask(prompt)).text
    assert "**3 passed, 0 failed**" in c
    assert "make test" in c


@pytest.mark.parametrize(
    "prompt",
    [
        "Change `{old}` to `{new}` in {path}",
        "in {path}, replace '{old}' with '{new}'",
        'Use "{new}" instead of "{old}" in {path}.',
        "`{old}` should be `{new}` in {path}",
    ],
)
async def test_it_edits_what_it_read(tmp_path: Path, names: Names, prompt: str) -> None:
    root = python_project(tmp_path, names)
    path = root / "src" / names.package / "core.py"
    before = path.read_text()
    old, new = f"{names.constant} = {names.number}", f"{names.constant} = {names.number + 1}"
    exchange = await Project(root).ask(prompt.format(old=old, new=new, path=f"src/{names.package}/core.py"))
    assert path.read_text() == before.replace(old, new)
    assert exchange.names.index("read") < exchange.names.index("edit")
    assert new in exchange.text


async def test_it_edits_equal_lines_each_in_its_place(tmp_path: Path, names: Names) -> None:
    path = tmp_path / "same.txt"
    path.write_text("a\nx = 1\nb\nx = 1\nx = 1\nc\n")
    await Project(tmp_path).ask("replace 'x = 1' with 'x = 2' in same.txt")
    assert path.read_text() == "a\nx = 2\nb\nx = 2\nx = 2\nc\n"


async def test_it_renames_everywhere(tmp_path: Path, names: Names) -> None:
    root = python_project(tmp_path, names)
    whole = {name: (root / name).read_text() for name in files_below(root)}
    await Project(root).ask(f"Rename {names.function} to fresh_{names.package}")
    for name, text in whole.items():
        assert (root / name).read_text() == text.replace(names.function, f"fresh_{names.package}")


async def test_it_creates_a_file_and_overwrites_none(tmp_path: Path, names: Names) -> None:
    project = Project(c_project(tmp_path, names))
    await project.ask(f"Create notes/{names.package}.txt containing:\n```\n{names.purpose}\n  second\n```")
    made = project.root / "notes" / f"{names.package}.txt"
    assert made.read_text() == f"{names.purpose}\n  second\n"
    exchange = await project.ask(f"create notes/{names.package}.txt containing 'other'")
    assert "there already" in exchange.text
    assert made.read_text() == f"{names.purpose}\n  second\n"


async def test_it_adds_a_line_after_another(tmp_path: Path, names: Names) -> None:
    root = c_project(tmp_path, names)
    await Project(root).ask(f"Add '#define NEW 1' after '#define {names.constant}' in {names.package}.h")
    assert (root / f"{names.package}.h").read_text().splitlines()[1] == "#define NEW 1"


async def test_it_works_through_a_list(tmp_path: Path, names: Names) -> None:
    root = web_project(tmp_path, names)
    exchange = await Project(root).ask(
        f"Please:\n1. count the .js files\n2. where is {names.kind} defined?\n3. create a.txt containing 'x'\n"
        f"4. list the classes in src/{names.package}.js"
    )
    assert "**2 files**" in exchange.text
    assert f"src/{names.package}.js:5" in exchange.text
    assert (root / "a.txt").read_text() == "x"
    assert f"`{names.kind}` (class, line 5)" in exchange.text
    assert [name for name in exchange.names if name in ("grep", "write")] == ["grep", "write"]


async def test_it_says_when_there_is_nothing(tmp_path: Path, names: Names) -> None:
    root = c_project(tmp_path, names)
    missing = draw(names.number).function + "_no"
    assert f"No line contains `{missing}`" in (await Project(root).ask(f"Where is {missing} used?")).text
    said = (await Project(root).ask(f"list the functions in {missing}.py")).text
    assert "does not exist" in said
    assert "Nothing was changed" in (await Project(root).ask(f"replace '{missing}' with 'x' in main.c")).text


async def test_a_refused_tool_is_acknowledged(tmp_path: Path, names: Names) -> None:
    root = python_project(tmp_path, names)
    exchange = await Project(root, refuse=frozenset({"bash"})).ask("run the tests")
    assert "refused" in exchange.text
    assert exchange.names.count("bash") == 1
    path = root / "src" / names.package / "core.py"
    before = path.read_text()
    exchange = await Project(root, refuse=frozenset({"edit"})).ask(f"rename {names.function} to other_name")
    assert "was refused" in exchange.text
    assert path.read_text() == before


async def test_an_answer_has_no_fact_of_another_project(tmp_path: Path, names: Names) -> None:
    mine = draw(names.number + 1)
    said = (await Project(c_project(tmp_path, mine)).ask("what does this project do?")).text
    assert mine.purpose.rstrip(".") in said
    assert names.purpose not in said


async def test_two_calls_at_once(tmp_path: Path, names: Names) -> None:
    exchange = await Project(c_project(tmp_path, names)).ask(f"where is {names.function} defined?")
    assert len(exchange.answers[0].calls) == 2
    assert exchange.answers[0].text
