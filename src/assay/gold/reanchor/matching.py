from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import SequenceMatcher
from typing import Literal

from assay.gold.reanchor.commits import CommitPair
from assay.gold.reanchor.sections import FileRange, ParsedFile, RangePart, Section, normalize_blanks, title_similarity
from assay.types import Span

#: Evidence for a new range. lines: unchanged lines, in file order. scattered: old lines found elsewhere.
#: words: similar words only. around: only the enclosing definition is left.
Evidence = Literal["name", "new name", "lines", "scattered", "words", "around"]


@dataclass(frozen=True, slots=True)
class MoveCandidate:
    span: Span
    likeness: float
    contained: float  # share of the old text in the new location
    by: Evidence
    exact: bool
    reason: str


def find_candidates(pair: CommitPair, old: FileRange) -> list[MoveCandidate]:
    before = pair.before(old.path)
    pieces = before.split(old, pair.config.slack)
    candidates: list[MoveCandidate] = []
    for other in pair.successors(old.path):
        candidates += _find_in_successor(pair, old, pieces, other)
    if not any(candidate.exact or candidate.likeness >= pair.config.sure for candidate in candidates):
        whole = pieces[0].whole if len(pieces) == 1 else None
        mate = find_elsewhere(pair, whole) if whole is not None else None
        if whole is not None and mate is not None:
            new = _place_on(pair, pieces[0], whole, mate)
            candidates.append(_candidate(pair, old, new, new.by, new.reason))
        scattered = find_scattered(pair, old, whole=whole is not None)
        candidates += [_candidate(pair, old, lines, "scattered", "some old lines") for lines in scattered]
        if whole is not None:
            similar = pair.by_words.find_nearest(before.text(old), pair.config.listed)
            candidates += [_candidate(pair, old, part, "words", "similar words") for part in similar]

    def order(candidate: MoveCandidate) -> tuple[bool, float, bool, Span]:
        worth = candidate.likeness + pair.config.better * (candidate.by in ("name", "new name", "lines"))
        return (not candidate.exact, -worth, candidate.span.path != old.path, candidate.span)

    best: dict[Span, MoveCandidate] = {}
    for candidate in sorted(candidates, key=order):
        best.setdefault(candidate.span, candidate)
    return list(best.values())


def _find_in_successor(
    pair: CommitPair, old: FileRange, pieces: Sequence[RangePart], other: str
) -> Iterator[MoveCandidate]:
    unchanged = _find_unchanged(pair, old, other)
    if unchanged is not None:
        yield _candidate(pair, old, unchanged, "lines", "unchanged lines")
        return
    same_text = _find_same_text(pair, old, other)
    if same_text is not None:
        yield _candidate(pair, old, same_text, "lines", "same text")
    placed = [(piece, placement) for piece in pieces if (placement := _place(pair, piece, other)) is not None]
    for piece in pieces if not placed else ():
        mate = find_in_file(pair, piece.holder, other) if piece.holder is not None else None
        if mate is not None:
            around = _Placement(other, mate.part.start, mate.part.end, "around", "enclosing definition")
            placed.append((piece, around))
    if placed:
        group = _largest_group(placed, pair.config.grown_lines)
        new = FileRange(other, min(p.start for _, p in group), max(p.end for _, p in group))
        _, main = max(group, key=lambda entry: entry[0].length)
        yield _candidate(pair, old, new, main.by, main.reason)


def _find_unchanged(pair: CommitPair, old: FileRange, other: str) -> FileRange | None:
    stayed = pair.line_map(old.path, other)
    first, last = stayed.get(old.start), stayed.get(old.end)
    if first is None or last is None:
        return None
    new, before = FileRange(other, first, last), pair.before(old.path)
    block = all(stayed.get(line + 1, -1) == stayed.get(line, -2) + 1 for line in range(old.start, old.end))
    # Repeated lines must be in the same definition.
    same = block and (before.distinct(old) or _scope(before, old) == _scope(pair.after(other), new))
    return new if same else None


def _find_same_text(pair: CommitPair, old: FileRange, other: str) -> FileRange | None:
    wanted = [line.rstrip() for line in pair.before(old.path).text(old)]
    if sum(len(normalize_blanks(line)) for line in wanted) < pair.config.distinctive:
        return None
    lines = [line.rstrip() for line in pair.after(other).lines]
    starts = [at for at, line in enumerate(lines) if line == wanted[0] and lines[at : at + len(wanted)] == wanted]
    return FileRange(other, starts[0] + 1, starts[0] + len(wanted)) if len(starts) == 1 else None


