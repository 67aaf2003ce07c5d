"""Gold review in the browser, with reviewers blinded to each other."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING

from assay.browser.bundle import page
from assay.corpus import read_text, spec_text
from assay.gold.review.acceptance import preview, read_acceptance_times, read_closed, read_statuses
from assay.gold.review.agreement import compute_agreement
from assay.gold.review.items import KINDS, ReviewItem
from assay.gold.review.reviewers import (
    VoteInput,
    count_progress,
    has_taken_part,
    list_open_items,
    make_decision,
    make_vote,
    propose_location,
)
from assay.gold.review.views import CodeExcerpt, ReviewWorkspace, shows_origin, view_mapping
from assay.gold.review.votes import (
    MEANINGS,
    PROPOSED,
    QUESTIONS,
    UNSURE,
    ItemStatus,
    ReviewRules,
    StaleVoteError,
    Vote,
    VoteLog,
    become_adjudicator,
    check_vote,
    is_adjudicator,
    log_unblinding,
    read_all_votes,
    read_decisions,
    record_decisions,
    vote_mapping,
    vote_values,
)
from assay.syntax.highlight import COLORS, HighlightSpan, highlight
from assay.syntax.parsing import grammar_name, is_malformed
from assay.syntax.symbols import extract_symbols
from assay.types import SourceFile
from assay.web.reviewers import ReviewerRegistry, seats_file, with_cookie
from assay.web.server import HttpError, Response, Route, WebRequest, json_response, page_response

if TYPE_CHECKING:
    from assay.gold.anchors import AnchorProblem
    from assay.types import GoldSet


@dataclass(frozen=True)
class ReviewSession:
    """State that all requests of a review share; `check` lints a set."""

    workspace: ReviewWorkspace
    check: Callable[[GoldSet], Sequence[AnchorProblem]]
    registry: ReviewerRegistry
    rules: ReviewRules = field(default_factory=ReviewRules)
    writing: threading.RLock = field(default_factory=threading.RLock)
    ballots: dict[str, VoteLog] = field(default_factory=dict)

    def item(self, given: str) -> ReviewItem:
        """Return the item with an id."""
        for item in self.workspace.items():
            if item.id == given:
                return item
        raise HttpError(404, f"the queue has no item '{given[:40]}'", hint="reload the page")

    def ballot(self, name: str) -> VoteLog:
        """Open the votes of a reviewer; reject a name that differs from another only by case."""
        ballot = self.ballots.get(name) or self.ballots.setdefault(name, VoteLog(self.workspace.queue, name))
        ballot.check_namesake()
        return ballot

    def asker(self, request: WebRequest) -> VoteLog:
        """Open the votes of the reviewer, whose name the browser must have."""
        ballot = self.ballot(reviewer_of(request))
        self.registry.check(request, ballot.reviewer)
        return ballot

    def speaker(self, request: WebRequest) -> VoteLog:
        """Open the votes of the reviewer; assign a free name to the browser."""
        ballot = self.ballot(reviewer_of(request))
        self.registry.sit(request, ballot.reviewer)
        return ballot

    def voter(self, request: WebRequest) -> VoteLog:
        """Open the votes of a blinded reviewer, or raise HttpError."""
        ballot = self.speaker(request)
        if self.adjudicates(ballot.reviewer):
            hint = "decide what is disputed; somebody else votes"
            raise HttpError(409, f"{ballot.reviewer} adjudicates, and has seen what others said", hint=hint)
        self.registry.check_blind(request, ballot.reviewer)
        return ballot

    def looker(self, request: WebRequest) -> str:
        """Return the name of a reviewer with no open items, and log that the reviewer is unblinded."""
        ballot = self.asker(request)
        self.check_curtain(ballot.reviewer)
        self.registry.look(request, ballot.reviewer)
        log_unblinding(ballot)
        return ballot.reviewer

    def adjudicates(self, name: str) -> bool:
        """Return whether a reviewer stopped voting to adjudicate."""
        return is_adjudicator(self.workspace.queue, name)

    def check_curtain(self, name: str) -> None:
        """Raise HttpError if a reviewer has open items: other votes stay hidden until then."""
        left = 0 if self.adjudicates(name) else len(list_open_items(self.workspace, self.ballot(name)))
        if left:
            items = "1 item is" if left == 1 else f"{left} items are"
            hint = "vote on them first, or give up voting to adjudicate"
            raise HttpError(409, f"{items} open for {name}, and this shows what others said", hint=hint)


def reviewer_of(request: WebRequest) -> str:
    name = request.query.get("as") or request.data.get("as")
    if not isinstance(name, str) or not name:
        raise HttpError(400, "nobody is named", hint="say who you are")
    return name


def listed(item: ReviewItem) -> dict[str, object]:
    """Return the fields of an item that every list has."""
    query = item.query
    return {
        "item": item.id,
        "kind": item.kind,
        "query": query.id,
        "headline": query.headline,
        "anchor": item.anchor,
    }


@dataclass(frozen=True)
class AdjudicationApi:
    """Handlers for unblinded reviewers."""

    session: ReviewSession

    def standing(self, request: WebRequest) -> Response:
        """Count the items by state and the votes by reviewer."""
        self.session.looker(request)
        found = count_progress(self._statuses(), read_closed(self.session.workspace.queue))
        return json_response({"tally": asdict(found), "least": self.session.rules.least})

    def accepted(self, request: WebRequest) -> Response:
        """Return what would be accepted now; lints the whole set, which may take seconds."""
        self.session.looker(request)
        workspace = self.session.workspace
        made = preview(
            workspace.queue, workspace.load(), self.session.check, corpus=workspace.given, rules=self.session.rules
        )
        taken = [_settled(status) for status in made.taken]
        refused = [{"item": one.item, "query": one.query, "reason": one.reason} for one in made.refused]
        return json_response({"taken": taken, "refused": refused})

    def agreement(self, request: WebRequest) -> Response:
        """Return the agreement of reviewers, as `assay gold agreement` does."""
        self.session.looker(request)
        queue = self.session.workspace.queue
        found = compute_agreement(
            self.session.workspace.items(),
            read_all_votes(queue),
            read_decisions(queue),
            taken=read_acceptance_times(queue),
        )
        return json_response({"kinds": [asdict(kind) for kind in found]})

    def disputed(self, request: WebRequest) -> Response:
        """Return disputed items with all votes, except those that the reviewer voted on."""
        name = self.session.looker(request)
        disputed = [status for status in self._statuses() if status.state == "disputed"]
        others = [status for status in disputed if not status.has_vote_of(name)]
        listed = [_disputed(status) for status in others]
        return json_response({"items": listed, "third": len(disputed) - len(others)})

    def decide(self, request: WebRequest) -> Response:
        """Record a decision before the response; a repeated one changes nothing."""
        name = self.session.looker(request)
        said = VoteInput(self.session.item(request.text("item")).id, request.text("value"), request.text("reason"))
        with self.session.writing:
            found = self._statuses()
            known = next((s.decision for s in found if s.item.id == said.item), None)
            if known is None or (known.by, known.value, known.reason) != (name, said.value, said.reason):
                record_decisions(
                    self.session.workspace.queue, [make_decision(self.session.workspace, name, said, found)]
                )
        return json_response({"item": said.item})

    def _statuses(self) -> tuple[ItemStatus, ...]:
        return read_statuses(self.session.workspace.queue, self.session.rules)


def _disputed(status: ItemStatus) -> dict[str, object]:
    return listed(status.item) | {
        "values": [value for value in vote_values(status.item.kind) if value != UNSURE],
        "votes": [vote_mapping(vote) for vote in status.votes],
    }


def _settled(status: ItemStatus) -> dict[str, object]:
    return listed(status.item) | {"value": status.value, "by": list(status.supporters)}


@dataclass(frozen=True)
class VotingApi:
    """Handlers for voting reviewers."""

    session: ReviewSession

    def queue(self, request: WebRequest) -> Response:
        """Return the items that the reviewer voted on, and the open ones."""
        ballot = self.session.asker(request)
        mine, closed = ballot.votes(), read_closed(self.session.workspace.queue)
        items = [item for item in self.session.workspace.items() if item.id in mine or item.id not in closed]
        listed = [_listed(item, mine.get(item.id)) for item in items]
        return json_response({"as": ballot.reviewer, "items": listed, "adjudicates": self._adjudicates(ballot)})

    def sit(self, request: WebRequest) -> Response:
        """Assign a reviewer name to the browser."""
        return json_response({"as": self.session.speaker(request).reviewer})

    def leave(self, request: WebRequest) -> Response:
        """Release the reviewer name of the browser."""
        self.session.registry.leave(request)
        return json_response({})

    def print_code(self, request: WebRequest) -> Response:
        """Print the code for a takeover of a name on the terminal of the server."""
        self.session.registry.print_code(self.session.ballot(reviewer_of(request)).reviewer)
        return json_response({})

    def take_over(self, request: WebRequest) -> Response:
        """Move a name from another browser to this one, if the code is right."""
        name = self.session.ballot(reviewer_of(request)).reviewer
        self.session.registry.take_over(request, name, request.text("code"))
        return json_response({"as": name})

    def item(self, request: WebRequest) -> Response:
        """Return one item with its excerpts and the votes of the reviewer."""
        ballot = self.session.asker(request)
        item = self.session.item(request.query.get("item", ""))
        view = self.session.workspace.viewer.view(item)
        shown = view_mapping(view, engines=request.query.get("engines") == "1")
        shown["places"] = [_place(place) for place in view.excerpts]
        shown["query"] = _query(item)
        shown["adversary"] = _adversary(item)
        past = [_said(vote) for vote in ballot.history() if vote.item == item.id]
        engines = bool(item.origin.shown_by) or not shows_origin(item)
        return json_response(shown | {"mine": past[-1] if past else None, "past": past[:-1], "has_engines": engines})

    def vote(self, request: WebRequest) -> Response:
        """Record a vote before the response; a repeated one changes nothing."""
        item = self.session.item(request.text("item"))
        with self.session.writing:
            ballot = self.session.voter(request)
            said = VoteInput(item.id, request.text("value"), request.text("reason"))
            vote = self._cast(ballot, item, said, request)
        return json_response({"item": item.id, "mine": _said(vote)})

    def place(self, request: WebRequest) -> Response:
        """Add a location for the query of an item, with the vote of its finder."""
        about = self.session.item(request.text("item"))
        with self.session.writing:
            ballot = self.session.voter(request)
            item = propose_location(self.session.workspace, about, request.text("anchor"))
            said = VoteInput(item.id, request.text("value"), request.text("reason"))
            check_vote(item, said.value, said.reason)
            self.session.workspace.queue.add([item])
            vote = self._cast(ballot, self.session.item(item.id), said, request)
        return json_response({"item": _listed(item, vote)})

    def give_up(self, request: WebRequest) -> Response:
        """Make the reviewer an adjudicator, who sees other votes and votes no more."""
        with self.session.writing:
            become_adjudicator(self.session.speaker(request))
        return json_response({"adjudicates": True})

    def _cast(self, ballot: VoteLog, item: ReviewItem, said: VoteInput, request: WebRequest) -> Vote:
        vote = make_vote(
            self.session.workspace, ballot.reviewer, item, said, engines=request.data.get("engines") is True
        )
        seen = request.data.get("after")
        try:
            return ballot.cast_once(vote, seen if isinstance(seen, str) else None)
        except StaleVoteError as error:
            raise HttpError(409, error.message, hint=error.hint) from error

    def _adjudicates(self, ballot: VoteLog) -> bool:
        return self.session.adjudicates(ballot.reviewer)


def _listed(item: ReviewItem, vote: Vote | None) -> dict[str, object]:
    return listed(item) | {"mine": _said(vote) if vote else None}


def _said(vote: Vote) -> dict[str, object]:
    return {"value": vote.value, "reason": vote.reason, "on": vote.on, "engines": bool(vote.shown)}


def _place(place: CodeExcerpt) -> dict[str, object]:
    where = {"role": place.role, "anchor": place.anchor, "path": place.path}
    return where | ({"problem": place.problem} if place.problem else {"start": place.start, "end": place.end})


def _query(item: ReviewItem) -> dict[str, object]:
    query, why = item.query, item.query.rationale
    return {
        "id": query.id,
        "forms": [[form, query.forms[form]] for form in query.ordered_forms],
        "rationale": {"owner": why.owner, "reason": why.reason, "boundary": why.boundary} if why else None,
        "tags": dict(query.tags),
    }


def _adversary(item: ReviewItem) -> dict[str, str] | None:
    if item.kind != "adversary":
        return None
    one = item.adversary
    return {"relationship": one.relationship, "strength": one.strength, "confusion": one.confusion}


def vote_labels() -> dict[str, object]:
    """Return the question and values of each kind of item, and the meaning of each value."""
    kinds = {kind: {"question": QUESTIONS[kind], "values": list(vote_values(kind))} for kind in KINDS}
    values = {value: asdict(meaning) for value, meaning in MEANINGS.items()}
    return {"kinds": kinds, "values": values, "proposed": list(PROPOSED)}


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """Limits of one response with code."""

    lines: int = 1_000  # of a file; the page requests more while scrolling
    columns: int = 2_000  # of a line: longer ones are slow to draw
    paths: int = 60  # in a search result


_highlight = lru_cache(maxsize=16)(highlight)  # files that a few reviewers look at


@dataclass(frozen=True)
class SourceBrowser:
    """Handlers for source code of the corpus."""

    workspace: ReviewWorkspace
    limits: CodeLimits = CodeLimits()

    def lines(self, request: WebRequest) -> Response:
        """Return lines of a file as lists of `[color, text]`."""
        file = self._file(request)
        text = read_text(self.workspace.corpus, file.path)
        rows = _highlight(text, grammar_name(file.path, file.language, text))
        start = max(1, _number(request, "start", 1))
        end = min(len(rows), start + self.limits.lines - 1, _number(request, "end", len(rows)))
        shown = [self._row(row) for row in rows[start - 1 : end]]
        answer = {"path": file.path, "language": file.language or "", "total": len(rows), "start": start, "rows": shown}
        return json_response(answer)

    def definitions(self, request: WebRequest) -> Response:
        """Return the definitions of a file; none if the file may crash its parser."""
        file = self._file(request)
        text = read_text(self.workspace.corpus, file.path)
        grammar = grammar_name(file.path, file.language, text)
        torn = grammar is not None and is_malformed(text.encode("utf-8", "replace"), grammar)
        found = () if torn else extract_symbols(file.path, text, file.language)
        return json_response({"path": file.path, "definitions": [[s.name, s.kind, s.start, s.end] for s in found]})

    def paths(self, request: WebRequest) -> Response:
        """Return paths that contain every word: matches in file names first, then short paths."""
        words = request.query.get("find", "").casefold().split()
        found = [
            file.path for file in self.workspace.corpus.files if all(word in file.path.casefold() for word in words)
        ]

        def key(path: str) -> tuple[int, int, str]:
            name = path.casefold().rpartition("/")[2]
            return (-sum(word in name for word in words), len(path), path)

        return json_response({"paths": sorted(found, key=key)[: self.limits.paths], "total": len(found)})

    def _file(self, request: WebRequest) -> SourceFile:
        path = request.query.get("path", "")
        for file in self.workspace.corpus.files:
            if file.path == path:
                return file
        raise HttpError(404, f"the corpus has no file '{path[:200]}'", hint="choose one that the search lists")

    def _row(self, runs: tuple[HighlightSpan, ...]) -> list[list[object]]:
        row: list[list[object]] = []
        left = self.limits.columns
        for run in runs:
            row.append([COLORS.index(run.color), run.text[:left]])
            left -= len(run.text)
            if left <= 0:
                break
        if (size := sum(len(run.text) for run in runs)) > self.limits.columns:
            row.append([COLORS.index("comment"), f" … {size - self.limits.columns} more characters"])
        return row


def _number(request: WebRequest, name: str, otherwise: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return otherwise
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise HttpError(400, f"{name} is no line number")
    return int(text)


REVIEW = "/review"


def review_routes(
    workspace: ReviewWorkspace,
    check: Callable[[GoldSet], Sequence[AnchorProblem]],
    *,
    tell: Callable[[str], None],
    rules: ReviewRules | None = None,
    name: str = "",
) -> tuple[Route, ...]:
    """Return the routes of the review of one set.

    `check` lints a set, `tell` prints on the terminal of the server, and `name` is the suggested reviewer.
    """
    workspace.corpus, workspace.commit  # noqa: B018  # opened before the first request, in one thread
    registry = ReviewerRegistry(seats_file(workspace.path), tell, lambda name: has_taken_part(workspace.queue, name))
    session = ReviewSession(workspace, check, registry, rules or ReviewRules())
    voting, adjudication, code = VotingApi(session), AdjudicationApi(session), SourceBrowser(workspace)

    def show(request: WebRequest) -> Response:
        return with_cookie(request, page_response(_page(workspace, name)))

    return (
        Route("GET", REVIEW, show),
        Route("GET", f"{REVIEW}/queue", voting.queue),
        Route("GET", f"{REVIEW}/item", voting.item),
        Route("POST", f"{REVIEW}/sit", voting.sit),
        Route("POST", f"{REVIEW}/leave", voting.leave),
        Route("POST", f"{REVIEW}/code", voting.print_code),
        Route("POST", f"{REVIEW}/take-over", voting.take_over),
        Route("POST", f"{REVIEW}/vote", voting.vote),
        Route("POST", f"{REVIEW}/place", voting.place),
        Route("POST", f"{REVIEW}/give-up", voting.give_up),
        Route("GET", f"{REVIEW}/lines", code.lines),
        Route("GET", f"{REVIEW}/definitions", code.definitions),
        Route("GET", f"{REVIEW}/paths", code.paths),
        Route("GET", f"{REVIEW}/standing", adjudication.standing),
        Route("GET", f"{REVIEW}/accepted", adjudication.accepted),
        Route("GET", f"{REVIEW}/agreement", adjudication.agreement),
        Route("GET", f"{REVIEW}/disputed", adjudication.disputed),
        Route("POST", f"{REVIEW}/decide", adjudication.decide),
    )


def _code(workspace: ReviewWorkspace) -> str:
    spec = workspace.corpus.spec
    return str(workspace.corpus.root) if spec.kind == "path" else spec_text(spec)


def _page(workspace: ReviewWorkspace, name: str) -> bytes:
    about = {
        "set": workspace.path.name,
        "place": str(workspace.path.absolute()),  # keeps the drafts of two sets apart
        "corpus": _code(workspace),
        "name": name,
        **vote_labels(),
        "colours": COLORS,
    }
    return page(
        title=f"Review of {workspace.path.name}",
        script="review/main.js",
        styles=("base.css", "review.css"),
        data={"review": json.dumps(about, ensure_ascii=True).encode()},
        fallback="<p>Voting needs JavaScript. Without it: <code>assay gold review SET --reviewer NAME</code></p>",
        live=True,
    )
