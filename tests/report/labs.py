"""Runs made of ranks: where each engine put the right answer of each query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache

from assay.types import CorpusSpec, EngineRun, Gold, Hit, Query, Ranking, Run, Span, Suite, Target, Variation

K = 10


@cache
def ranked(rank: int) -> tuple[Hit, ...]:
    """Ten results with the right one at a rank; 0 for nowhere."""
    wrong = [Hit(f"wrong{place}.py") for place in range(1, K + 1)]
    if rank:
        wrong[rank - 1] = Hit("right.py")
    return tuple(wrong)


def lab(
    ranks: Mapping[str, Sequence[int]],
    changes: Mapping[str, Mapping[str, object]] | None = None,
    *,
    base: str = "base",
    repositories: int = 1,
) -> Run:
    """Make a run of engines from the ranks they gave; `changes` says which are variants of the base, and how."""
    count = len(next(iter(ranks.values())))
    golds = tuple(
        Gold(
            f"gold{r}",
            CorpusSpec("path", f"repository{r}"),
            tuple(
                Query(f"q{i}", {"human": f"question {i}"}, (Target(Span("right.py"), 2),))
                for i in range(count)
                if i % repositories == r
            ),
        )
        for r in range(repositories)
    )
    engines = tuple(_engine(name, given, repositories) for name, given in ranks.items())
    varied = {name: Variation(base, table, "sweep") for name, table in (changes or {}).items()}
    engines = tuple(replace(engine, variation=varied.get(engine.name)) for engine in engines)
    lines = {gold.name: {"right.py": (10,)} for gold in golds}
    return Run(Suite(golds), K, engines, lines=lines)


def _engine(name: str, ranks: Sequence[int], repositories: int) -> EngineRun:
    """Write down what one engine answered; each is set otherwise."""
    rankings = sorted(
        (Ranking(f"gold{i % repositories}", f"q{i}", "human", ranked(rank)) for i, rank in enumerate(ranks)),
        key=lambda r: int(r.gold.removeprefix("gold")),
    )
    return EngineRun(name, tuple(rankings), config={"name": name})
