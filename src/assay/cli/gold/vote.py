from __future__ import annotations

import csv
import re
import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

from assay.cli.console import clean, emit_blocks, info, log, pluralize, warn, write_result
from assay.cli.gold.lint import lint_dependencies
from assay.cli.options import endpoint_of
from assay.corpus import parse_spec
from assay.errors import ConfigError, GoldError, InputError
from assay.files import read_utf8
from assay.gold.anchors import AnchorProblem
from assay.gold.git_history import user_name
from assay.gold.lint.registry import lint
from assay.gold.load import relative_corpus
from assay.gold.review.items import ReviewItem
from assay.gold.review.reviewers import (
    VoteInput,
    ask_model,
    list_open_items,
    make_vote,
    queue_drafts,
    review_prompt_version,
    reword_query,
)
from assay.gold.review.views import ReviewWorkspace, format_view, view_mapping
from assay.gold.review.votes import (
    Vote,
    VoteLog,
    check_may_vote,
    check_name,
    find_item,
    list_reviewers,
    vote_question,
    vote_values,
)
from assay.report.render.document import Block, Paragraph, table
from assay.types import GoldSet

T = TypeVar("T")

_BACK = "back"  # the value of an answer that returns to the previous item
#: Words that may be typed instead of a value.
_WORDS = {"": "", "s": "", "skip": "", "b": _BACK, "back": _BACK}
_REWORD = "edit"  # replaces the question and accepts it
#: What `?` prints about the values of a query; labels are explained by their question.
_HELP = {
    "accept": "a user would ask this, and the code shown answers it",
    "reject": "drops the query",
    "unsure": "leaves the query open",
    _REWORD: "asks for another question about the same code, and accepts it in place of this one",
}
_inputs: Counter[str] = Counter()  # lines read from the terminal


def open_review(path: Path, corpus: str | None) -> ReviewWorkspace:
    if path.is_dir():
        raise GoldError("expected a file, got a directory", file=path, hint="pass one gold file")
    workspace = ReviewWorkspace(path, relative_corpus(parse_spec(corpus), str(path)) if corpus else None)
    if path.exists() and path.suffix in (".yaml", ".yml"):
        queue_drafts(workspace)
    if not path.exists() and not workspace.queue.directory.is_dir():
        raise GoldError("no such file, and no proposals for it", file=path, hint=f"assay gold mine . --set {path}")
    return workspace


def warn_truncated(workspace: ReviewWorkspace, reviewer: str | None = None) -> None:
    """Warn about journals whose last line is incomplete."""
    for path, size in workspace.truncated_files(reviewer):
        warn(f"{path}: ignored the incomplete last line ({pluralize(size, 'byte')})")


def set_problems(workspace: ReviewWorkspace, gold: GoldSet) -> tuple[AnchorProblem, ...]:
    tools = lint_dependencies(gold.name, workspace.corpus.spec, workspace.path.parent)
    findings = lint(gold, workspace.corpus, tools=tools).findings
    return tuple(
        AnchorProblem(f.code, f.query, f.anchor, f.message, f.file, f.line, f.hint)
        for f in findings
        if f.severity == "error"
    )


def reviewer_of(args: Namespace) -> str:
    """Return the name given by --reviewer, else Git's user.name, else the login name."""
    if args.reviewer:
        return check_name(args.reviewer)
    return check_name(re.sub(r"[^A-Za-z0-9._@+-]+", "-", user_name(Path(args.set).parent)).strip("-.") or "reviewer")


def vote_on_terminal(args: Namespace, workspace: ReviewWorkspace) -> None:
    """Show the open items and read a vote on each; a vote is saved before the next item is shown."""
    log = _open_log(args, workspace)
    if not sys.stdin.isatty() or args.json:
        hint = "list the open items: assay gold review --list; then vote: --vote ITEM=VALUE --reason TEXT"
        raise ConfigError("cannot read votes: stdin is not a terminal", hint=hint)

    alone = set(list_reviewers(workspace.queue)) <= {log.reviewer}

    def ask(item: ReviewItem, position: str) -> VoteInput | None:
        print_item(args, workspace, item, position, f"query: {item.query.headline}")  # again below the code
        values = (*vote_values(item.kind), *([_REWORD] if item.kind == "query" else []))
        question = vote_question(item.kind) + (f", {_REWORD}" if _REWORD in values else "")
        return ask_vote(
            args, item.id, question, values, reason="the only reviewer" if alone and item.kind == "query" else ""
        )

    def save(item: ReviewItem, given: VoteInput) -> None:
        if given.value == _REWORD:
            reword_query(workspace, log, item, given.reason)
        else:
            log.cast([_make_vote(args, workspace, log, item, given)])

    before = _inputs["lines"]
    cast = ask_each(_open_items(args, workspace, log), ask, save)
    _report(args, workspace, log, cast, inputs=_inputs["lines"] - before)


