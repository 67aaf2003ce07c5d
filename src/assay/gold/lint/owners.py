"""G2: queries that name something whose definition is not labelled."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.gold.lint.asking import asked_symbol, identifiers, is_symbol_query, subject
from assay.gold.lint.definitions import Home, adds_to, defines, homes, mentions
from assay.gold.lint.records import Finding, Rule
from assay.gold.lint.view import Shelf, View, headline
from assay.syntax.identifiers import split
from assay.types import Query

ELSEWHERE = Rule(
    "G201",
    "defined-elsewhere",
    "warning",
    "A query names an identifier that the corpus defines, but in none of the files that are labelled.",
    "An engine that finds the definition is marked wrong. Label it, beside or in place of what is labelled.",
)
OUTSIDE = Rule(
    "G202",
    "defined-outside",
    "warning",
    "A query names an identifier that only files outside the corpus define; what is labelled does not define it.",
    "Nobody can find the definition: widen the include globs, or ask for something that is there.",
)
SEVERAL = Rule(
    "G204",
    "several-definitions",
    "info",
    "A query asks for a name that several files define, of which only some are labelled.",
    "Each of them is an answer: label them all, or say in the query which one is meant.",
)
RULES = (ELSEWHERE, OUTSIDE, SEVERAL)


@dataclass(frozen=True, slots=True)
class _Asked:
    """The name that a query asks for, and the files that are labelled."""

    query: Query
    name: str
    symbol: bool  # the name is all that is asked
    paths: tuple[str, ...]


def check(view: View) -> Iterator[Finding]:
    """Yield names whose definition is not labelled."""
    topics = _topics(view)
    asked = [
        one for query in view.resolved() if (one := _asked(view, query)) and (one.symbol or one.name not in topics)
    ]
    names = sorted({one.name for one in asked})
    if not names:
        return
    inside = _homes(view, view.shelf, names, ())
    homeless = {one.query.id: one for one in asked if not _at_home(view, one)}
    nowhere = sorted({one.name for one in homeless.values() if not inside[one.name] and _mentioned(view, one)})
    outside = _outside(view, nowhere)
    for one in asked:
        if one.query.id not in homeless:
            yield from _several(view, one, inside)
        else:
            yield from _homeless(view, one, inside, outside)


def _topics(view: View) -> frozenset[str]:
    """Give the names that are what the program is about, not what is asked: in many queries, or of a folder."""
    prose = [headline(query) for query in view.gold.queries if not is_symbol_query(query)]
    said = Counter(name for text in prose for name in identifiers(text))
    common = {name for name, count in said.items() if count >= view.config.topic_queries}
    folders = {part.casefold() for path in view.files for part in path.split("/")[:-1]}
    return frozenset(common | {name for name in said if "".join(split(name)) in folders})


def _asked(view: View, query: Query) -> _Asked | None:
    """Take the name that a query asks for, if all that is labelled is code that can be parsed."""
    symbol = asked_symbol(query)
    name = symbol or subject(headline(query))
    paths = tuple(dict.fromkeys(target.span.path for target in query.targets))
    if not name or not all(view.is_code(path) and view.outline(path) is not None for path in paths):
        return None
    return _Asked(query, name, bool(symbol), paths)


def _at_home(view: View, one: _Asked) -> bool:
    """Tell whether the name of a query may be defined in a labelled file; where more is asked, a part of it will do."""
    for path in one.paths:
        outline, text = view.outline(path), view.text(path)
        if outline is None or defines(outline, text, path, one.name, exact=one.symbol):
            return True
        if not one.symbol and adds_to(outline, text, one.name):
            return True
    return False


def _mentioned(view: View, one: _Asked) -> bool:
    """Tell whether a labelled file holds the name."""
    return any(mentions(view.text(path), one.name) for path in one.paths)


def _homes(view: View, shelf: Shelf, names: Sequence[str], skip: Sequence[str]) -> dict[str, tuple[Home, ...]]:
    """Find the homes of names, what only surrounds the code left out."""
    found = homes(shelf, names, skip)
    return {name: tuple(home for home in places if not view.aside(home.path)) for name, places in found.items()}


def _outside(view: View, names: Sequence[str]) -> dict[str, tuple[Home, ...]]:
    """Find the homes of names in the files that the globs of the corpus leave out."""
    if not names or view.tools.whole is None or not (view.corpus.spec.include or view.corpus.spec.exclude):
        return {}
    whole = view.tools.whole()
    return {} if whole is None else _homes(view, Shelf(whole), names, list(view.files))


def _homeless(
    view: View, one: _Asked, inside: dict[str, tuple[Home, ...]], outside: dict[str, tuple[Home, ...]]
) -> Iterator[Finding]:
    """Yield that a name is at home elsewhere."""
    for rule, found in ((ELSEWHERE, inside.get(one.name, ())), (OUTSIDE, outside.get(one.name, ()))):
        if found and len({home.path for home in found}) <= view.config.owners:
            yield _finding(view, rule, one, found)
            return


def _finding(view: View, rule: Rule, one: _Asked, found: Sequence[Home]) -> Finding:
    """Say where a name is defined, and that no label is there."""
    where = ", ".join(map(str, found[: view.config.listed]))
    labelled = one.paths[0] if len(one.paths) == 1 else f"none of what is labelled ({', '.join(one.paths)})"
    outside = ", outside the corpus" if rule is OUTSIDE else ""
    does = "defines" if len(one.paths) > 1 else "does not define"
    message = f"'{one.name}' is defined in {where}{outside}; {labelled} {does} it{_signed(view, one)}"
    hint = f"label {found[0].path}" if rule is ELSEWHERE else "widen the include globs, or ask for what is there"
    return view.finding(rule, one.query, one.query.targets[0].anchor, message, hint)


def _signed(view: View, one: _Asked) -> str:
    """Name the definition that differs from a name by a sign only, if a labelled file has one."""
    for path in one.paths:
        outline = view.outline(path)
        for known in outline.definitions if outline else ():
            if known.name != one.name and known.name.strip("$_@") == one.name:
                return f", only '{known.name}'"
    return ""


def _several(view: View, one: _Asked, inside: dict[str, tuple[Home, ...]]) -> Iterator[Finding]:
    """Yield the other homes of a name that is all that was asked."""
    if not one.symbol:
        return
    name = one.name
    adversaries = {adversary.target.span.path for adversary in one.query.adversaries}
    labelled = [home for home in inside[name] if home.path in one.paths]
    others = [home for home in inside[name] if home.path not in adversaries.union(one.paths)]
    if others and labelled:
        where = ", ".join(map(str, others[: view.config.listed]))
        message = f"'{name}' is defined in {labelled[0]}, which is labelled, and in {where}, which is not"
        yield view.finding(SEVERAL, one.query, one.query.targets[0].anchor, message)
