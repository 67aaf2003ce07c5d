"""Karta's questions on Kafka beside its published sweep E003b: `python -m benchmarks karta`."""

from __future__ import annotations

import csv
import io
import subprocess
from collections import defaultdict
from collections.abc import Mapping, Sequence

from assay.corpus import parse_spec
from assay.experiment.execution import run
from assay.gold import load_gold
from assay.scoring import score
from assay.stats import means
from benchmarks.pages import Section, Unavailable, mean_text, table
from benchmarks.quality.measuring import SHELF
from benchmarks.quality.sources import gold_folder, mirror_of
from benchmarks.quality.variants import Variant, make

MEASURES = ("Hit@1", "Hit@10", "RR@10", "Displacement@10")
KAFKA_COMMIT = "1eb7644349cb07139d6a3c1ad1986979647cac99"  # trunk of 2024-10-25, which has all labeled files
SWEEP = "experiments/E003b-core-sweep/sweep-queries.csv"


def main() -> Section:
    """Measure the built-in engine and read the published rows."""
    kafka = mirror_of("apache/kafka")
    if not kafka.is_dir():
        raise Unavailable("apache+kafka is not here: set ASSAY_BENCH_MIRRORS")
    corpus = parse_spec(f"git:{kafka}@{KAFKA_COMMIT}")
    (gold,) = load_gold(gold_folder() / "karta" / "gold-queries.yaml", corpus=corpus).golds
    variants = {"builtin": Variant("builtin"), "keywords": Variant("keywords", kind="keywords")}
    made = run({name: make(variant, "file", SHELF) for name, variant in variants.items()}, gold, k=10)
    cells = {(row.engine, row.measure): mean_text(row) for row in means(score(made, MEASURES))}
    ours = [(name, *(cells[name, measure] for measure in MEASURES)) for name in variants]
    return Section(table(("engine", *MEASURES), [*ours, *published()]))


def published() -> list[tuple[str, ...]]:
    """Average the rows of each configuration; displacement counts missing answers too."""
    mirror = mirror_of("Daeryss/karta-rag-map")
    shown = subprocess.run(
        ["git", "-C", str(mirror), "show", f"HEAD:{SWEEP}"], capture_output=True, text=True, check=False
    )
    rows: dict[str, list[Mapping[str, str]]] = defaultdict(list)
    for row in csv.DictReader(io.StringIO(shown.stdout)):
        rows[f"E003b {row['chunk_label']}"].append(row)
    return [(name, *_means(found)) for name, found in rows.items()]


def _means(rows: Sequence[Mapping[str, str]]) -> tuple[str, ...]:
    labeled = [row for row in rows if row["has_adversarial"] == "true"]
    columns = (
        [row["top1_hit"] == "true" for row in rows],
        [float(row["recall_at_10"]) for row in rows],
        [float(row["reciprocal_rank"]) for row in rows],
    )
    displaced = [row["adv_precision_pass"] == "false" for row in labeled]
    return (
        *(f"{sum(values) / len(values):.3f}" for values in columns),
        f"at most {sum(displaced) / len(displaced):.3f}",
    )
