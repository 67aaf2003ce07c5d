"""Which definition or section of the new commit is the one of the old? By name, else by what it says and where."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Final, Literal

from assay.gold.reanchor.records import OldRange, Reanchoring
from assay.gold.reanchor.sheets import ParsedFile, RangePart, Section, frame, holder_of, squeezed, title_likeness
from assay.gold.reanchor.trees import CommitPair
from assay.syntax.outline import LineSpan
from assay.types import Span

#: A function may become a method and a class an enum; a class never becomes a function.
_FAMILY: Final = {
    "method": "function",
    "macro": "function",
    "interface": "class",
    "enum": "class",
    "type": "class",
    "module": "class",
    "property": "constant",
}


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A part of a new file, how alike it is, and whether it still has its name."""

    path: str
    part: Section
    likeness: float
    named: bool
    reason: str


def in_file(pair: CommitPair, path: str, part: Section, other: str) -> Counterpart | None:
    """Find a part in the file that follows its own: same scopes and name, same name, else a renamed one."""
    sheet = pair.after(other)
    full = [new for new in sheet.parts if new.plain == part.plain]
    own = full or [new for new in sheet.parts if new.last == part.last and _kin(new, part)]
    if own:
        best = _best(_scored(pair, path, part, other, new) for new in own)
        if full or best.likeness >= pair.config.moved:
            reason = "same name" if full else "same name in another scope"
            return Counterpart(other, best.part, best.likeness, True, reason)
    return _renamed(pair, path, part, other)


def elsewhere(pair: CommitPair, path: str, part: Section) -> Counterpart | None:
    """Find a part of the same name in another changed file."""
    successors = pair.successors(path)
    found = [
        place for place in pair.by_name.get(part.last, ()) if place.path not in successors and _kin(place.part, part)
    ]
    if not found:
        return None
    best = _best(_scored(pair, path, part, place.path, place.part) for place in found)
    if best.likeness < pair.config.moved:
        return None
    return Counterpart(best.path, best.part, best.likeness, True, "same name in another file")


def _renamed(pair: CommitPair, path: str, part: Section, other: str) -> Counterpart | None:
    before, after = pair.before(path), pair.after(other)
    free = [new for new in unknown(before, after) if _kin(new, part) and _near(new, part, pair.config.grown)]
    scored = [_scored(pair, path, part, other, new) for new in free]
    sums = {one.part: one.likeness + _signs(pair, before, part, after, one.part) for one in scored}
    best = max(scored, key=lambda one: (sums[one.part], *_order(one)), default=None)
    if best is None or not _is_enough(best, sums[best.part], part, pair.config):
        return None
    if not title_likeness(part.last, best.part.last) and not _share_a_line(before, part, after, best.part):
        return None
    return Counterpart(other, best.part, best.likeness, False, f"renamed to {shown(best.part)}")


def _share_a_line(before: ParsedFile, part: Section, after: ParsedFile, new: Section) -> bool:
    return not before.distinct(part.start, part.end).isdisjoint(map(squeezed, after.text(new.start, new.end)))


def unknown(before: ParsedFile, after: ParsedFile) -> list[Section]:
    """List the parts of a new file whose names the old one does not know."""
    known = {old.plain for old in before.parts}
    return [new for new in after.parts if new.plain not in known]


def _is_enough(best: Counterpart, total: float, part: Section, config: Reanchoring) -> bool:
    if part.kind != "section":
        return best.likeness >= config.renamed and total >= config.renamed_sum
    entitled = title_likeness(part.last, best.part.last) > 0 or best.likeness >= config.retitled
    return entitled and best.likeness >= config.section and total >= config.section_sum


def _signs(pair: CommitPair, before: ParsedFile, part: Section, after: ParsedFile, new: Section) -> float:
    titles = pair.config.title * title_likeness(part.last, new.last)
    old_near, new_near = before.neighbours(part), after.neighbours(new)
    same = sum(a is not None and b is not None and a.plain == b.plain for a, b in zip(old_near, new_near, strict=True))
    return titles + pair.config.neighbour * same


def shown(part: Section) -> str:
    """Name a part to a reader."""
    return part.name.replace("\n", " > ")


def _near(one: Section, other: Section, factor: float) -> bool:
    short, long = sorted((one.length, other.length))
    return long <= factor * short + 2 * factor


def _best(scored: Iterable[Counterpart]) -> Counterpart:
    return max(scored, key=_order)


