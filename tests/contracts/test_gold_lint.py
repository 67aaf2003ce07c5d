"""`assay gold lint`: every rule, its findings, and the repairs of `--fix`."""

import difflib
import json
from pathlib import Path
from typing import Any

import pytest

from assay.gold.lint.rules import RULES
from tests.contracts.gold import Repository, gold, isolate, transcripts, write_tree
from tests.contracts.snapshot import check, shape

PRICE = '''\
"""Prices."""


class Basket:
    """Lines that a customer wants to buy."""

    def add(self, name, price):
        self.lines.append((name, price))

    # Nothing below counts the lines,
    # which is left to callers.

    def total(self):
        return sum(price for _, price in self.lines)


def overloaded(value: int) -> int: ...
def overloaded(value: str) -> str: ...
'''
SETTLE = """\
def settle(accounts, transfers):
    balances = dict.fromkeys(accounts, 0)
    for sender, receiver, amount in transfers:
        balances[sender] -= amount
        balances[receiver] += amount
    overdrawn = [name for name, balance in balances.items() if balance < 0]
    if overdrawn:
        raise ValueError(f"accounts without cover: {overdrawn}")
    names = sorted(balances)
    totals = [balances[name] for name in names]
    report = dict(zip(names, totals, strict=True))
    return report
"""
#: `settle` with one line changed: similar enough to count as a copy.
SETTLE_AGAIN = SETTLE.replace("names = sorted(balances)", "names = sorted(balances, reverse=True)")
CODE = {
    "shop/price.py": PRICE,
    "shop/tax.py": "RATES = {}\n\n\ndef tax_rate(country):\n    return RATES[country]\n",
    "shop/ledger.py": SETTLE,
    "shop/books.py": SETTLE,
    "shop/archive.py": SETTLE_AGAIN,
    "shop/facade.py": "from shop.price import Basket\nfrom shop.tax import tax_rate\n\n__all__ = ['Basket']\n",
    "shop/router.py": "class RouteTable:\n    routes = ()\n",
    "shop/serve.py": "def serve(request):\n    return RouteTable, HiddenTable, request\n",
    "shop/retry.py": "def retry_later(call):\n    return call()\n",
    "shop/again.py": "def retry_later(call):\n    return None\n",
    "shop/broken.py": "def (:\n",
    "notes.xyz": "one\ntwo\n",
    "hidden/table.py": "class HiddenTable:\n    rows = ()\n",
    **{f"till/part{number}.py": f"def part{number}():\n    return {number}\n" for number in range(4)},
}
SETS = {
    # G1
    "anchors": """\
corpus: {path: ../code, exclude: ["hidden/**"]}
queries:
  - id: missing
    retrieval: {primary: [shop/taxes.py]}
    cognitive: {human: which percentage is charged?}
  - id: moved-file
    retrieval: {primary: ["old/tax.py:4-5#33fb38fef81f"]}
    cognitive: {human: what does the state take?}
  - id: left-out
    retrieval: {primary: [shop/price.py], secondary: [hidden/table.py]}
    cognitive: {human: where are rows kept?}
  - id: folder
    retrieval: {primary: [shop/price.py], secondary: [shop]}
    cognitive: {human: what is sold?}
  - id: case
    retrieval: {primary: [Shop/Tax.py]}
    cognitive: {human: what is due?}
  - id: one-too-many
    retrieval: {primary: ["shop/tax.py:4-6"]}
    cognitive: {human: what is owed?}
  - id: past-the-end
    retrieval: {primary: ["shop/tax.py:4-60"]}
    cognitive: {human: what is left?}
  - id: symbol
    retrieval: {primary: ["shop/tax.py::tax_rates"]}
    cognitive: {human: how high is the share of the state?}
    interference:
      - {target: "shop/price.py::Basket.sum", relationship: sibling, strength: weak, confusion: sums}
  - id: language
    retrieval: {primary: ["notes.xyz::one"]}
    cognitive: {human: what was written down first?}
  - id: syntax
    retrieval: {primary: ["shop/broken.py::one"]}
    cognitive: {human: what does not work?}
  - id: content
    retrieval: {primary: ["shop/tax.py:4-5#0123456789ab"]}
    cognitive: {human: what has changed?}
""",
    "other-code": """\
corpus: {path: ../code}
queries:
  - {id: a, retrieval: {primary: [lib/a.go]}, cognitive: {human: what comes first?}}
  - {id: b, retrieval: {primary: [lib/b.go]}, cognitive: {human: what comes second?}}
  - {id: c, retrieval: {primary: [lib/c.go]}, cognitive: {human: what comes third?}}
  - {id: d, retrieval: {primary: [lib/d.go]}, cognitive: {human: what comes last?}}
""",
    "branch": """\
corpus: {git: ../repository, rev: main}
queries:
  - {id: a, retrieval: {primary: ["one.py::one"]}, cognitive: {human: what comes first?}}
""",
    "other-revision": """\
corpus: {git: ../repository, rev: abcdef0}
queries:
  - {id: a, retrieval: {primary: ["one.py::one"]}, cognitive: {human: what comes first?}}
""",
    # G2
    "answers": """\
corpus: {path: ../code, include: ["shop/**", "till/**"], exclude: ["shop/broken.py"]}
queries:
  - id: elsewhere
    retrieval: {primary: [shop/serve.py]}
    cognitive: {human: RouteTable}
    tags: {category: symbol}
  - id: outside
    retrieval: {primary: [shop/serve.py]}
    cognitive: {human: HiddenTable}
    tags: {category: symbol}
  - id: shim
    retrieval: {primary: [shop/facade.py]}
    cognitive: {human: what does a customer pay?}
  - id: several
    retrieval: {primary: [shop/retry.py]}
    cognitive: {human: retry_later}
    tags: {category: symbol}
  - id: repeated
    retrieval: {primary: ["shop/price.py::overloaded"]}
    cognitive: {human: what is done with texts and numbers?}
    tags: {category: semantic}
""",
    # G3
    "labels": """\
corpus: {path: ../code}
queries:
  - id: overlap
    retrieval: {primary: ["shop/price.py:4-8", "shop/price.py:7-14"]}
    cognitive: {human: what is in the basket?}
  - id: inside
    retrieval: {primary: ["shop/price.py::Basket", "shop/price.py::Basket.total"]}
    cognitive: {human: what does it all cost?}
  - id: same
    retrieval: {primary: ["shop/price.py::Basket.total", "shop/price.py:13-14"]}
    cognitive: {human: what is the sum?}
  - id: adversary
    retrieval: {primary: ["shop/price.py::Basket.total"]}
    cognitive: {human: what is to be paid?}
    interference:
      - {target: "shop/price.py:12-13", relationship: sibling, strength: weak, confusion: close by}
  - id: copied
    retrieval: {primary: ["shop/ledger.py::settle"]}
    cognitive: {human: how are transfers booked?}
""",
    # G4
    "words": """\
corpus: {path: ../code}
queries:
  - id: first
    retrieval: {primary: [shop/price.py]}
    cognitive: {human: how is the bill made up?, keyword: bill}
  - id: same-words
    retrieval: {primary: [shop/tax.py]}
    cognitive: {human: how is a bill made up?}
  - id: twice
    retrieval: {primary: [shop/price.py]}
    cognitive: {human: "How is the bill made up"}
  - id: no-wrong-term
    retrieval: {primary: [shop/tax.py]}
    cognitive: {human: which share is charged?, wrong_terminology: which share is charged}
  - id: wrong-terms
    retrieval: {primary: [shop/tax.py]}
    cognitive: {human: which share is added to a price?, wrong_terminology: which coin is added to a weight?}
  - id: other-question
    retrieval: {primary: [shop/tax.py]}
    cognitive: {human: which duty is levied abroad?, wrong_terminology: who is paid before that?}
  - id: given-away
    retrieval: {primary: ["shop/tax.py::tax_rate"]}
    cognitive: {human: what does tax_rate look up?}
  - id: copied-comment
    retrieval: {primary: ["shop/price.py::Basket"]}
    cognitive: {human: which lines does a customer want to buy?}
  - id: draft
    retrieval: {primary: ["shop/price.py::Basket.add"]}
    cognitive: {human: where does a bargain enter the books?}
    tags: {status: draft}
""",
    # G112
    "symlinks": """\
corpus: {path: ../linked}
queries:
  - id: both
    retrieval: {primary: ["real.py::one"], secondary: ["link.py::one"]}
    cognitive: {human: which number comes first?}
""",
    # G5
    "reach": """\
corpus: {path: ../code}
queries:
  - id: blank
    retrieval: {primary: ["shop/price.py:2-3"], secondary: ["shop/price.py::Basket.total"]}
    cognitive: {human: what is between the lines?}
  - id: comment
    retrieval: {primary: ["shop/price.py:10-11"]}
    cognitive: {human: who counts?}
  - id: top
    retrieval: {primary: ["shop/tax.py:1-1"], secondary: ["shop/tax.py::tax_rate"]}
    cognitive: {human: which figures are fixed by law?}
""",
}
CHUNKS = '{"path": "shop/price.py", "start": 1, "end": 9}\n{"path": "shop/ledger.py"}\n'

