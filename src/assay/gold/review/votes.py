"""What each reviewer said, a file a reviewer: nobody reads another's before the decision, nobody writes into it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, cast, get_args

from assay.errors import ConfigError, GoldError
from assay.gold.history import now
from assay.gold.journal import JournalCache, opened, read_row, read_rows
from assay.gold.native.nodes import MappingKeys
from assay.gold.review.items import Item, ItemKind, Queue

if TYPE_CHECKING:
    from pathlib import Path

    from assay.gold.native.nodes import YamlNode
    from assay.gold.review.items import Queue


#: What a vote says that came after a look.
LOOK: Final = "look"
_LINE = MappingKeys(("by", "on"), ("items",))


@dataclass(frozen=True, slots=True)
class UnblindedView:
    """One look at what others said: of all that one had voted on by then, and of these items."""

    on: str  # ISO time, UTC
    items: tuple[str, ...] = ()


def looks_file(queue: Queue, name: str) -> Path:
    """Give the file that holds the looks of one person."""
    return queue.folder / "looks" / f"{name}.jsonl"


def read_looks(queue: Queue, name: str) -> tuple[UnblindedView, ...]:
    """Give the looks of one person."""
    rows = [row.mapping(_LINE) for row in read_rows(looks_file(queue, name))]
    return tuple(UnblindedView(row["on"].text(), row["items"].texts() if "items" in row else ()) for row in rows)


def log_unblinding(ballot: VoteLog, items: Iterable[str] = ()) -> None:
    """Write down that a reviewer is shown what others said, before it is shown; what is known is not said again."""
    looks = read_looks(ballot.queue, ballot.reviewer)
    new = sorted(set(items) - {item for look in looks for item in look.items} - set(ballot.votes()))
    voted = max((vote.on for vote in ballot.history()), default="")
    if not new and voted <= max((look.on for look in looks), default=""):
        return
    ballot.prepare()
    with opened(looks_file(ballot.queue, ballot.reviewer)) as journal:
        journal.append([{"by": ballot.reviewer, "on": now(), **({"items": new} if new else {})}])


def marked(votes: Sequence[Vote], looks: Sequence[UnblindedView]) -> tuple[Vote, ...]:
    """Mark those of a reviewer's votes, given in order, that came after the others' votes on the item were shown."""
    first: dict[str, str] = {}
    made = []
    for vote in votes:
        made.append(replace(vote, after=LOOK) if _is_after(vote, first.get(vote.item), looks) else vote)
        first.setdefault(vote.item, vote.on)
    return tuple(made)


def _is_after(vote: Vote, first: str | None, looks: Sequence[UnblindedView]) -> bool:
    earlier = [look for look in looks if look.on <= vote.on]
    return any(vote.item in look.items or (first is not None and first <= look.on) for look in earlier)


Reader = Literal["human", "model"]
READERS: tuple[Reader, ...] = get_args(Reader)

UNSURE = "unsure"
GRADES = ("2", "1", "0")  # primary, secondary, wrong
PROPOSED = ("2", "1")  # who finds a place holds it for an answer, or for help
ACCEPT, REJECT = "accept", "reject"


@dataclass(frozen=True, slots=True)
class VoteOption:
    """What a value says: its key, its mark in a list, the word for it, and what becomes of an item it holds for."""

    key: str
    mark: str
    word: str
    outcome: str
    tone: Literal["good", "accent", "bad", "warn"]


#: Every value there is. Pages, terminals and models all read their words here.
MEANINGS = {
    "2": VoteOption("2", "2", "the answer", "an answer", "good"),
    "1": VoteOption("1", "1", "helps", "a helping place", "accent"),
    "0": VoteOption("0", "0", "wrong", "turned down", "bad"),
    ACCEPT: VoteOption("a", "✓", "accept", "gold", "good"),
    REJECT: VoteOption("r", "✕", "reject", "turned down", "bad"),
    UNSURE: VoteOption("u", "?", "unsure", "adjudicated", "warn"),
}
#: What a vote on each kind answers.
QUESTIONS: Mapping[ItemKind, str] = {
    "target": "Does the place answer the query?",
    "query": "Would somebody ask this, and are these places the right answer?",
    "adversary": "Is the adversary a plausible but wrong answer to the query?",
    "phrasing": "Does the phrasing ask for these places, the way its form should?",
}

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}")
_VOTE = MappingKeys(("item", "reviewer", "reader", "value", "reason", "on"), ("prompt", "commit", "shown", "after"))


@dataclass(frozen=True, slots=True)
class Vote:
    """What one reviewer says of one item, and why."""

    item: str
    reviewer: str
    value: str
    reason: str
    on: str  # ISO time, UTC
    reader: Reader = "human"
    prompt: str = ""  # version of a model's prompt
    commit: str = ""  # of the corpus that was looked at
    shown: tuple[str, ...] = ()  # engines whose results the reviewer saw named
    after: str = ""  # LOOK: the reviewer had been shown what others said of the item

    def same(self, other: Vote) -> bool:
        """Tell whether two votes on an item say the same, whenever they were cast."""
        return (self.value, self.reason, self.shown) == (other.value, other.reason, other.shown)


class StaleVoteError(ConfigError):
    """A vote that would take the place of one that its reviewer has not seen, from another tab or terminal."""


def values_for(kind: ItemKind) -> tuple[str, ...]:
    """Give what may be said of an item of a kind."""
    return (*GRADES, UNSURE) if kind == "target" else (ACCEPT, REJECT, UNSURE)


def question_for(kind: ItemKind) -> str:
    """Ask about an item of a kind in one line, with what may be answered."""
    meant = {value: MEANINGS[value].word for value in values_for(kind)}
    words = [value if value == word else f"{value} = {word}" for value, word in meant.items()]
    return f"{QUESTIONS[kind]} {', '.join(words)}"


def check_name(reviewer: str) -> str:
    """Give back a reviewer's name that can be part of a file name."""
    if not _NAME.fullmatch(reviewer):
        hint = "use letters, digits and . _ @ + - (at most 64), beginning with a letter or digit"
        raise ConfigError(f"'{reviewer}' is no name for a reviewer", hint=hint)
    return reviewer


