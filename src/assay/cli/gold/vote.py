"""Cast votes: on the terminal, by flags, from a file, or by a model."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from assay.cli.options import required_endpoint
from assay.cli.output import emit, info, pluralize, warn
from assay.errors import ConfigError, GoldError, InputError

if TYPE_CHECKING:
    from assay.gold.review.items import ReviewItem
    from assay.gold.review.reviewers import VoteInput
    from assay.gold.review.views import ReviewWorkspace
    from assay.gold.review.votes import ReviewRules, Vote, VoteLog


def open_review(path: Path, corpus: str | None) -> ReviewWorkspace:
    """Open the review of a gold file."""
    from assay.corpus import parse_spec
    from assay.gold.load import relative_corpus
    from assay.gold.review.views import ReviewWorkspace

    if path.is_dir():
        raise GoldError("is a folder", file=path, hint="review one gold file at a time")
    desk = ReviewWorkspace(path, relative_corpus(parse_spec(corpus), str(path)) if corpus else None)
    if not path.exists() and not desk.queue.directory.is_dir():
        hint = f"name a gold file, or propose queries for a new one: assay gold mine . --set {path}"
        raise GoldError("there is no such file, and nothing was proposed for one", file=path, hint=hint)
    return desk


def warn_truncated(desk: ReviewWorkspace, reviewer: str | None = None) -> None:
    """Warn of journals that end in half a line."""
    for path, size in desk.truncated_files(reviewer):
        warn(f"{path}: the last line is cut off ({pluralize(size, 'byte')}) and does not count")


def reviewer_of(args: argparse.Namespace) -> str:
    """Give who votes or decides."""
    from assay.gold.review.votes import check_name

    if not args.reviewer:
        raise ConfigError("nobody is named", hint="say who you are: --as NAME")
    return check_name(args.reviewer)


def rules_of(args: argparse.Namespace) -> ReviewRules:
    """Give when votes settle an item: as --least says, or as it is everywhere."""
    from assay.gold.review.votes import ReviewRules

    return ReviewRules() if args.least is None else ReviewRules(args.least)


def is_interactive() -> bool:
    """Tell whether somebody sits there who can be asked."""
    return sys.stdin.isatty()


def ask_line(prompt: str) -> str | None:
    """Ask for a line on stderr's side of the terminal; None when there are no more."""
    print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201  # a question to the person at the terminal
    line = sys.stdin.readline()
    return line.strip() if line else None


def show(lines: Iterable[str]) -> None:
    """Show lines of foreign text on the terminal."""
    from assay.cli.output import clean

    for line in lines:
        print(clean(line))  # noqa: T201  # what the reviewer reads


def read_flags(given: list[str], reasons: list[str] | None) -> list[VoteInput]:
    """Read `ITEM=VALUE` flags with their reasons: one for each, or one for all."""
    from assay.gold.review.reviewers import VoteInput

    said = list(reasons or [])
    if len(said) == 1:
        said *= len(given)
    if len(said) != len(given):
        many = f"{pluralize(len(given), 'vote')} and {pluralize(len(said), 'reason')}"
        raise ConfigError(many, hint='give each its --reason "..."')
    rows = []
    for text, reason in zip(given, said, strict=True):
        item, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"'{text}' is no vote", hint="write ITEM=VALUE, such as 3f2a91c0d4e5=2")
        rows.append(VoteInput(item.strip(), value.strip(), reason))
    return rows


T = TypeVar("T")

#: A value that stands for "show me the one before again".
BACK = "back"
#: What may be typed besides a value; each also by its first letter.
HELP = "Enter or s skips, b goes back, q ends"
_WORDS = {"": "", "s": "", "skip": "", "b": BACK, "back": BACK}
_END = ("q", "quit")


def walk(things: Sequence[T], ask: Callable[[T, str], VoteInput | None], keep: Callable[[T, VoteInput], object]) -> int:
    """Ask about thing after thing and keep each answer before the next; give how many were answered."""
    kept: set[int] = set()
    at = 0
    try:
        while at < len(things):
            said = ask(things[at], f"{at + 1}/{len(things)}")
            if said is None:
                break
            if said.value == BACK:
                at = max(0, at - 1)
                continue
            if said.value:
                keep(things[at], said)
                kept.add(at)
            at += 1
    except KeyboardInterrupt:
        warn(f"\n{pluralize(len(kept), 'answer')} kept; only the one that was being given is lost")
        raise
    return len(kept)


