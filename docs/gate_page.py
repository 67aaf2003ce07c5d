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
How often does `assay gate` fail although nothing got worse, and how often does it find a loss? Both were simulated with
the functions that the command uses, at the default level (0.05) and margin (0.02). Queries are of one repository and
their targets are found at ranks that give a mean nDCG@10 of 0.57.

- A **deterministic** engine gives the same rankings in every run. A change without a loss moves {REDRAWN:.0%} of the
  queries to a rank drawn at random; so does a change with a loss.
- A **noisy** engine draws {REDRAWN:.0%} of its rankings anew in every run, so that a run of 100 queries has a standard
  deviation of 0.018. Without a loss nothing changes but that.
- A **loss** of 0.05 or 0.1 drops targets of randomly chosen queries out of the results.
- A **lucky baseline** is the best of {LUCKY_OF} baselines of an engine that did not change: one in {LUCKY_OF} teams has
  one like it in version control.

Each figure is a share of {STATED:,} simulated gates. Its standard error is at most 0.011, and 0.003 for shares of 2 %.
The test suite checks every row with {SMALL} gates, `make soak` with all of them. The figures are also a
[JSON file](gate.json)."""


def _table() -> str:
    figures = read_gate_figures()
    head = ["engine", "queries", "runs of the baseline", "runs of the gate", *_COLUMNS]
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
- **Single runs of a noisy engine.** Over all baselines, false alarms are as rare as the level says (2.5 % in the
  direction of a loss). Against a lucky baseline they are not, and nothing in two single runs shows that it is lucky.
- **Repeats** show the noise. A gate that knows it fails only when the loss exceeds what a lucky baseline explains: the
  baseline is taken at the end of its 95 % interval, and the new runs must be worse than that by a one-sided test.
  Control charts with estimated limits are set up the same way (Albers & Kallenberg 2005). With repeats on one side
  only, few runs estimate the variance between runs, and small losses are found less often than with single runs.
  Repeats on both sides make up for it.
- **30 queries** find only large losses. A loss of 0.05 is found most of the time with 300 queries, and more often
  than not with 100 and repeats on both sides.
- **Inconclusive** is mostly the outcome without a loss: to rule out a loss of more than the margin takes more
  queries than to find a large one. It passes with a warning unless `--strict` is given.
- **What is not shown.** The noise here is that of single queries. Where all queries of a run share their luck, only the
  means of whole runs show it; few runs estimate it badly, and a lucky baseline raises more false alarms than above.
  [The statistics](statistics.md) has the rates over all baselines."""

_AGAIN = """\
## Run it yourself

<!-- not run: it takes half an hour; tests/stats/test_gate_worlds.py runs every row at a smaller count -->

```sh
python -m docs.gate_figures     # in a checkout: every row at the full count
make docs                       # writes this page from the figures
```"""
