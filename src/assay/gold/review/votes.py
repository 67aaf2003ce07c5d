"""Votes, unblinding logs and decisions of a review, and the resulting status of each item."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, NamedTuple, cast, get_args

from assay.clock import timestamp
from assay.errors import ConfigError, GoldError
from assay.gold.journal import JournalCache, open_journal, read_row, read_rows
from assay.gold.review.items import ItemKind, ReviewItem, ReviewQueue
from assay.gold.yaml_nodes import MappingKeys, YamlNode

Reader = Literal["human", "model"]
UNSURE = "unsure"
GRADES = ("2", "1", "0")  # primary, secondary, wrong
PROPOSED = ("2", "1")  # values for a location that the reviewer proposes
ACCEPT, REJECT = "accept", "reject"
AGAINST = ("0", REJECT)  # values that reject a proposal
LOOK: Final = "look"  # `Vote.after` of an unblinded vote

ItemState = Literal["open", "waiting", "agreed", "disputed", "decided", "accepted", "rejected"]
STATES: tuple[ItemState, ...] = get_args(ItemState)


@dataclass(frozen=True, slots=True)
class VoteOption:
    key: str
    mark: str  # in lists
    word: str
    outcome: str  # of an item settled with this value
    tone: Literal["good", "accent", "bad", "warn"]


#: All values, for pages, terminals and models.
MEANINGS = {
    "2": VoteOption("2", "2", "the answer", "primary target", "good"),
    "1": VoteOption("1", "1", "helps", "secondary target", "accent"),
    "0": VoteOption("0", "0", "wrong", "turned down", "bad"),
    ACCEPT: VoteOption("a", "✓", "accept", "gold", "good"),
    REJECT: VoteOption("r", "✕", "reject", "turned down", "bad"),
    UNSURE: VoteOption("u", "?", "unsure", "adjudicated", "warn"),
}
#: The question that a vote on each kind answers.
QUESTIONS: Mapping[ItemKind, str] = {
    "target": "Does this code answer the query?",
    "query": "Would a user ask this, and is this code the right answer?",
    "adversary": "Is the adversary a plausible but wrong answer to the query?",
    "phrasing": "Does the phrasing ask for this code, in the style that its name states?",
}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_VOTE = MappingKeys(("item", "reviewer", "reader", "value", "reason", "on"), ("prompt", "commit", "shown", "after"))
_UNBLINDING = MappingKeys(("by", "on"), ("items",))
_ADJUDICATOR = MappingKeys(("by", "on"))
_DECISION = MappingKeys(("item", "by", "value", "reason", "on"), ("commit",))


@dataclass(frozen=True, slots=True)
class Vote:
    item: str
    reviewer: str
    value: str
    reason: str
    on: str  # ISO time, UTC
    reader: Reader = "human"
    prompt: str = ""  # version of a model's prompt
    commit: str = ""  # of the corpus that was shown
    shown: tuple[str, ...] = ()  # engines whose names the reviewer saw
    after: str = ""  # LOOK if the reviewer had seen other votes on the item

    def same(self, other: Vote) -> bool:
        return (self.value, self.reason, self.shown) == (other.value, other.reason, other.shown)


class StaleVoteError(ConfigError):
    """An attempt to replace a newer vote, from another tab or terminal, that the reviewer has not seen."""


def vote_values(kind: ItemKind) -> tuple[str, ...]:
    return (*GRADES, UNSURE) if kind == "target" else (ACCEPT, REJECT, UNSURE)


def vote_question(kind: ItemKind) -> str:
    words = {value: MEANINGS[value].word for value in vote_values(kind)}
    options = [value if value == word else f"{value} = {word}" for value, word in words.items()]
    return f"{QUESTIONS[kind]} {', '.join(options)}"


def check_name(reviewer: str) -> str:
    if not _NAME.fullmatch(reviewer):
        hint = "use letters, digits and . _ @ + - (at most 64), beginning with a letter or digit"
        raise ConfigError(f"invalid reviewer name '{reviewer}'", hint=hint)
    return reviewer


def check_vote(item: ReviewItem, value: str, reason: str) -> None:
    known = vote_values(item.kind)
    if value not in known:
        raise ConfigError(f"invalid vote '{value}' on the {item.kind} {item.id}", hint=f"use one of {', '.join(known)}")
    if not reason.strip():
        raise ConfigError(f"the vote on {item.id} has no reason", hint="add a short reason")


def find_item(items: Sequence[ReviewItem], given: str) -> ReviewItem:
    """Return the only item whose id begins with `given`; raise GoldError if there are none or several."""
    matches = [item for item in items if item.id.startswith(given)] if given else []
    if len(matches) != 1:
        problem = "no item id in the queue begins" if not matches else f"{len(matches)} item ids in the queue begin"
        raise GoldError(f"{problem} with '{given}'", hint="list the ids with --list")
    return matches[0]


class VoteLog:
    def __init__(self, queue: ReviewQueue, reviewer: str) -> None:
        self.reviewer = check_name(reviewer)
        self.queue = queue
        self.path = queue.file("votes", reviewer)
        self.history = JournalCache(self.path, self._read)  # all votes, in order

    def votes(self) -> dict[str, Vote]:
        return {vote.item: vote for vote in self.history()}

    def _read(self) -> tuple[Vote, ...]:
        votes = [_read_vote(row, self.reviewer) for row in read_rows(self.path)]
        return tuple(sorted(dict.fromkeys(votes), key=lambda vote: vote.on))

    def cast(self, votes: Sequence[Vote]) -> None:
        self._append(votes, lambda: votes)

    def cast_once(self, vote: Vote, known_time: str | None) -> Vote:
        """Record a vote unless it was recorded before; return the recorded vote.

        `known_time` is the time of the last vote that the reviewer saw; raise StaleVoteError if a later vote differs.
        """

        def choose() -> tuple[Vote, ...]:
            past = [known for known in self.history() if known.item == vote.item]
            before = [None, *(known.on for known in past[:-1])]
            sent = any(known.same(vote) and on == known_time for on, known in zip(before, past, strict=False))
            if past and (sent or past[-1].same(vote)):
                return ()
            if past and known_time != past[-1].on:
                value, reason = past[-1].value, past[-1].reason[:200]
                message = f"you already voted {value} on this item in another tab or terminal: {reason}"
                raise StaleVoteError(message, hint="save again to replace that vote")
            return (vote,)

        cast = self._append([vote], choose)
        return cast[0] if cast else self.votes()[vote.item]

    def _append(self, candidates: Sequence[Vote], choose: Callable[[], Sequence[Vote]]) -> tuple[Vote, ...]:
        self.prepare()
        for number, vote in enumerate(candidates, 1):
            _read_vote(read_row(vote_mapping(vote), self.path, number), self.reviewer)
        with open_journal(self.path) as journal:
            past, chosen = self.history(), choose()
            last = past[-1].on if past else ""  # keep the order if the clock was set back
            timed = [replace(vote, on=max(vote.on, last)) for vote in chosen]
            cast = mark_unblinded([*past, *timed], read_unblindings(self.queue, self.reviewer))[len(past) :]
            journal.append([vote_mapping(vote) for vote in cast])
        return cast

    def prepare(self) -> None:
        self.queue.prepare()
        self.check_namesake()

    def check_namesake(self) -> None:
        """Raise ConfigError if an existing name differs only by case, which some file systems ignore."""
        for other in list_reviewers(self.queue):
            if other != self.reviewer and other.casefold() == self.reviewer.casefold():
                message = f"reviewer name '{self.reviewer}' differs only in case from the existing '{other}'"
                raise ConfigError(message, hint=f"vote as {other}, or use another name")


def list_reviewers(queue: ReviewQueue) -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in (queue.directory / "votes").glob("*.jsonl")))


def read_all_votes(queue: ReviewQueue) -> tuple[Vote, ...]:
    """Return the votes of all reviewers, with unblinded ones marked; never show them to a reviewer who votes."""
    by_reviewer = [
        mark_unblinded(VoteLog(queue, name).history(), read_unblindings(queue, name)) for name in list_reviewers(queue)
    ]
    return tuple(vote for votes in by_reviewer for vote in votes)


def vote_mapping(vote: Vote) -> dict[str, object]:
    return _mapping(vote, _VOTE)


def _mapping(record: Vote | Adjudication, keys: MappingKeys) -> dict[str, object]:
    required = {key: getattr(record, key) for key in keys.required}
    return required | {key: value for key in keys.optional if (value := getattr(record, key))}


def _read_vote(row: YamlNode, reviewer: str) -> Vote:
    fields = row.mapping(_VOTE)
    name = fields["reviewer"].text()
    if name != reviewer:
        raise row.location.error(f"expected a vote of '{reviewer}', got one of '{name}'", f"move it to {name}.jsonl")
    plain = ("item", "reviewer", "reason", "on", "prompt", "commit")
    return Vote(
        **{key: fields[key].text() for key in plain if key in fields},
        value=fields["value"].one_of((*GRADES, ACCEPT, REJECT, UNSURE)),
        reader=cast(Reader, fields["reader"].one_of(get_args(Reader))),
        shown=fields["shown"].texts() if "shown" in fields else (),
        after=fields["after"].one_of((LOOK,)) if "after" in fields else "",
    )


class UnblindedView(NamedTuple):
    """A reviewer's access to the votes of others: on `items`, and on all items the reviewer had voted on by then."""

    on: str  # ISO time, UTC
    items: tuple[str, ...] = ()


