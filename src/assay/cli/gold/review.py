from __future__ import annotations

import sys
from argparse import Namespace
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from assay.cli.arguments import flag_of
from assay.cli.console import emit_blocks, info, pluralize, warn
from assay.cli.gold import vote as voting
from assay.cli.options import default_set, endpoint_of, serve_until_stopped
from assay.clock import timestamp, today
from assay.errors import ConfigError, GoldError
from assay.gold.anchors import AnchorProblem
from assay.gold.review import votes
from assay.gold.review.acceptance import Acceptance, accept, read_closed, read_statuses
from assay.gold.review.reviewers import VoteInput, count_progress, make_decision, make_label_items
from assay.gold.review.views import ReviewWorkspace, view_mapping
from assay.report.render.document import Block, Paragraph, table
from assay.types import GoldSet
from assay.web.review_pages import REVIEW, review_routes
from assay.web.reviewer_sessions import port_file
from assay.web.web_server import Route

#: Flags and the actions that they belong to; "" is the dialogue on a terminal.
_FLAGS_OF_ACTIONS = {
    "reason": ("vote", "decide"),
    "limit": ("", "list", "endpoint"),
    "show_engines": ("", "list", "vote", "votes", "adjudicate"),
    "port": ("browser",),
    "host": ("browser",),
    "open": ("browser",),
}


def review_command(args: Namespace) -> None:
    actions = [name for name in _ACTIONS if getattr(args, name)]
    if len(actions) > 1:
        raise ConfigError(f"{' and '.join(map(flag_of, actions))} cannot be combined", hint="remove one of them")
    action = actions[0] if actions else ""
    endpoint_of(args)
    for name, allowed in _FLAGS_OF_ACTIONS.items():
        if getattr(args, name) and action not in allowed:
            required = " or ".join(flag_of(other) for other in allowed if other)
            if action:
                problem = f"{flag_of(name)} cannot be used with {flag_of(action)}"
                raise ConfigError(problem, hint=f"remove {flag_of(name)}")
            raise ConfigError(f"{flag_of(name)} requires {required}", hint=f"add {required}")
    args.set = default_set(args, args.set)
    workspace = voting.open_review(Path(args.set), args.corpus)
    (_ACTIONS[action] if action else voting.vote_on_terminal)(args, workspace)


def workspace_routes(workspace: ReviewWorkspace, min_votes: int | None, *, name: str = "") -> tuple[Route, ...]:
    voting.warn_truncated(workspace)

    def check(gold: GoldSet) -> tuple[AnchorProblem, ...]:
        return voting.set_problems(workspace, gold)

    return review_routes(workspace, check, tell=warn, rules=votes.ReviewRules(min_votes), name=name)


def _review_in_browser(args: Namespace, workspace: ReviewWorkspace) -> None:
    workspace.items()
    routes = workspace_routes(workspace, args.min_votes, name=voting.reviewer_of(args))
    serve_until_stopped(args, routes, REVIEW, {"gold": str(workspace.path)}, port_file(workspace.path))
    info(args, "\nstopped; all votes are saved")


def _show_status(args: Namespace, workspace: ReviewWorkspace) -> None:
    _log_unblinding(args, workspace)
    progress = count_progress(_read_statuses(args, workspace), read_closed(workspace.queue))
    kinds = list(progress.kinds)
    rows = [
        [state, str(count), *(str(progress.kinds[kind].get(state, 0)) for kind in kinds)]
        for state, count in progress.states.items()
    ]
    people = [[one.name, one.readers, str(one.votes), str(one.open)] for one in progress.reviewers]
    least = votes.ReviewRules(args.min_votes).required_votes(votes.read_all_votes(workspace.queue))
    agreed = f"Agreed: {pluralize(least, 'equal vote')} or more."
    opened = "Open: not settled, and without a vote of this reviewer."
    blocks = (
        table(["State", ">Items", *(f">{kind.capitalize()}" for kind in kinds)], rows, agreed),
        table(["Reviewer", "Kind", ">Votes", ">Open"], people, opened),
    )
    data = {
        "schema": "assay/gold-review-status/1",
        "items": progress.items,
        "states": progress.states,
        "kinds": progress.kinds,
        "reviewers": {one.name: one.votes for one in progress.reviewers},
        "open": {one.name: one.open for one in progress.reviewers},
    }
    emit_blocks(args, f"Review of {workspace.path.name}", blocks, data)


def _read_statuses(args: Namespace, workspace: ReviewWorkspace) -> tuple[votes.ItemStatus, ...]:
    voting.warn_truncated(workspace)
    return read_statuses(workspace.queue, votes.ReviewRules(args.min_votes))


def _log_unblinding(args: Namespace, workspace: ReviewWorkspace, disputed: Sequence[votes.ItemStatus] = ()) -> None:
    if args.reviewer:
        log = votes.VoteLog(workspace.queue, voting.reviewer_of(args))
        votes.log_unblinding(log, [status.item.id for status in disputed])


def _adjudicate(args: Namespace, workspace: ReviewWorkspace) -> None:
    disputed = [status for status in _read_statuses(args, workspace) if status.state == "disputed"]
    _log_unblinding(args, workspace, disputed)
    if args.json or not sys.stdin.isatty():
        _list_disputed(args, workspace, disputed)
        return
    reviewer = voting.reviewer_of(args)
    others = [status for status in disputed if not status.has_vote_of(reviewer)]
    if own := len(disputed) - len(others):
        info(args, f"{pluralize(own, 'item')} left out: {reviewer} voted on {'it' if own == 1 else 'them'}")

    def ask(status: votes.ItemStatus, position: str) -> VoteInput | None:
        values = [value for value in votes.vote_values(status.item.kind) if value != votes.UNSURE]
        voting.print_item(args, workspace, status.item, position, *_vote_lines(status), "")
        return voting.ask_vote(args, status.item.id, f"decision: {', '.join(values)}", values)

    decided = voting.ask_each(others, ask, lambda _, decision: _decide(args, workspace, [decision]))
    _report_decided(args, decided, len(disputed) - decided)