def _scored(pair: CommitPair, path: str, part: Section, other: str, new: Section) -> Counterpart:
    alike = pair.alike(Span(path, part.start, part.end), Span(other, new.start, new.end))
    return Counterpart(other, new, alike, named=new.name == part.name, reason="")


def _order(one: Counterpart) -> tuple[float, bool, str, int]:
    return (one.likeness, one.named, one.path, -one.part.start)


def _kin(one: Section, other: Section) -> bool:
    return _FAMILY.get(one.kind, one.kind) == _FAMILY.get(other.kind, other.kind)


def voted(pair: CommitPair, old: OldRange, *, whole: bool) -> Iterator[Span]:
    """Yield the stretch of each changed file with most of a range's lines; a whole part where the range was one."""
    sheet = pair.before(old.path)
    lines = {squeezed(line) for line in sheet.text(old.start, old.end)}
    own = sheet.distinct(old.start, old.end)
    votes: dict[str, dict[int, float]] = defaultdict(dict)
    for line in sorted(lines):
        places = pair.by_line.get(line, ())
        for path, number in places:
            votes[path][number] = 1 / len(places)
    length = int(pair.config.grown * old.length)
    for path, weights in sorted(votes.items()):
        stretch = _best_voting(weights, length)
        after = pair.after(path)
        if len(stretch) < min(2, len(lines)) or own.isdisjoint(squeezed(after.lines[n - 1]) for n in stretch):
            continue  # one line of many is chance, and so are lines that the old file has twice
        part = _holding(after, stretch) if whole else None
        if part is not None and part.length <= length + pair.config.grown_lines:
            yield Span(path, part.start, part.end)
        else:
            yield Span(path, stretch[0], stretch[-1])


def _best_voting(weights: dict[int, float], length: int) -> list[int]:
    numbers = sorted(weights)
    best, most, at, total = [numbers[0]], 0.0, 0, 0.0
    for to, number in enumerate(numbers):
        total += weights[number]
        while number - numbers[at] >= length:
            total -= weights[numbers[at]]
            at += 1
        if total > most + 1e-9:
            best, most = numbers[at : to + 1], total
    return best


def _holding(sheet: ParsedFile, lines: Sequence[int]) -> Section | None:
    held = [part for part in sheet.parts if 2 * sum(part.start <= line <= part.end for line in lines) > len(lines)]
    return min(held, key=lambda part: (part.length, part), default=None)


def align(old: Sequence[str], new: Sequence[str], compared: int) -> list[tuple[int, int]]:
    """Pair lines that stayed, in order, as positions from 0; stretches of more than `compared` pairs are left out."""
    return sorted(_align(old, new, 0, 0, compared))


def _align(old: Sequence[str], new: Sequence[str], here: int, there: int, most: int) -> Iterator[tuple[int, int]]:
    fixed = _chain(_unique(old, new))
    if not fixed:
        if len(old) * len(new) > most:
            return
        for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
            yield from ((here + block.a + n, there + block.b + n) for n in range(block.size))
        return
    last_old, last_new = 0, 0
    for a, b in [*fixed, (len(old), len(new))]:
        if a > last_old and b > last_new:
            yield from _align(old[last_old:a], new[last_new:b], here + last_old, there + last_new, most)
        if a < len(old):
            yield here + a, there + b
        last_old, last_new = a + 1, b + 1


def _unique(old: Sequence[str], new: Sequence[str]) -> list[tuple[int, int]]:
    once_old = {line for line, count in Counter(old).items() if count == 1}
    once_new = {line for line, count in Counter(new).items() if count == 1}
    place = {line: position for position, line in enumerate(new)}
    return [(at, place[line]) for at, line in enumerate(old) if line in once_old and line in once_new]


