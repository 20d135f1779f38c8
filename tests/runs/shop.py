"""A small real Python project with work left in it, and the plan of that work: a dozen items with real checks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FILES = {
    "pyproject.toml": '[project]\nname = "shop"\nversion = "0.1"\n\n[tool.pytest.ini_options]\npythonpath = ["."]\n',
    "README.md": "# shop\n\nA small shop.\n",
    ".gitignore": "__pycache__/\n.pytest_cache/\n",
    "shop/__init__.py": "",
    "shop/prices.py": (
        '"""Prices."""\n\nCURRENCY = "EUR"\n\n\ndef with_tax(price, tax):\n    return price - tax\n\n\n'
        "def calc_total(prices):\n    return sum(prices)\n"
    ),
    "shop/text.py": '"""Words."""\n\n\ndef label(name):\n    return name.upper()\n',
    "shop/stock.py": (
        '"""Stock."""\n\n\nclass Box:\n    def __init__(self, size):\n        self.size = size\n\n\n'
        "def fits(count, box):\n    return count < box.size\n"
    ),
    "tests/test_prices.py": "from shop.prices import with_tax\n\n\ndef test_tax():\n    assert with_tax(10, 2) == 12\n",
    "tests/test_stock.py": (
        "from shop import stock\n\n\ndef test_fits():\n    box = next(getattr(stock, n) for n in ('Box', 'Crate') "
        "if hasattr(stock, n))(3)\n    assert stock.fits(3, box)\n"
    ),
    "tests/test_text.py": "from shop.text import label\n\n\ndef test_label():\n    assert label('Tea') == 'tea'\n",
    "checks/total.py": "from shop.prices import order_total\n\nassert order_total([1, 2]) == 3\n",
    "checks/currency.py": "from shop.prices import CURRENCY\n\nassert CURRENCY == 'USD'\n",
    "checks/shout.py": "from shop.text import shout\n\nassert shout('a') == 'A!'\n",
    "checks/half.py": "from shop.prices import half\n\nassert half(4) == 2\n",
    "checks/version.py": "from shop.version import VERSION\n\nassert VERSION == '1.0'\n",
    "checks/crate.py": "from shop.stock import Crate\n\nassert Crate(3).size == 3\n",
}


def _item(text: str, *checks: str) -> str:
    commands = ", ".join("[" + ", ".join(f'"{word}"' for word in check.split()) + "]" for check in checks)
    return f"[[item]]\ntext = '''\n{text}'''\nchecks = [{commands}]\n"


def _script(name: str) -> str:
    return f"env PYTHONPATH=. python3 checks/{name}.py"


ITEMS = (
    _item("Fix the failing test in tests/test_prices.py", "python3 -m pytest -q tests/test_prices.py"),
    _item("Rename `calc_total` to `order_total`", _script("total")),
    _item(
        "Add to shop/text.py:\n```python\n\n\ndef shout(text):\n    return text.upper() + '!'\n```",
        _script("shout"),
    ),
    _item("Fix the failing test in tests/test_stock.py", "python3 -m pytest -q tests/test_stock.py"),
    _item("Replace `EUR` with `USD` in shop/prices.py", _script("currency")),
    _item('Create shop/version.py containing `VERSION = "1.0"`', _script("version")),
    _item("Fix the failing test in tests/test_text.py", "python3 -m pytest -q tests/test_text.py"),
    _item("Replace `A small shop.` with `A small, tidy shop.` in README.md", "grep -q tidy README.md"),
    _item("Rename `Box` to `Crate`", _script("crate"), "python3 -m pytest -q tests/test_stock.py"),
    _item("Add to shop/prices.py:\n```python\n\n\ndef half(price):\n    return price / 2\n```", _script("half")),
    _item("Create CHANGES.md containing `# Changes`", "grep -q Changes CHANGES.md"),
    _item("Run the tests", "python3 -m pytest -q"),
)


def make_shop(folder: Path, items: int = len(ITEMS)) -> Path:
    """Write the project, commit it, and return the file of its plan, which lies beside the project's folder."""
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    plan = folder.parent / "plan.toml"
    plan.write_text('title = "Tidy the shop"\n\n' + "\n".join(ITEMS[:items]))
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
    for words in (("init", "-q"), ("add", "."), ("commit", "-qm", "first")):
        subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)
    return plan


SEARCHED = f"{Path(sys.executable).parent}:/usr/local/bin:/usr/bin:/bin"
"""A PATH whose python3 has pytest."""
