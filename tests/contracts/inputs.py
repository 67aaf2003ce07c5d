"""Inputs of the contracts: two small repositories with gold sets, and an engine that fails on some queries."""

from tests.conftest import FILES

SHOP = FILES | {
    "shop/stock.py": '''\
"""How many of each item are on the shelf."""


class Stock:
    """A count per item."""

    def __init__(self, counts):
        self.counts = dict(counts)

    def reserve(self, item):
        """Take one item off the shelf, or refuse."""
        if self.counts.get(item, 0) < 1:
            raise LookupError(f"{item} is sold out")
        self.counts[item] -= 1

    def refill(self, item, amount):
        """Put items back on the shelf."""
        self.counts[item] = self.counts.get(item, 0) + amount
''',
    "shop/coupons.py": '''\
"""Discount codes."""

COUPONS = {"SPRING": 0.10, "VIP": 0.25}


def discount(total, code):
    """Lower a total by the percentage of a coupon code."""
    return total * (1 - COUPONS.get(code.upper(), 0.0))
''',
    "shop/storage.py": '''\
"""Keep carts in a JSON file."""

import json
from pathlib import Path


def save_cart(path, cart):
    """Write the items of a cart to disk."""
    Path(path).write_text(json.dumps(cart.items))


def load_cart(path, cart):
    """Read the items of a cart from disk."""
    cart.items = [tuple(item) for item in json.loads(Path(path).read_text())]
''',
    "shop/settings.py": '''\
"""Settings of the shop."""

DEFAULTS = {
    "currency": "EUR",
    "attempts": 3,
    "country": "de",
}


def setting(name, overrides=None):
    """Look up a setting, with the overrides of a customer first."""
    return {**DEFAULTS, **(overrides or {})}[name]
''',
    "web/checkout.js": """\
// Send the cart to the server and show the answer.
export async function checkout(cart) {
  const response = await fetch("/checkout", { method: "POST", body: JSON.stringify(cart) });
  if (!response.ok) throw new Error(`checkout failed: ${response.status}`);
  return response.json();
}

export function formatPrice(cents, currency) {
  return `${(cents / 100).toFixed(2)} ${currency}`;
}
""",
}

SHOP_GOLD = """\
assay: 1
name: shop
corpus: {path: ../shop}
provenance: {author: the contract tests}
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
    tags: {difficulty: standard, split: dev}
  - id: cart-add
    retrieval: {primary: ["shop/cart.py:10-12"]}
    cognitive: {human: "where does an item get into the cart?", keyword: add item cart}
    interference:
      - {target: "shop/stock.py::Stock.refill", relationship: sibling, strength: weak, confusion: adds to the shelf}
    tags: {difficulty: standard, split: dev}
  - id: tax-lookup
    retrieval: {primary: ["shop/tax.py::tax_rate"]}
    cognitive:
      human: which percentage is charged for a country?
      keyword: tax rate country
      wrong_terminology: which discount is charged for a country?
    interference:
      - {target: shop/coupons.py, relationship: sibling, strength: strong, confusion: also a percentage}
    tags: {difficulty: hard, split: dev}
  - id: tax-added
    retrieval: {primary: ["shop/tax.py::with_tax"], secondary: ["shop/tax.py::tax_rate"]}
    cognitive: {human: "where does a price become one with VAT?", keyword: with_tax amount}
    tags: {difficulty: hard, split: test}
  - id: retry-wait
    retrieval: {primary: ["shop/retry.py:6-13"]}
    cognitive:
      human: what happens when the payment provider does not answer?
      keyword: retry attempts delay
      wrong_terminology: what happens when the database provider does not answer?
    interference:
      - {target: shop/settings.py, relationship: config, strength: weak, confusion: holds the attempts}
    tags: {difficulty: hard, split: dev}
  - id: receipt-text
    retrieval: {primary: ["shop/receipt.py"]}
    cognitive: {human: "what does the customer get on paper?", keyword: receipt lines}
    tags: {difficulty: standard, split: test}
  - id: sold-out
    retrieval: {primary: ["shop/stock.py::Stock.reserve"]}
    cognitive: {human: "who says that there is nothing left to sell?", keyword: sold out reserve}
    tags: {difficulty: standard, split: dev}
  - id: shelf-refill
    retrieval: {primary: ["shop/stock.py:16-18"]}
    cognitive: {human: "how do goods get back on the shelf?", keyword: refill amount}
    interference:
      - {target: "shop/cart.py::Cart.add", relationship: sibling, strength: weak, confusion: adds to the cart}
    tags: {difficulty: standard, split: test}
  - id: coupon-percentage
    retrieval: {primary: ["shop/coupons.py::discount"]}
    cognitive: {human: "what does a voucher take off the price?", keyword: coupon discount code}
    tags: {difficulty: hard, split: test}
  - id: cart-file
    retrieval: {primary: ["shop/storage.py::save_cart"], secondary: ["shop/storage.py::load_cart"]}
    cognitive: {human: "how does a cart survive a restart?", keyword: save cart json}
    tags: {difficulty: hard, split: dev}
  - id: default-currency
    retrieval: {primary: ["shop/settings.py:3-7"]}
    cognitive: {human: "which currency is used if nobody says?", keyword: default currency}
    interference:
      - {target: web/checkout.js, relationship: caller, strength: weak, confusion: formats a currency}
    tags: {difficulty: standard, split: test}
  - id: send-order
    retrieval: {primary: ["web/checkout.js:2-6"]}
    cognitive: {human: "how does the browser send an order?", keyword: fetch post checkout}
    tags: {difficulty: standard, split: dev}
"""

