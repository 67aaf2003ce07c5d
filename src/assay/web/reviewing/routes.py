"""The addresses of a review, and its page."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.browser.shell import page
from assay.corpus import spec_text
from assay.gold.review.reviewers import has_spoken
from assay.gold.review.standing import ReviewRules
from assay.gold.review.viewing import Desk
from assay.syntax.highlight import COLOURS
from assay.web.messages import Request, Response, page_response
from assay.web.reviewing.code import Code
from assay.web.reviewing.room import Room
from assay.web.reviewing.seats import Seats, seats_file, with_cookie
from assay.web.reviewing.settling import Settling
from assay.web.reviewing.voting import Voting, words
from assay.web.routing import Route

if TYPE_CHECKING:
    from assay.gold.anchors import Problem
    from assay.types import Gold

#: Where the page is; what it asks for is below.
REVIEW = "/review"


def review_routes(
    desk: Desk,
    check: Callable[[Gold], Sequence[Problem]],
    *,
    tell: Callable[[str], None],
    rules: ReviewRules | None = None,
    name: str = "",
) -> tuple[Route, ...]:
    """Give the addresses of the review of one set; `check` is lint, `name` who most likely sits there.

    `tell` says something at the terminal of the server, which not everybody sees who sits at a browser.
    """
    desk.corpus, desk.commit  # noqa: B018  # opened before anybody asks, from one thread
    seats = Seats(seats_file(desk.path), tell, lambda name: has_spoken(desk.queue, name))
    room = Room(desk, check, seats, rules or ReviewRules())
    voting, settling, code = Voting(room), Settling(room), Code(desk)

    def show(request: Request) -> Response:
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


def _code(desk: Desk) -> str:
    """Name the code for people: a folder by its whole path, for "." says nothing on a page."""
    spec = desk.corpus.spec
    return str(desk.corpus.root) if spec.kind == "path" else spec_text(spec)


def _page(desk: Desk, name: str) -> bytes:
    """Make the page: it has no item in it, for who asks is not known yet."""
    about = {
        "set": desk.path.name,
        "place": str(desk.path.absolute()),  # drafts of one set must not turn up in another
        "corpus": _code(desk),
        "name": name,
        **words(),
        "colours": COLOURS,
    }
    return page(
        title=f"Review of {desk.path.name}",
        script="review/main.js",
        styles=("base.css", "review.css"),
        data={"review": json.dumps(about, ensure_ascii=True).encode()},
        fallback="<p>Votes are taken by a script here. Without one: <code>assay gold review SET --as NAME</code></p>",
        live=True,
    )
