"""One query of a run, by its name or by a part of what it asks."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.errors import ConfigError, nearest
from assay.report.pages.texts import tame
from assay.types import Query, Run

#: How many queries are named where the one was not found: those that are read in one look.
_SHOWN = 5
#: Characters of a question that are enough to know it again.
_TEXT = 70


@dataclass(frozen=True, slots=True)
class Found:
    """A query, and the form whose text it was found by; none where it was found by its name."""

    gold: str
    query: Query
    form: str | None = None

    @property
    def name(self) -> str:
        """What it is called over all gold sets."""
        return f"{self.gold}/{self.query.id}"


def find_query(run: Run, wanted: str) -> Found:
    """Find a query by id, by gold/id, or by a part of its text that no other query has."""
    every = [Found(gold.name, query) for gold in run.suite.golds for query in gold.queries]
    for found in ([one for one in every if wanted in (one.query.id, one.name)], _holding(every, wanted)):
        if len(found) == 1:
            return found[0]
        if found:
            raise ConfigError(f"{len(found)} queries are meant by {_short(wanted)!r}", hint=_listed(found))
    raise ConfigError(f"no query {_short(wanted)!r} in this run", hint=_near(every, wanted))


def no_query(run: Run, folder: str) -> ConfigError:
    """Say that a run is named and no query of it, and which there are."""
    every = [Found(gold.name, query) for gold in run.suite.golds for query in gold.queries]
    return ConfigError(f"{folder} is a run; which query of it?", hint=_listed(every))


def _holding(every: Sequence[Found], wanted: str) -> list[Found]:
    """Find the queries whose text has some words in it, whatever their case; each once, by its first such form."""
    words = wanted.casefold().strip()
    found = []
    for one in every if words else ():
        forms = [form for form in one.query.ordered_forms if words in one.query.forms[form].casefold()]
        found += [Found(one.gold, one.query, forms[0])] if forms else []
    return found


def _listed(found: Sequence[Found]) -> str:
    """Name queries to choose from."""
    shown = "".join(f"\n    {_short(one.name)}: {_short(one.query.headline)}" for one in found[:_SHOWN])
    more = f"\n    and {len(found) - _SHOWN} more" if len(found) > _SHOWN else ""
    return f"name one of them:{shown}{more}"


def _near(every: Sequence[Found], wanted: str) -> str:
    """Name the queries that are most like what was asked for: by name, else by the words they share."""
    names = nearest(wanted, [one.query.id for one in every], _SHOWN)
    near = [one for name in names for one in every if one.query.id == name]
    words = set(re.findall(r"\w{3,}", wanted.casefold()))
    shared = {one.name: len(words & _words(one.query)) for one in every}
    near += sorted((one for one in every if shared[one.name]), key=lambda one: (-shared[one.name], one.name))
    unique = list({one.name: one for one in near}.values())
    return f"the nearest ones; {_listed(unique[:_SHOWN])}" if unique else _listed(every)


def _words(query: Query) -> set[str]:
    """List the words of a query in all its forms."""
    return {word for text in query.forms.values() for word in re.findall(r"\w{3,}", text.casefold())}


def _short(text: str) -> str:
    """Put a text on one line, enough of it to know it again; nothing in it steers a terminal."""
    flat = " ".join(tame(text[: 8 * _TEXT]).split())
    return flat if len(flat) <= _TEXT else f"{flat[: _TEXT - 1]}…"