#: Codes that no sample triggers, and why.
UNTRIGGERED = {"G124": "needs two commits; tests/gold/test_stale_ranges.py"}


@pytest.fixture
def world(tmp_path, monkeypatch) -> Path:
    """Corpora and gold sets in the current directory."""
    root = isolate(monkeypatch, tmp_path)
    write_tree(root / "code", CODE)
    write_tree(root / "sets", {f"{name}.yaml": f"assay: 1\nname: {name}\n{text}" for name, text in SETS.items()})
    (root / "chunks.jsonl").write_text(CHUNKS)
    write_tree(root / "linked", {"real.py": "def one():\n    return 1\n"})
    (root / "linked" / "link.py").symlink_to("real.py")
    repository = Repository(root / "repository")
    repository.commit("first", {"one.py": "def one():\n    return 1\n"})
    repository.git("branch", "abcdef0")
    return root


def test_codes():
    listed = {
        rule.code: {
            "name": rule.name,
            "severity": rule.severity,
            "about": rule.about,
            "advice": rule.advice,
            "fixable": rule.fixable,
        }
        for rule in RULES
    }
    check("gold_lint/codes.json", listed)


def findings(data: Any) -> str:
    """Return one line of JSON per finding, so that a diff shows which one changed."""
    return "\n".join(json.dumps(one, ensure_ascii=False) for one in data["findings"])


