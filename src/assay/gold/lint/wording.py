"""G4: queries nobody can tell apart, wrong forms without one wrong term, questions that give their answer away."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from assay.gold.leaks import ARTICLES, WORD, kept, leakage, replacements
from assay.gold.lint.owners import identifiers, is_symbol_query
from assay.gold.lint.rules import Leaks, LintFinding, LintRule
from assay.gold.lint.view import LintContext, headline
from assay.syntax.identifiers import split
from assay.types import Query, Target

SAME_WORDS = LintRule(
    "G401",
    "queries-alike",
    "warning",
    "Two queries say the same words and have different primary targets.",
    "No engine can answer both: tell them apart, or make one query of them.",
)
TWICE = LintRule(
    "G402",
    "query-twice",
    "warning",
    "Two queries say the same words and have the same primary targets.",
    "One question counts twice: keep one.",
)
NO_ERROR = LintRule(
    "G411",
    "wrong-term-missing",
    "warning",
    "A wrong_terminology form says what the human form says.",
    "It measures nothing: replace one term by a wrong one.",
)
ERRORS = LintRule(
    "G412",
    "wrong-terms-several",
    "warning",
    "A wrong_terminology form differs from the human form in several places, or is another question.",
    "What was lost cannot be put down to one wrong term: keep the human form but for one run of words.",
)
GIVEN = LintRule(
    "G421",
    "answer-given-away",
    "info",
    "A query that is no search for a symbol quotes the name of its target's file or symbol.",
    "Any search for names finds it. Say what the code does, or tag the query category: symbol.",
)
RULES = (SAME_WORDS, TWICE, NO_ERROR, ERRORS, GIVEN)

_TOKEN = re.compile(r"\w+")
#: Words without which a question stays the same; `not`, `without`, `before` and their like are no such words.
_IDLE = ARTICLES | {
    "how", "what", "where", "which", "does", "do", "is", "are", "be", "we", "i", "my", "you", "your", "there", "please",
}  # fmt: skip
#: Names that say nothing of a file.
_PLAIN = frozenset({"index", "main", "mod", "lib", "init", "utils", "util", "types", "common", "core", "base"})


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield what is wrong with the words."""
    yield from _alike(view)
    for query in view.gold.queries:
        yield from _wrong_term(view, query)
    for query in view.resolved():
        yield from _given(view, query)


def leaks(view: LintContext) -> Leaks:
    """Count the queries by how much of their answer they name."""
    shares = [leakage(headline(query), query.targets) for query in view.gold.queries]
    none, half = sum(share == 0 for share in shares), sum(share >= view.config.leak_half for share in shares)
    return Leaks(view.gold.name, none, len(shares) - none - half, half)


def _alike(view: LintContext) -> Iterator[LintFinding]:
    for earlier, query in duplicates(view.gold.queries):
        rule = TWICE if same_answers(earlier, query) else SAME_WORDS
        which = "the same primary targets" if rule is TWICE else "other primary targets"
        yield view.finding(rule, query, "", f"'{query.id}' says the same words as '{earlier.id}' and has {which}")


def duplicates(queries: Sequence[Query]) -> Iterator[tuple[Query, Query]]:
    """Yield every query that says the same words as an earlier one, with the first that says them."""
    first: dict[tuple[str, ...], Query] = {}
    for query in queries:
        said = _said(headline(query))
        earlier = first.setdefault(said, query) if said else query
        if earlier is not query:
            yield earlier, query


def same_answers(one: Query, other: Query) -> bool:
    """Tell whether two queries are about the same places."""
    return _primaries(one) == _primaries(other)


def _said(text: str) -> tuple[str, ...]:
    names = set(identifiers(text))
    words = WORD.findall(text)
    if len(words) == 1:
        return (text.strip(),)
    return tuple(word if word in names else word.lower() for word in words if word.lower() not in _IDLE)


def _primaries(query: Query) -> frozenset[str]:
    return frozenset(target.anchor for target in query.primaries)


def _wrong_term(view: LintContext, query: Query) -> Iterator[LintFinding]:
    human, wrong = query.forms.get("human"), query.forms.get("wrong_terminology")
    if human is None or wrong is None:
        return
    places = replacements(human, wrong)
    if places == 0:
        message = f"the wrong_terminology form of '{query.id}' has the same words as its human form"
        yield view.finding(NO_ERROR, query, "", message)
    elif places > 1:
        yield view.finding(ERRORS, query, "", f"the wrong_terminology form of '{query.id}' {_changed(human, wrong)}")


def _changed(human: str, wrong: str) -> str:
    same, every = kept(human, wrong)
    if 2 * same < every:
        return f"is another question: it keeps {same} of the {every} words of its human form"
    return f"differs from its human form by {replacements(human, wrong)} replacements"


def _given(view: LintContext, query: Query) -> Iterator[LintFinding]:
    text = headline(query)
    if is_symbol_query(query):
        return
    for target in query.primaries:
        if quoted := _quoted(text, target):
            message = f"'{query.id}' says '{quoted}', the name of its target {target.anchor}"
            yield view.finding(GIVEN, query, target.anchor, message)
            return


def _quoted(text: str, target: Target) -> str:
    names = _names(target)
    said = identifiers(text)
    if exact := next((name for name in names if name in said), ""):
        return exact
    file = PurePosixPath(target.span.path).stem
    words = split(file)
    return " ".join(words) if len(words) > 1 and _stands_in(words, text) else ""


def _names(target: Target) -> list[str]:
    symbol = [target.symbol.partition("~")[0].rpartition(".")[2]] if target.symbol else []
    file = PurePosixPath(target.span.path)
    own = [] if file.stem.lower().strip("_") in _PLAIN else [file.stem]
    return [*symbol, *own, file.name]


def _stands_in(words: Sequence[str], text: str) -> bool:
    said = [split(token) for token in _TOKEN.findall(text)]
    for at in range(len(said)):
        run: tuple[str, ...] = ()
        for token in said[at : at + len(words)]:
            run += token
            if run == tuple(words):
                return True
    return False
