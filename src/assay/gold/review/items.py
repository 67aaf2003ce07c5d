"""A proposal that waits for reviewers: a whole query, or one target, adversary or phrasing of a query there is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, cast, get_args

from assay.errors import GoldError
from assay.gold.schema import Keys
from assay.types import PRIMARY, Adversary, Query, Target

if TYPE_CHECKING:
    from assay.gold.native.nodes import Field

ItemKind = Literal["query", "target", "adversary", "phrasing"]
KINDS: tuple[ItemKind, ...] = get_args(ItemKind)

#: How a proposal came about: mined from what, by which rule or model, returned by engines, in the set already, or
#: marked in the code by one of the reviewers.
How = Literal[
    "history",
    "shell",
    "transcript",
    "docs",
    "comments",
    "names",
    "confusion",
    "rules",
    "endpoint",
    "pool",
    "set",
    "reviewer",
]
HOWS: tuple[How, ...] = get_args(How)

ID_DIGITS = 12  # 48 bits: among 100,000 proposals of one set two share an id once in 50,000 sets

_ITEM = Keys(("id", "kind", "query", "origin"), ("on", "commit", "notes"))
_ORIGIN = Keys(("how",), ("source", "shown_by"))


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a proposal comes from; `shown_by` are the engines whose results brought it up."""

    how: How
    source: str = ""  # such as "commit 3f2a91c"; never a path of the user's home
    shown_by: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Item:
    """A proposal. `query` is all of it, or the query there is with the one target, adversary or phrasing meant."""

    id: str
    kind: ItemKind
    query: Query
    origin: Origin
    on: str = ""  # ISO date
    commit: str = ""  # of the corpus
    notes: tuple[str, ...] = ()  # what lint says, shown to reviewers

    @property
    def target(self) -> Target:
        """The one target that an item of that kind is about."""
        return self.query.targets[0]

    @property
    def adversary(self) -> Adversary:
        """The one adversary that an item of that kind is about."""
        return self.query.adversaries[0]

    @property
    def anchor(self) -> str:
        """The place to look at first, as written; nothing where the query has none."""
        targets = [self.adversary.target] if self.kind == "adversary" else self.query.targets
        return targets[0].anchor if targets else ""

    @property
    def form(self) -> str:
        """The one phrasing that an item of that kind is about."""
        return self.query.ordered_forms[0]


def make_item(
    kind: ItemKind, query: Query, origin: Origin, *, on: str = "", commit: str = "", notes: Sequence[str] = ()
) -> Item:
    """Make a proposal; its id is over what is proposed, so the same proposal is the same from wherever it comes."""
    bare = _bare(kind, query)
    _check(kind, bare)
    return Item(_digest(kind, bare), kind, bare, origin, on, commit, tuple(note for note in notes if note.strip()))


def item_mapping(item: Item) -> dict[str, object]:
    """Give an item as the keys of its line."""
    from assay.gold.native.writing import query_mapping

    origin = {"how": item.origin.how, "source": item.origin.source, "shown_by": list(item.origin.shown_by)}
    extra = {"on": item.on, "commit": item.commit, "notes": list(item.notes)}
    return {
        "id": item.id,
        "kind": item.kind,
        "query": query_mapping(item.query),
        "origin": _present(origin),
        **_present(extra),
    }


def read_item(row: Field, number: int) -> Item:
    """Read a line of the queue; one whose id does not fit what it says was edited."""
    from assay.gold.native.reading import read_query

    fields = row.mapping(_ITEM)
    kind = cast(ItemKind, fields["kind"].one_of(KINDS))
    query = replace(read_query(fields["query"], number), line=None)
    origin = _read_origin(fields["origin"])
    try:
        item = make_item(
            kind, query, origin, on=_text(fields, "on"), commit=_text(fields, "commit"), notes=_texts(fields, "notes")
        )
    except GoldError as error:
        raise row.place.error(error.message, error.hint) from error
    if item.id != fields["id"].text():
        message = f"the item {fields['id'].text()} says something else than when it was queued"
        raise row.place.error(message, "queue the change as an item of its own; lines are not edited")
    return item


def _bare(kind: ItemKind, query: Query) -> Query:
    """Leave out what belongs to the file it was read from; the grade of a lone target is for reviewers to say."""
    bare = replace(query, line=None, labels=())
    if kind == "target":
        return replace(bare, targets=tuple(replace(t, grade=PRIMARY) for t in bare.targets), adversaries=())
    return replace(bare, adversaries=()) if kind == "phrasing" else bare


def _check(kind: ItemKind, query: Query) -> None:
    """Refuse an item that is not about exactly one thing."""
    counts: Mapping[str, int] = {
        "target": len(query.targets),
        "adversary": len(query.adversaries),
        "phrasing": len(query.forms),
    }
    if counts.get(kind, 1) != 1:
        raise GoldError(f"an item of kind {kind} has {counts[kind]} of them", hint="make one item for each")


def _digest(kind: ItemKind, query: Query) -> str:
    """Hash what is proposed: not where it comes from, and not what else the query has by now."""
    text = json.dumps([kind, *_content(kind, query)], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:ID_DIGITS]


def _content(kind: ItemKind, query: Query) -> list[object]:
    """Give what makes two proposals the same; a headline that was rewritten asks something else."""
    headline = query.headline
    if kind == "query":
        return [dict(query.forms), sorted([target.anchor, target.grade] for target in query.targets)]
    if kind == "target":
        return [query.id, headline, query.targets[0].anchor]
    if kind == "adversary":
        return [query.id, headline, query.adversaries[0].target.anchor]
    return [query.id, query.ordered_forms[0], headline]


def _read_origin(field: Field) -> Origin:
    """Read where an item comes from."""
    fields = field.mapping(_ORIGIN)
    how = cast(How, fields["how"].one_of(HOWS))
    return Origin(how, _text(fields, "source"), _texts(fields, "shown_by"))


def _text(fields: Mapping[str, Field], key: str) -> str:
    """Read a text that may be left out."""
    return fields[key].text() if key in fields else ""


def _texts(fields: Mapping[str, Field], key: str) -> tuple[str, ...]:
    """Read a list of texts that may be left out."""
    return fields[key].texts() if key in fields else ()


def _present(values: Mapping[str, object]) -> dict[str, object]:
    """Leave out what is empty."""
    return {key: value for key, value in values.items() if value}