def read_unblindings(queue: ReviewQueue, name: str) -> tuple[UnblindedView, ...]:
    rows = [row.mapping(_UNBLINDING) for row in read_rows(queue.file("looks", name))]
    return tuple(UnblindedView(row["on"].text(), row["items"].texts() if "items" in row else ()) for row in rows)


def log_unblinding(log: VoteLog, items: Iterable[str] = ()) -> None:
    """Log that a reviewer is about to see other votes, unless the log already covers this access."""
    views = read_unblindings(log.queue, log.reviewer)
    new = sorted(set(items) - {item for view in views for item in view.items} - set(log.votes()))
    voted = max((vote.on for vote in log.history()), default="")
    if not new and voted <= max((view.on for view in views), default=""):
        return
    log.prepare()
    with open_journal(log.queue.file("looks", log.reviewer)) as journal:
        journal.append([{"by": log.reviewer, "on": timestamp(), **({"items": new} if new else {})}])


def mark_unblinded(votes: Sequence[Vote], views: Sequence[UnblindedView]) -> tuple[Vote, ...]:
    """Mark the votes cast after the reviewer had seen other votes on the item; `votes` are sorted by time."""
    first: dict[str, str] = {}
    marked: list[Vote] = []
    for vote in votes:
        voted = first.get(vote.item)
        unblinded = any(
            view.on <= vote.on and (vote.item in view.items or (voted is not None and voted <= view.on))
            for view in views
        )
        marked.append(replace(vote, after=LOOK) if unblinded else vote)
        first.setdefault(vote.item, vote.on)
    return tuple(marked)


