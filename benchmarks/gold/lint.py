"""What is wrong with the published sets? Every one linted by the command line: `python -m benchmarks lint`.

Counts by code and seconds go to RESULTS.md; SAMPLED findings, drawn with SEED, to findings.csv beside this file: where
each stands and which rule it breaks. Whoever judges them lints the set and reads the message there.
"""

from __future__ import annotations

import csv
import io
import json
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.files import write_atomic
from assay.gold.lint.rules import RULES, SEVERITIES
from benchmarks.gold.judged import judgement
from benchmarks.gold.sets import Published, published
from benchmarks.pages import Section, table

SEED = 5
SAMPLED = 50
SAMPLE = Path(__file__).parent / "findings.csv"
LIMIT = 10.0  # seconds for a set whose corpus is in the cache
#: Defects that are known (gold/README.md and the notes): set, query, and the codes of which one must be found.
KNOWN: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("chi", "row-007", ("G101",)),
    ("chi", "row-013", ("G101",)),
    ("chi", "row-018", ("G201",)),
    ("phoenix", "row-008", ("G101",)),
    ("axum", "row-019", ("G202",)),
    ("axum", "row-020", ("G202",)),
    ("fmtlib", "row-002", ("G203",)),
    ("octocode-code", "row-101", ("G301", "G302")),
    ("octocode-code", "row-104", ("G503",)),
)


@dataclass(frozen=True, slots=True)
class Linted:
    """A set, what was found in it, and how long that took with the corpus in the cache."""

    published: Published
    findings: tuple[Mapping[str, object], ...]
    seconds: float


def main() -> Section:
    """Lint every set, draw the sample, and see that the known defects are among what was found."""
    linted = [_linted(one) for one in published()]
    write_atomic(SAMPLE, sample(linted))
    return section(linted)


def _linted(one: Published) -> Linted:
    """Lint a set twice: the first time fetches its corpus."""
    _run(one)
    begin = time.perf_counter()
    findings = _run(one)
    return Linted(one, findings, time.perf_counter() - begin)


def _run(one: Published) -> tuple[Mapping[str, object], ...]:
    """Run the command in a process of its own, as its users do."""
    command = [sys.executable, "-m", "assay", "gold", "lint", str(one.file), "--corpus", one.corpus]
    done = subprocess.run([*command, "--json", "--quiet"], capture_output=True, text=True, check=False)
    data = json.loads(done.stdout)
    if "findings" not in data:
        raise RuntimeError(f"{one.name}: {done.stderr}")
    return tuple(data["findings"])


def sample(linted: Sequence[Linted]) -> str:
    """Draw findings of all sets; no words of queries, no code."""
    fields = ("query", "code", "severity", "anchor")
    rows = sorted([one.published.name, *(str(f[name]) for name in fields)] for one in linted for f in one.findings)
    drawn = random.Random(SEED).sample(rows, min(SAMPLED, len(rows)))
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["number", "set", *fields])
    writer.writerows([number, *row] for number, row in enumerate(drawn, 1))
    return text.getvalue()


def section(linted: Sequence[Linted]) -> Section:
    """Show counts by code, seconds, and what was known before."""
    slowest = max(one.seconds for one in linted)
    missed = [f"{name} {query}" for name, query, codes in KNOWN if not _found(linted, name, query, codes)]
    total = sum(len(one.findings) for one in linted)
    lines = (
        f"{total} findings in {len(linted)} sets. Slowest set: {slowest:.1f} s "
        f"({'met' if slowest <= LIMIT else 'missed'}: {LIMIT:.0f} s, corpus in the cache). Known defects found: "
        f"{len(KNOWN) - len(missed)} of {len(KNOWN)}{' (missed: ' + ', '.join(missed) + ')' if missed else ''}.",
        "",
        judgement(SAMPLE),
        "",
        *table(("set", "seconds", *SEVERITIES, "by code"), [_row(one) for one in linted]),
        *table(("code", "rule", "findings"), _by_rule(linted)),
    )
    return Section(lines, passed=slowest <= LIMIT and not missed)


def _found(linted: Sequence[Linted], name: str, query: str, codes: Sequence[str]) -> bool:
    """Tell whether a known defect is among what was found."""
    findings = [f for one in linted if one.published.name == name for f in one.findings]
    return any(f["query"] == query and f["code"] in codes for f in findings)


def _row(one: Linted) -> tuple[object, ...]:
    """Show what was found in one set."""
    severities = Counter(str(f["severity"]) for f in one.findings)
    codes = Counter(str(f["code"]) for f in one.findings)
    listed = ", ".join(f"{code} {count}" for code, count in sorted(codes.items()))
    return (one.published.name, f"{one.seconds:.1f}", *(severities[name] for name in SEVERITIES), listed)


def _by_rule(linted: Sequence[Linted]) -> list[tuple[object, ...]]:
    """Count the findings of each rule."""
    codes = Counter(str(f["code"]) for one in linted for f in one.findings)
    return [(rule.code, rule.name, codes[rule.code]) for rule in RULES if codes[rule.code]]