def check_vote(item: Item, value: str, reason: str) -> None:
    """Refuse a vote that says nothing about this kind of item, and one without a reason."""
    known = values_for(item.kind)
    if value not in known:
        raise ConfigError(
            f"'{value}' is no vote on the {item.kind} {item.id}", hint=f"a {item.kind} takes {', '.join(known)}"
        )
    if not reason.strip():
        raise ConfigError(f"the vote on {item.id} has no reason", hint="say in a few words why")


class VoteLog:
    """The votes of one reviewer."""

    def __init__(self, queue: Queue, reviewer: str) -> None:
        self.reviewer = check_name(reviewer)
        self.queue = queue
        self.path = votes_folder(queue) / f"{reviewer}.jsonl"
        self._history = JournalCache(self.path, self._read)

    def votes(self) -> dict[str, Vote]:
        """Give what the reviewer says now, by item: a later vote takes the place of an earlier one."""
        return {vote.item: vote for vote in self.history()}

    def history(self) -> tuple[Vote, ...]:
        """Give all that the reviewer ever said, in order."""
        return self._history()

    def _read(self) -> tuple[Vote, ...]:
        votes = [_read_vote(row, self.reviewer) for row in read_rows(self.path)]
        return tuple(sorted(dict.fromkeys(votes), key=lambda vote: vote.on))

    def cast(self, votes: Sequence[Vote]) -> None:
        """Add votes; they are on the disk when this returns."""
        self._append(lambda: votes, votes)

    def cast_once(self, vote: Vote, seen: str | None) -> Vote:
        """Cast a vote that was given when `seen` was the time of the last one; sent again, it is the one there is."""

        def fresh() -> tuple[Vote, ...]:
            past = [known for known in self.history() if known.item == vote.item]
            return () if _is_known(vote, seen, past) else (vote,)

        cast = self._append(fresh, [vote])
        return cast[0] if cast else self.votes()[vote.item]

    def _append(self, choose: Callable[[], Sequence[Vote]], all_of: Sequence[Vote]) -> tuple[Vote, ...]:
        """Add what is chosen of some votes while nobody else writes; all must be such that they can be read."""
        self.prepare()
        for number, vote in enumerate(all_of, 1):
            _read_vote(read_row(vote_mapping(vote), self.path, number), self.reviewer)
        with opened(self.path) as journal:
            past, chosen = self.history(), choose()
            last = past[-1].on if past else ""  # a clock that was set back must not put a vote before an earlier one
            timed = [replace(vote, on=max(vote.on, last)) for vote in chosen]
            cast = marked([*past, *timed], read_looks(self.queue, self.reviewer))[len(past) :]
            journal.append([vote_mapping(vote) for vote in cast])
        return cast

    def prepare(self) -> None:
        """Make the folder of the review, under a name that is nobody else's."""
        self.queue.prepare()
        self.check_namesake()

    def check_namesake(self) -> None:
        """Refuse a name that differs from another's by case alone: some disks take both for one file."""
        for other in reviewers(self.queue):
            if other != self.reviewer and other.casefold() == self.reviewer.casefold():
                raise ConfigError(f"there is a reviewer called '{other}'", hint=f"vote as {other}, or by another name")


