"""Behind the curtain: where a review stands, how far reviewers agree, what is disputed, what would become gold."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from assay.gold.review.accepting import foresee, read_closed, read_standings, read_taken
from assay.gold.review.agreement import agreement
from assay.gold.review.reviewers import Said, has_voted, make_decision, tally
from assay.gold.review.standing import Standing
from assay.gold.review.votes import UNSURE, all_votes, decide, read_decisions, values_for, vote_mapping
from assay.web.messages import Request, Response, json_response
from assay.web.reviewing.room import Room, listed


@dataclass(frozen=True)
class Settling:
    """Answers those who have nothing left to vote on, or gave it up."""

    room: Room

    def standing(self, request: Request) -> Response:
        """Count the items by state and the votes by reviewer."""
        self.room.looker(request)
        found = tally(self._standings(), read_closed(self.room.desk.queue))
        return json_response({"tally": asdict(found), "least": self.room.rules.least})

    def accepted(self, request: Request) -> Response:
        """Say what would be accepted now; the whole set is linted for it, so that it may take a while."""
        self.room.looker(request)
        desk = self.room.desk
        made = foresee(desk.queue, desk.load, self.room.check, corpus=desk.given, rules=self.room.rules)
        taken = [_settled(standing) for standing in made.taken]
        refused = [{"item": one.item, "query": one.query, "reason": one.reason} for one in made.refused]
        return json_response({"taken": taken, "refused": refused})

    def agreement(self, request: Request) -> Response:
        """Compute how far the reviewers agree, as `assay gold agreement` does."""
        self.room.looker(request)
        queue = self.room.desk.queue
        found = agreement(self.room.desk.items(), all_votes(queue), read_decisions(queue), taken=read_taken(queue))
        return json_response({"kinds": [asdict(kind) for kind in found]})

    def disputed(self, request: Request) -> Response:
        """Show what is disputed with all votes; what the asker voted on is left to a third person."""
        name = self.room.looker(request)
        disputed = [standing for standing in self._standings() if standing.state == "disputed"]
        others = [standing for standing in disputed if not has_voted(standing, name)]
        listed = [_disputed(standing) for standing in others]
        return json_response({"items": listed, "third": len(disputed) - len(others)})

    def decide(self, request: Request) -> Response:
        """Take a decision: it is on the disk when this is answered. The same again is the one there is."""
        name = self.room.looker(request)
        said = Said(self.room.item(request.text("item")).id, request.text("value"), request.text("reason"))
        with self.room.writing:
            found = self._standings()
            known = next((s.decision for s in found if s.item.id == said.item), None)
            if known is None or (known.by, known.value, known.reason) != (name, said.value, said.reason):
                decide(self.room.desk.queue, [make_decision(self.room.desk, name, said, found)])
        return json_response({"item": said.item})

    def _standings(self) -> tuple[Standing, ...]:
        """Tell where each item stands now."""
        return read_standings(self.room.desk.queue, self.room.rules)


def _disputed(standing: Standing) -> dict[str, object]:
    """Write a disputed item with what everybody said."""
    return listed(standing.item) | {
        "values": [value for value in values_for(standing.item.kind) if value != UNSURE],
        "votes": [vote_mapping(vote) for vote in standing.votes],
    }


def _settled(standing: Standing) -> dict[str, object]:
    """Write an item that would be accepted, or turned down, and by whom."""
    return listed(standing.item) | {"value": standing.value, "by": list(standing.supporters)}
