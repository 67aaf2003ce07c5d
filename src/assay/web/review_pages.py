from __future__ import annotations

import json
import threading
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
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
    reword_query,
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
from assay.web.reviewer_sessions import ReviewerRegistry, seats_file, with_cookie
from assay.web.web_server import HttpError, Response, Route, WebRequest, page_response

if TYPE_CHECKING:
    from assay.gold.anchors import AnchorProblem
    from assay.types import GoldSet


REVIEW = "/review"
_ADVERSARY = ("relationship", "strength", "confusion")
Json = dict[str, object]


def review_routes(
    workspace: ReviewWorkspace,
    check: Callable[[GoldSet], Sequence[AnchorProblem]],
    *,
    tell: Callable[[str], None],
    rules: ReviewRules,
    name: str = "",
) -> tuple[Route, ...]:
    """Return the routes of the review of one set.

    `check` lints a set, `tell` prints on the terminal of the server, and `name` is the suggested reviewer.
    """
    workspace.corpus, workspace.commit  # noqa: B018  # opened before the first request, in one thread
    registry = ReviewerRegistry(seats_file(workspace.path), tell, lambda name: has_taken_part(workspace.queue, name))
    review, code = Review(workspace, check, registry, rules), SourceBrowser(workspace)
    handlers: dict[str, Callable[[WebRequest], Json]] = {
        "GET /queue": review.list_items,
        "GET /item": review.show_item,
        "POST /sit": review.sign_in,
        "POST /leave": review.sign_out,
        "POST /code": review.print_code,
        "POST /take-over": review.take_over,
        "POST /vote": review.vote,
        "POST /place": review.add_location,
        "POST /reword": review.reword,
        "POST /give-up": review.give_up,
        "GET /lines": code.lines,
        "GET /definitions": code.definitions,
        "GET /paths": code.paths,
        "GET /standing": review.count_progress,
        "GET /accepted": review.preview_accepted,
        "GET /agreement": review.compute_agreement,
        "GET /disputed": review.list_disputed,
        "POST /decide": review.decide,
    }

    def show(request: WebRequest) -> Response:
        return with_cookie(request, page_response(_page(workspace, name)))

    routes = [(address.split(), handler) for address, handler in handlers.items()]
    return (
        Route("GET", REVIEW, show),
        *(Route(method, f"{REVIEW}{path}", handler) for (method, path), handler in routes),
    )


