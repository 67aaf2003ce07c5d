"""The gold set of a run as its file has it now: a file of that name that holds another set says nothing of the run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from assay.errors import AssayError
from assay.gold.loading import load_gold
from assay.gold.split.looks import log_looks
from assay.gold.split.parts import sealed_queries
from assay.types import Gold, Query, Suite

#: Of the queries that a run asked, how many its set must still have: sets that share a template of questions differ in
#: where the answers lie, while one that is tended keeps most of its queries.
SHARE = 0.5


def set_today(gold: Gold) -> Gold | None:
    """Read a set that a run asked as it is now; None where its file is not here, is no gold or holds another set."""
    if gold.source is None or not Path(gold.source).exists():
        return None
    try:
        golds = load_gold(gold.source, corpus=gold.corpus).golds
    except AssayError:  # a file that is being edited says nothing of the run
        return None
    return next((now for now in golds if now.name == gold.name and _is_same(now, gold)), None)


def _is_same(now: Gold, ran: Gold) -> bool:
    """Tell whether a set is the one that was asked, whatever changed in it since."""
    today = {query.id: query for query in now.queries}
    kept = sum(query.id in today and _asks_the_same(today[query.id], query) for query in ran.queries)
    return kept >= SHARE * len(ran.queries)


def _asks_the_same(now: Query, ran: Query) -> bool:
    """Tell whether a query is in the same words, with an answer in a file that had one; lines move with the code."""
    files, before = ({target.link or target.span.path for target in query.targets} for query in (now, ran))
    return all(now.forms.get(form) == text for form, text in ran.forms.items()) and not before.isdisjoint(files)


def log_looks_again(suite: Suite, command: str, engines: Sequence[str]) -> tuple[Path, ...]:
    """Write down a look at a run that was made before: in the log of the very sets it asked, and in no other."""
    here = [gold for gold in suite.golds if sealed_queries(gold) and set_today(gold) is not None]
    return log_looks(Suite(tuple(here)), command, engines)