_Placed = tuple[RangePart, "_Placement"]


def _largest_group(placed: Sequence[_Placed], most_apart: int) -> list[_Placed]:
    groups: list[list[_Placed]] = []
    for piece, placement in sorted(placed, key=lambda entry: (entry[1].start, entry[1].end)):
        if groups and placement.start - max(p.end for _, p in groups[-1]) <= most_apart:
            groups[-1].append((piece, placement))
        else:
            groups.append([(piece, placement)])
    return max(groups, key=lambda group: sum(piece.length for piece, _ in group))


def _scope(file: ParsedFile, lines: FileRange) -> str:
    part = file.enclosing(lines)
    return part.plain if part else ""


def _candidate(pair: CommitPair, old: FileRange, new: FileRange, by: Evidence, reason: str) -> MoveCandidate:
    before, after = pair.before(old.path).text(old), pair.after(new.path).text(new)
    exact = [line.rstrip() for line in before] == [line.rstrip() for line in after]
    return MoveCandidate(new.span, pair.compare(old, new), pair.share_in(old, new), by, exact, reason)


@dataclass(frozen=True, slots=True)
class Counterpart:
    """A definition or section of the new commit that may correspond to a given one of the old commit."""

    part: Section
    likeness: float
    named: bool  # has the same name
    reason: str = ""

    @property
    def order(self) -> tuple[float, bool, str, int]:
        return (self.likeness, self.named, self.part.path, -self.part.start)


def find_in_file(pair: CommitPair, part: Section, other: str) -> Counterpart | None:
    """Find the counterpart of a section in the file `other`, by name or else as a renamed section."""
    sections = pair.after(other).parts
    full = [new for new in sections if new.plain == part.plain]
    named = full or [new for new in sections if new.last == part.last and new.family == part.family]
    best = _best(pair, part, named)
    if best is not None and (full or best.likeness >= pair.config.moved):
        return replace(best, named=True, reason="same name" if full else "same name in another scope")
    return _find_renamed(pair, part, other)


def find_elsewhere(pair: CommitPair, part: Section) -> Counterpart | None:
    """Find the counterpart with the same name in the changed files that are not successors of the old file."""
    successors = pair.successors(part.path)
    same = [new for new in pair.by_name.get(part.last, ()) if new.path not in successors and new.family == part.family]
    best = _best(pair, part, same)
    if best is None or best.likeness < pair.config.moved:
        return None
    return replace(best, named=True, reason="same name in another file")


def _best(pair: CommitPair, part: Section, sections: Iterable[Section]) -> Counterpart | None:
    scored = (Counterpart(new, pair.compare(part, new), new.name == part.name) for new in sections)
    return max(scored, key=lambda counterpart: counterpart.order, default=None)


def _find_renamed(pair: CommitPair, part: Section, other: str) -> Counterpart | None:
    before, after, config = pair.before(part.path), pair.after(other), pair.config
    sums: dict[Counterpart, float] = {}
    for new in _unknown_sections(before, after):
        short, long = sorted((new.length, part.length))
        if new.family == part.family and long <= config.grown * short + 2 * config.grown:
            counterpart = Counterpart(new, pair.compare(part, new), named=False, reason=f"renamed to {new.title}")
            neighbors = zip(before.neighbors[part], after.neighbors[new], strict=True)
            same = sum(a is not None and b is not None and a.plain == b.plain for a, b in neighbors)
            title = config.title * title_similarity(part.last, new.last)
            sums[counterpart] = counterpart.likeness + (title + config.neighbor * same)
    best = max(sums, key=lambda counterpart: (sums[counterpart], *counterpart.order), default=None)
    if best is None:
        return None
    titled = title_similarity(part.last, best.part.last) > 0
    if part.kind == "section":
        enough = (titled or best.likeness >= config.retitled) and best.likeness >= config.section
        enough = enough and sums[best] >= config.section_sum
    else:
        enough = best.likeness >= config.renamed and sums[best] >= config.renamed_sum
    there = map(normalize_blanks, after.text(best.part))
    return best if enough and (titled or not before.distinct(part).isdisjoint(there)) else None


