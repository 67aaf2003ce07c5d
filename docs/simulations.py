"""Run the simulations of the statistics at their stated counts, and write down what they gave.

`python -m docs.simulations`, or with the beginnings of some names, to run those alone. The settings are those of
`tests/stats/simulating.py`; the page is written from the figures by `python -m docs.generate`.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.stats.simulating import BATCH, SEED, SIMULATIONS, STATED

FILE = Path(__file__).parent / "how-we-know" / "simulations.json"


def read_figures() -> dict[str, dict[str, float]]:
    """Read what the simulations gave at their stated counts, by name and figure."""
    figures: dict[str, dict[str, float]] = json.loads(FILE.read_text("utf-8"))["figures"]
    return figures


def write_figures(chosen: tuple[str, ...] = ("",)) -> None:
    """Run the simulations whose names begin as chosen, and write all figures; those of the others stay."""
    figures = {name: given for name, given in read_figures().items() if not name.startswith(chosen)}
    names = [name for name in SIMULATIONS if name.startswith(chosen)]
    with ProcessPoolExecutor() as pool:
        for name, drawn in zip(names, pool.map(_draw, names), strict=True):
            figures[name] = drawn
            sys.stderr.write(f"{name}: {drawn}\n")
    figures = {name: figures[name] for name in SIMULATIONS if name in figures}
    settings = {"seed": SEED, "replications": STATED.replications, "resamples": STATED.resamples, "batch": BATCH}
    FILE.write_text(json.dumps({**settings, "figures": figures}, indent=1) + "\n", "utf-8")


def _draw(name: str) -> dict[str, float]:
    return {figure: round(value, 5) for figure, value in SIMULATIONS[name].draw(STATED).items()}


if __name__ == "__main__":
    write_figures(tuple(sys.argv[1:]) or ("",))
