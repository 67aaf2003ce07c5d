"""One query and its answers as a document, and as JSON."""

from __future__ import annotations

import math

from assay.report.commands.showing import Place, Shown, Side
from assay.report.pages.document import Beside, Block, Cell, Document, Entry, Heading, Listing, Paragraph, Tone, table
from assay.report.pages.texts import SHOWN, clip
from assay.report.wording import count
from assay.scoring import parse_measure
from assay.types import PRIMARY

#: Behind the grade of a hit that is right by its file alone.
_BESIDE = "~"
#: A difference that three digits do not show.
_SAME = 0.0005


def show_document(shown: Shown) -> Document:
    """Say what was asked, what is right, and what came."""
    blocks: list[Block] = [Paragraph(shown.query.forms[shown.form])]
    blocks += [Paragraph(note, "warning") for note in shown.notes]
    blocks += [
        Paragraph(f"{side.name} gave no answer: {clip(side.failed, SHOWN.message)}", "bad")
        for side in shown.sides
        if side.failed
    ]
    blocks += [Heading("Answers"), _answers(shown), Heading("Values"), _values(shown)]
    blocks += [Heading("Rankings"), Beside(tuple(_listing(shown, at) for at in range(len(shown.sides))))]
    blocks.append(Paragraph(_legend(shown), "quiet"))
    others = [form for form in shown.forms if form != shown.form]
    if others:
        blocks.append(Paragraph(f"It was also asked as {', '.join(others)} (--form).", "quiet"))
    return Document(f"{shown.gold}/{shown.query.id} ({shown.form})", tuple(blocks))


def _answers(shown: Shown) -> Block:
    """List what is right and what is a trap, with the rank that each had."""
    query = shown.query
    names = [(target.anchor, f"grade {target.grade}") for target in query.targets]
    names += [(a.target.anchor, f"adversary: {a.relationship}, {a.strength}") for a in query.adversaries]
    rows: list[list[str | Cell]] = []
    for at, (anchor, kind) in enumerate(names):
        right = at < len(query.targets)
        rows.append([anchor, kind, *(_rank(side, at, right=right) for side in shown.sides)])
    note = f"Ranks by {shown.level}; – is not among the first {shown.k}."
    return table(["place", "is", *(f">{side.name}" for side in shown.sides)], rows, note)


def _rank(side: Side, at: int, *, right: bool) -> Cell:
    """Write at which rank a place was found."""
    rank = side.ranks[at] if at < len(side.ranks) else None
    if rank is None:
        return Cell("–", "quiet")
    return Cell(str(rank), "good" if right else "bad")


def _values(shown: Shown) -> Block:
    """Show every measure of both, and what changed."""
    two = len(shown.sides) > 1
    rows: list[list[str | Cell]] = []
    for at, name in enumerate(shown.measures):
        values = [side.values[at] if at < len(side.values) else math.nan for side in shown.sides]
        row: list[str | Cell] = [name, *(_value(value) for value in values)]
        rows.append([*row, _change(name, values[0], values[-1])] if two else row)
    return table(["measure", *(f">{side.name}" for side in shown.sides), *([">change"] if two else [])], rows)


def _value(value: float) -> str:
    """Write a value; a measure that does not apply has none."""
    return f"{value:.3f}" if math.isfinite(value) else "–"


def _change(name: str, before: float, after: float) -> Cell:
    """Write a difference, good or bad by the direction of the measure."""
    change = after - before
    if not math.isfinite(change):
        return Cell("–", "quiet")
    if abs(change) < _SAME:
        return Cell("=", "quiet")
    better = (change > 0) == parse_measure(name).higher_is_better
    return Cell(f"{change:+.3f}", "good" if better else "bad")


def _listing(shown: Shown, at: int) -> Listing:
    """List one ranking; the second says how each place moved, the first which are gone."""
    side = shown.sides[at]
    two = len(shown.sides) > 1 and not any(one.failed for one in shown.sides)
    entries = tuple(_entry(shown, place, _tail(place, second=at > 0) if two else "") for place in side.places)
    empty = "" if entries or side.failed else "It answered with nothing."
    return Listing(side.name, entries, clip(side.failed, SHOWN.message) or empty)


def _entry(shown: Shown, place: Place, tail: str) -> Entry:
    """Write one hit, marked by what it is; its rank is that of the scores, and what repeats another has none."""
    text = clip(str(place.hit.span), SHOWN.example)
    mark = place.mark
    tone: Tone = "plain"
    sign = ""
    if mark.target is not None:
        sign, tone = f"✓{shown.query.targets[mark.target].grade}", "good"
        tone = tone if shown.query.targets[mark.target].grade >= PRIMARY else "plain"
        sign += _BESIDE if place.other_lines else ""
    elif mark.adversary is not None:
        sign, tone = "✗", "bad"
    elif mark.rank is None:
        sign, tone = "=", "quiet"
    return Entry(str(mark.rank or ""), sign, text, tail, tone)


def _tail(place: Place, *, second: bool) -> str:
    """Say how a place moved from the first ranking to the second; what repeats another did not."""
    rank = place.mark.rank
    if rank is None:
        return ""
    if place.other is None:
        return "new" if second else "gone"
    if not second:
        return ""
    moved = place.other - rank
    return f"↑{moved}" if moved > 0 else f"↓{-moved}" if moved < 0 else "="


def _legend(shown: Shown) -> str:
    """Say what the signs mean, as far as they are there."""
    places = [place for side in shown.sides for place in side.places]
    marks = [place.mark for place in places]
    said = ["✓2 is an answer of grade 2" if any(mark.target is not None for mark in marks) else ""]
    said.append(f"{_BESIDE}: right file, other lines" if any(place.other_lines for place in places) else "")
    said.append("✗ an adversary" if any(mark.adversary is not None for mark in marks) else "")
    said.append("= before a place: it repeats one above" if any(mark.rank is None for mark in marks) else "")
    said.append("↑2: two ranks up from the first to the second" if len(shown.sides) > 1 else "")
    parts = [part for part in said if part]
    found = sum(mark.target is not None for mark in marks)
    return "; ".join(parts) + "." if parts else f"{count(found, 'answer')} found."


def show_json(shown: Shown) -> dict[str, object]:
    """Give all of it to a program."""
    return {
        "schema": "assay/show/1",
        "gold": shown.gold,
        "query": shown.query.id,
        "form": shown.form,
        "forms": list(shown.forms),
        "text": shown.query.forms[shown.form],
        "k": shown.k,
        "level": shown.level,
        "targets": [{"anchor": t.anchor, "grade": t.grade, "span": t.span} for t in shown.query.targets],
        "adversaries": [
            {"anchor": a.target.anchor, "relationship": a.relationship, "strength": a.strength, "span": a.target.span}
            for a in shown.query.adversaries
        ],
        "sides": [_side_json(shown, side) for side in shown.sides],
        "notes": list(shown.notes),
    }


def _side_json(shown: Shown, side: Side) -> dict[str, object]:
    """Give one ranking."""
    ranking = side.ranking
    return {
        "name": side.name,
        "status": None if ranking is None else str(ranking.status),
        "error": None if ranking is None else ranking.error,
        "values": dict(zip(shown.measures, side.values, strict=False)),
        "hits": [
            {
                "rank": rank,
                "path": place.hit.path,
                "start": place.hit.start,
                "end": place.hit.end,
                "score": place.hit.score,
                "distinct": place.mark.rank,
                "target": place.mark.target,
                "adversary": place.mark.adversary,
                "other_lines": place.other_lines,
                "other": place.other,
            }
            for rank, place in enumerate(side.places, start=1)
        ],
    }
