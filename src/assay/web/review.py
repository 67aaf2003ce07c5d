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
    """What all requests of a review work with; `check` finds what is wrong with a set, as lint does."""

    desk: ReviewWorkspace
    check: Callable[[GoldSet], Sequence[AnchorProblem]]
    seats: ReviewerRegistry
    rules: ReviewRules = field(default_factory=ReviewRules)
    writing: threading.RLock = field(default_factory=threading.RLock)
    ballots: dict[str, VoteLog] = field(default_factory=dict)

    def item(self, given: str) -> ReviewItem:
        """Find an item by its whole id."""
        for item in self.desk.items():
            if item.id == given:
                return item
        raise HttpError(404, f"the queue has no item '{given[:40]}'", hint="reload the page")

    def ballot(self, name: str) -> VoteLog:
        """Open the votes of a reviewer; a name that differs from another's by case alone is refused at once."""
        ballot = self.ballots.get(name) or self.ballots.setdefault(name, VoteLog(self.desk.queue, name))
        ballot.check_namesake()
        return ballot

    def asker(self, request: WebRequest) -> VoteLog:
        """Open the votes of who asks; the browser must sit there under that name."""
        ballot = self.ballot(reviewer_of(request))
        self.seats.check(request, ballot.reviewer)
        return ballot

    def speaker(self, request: WebRequest) -> VoteLog:
        """Open the votes of who says something; a name that is free is given to the browser."""
        ballot = self.ballot(reviewer_of(request))
        self.seats.sit(request, ballot.reviewer)
        return ballot

    def voter(self, request: WebRequest) -> VoteLog:
        """Open the votes of who votes; nobody does who saw what others said."""
        ballot = self.speaker(request)
        if self.adjudicates(ballot.reviewer):
            hint = "decide what is disputed; somebody else votes"
            raise HttpError(409, f"{ballot.reviewer} adjudicates, and has seen what others said", hint=hint)
        self.seats.check_blind(request, ballot.reviewer)
        return ballot

    def looker(self, request: WebRequest) -> str:
        """Name who is shown what others said: one who still votes is not, and that somebody was is noted."""
        ballot = self.asker(request)
        self.check_curtain(ballot.reviewer)
        self.seats.look(request, ballot.reviewer)
        log_unblinding(ballot)
        return ballot.reviewer

    def adjudicates(self, name: str) -> bool:
        """Tell whether somebody gave up voting."""
        return is_adjudicator(self.desk.queue, name)

    def check_curtain(self, name: str) -> None:
        """Refuse to show anything of others to one who still votes."""
        left = 0 if self.adjudicates(name) else len(list_open_items(self.desk, self.ballot(name)))
        if left:
            items = "1 item is" if left == 1 else f"{left} items are"
            hint = "vote on them first, or give up voting to adjudicate"
            raise HttpError(409, f"{items} open for {name}, and this shows what others said", hint=hint)


def reviewer_of(request: WebRequest) -> str:
    """Name who asks."""
    name = request.query.get("as") or request.data.get("as")
    if not isinstance(name, str) or not name:
        raise HttpError(400, "nobody is named", hint="say who you are")
    return name


def listed(item: ReviewItem) -> dict[str, object]:
    """Write an item as every list of them begins."""
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
    """Answers those who have nothing left to vote on, or gave it up."""

    room: ReviewSession

    def standing(self, request: WebRequest) -> Response:
        """Count the items by state and the votes by reviewer."""
        self.room.looker(request)
        found = count_progress(self._standings(), read_closed(self.room.desk.queue))
        return json_response({"tally": asdict(found), "least": self.room.rules.least})

    def accepted(self, request: WebRequest) -> Response:
        """Say what would be accepted now; the whole set is linted for it, so that it may take a while."""
        self.room.looker(request)
        desk = self.room.desk
        made = preview(desk.queue, desk.load(), self.room.check, corpus=desk.given, rules=self.room.rules)
        taken = [_settled(standing) for standing in made.taken]
        refused = [{"item": one.item, "query": one.query, "reason": one.reason} for one in made.refused]
        return json_response({"taken": taken, "refused": refused})

    def agreement(self, request: WebRequest) -> Response:
        """Compute how far the reviewers agree, as `assay gold agreement` does."""
        self.room.looker(request)
        queue = self.room.desk.queue
        found = compute_agreement(
            self.room.desk.items(), read_all_votes(queue), read_decisions(queue), taken=read_acceptance_times(queue)
        )
        return json_response({"kinds": [asdict(kind) for kind in found]})

    def disputed(self, request: WebRequest) -> Response:
        """Show what is disputed with all votes; what the asker voted on is left to a third person."""
        name = self.room.looker(request)
        disputed = [standing for standing in self._standings() if standing.state == "disputed"]
        others = [standing for standing in disputed if not standing.has_vote_of(name)]
        listed = [_disputed(standing) for standing in others]
        return json_response({"items": listed, "third": len(disputed) - len(others)})

    def decide(self, request: WebRequest) -> Response:
        """Take a decision: it is on the disk when this is answered. The same again is the one there is."""
        name = self.room.looker(request)
        said = VoteInput(self.room.item(request.text("item")).id, request.text("value"), request.text("reason"))
        with self.room.writing:
            found = self._standings()
            known = next((s.decision for s in found if s.item.id == said.item), None)
            if known is None or (known.by, known.value, known.reason) != (name, said.value, said.reason):
                record_decisions(self.room.desk.queue, [make_decision(self.room.desk, name, said, found)])
        return json_response({"item": said.item})

    def _standings(self) -> tuple[ItemStatus, ...]:
        return read_statuses(self.room.desk.queue, self.room.rules)


