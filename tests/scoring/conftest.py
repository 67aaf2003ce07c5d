"""Shared builders, session-scoped for property tests."""

from __future__ import annotations

import pytest

from assay.scoring import score
from assay.types import (
    Adversary,
    CorpusSpec,
    EngineRun,
    GoldSet,
    Hit,
    Query,
    Ranking,
    Run,
    Span,
    Status,
    Suite,
    Target,
)


def span(text: str) -> Span:
    """`a` is a whole file, `a:3-5` lines of it."""
    path, _, lines = text.partition(":")
    start, _, end = lines.partition("-")
    return Span(path, int(start), int(end)) if lines else Span(path)


@pytest.fixture(scope="session")
def hits():
    """`hits("a:1-10", "b")`: results in rank order."""
    return lambda *texts: tuple(Hit(s.path, s.start, s.end) for s in map(span, texts))


@pytest.fixture(scope="session")
def targets():
    """`targets("a:1-10", "b=1")`: what is right, with its grade."""

    def build(*texts):
        parts = (text.partition("=") for text in texts)
        return tuple(Target(span(where), int(grade or 2)) for where, _, grade in parts)

    return build


@pytest.fixture(scope="session")
def adversaries(targets):
    """`adversaries("a:1-10", "b", relationship="sibling")`: plausible wrong answers."""

    def build(*texts, relationship="sibling", strength="strong"):
        return tuple(Adversary(target, relationship, strength, "looks alike") for target in targets(*texts))

    return build


@pytest.fixture(scope="session")
def make_run():
    """Make a run of one gold set: `answers` is engine -> query id -> form -> hits, or a Status for a failure."""

    def build(queries, answers, k=10, lines=None, oversample=1):
        gold = GoldSet("gold", CorpusSpec("path", "."), tuple(queries))
        engines = tuple(
            EngineRun(
                name,
                tuple(
                    Ranking("gold", query, form, status=given)
                    if isinstance(given, Status)
                    else Ranking("gold", query, form, tuple(given))
                    for query, forms in by_query.items()
                    for form, given in forms.items()
                ),
                oversample=oversample,
            )
            for name, by_query in answers.items()
        )
        return Run(Suite((gold,)), k, engines, {} if lines is None else {"gold": lines})

    return build


@pytest.fixture(scope="session")
def value(make_run):
    """Score one ranking of one query."""

    def build(measure, found, right, rivals=(), k=10, lines=None, oversample=1):
        query = Query("q", {"human": "?"}, tuple(right), tuple(rivals))
        run = make_run([query], {"engine": {"q": {"human": found}}}, k, lines, oversample)
        return float(score(run, [measure]).values[0, 0, 0])

    return build
