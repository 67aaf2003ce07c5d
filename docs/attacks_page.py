"""The page "How we know: attacks": tries and failures of `make attacks`, and growth of indexing time per byte."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from docs.engines_page import MADE

FIGURES = Path(__file__).parent / "how-we-know" / "attacks.json"
_KINDS = ("tokens", "nesting", "line", "random")


def attacks() -> str:
    """Describe the attack suite with the figures of its last run."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    parts = ["# How we know: attacks", MADE, _INTRODUCTION, _attack_table(figures["attacks"])]
    growth = [_GROWTH.format(figures["growth commit"]), _growth_table(figures)] if figures["growth"] else []
    return "\n\n".join([*parts, *growth, _AGAIN]) + "\n"


def _attack_table(counts: dict[str, Any]) -> str:
    rows = [
        f"| {_cell(name)} | {tries:,} | {failed:,} | {commit} |" for name, (tries, failed, commit) in counts.items()
    ]
    tries, failed = (sum(row[column] for row in counts.values()) for column in (0, 1))
    rows.append(f"| **all** | **{tries:,}** | **{failed:,}** | |")
    return "\n".join(["| attack | tries | failures | commit |", "| --- | ---: | ---: | --- |", *rows])


def _growth_table(figures: dict[str, Any]) -> str:
    head = ["grammar", "inputs", "ordinary µs/byte", *_KINDS, "worst input"]
    rows = [head, ["---", *["---:"] * (2 + len(_KINDS)), "---"]]
    for name, row in figures["growth"].items():
        ratios = [f"{row['worst'][kind][0]:.1f}" if row["worst"][kind][1] else "–" for kind in _KINDS]
        worst = max(row["worst"].values())[1]
        rows.append([name, str(row["tries"]), f"{row['ordinary'] * 1e6:.2f}", *ratios, f"`` {_cell(worst)} ``"])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("`", "'").replace("<", "‹")


_INTRODUCTION = """\
`make attacks`, the last step of `make soak`, attacks Assay from outside: through commands, HTTP and stdio. An attack
passes if the process ends in time with a documented exit code and without a traceback, damages no file, writes nothing
outside its directories and leaves no child process. `kill -9` is sent at random instants. Each row names the commit it
was run at; every failure found earlier has a test."""

_GROWTH = """\
## Growth of indexing time

For every grammar, hostile inputs of 100 KB are analyzed: each token of the grammar repeated, deep nesting, files of
one line, random bytes and torn code. The figures are processor time per byte relative to ordinary code of the language;
the bound is 20, and measurements stop at 40. Files of more than 16 KB with many errors in their first 4 KB are indexed
as plain text. A file whose first 4 KB are ordinary code may still take up to the limit of time, 0.3 s and 8 µs per
byte. The commit is {}."""

_AGAIN = """\
## Measure again

<!-- not run: it takes hours; tests/attacks/conftest.py counts the attacks -->

```sh
ASSAY_ATTACKS=docs/how-we-know/attacks.json make attacks
make docs
```

`ASSAY_KILLS=10 ASSAY_SHARE=100` shortens the run: ten kills per command, and a hundredth of the inputs for growth."""