def _unknown_sections(before: ParsedFile, after: ParsedFile) -> list[Section]:
    known = {old.plain for old in before.parts}
    return [new for new in after.parts if new.plain not in known]


def find_scattered(pair: CommitPair, old: FileRange, *, whole: bool) -> Iterator[FileRange]:
    """Yield the range of each changed file with the most old lines; with `whole`, prefer the section around it."""
    before = pair.before(old.path)
    lines = {normalize_blanks(line) for line in before.text(old)}
    distinct = before.distinct(old)
    votes: dict[str, dict[int, float]] = defaultdict(dict)
    for line in sorted(lines):
        places = pair.by_line.get(line, ())
        for path, number in places:
            votes[path][number] = 1 / len(places)
    length = int(pair.config.grown * old.length)
    for path, weights in sorted(votes.items()):
        after, numbers = pair.after(path), sorted(weights)
        window, most, at, total = [numbers[0]], 0.0, 0, 0.0  # with the highest total weight
        for to, number in enumerate(numbers):
            total += weights[number]
            while number - numbers[at] >= length:
                total -= weights[numbers[at]]
                at += 1
            if total > most + 1e-9:
                window, most = numbers[at : to + 1], total
        # A single line of many, or lines that the old file repeats, may match by chance.
        texts = {normalize_blanks(after.lines[number - 1]) for number in window}
        if len(window) < min(2, len(lines)) or distinct.isdisjoint(texts):
            continue
        holding = [p for p in after.parts if 2 * sum(p.start <= line <= p.end for line in window) > len(window)]
        part = min(holding, key=lambda part: (part.length, part), default=None) if whole else None
        fits = part is not None and part.length <= length + pair.config.grown_lines
        yield part if part is not None and fits else FileRange(path, window[0], window[-1])


@dataclass(frozen=True, slots=True)
class _Placement(FileRange):
    by: Evidence
    reason: str


def _place(pair: CommitPair, piece: RangePart, other: str) -> _Placement | None:
    whole, holder = piece.whole, piece.holder
    mate = find_in_file(pair, whole, other) if whole is not None else None
    if whole is None or mate is None:
        if whole is not None:
            holder = pair.before(piece.path).enclosing(whole, besides=whole)
        around = find_in_file(pair, holder, other) if holder is not None else None
        if holder is None or around is None:
            return _fit_range(pair, piece, other, pair.line_map(piece.path, other))
        placement = _fit_range(pair, piece, other, _align_sections(pair, holder, around.part))
        return replace(placement, reason=f"unchanged lines in {around.part.title}") if placement else None
    placed = _place_on(pair, piece, whole, mate)
    if whole.kind != "section":
        return _extend_split(pair, piece, placed)
    closer = _fit_range(pair, piece, other, _align_sections(pair, whole, mate.part))
    if closer is None:
        return placed
    nearer = pair.compare(piece, closer) >= pair.compare(piece, placed) + pair.config.closer
    if not nearer or pair.share_in(piece, closer) < pair.config.held * pair.share_in(piece, placed):
        return placed
    return replace(closer, by=placed.by, reason=f"{placed.reason}, unchanged part")


def _place_on(pair: CommitPair, piece: RangePart, whole: Section, mate: Counterpart) -> _Placement:
    new = mate.part
    start = new.start
    if piece.start > whole.start:
        after = pair.after(new.path)
        start = next((line for line in range(new.start, new.end) if not after.is_filler(line, line)), start)
        start = min(start, _align_sections(pair, whole, new).get(piece.start, start))
    return _Placement(new.path, start, new.end, "name" if mate.named else "new name", mate.reason)


def _extend_split(pair: CommitPair, piece: RangePart, placed: _Placement) -> _Placement:
    """Extend the range of a definition to adjacent new definitions that contain text of the old one."""
    after = pair.after(placed.path)
    unknown = _unknown_sections(pair.before(piece.path), after)
    while True:
        wider: list[tuple[float, int, _Placement]] = []
        for new in unknown:
            below = new.start > placed.end and after.is_filler(placed.end + 1, new.start - 1)
            above = new.end < placed.start and after.is_filler(new.end + 1, placed.start - 1)
            if below or above:
                start, end = min(placed.start, new.start), max(placed.end, new.end)
                longer = replace(placed, start=start, end=end, reason="same name, split up")
                share = pair.share_in(piece, longer)
                if share - pair.share_in(piece, placed) >= pair.config.split_off:
                    wider.append((share, -start, longer))
        if not wider:
            return placed
        placed = max(wider, key=lambda extension: extension[:2])[2]


