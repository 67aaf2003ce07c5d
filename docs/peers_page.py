"""The page about other efforts: what each measures, in our words, and what we measured beside them, from RESULTS.md."""

from __future__ import annotations

import re
from pathlib import Path

from docs.engines_page import MADE

RESULTS = Path(__file__).parent.parent / "benchmarks" / "RESULTS.md"
_COLUMNS = ("engine", "adapter", "version", "nDCG@10", "minus builtin", "cold index s", "warm query ms", "memory MB")


def peers() -> str:
    """Compare with peers; the figures are those of the benchmarks."""
    parts = ["# Beside other efforts", MADE, _INTRODUCTION, _efforts(), _DIFFERENT, _MEASURED]
    for title, text in _TABLES.items():
        parts += [f"### {title}", text, _table(title)]
    return "\n\n".join([*parts, _NOT_MEASURED, _LINTED, _SHORT]) + "\n"


def _table(section: str) -> str:
    """Take some columns of the first table of a section."""
    text = RESULTS.read_text("utf-8")
    found = re.search(rf"^## {re.escape(section)}\n.*?(^\| engine .*?)(?:\n\n|\Z)", text, flags=re.M | re.S)
    assert found is not None, f"benchmarks/RESULTS.md has no table in {section!r}"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    places = [rows[0].index(name) for name in _COLUMNS if name in rows[0]]
    lines = [[row[at] for at in places] for row in rows if not set(row[0]) <= set("- ")]
    return "\n".join(f"| {' | '.join(line)} |" for line in [lines[0], ["---"] * len(places), *lines[1:]])


_INTRODUCTION = """\
Assay was built after reading how others measure code search, and it owes most of its ideas to them. This page says what
each of them measures and where Assay differs. Versions are those that were read; later ones may differ. If a sentence
here is unfair to your work, it is a bug: tell us."""

#: An effort, its questions and labels, its measures, and what we took from it.
_EFFORTS = (
    (
        "octocode's benchmark (0.22)",
        "127 questions to code and 127 to documentation of one repository at a fixed commit, with line ranges"
        " and two grades; 27 are marked hard",
        "Hit, MRR, nDCG, recall at lines",
        "labels on lines with grades, a matrix of variants over one index, a pinned commit",
    ),
    (
        "ColGREP (next-plaid 1.6)",
        "semble's annotations of 63 repositories",
        "nDCG@10 by file, a ledger of every signal that was tried",
        "the ledger: each change with its gain, kept or not, and a veto by repository",
    ),
    (
        "semble (0.7)",
        "annotations of 63 repositories in many languages, by category",
        "nDCG@10 by file, tokens to the first hit, recall by token budget",
        "files from many repositories, and that tokens are what results cost",
    ),
    (
        "Karta",
        "30 questions to Kafka in several phrasings, each with plausible wrong answers and the reason for the"
        " right one",
        "hits, rank gap to the wrong answer, percentile bootstrap",
        "adversaries, phrasings, written reasons, published uncertainty",
    ),
    (
        "sia-code (0.8)",
        "15 questions to its own code, and loaders for academic sets",
        "recall, precision, nDCG, MRR; chunkings side by side",
        "chunkings compared with everything else equal",
    ),
    (
        "ChunkHound",
        "generated files that hold one unique token each; the cAST paper's results on RepoEval and SWE-bench",
        "recall, nDCG, MRR, latency",
        "equal budgets of tokens when chunk sizes differ",
    ),
    (
        "Pyckle's guide",
        "30 to 50 questions from your own search history, one file each",
        "MRR@10",
        "questions from what people really searched for; results in version control",
    ),
    (
        "CodeSearchNet, CoSQA, RepoEval, ContextBench, SWE-bench style sets",
        "public sets with their own formats",
        "–",
        "read as gold sets (`assay gold convert`)",
    ),
)


def _efforts() -> str:
    """Show what each effort measures."""
    head = "| effort | questions and labels | measures | what we took from it |\n|---|---|---|---|"
    return "\n".join(["## What each measures\n", head, *(f"| {' | '.join(row)} |" for row in _EFFORTS)])


_DIFFERENT = """\
## Where Assay differs

- **A result claims one answer, once.** Where one result may count for several targets, or several results for one, nDCG
  can exceed 1 and a file returned whole finds everything. Here matching is one-to-one and nDCG never exceeds 1.
- **Size is paid for.** `SpanR` and `RecallAtTokens` stand beside line-level hits, because any overlap rewards long
  results.
- **A failure is the worst value.** Where queries that fail are left out of the mean, an engine that answers one
  question of a hundred can score 1.0.
- **Missing is censored, not dropped.** A rank gap over only those queries where both were found changes its sign when
  the others are counted.
- **Uncertainty is part of the number.** Intervals know that queries are nested in repositories; differences are paired;
  many comparisons are adjusted; "inconclusive" is a verdict. [The simulations](statistics.md) show what that is worth.
- **Gold sets are checked.** Paths that do not exist, answers that lie elsewhere, words that give the answer away:
  `assay gold lint` finds them in published sets too (below).
- **Alarms.** Two variants that rank alike to the last digit are told of: a published matrix had two such rows, because
  the feature under test was not connected.
- **Every engine by the same rules.** The same files in a fresh copy, the same k, the same processors, turns at every
  question."""

_MEASURED = """\
## What we measured

By `python -m benchmarks peers`: engines of several makers by their own adapters, on one machine with two cores, asked
in turns. nDCG@10 by file with its 95 % interval; the difference to Assay's own engine with its interval."""

_TABLES = {
    "Peers on the standard library": "155 questions by us to 2,279 files; claims reach to this repository only.",
    "Peers on five repositories": "98 questions of semble's annotations to aiohttp, axum, gin, gson and trpc; claims "
    "reach to these five only.",
}

_NOT_MEASURED = """\
**Read this before you quote a row.** No model hub could be reached from the machine: semble ran with weights that
were not trained on code, ChunkHound with Assay's own vectors by a loopback API, sia-code with BM25 alone. Their
quality here says nothing about their published quality; what the rows do show is that every adapter works, what each
costs, and how far word search goes. The questions to the standard library are ours. ChunkHound was left out there
because its index takes too long on that machine. One of the five repositories was replaced after a trial because
ChunkHound does not read Ruby."""

_LINTED = """\
## Published gold sets, linted

`assay gold lint` on 21 published sets (17 of semble's repositories, octocode's two, Karta's two) has 115 findings,
most of them hints. Two readers judged a sample: the first found 50 of 50 right, the second 20 of 20. Among them are
targets that do not exist at the pinned commit, targets that only re-export, and one whose lines no engine of
definitions can return. Such labels do not make a benchmark wrong; they put a ceiling on it, which is worth knowing."""

_SHORT = """\
## Where Assay falls short

- Its own engine is new, was tuned on part of semble's annotations (`benchmarks/RESULTS.md` shows what is left on
  unseen halves), and its model learned from 347 repositories, not from the web.
- Building an index is slower than semble's words alone, and some of the speed goals were missed; the table of goals in
  `benchmarks/RESULTS.md` says which.
- Gold by people is small everywhere, here too: 155 questions to one library cannot show a difference of 0.02.
- It measures finding, not what an agent does with what it found."""
