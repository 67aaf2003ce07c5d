"""Generate the page on peers from benchmarks/RESULTS.md."""

from __future__ import annotations

import re
from pathlib import Path

from docs.engines_page import MADE

RESULTS = Path(__file__).parent.parent / "benchmarks" / "RESULTS.md"
#: Columns of benchmarks/RESULTS.md and their headers here.
_COLUMNS = {
    "engine": "engine",
    "adapter": "adapter",
    "version": "version",
    "nDCG@10": "nDCG@10 (95% CI)",
    "Hit@1": "Hit@1",
    "Hit@10": "Hit@10",
    "RR@10": "RR@10",
    "Displacement@10": "Displacement@10",
    "minus builtin": "difference (95% CI)",
    "cold index s": "index (s)",
    "warm query ms": "median query (ms)",
    "memory MB": "peak memory (MB)",
}
#: Rows with the rankings of another row; benchmarks/RESULTS.md has them.
_SAME = ("builtin by CLI", "builtin by HTTP", "builtin by MCP", "semble-cli", "semble-mcp")


def peers() -> str:
    """Compare with peers; the figures are those of the benchmarks."""
    parts = ["# Benchmarks and peers", MADE, _MEASURED]
    for title, text in _TABLES.items():
        parts += [f"### {title}", text, _table(title)]
    karta = _KARTA.format(table=_table("Karta's sweep"))
    return "\n\n".join([*parts, _NOT_MEASURED, _PROBE, karta, _EFFORTS, _LINTED, _SHORT]) + "\n"


def _table(section: str) -> str:
    """Take some columns of the first table of a section."""
    text = RESULTS.read_text("utf-8")
    found = re.search(rf"^## {re.escape(section)}\n.*?(^\| engine .*?)(?:\n\n|\Z)", text, flags=re.M | re.S)
    assert found is not None, f"benchmarks/RESULTS.md has no table in {section!r}"
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in found[1].splitlines()]
    places = [rows[0].index(name) for name in _COLUMNS if name in rows[0]]
    lines = [
        [_cell(row[at]) for at in places]
        for row in rows[1:]
        if not set(row[0]) <= set("- ") and row[0].partition(" (")[0] not in _SAME
    ]
    head = [_COLUMNS[rows[0][at]] for at in places]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, ["---"] * len(places), *lines])


def _cell(text: str) -> str:
    """Write an interval as elsewhere in the documentation."""
    text = re.sub(r"\[(\S+?), (\S+?)\]", lambda ends: f"({float(ends[1]):.2f} to {float(ends[2]):.2f})", text)
    return (
        text.replace("-0.", "−0.")
        .replace("the same everywhere", "identical")
        .replace("the floor", "floor")
        .replace("the ceiling", "ceiling")
    )


_MEASURED = """\
`python -m benchmarks peers` runs search tools through Assay's adapters on one machine with two cores, with
interleaved queries. nDCG@10 is by file, and differences are from `builtin`. The figures are of 2026-11-19, on a busy
machine; rows with a date are of that day, with an earlier engine of Assay, and have no difference.

!!! warning "Substituted models"

    The machine had no access to a model hub. **semble** ran with weights that were not trained on code (wordllama's),
    **ChunkHound** with Assay's static vectors, **sia-code** with BM25 only. These rows do not represent their published
    quality; compare their time and memory.

## Tools side by side"""

_TABLES = {
    "Peers on the standard library": "155 queries by Assay's authors, 2,279 files. Scope: this repository only. "
    "ChunkHound was left out, because indexing these files takes too long.",
    "Peers on five repositories": "98 queries of semble's annotations (aiohttp, axum, gin, gson, trpc). Scope: these "
    "repositories only. One repository was replaced because ChunkHound does not read Ruby.",
}

_NOT_MEASURED = """\
On the standard library, whose labels are lines, `builtin` ranks spans; when it ranks files, nDCG@10 by file is 0.623.
`benchmarks/RESULTS.md` has all figures, also those of other adapters with the same rankings."""