def _is_known(vote: Vote, seen: str | None, past: Sequence[Vote]) -> bool:
    """Tell whether a vote was taken before; `past` is what was said of its item, and its last word must be seen."""
    before = [None, *(known.on for known in past[:-1])]
    again = any(known.same(vote) and on == seen for on, known in zip(before, past, strict=False))
    if not past or again or past[-1].same(vote):
        return bool(past)
    if seen != past[-1].on:
        message = f"you voted {past[-1].value} on it elsewhere: {past[-1].reason[:200]}"
        raise StaleVoteError(message, hint="save again to let this vote take the place of that one")
    return False


def votes_folder(queue: Queue) -> Path:
    """Give the folder with a file for each reviewer."""
    return queue.folder / "votes"


def reviewers(queue: Queue) -> tuple[str, ...]:
    """Name all who voted; their files are not opened."""
    return tuple(sorted(path.stem for path in votes_folder(queue).glob("*.jsonl")))


def all_votes(queue: Queue) -> tuple[Vote, ...]:
    """Read what everybody ever said, reviewer by reviewer: for status, adjudication and agreement, never to vote."""
    found = [marked(VoteLog(queue, name).history(), read_looks(queue, name)) for name in reviewers(queue)]
    return tuple(vote for votes in found for vote in votes)


def vote_mapping(vote: Vote) -> dict[str, object]:
    """Give a vote as the keys of its line."""
    line: dict[str, object] = {
        "item": vote.item,
        "reviewer": vote.reviewer,
        "reader": vote.reader,
        "value": vote.value,
        "reason": vote.reason,
        "on": vote.on,
    }
    extra = {"prompt": vote.prompt, "commit": vote.commit, "shown": list(vote.shown), "after": vote.after}
    return line | {key: value for key, value in extra.items() if value}


def _read_vote(row: YamlNode, reviewer: str) -> Vote:
    fields = row.mapping(_VOTE)
    if fields["reviewer"].text() != reviewer:
        name = fields["reviewer"].text()
        raise row.place.error(f"a vote of '{name}' in the file of '{reviewer}'", "each reviewer has a file")
    return Vote(
        item=fields["item"].text(),
        reviewer=reviewer,
        value=_value(fields["value"]),
        reason=fields["reason"].text(),
        on=fields["on"].text(),
        reader=cast(Reader, fields["reader"].one_of(READERS)),
        prompt=_text(fields, "prompt"),
        commit=_text(fields, "commit"),
        shown=fields["shown"].texts() if "shown" in fields else (),
        after=fields["after"].one_of((LOOK,)) if "after" in fields else "",
    )


def _value(field: YamlNode) -> str:
    return field.one_of((*GRADES, ACCEPT, REJECT, UNSURE))


