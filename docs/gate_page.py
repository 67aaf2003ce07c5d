"""The page "How we know: the gate": false alarms and detection of `assay gate`, simulated."""

from __future__ import annotations

from docs.engines_page import MADE
from docs.gate_figures import read_gate_figures
from tests.stats.gate_worlds import LUCKY_OF, REDRAWN, SMALL, STATED, WORLDS, GateWorld

_COLUMNS = (
    "false alarms",
    "false alarms, lucky baseline",
    "inconclusive",
    "loss of 0.05 found",
    "loss of 0.1 found",
)


def gate() -> str:
    """Describe the simulation of the gate with its figures."""
    return "\n\n".join(["# How we know: the gate", MADE, _introduction(), _table(), _READING, _AGAIN]) + "\n"


def _introduction() -> str:
    return f"""\
Simulations show how often `assay gate` fails although nothing got worse, and how often it detects a loss. They use the
functions of the command at the default level (0.05) and margin (0.02), on queries of one repository with a mean
nDCG@10 of 0.57.

- A **deterministic** engine returns the same rankings in every run; a change moves {REDRAWN:.0%} of the queries to
  random ranks.
- A **noisy** engine has random ranks for {REDRAWN:.0%} of the queries in every run; the standard deviation of the
  mean of 100 queries is 0.018.
- A **loss** of 0.05 or 0.1 removes targets of random queries from the results.
- A **lucky baseline** is the best of {LUCKY_OF} baselines of an unchanged engine: one in {LUCKY_OF} teams has one.

Each figure is a proportion of {STATED:,} simulated gates, with a standard error of at most 0.011 (0.003 near 2%). The
test suite checks every row with {SMALL} gates, `make soak` with all. The figures are also in [gate.json](gate.json)."""


def _table() -> str:
    figures = read_gate_figures()
    head = ["engine", "queries", "baseline runs", "gate runs", *_COLUMNS]
    rows = [
        [*_described(world), *(_share(figures[name].get(one)) for one in _COLUMNS)] for name, world in WORLDS.items()
    ]
    marks = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(line)} |" for line in [head, marks, *rows])


def _described(world: GateWorld) -> list[str]:
    engine = "noisy" if world.is_noisy else "deterministic"
    return [engine, str(world.queries), *map(str, world.runs)]


def _share(value: float | None) -> str:
    return "–" if value is None else f"{value:.1%}"


_READING = """\
- **Single runs of a noisy engine** have few false alarms over all baselines, but 20% against a lucky one, which two
  single runs cannot reveal.
- **Repeats** estimate the noise. The gate then fails only if the new runs are significantly worse than the lower end
  of the baseline's 95% interval, as in control charts with estimated limits (Albers & Kallenberg 2005). Repeats on one
  side find fewer small losses than single runs do; repeats on both sides find more.
- **30 queries** detect only large losses. A loss of 0.05 needs 300 queries, or 100 and repeats on both sides.
- **Inconclusive** is the usual outcome without a loss, because excluding a small loss takes more queries than detecting
  a large one. It passes with a warning unless `--strict` is given.
- **Limits**: the simulated noise is independent between queries. If whole runs vary, a few runs estimate the noise
  poorly, and a lucky baseline causes more false alarms than shown here ([rates over all
  baselines](statistics.md#variance-between-runs))."""

_AGAIN = """\
## Reproduce

<!-- not run: it takes half an hour; tests/stats/test_gate_worlds.py runs every row at a smaller count -->

```sh
python -m docs.gate_figures     # in a checkout: every row at the full count
make docs                       # writes this page
```"""