def test_findings_of_every_rule(world):
    called = gold("lint", "sets", "--json", "--quiet")
    reached = gold("lint", "sets/reach.yaml", "--reach", "chunks.jsonl", "--reach", "builtin", "--json", "--quiet")
    assert (called.code, reached.code) == (2, 0)
    check("gold_lint/findings.jsonl", findings(called.data))
    check("gold_lint/reach.jsonl", findings(reached.data))
    check("gold_lint/counts.json", {key: value for key, value in called.data.items() if key != "findings"})
    triggered = {finding["code"] for finding in called.data["findings"] + reached.data["findings"]}
    codes = {rule.code for rule in RULES}
    assert triggered <= codes
    assert sorted(codes - triggered) == sorted(UNTRIGGERED)


def test_text(world):
    check("gold_lint/text.txt", gold("lint", "sets").transcript)


def test_shape_of_the_json(world):
    called = gold("lint", "sets", "--json", "--quiet", "--fix")
    check("gold_lint/shape.json", shape(called.data))


def test_fix_repairs_the_file_and_nothing_else(world):
    before = {path.name: path.read_text().splitlines() for path in Path("sets").iterdir()}
    fixed = gold("lint", "sets", "--fix", "--select", "G1,G3")
    assert fixed.code == 2
    changes = [
        line
        for path in sorted(Path("sets").iterdir())
        for line in difflib.unified_diff(before[path.name], path.read_text().splitlines(), path.name, lineterm="", n=0)
    ]
    check("gold_lint/fixed.txt", f"{fixed.transcript}\n--- changes\n" + "\n".join(changes))
    again = gold("lint", "sets", "--fix", "--select", "G1,G3", "--json", "--quiet")
    assert again.data["repaired"] == []


def test_selected_rules_decide_findings_and_exit_code(world):
    calls = [
        ("lint", "sets/words.yaml", "--quiet", "--select", "G4"),
        ("lint", "sets/words.yaml", "--quiet", "--select", "G4", "--ignore", "G40,G421", "--strict"),
        ("lint", "sets/words.yaml", "--quiet", "--select", "G421", "--strict"),
        ("lint", "sets/words.yaml", "--quiet", "--select", "G9"),
        ("lint", "sets/words.yaml", "--quiet", "--ignore", "g421"),
        ("lint", "--quiet"),
        ("lint", "sets/words.yaml", "--quiet", "--reach", "code/notes.xyz"),
        ("lint", "sets/words.yaml", "--quiet", "--corpus", "nowhere"),
    ]
    check("gold_lint/selected.txt", transcripts(calls).replace(str(world), "."))


def test_github_annotations(world):
    env = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary.md"}
    called = gold("lint", "sets/words.yaml", "--select", "G4", "--github", env=env)
    check("gold_lint/github.txt", f"{called.transcript}\n--- job summary\n{Path('summary.md').read_text()}")