def become_adjudicator(log: VoteLog) -> None:
    log.prepare()
    if not is_adjudicator(log.queue, log.reviewer):
        with open_journal(log.queue.file("adjudicators", log.reviewer)) as journal:
            journal.append([{"by": log.reviewer, "on": timestamp()}])


def is_adjudicator(queue: ReviewQueue, name: str) -> bool:
    files = (queue.directory / "adjudicators").glob("*.jsonl")
    same = [path for path in files if path.stem.casefold() == name.casefold()]
    return any(row.mapping(_ADJUDICATOR) for path in same for row in read_rows(path))


def check_may_vote(queue: ReviewQueue, name: str) -> None:
    if is_adjudicator(queue, name):
        hint = f"decide disputed items instead; the role is recorded in {queue.file('adjudicators', name)}"
        raise ConfigError(f"{name} adjudicates this set and cannot vote", hint=hint)


@dataclass(frozen=True, slots=True)
class Adjudication:
    item: str
    by: str
    value: str
    reason: str
    on: str  # ISO time, UTC
    commit: str = ""


def read_decisions(queue: ReviewQueue) -> tuple[Adjudication, ...]:
    """Return all decisions sorted by time, without the duplicates that a Git merge may leave."""
    decisions = [_read_decision(row) for row in read_rows(queue.directory / "decisions.jsonl")]
    return tuple(sorted(dict.fromkeys(decisions), key=lambda decision: decision.on))


