"""Work that says what a project is, from its own files."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from typing import Any, cast

import msgspec

from tui.models.rehearsal.desk import Desk, Work, a_number, ask, code, note_trouble, some
from tui.models.rehearsal.evidence import Found
from tui.models.rehearsal.facts import Lines, is_cut, lines_in, names_in
from tui.models.rehearsal.look import opening_words, symbols_rules_known
from tui.models.rehearsal.symbols import count_kinds, symbols_in

__all__ = ["MANIFESTS", "Manifest", "manifest_of", "overview"]

MANIFESTS = ("pyproject.toml", "package.json", "Cargo.toml", "go.mod", "Makefile", "makefile", "setup.cfg")


class Manifest(msgspec.Struct, frozen=True):
    """What a project says of itself in one of its files."""

    name: str = ""
    description: str = ""
    scripts: tuple[tuple[str, str], ...] = ()
    """Commands by name: npm scripts, entry points, make targets."""
    needs: tuple[str, ...] = ()
    text: str = ""


def manifest_of(path: str, text: str) -> Manifest:
    """Return what a manifest says; fields that are not there are empty."""
    try:
        if path.endswith("package.json"):
            return _package_json(msgspec.json.decode(text.encode(), type=dict[str, Any]), text)
        if path.endswith((".toml",)):
            return _toml(tomllib.loads(text), text)
    except (msgspec.MsgspecError, tomllib.TOMLDecodeError):
        return Manifest(text=text)
    if path.lower().endswith("makefile"):
        targets = [symbol for symbol in symbols_in(path, lines_in(text).lines) if symbol.what == "target"]
        return Manifest(scripts=tuple((symbol.name, f"make {symbol.name}") for symbol in targets), text=text)
    module = re.search(r"^module (\S+)", text, re.MULTILINE)
    return Manifest(name=module[1] if module is not None and path.endswith("go.mod") else "", text=text)


def _package_json(data: dict[str, Any], text: str) -> Manifest:
    scripts = cast("dict[str, Any]", data.get("scripts") or {})
    needs = cast("dict[str, Any]", data.get("dependencies") or {})
    return Manifest(
        name=str(data.get("name") or ""),
        description=str(data.get("description") or ""),
        scripts=tuple((name, str(command)) for name, command in scripts.items()),
        needs=tuple(needs),
        text=text,
    )


def _toml(data: dict[str, Any], text: str) -> Manifest:
    project = cast("dict[str, Any]", data.get("project") or data.get("package") or {})
    scripts = cast("dict[str, Any]", project.get("scripts") or {})
    needs = cast("list[Any]", project["dependencies"]) if isinstance(project.get("dependencies"), list) else []
    return Manifest(
        name=str(project.get("name") or ""),
        description=str(project.get("description") or ""),
        scripts=tuple((name, str(target)) for name, target in scripts.items()),
        needs=tuple(str(need) for need in needs),
        text=text,
    )


def overview(desk: Desk) -> Work:
    """Look over the project: listing, README, manifest, main modules."""
    listing, every = yield from ask(
        "I look over the project: what lies at its top, and all its files.",
        desk.tools.ls(desk.where),
        desk.tools.find("*", desk.where),
    )
    if note_trouble(desk, listing) and note_trouble(desk, every):
        desk.page.head("I could not list the project.")
        return
    top = names_in(listing.text) if not listing.is_error else ()
    files = [name for name in names_in(every.text) if not name.endswith("/")] if not every.is_error else []
    desk.page.head(f"The project has {a_number(len(files), 'file')}." if files else "The project has no files.")
    yield from _told(desk, top)
    _show_layout(desk, list(top), files, cut=is_cut(every.text))
    yield from _main_modules(desk, files)


def _told(desk: Desk, top: tuple[str, ...]) -> Work:
    """Write down what README and manifests say."""
    readme = next((name for name in top if name.lower().startswith("readme") and not name.endswith("/")), "")
    wanted = [name for name in (readme, *(name for name in MANIFESTS if name in top)) if name][:3]
    if not wanted:
        return
    results = yield from ask(
        f"I read {', '.join(f'`{name}`' for name in wanted)}.", *(desk.tools.read(name) for name in wanted)
    )
    for name, found in zip(wanted, results, strict=True):
        if note_trouble(desk, found):
            continue
        text = lines_in(found.text).text
        if name == readme:
            _show_readme(desk, name, text)
        else:
            _show_manifest(desk, name, manifest_of(name, text))


def _show_readme(desk: Desk, name: str, text: str) -> None:
    title = re.search(r"^#\s+(.+)$|^(.+)\n=+$", text, re.MULTILINE)
    words = opening_words(name, text)
    if title is not None:
        desk.page.head(f"**{(title[1] or title[2]).strip()}**. {desk.page.headline}")
    if words:
        desk.page.add(f"> {words}", f"(from {code(name)})", "")


def _show_manifest(desk: Desk, path: str, manifest: Manifest) -> None:
    said = [f"name `{manifest.name}`" if manifest.name else "", manifest.description]
    if any(said):
        desk.page.add(f"- {code(path)}: {'; '.join(part for part in said if part)}")
    if manifest.needs:
        desk.page.add(f"- it needs {', '.join(code(need) for need in manifest.needs[:20])}")
    if manifest.scripts:
        desk.page.add(f"- commands in {code(path)}: " + ", ".join(f"`{name}`" for name, _ in manifest.scripts[:20]))


def _show_layout(desk: Desk, top: list[str], files: list[str], *, cut: bool) -> None:
    desk.page.add("", "### Files", "")
    kinds = ", ".join(f"{number} {kind}" for kind, number in count_kinds(files)[:10])
    if kinds:
        desk.page.add(f"{'At least ' if cut else ''}{a_number(len(files), 'file')}: {kinds}.", "")
    counts = Counter(name.split("/", 1)[0] for name in files if "/" in name)
    desk.page.add(*some((f"{code(name)}{_count(counts, name)}" for name in top), 30), "")


def _count(counts: Counter[str], name: str) -> str:
    number = counts.get(name.rstrip("/"), 0)
    return f": {a_number(number, 'file')}" if number else ""


def _main_modules(desk: Desk, files: list[str]) -> Work:
    chosen = sorted((name for name in files if symbols_rules_known(name)), key=_likely_main)[:2]
    if not chosen:
        return
    results = yield from ask(
        f"I read the likely main modules: {', '.join(f'`{name}`' for name in chosen)}.",
        *(desk.tools.read(name) for name in chosen),
    )
    desk.page.add("### Main modules", "")
    for name, found in zip(chosen, results, strict=True):
        if not note_trouble(desk, found):
            desk.page.add(_module_row(name, found))


def _module_row(name: str, found: Found) -> str:
    lines: Lines = lines_in(found.text)
    words = opening_words(name, lines.text)
    defined = [f"`{symbol.name}`" for symbol in symbols_in(name, lines.lines) if symbol.what != "value"][:12]
    parts = [words, f"defines {', '.join(defined)}" if defined else "defines nothing I can tell"]
    return f"- {code(name)}: {'; '.join(part.rstrip('.') for part in parts if part)}"


def _likely_main(path: str) -> tuple[int, int, str]:
    """Order of likelihood: entry points first, tests and deep files last."""
    stem = path.rsplit("/", 1)[-1].rsplit(".", 1)[0].lower()
    is_test = (
        re.search(
            r"(?:^|/)(?:tests?|spec|docs?|examples?|scripts?)/|(?:^|/)(?:test_|conftest)|[._-](?:test|spec)\.", path
        )
        is not None
    )
    entry = {"main": 0, "__main__": 0, "app": 1, "cli": 1, "index": 1, "server": 2, "lib": 2, "core": 2}.get(stem, 3)
    empty = 5 if stem == "__init__" else 0
    return (10 if is_test else 0) + entry + empty, path.count("/"), path