def print_item(args: Namespace, workspace: ReviewWorkspace, item: ReviewItem, position: str, *more: str) -> None:
    lines = format_view(workspace.viewer.view(item), engines=args.show_engines)
    for line in ("", f"── {position} " + "─" * 40, *lines, "", *more):
        write_result(clean(line))


def ask_each(
    things: Sequence[T], ask: Callable[[T, str], VoteInput | None], save: Callable[[T, VoteInput], object]
) -> int:
    """Call `ask` for each thing and save its answer before the next; return the number of answers."""
    answered: set[int] = set()
    position = 0
    try:
        while position < len(things):
            given = ask(things[position], f"{position + 1}/{len(things)}")
            if given is None:
                break
            if given.value == _BACK:
                position = max(0, position - 1)
                continue
            if given.value:
                save(things[position], given)
                answered.add(position)
            position += 1
    except KeyboardInterrupt:
        log("")
        warn(f"{pluralize(len(answered), 'answer')} saved")
        raise
    return len(answered)


def ask_vote(args: Namespace, item: str, question: str, values: Sequence[str], *, reason: str = "") -> VoteInput | None:
    """Read a value, and a reason unless one is given; an empty value skips the item, None ends the dialogue."""
    while True:
        answer = _ask_line(f"{question} (Enter or s skips, b goes back, q ends, ? explains): ")
        if answer is None or answer.casefold() in ("q", "quit"):
            return None
        if answer in ("?", "h", "help"):
            known = [f"  {value}: {_HELP[value]}" for value in values if value in _HELP]
            info(args, "\n".join([*known, "  the first letter of a value is enough; every vote is saved at once"]))
            continue
        if answer.casefold() in _WORDS:
            return VoteInput(item, _WORDS[answer.casefold()], "")
        matches = [value for value in values if value.startswith(answer.casefold())]
        if matches == [_REWORD]:
            text = _ask_line("new query: ")
            if text is None:
                return None
            if text:
                return VoteInput(item, _REWORD, text)
            info(args, "the query is unchanged: nothing was typed")
        elif len(matches) == 1:
            break
        else:
            info(args, f"expected one of {', '.join(values)}, got '{answer}'")
    if reason:
        return VoteInput(item, matches[0], reason)
    while not (typed := _ask_line("why: ")):
        if typed is None:
            return None
        info(args, "a reason is required; adjudicators read it")
    return VoteInput(item, matches[0], typed)


def _ask_line(prompt: str) -> str | None:
    _inputs["lines"] += 1
    print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201  # a question to the person at the terminal
    line = sys.stdin.readline()
    return line.strip() if line else None


def list_open(args: Namespace, workspace: ReviewWorkspace) -> None:
    log = _open_log(args, workspace)
    items = _open_items(args, workspace, log)
    views = [view_mapping(workspace.viewer.view(item), engines=args.show_engines) for item in items]
    rows = []
    for item in items:
        targets = [item.adversary.target] if item.kind == "adversary" else item.query.targets
        places = ", ".join(target.anchor for target in targets)
        rows.append([item.id, item.kind, item.query.id, item.query.headline, places])
    left = len(list_open_items(workspace, log))
    listed = f", {len(items)} of them listed" if len(items) < left else ""
    count = f"{pluralize(left, 'item')} {'is' if left == 1 else 'are'} open for {log.reviewer}{listed}."
    blocks: Sequence[Block | str] = (
        table(["Item", "Kind", "Query", "Text", "Targets"], rows),
        f"{count} Vote with --vote ITEM=VALUE --reason TEXT.",
        *(Paragraph(f"{kind}: {vote_question(kind)}", "quiet") for kind in sorted({item.kind for item in items})),
    )
    data = {"schema": "assay/gold-review-list/1", "reviewer": log.reviewer, "items": views}
    emit_blocks(args, f"Review of {workspace.path.name}", blocks, data)


def vote_by_flags(args: Namespace, workspace: ReviewWorkspace) -> None:
    log, items = _open_log(args, workspace), workspace.items()
    given = read_flags(args.vote, args.reason)
    log.cast([_make_vote(args, workspace, log, find_item(items, one.item), one) for one in given])
    _report(args, workspace, log, len(given))


