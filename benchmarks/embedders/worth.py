"""What is a sentence encoder worth where the static model is? The standard library's questions, by lines."""

from __future__ import annotations

from typing import Final

from assay.stats import means
from assay.types import GoldSet, Scores
from benchmarks.embedders.models import minilm
from benchmarks.pages import difference_text, mean_text, table
from benchmarks.quality.measuring import ask, differences
from benchmarks.quality.model import DEFAULT, LEXICAL, MEANING, VECTOR, WORDS, engine
from benchmarks.quality.pool import LINES, STDLIB, Source, by_module, never

MINILM: Final = f"{DEFAULT}, with MiniLM's vectors"
MINILM_ALONE: Final = f"{MEANING}, with MiniLM's vectors"
#: Who is compared with whom.
PAIRS: Final = (
    (DEFAULT, LEXICAL),
    (MINILM, LEXICAL),
    (MINILM, DEFAULT),
    (MINILM_ALONE, MEANING),
)


def worth(gold: GoldSet) -> Scores:
    """Ask every question, with words alone, with each model beside them, and with each model alone."""
    network = {"dense.model": f"onnx:{minilm()}"}
    variants = (
        engine(LEXICAL, WORDS),
        engine(DEFAULT, {}),
        engine(MINILM, network),
        engine(MEANING, VECTOR),
        engine(MINILM_ALONE, {**VECTOR, **network}),
    )
    return by_module(ask(gold, variants, LINES), [Source(STDLIB, gold, gold.name, LINES, never)])


def worth_rows(scores: Scores) -> tuple[str, ...]:
    """Write the tables."""
    (measure,) = scores.measures
    found = {row.engine: row for row in means(scores)}
    engines = table(("engine", measure), [(name, mean_text(found[name])) for name in scores.engines])
    compared = []
    for one, other in PAIRS:
        row = differences(scores, [one], other)[one, measure]
        compared.append((one, other, difference_text(row), f"{row.wins}, {row.ties}, {row.losses}"))
    return (*engines, *table(("engine", "minus", "difference", "better, same, worse"), compared))
