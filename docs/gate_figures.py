"""Simulate `assay gate` at the stated counts, and write the figures for the page "How we know: the gate".

`python -m docs.gate_figures`, or with the beginnings of some names, to run those alone. The worlds are those of
`tests/stats/gate_worlds.py`; `python -m docs.generate` writes the page from the figures.
"""

from __future__ import annotations

import json
import sys
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from tests.stats.gate_worlds import BATCH, FLIPS, SEED, STATED, WORLDS, measure_gate

FILE = Path(__file__).parent / "how-we-know" / "gate.json"


def read_gate_figures() -> dict[str, dict[str, float]]:
    """Read the figures at the stated counts, by world."""
    if not FILE.exists():
        return {}
    figures: dict[str, dict[str, float]] = json.loads(FILE.read_text("utf-8"))["figures"]
    return figures


def write_gate_figures(chosen: tuple[str, ...] = ("",)) -> None:
    """Simulate the worlds whose names begin as chosen, and write all figures; those of the others stay."""
    figures = read_gate_figures()
    names = [name for name in WORLDS if name.startswith(chosen)]
    with ProcessPoolExecutor() as pool:
        for name, found in zip(names, pool.map(_measure, names), strict=True):
            figures[name] = found
            sys.stderr.write(f"{name}: {found}\n")
    settings = {"seed": SEED, "gates": STATED, "resamples": FLIPS, "batch": BATCH}
    ordered = {name: figures[name] for name in WORLDS if name in figures}
    FILE.write_text(json.dumps({**settings, "figures": ordered}, indent=1) + "\n", "utf-8")


def _measure(name: str) -> dict[str, float]:
    return {figure: round(value, 5) for figure, value in measure_gate(WORLDS[name], STATED).items()}


if __name__ == "__main__":
    write_gate_figures(tuple(sys.argv[1:]) or ("",))