def _page(workspace: ReviewWorkspace, name: str) -> bytes:
    spec = workspace.corpus.spec
    about = {
        "set": workspace.path.name,
        "place": str(workspace.path.absolute()),  # keeps the drafts of two sets apart
        "corpus": str(workspace.corpus.root) if spec.kind == "path" else spec_text(spec),
        "name": name,
        "kinds": {kind: {"question": QUESTIONS[kind], "values": list(vote_values(kind))} for kind in KINDS},
        "values": {value: asdict(meaning) for value, meaning in MEANINGS.items()},
        "proposed": list(PROPOSED),
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


class Review:
    def __init__(
        self,
        workspace: ReviewWorkspace,
        check: Callable[[GoldSet], Sequence[AnchorProblem]],
        registry: ReviewerRegistry,
        rules: ReviewRules,
    ) -> None:
        self._workspace, self._queue = workspace, workspace.queue
        self._check, self._registry, self._rules = check, registry, rules
        self._writing = threading.RLock()
        self._logs: dict[str, VoteLog] = {}

    def list_items(self, request: WebRequest) -> Json:
        """Return the items that the reviewer voted on, and all open items."""
        log = self._log_of_owner(request)
        mine, closed = log.votes(), read_closed(self._queue)
        items = [item for item in self._workspace.items() if item.id in mine or item.id not in closed]
        return {
            "as": log.reviewer,
            "items": [_own_item(item, mine.get(item.id)) for item in items],
            "adjudicates": is_adjudicator(self._queue, log.reviewer),
        }

    def show_item(self, request: WebRequest) -> Json:
        log = self._log_of_owner(request)
        item = self._item(request.query.get("item", ""))
        view = self._workspace.viewer.view(item)
        past = [_own_vote(vote) for vote in log.history() if vote.item == item.id]
        return view_mapping(view, engines=request.query.get("engines") == "1") | {
            "places": [_place(excerpt) for excerpt in view.excerpts],
            "query": _query(item),
            "adversary": _fields(item.adversary, *_ADVERSARY) if item.kind == "adversary" else None,
            "mine": past[-1] if past else None,
            "past": past[:-1],
            "has_engines": bool(item.origin.shown_by) or not shows_origin(item),
        }

    def sign_in(self, request: WebRequest) -> Json:
        return {"as": self._log_with_name(request).reviewer}

    def sign_out(self, request: WebRequest) -> Json:
        self._registry.sign_out(request)
        return {}

    def print_code(self, request: WebRequest) -> Json:
        self._registry.print_code(self._log(request).reviewer)
        return {}

    def take_over(self, request: WebRequest) -> Json:
        name = self._log(request).reviewer
        self._registry.take_over(request, name, request.text("code"))
        return {"as": name}

    def vote(self, request: WebRequest) -> Json:
        """Record a vote; repeating the same vote changes nothing."""
        item = self._item(request.text("item"))
        with self._writing:
            vote = self._cast(self._log_of_voter(request), item, request)
        return {"item": item.id, "mine": _own_vote(vote)}

    def add_location(self, request: WebRequest) -> Json:
        """Add a target that the reviewer found for the query of an item, with a vote for it."""
        about = self._item(request.text("item"))
        with self._writing:
            log = self._log_of_voter(request)
            item = propose_location(self._workspace, about, request.text("anchor"))
            check_vote(item, request.text("value"), request.text("reason"))
            self._queue.add([item])
            vote = self._cast(log, self._item(item.id), request)
        return {"item": _own_item(item, vote)}

    def reword(self, request: WebRequest) -> Json:
        """Replace the question of a query and accept it; repeating the same change adds nothing."""
        item = self._item(request.text("item"))
        with self._writing:
            log = self._log_of_voter(request)
            new = reword_query(self._workspace, log, item, request.text("text"))
            mine = log.votes()
        return {"item": item.id, "mine": _own_vote(mine[item.id]), "new": _own_item(new, mine[new.id])}

    def give_up(self, request: WebRequest) -> Json:
        """Make the reviewer an adjudicator, who sees other votes and can no longer vote."""
        with self._writing:
            become_adjudicator(self._log_with_name(request))
        return {"adjudicates": True}

    def count_progress(self, request: WebRequest) -> Json:
        self._unblind(request)
        return {
            "tally": asdict(count_progress(self._statuses(), read_closed(self._queue))),
            "least": self._rules.required_votes(read_all_votes(self._queue)),
        }

    def preview_accepted(self, request: WebRequest) -> Json:
        """Return the items that would be accepted or refused now; lints the whole set, which may take seconds."""
        self._unblind(request)
        workspace = self._workspace
        made = preview(self._queue, workspace.load(), self._check, corpus=workspace.given, rules=self._rules)
        return {
            "taken": [_item(s.item) | {"value": s.value, "by": list(s.supporters)} for s in made.taken],
            "refused": [{"item": one.item, "query": one.query, "reason": one.reason} for one in made.refused],
        }

    def compute_agreement(self, request: WebRequest) -> Json:
        """Return the agreement of reviewers, as `assay gold agreement` does."""
        self._unblind(request)
        votes, decisions = read_all_votes(self._queue), read_decisions(self._queue)
        taken = read_acceptance_times(self._queue)
        return {"kinds": [asdict(k) for k in compute_agreement(self._workspace.items(), votes, decisions, taken=taken)]}

    def list_disputed(self, request: WebRequest) -> Json:
        """Return disputed items with all votes, except those that the reviewer voted on."""
        name = self._unblind(request)
        disputed = [status for status in self._statuses() if status.state == "disputed"]
        others = [status for status in disputed if not status.has_vote_of(name)]
        return {"items": [_disputed_item(status) for status in others], "third": len(disputed) - len(others)}

    def decide(self, request: WebRequest) -> Json:
        """Record a decision; repeating the same decision changes nothing."""
        name = self._unblind(request)
        given = VoteInput(self._item(request.text("item")).id, request.text("value"), request.text("reason"))
        with self._writing:
            statuses = self._statuses()
            known = next((s.decision for s in statuses if s.item.id == given.item), None)
            if known is None or (known.by, known.value, known.reason) != (name, given.value, given.reason):
                record_decisions(self._queue, [make_decision(self._workspace, name, given, statuses)])
        return {"item": given.item}

    def _item(self, given: str) -> ReviewItem:
        for item in self._workspace.items():
            if item.id == given:
                return item
        raise HttpError(404, f"the queue has no item '{given[:40]}'", hint="reload the page")

    def _statuses(self) -> tuple[ItemStatus, ...]:
        return read_statuses(self._queue, self._rules)

    def _log(self, request: WebRequest) -> VoteLog:
        """Open the votes of the named reviewer; reject a name that differs from another only by case."""
        name = request.query.get("as") or request.data.get("as")
        if not isinstance(name, str) or not name:
            raise HttpError(400, "the request has no reviewer name", hint="enter your name")
        log = self._logs.get(name) or self._logs.setdefault(name, VoteLog(self._queue, name))
        log.check_namesake()
        return log

    def _log_of_owner(self, request: WebRequest) -> VoteLog:
        """Open the votes of the reviewer; raise HttpError unless the name is signed in at this browser."""
        log = self._log(request)
        self._registry.check(request, log.reviewer)
        return log

    def _log_with_name(self, request: WebRequest) -> VoteLog:
        """Open the votes of the reviewer and sign the name in at this browser."""
        log = self._log(request)
        self._registry.sign_in(request, log.reviewer)
        return log

    def _log_of_voter(self, request: WebRequest) -> VoteLog:
        """Open the votes of a blinded reviewer, or raise HttpError."""
        log = self._log_with_name(request)
        if is_adjudicator(self._queue, log.reviewer):
            hint = "decide disputed items, or vote as another reviewer in another browser"
            raise HttpError(409, f"{log.reviewer} is an adjudicator and can no longer vote", hint=hint)
        self._registry.check_blind(request, log.reviewer)
        return log

    def _unblind(self, request: WebRequest) -> str:
        """Return the name of a reviewer without open items, and log that the reviewer sees other votes."""
        log = self._log_of_owner(request)
        name = log.reviewer
        left = 0 if is_adjudicator(self._queue, name) else len(list_open_items(self._workspace, log))
        if left:
            items = "1 item is" if left == 1 else f"{left} items are"
            hint = "vote on all open items, or give up voting to adjudicate"
            raise HttpError(409, f"{items} open for {name}: other votes are hidden while items are open", hint=hint)
        self._registry.record_unblinding(request, name)
        log_unblinding(log)
        return name

    def _cast(self, log: VoteLog, item: ReviewItem, request: WebRequest) -> Vote:
        given = VoteInput(item.id, request.text("value"), request.text("reason"))
        engines, after = request.data.get("engines") is True, request.data.get("after")
        vote = make_vote(self._workspace, log.reviewer, item, given, engines=engines)
        try:
            return log.cast_once(vote, after if isinstance(after, str) else None)
        except StaleVoteError as error:
            raise HttpError(409, error.message, hint=error.hint) from error


def _item(item: ReviewItem) -> Json:
    query = item.query
    return {
        "item": item.id,
        "kind": item.kind,
        "query": query.id,
        "headline": query.headline,
        "anchor": item.anchor,
    }


def _own_item(item: ReviewItem, vote: Vote | None) -> Json:
    return _item(item) | {"mine": _own_vote(vote) if vote else None}


def _disputed_item(status: ItemStatus) -> Json:
    return _item(status.item) | {
        "values": [value for value in vote_values(status.item.kind) if value != UNSURE],
        "votes": [vote_mapping(vote) for vote in status.votes],
    }


def _own_vote(vote: Vote) -> Json:
    return {"value": vote.value, "reason": vote.reason, "on": vote.on, "engines": bool(vote.shown)}


def _place(excerpt: CodeExcerpt) -> Json:
    location: Json = {"role": excerpt.role, "anchor": excerpt.anchor, "path": excerpt.path}
    if excerpt.problem:
        return location | {"problem": excerpt.problem}
    return location | {"start": excerpt.start, "end": excerpt.end}


def _query(item: ReviewItem) -> Json:
    query = item.query
    return {
        "id": query.id,
        "forms": [[form, query.forms[form]] for form in query.ordered_forms],
        "rationale": _fields(query.rationale, "owner", "reason", "boundary") if query.rationale else None,
        "tags": dict(query.tags),
    }


def _fields(record: object, *names: str) -> Json:
    return {name: getattr(record, name) for name in names}


_LINES = 1_000  # of a file in one response; the page requests more while scrolling
_COLUMNS = 2_000  # of a line: longer ones are slow to draw
_PATHS = 60  # in a search result
_highlight = lru_cache(maxsize=16)(highlight)  # files that a few reviewers look at


@dataclass(frozen=True)
class SourceBrowser:
    workspace: ReviewWorkspace

    def lines(self, request: WebRequest) -> Json:
        """Return lines of a file as lists of `[color, text]`."""
        file = self._file(request)
        text = read_text(self.workspace.corpus, file.path)
        rows = _highlight(text, grammar_name(file.path, file.language, text))
        start = max(1, _number(request, "start", 1))
        end = min(len(rows), start + _LINES - 1, _number(request, "end", len(rows)))
        return {
            "path": file.path,
            "language": file.language or "",
            "total": len(rows),
            "start": start,
            "rows": [_row(row) for row in rows[start - 1 : end]],
        }

    def definitions(self, request: WebRequest) -> Json:
        """Return the definitions of a file; none if the file may crash its parser."""
        file = self._file(request)
        text = read_text(self.workspace.corpus, file.path)
        grammar = grammar_name(file.path, file.language, text)
        torn = grammar is not None and is_malformed(text.encode("utf-8", "replace"), grammar)
        found = () if torn else extract_symbols(file.path, text, file.language)
        return {"path": file.path, "definitions": [[s.name, s.kind, s.start, s.end] for s in found]}

    def paths(self, request: WebRequest) -> Json:
        """Return paths that contain every word: matches in file names first, then short paths."""
        words = request.query.get("find", "").casefold().split()
        found = [
            file.path for file in self.workspace.corpus.files if all(word in file.path.casefold() for word in words)
        ]

        def key(path: str) -> tuple[int, int, str]:
            name = path.casefold().rpartition("/")[2]
            return (-sum(word in name for word in words), len(path), path)

        return {"paths": sorted(found, key=key)[:_PATHS], "total": len(found)}

    def _file(self, request: WebRequest) -> SourceFile:
        path = request.query.get("path", "")
        for file in self.workspace.corpus.files:
            if file.path == path:
                return file
        raise HttpError(404, f"the corpus has no file '{path[:200]}'", hint="choose a file that the search lists")


def _row(spans: tuple[HighlightSpan, ...]) -> list[list[object]]:
    row: list[list[object]] = []
    left = _COLUMNS
    for span in spans:
        if left > 0:
            row.append([COLORS.index(span.color), span.text[:left]])
        left -= len(span.text)
    if left < 0:
        row.append([COLORS.index("comment"), f" … {-left} more characters"])
    return row


def _number(request: WebRequest, name: str, otherwise: int) -> int:
    text = request.query.get(name, "")
    if not text:
        return otherwise
    if not text.isascii() or not text.isdigit() or len(text) > 9:
        raise HttpError(400, f"expected a line number as {name!r}, got {text[:20]!r}")
    return int(text)