def _text(fields: Mapping[str, YamlNode], key: str) -> str:
    return fields[key].text() if key in fields else ""


def find_item(items: Sequence[Item], given: str) -> Item:
    """Find an item by its id, or by the beginning of it that no other has."""
    found = [item for item in items if item.id.startswith(given)] if given else []
    if len(found) != 1:
        what = "no item of the queue begins" if not found else f"{len(found)} items of the queue begin"
        raise GoldError(f"{what} with '{given}'", hint="--list shows the ids of the items")
    return found[0]


_ADJUDICATORS_LINE = MappingKeys(("by", "on"))


def adjudicator_file(queue: Queue, name: str) -> Path:
    """Give the file that says that somebody adjudicates."""
    return _folder(queue) / f"{name}.jsonl"


def become_adjudicator(ballot: VoteLog) -> None:
    """Take somebody's word that they vote no more; it is on the disk when this returns. Saying it twice is once."""
    ballot.prepare()
    if adjudicates(ballot.queue, ballot.reviewer):
        return
    with opened(adjudicator_file(ballot.queue, ballot.reviewer)) as journal:
        journal.append([{"by": ballot.reviewer, "on": now()}])


def adjudicates(queue: Queue, name: str) -> bool:
    """Tell whether somebody gave up voting, however the name is written; half a line is no word."""
    files = [path for path in _folder(queue).glob("*.jsonl") if path.stem.casefold() == name.casefold()]
    return any(row.mapping(_ADJUDICATORS_LINE) for path in files for row in read_rows(path))


def check_votes(queue: Queue, name: str) -> None:
    """Refuse the vote of one who saw what others said."""
    if adjudicates(queue, name):
        hint = f"decide what is disputed, and let somebody else vote ({adjudicator_file(queue, name)} says so)"
        raise ConfigError(f"{name} gave up voting to adjudicate, and has seen what others said", hint=hint)


def _folder(queue: Queue) -> Path:
    return queue.folder / "adjudicators"


_DECISION = MappingKeys(("item", "by", "value", "reason", "on"), ("commit",))


@dataclass(frozen=True, slots=True)
class Adjudication:
    """What holds for an item, whatever was voted; a later decision takes the place of an earlier one."""

    item: str
    by: str
    value: str
    reason: str
    on: str  # ISO time, UTC
    commit: str = ""


def decisions_file(queue: Queue) -> Path:
    """Give the file that holds the decisions."""
    return queue.folder / "decisions.jsonl"


def read_decisions(queue: Queue) -> tuple[Adjudication, ...]:
    """Give all decisions in the order they were taken, each once: a merge may have mixed or doubled their lines."""
    found = [_read(row) for row in read_rows(decisions_file(queue))]
    return tuple(sorted(dict.fromkeys(found), key=lambda decision: decision.on))


def decide(queue: Queue, decisions: Sequence[Adjudication]) -> None:
    """Add decisions; they are on the disk when this returns."""
    queue.prepare()
    path = decisions_file(queue)
    for number, decision in enumerate(decisions, 1):
        _read(read_row(_mapping(decision), path, number))
    with opened(path) as journal:
        past = read_decisions(queue)
        last = past[-1].on if past else ""  # whoever decides last has the last word, whatever the clocks say
        journal.append([_mapping(replace(one, on=max(one.on, last))) for one in decisions])


def _mapping(decision: Adjudication) -> dict[str, object]:
    line: dict[str, object] = {
        "item": decision.item,
        "by": check_name(decision.by),
        "value": decision.value,
        "reason": decision.reason,
        "on": decision.on,
    }
    return line | ({"commit": decision.commit} if decision.commit else {})


def _read(row: YamlNode) -> Adjudication:
    fields = row.mapping(_DECISION)
    return Adjudication(
        item=fields["item"].text(),
        by=fields["by"].text(),
        value=fields["value"].one_of((*GRADES, ACCEPT, REJECT)),
        reason=fields["reason"].text(),
        on=fields["on"].text(),
        commit=fields["commit"].text() if "commit" in fields else "",
    )
