"""Runs made of ranks: where each engine put the right answer of each query."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.types import CorpusSpec, EngineRun, GoldSet, Hit, Query, Ranking, Run, Span, Suite, Target, VariantInfo

K = 10
WRONG = tuple(Hit(f"wrong{place}.py") for place in range(1, K + 1))


def ranked(rank: int, right: str) -> tuple[Hit, ...]:
    """Ten results with the right one at a rank; 0 for nowhere."""
    return (*WRONG[: rank - 1], Hit(right), *WRONG[rank:]) if rank else WRONG


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
        GoldSet(
            f"gold{r}",
            CorpusSpec("path", f"repository{r}"),
            tuple(
                Query(f"q{i}", {"human": f"question {i}"}, (Target(Span(f"right{i}.py"), 2),))
                for i in range(count)
                if i % repositories == r
            ),
        )
        for r in range(repositories)
    )
    engines = tuple(_engine(name, given, repositories) for name, given in ranks.items())
    varied = {name: VariantInfo(base, table, "sweep") for name, table in (changes or {}).items()}
    engines = tuple(replace(engine, variation=varied.get(engine.name)) for engine in engines)
    lines = {gold.name: {f"right{i}.py": (10,) for i in range(count)} for gold in golds}
    return Run(Suite(golds), K, engines, lines=lines)


def _engine(name: str, ranks: Sequence[int], repositories: int) -> EngineRun:
    """Write down what one engine answered; each is set otherwise."""
    rankings = sorted(
        (
            Ranking(f"gold{i % repositories}", f"q{i}", "human", ranked(rank, f"right{i}.py"))
            for i, rank in enumerate(ranks)
        ),
        key=lambda r: int(r.gold.removeprefix("gold")),
    )
    return EngineRun(name, tuple(rankings), config={"name": name})