LIBRARY = {
    "library/loans.py": '''\
"""Who has which book."""

from datetime import timedelta

LOAN = timedelta(days=28)


def lend(loans, book, reader, today):
    """Note that a reader takes a book home."""
    loans[book] = (reader, today + LOAN)


def give_back(loans, book):
    """Forget a loan."""
    return loans.pop(book, None)
''',
    "library/fines.py": '''\
"""What a late book costs."""


def fine(due, today, rate=0.2):
    """Charge a rate for each day that a book is late."""
    return max(0, (today - due).days) * rate
''',
    "library/catalog.go": """\
package library

import "strings"

// Find returns the titles that contain every word.
func Find(titles []string, words ...string) []string {
\tvar found []string
\tfor _, title := range titles {
\t\tif matches(title, words) {
\t\t\tfound = append(found, title)
\t\t}
\t}
\treturn found
}

func matches(title string, words []string) bool {
\tfor _, word := range words {
\t\tif !strings.Contains(strings.ToLower(title), strings.ToLower(word)) {
\t\t\treturn false
\t\t}
\t}
\treturn true
}
""",
    "README.md": "# Library\n\nLoans, fines and a catalog.\n",
}

LIBRARY_GOLD = """\
assay: 1
name: library
corpus: {path: ../library}
queries:
  - id: loan-period
    retrieval: {primary: ["library/loans.py:5-10"]}
    cognitive: {human: "how long may a reader keep a book?", keyword: loan days}
    tags: {difficulty: standard, split: dev}
  - id: late-fee
    retrieval: {primary: ["library/fines.py::fine"]}
    cognitive: {human: "what does it cost to be late?", keyword: fine rate day}
    interference:
      - {target: library/loans.py, relationship: sibling, strength: weak, confusion: sets the day}
    tags: {difficulty: hard, split: test}
  - id: title-search
    retrieval: {primary: ["library/catalog.go::Find"], secondary: ["library/catalog.go::matches"]}
    cognitive: {human: "how are titles searched?", keyword: find titles words}
    tags: {difficulty: standard, split: dev}
"""

# The name is unusual because the module stays in sys.modules for the rest of the test session.
ENGINE_MODULE = "assay_contract_engine"
ENGINE = '''\
"""Files whose stem is in the query, then the cart; some questions fail."""

STEMS = ["cart", "tax", "retry", "receipt", "stock", "coupons", "storage", "settings"]


def search(query, k):
    if "browser" in query:
        raise RuntimeError("no browser here")
    if "voucher" in query:
        raise ValueError("vouchers are not supported")
    found = [stem for stem in STEMS if stem in query.casefold()]
    ranked = [*found, *(stem for stem in STEMS if stem not in found)]
    hits = [{"path": f"shop/{stem}.py", "start": 1, "end": 20, "score": 1 / at} for at, stem in enumerate(ranked, 1)]
    return hits[:k]
'''

CONFIG = f"""\
[run]
gold = ["gold/shop.yaml", "gold/library.yaml"]
measures = ["nDCG@10", "RR@10", "Hit@1", "R@10", "LineR@10"]
baseline = "keywords"
seed = 7
times = false
jobs = 1

[engines.builtin]
kind = "builtin"

[engines.flaky]
kind = "python"
target = "{ENGINE_MODULE}:search"
"""

WORKSPACE = {
    **{f"shop/{name}": text for name, text in SHOP.items()},
    **{f"library/{name}": text for name, text in LIBRARY.items()},
    "gold/shop.yaml": SHOP_GOLD,
    "gold/library.yaml": LIBRARY_GOLD,
    f"{ENGINE_MODULE}.py": ENGINE,
    "assay.toml": CONFIG,
}
