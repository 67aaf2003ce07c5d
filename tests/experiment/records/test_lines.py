"""Which files a run remembers: those that a target, an adversary or a result names, and no others."""

from assay.experiment.records.codec import hit_paths, join_lines, join_sets, named_lines, query_paths
from assay.types import (
    Adversary,
    CorpusSpec,
    EngineRun,
    GoldSet,
    Hit,
    Query,
    Ranking,
    Span,
    Suite,
    Target,
)

TRAP = Adversary(Target(Span("trap.py")), "near", "strong", "name")
QUERY = Query("q", {"human": "?"}, (Target(Span("t.py")),), adversaries=(TRAP,))
SUITE = Suite(tuple(GoldSet(name, CorpusSpec("path", "."), (QUERY,)) for name in ("g", "h")))
RANKING = Ranking("g", "q", "human", (Hit("b.py"), Hit("a.py"), Hit("b.py")), (1, 1, 1))


def test_paths_are_those_of_targets_adversaries_and_hits():
    assert query_paths([QUERY]) == {"t.py", "trap.py"}
    assert hit_paths([RANKING]) == {"a.py", "b.py"}


def test_tables_are_joined_in_the_order_of_paths_and_the_later_wins():
    assert list(join_lines([{"z": (1,)}, {"a": (2,)}]).items()) == [("a", (2,)), ("z", (1,))]
    assert join_sets({"g": {"a": (1,)}, "h": {}}, {"g": {"a": (2,)}, "i": {"x": (3,)}}) == {
        "g": {"a": (2,)},
        "h": {},
        "i": {"x": (3,)},
    }


def test_only_what_is_named_on_a_set_is_kept_for_it():
    table = dict.fromkeys(("a.py", "b.py", "t.py", "trap.py", "never.py"), (1,))
    kept = named_lines({"g": table, "h": table, "gone": table}, SUITE, [EngineRun("e", (RANKING,))])
    assert kept == {
        "g": dict.fromkeys(("a.py", "b.py", "t.py", "trap.py"), (1,)),
        "h": dict.fromkeys(("t.py", "trap.py"), (1,)),
    }
