"""Shared fixtures: a small shop repository with a gold set, before and after `assay run`."""

import contextlib
import gc
import io
import os
import shutil
import signal
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.properties import register_profiles

# Tools that `make test` installs, such as rg, are next to the interpreter.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

# Tests started in the background or by nohup inherit these signals as ignored, and so would the programs that they
# send them to.
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)

register_profiles()

# Test collection creates millions of objects that live for the whole session: exclude them from garbage collection.
gc.disable()


@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop() -> None:
    gc.freeze()
    gc.enable()


FILES = {
    "shop/__init__.py": "",
    "shop/cart.py": '''\
"""The shopping cart."""


class Cart:
    """Items a customer wants."""

    def __init__(self):
        self.items = []

    def add(self, item, price):
        """Put an item into the cart."""
        self.items.append((item, price))

    def total(self):
        """Sum the prices of all items."""
        return sum(price for _, price in self.items)
''',
    "shop/tax.py": '''\
"""Value added tax."""

RATES = {"de": 0.19, "fr": 0.20}


def tax_rate(country):
    """Look up the rate of a country."""
    return RATES.get(country, 0.0)


def with_tax(amount, country):
    """Add the tax to an amount."""
    return amount * (1 + tax_rate(country))
''',
    "shop/retry.py": '''\
"""Try again when the payment provider is down."""

import time


def retry(call, attempts=3, delay=0.1):
    """Repeat a call until it works or the attempts are used up."""
    for attempt in range(attempts):
        try:
            return call()
        except OSError:
            time.sleep(delay * 2 ** attempt)
    raise TimeoutError("payment provider is down")
''',
    "shop/receipt.py": '''\
"""Print what was bought."""


def receipt(cart, country):
    """Write the items, the total and the tax as text."""
    lines = [f"{item}: {price}" for item, price in cart.items]
    return "\\n".join(lines)
''',
    "tests/test_cart.py": """\
from shop.cart import Cart


def test_total_sums_prices_of_items():
    cart = Cart()
    cart.add("tea", 3)
    assert cart.total() == 3
""",
    "README.md": "# Shop\n\nA cart, a tax table and a retry loop.\n",
}

GOLD = """\
assay: 1
name: shop
corpus: {path: .}
queries:
  - id: cart-total
    retrieval: {primary: ["shop/cart.py::Cart.total"], secondary: ["shop/receipt.py"]}
    cognitive:
      human: how is the total of all items computed?
      keyword: cart total sum
      wrong_terminology: how is the average of all items computed?
    interference:
      - {target: tests/test_cart.py, relationship: test, strength: strong, confusion: checks the total}
    rationale: {owner: Cart.total, reason: it sums the prices, boundary: the receipt only prints}
    evaluation: {measures: [RR@10, Displacement@10]}
    tags: {difficulty: standard}
  - id: tax-lookup
    retrieval: {primary: ["shop/tax.py::tax_rate"]}
    cognitive:
      human: which percentage is charged for a country?
      keyword: tax rate country
      wrong_terminology: which discount is charged for a country?
    tags: {difficulty: hard}
  - id: retry-wait
    retrieval: {primary: ["shop/retry.py:6-13"]}
    cognitive:
      human: what happens when the payment provider does not answer?
      keyword: retry attempts delay
      wrong_terminology: what happens when the database provider does not answer?
    tags: {difficulty: hard}
"""


SHOP = FILES | {"gold.yaml": GOLD}
RUN = ("run", "--gold", "gold.yaml", "--quiet")


def write_tree(root: Path, files: Mapping[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def enter(base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Make `base/repo` the current directory and `base/cache` the cache; output is plain text of the default width."""
    monkeypatch.chdir(base / "repo")
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(base / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    return base / "repo"


def finish(base: Path, files: Mapping[str, str], *arguments: str) -> Path:
    """Write `files` to `base/repo`, run `assay` there with `arguments`, and return `base`."""
    from assay.cli.main import main

    write_tree(base / "repo", files)
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()):
        enter(base, patch)
        assert main(list(arguments)) == 0
    return base


def copy_finished(made: Path, base: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Copy the repository and cache that `finish` created to `base`, and make the copy the current directory."""
    shutil.copytree(made, base, dirs_exist_ok=True)
    return enter(base, monkeypatch)


def enter_shared(made: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Make the repository that `finish` created the current directory; fail the test if it changes a file there."""
    before = _stamps(made / "repo")
    yield enter(made, monkeypatch)
    assert _stamps(made / "repo") == before, "this test changes files that other tests share: use copy_finished()"


def _stamps(root: Path) -> dict[Path, tuple[int, int]]:
    found = {path: path.stat() for path in root.rglob("*") if path.is_file()}
    return {path: (stat.st_mtime_ns, stat.st_size) for path, stat in found.items()}


@pytest.fixture
def shop(tmp_path, monkeypatch) -> Path:
    """A repository with a gold set as the current directory; caches go to a temporary directory."""
    write_tree(tmp_path / "repo", SHOP)
    return enter(tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def _finished_shop(tmp_path_factory) -> Path:
    return finish(tmp_path_factory.mktemp("finished"), SHOP, *RUN)


@pytest.fixture
def finished_shop(_finished_shop, monkeypatch) -> Iterator[Path]:
    """The shop after `assay run`, with the run in `results`; read-only, because all tests share it."""
    yield from enter_shared(_finished_shop, monkeypatch)


@pytest.fixture
def shop_with_results(_finished_shop, tmp_path, monkeypatch) -> Path:
    """A copy of the shop after `assay run`, with its cache, for tests that change it."""
    return copy_finished(_finished_shop, tmp_path, monkeypatch)


@pytest.fixture(scope="session")
def _library(tmp_path_factory) -> Path:
    from tests.library import copy_library, short_gold

    return copy_library(short_gold("stdlib", 3), tmp_path_factory.mktemp("library"))


@pytest.fixture
def small_library(_library, monkeypatch) -> Path:
    """A small standard library that Assay uses instead of the real one; a few queries of the shipped set apply."""
    from tests.library import use_library

    use_library(_library, monkeypatch)
    return _library