def read_flags(given: list[str], reasons: list[str]) -> list[VoteInput]:
    """Parse `ITEM=VALUE` flags with their reasons: one for each, or one for all."""
    if len(reasons) == 1:
        reasons = reasons * len(given)
    if len(reasons) != len(given):
        raise ConfigError(f"expected {pluralize(len(given), 'reason')}, got {len(reasons)}", hint="add --reason TEXT")
    votes = []
    for text, reason in zip(given, reasons, strict=True):
        item, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"expected ITEM=VALUE, got '{text}'", hint="write a vote such as 3f2a91c0d4e5=2")
        votes.append(VoteInput(item.strip(), value.strip(), reason))
    return votes


def vote_by_file(args: Namespace, workspace: ReviewWorkspace) -> None:
    """Cast the votes of a CSV file: all, or none if a line is invalid."""
    log, items, path = _open_log(args, workspace), workspace.items(), Path(args.votes)
    votes = []
    for given in _read_votes(path):
        try:
            votes.append(_make_vote(args, workspace, log, find_item(items, given.item), given))
        except InputError as error:
            message = f"{error.message}; no vote was saved"
            raise GoldError(message, file=path, line=given.line, hint=error.hint) from error
    if not votes:
        raise GoldError("the file has no votes", file=path, hint="write one vote per line: item,vote,reason")
    log.cast(votes)
    _report(args, workspace, log, len(votes))


def _read_votes(path: Path) -> Iterator[VoteInput]:
    reader = csv.reader(read_utf8(path, GoldError).splitlines(keepends=True), strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if not any(cells) or [cell.casefold() for cell in cells] == ["item", "vote", "reason"]:
                continue
            if len(cells) != 3:
                message = f"expected item,vote,reason, got {pluralize(len(cells), 'column')}; no vote was saved"
                hint = "separate the columns by commas, and quote a reason that contains a comma"
                raise GoldError(message, file=path, line=reader.line_num, hint=hint)
            yield VoteInput(cells[0], cells[1], cells[2], reader.line_num)
    except csv.Error as error:
        raise GoldError(f"invalid CSV: {error}", file=path, line=reader.line_num, hint="check the quotes") from error


def vote_by_model(args: Namespace, workspace: ReviewWorkspace) -> None:
    """Request a model's votes on the open items; invalid answers are reported and not counted."""
    endpoint = endpoint_of(args)
    assert endpoint is not None
    log = _open_log(args, workspace)
    items, cast = _open_items(args, workspace, log), 0
    for number, item in enumerate(items, 1):
        answer = ask_model(endpoint, workspace.viewer.view(item))
        if answer.problem:
            info(args, f"{number}/{len(items)} {item.id}: {answer.problem}; no vote")
            continue
        given = VoteInput(item.id, answer.value, answer.reason)
        prompt = f"{endpoint.name} prompt {review_prompt_version()}"
        log.cast([make_vote(workspace, log.reviewer, item, given, prompt=prompt)])
        cast += 1
        info(args, f"{number}/{len(items)} {item.id}: {answer.value}")
    _report(args, workspace, log, cast)


def _open_log(args: Namespace, workspace: ReviewWorkspace) -> VoteLog:
    log = VoteLog(workspace.queue, reviewer_of(args))
    check_may_vote(workspace.queue, log.reviewer)
    warn_truncated(workspace, log.reviewer)
    return log


def _open_items(args: Namespace, workspace: ReviewWorkspace, log: VoteLog) -> list[ReviewItem]:
    return list_open_items(workspace, log)[: args.limit]


def _make_vote(args: Namespace, workspace: ReviewWorkspace, log: VoteLog, item: ReviewItem, given: VoteInput) -> Vote:
    return make_vote(workspace, log.reviewer, item, given, engines=args.show_engines)


def _report(args: Namespace, workspace: ReviewWorkspace, log: VoteLog, cast: int, inputs: int | None = None) -> None:
    left = len(list_open_items(workspace, log))
    data = {"schema": "assay/gold-review-vote/1", "reviewer": log.reviewer, "cast": cast, "open": left}
    blocks = [f"{log.reviewer}: {pluralize(cast, 'vote')} saved, {left} open."]
    if cast and inputs is not None:
        blocks.append(f"{pluralize(inputs, 'input')}, {inputs / cast:.1f} per vote.")
        blocks.append(f"Then: assay gold review {workspace.path} --accept")
    emit_blocks(args, "Votes", blocks, data)