def _chain(pairs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    tails: list[int] = []
    ends: list[int] = []  # position in `pairs` of each tail
    before: list[int] = []
    for position, (_, there) in enumerate(pairs):
        at = bisect_left(tails, there)
        before.append(ends[at - 1] if at else -1)
        tails[at : at + 1] = [there]
        ends[at : at + 1] = [position]
    chain: list[tuple[int, int]] = []
    position = ends[-1] if ends else -1
    while position >= 0:
        chain.append(pairs[position])
        position = before[position]
    return chain[::-1]


@dataclass(frozen=True, slots=True)
class Edges:
    """An old and a new file, and the lines that stayed from one to the other."""

    old: ParsedFile
    new: ParsedFile
    stayed: dict[int, int]


def fitted(edges: Edges, start: int, end: int, config: Reanchoring) -> LineSpan | None:
    """Give the new lines of a range; None when no line stayed that stands only there."""
    inside = [line for line in range(start, end + 1) if line in edges.stayed]
    if not any(edges.old.is_distinct(line) for line in inside):
        return None
    inside = _dense(edges, inside, end - start + 1, config)
    first, last = edges.stayed[inside[0]], edges.stayed[inside[-1]]
    new_start = _begin(edges, start, inside[0], first, config)
    new_end = _finish(edges, end, inside[-1], last, config)
    return _tidy(edges, start, end, new_start, new_end)


def _dense(edges: Edges, inside: list[int], length: int, config: Reanchoring) -> list[int]:
    most = int(config.grown * length + config.grown_lines)
    best: list[int] = []
    at = 0
    for to in range(len(inside)):
        while abs(edges.stayed[inside[to]] - edges.stayed[inside[at]]) >= most:
            at += 1
        if to - at + 1 > len(best):
            best = inside[at : to + 1]
    return best


def _begin(edges: Edges, start: int, line: int, image: int, config: Reanchoring) -> int:
    before = max((old for old in edges.stayed if old < start), default=0)
    floor = edges.stayed.get(before, 0) + 1
    gone = line - start
    if not gone or floor > image:
        return image if not gone else max(1, image - gone)
    if before == start - 1:  # all that was replaced there belongs to the range
        return max(floor, image - int(config.grown * gone) - config.slack)
    like = _most_like(edges, start, range(floor, image), config.like_line)
    return like or max(floor, image - gone)


def _finish(edges: Edges, end: int, line: int, image: int, config: Reanchoring) -> int:
    total = len(edges.new.lines)
    after = min((old for old in edges.stayed if old > end), default=len(edges.old.lines) + 1)
    ceiling = edges.stayed.get(after, total + 1) - 1
    gone = end - line
    if not gone or ceiling < image:
        return image if not gone else min(total, image + gone)
    if after == end + 1:
        return min(ceiling, image + int(config.grown * gone) + config.slack)
    like = _most_like(edges, end, range(image + 1, ceiling + 1), config.like_line)
    return like or min(ceiling, image + gone)


def _most_like(edges: Edges, line: int, places: range, least: float) -> int | None:
    wanted = squeezed(edges.old.lines[line - 1])
    scored = [(SequenceMatcher(None, wanted, squeezed(edges.new.lines[p - 1])).ratio(), -p) for p in places]
    ratio, place = max(scored, default=(0.0, 0))
    return -place if ratio >= least else None


def _tidy(edges: Edges, start: int, end: int, new_start: int, new_end: int) -> LineSpan:
    if edges.old.lines[start - 1].strip():
        while new_start < new_end and not edges.new.lines[new_start - 1].strip():
            new_start += 1
    if edges.old.lines[end - 1].strip():
        while new_end > new_start and not edges.new.lines[new_end - 1].strip():
            new_end -= 1
    return LineSpan(new_start, new_end)


#: What a place was found by. Lines: those that stayed, in file order. Scattered: those that turned up somewhere.
#: Words: none of its lines did. Around: the definition it lay in is there, and nothing of it.
Evidence = Literal["name", "new name", "lines", "scattered", "words", "around"]


@dataclass(frozen=True, slots=True)
class Placement:
    """New lines for a piece of a range, and what speaks for them."""

    start: int
    end: int
    by: Evidence
    reason: str


def place(pair: CommitPair, path: str, piece: RangePart, other: str) -> Placement | None:
    """Find the new lines of a piece: those of its counterpart, or those that stayed inside its holder's."""
    if piece.whole is None:
        return _on_lines(pair, path, piece, piece.holder, other)
    mate = in_file(pair, path, piece.whole, other)
    if mate is None:
        return _on_lines(pair, path, piece, pair.before(path).around(piece.whole), other)
    placed = on_part(pair, path, piece, mate)
    if piece.whole.kind != "section":
        return _split_up(pair, path, piece, placed, other)
    closer = _fitted(pair, path, piece, other, aligned(pair, path, piece.whole, mate))
    if closer is None or not _is_closer(pair, Span(path, piece.start, piece.end), other, placed, closer):
        return placed
    return replace(closer, by=placed.by, reason=f"{placed.reason}, its part that stayed")


def around(pair: CommitPair, path: str, piece: RangePart, other: str) -> Placement | None:
    """Find what a piece lay in, for want of the piece."""
    mate = in_file(pair, path, piece.holder, other) if piece.holder is not None else None
    return Placement(mate.part.start, mate.part.end, "around", "what it lay in") if mate is not None else None


def on_part(pair: CommitPair, path: str, piece: RangePart, mate: Counterpart) -> Placement:
    """Place a piece that is a whole part on its counterpart; comments above that it left out stay out."""
    assert piece.whole is not None
    start = mate.part.start
    if piece.start > piece.whole.start:
        start = _past_comments(pair.after(mate.path), mate.part)
        start = min(start, aligned(pair, path, piece.whole, mate).get(piece.start, start))
    return Placement(start, mate.part.end, "name" if mate.named else "new name", mate.reason)


def aligned(pair: CommitPair, path: str, part: Section, mate: Counterpart) -> dict[int, int]:
    """Pair the lines of a part with those of its counterpart."""
    old = [squeezed(line) for line in pair.before(path).text(part.start, part.end)]
    new = [squeezed(line) for line in pair.after(mate.path).text(mate.part.start, mate.part.end)]
    return {part.start + a: mate.part.start + b for a, b in align(old, new, pair.config.compared)}


def _on_lines(pair: CommitPair, path: str, piece: RangePart, holder: Section | None, other: str) -> Placement | None:
    mate = in_file(pair, path, holder, other) if holder is not None else None
    if holder is None or mate is None:
        return _fitted(pair, path, piece, other, pair.line_map(path, other))
    found = _fitted(pair, path, piece, other, aligned(pair, path, holder, mate))
    return replace(found, reason=f"lines that stayed in {shown(mate.part)}") if found else None


def _fitted(pair: CommitPair, path: str, piece: RangePart, other: str, stayed: dict[int, int]) -> Placement | None:
    found = fitted(Edges(pair.before(path), pair.after(other), stayed), piece.start, piece.end, pair.config)
    return Placement(found.start, found.end, "lines", "lines that stayed") if found else None


def _is_closer(pair: CommitPair, old: Span, other: str, part: Placement, lines: Placement) -> bool:
    whole, some = Span(other, part.start, part.end), Span(other, lines.start, lines.end)
    nearer = pair.alike(old, some) >= pair.alike(old, whole) + pair.config.closer
    return nearer and pair.kept(old, some) >= pair.config.held * pair.kept(old, whole)


def _split_up(pair: CommitPair, path: str, piece: RangePart, placed: Placement, other: str) -> Placement:
    old = Span(path, piece.start, piece.end)
    free = unknown(pair.before(path), pair.after(other))
    grown = placed
    while wider := [one for new in free if (one := _with(pair, old, grown, new, other)) is not None]:
        grown = max(wider, key=lambda one: (pair.kept(old, Span(other, one.start, one.end)), -one.start))
    return grown


def _with(pair: CommitPair, old: Span, placed: Placement, new: Section, other: str) -> Placement | None:
    sheet = pair.after(other)
    below = new.start > placed.end and sheet.is_filler(placed.end + 1, new.start - 1)
    above = new.end < placed.start and sheet.is_filler(new.end + 1, placed.start - 1)
    if not (below or above):
        return None
    wider = replace(placed, start=min(placed.start, new.start), end=max(placed.end, new.end))
    gain = pair.kept(old, Span(other, wider.start, wider.end)) - pair.kept(old, Span(other, placed.start, placed.end))
    return replace(wider, reason="same name, split up") if gain >= pair.config.split_off else None


def _past_comments(sheet: ParsedFile, part: Section) -> int:
    return next((line for line in range(part.start, part.end) if not sheet.is_filler(line, line)), part.start)


@dataclass(frozen=True, slots=True)
class MoveCandidate:
    """A place that a range may have gone to, and what speaks for it."""

    span: Span
    likeness: float
    kept: float  # share of the old text that is there
    by: Evidence
    exact: bool
    reason: str


def find(pair: CommitPair, old: OldRange) -> list[MoveCandidate]:
    """List where a range may have gone, best first."""
    pieces = frame(pair.before(old.path), old.start, old.end, pair.config.slack)
    here = [found for other in pair.successors(old.path) for found in _in_file(pair, old, pieces, other)]
    if not any(found.exact or found.likeness >= pair.config.sure for found in here):
        here += _away(pair, old, pieces)
    ordered = sorted(here, key=lambda found: _order_moving(found, old, pair.config.better))
    best: dict[Span, MoveCandidate] = {}
    for found in ordered:
        best.setdefault(found.span, found)
    return list(best.values())


def _order_moving(found: MoveCandidate, old: OldRange, better: float) -> tuple[bool, float, bool, Span]:
    worth = found.likeness + better * (found.by in ("name", "new name", "lines"))
    return (not found.exact, -worth, found.span.path != old.path, found.span)


def _in_file(pair: CommitPair, old: OldRange, pieces: Sequence[RangePart], other: str) -> Iterator[MoveCandidate]:
    stayed = pair.line_map(old.path, other)
    first, last = stayed.get(old.start), stayed.get(old.end)
    if (
        first is not None
        and last is not None
        and _is_block(stayed, old)
        and _is_own(pair, old, Span(other, first, last))
    ):
        yield _compared(pair, old, Span(other, first, last), "lines", "its lines stayed")
        return
    yield from _identical(pair, old, other)
    placed = [(piece, new) for piece in pieces if (new := place(pair, old.path, piece, other)) is not None]
    if not placed:
        placed = [(piece, new) for piece in pieces if (new := around(pair, old.path, piece, other)) is not None]
    if placed:
        yield _joined(pair, old, placed, other)


def _is_block(stayed: dict[int, int], old: OldRange) -> bool:
    return all(stayed.get(line + 1, -1) == stayed.get(line, -2) + 1 for line in range(old.start, old.end))


def _is_own(pair: CommitPair, old: OldRange, new: Span) -> bool:
    """Tell whether lines that stayed are the range's own: what is said twice must be in the same definition still."""
    before, after = pair.before(old.path), pair.after(new.path)
    if before.distinct(old.start, old.end):
        return True
    around = (holder_of(before.parts, old.start, old.end), holder_of(after.parts, new.start or 1, new.end or 1))
    here, there = (part.plain if part else None for part in around)
    return here == there


def _identical(pair: CommitPair, old: OldRange, other: str) -> Iterator[MoveCandidate]:
    wanted = [line.rstrip() for line in pair.before(old.path).text(old.start, old.end)]
    if sum(len(squeezed(line)) for line in wanted) < pair.config.distinctive:
        return
    lines = [line.rstrip() for line in pair.after(other).lines]
    starts = [at for at, line in enumerate(lines) if line == wanted[0] and lines[at : at + len(wanted)] == wanted]
    if len(starts) == 1:
        yield _compared(pair, old, Span(other, starts[0] + 1, starts[0] + len(wanted)), "lines", "the same text")


def _joined(
    pair: CommitPair, old: OldRange, placed: Sequence[tuple[RangePart, Placement]], other: str
) -> MoveCandidate:
    groups: list[list[tuple[RangePart, Placement]]] = []
    for piece, new in sorted(placed, key=lambda one: (one[1].start, one[1].end)):
        if groups and new.start - max(p.end for _, p in groups[-1]) <= pair.config.grown_lines:
            groups[-1].append((piece, new))
        else:
            groups.append([(piece, new)])
    best = max(groups, key=lambda group: sum(piece.end - piece.start + 1 for piece, _ in group))
    span = Span(other, min(p.start for _, p in best), max(p.end for _, p in best))
    main = max(best, key=lambda one: one[0].end - one[0].start)[1]
    return _compared(pair, old, span, main.by, main.reason)


def _away(pair: CommitPair, old: OldRange, pieces: Sequence[RangePart]) -> Iterator[MoveCandidate]:
    whole = pieces[0].whole if len(pieces) == 1 else None
    mate = elsewhere(pair, old.path, whole) if whole is not None else None
    if mate is not None:
        new = on_part(pair, old.path, pieces[0], mate)
        yield _compared(pair, old, Span(mate.path, new.start, new.end), new.by, new.reason)
    for span in voted(pair, old, whole=whole is not None):
        yield _compared(pair, old, span, "scattered", "some of its lines stand there")
    for span in pair.by_words.nearest(pair.before(old.path), old, pair.config.listed) if whole is not None else ():
        yield _compared(pair, old, span, "words", "it speaks most like it")


def _compared(pair: CommitPair, old: OldRange, new: Span, by: Evidence, reason: str) -> MoveCandidate:
    before = [line.rstrip() for line in pair.before(old.path).text(old.start, old.end)]
    after = [line.rstrip() for line in pair.after(new.path).text(new.start or 1, new.end or 1)]
    return MoveCandidate(new, pair.alike(old.span, new), pair.kept(old.span, new), by, before == after, reason)