def _vote_lines(status: votes.ItemStatus) -> list[str]:
    return [f"{vote.reviewer} ({vote.reader}): {vote.value}, {vote.reason}" for vote in status.votes]


def _list_disputed(args: Namespace, workspace: ReviewWorkspace, disputed: Sequence[votes.ItemStatus]) -> None:
    rows = [[s.item.id, s.item.kind, s.item.query.id, "; ".join(_vote_lines(s))] for s in disputed]
    count = f"{pluralize(len(disputed), 'item')} {'is' if len(disputed) == 1 else 'are'} disputed."
    then = f"{count} A reviewer who did not vote decides: --reviewer NAME --decide ITEM=VALUE --reason TEXT."
    items = [
        view_mapping(workspace.viewer.view(status.item), engines=args.show_engines)
        | {"cast": [votes.vote_mapping(vote) for vote in status.votes]}
        for status in disputed
    ]
    blocks = (table(["Item", "Kind", "Query", "Votes"], rows), then)
    emit_blocks(args, "Disputed", blocks, {"schema": "assay/gold-review-disputed/1", "items": items})


def _decide_by_flags(args: Namespace, workspace: ReviewWorkspace) -> None:
    given = voting.read_flags(args.decide, args.reason)
    _decide(args, workspace, given)
    _report_decided(args, len(given), 0)


def _decide(args: Namespace, workspace: ReviewWorkspace, given: Sequence[VoteInput]) -> None:
    reviewer = voting.reviewer_of(args)
    workspace.items()
    statuses = _read_statuses(args, workspace)
    decisions = [make_decision(workspace, reviewer, decision, statuses) for decision in given]
    votes.record_decisions(workspace.queue, decisions)


def _report_decided(args: Namespace, decided: int, left: int) -> None:
    text = f"{decided} decided" + (f", {left} still disputed." if left else ".")
    data = {"schema": "assay/gold-review-decide/1", "decided": decided, "disputed": left}
    emit_blocks(args, "Decisions", [text], data)


def _accept(args: Namespace, workspace: ReviewWorkspace) -> None:
    workspace.items()
    accepted = accept(
        workspace.queue,
        workspace.load,
        lambda gold: voting.set_problems(workspace, gold),
        corpus=workspace.given,
        rules=votes.ReviewRules(args.min_votes),
        on=timestamp(),
    )
    states = Counter(status.state for status in _read_statuses(args, workspace))
    left = {name: states[name] for name in ("open", "waiting", "disputed")}
    data = {
        "schema": "assay/gold-review-accept/2",
        "file": str(workspace.path),
        "added": accepted.added,
        "rejected": len(accepted.taken) - accepted.added,
        "items": {status.item.id: status.value for status in accepted.taken},
        "refused": [{"item": r.item, "query": r.query, "reason": r.reason} for r in accepted.refused],
        "queries": len(accepted.gold.queries) if accepted.gold else 0,
        "left": left,
        "lost": list(accepted.lost),
    }
    emit_blocks(args, "Accepted", _acceptance_blocks(workspace, accepted, left), data)


def _acceptance_blocks(workspace: ReviewWorkspace, accepted: Acceptance, left: dict[str, int]) -> list[Block | str]:
    rejected = len(accepted.taken) - accepted.added
    queries = len(accepted.gold.queries) if accepted.gold else 0
    size = f"{workspace.path} has {pluralize(queries, 'query', 'queries')}."
    blocks: list[Block | str] = [f"{pluralize(accepted.added, 'item')} added to the set, {rejected} rejected. {size}"]
    needs = {"open": "without a vote", "waiting": "waiting for another vote", "disputed": "disputed (--adjudicate)"}
    if any(left.values()):
        blocks.append(f"Not settled: {', '.join(f'{left[name]} {needs[name]}' for name in needs if left[name])}.")
    if accepted.whole and accepted.added:
        blocks.append(Paragraph("The whole file was rewritten without its comments.", "warning"))
    blocks += [Paragraph(lost, "warning") for lost in accepted.lost]
    if accepted.refused:
        rows = [[refusal.item, refusal.query, refusal.reason] for refusal in accepted.refused]
        blocks.append(table(["Item", "Query", "Reason"], rows))
    return blocks


def _queue_labels(args: Namespace, workspace: ReviewWorkspace) -> None:
    gold = workspace.load()
    if gold is None:
        raise GoldError("no such file", file=workspace.path, hint="pass an existing gold file")
    added = workspace.queue.add(make_label_items(gold, on=today(), commit=workspace.commit))
    text = f"{pluralize(added.new, 'label')} queued, {added.known} already in the queue."
    data = {"schema": "assay/gold-review-queue/1", "new": added.new, "known": added.known}
    emit_blocks(args, "Labels to review", [text], data)


#: Actions by their flags; without any, the command asks for votes on the terminal.
_ACTIONS = {
    "browser": _review_in_browser,
    "status": _show_status,
    "adjudicate": _adjudicate,
    "decide": _decide_by_flags,
    "accept": _accept,
    "queue_labels": _queue_labels,
    "list": voting.list_open,
    "vote": voting.vote_by_flags,
    "votes": voting.vote_by_file,
    "endpoint": voting.vote_by_model,
}
