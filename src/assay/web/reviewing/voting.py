"""What a reviewer asks and says: the queue, one item, a vote, another place. Nobody else's votes are read for it."""

from __future__ import annotations

from dataclasses import asdict, dataclass

from assay.gold.review.accepting import read_closed
from assay.gold.review.items import KINDS, Item
from assay.gold.review.reviewers import Said, make_vote, other_place
from assay.gold.review.viewing import Excerpt, shows_origin, view_mapping
from assay.gold.review.votes import MEANINGS, PROPOSED, QUESTIONS, Ballot, Unseen, Vote, check_vote, give_up, values_for
from assay.web.messages import Refused, Request, Response, json_response
from assay.web.reviewing.room import Room, asked_by, listed


@dataclass(frozen=True)
class Voting:
    """Answers those who vote."""

    room: Room

    def queue(self, request: Request) -> Response:
        """List what the reviewer voted on, and what is open for them."""
        ballot = self.room.asker(request)
        mine, closed = ballot.votes(), read_closed(self.room.desk.queue)
        items = [item for item in self.room.desk.items() if item.id in mine or item.id not in closed]
        listed = [_listed(item, mine.get(item.id)) for item in items]
        return json_response({"as": ballot.reviewer, "items": listed, "adjudicates": self._adjudicates(ballot)})

    def sit(self, request: Request) -> Response:
        """Give the browser the name that somebody votes under."""
        return json_response({"as": self.room.speaker(request).reviewer})

    def leave(self, request: Request) -> Response:
        """Set the name free that the browser has."""
        self.room.seats.leave(request)
        return json_response({})

    def print_code(self, request: Request) -> Response:
        """Print at the terminal of the server what lets this browser have a name that another one has."""
        self.room.seats.print_code(self.room.ballot(asked_by(request)).reviewer)
        return json_response({})

    def take_over(self, request: Request) -> Response:
        """Give this browser a name that another one has, for the code."""
        name = self.room.ballot(asked_by(request)).reviewer
        self.room.seats.take_over(request, name, request.text("code"))
        return json_response({"as": name})

    def item(self, request: Request) -> Response:
        """Show one item with its places, and what the reviewer said of it."""
        ballot = self.room.asker(request)
        item = self.room.item(request.query.get("item", ""))
        view = self.room.desk.viewer.view(item)
        shown = view_mapping(view, engines=request.query.get("engines") == "1")
        shown["places"] = [_place(place) for place in view.places]
        shown["query"] = _query(item)
        shown["adversary"] = _adversary(item)
        past = [_said(vote) for vote in ballot.history() if vote.item == item.id]
        engines = bool(item.origin.shown_by) or not shows_origin(item)
        return json_response(shown | {"mine": past[-1] if past else None, "past": past[:-1], "has_engines": engines})

    def vote(self, request: Request) -> Response:
        """Take a vote: it is on the disk when this is answered. The same vote again is the one there is."""
        item = self.room.item(request.text("item"))
        with self.room.writing:
            ballot = self.room.voter(request)
            said = Said(item.id, request.text("value"), request.text("reason"))
            vote = self._cast(ballot, item, said, request)
        return json_response({"item": item.id, "mine": _said(vote)})

    def place(self, request: Request) -> Response:
        """Take another place for the query of an item, with the vote of who found it."""
        about = self.room.item(request.text("item"))
        with self.room.writing:
            ballot = self.room.voter(request)
            item = other_place(self.room.desk, about, request.text("anchor"))
            said = Said(item.id, request.text("value"), request.text("reason"))
            check_vote(item, said.value, said.reason)
            self.room.desk.queue.add([item])
            vote = self._cast(ballot, self.room.item(item.id), said, request)
        return json_response({"item": _listed(item, vote)})

    def give_up(self, request: Request) -> Response:
        """Take somebody's word that they vote no more, and lift the curtain for them."""
        with self.room.writing:
            give_up(self.room.speaker(request))
        return json_response({"adjudicates": True})

    def _cast(self, ballot: Ballot, item: Item, said: Said, request: Request) -> Vote:
        """Cast a vote once; one that would replace a vote the page has not seen, from another tab, is refused."""
        vote = make_vote(self.room.desk, ballot.reviewer, item, said, engines=request.data.get("engines") is True)
        seen = request.data.get("after")
        try:
            return ballot.cast_once(vote, seen if isinstance(seen, str) else None)
        except Unseen as error:
            raise Refused(409, error.message, hint=error.hint) from error

    def _adjudicates(self, ballot: Ballot) -> bool:
        """Tell whether the reviewer gave up voting."""
        return self.room.adjudicates(ballot.reviewer)


def _listed(item: Item, vote: Vote | None) -> dict[str, object]:
    """Write an item as a line of the queue."""
    return listed(item) | {"mine": _said(vote) if vote else None}


def _said(vote: Vote) -> dict[str, object]:
    """Write one's own vote."""
    return {"value": vote.value, "reason": vote.reason, "on": vote.on, "engines": bool(vote.shown)}


def _place(place: Excerpt) -> dict[str, object]:
    """Write where a place is; its lines come with the file."""
    where = {"role": place.role, "anchor": place.anchor, "path": place.path}
    return where | ({"problem": place.problem} if place.problem else {"start": place.start, "end": place.end})


def _query(item: Item) -> dict[str, object]:
    """Write what is asked, and why its answer is one."""
    query, why = item.query, item.query.rationale
    return {
        "id": query.id,
        "forms": [[form, query.forms[form]] for form in query.ordered_forms],
        "rationale": {"owner": why.owner, "reason": why.reason, "boundary": why.boundary} if why else None,
        "tags": dict(query.tags),
    }


def _adversary(item: Item) -> dict[str, str] | None:
    """Write what makes an adversary one."""
    if item.kind != "adversary":
        return None
    one = item.adversary
    return {"relationship": one.relationship, "strength": one.strength, "confusion": one.confusion}


def words() -> dict[str, object]:
    """Say for each kind of item what is asked and what may be answered, and for each value what it means."""
    kinds = {kind: {"question": QUESTIONS[kind], "values": list(values_for(kind))} for kind in KINDS}
    values = {value: asdict(meaning) for value, meaning in MEANINGS.items()}
    return {"kinds": kinds, "values": values, "proposed": list(PROPOSED)}
