"""G5: labels that an engine can never return, or in which there is no code."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.gold.building import GoldLocation, read_source
from assay.gold.lint.rules import EngineReach, LintFinding, LintRule
from assay.gold.lint.view import LintContext, lines_of, written
from assay.syntax.outline import Outline
from assay.types import Query, Span, Target

BLANK = LintRule(
    "G501",
    "range-blank",
    "warning",
    "The lines of a target are all blank.",
    "There is nothing to be found: correct the range.",
)
COMMENT = LintRule(
    "G502",
    "range-comment",
    "info",
    "The lines of a target are all comment.",
    "Many engines index code without the comments that stand apart from it.",
)
UNREACHABLE = LintRule(
    "G503",
    "target-unreachable",
    "info",
    "No chunk of an engine shares a line with a target.",
    "The engine cannot win here, however good it is; the message says what is left to win.",
)
CEILING = LintRule(
    "G504",
    "set-unreachable",
    "info",
    "Because of unreachable targets, no engine of that kind can reach 1 on the set.",
    "Read scores against the ceiling, or label what can be returned.",
)
RULES = (BLANK, COMMENT, UNREACHABLE, CEILING)

_MARKS = ("//", "/*", "*", "#", "--", ";", "%", '"""', "'''", "<!--", "{-", "=begin")


@dataclass(frozen=True, slots=True)
class Ceiling:
    """The best that a perfect order of what can be returned would score."""

    recall: float
    ndcg: float


def check(view: LintContext) -> Iterator[LintFinding]:
    """Yield ranges without code, then what each kind of engine cannot return."""
    for query in view.resolved():
        for target in query.targets:
            yield from _empty(view, query, target)
    yield from _unreachable(view, definitions_only(view), symbols=True)
    for reach in view.tools.reaches:
        yield from _unreachable(view, reach)


def _empty(view: LintContext, query: Query, target: Target) -> Iterator[LintFinding]:
    if target.span.start is None or target.symbol is not None:
        return
    lines = lines_of(target.span, view.text(target.span.path))
    anchor = written(query, target)
    if not any(line.strip() for line in lines):
        yield view.finding(BLANK, query, anchor, f"the lines of {anchor} are all blank")
        return
    outline = view.outline(target.span.path) if view.is_code(target.span.path) else None
    if outline is not None and _is_comment(target.span.start, lines, outline):
        yield view.finding(COMMENT, query, anchor, f"{anchor} holds comments and no code")


def _is_comment(start: int, lines: Sequence[str], outline: Outline) -> bool:
    whole, edges = set[int](), set[int]()
    for comment in outline.comments:
        whole.update(range(comment.start + 1, comment.end))
        edges.update((comment.start, comment.end))
    numbered = [(number, line.strip()) for number, line in enumerate(lines, start) if line.strip()]
    return all(n in whole or (n in edges and _stands_alone(line)) for n, line in numbered)


def _stands_alone(line: str) -> bool:
    return line.startswith(_MARKS) or line.endswith("*/")


def definitions_only(view: LintContext) -> EngineReach:
    """Make the reach of engines that index definitions and nothing else, as several published ones do."""

    def chunks(path: str) -> Iterable[Span] | None:
        outline = view.outline(path) if view.is_code(path) else None
        if outline is None or outline.broken or not outline.definitions:
            return None  # what only macros define, or what only passes others on (G203), is another matter
        return [Span(path, one.start, one.end) for one in outline.definitions]

    return EngineReach("engines that index definitions only", chunks)


def chunk_list(name: str, chunks: Mapping[str, Sequence[Span]]) -> EngineReach:
    """Make the reach of an engine whose chunks are all listed."""
    return EngineReach(name, lambda path: chunks.get(path, ()))


def _unreachable(view: LintContext, reach: EngineReach, *, symbols: bool = False) -> Iterator[LintFinding]:
    """Yield the targets that an engine cannot return, then what that leaves of the set's scores.

    `symbols` says that it can return whatever a symbol anchor names, so that no file is parsed for one.
    """
    ceilings: list[Ceiling] = []
    for query in view.resolved():
        asked = [target for target in query.targets if not (symbols and target.symbol)]
        lost = [target for target in asked if not _reaches(reach, target.span)]
        top = ceiling(query.targets, [target for target in query.targets if target not in lost], view.config.cutoff)
        ceilings.append(top)
        for target in lost:
            anchor = written(query, target)
            message = f"{anchor} lies in nothing that {reach.name} can return; {_left(top, view)} on this query"
            yield view.finding(UNREACHABLE, query, anchor, message)
    short = [top for top in ceilings if top.recall < 1]
    if short:
        mean = Ceiling(_mean([top.recall for top in ceilings]), _mean([top.ndcg for top in ceilings]))
        message = f"{len(short)} of {len(ceilings)} queries have targets that {reach.name} cannot return; "
        yield view.finding(CEILING, None, "", f"{message}{_left(mean, view)} on the set")


def _reaches(reach: EngineReach, span: Span) -> bool:
    chunks = reach.chunks(span.path)
    return chunks is None or any(chunk.common_lines(span) for chunk in chunks)


def ceiling(targets: Sequence[Target], reachable: Sequence[Target], k: int) -> Ceiling:
    """Give the recall and nDCG of the reachable targets in their best order; gain is the grade."""
    best, left = _gain(targets, k), _gain(reachable, k)
    return Ceiling(min(len(reachable), k) / len(targets), left / best)


def _gain(targets: Sequence[Target], k: int) -> float:
    grades = sorted((target.grade for target in targets), reverse=True)[:k]
    return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))


def _left(top: Ceiling, view: LintContext) -> str:
    k = view.config.cutoff
    return f"at best R@{k} is {top.recall:.3f} and nDCG@{k} {top.ndcg:.3f}"


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


_FORM = 'write {"path": "src/a.py", "start": 1, "end": 20}, one a line'


def read_chunks(path: Path) -> EngineReach:
    """Read a file of chunks."""
    source = read_source(path)
    found: dict[str, list[Span]] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            span = _span(line, source.at(number))
            found.setdefault(span.path, []).append(span)
    if not found:
        raise source.at(1).error("the file lists no chunk", _FORM)
    return chunk_list(f"the engine of {path.name}", found)


def _span(line: str, place: GoldLocation) -> Span:
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise place.error(f"not JSON: {error}", _FORM) from error
    if not isinstance(value, Mapping) or not isinstance(value.get("path"), str) or not value["path"]:
        raise place.error("a chunk has no path", _FORM)
    start, end = value.get("start"), value.get("end")
    if start is None and end is None:
        return Span(value["path"])
    if type(start) is not int or type(end) is not int or not 1 <= start <= end:
        raise place.error(f"{start}-{end} is no range of lines", "lines are counted from 1, both ends included")
    return Span(value["path"], start, end)
