"""A small shop: a repository and a gold set that every room's end-to-end tests share."""

import os
import signal
import sys
from pathlib import Path

import pytest

from tests.properties import register_profiles

# Tools that `make test` installs, such as rg, stand beside the interpreter.
os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])

# A shell that starts the tests in the background has them ignore Ctrl-C, and with them the programs that are sent one.
signal.signal(signal.SIGINT, signal.default_int_handler)

register_profiles()

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


def write_tree(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def shop(tmp_path, monkeypatch) -> Path:
    """A repository with a gold set, as the current folder; caches go to a folder of the test's own."""
    root = write_tree(tmp_path / "repo", FILES | {"gold.yaml": GOLD})
    monkeypatch.chdir(root)
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("COLUMNS", raising=False)
    return root