def ask_said(args: argparse.Namespace, item: str, question: str, values: Sequence[str]) -> VoteInput | None:
    """Ask for a value and a reason; an empty value skips, None ends."""
    from assay.gold.review.reviewers import VoteInput

    while True:
        answer = ask_line(f"{question} ({HELP}): ")
        if answer is None or answer.casefold() in _END:
            return None
        if answer.casefold() in _WORDS:
            return VoteInput(item, _WORDS[answer.casefold()], "")
        value = match_choice(answer, values)
        if value is not None:
            break
        info(args, f"'{answer}' is none of {', '.join(values)}")
    while not (reason := ask_line("why: ")):
        if reason is None:
            return None
        info(args, "a few words, please: without a reason nobody can settle a dispute later")
    return VoteInput(item, value, reason)


def match_choice(answer: str, values: Sequence[str]) -> str | None:
    """Find the value that was typed: in any case, or so much of it that it can be no other."""
    found = [value for value in values if value.startswith(answer.casefold())]
    return found[0] if len(found) == 1 else None


_COLUMNS = ("item", "vote", "reason")


def vote_on_terminal(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Show item after item and ask; every vote is on the disk before the next item is shown."""
    ballot = _ballot(args, desk)
    if not is_interactive() or args.json:
        hint = "use --list to see what is open, then --vote ITEM=VALUE --reason TEXT, or --votes FILE"
        raise ConfigError("there is no terminal to ask on", hint=hint)
    cast = walk(
        _next_items(args, desk, ballot),
        lambda item, place: _asked(args, desk, item, place),
        lambda item, said: ballot.cast([_vote(args, desk, ballot, item, said)]),
    )
    return _report(args, desk, ballot, cast)


def _asked(args: argparse.Namespace, desk: ReviewWorkspace, item: ReviewItem, place: str) -> VoteInput | None:
    """Show an item and ask for a vote; None when the reviewer wants to stop."""
    from assay.gold.review.views import format_view
    from assay.gold.review.votes import vote_question, vote_values

    show(["", f"── {place} " + "─" * 40, *format_view(desk.viewer.view(item), engines=args.show_engines), ""])
    return ask_said(args, item.id, vote_question(item.kind), vote_values(item.kind))


def list_open(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Show what this reviewer has not voted on."""
    from assay.gold.review.reviewers import list_open_items
    from assay.gold.review.views import view_mapping
    from assay.gold.review.votes import vote_question
    from assay.report.render.document import Document, Paragraph, table

    ballot = _ballot(args, desk)
    waiting = _next_items(args, desk, ballot)
    views = [view_mapping(desk.viewer.view(item), engines=args.show_engines) for item in waiting]
    rows = [[item.id, item.kind, item.query.id, item.query.headline, _places(item)] for item in waiting]
    left = len(list_open_items(desk, ballot))
    listed = f", {len(waiting)} of them listed" if len(waiting) < left else ""
    many = f"{pluralize(left, 'item')} {'is' if left == 1 else 'are'} open for {ballot.reviewer}{listed}."
    done = Paragraph(f"{many} Vote with --vote ITEM=VALUE --reason TEXT.")
    kinds = sorted({item.kind for item in waiting})
    meaning = tuple(Paragraph(f"{kind}: {vote_question(kind)}", "quiet") for kind in kinds)
    document = Document(
        f"Review of {desk.path.name}", (table(["item", "kind", "query", "asks", "places"], rows), done, *meaning)
    )
    emit(args, document, {"schema": "assay/gold-review-list/1", "reviewer": ballot.reviewer, "items": views})
    return 0


def vote_by_flags(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Take the votes that stand on the command line."""
    from assay.gold.review.votes import find_item

    ballot, items = _ballot(args, desk), desk.items()
    said = read_flags(args.vote, args.reason)
    votes = [_vote(args, desk, ballot, find_item(items, one.item), one) for one in said]
    ballot.cast(votes)
    return _report(args, desk, ballot, len(votes))


def vote_by_file(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Take the votes of a CSV file: all of them, or none when one is wrong; then every wrong line is told."""
    from assay.gold.review.votes import find_item

    ballot, items, path = _ballot(args, desk), desk.items(), Path(args.votes)
    read = _read_votes(path)
    votes, wrong = [], list(read.wrong)
    for one in read.said:
        try:
            votes.append(_vote(args, desk, ballot, find_item(items, one.item), one))
        except InputError as error:
            wrong.append(GoldError(error.message, file=path, line=one.line, hint=error.hint))
    if wrong:
        raise _all_wrong(sorted(wrong, key=lambda error: error.line or 0))
    if not votes:
        raise GoldError("holds no vote", file=path, hint="one line each: item,vote,reason")
    ballot.cast(votes)
    return _report(args, desk, ballot, len(votes))


def vote_by_model(args: argparse.Namespace, desk: ReviewWorkspace) -> int:
    """Let a model judge what is open for it; an answer that is no vote is told and not counted."""
    from assay.gold.review.reviewers import VoteInput, ask_model, make_vote, review_prompt_version

    endpoint = required_endpoint(args)
    ballot = _ballot(args, desk)
    waiting, bad = _next_items(args, desk, ballot), 0
    for number, item in enumerate(waiting, 1):
        answer = ask_model(endpoint, desk.viewer.view(item))
        if answer.problem:
            bad += 1
            info(args, f"{number}/{len(waiting)} {item.id}: {answer.problem}; no vote")
            continue
        said = VoteInput(item.id, answer.value, answer.reason)
        prompt = f"{endpoint.name} prompt {review_prompt_version()}"
        ballot.cast([make_vote(desk, ballot.reviewer, item, said, prompt=prompt)])
        info(args, f"{number}/{len(waiting)} {item.id}: {answer.value}")
    return _report(args, desk, ballot, len(waiting) - bad)


@dataclass(frozen=True, slots=True)
class _Read:
    """The votes of a file, and the lines that are none."""

    said: list[VoteInput]
    wrong: list[GoldError]


def _read_votes(path: Path) -> _Read:
    import csv

    from assay.files import read_utf8
    from assay.gold.review.reviewers import VoteInput

    found = _Read([], [])
    reader = csv.reader(read_utf8(path, GoldError).splitlines(keepends=True), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or tuple(cell.casefold() for cell in cells) == _COLUMNS:
                continue
            _check_header(path, cells, reader.line_num)
            if len(cells) == len(_COLUMNS):
                found.said.append(VoteInput(cells[0], cells[1], cells[2], reader.line_num))
            else:
                found.wrong.append(
                    GoldError(pluralize(len(row), "column"), file=path, line=reader.line_num, hint=_WANTED)
                )
    except csv.Error as error:
        raise GoldError(f"not CSV: {error}", file=path, line=reader.line_num, hint="check the quotes") from error
    return found


_WANTED = "write item,vote,reason; a reason with a comma needs quotes"


def _check_header(path: Path, cells: list[str], line: int) -> None:
    if line != 1:
        return
    mark = next((name for sign, name in _SEPARATORS.items() if len(cells) == 1 and sign in cells[0]), None)
    if mark:
        raise GoldError(f"the columns are separated by {mark}", file=path, line=1, hint="separate them by commas")
    if cells[0].casefold() in _COLUMNS or "item" in (cell.casefold() for cell in cells):
        raise GoldError(f"the columns are {', '.join(cells)}", file=path, line=1, hint="name them item,vote,reason")


_SEPARATORS = {";": "semicolons", "\t": "tabs", "|": "bars"}
#: Wrong lines that are listed behind the first; more are counted.
_LISTED = 20


def _all_wrong(wrong: Sequence[GoldError]) -> GoldError:
    """Make one error of all wrong lines, so that one look mends them all."""
    first, *others = wrong
    lines = [f"  {error.file}:{error.line}: {error.message}" for error in others[:_LISTED]]
    more = [f"  … and {len(others) - _LISTED} more"] if len(others) > _LISTED else []
    count = f" (and {pluralize(len(others), 'more wrong line')})" if others else ""
    text = "\n".join([f"{first.message}{count}", *lines, *more])
    return GoldError(text, file=first.file, line=first.line, hint=f"{first.hint}; no vote of the file was taken")


def _ballot(args: argparse.Namespace, desk: ReviewWorkspace) -> VoteLog:
    from assay.gold.review.votes import VoteLog, check_may_vote

    ballot = VoteLog(desk.queue, reviewer_of(args))
    check_may_vote(desk.queue, ballot.reviewer)
    warn_truncated(desk, ballot.reviewer)
    return ballot


def _next_items(args: argparse.Namespace, desk: ReviewWorkspace, ballot: VoteLog) -> list[ReviewItem]:
    from assay.gold.review.reviewers import list_open_items

    if args.most is not None and args.most < 1:
        raise ConfigError(f"--most {args.most}", hint="at least 1")
    return list_open_items(desk, ballot)[: args.most]


def _vote(args: argparse.Namespace, desk: ReviewWorkspace, ballot: VoteLog, item: ReviewItem, said: VoteInput) -> Vote:
    from assay.gold.review.reviewers import make_vote

    return make_vote(desk, ballot.reviewer, item, said, engines=args.show_engines)


def _places(item: ReviewItem) -> str:
    if item.kind == "adversary":
        return item.adversary.target.anchor
    return ", ".join(target.anchor for target in item.query.targets)


def _report(args: argparse.Namespace, desk: ReviewWorkspace, ballot: VoteLog, cast: int) -> int:
    from assay.gold.review.reviewers import list_open_items
    from assay.report.render.document import Document, Paragraph

    left = len(list_open_items(desk, ballot))
    text = f"{ballot.reviewer}: {pluralize(cast, 'vote')} kept, {left} open."
    data = {"schema": "assay/gold-review-vote/1", "reviewer": ballot.reviewer, "cast": cast, "open": left}
    sys.stdout.flush()
    emit(args, Document("Votes", (Paragraph(text),)), data)
    return 0