_PROBE = """\
### probe

Measured separately on 2026-11-19, with the engine of that day: `probe-code 0.6.0` (npm `@probelabs/probe` 0.6.0-rc325)
with its preset, on the same 98 queries of five repositories. Scope: these repositories only. Each repository was a run
of its own; the table has the means over all queries, by file, and the differences from `builtin` by `assay compare` of
the values per query, clustered by repository. The machine was busy, so no times are given.

| engine | nDCG@10 | difference (95% CI) | RR@10 | Hit@5 | R@10 | aiohttp | axum | gin | gson | trpc |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| builtin | 0.872 |  | 0.866 | 0.949 | 0.964 | 0.888 | 0.822 | 0.871 | 0.893 | 0.887 |
| probe | 0.614 | −0.258 (−0.34 to −0.18) | 0.626 | 0.724 | 0.696 | 0.621 | 0.466 | 0.771 | 0.519 | 0.703 |
| keywords | 0.550 | −0.322 (−0.38 to −0.26) | 0.485 | 0.776 | 0.842 | 0.510 | 0.627 | 0.505 | 0.492 | 0.630 |

The last five columns are nDCG@10 of one repository each (17 to 21 queries). Between probe and `keywords`, the
difference is +0.063 (−0.02 to 0.14). probe's results are of 3.7 to 4.9 different files per query, those of the other
two of 8.9 to 10, so probe has fewer chances to find a file. No query failed.

```text
assay run --gold gin/ --engine probe --engine builtin --engine keywords --no-references --no-times --jobs 1
```"""

_KARTA = """\
## Karta's sweep

The 30 queries of Karta's `gold-queries.yaml` (v0.1) on Kafka, with the four rows of its published sweep E003b
(`nomic-embed-text`, characters per chunk / overlap):

{table}

The corpora differ slightly: the published rows used Kafka 4.0.0, Assay's rows used trunk of 2024-10-25 (`1eb7644`),
which has all labeled files. With 30 queries, the four published rows cannot be distinguished. The published
displacement is an upper bound, because its column also counts queries whose file was not found. Displacement is the
weakness of `builtin`: on 41% of the queries with adversaries, one ranks above every target.

Scores of whole files cost `builtin` two of these queries (.40, .93 and .55 with `without=["whole"]`) and gain .076 on
the standard library. `whole.k1=1.2` instead of 4 gives .47, .87 and .59 here. The default is still 4, because a setting
chosen among five on halves of the other gold sets gains nothing on the other halves (−.001).

`python -m benchmarks karta` reproduces Assay's rows. The same with a clone of Kafka:

```text
assay run --gold gold-queries.yaml --corpus git:kafka@1eb7644349cb07139d6a3c1ad1986979647cac99 --engine builtin \\
    --measure nDCG@10 --measure Hit@1 --measure Hit@10 --measure RR@10 --measure Displacement@10
assay compare experiments/E003b-core-sweep/sweep-queries.csv --primary top1_hit
```"""

_EFFORTS = """\
## What each effort measures

The versions are those that were read; later ones may differ. [Measures of other tools](measures.md) compares the
definitions.

| effort | queries and labels | measures | adopted by Assay |
|---|---|---|---|
| octocode (0.22) | 127 code and 127 documentation queries, one commit, graded line ranges | Hit, MRR, nDCG, recall by lines | graded lines, variants over one index |
| ColGREP (next-plaid 1.6) | semble's annotations of 63 repositories | nDCG@10 by file | the ledger with a veto per repository |
| semble (0.7) | annotations of 63 repositories by category | nDCG@10 by file, tokens to the first hit | token budgets, many repositories |
| Karta | 30 queries on Kafka in several phrasings, with plausible wrong files | hits, rank gap, percentile bootstrap | adversaries, phrasings |
| sia-code (0.8) | 15 queries on its own code; academic sets | recall, precision, nDCG, MRR | chunkings compared, all else equal |
| ChunkHound | generated files with unique tokens; the cAST paper | recall, nDCG, MRR, latency | equal token budgets |
| Pyckle's guide | 30 to 50 queries from search history, one file each | MRR@10 | queries from search logs |"""  # noqa: E501

_LINTED = """\
## Published gold sets, linted

`assay gold lint` reports 115 findings, mostly hints, in 21 published sets (17 of semble's repositories, octocode's
two, Karta's two). Two readers checked samples: 50 of 50 and 20 of 20 were correct. They include targets that do
not exist at the pinned commit and targets that only re-export a name. Such labels lower the highest possible score."""

_SHORT = """\
## Limitations of Assay

- The engine was tuned on part of semble's annotations (`benchmarks/RESULTS.md` has the unseen halves), and its model
  was trained on 347 repositories only.
- Indexing is slower than semble's lexical index.
- The gold sets are small: 155 queries on one library cannot detect a difference of 0.02.
- Assay measures retrieval, not what an agent does with the results."""
