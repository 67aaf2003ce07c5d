"""The room that reviewers of one set share: its desk, one writer at a time, and the curtain between them.

Who votes sees nobody else's votes, and not how many there are. The curtain is lifted for one who has nothing left to
vote on, and for one who gives up voting: a third person, who adjudicates. Everybody asks under the name
that their browser sits there with.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.gold.review.items import Item
from assay.gold.review.reviewers import open_items
from assay.gold.review.standing import ReviewRules
from assay.gold.review.viewing import Desk
from assay.gold.review.votes import Ballot, adjudicates, note_look
from assay.web.messages import Refused, Request
from assay.web.reviewing.seats import Seats

if TYPE_CHECKING:
    from assay.gold.anchors import Problem
    from assay.types import Gold


@dataclass(frozen=True)
class Room:
    """What all requests of a review work with; `check` finds what is wrong with a set, as lint does."""

    desk: Desk
    check: Callable[[Gold], Sequence[Problem]]
    seats: Seats
    rules: ReviewRules = field(default_factory=ReviewRules)
    writing: threading.RLock = field(default_factory=threading.RLock)
    ballots: dict[str, Ballot] = field(default_factory=dict)

    def item(self, given: str) -> Item:
        """Find an item by its whole id."""
        for item in self.desk.items():
            if item.id == given:
                return item
        raise Refused(404, f"the queue has no item '{given[:40]}'", hint="reload the page")

    def ballot(self, name: str) -> Ballot:
        """Open the votes of a reviewer; a name that differs from another's by case alone is refused at once."""
        ballot = self.ballots.get(name) or self.ballots.setdefault(name, Ballot(self.desk.queue, name))
        ballot.check_namesake()
        return ballot

    def asker(self, request: Request) -> Ballot:
        """Open the votes of who asks; the browser must sit there under that name."""
        ballot = self.ballot(asked_by(request))
        self.seats.check(request, ballot.reviewer)
        return ballot

    def speaker(self, request: Request) -> Ballot:
        """Open the votes of who says something; a name that is free is given to the browser."""
        ballot = self.ballot(asked_by(request))
        self.seats.sit(request, ballot.reviewer)
        return ballot

    def voter(self, request: Request) -> Ballot:
        """Open the votes of who votes; nobody does who saw what others said."""
        ballot = self.speaker(request)
        if self.adjudicates(ballot.reviewer):
            hint = "decide what is disputed; somebody else votes"
            raise Refused(409, f"{ballot.reviewer} adjudicates, and has seen what others said", hint=hint)
        self.seats.check_blind(request, ballot.reviewer)
        return ballot

    def looker(self, request: Request) -> str:
        """Name who is shown what others said: one who still votes is not, and that somebody was is noted."""
        ballot = self.asker(request)
        self.check_curtain(ballot.reviewer)
        self.seats.look(request, ballot.reviewer)
        note_look(ballot)
        return ballot.reviewer

    def adjudicates(self, name: str) -> bool:
        """Tell whether somebody gave up voting."""
        return adjudicates(self.desk.queue, name)

    def check_curtain(self, name: str) -> None:
        """Refuse to show anything of others to one who still votes."""
        left = 0 if self.adjudicates(name) else len(open_items(self.desk, self.ballot(name)))
        if left:
            items = "1 item is" if left == 1 else f"{left} items are"
            hint = "vote on them first, or give up voting to adjudicate"
            raise Refused(409, f"{items} open for {name}, and this shows what others said", hint=hint)


def asked_by(request: Request) -> str:
    """Name who asks."""
    name = request.query.get("as") or request.data.get("as")
    if not isinstance(name, str) or not name:
        raise Refused(400, "nobody is named", hint="say who you are")
    return name


def listed(item: Item) -> dict[str, object]:
    """Write an item as every list of them begins."""
    query = item.query
    return {
        "item": item.id,
        "kind": item.kind,
        "query": query.id,
        "headline": query.headline,
        "anchor": item.anchor,
    }