def _disputed(standing: ItemStatus) -> dict[str, object]:
    return listed(standing.item) | {
        "values": [value for value in vote_values(standing.item.kind) if value != UNSURE],
        "votes": [vote_mapping(vote) for vote in standing.votes],
    }


def _settled(standing: ItemStatus) -> dict[str, object]:
    return listed(standing.item) | {"value": standing.value, "by": list(standing.supporters)}


@dataclass(frozen=True)
class VotingApi:
    """Answers those who vote."""

    room: ReviewSession

    def queue(self, request: WebRequest) -> Response:
        """List what the reviewer voted on, and what is open for them."""
        ballot = self.room.asker(request)
        mine, closed = ballot.votes(), read_closed(self.room.desk.queue)
        items = [item for item in self.room.desk.items() if item.id in mine or item.id not in closed]
        listed = [_listed(item, mine.get(item.id)) for item in items]
        return json_response({"as": ballot.reviewer, "items": listed, "adjudicates": self._adjudicates(ballot)})

    def sit(self, request: WebRequest) -> Response:
        """Give the browser the name that somebody votes under."""
        return json_response({"as": self.room.speaker(request).reviewer})

    def leave(self, request: WebRequest) -> Response:
        """Set the name free that the browser has."""
        self.room.seats.leave(request)
        return json_response({})

    def print_code(self, request: WebRequest) -> Response:
        """Print at the terminal of the server what lets this browser have a name that another one has."""
        self.room.seats.print_code(self.room.ballot(reviewer_of(request)).reviewer)
        return json_response({})

    def take_over(self, request: WebRequest) -> Response:
        """Give this browser a name that another one has, for the code."""
        name = self.room.ballot(reviewer_of(request)).reviewer
        self.room.seats.take_over(request, name, request.text("code"))
        return json_response({"as": name})

    def item(self, request: WebRequest) -> Response:
        """Show one item with its places, and what the reviewer said of it."""
        ballot = self.room.asker(request)
        item = self.room.item(request.query.get("item", ""))
        view = self.room.desk.viewer.view(item)
        shown = view_mapping(view, engines=request.query.get("engines") == "1")
        shown["places"] = [_place(place) for place in view.excerpts]
        shown["query"] = _query(item)
        shown["adversary"] = _adversary(item)
        past = [_said(vote) for vote in ballot.history() if vote.item == item.id]
        engines = bool(item.origin.shown_by) or not shows_origin(item)
        return json_response(shown | {"mine": past[-1] if past else None, "past": past[:-1], "has_engines": engines})

    def vote(self, request: WebRequest) -> Response:
        """Take a vote: it is on the disk when this is answered. The same vote again is the one there is."""
        item = self.room.item(request.text("item"))
        with self.room.writing:
            ballot = self.room.voter(request)
            said = VoteInput(item.id, request.text("value"), request.text("reason"))
            vote = self._cast(ballot, item, said, request)
        return json_response({"item": item.id, "mine": _said(vote)})

    def place(self, request: WebRequest) -> Response:
        """Take another place for the query of an item, with the vote of who found it."""
        about = self.room.item(request.text("item"))
        with self.room.writing:
            ballot = self.room.voter(request)
            item = propose_location(self.room.desk, about, request.text("anchor"))
            said = VoteInput(item.id, request.text("value"), request.text("reason"))
            check_vote(item, said.value, said.reason)
            self.room.desk.queue.add([item])
            vote = self._cast(ballot, self.room.item(item.id), said, request)
        return json_response({"item": _listed(item, vote)})

    def give_up(self, request: WebRequest) -> Response:
        """Take somebody's word that they vote no more, and lift the curtain for them."""
        with self.room.writing:
            become_adjudicator(self.room.speaker(request))
        return json_response({"adjudicates": True})

    def _cast(self, ballot: VoteLog, item: ReviewItem, said: VoteInput, request: WebRequest) -> Vote:
        vote = make_vote(self.room.desk, ballot.reviewer, item, said, engines=request.data.get("engines") is True)
        seen = request.data.get("after")
        try:
            return ballot.cast_once(vote, seen if isinstance(seen, str) else None)
        except StaleVoteError as error:
            raise HttpError(409, error.message, hint=error.hint) from error

    def _adjudicates(self, ballot: VoteLog) -> bool:
        return self.room.adjudicates(ballot.reviewer)


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
    """Say for each kind of item what is asked and what may be answered, and for each value what it means."""
    kinds = {kind: {"question": QUESTIONS[kind], "values": list(vote_values(kind))} for kind in KINDS}
    values = {value: asdict(meaning) for value, meaning in MEANINGS.items()}
    return {"kinds": kinds, "values": values, "proposed": list(PROPOSED)}


