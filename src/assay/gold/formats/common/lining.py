"""Look up the lines of targets for a format that holds nothing else, and say what that changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from assay.corpus import read_text
from assay.gold.anchors.lookup import Library, Missing
from assay.gold.formats.common.losses import Loss, told
from assay.gold.place import Place
from assay.syntax.lines import count_lines
from assay.types import Corpus, Gold, Query, Span, Target


@dataclass(frozen=True, slots=True)
class Lined:
    """A gold set whose targets have lines, and in sentences what they were before."""

    gold: Gold
    lost: tuple[str, ...] = ()


def lined(gold: Gold, corpus: Corpus, *, whole_files: bool) -> Lined:
    """Give symbol anchors their lines, and whole files too unless the format holds them as they are."""
    library = Library(corpus)
    losses: list[Loss] = []
    queries = []
    for query in gold.queries:
        targets = [_lined(target, library, corpus, _place(gold, query), whole_files) for target in query.targets]
        kept = list(_distinct(targets))
        queries.append(replace(query, targets=tuple(kept)))
        losses += [Loss("whole")] * sum(_is_whole(t) for t in query.targets if not whole_files)
        losses += [Loss("same")] * (len(targets) - len(kept))
    return Lined(replace(gold, queries=tuple(queries)), told(losses))


def lacks_lines(gold: Gold, *, symbols: bool, whole_files: bool) -> bool:
    """Tell whether a set has targets that a format cannot hold before their lines are known."""
    targets = [target for query in gold.queries for target in query.targets if target.span.start is None]
    return any(not whole_files if _is_whole(target) else not symbols for target in targets)


def _place(gold: Gold, query: Query) -> Place:
    """Say where a query stands."""
    return Place(gold.source or gold.name, query.line)


def _is_whole(target: Target) -> bool:
    """Tell a target that is a whole file."""
    return target.symbol is None and target.span.start is None


def _lined(target: Target, library: Library, corpus: Corpus, place: Place, whole_files: bool) -> Target:
    """Give one target its lines."""
    if target.span.start is not None or (_is_whole(target) and whole_files):
        return target
    found = library.look_up(target)
    if isinstance(found, Missing):
        raise place.error(found.message, found.hint)
    if not _is_whole(target):
        return found
    lines = count_lines(read_text(corpus, target.span.path))
    if not lines:
        raise place.error(f"{target.span.path} has no lines", "an empty file answers nothing: choose another target")
    return replace(target, span=Span(target.span.path, 1, lines))


def _distinct(targets: list[Target]) -> Iterator[Target]:
    """Leave out what has the lines of an earlier target; primaries come first, so the higher grade stays."""
    seen: set[Span] = set()
    for target in targets:
        if target.span not in seen:
            yield target
        seen.add(target.span)
