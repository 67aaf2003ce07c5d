"""The room that reviewers of one set share: its desk, one writer at a time, and the curtain between them.

Who votes sees nobody else's votes, and not how many there are. The curtain is lifted for one who has nothing left to
vote on, and for one who gives up voting: a third person, who adjudicates.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.gold.review.desk import Desk
from assay.gold.review.items import Item
from assay.gold.review.saying import open_items
from assay.gold.review.standing import ReviewRules
from assay.gold.review.votes import Ballot
from assay.web.messages import Refused

if TYPE_CHECKING:
    from assay.gold.anchors.resolving import Problem
    from assay.types import Gold


@dataclass(frozen=True)
class Room:
    """What all requests of a review work with; `check` finds what is wrong with a set, as lint does."""

    desk: Desk
    check: Callable[[Gold], Sequence[Problem]]
    rules: ReviewRules = field(default_factory=ReviewRules)
    writing: threading.RLock = field(default_factory=threading.RLock)
    # Names that gave up voting, for as long as this server runs: then they have seen what they have seen.
    given_up: set[str] = field(default_factory=set)
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

    def has_given_up(self, name: str) -> bool:
        """Tell whether somebody adjudicates, and so votes no more."""
        return name.casefold() in self.given_up

    def give_up(self, name: str) -> None:
        """Take somebody's word that they will not vote any more."""
        self.given_up.add(self.ballot(name).reviewer.casefold())

    def check_votes(self, name: str) -> None:
        """Refuse the vote of one who saw what others said."""
        if self.has_given_up(name):
            hint = "decide what is disputed; somebody else votes"
            raise Refused(409, f"{name} adjudicates, and has seen what others said", hint=hint)

    def check_curtain(self, name: str) -> None:
        """Refuse to show anything of others to one who still votes."""
        left = 0 if self.has_given_up(name) else len(open_items(self.desk, self.ballot(name)))
        if left:
            items = "1 item is" if left == 1 else f"{left} items are"
            hint = "vote on them first, or give up voting to adjudicate"
            raise Refused(409, f"{items} open for {name}, and this shows what others said", hint=hint)
