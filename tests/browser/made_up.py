"""A run that is made up, so that nothing comes out even: its ranks are known before any page is made of them.

Repositories are of unequal size, a rival helps on one part of the queries and hurts on the other, an engine fails on
some, and there is something for every list of what went wrong.
"""

from __future__ import annotations

from assay.types import (
    Adversary,
    CorpusInfo,
    CorpusSpec,
    EngineRun,
    GoldSet,
    Hit,
    Query,
    Ranking,
    Resources,
    Run,
    RunMetadata,
    Span,
    Status,
    Suite,
    Target,
)  # fmt: skip

SIZES = {"large": 30, "small": 6}
BASE, RIVAL, WEAK = "base", "rival", "we|ak"
#: Milliseconds of a first and of a later query; the dear one is better, so both are on the front.
TIMES = {BASE: (900, 40), RIVAL: (300, 90), WEAK: (500, 200)}
TOKENS = {BASE: 30, RIVAL: 10, WEAK: 20}
FAILED = 5  # queries of WEAK, the first ones
MEASURES = {"RR@10": True, "TokensToHit": False}


def rank_of(engine: str, gold: str, number: int, form: str) -> int:
    """Say where an engine has the answer: the rival on top where it helps, else far down."""
    if engine == BASE:
        return 2 + (number % 7 == 0) + (form == "keyword") + 3 * (gold == "small")
    if engine == RIVAL:
        return (1 if helped(number) else 6) + (number % 5 == 0)
    return 8 + (form == "keyword")


def helped(number: int) -> bool:
    """Say whether a query is of the part on which the rival is the better one."""
    return number % 3 != 2


def trapped(engine: str, number: int) -> bool:
    """Say whether an engine puts the adversary on top."""
    return engine == BASE or (engine == RIVAL and number % 2 == 1) or (engine == WEAK and number % 5 == 0)


def leaks(number: int) -> bool:
    """Say whether a query names its answer."""
    return number % 4 == 0


def units() -> list[tuple[str, int]]:
    """List the headline queries."""
    return [(gold, number) for gold, many in SIZES.items() for number in range(many)]


def target_path(number: int) -> str:
    """Return the path of a query's target; it has no digits, which would be words of the query."""
    return f"right/{'xyz'[number % 3]}{'abcdefghij'[number // 3]}.py"


def failed(engine: str, gold: str, number: int) -> bool:
    """Say whether a query got no answer."""
    return engine == WEAK and gold == "large" and number < FAILED


def made_run() -> Run:
    """Make the run."""
    golds = tuple(GoldSet(name, CorpusSpec("path", name), tuple(map(_query, range(n)))) for name, n in SIZES.items())
    facts = {name: CorpusInfo(f"repository {name}", None, name, 3, problems=(f"{name} is odd",)) for name in SIZES}
    rights = (target_path(number) for number in range(max(SIZES.values())))
    paths = (*rights, "trap.py", *(f"other{place}.py" for place in range(1, 10)))
    lines = {name: dict.fromkeys(paths, (40,) * 9) for name in SIZES}
    header = RunMetadata(corpora=facts, skipped={"absent": "no licence"})
    return Run(Suite(golds), 10, tuple(map(_engine, TIMES)), lines, header=header)


def _query(number: int) -> Query:
    """Write one query in two forms."""
    asked = "what is right" if leaks(number) else "what is wanted"
    forms = {"human": f"{asked}, {number}?", "keyword": f"wanted {number}"}
    trap = Adversary(Target(Span("trap.py")), "sibling", "strong", "looks alike")
    tags = {"part": "helped" if helped(number) else "hurt"}
    return Query(f"q{number}", forms, (Target(Span(target_path(number), 1, 4), 2),), (trap,), tags=tags)


def _engine(name: str) -> EngineRun:
    """Write down what one engine answered, what it took and what it said."""
    asked = [(gold, n, form) for gold, many in SIZES.items() for n in range(many) for form in ("human", "keyword")]
    return EngineRun(
        name,
        tuple(_ranking(name, *one) for one in asked),
        resources={gold: Resources(peak_bytes=50_000_000) for gold in SIZES},
        stderr={"large": f"{name} muttered"} if name == WEAK else {},
    )


def _ranking(engine: str, gold: str, number: int, form: str) -> Ranking:
    """Write one answer; the first query of a gold set is the slow one."""
    seconds = TIMES[engine][number > 0 or form != "human"] / 1000
    if failed(engine, gold, number):
        return Ranking(gold, f"q{number}", form, (), (), Status.ERROR, seconds, "gone")
    hits = [Hit(f"other{place}.py", 1, 1) for place in range(1, 10)]
    hits.insert(rank_of(engine, gold, number, form) - 1, Hit(target_path(number), 1, 4))
    if trapped(engine, number):
        hits[0] = hits[0] if hits[0].path.startswith("right/") else Hit("trap.py", 1, 2)
    notes = ("2 of 10 hits name no file: /tmp/x",) if engine == WEAK else ()
    return Ranking(gold, f"q{number}", form, tuple(hits), (TOKENS[engine],) * len(hits), seconds=seconds, notes=notes)
