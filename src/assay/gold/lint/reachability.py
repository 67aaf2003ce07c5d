"""Lint rules G5xx: targets that an engine cannot return, or that contain no code."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.gold.build import read_source
from assay.gold.lint.rules import EngineReach, LintContext, LintFinding, written_anchor
from assay.syntax.outline import Outline
from assay.types import Span, Target

_MARKS = ("//", "/*", "*", "#", "--", ";", "%", '"""', "'''", "<!--", "{-", "=begin")
_CHUNK_HINT = 'write {"path": "src/a.py", "start": 1, "end": 20}, one per line'


def check(view: LintContext) -> Iterator[LintFinding]:
    for query in view.resolved():
        for target in query.targets:
            path, start = target.span.path, target.span.start
            if start is None or target.symbol is not None:
                continue
            anchor = written_anchor(query, target)
            lines = view.text(path).split("\n")[start - 1 : target.span.end]
            if not any(line.strip() for line in lines):
                yield view.finding("range-blank", query, anchor, f"the lines of {anchor} are all blank")
            elif view.is_code(path) and (outline := view.outline(path)) and _is_comment(start, lines, outline):
                yield view.finding("range-comment", query, anchor, f"{anchor} contains only comments")

    def definitions(path: str) -> Iterable[Span] | None:
        outline = view.outline(path) if view.is_code(path) else None
        if outline is None or outline.broken or not outline.definitions:
            return None  # definitions inside macros are unknown, and shims are G203
        return [Span(path, definition.start, definition.end) for definition in outline.definitions]

    # several published engines index definitions only
    yield from _check_reach(view, EngineReach("engines that index definitions only", definitions), symbols=True)
    for reach in view.tools.reaches:
        yield from _check_reach(view, reach)


def _is_comment(start: int, lines: Sequence[str], outline: Outline) -> bool:
    inside, edges = set[int](), set[int]()
    for comment in outline.comments:
        inside.update(range(comment.start + 1, comment.end))
        edges.update((comment.start, comment.end))
    return all(
        number in inside or (number in edges and (line.startswith(_MARKS) or line.endswith("*/")))
        for number, line in enumerate(map(str.strip, lines), start)
        if line
    )


def _check_reach(view: LintContext, reach: EngineReach, *, symbols: bool = False) -> Iterator[LintFinding]:
    """Yield a finding for each target that an engine cannot return and, if there are any, one for the whole set.

    With `symbols`, targets with symbol anchors count as reachable and their files are not parsed.
    """

    def is_reachable(target: Target) -> bool:
        if symbols and target.symbol:
            return True
        chunks = reach.chunks(target.span.path)
        return chunks is None or any(chunk.common_lines(target.span) for chunk in chunks)

    def describe(recall: float, ndcg: float) -> str:
        k = view.config.cutoff
        return f"at best R@{k} is {recall:.3f} and nDCG@{k} {ndcg:.3f}"

    ceilings: list[Ceiling] = []
    for query in view.resolved():
        reachable = [target for target in query.targets if is_reachable(target)]
        top = compute_ceiling(query.targets, reachable, view.config.cutoff)
        ceilings.append(top)
        for target in query.targets:
            if target not in reachable:
                anchor = written_anchor(query, target)
                best = describe(top.recall, top.ndcg)
                message = f"{anchor} cannot be returned by {reach.name}; {best} on this query"
                yield view.finding("target-unreachable", query, anchor, message)
    short = sum(top.recall < 1 for top in ceilings)
    if short:
        count = len(ceilings)
        mean = describe(sum(top.recall for top in ceilings) / count, sum(top.ndcg for top in ceilings) / count)
        message = f"{short} of {count} queries have targets that {reach.name} cannot return; {mean} on the set"
        yield view.finding("set-unreachable", None, "", message)


@dataclass(frozen=True, slots=True)
class Ceiling:
    recall: float
    ndcg: float


def compute_ceiling(targets: Sequence[Target], reachable: Sequence[Target], k: int) -> Ceiling:
    """Return R@k and nDCG@k of a ranking of the reachable targets in the best order, with grades as gains."""

    def gain(some: Sequence[Target]) -> float:
        grades = sorted((target.grade for target in some), reverse=True)[:k]
        return sum(grade / math.log2(rank + 1) for rank, grade in enumerate(grades, 1))

    return Ceiling(min(len(reachable), k) / len(targets), gain(reachable) / gain(targets))


def read_chunks(path: Path) -> EngineReach:
    source = read_source(path)
    chunks: dict[str, list[Span]] = {}
    for number, line in enumerate(source.text.split("\n"), 1):
        if not line.strip():
            continue
        location = source.at(number)
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise location.error(f"invalid JSON: {error}", _CHUNK_HINT) from error
        if not isinstance(value, Mapping) or not isinstance(value.get("path"), str) or not value["path"]:
            raise location.error("expected an object with a path", _CHUNK_HINT)
        start, end = value.get("start"), value.get("end")
        if (start, end) != (None, None) and not (type(start) is int and type(end) is int and 1 <= start <= end):
            message = f"expected a range of lines, got {start}-{end}"
            raise location.error(message, "count lines from 1, both ends included")
        chunks.setdefault(value["path"], []).append(Span(value["path"], start, end))
    if not chunks:
        raise source.at(1).error("the file contains no chunks", _CHUNK_HINT)
    return EngineReach(f"the engine of {path.name}", lambda path: chunks.get(path, ()))
