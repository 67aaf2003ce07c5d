"""What becomes of votes: where items stand, decisions on what is disputed, and gold."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from assay.cli.gold.desk import Desk, Said, ask_line, on_terminal, read_flags, reviewer_of, show
from assay.cli.output import emit, say
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.gold.anchors.resolving import Problem
    from assay.gold.review import Item
    from assay.gold.review.accepting import Acceptance
    from assay.gold.review.decisions import Decision
    from assay.gold.review.standing import Standing
    from assay.types import Gold


def show_status(args: argparse.Namespace, desk: Desk) -> int:
    """Count the items by state, and the votes by reviewer."""
    from assay.gold.review.accepting import read_standings
    from assay.gold.review.standing import STATES, ReviewRules
    from assay.report.document import Document, table

    found = read_standings(desk.queue, ReviewRules(args.least))
    states = Counter(standing.state for standing in found)
    kinds = sorted({standing.item.kind for standing in found})
    by_kind = {kind: Counter(s.state for s in found if s.item.kind == kind) for kind in kinds}
    rows = [[state, str(states[state]), *(str(by_kind[kind][state]) for kind in kinds)] for state in STATES]
    votes = Counter(vote.reviewer for standing in found for vote in standing.votes)
    people = [[name, _reader(found, name), str(votes[name]), str(len(found) - votes[name])] for name in sorted(votes)]
    blocks = (
        table(
            ["state", ">items", *(f">{kind}" for kind in kinds)], rows, f"Agreed: at least {args.least} say the same."
        ),
        table(["reviewer", "reader", ">votes", ">open"], people),
    )
    data = {
        "schema": "assay/gold-review-status/1",
        "items": len(found),
        "states": {state: states[state] for state in STATES},
        "kinds": {kind: dict(sorted(by_kind[kind].items())) for kind in kinds},
        "reviewers": {name: votes[name] for name in sorted(votes)},
    }
    emit(args, Document(f"Review of {desk.path.name}", blocks), data)
    return 0


def _reader(found: Sequence[Standing], name: str) -> str:
    """Say whether a reviewer is a person or a model."""
    readers = {vote.reader for standing in found for vote in standing.votes if vote.reviewer == name}
    return ", ".join(sorted(readers))


def adjudicate(args: argparse.Namespace, desk: Desk) -> int:
    """Show what is disputed with all votes, and take decisions where there is a terminal."""
    from assay.gold.review.accepting import read_standings
    from assay.gold.review.standing import ReviewRules

    disputed = [s for s in read_standings(desk.queue, ReviewRules(args.least)) if s.state == "disputed"]
    if args.json or not on_terminal():
        return _list_disputed(args, desk, disputed)
    reviewer, taken = reviewer_of(args), 0
    for number, standing in enumerate(disputed, 1):
        said = _asked(args, desk, standing, f"{number}/{len(disputed)}")
        if said is None:
            break
        taken += _decide(desk, reviewer, [said]) if said.value else 0
    return _decided(args, taken, len(disputed) - taken)


def _asked(args: argparse.Namespace, desk: Desk, standing: Standing, place: str) -> Said | None:
    """Ask for one decision."""
    from assay.gold.review.viewing import describe
    from assay.gold.review.votes import UNSURE, values_for

    values = [value for value in values_for(standing.item.kind) if value != UNSURE]
    lines = [*describe(desk.viewer.view(standing.item), engines=args.show_engines), "", *_vote_lines(standing), ""]
    show(["", f"── {place} " + "─" * 40, *lines])
    while True:
        value = ask_line(f"what holds? {', '.join(values)} (Enter skips, q ends): ")
        if value is None or value in ("q", "quit"):
            return None
        if value in ("", *values):
            break
        say(args, f"'{value}' is none of {', '.join(values)}")
    if not value:
        return Said(standing.item.id, "", "")
    while not (reason := ask_line("why: ")):
        if reason is None:
            return None
    return Said(standing.item.id, value, reason)


def _vote_lines(standing: Standing) -> list[str]:
    """Write what everybody said."""
    return [f"{vote.reviewer} ({vote.reader}): {vote.value}, {vote.reason}" for vote in standing.votes]


def _list_disputed(args: argparse.Namespace, desk: Desk, disputed: Sequence[Standing]) -> int:
    """Show what is disputed, for a pipe or an agent."""
    from assay.gold.review.viewing import view_mapping
    from assay.gold.review.votes import vote_mapping
    from assay.report.document import Document, Paragraph, table

    rows = [[s.item.id, s.item.kind, s.item.query.id, "; ".join(_vote_lines(s))] for s in disputed]
    then = Paragraph(f"{len(disputed)} items are disputed. Decide with --as NAME --decide ITEM=VALUE --reason TEXT.")
    data = [
        view_mapping(desk.viewer.view(s.item), engines=args.show_engines)
        | {"cast": [vote_mapping(vote) for vote in s.votes]}
        for s in disputed
    ]
    document = Document("Disputed", (table(["item", "kind", "query", "votes"], rows), then))
    emit(args, document, {"schema": "assay/gold-review-disputed/1", "items": data})
    return 0


def take_decisions(args: argparse.Namespace, desk: Desk) -> int:
    """Take the decisions that stand on the command line."""
    taken = _decide(desk, reviewer_of(args), read_flags(args.decide, args.reason))
    return _decided(args, taken, 0)


def _decide(desk: Desk, reviewer: str, said: Sequence[Said]) -> int:
    """Check every decision, then write all in one go."""
    from assay.gold.review.decisions import decide

    items = desk.items()
    decisions = [_decision(desk, reviewer, one, items) for one in said]
    decide(desk.queue, decisions)
    return len(decisions)


def _decision(desk: Desk, reviewer: str, said: Said, items: Sequence[Item]) -> Decision:
    """Make the record of a decision."""
    from assay.gold.circumstances import now
    from assay.gold.review.decisions import Decision
    from assay.gold.review.votes import UNSURE, check_vote, find_item

    item = find_item(items, said.item)
    if said.value == UNSURE:
        raise ConfigError(f"'{UNSURE}' decides nothing", hint="leave the item open, or decide it")
    check_vote(item, said.value, said.reason)
    return Decision(item.id, reviewer, said.value, said.reason, now(), desk.commit)


def _decided(args: argparse.Namespace, taken: int, left: int) -> int:
    """Say what was decided."""
    from assay.report.document import Document, Paragraph

    text = f"{taken} decided" + (f", {left} still disputed." if left else ".")
    data = {"schema": "assay/gold-review-decide/1", "decided": taken, "disputed": left}
    emit(args, Document("Decisions", (Paragraph(text),)), data)
    return 0


def accept_settled(args: argparse.Namespace, desk: Desk) -> int:
    """Write what is settled into the set, and say what that came to."""
    from assay.gold.circumstances import now
    from assay.gold.review.accepting import accept
    from assay.gold.review.standing import ReviewRules

    desk.items()
    made = accept(
        desk.queue,
        desk.load,
        lambda gold: _problems(desk, gold),
        corpus=desk.given,
        rules=ReviewRules(args.least),
        on=now(),
    )
    _tell_accepted(args, desk, made)
    return 0


def _problems(desk: Desk, gold: Gold) -> tuple[Problem, ...]:
    """Find the errors that lint sees in a set."""
    from assay.gold.anchors.resolving import Problem
    from assay.gold.lint import lint

    errors = [finding for finding in lint(gold, desk.corpus).findings if finding.severity == "error"]
    return tuple(Problem(e.code, e.query, e.anchor, e.message, e.file, e.line, e.hint) for e in errors)


def _tell_accepted(args: argparse.Namespace, desk: Desk, made: Acceptance) -> None:
    """Say what became gold, what was turned down, and what could not be taken."""
    from assay.report.document import Document, Paragraph, table

    turned = len(made.taken) - made.added
    size = f"{desk.path} has {len(made.gold.queries)} queries." if made.gold else f"There is no {desk.path} yet."
    blocks = [Paragraph(f"{made.added} items became gold, {turned} were turned down. {size}")]
    if made.whole and made.added:
        blocks.append(Paragraph("The whole file was written anew: comments in it are gone.", "warning"))
    blocks += [Paragraph(lost, "warning") for lost in made.lost]
    rows = [[refusal.item, refusal.query, refusal.reason] for refusal in made.refused]
    refused = (table(["item", "query", "left out because"], rows),) if rows else ()
    data = {
        "schema": "assay/gold-review-accept/1",
        "file": str(desk.path),
        "added": made.added,
        "turned_down": turned,
        "items": {standing.item.id: standing.value for standing in made.taken},
        "refused": [{"item": r.item, "query": r.query, "reason": r.reason} for r in made.refused],
        "queries": len(made.gold.queries) if made.gold else 0,
        "lost": list(made.lost),
    }
    emit(args, Document("Accepted", (*blocks, *refused)), data)


def queue_labels(args: argparse.Namespace, desk: Desk) -> int:
    """Put the labels that the set has into the queue."""
    from assay.errors import GoldError
    from assay.gold.circumstances import today
    from assay.gold.review.auditing import label_items
    from assay.report.document import Document, Paragraph

    gold = desk.load()
    if gold is None:
        raise GoldError("there is no such file", file=desk.path, hint="check the path")
    added = desk.queue.add(label_items(gold, on=today(), commit=desk.commit))
    text = f"{added.new} labels queued, {added.known} were in the queue already."
    data = {"schema": "assay/gold-review-queue/1", "new": added.new, "known": added.known}
    emit(args, Document("Labels to judge again", (Paragraph(text),)), data)
    return 0
