"""How a reviewer votes: on the terminal, by flags, by a file, or as a model. No other reviewer's file is opened."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.gold.desk import Desk, Said, ask_line, on_terminal, read_flags, reviewer_of, show
from assay.cli.output import emit, say
from assay.errors import ConfigError, GoldError

if TYPE_CHECKING:
    from assay.chat import Endpoint
    from assay.gold.review import Item
    from assay.gold.review.votes import Ballot, Vote

_COLUMNS = ("item", "vote", "reason")
_SKIP, _END = ("", "s", "skip"), ("q", "quit")


def vote_on_terminal(args: argparse.Namespace, desk: Desk) -> int:
    """Show item after item and ask; every vote is on the disk before the next item is shown."""
    ballot = _ballot(args, desk)
    if not on_terminal() or args.json:
        hint = "use --list to see what is open, then --vote ITEM=VALUE --reason TEXT, or --votes FILE"
        raise ConfigError("there is no terminal to ask on", hint=hint)
    cast = 0
    waiting = _open_items(args, desk, ballot)
    for number, item in enumerate(waiting, 1):
        said = _asked(args, desk, item, f"{number}/{len(waiting)}")
        if said is None:
            break
        if said.value not in _SKIP:
            ballot.cast([_vote(args, desk, ballot, item, said)])
            cast += 1
    return _report(args, ballot, cast, len(waiting) - cast)


def _asked(args: argparse.Namespace, desk: Desk, item: Item, place: str) -> Said | None:
    """Ask for one vote until it is one; None when the reviewer wants to stop."""
    from assay.gold.review.viewing import QUESTIONS, describe
    from assay.gold.review.votes import values_for

    show(["", f"── {place} " + "─" * 40, *describe(desk.viewer.view(item), engines=args.show_engines), ""])
    while True:
        value = ask_line(f"{QUESTIONS[item.kind]} (Enter skips, q ends): ")
        if value is None or value.casefold() in _END:
            return None
        if value.casefold() in _SKIP:
            return Said(item.id, "", "")
        if value in values_for(item.kind):
            break
        say(args, f"'{value}' is none of {', '.join(values_for(item.kind))}")
    while not (reason := ask_line("why: ")):
        if reason is None:
            return None
    return Said(item.id, value, reason)


def list_open(args: argparse.Namespace, desk: Desk) -> int:
    """Show what this reviewer has not voted on."""
    from assay.gold.review.viewing import QUESTIONS, view_mapping
    from assay.report.document import Document, Paragraph, table

    ballot = _ballot(args, desk)
    waiting = _open_items(args, desk, ballot)
    views = [view_mapping(desk.viewer.view(item), engines=args.show_engines) for item in waiting]
    rows = [[item.id, item.kind, item.query.id, _about(item)] for item in waiting]
    done = Paragraph(f"{len(waiting)} items are open for {ballot.reviewer}. Vote with --vote ITEM=VALUE --reason TEXT.")
    kinds = sorted({item.kind for item in waiting})
    meaning = tuple(Paragraph(f"{kind}: {QUESTIONS[kind]}", "quiet") for kind in kinds)
    document = Document(
        f"Review of {desk.path.name}", (table(["item", "kind", "query", "about"], rows), done, *meaning)
    )
    emit(args, document, {"schema": "assay/gold-review-list/1", "reviewer": ballot.reviewer, "items": views})
    return 0


def vote_by_flags(args: argparse.Namespace, desk: Desk) -> int:
    """Take the votes that stand on the command line."""
    return _cast_all(args, desk, read_flags(args.vote, args.reason), "the command line")


def vote_by_file(args: argparse.Namespace, desk: Desk) -> int:
    """Take the votes of a CSV file: all of them, or none when one is wrong."""
    return _cast_all(args, desk, _read_votes(Path(args.votes)), args.votes)


def vote_by_model(args: argparse.Namespace, desk: Desk) -> int:
    """Let a model judge what is open for it; an answer that is no vote is told and not counted."""
    from assay.gold.review.models import ask_model, version

    endpoint = _endpoint(args)
    ballot = _ballot(args, desk)
    waiting, bad = _open_items(args, desk, ballot), 0
    for number, item in enumerate(waiting, 1):
        answer = ask_model(endpoint, desk.viewer.view(item))
        if answer.problem:
            bad += 1
            say(args, f"{number}/{len(waiting)} {item.id}: {answer.problem}; no vote")
            continue
        said = Said(item.id, answer.value, answer.reason)
        ballot.cast([_vote(args, desk, ballot, item, said, prompt=f"{endpoint.name} prompt {version()}")])
        say(args, f"{number}/{len(waiting)} {item.id}: {answer.value}")
    return _report(args, ballot, len(waiting) - bad, bad)


def _cast_all(args: argparse.Namespace, desk: Desk, said: Sequence[Said], source: str) -> int:
    """Check every vote, then write all in one go."""
    from assay.gold.review.votes import find_item

    ballot = _ballot(args, desk)
    items = desk.items()
    if not said:
        raise GoldError("holds no vote", file=source, hint="one line each: item,vote,reason")
    votes = [_vote(args, desk, ballot, find_item(items, one.item), one) for one in said]
    ballot.cast(votes)
    return _report(args, ballot, len(votes), len(_open_items(args, desk, ballot)))


def _read_votes(path: Path) -> list[Said]:
    """Read a CSV of votes, with or without its header."""
    import csv

    from assay.files import read_utf8

    text = read_utf8(path, GoldError)
    rows = []
    reader = csv.reader(text.splitlines(keepends=True), strict=True)
    try:
        for row in reader:
            if row and tuple(cell.strip().casefold() for cell in row) != _COLUMNS:
                if len(row) != len(_COLUMNS):
                    hint = "write item,vote,reason; a reason with a comma needs quotes"
                    raise GoldError(f"{len(row)} columns", file=path, line=reader.line_num, hint=hint)
                rows.append(Said(row[0].strip(), row[1].strip(), row[2].strip()))
    except csv.Error as error:
        raise GoldError(f"not CSV: {error}", file=path, line=reader.line_num, hint="check the quotes") from error
    return rows


def _ballot(args: argparse.Namespace, desk: Desk) -> Ballot:
    """Open the votes of the one who votes."""
    from assay.gold.review.votes import Ballot

    return Ballot(desk.queue, reviewer_of(args))


def _open_items(args: argparse.Namespace, desk: Desk, ballot: Ballot) -> list[Item]:
    """Give what the reviewer has not voted on, in queue order."""
    if args.most is not None and args.most < 1:
        raise ConfigError(f"--most {args.most}", hint="at least 1")
    said = ballot.votes()
    return [item for item in desk.items() if item.id not in said][: args.most]


def _vote(args: argparse.Namespace, desk: Desk, ballot: Ballot, item: Item, said: Said, prompt: str = "") -> Vote:
    """Make the record of a vote."""
    from assay.gold.circumstances import now
    from assay.gold.review.votes import Vote, check_vote

    check_vote(item, said.value, said.reason)
    return Vote(
        item=item.id,
        reviewer=ballot.reviewer,
        value=said.value,
        reason=said.reason,
        on=now(),
        reader="model" if prompt else "human",
        prompt=prompt,
        commit=desk.commit,
        shown=item.origin.shown_by if args.show_engines else (),
    )


def _endpoint(args: argparse.Namespace) -> Endpoint:
    """Read where the model is served."""
    from assay.chat import Endpoint

    url, mark, model = args.model.rpartition("#")
    if not mark:
        raise ConfigError(f"'{args.model}' names no model", hint="write URL#MODEL")
    if args.show_engines:
        raise ConfigError("--show-engines is for people", hint="a model never sees who returned a place")
    return Endpoint(url, model, args.token_env)


def _about(item: Item) -> str:
    """Say in a few words what an item proposes."""
    if item.kind == "target":
        return item.target.anchor
    if item.kind == "adversary":
        return item.adversary.target.anchor
    return item.query.forms[item.form]


def _report(args: argparse.Namespace, ballot: Ballot, cast: int, left: int) -> int:
    """Say what was voted and what is left."""
    from assay.report.document import Document, Paragraph

    text = f"{ballot.reviewer}: {cast} {'vote' if cast == 1 else 'votes'} kept, {left} open."
    data = {"schema": "assay/gold-review-vote/1", "reviewer": ballot.reviewer, "cast": cast, "open": left}
    sys.stdout.flush()
    emit(args, Document("Votes", (Paragraph(text),)), data)
    return 0