def record_decisions(queue: ReviewQueue, decisions: Sequence[Adjudication]) -> None:
    queue.prepare()
    path = queue.directory / "decisions.jsonl"
    for number, decision in enumerate(decisions, 1):
        check_name(decision.by)
        _read_decision(read_row(_mapping(decision, _DECISION), path, number))
    with open_journal(path) as journal:
        past = read_decisions(queue)
        last = past[-1].on if past else ""  # the last decision counts, even if clocks differ
        journal.append([_mapping(replace(decision, on=max(decision.on, last)), _DECISION) for decision in decisions])


def _read_decision(row: YamlNode) -> Adjudication:
    fields = row.mapping(_DECISION)
    fields["value"].one_of((*GRADES, ACCEPT, REJECT))
    return Adjudication(**{key: field.text() for key, field in fields.items()})


@dataclass(frozen=True, slots=True)
class ReviewRules:
    least: int | None = 2  # minimum count of agreeing reviewers; None: 1 while one person is the only reviewer, else 2

    def __post_init__(self) -> None:
        if self.least is not None and self.least < 1:
            raise ConfigError(f"expected --min-votes of at least 1, got {self.least}")

    def required_votes(self, votes: Iterable[Vote]) -> int:
        if self.least is not None:
            return self.least
        reviewers = {(vote.reviewer, vote.reader) for vote in votes}
        return 1 if [reader for _, reader in reviewers] == ["human"] else 2


@dataclass(frozen=True, slots=True)
class ItemStatus:
    item: ReviewItem
    state: ItemState
    votes: tuple[Vote, ...] = ()
    decision: Adjudication | None = None
    value: str | None = None  # the result, once settled

    @property
    def settled(self) -> bool:
        return self.state in ("agreed", "decided")

    @property
    def supporters(self) -> tuple[str, ...]:
        """The names of the reviewers who voted for the result, then the adjudicator's."""
        voters = [vote.reviewer for vote in self.votes if vote.value == self.value]
        return tuple(dict.fromkeys([*voters, *([self.decision.by] if self.decision else [])]))

    @property
    def latest(self) -> Vote | Adjudication | None:
        supporting: list[Vote | Adjudication] = [vote for vote in self.votes if vote.value == self.value]
        supporting += [self.decision] if self.decision else []
        return max(supporting, key=lambda vote: (vote.on, vote.value), default=None)

    def has_vote_of(self, reviewer: str) -> bool:
        return any(vote.reviewer.casefold() == reviewer.casefold() for vote in self.votes)


def compute_statuses(
    items: Sequence[ReviewItem],
    votes: Iterable[Vote],
    decisions: Iterable[Adjudication] = (),
    written: Mapping[str, str] | None = None,
    rules: ReviewRules | None = None,
) -> tuple[ItemStatus, ...]:
    """Return the status of each item; `written` maps item ids to the values that were applied to the set."""
    current: dict[str, dict[str, Vote]] = {}
    cast = list(votes)
    for vote in cast:
        current.setdefault(vote.item, {})[vote.reviewer] = vote
    decided = {decision.item: decision for decision in decisions}
    least = (rules or ReviewRules()).required_votes(cast)
    statuses: list[ItemStatus] = []
    for item in items:
        by_name = tuple(vote for _, vote in sorted(current.get(item.id, {}).items()))
        values = {vote.value for vote in by_name}
        decision, known = decided.get(item.id), (written or {}).get(item.id)
        state: ItemState = "open"
        value: str | None = None
        if decision:
            state, value = "decided", decision.value
        elif len(values) > 1:
            state = "disputed"
        elif by_name and len(by_name) < least:
            state = "waiting"
        elif by_name:
            state, value = ("disputed", None) if values == {UNSURE} else ("agreed", values.pop())
        if known is not None and value in (known, None) and state != "disputed":
            state, value = ("rejected" if known in AGAINST else "accepted"), known
        statuses.append(ItemStatus(item, state, by_name, decision, value))
    return tuple(statuses)