@dataclass(frozen=True, slots=True)
class CodeLimits:
    """How much of the code one answer holds."""

    lines: int = 1_000  # of a file; the page asks for more as one scrolls
    columns: int = 2_000  # of a line: beyond it there is nothing to read, and much to draw
    paths: int = 60  # that a search lists; who sees none that fits types on


#: Files whose colours are kept: those that a few reviewers look at just now.
_KEPT_FILES = 16
_coloured = lru_cache(maxsize=_KEPT_FILES)(highlight)


@dataclass(frozen=True)
class SourceBrowser:
    """Answers what a page asks of the code."""

    desk: ReviewWorkspace
    limits: CodeLimits = CodeLimits()

    def lines(self, request: WebRequest) -> Response:
        """Give some lines of a file, as runs of `[colour, text]`."""
        file = self._file(request)
        text = read_text(self.desk.corpus, file.path)
        rows = _coloured(text, grammar_name(file.path, file.language, text))
        start = max(1, _number(request, "start", 1))
        end = min(len(rows), start + self.limits.lines - 1, _number(request, "end", len(rows)))
        shown = [self._row(row) for row in rows[start - 1 : end]]
        answer = {"path": file.path, "language": file.language or "", "total": len(rows), "start": start, "rows": shown}
        return json_response(answer)

    def definitions(self, request: WebRequest) -> Response:
        """List what a file defines; one that may crash its parser defines nothing here."""
        file = self._file(request)
        text = read_text(self.desk.corpus, file.path)
        grammar = grammar_name(file.path, file.language, text)
        torn = grammar is not None and is_malformed(text.encode("utf-8", "replace"), grammar)
        found = () if torn else extract_symbols(file.path, text, file.language)
        return json_response({"path": file.path, "definitions": [[s.name, s.kind, s.start, s.end] for s in found]})

    def paths(self, request: WebRequest) -> Response:
        """Find files whose path holds every word that was typed: names before folders, short before long."""
        words = request.query.get("find", "").casefold().split()
        found = [file.path for file in self.desk.corpus.files if all(word in file.path.casefold() for word in words)]

        def key(path: str) -> tuple[int, int, str]:
            name = path.casefold().rpartition("/")[2]
            return (-sum(word in name for word in words), len(path), path)

        return json_response({"paths": sorted(found, key=key)[: self.limits.paths], "total": len(found)})

    def _file(self, request: WebRequest) -> SourceFile:
        path = request.query.get("path", "")
        for file in self.desk.corpus.files:
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


#: Where the page is; what it asks for is below.
REVIEW = "/review"


def review_routes(
    desk: ReviewWorkspace,
    check: Callable[[GoldSet], Sequence[AnchorProblem]],
    *,
    tell: Callable[[str], None],
    rules: ReviewRules | None = None,
    name: str = "",
) -> tuple[Route, ...]:
    """Give the addresses of the review of one set; `check` is lint, `name` who most likely sits there.

    `tell` says something at the terminal of the server, which not everybody sees who sits at a browser.
    """
    desk.corpus, desk.commit  # noqa: B018  # opened before anybody asks, from one thread
    seats = ReviewerRegistry(seats_file(desk.path), tell, lambda name: has_taken_part(desk.queue, name))
    room = ReviewSession(desk, check, seats, rules or ReviewRules())
    voting, settling, code = VotingApi(room), AdjudicationApi(room), SourceBrowser(desk)

    def show(request: WebRequest) -> Response:
        return with_cookie(request, page_response(_page(desk, name)))

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
        Route("GET", f"{REVIEW}/standing", settling.standing),
        Route("GET", f"{REVIEW}/accepted", settling.accepted),
        Route("GET", f"{REVIEW}/agreement", settling.agreement),
        Route("GET", f"{REVIEW}/disputed", settling.disputed),
        Route("POST", f"{REVIEW}/decide", settling.decide),
    )


def _code(desk: ReviewWorkspace) -> str:
    spec = desk.corpus.spec
    return str(desk.corpus.root) if spec.kind == "path" else spec_text(spec)


def _page(desk: ReviewWorkspace, name: str) -> bytes:
    about = {
        "set": desk.path.name,
        "place": str(desk.path.absolute()),  # drafts of one set must not turn up in another
        "corpus": _code(desk),
        "name": name,
        **vote_labels(),
        "colours": COLORS,
    }
    return page(
        title=f"Review of {desk.path.name}",
        script="review/main.js",
        styles=("base.css", "review.css"),
        data={"review": json.dumps(about, ensure_ascii=True).encode()},
        fallback="<p>Votes are taken by a script here. Without one: <code>assay gold review SET --as NAME</code></p>",
        live=True,
    )