def _fit_range(pair: CommitPair, piece: RangePart, other: str, stayed: Mapping[int, int]) -> _Placement | None:
    before, after = pair.before(piece.path), pair.after(other)
    inside = [line for line in range(piece.start, piece.end + 1) if line in stayed]
    if not any(before.is_distinct(line) for line in inside):
        return None
    most = int(pair.config.grown * piece.length + pair.config.grown_lines)
    densest = _densest_run(inside, stayed, most)
    start = _fit_edge(pair, (before, after), stayed, piece.start, densest[0], -1)
    end = _fit_edge(pair, (before, after), stayed, piece.end, densest[-1], 1)
    if before.lines[piece.start - 1].strip():
        while start < end and not after.lines[start - 1].strip():
            start += 1
    if before.lines[piece.end - 1].strip():
        while end > start and not after.lines[end - 1].strip():
            end -= 1
    return _Placement(other, start, end, "lines", "unchanged lines nearby")


def _densest_run(inside: Sequence[int], stayed: Mapping[int, int], most: int) -> Sequence[int]:
    densest: Sequence[int] = ()
    at = 0
    for to in range(len(inside)):
        while abs(stayed[inside[to]] - stayed[inside[at]]) >= most:
            at += 1
        if to - at + 1 > len(densest):
            densest = inside[at : to + 1]
    return densest


def _fit_edge(
    pair: CommitPair, texts: tuple[ParsedFile, ParsedFile], stayed: Mapping[int, int], edge: int, line: int, step: int
) -> int:
    """Return the new first (step -1) or last (step 1) line of a range, based on its outermost unchanged line."""
    before, after = texts
    bound = max if step < 0 else min
    image, removed, last = stayed[line], abs(edge - line), 1 if step < 0 else len(after.lines)
    if not removed:
        return image
    outside = 0 if step < 0 else len(before.lines) + 1
    farther = (old for old in stayed if (old - edge) * step > 0)
    beyond = min(farther, key=lambda old: abs(old - edge), default=outside)
    limit = stayed[beyond] - step if beyond != outside else last
    if (limit - image) * step < 0:
        return bound(last, image + step * removed)
    if beyond == edge + step:  # everything replaced between two unchanged lines belongs to the range
        return bound(limit, image + step * (int(pair.config.grown * removed) + pair.config.slack))
    wanted = normalize_blanks(before.lines[edge - 1])
    places = range(limit, image) if step < 0 else range(image + 1, limit + 1)
    scored = [(SequenceMatcher(None, wanted, normalize_blanks(after.lines[p - 1])).ratio(), -p) for p in places]
    ratio, position = max(scored, default=(0.0, 0))
    return -position if ratio >= pair.config.like_line else bound(limit, image + step * removed)


def _align_sections(pair: CommitPair, part: Section, mate: Section) -> dict[int, int]:
    old = [normalize_blanks(line) for line in pair.before(part.path).text(part)]
    new = [normalize_blanks(line) for line in pair.after(mate.path).text(mate)]
    return {part.start + a: mate.start + b for a, b in align(old, new, pair.config.compared)}


def align(old: Sequence[str], new: Sequence[str], compared: int) -> list[tuple[int, int]]:
    """Return the old and new positions (from 0) of unchanged lines, in order, by a patience diff.

    Blocks without a unique line are compared line by line, unless they have more than `compared` pairs of lines.
    """
    once_old, once_new = ({line for line, n in Counter(lines).items() if n == 1} for lines in (old, new))
    position_of = {line: position for position, line in enumerate(new)}
    unique = [(at, position_of[line]) for at, line in enumerate(old) if line in once_old and line in once_new]
    matches: list[tuple[int, int]] = []
    if not unique:
        if len(old) * len(new) <= compared:
            for block in SequenceMatcher(None, old, new, autojunk=False).get_matching_blocks():
                matches += [(block.a + n, block.b + n) for n in range(block.size)]
        return matches
    here, there = 0, 0
    for a, b in [*_longest_increasing(unique), (len(old), len(new))]:
        if a > here and b > there:
            matches += [(here + i, there + j) for i, j in align(old[here:a], new[there:b], compared)]
        if a < len(old):
            matches.append((a, b))
        here, there = a + 1, b + 1
    return matches


def _longest_increasing(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
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
