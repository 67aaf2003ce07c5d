"""A proposal that waits for reviewers: a whole query, or one target, adversary or phrasing of a query there is."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, cast, get_args

from assay.errors import GoldError
from assay.files import write_atomic
from assay.gold.journal import JournalCache, opened, read_row, read_rows
from assay.gold.native.nodes import MappingKeys
from assay.types import PRIMARY, Adversary, Query, Target

if TYPE_CHECKING:
    from assay.gold.native.nodes import YamlNode


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

_ITEM = MappingKeys(("id", "kind", "query", "origin"), ("on", "commit", "notes"))
_ORIGIN = MappingKeys(("how",), ("source", "shown_by"))


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
    from assay.gold.native.layers import query_mapping

    origin = {"how": item.origin.how, "source": item.origin.source, "shown_by": list(item.origin.shown_by)}
    extra = {"on": item.on, "commit": item.commit, "notes": list(item.notes)}
    return {
        "id": item.id,
        "kind": item.kind,
        "query": query_mapping(item.query),
        "origin": _present(origin),
        **_present(extra),
    }


def read_item(row: YamlNode, number: int) -> Item:
    """Read a line of the queue; one whose id does not fit what it says was edited."""
    from assay.gold.native.layers import read_query

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
    bare = replace(query, line=None, labels=())
    if kind == "target":
        return replace(bare, targets=tuple(replace(t, grade=PRIMARY) for t in bare.targets), adversaries=())
    return replace(bare, adversaries=()) if kind == "phrasing" else bare


def _check(kind: ItemKind, query: Query) -> None:
    counts: Mapping[str, int] = {
        "target": len(query.targets),
        "adversary": len(query.adversaries),
        "phrasing": len(query.forms),
    }
    if counts.get(kind, 1) != 1:
        raise GoldError(f"an item of kind {kind} has {counts[kind]} of them", hint="make one item for each")


def _digest(kind: ItemKind, query: Query) -> str:
    text = json.dumps([kind, *_content(kind, query)], ensure_ascii=True, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:ID_DIGITS]


def _content(kind: ItemKind, query: Query) -> list[object]:
    headline = query.headline
    if kind == "query":
        return [dict(query.forms), sorted([target.anchor, target.grade] for target in query.targets)]
    if kind == "target":
        return [query.id, headline, query.targets[0].anchor]
    if kind == "adversary":
        return [query.id, headline, query.adversaries[0].target.anchor]
    return [query.id, query.ordered_forms[0], headline]


def _read_origin(field: YamlNode) -> Origin:
    fields = field.mapping(_ORIGIN)
    how = cast(How, fields["how"].one_of(HOWS))
    return Origin(how, _text(fields, "source"), _texts(fields, "shown_by"))


def _text(fields: Mapping[str, YamlNode], key: str) -> str:
    return fields[key].text() if key in fields else ""


def _texts(fields: Mapping[str, YamlNode], key: str) -> tuple[str, ...]:
    return fields[key].texts() if key in fields else ()


def _present(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value}


SUFFIX = ".review"
_IGNORE = "# Votes are not source: this keeps them out of every corpus.\n*\n"
_ATTRIBUTES = "# Every line stands for itself: git keeps those of both sides.\n*.jsonl merge=union\n"


@dataclass(frozen=True, slots=True)
class Added:
    """How many proposals were new, how many were in the queue, and what a killed writer had left of a line."""

    new: int
    known: int
    cut: int = 0  # bytes


def review_folder(gold_file: Path) -> Path:
    """Give the folder beside a gold file that its review lives in."""
    return gold_file.with_name(gold_file.stem + SUFFIX)


class Queue:
    """The proposals for a gold file, which need not be there yet."""

    def __init__(self, gold_file: Path) -> None:
        self.gold_file = gold_file
        self.folder = review_folder(gold_file)
        self._items = JournalCache(self.path, self._read)

    @property
    def path(self) -> Path:
        """The file that holds the proposals."""
        return self.folder / "items.jsonl"

    def items(self) -> tuple[Item, ...]:
        """Give all proposals in the order they came."""
        return self._items()

    def _read(self) -> tuple[Item, ...]:
        found: dict[str, Item] = {}
        for number, row in enumerate(read_rows(self.path), 1):
            item = read_item(row, number)
            found.setdefault(item.id, item)
        return tuple(found.values())

    def add(self, items: Iterable[Item]) -> Added:
        """Append what is not there yet; two processes that add at once add each proposal once."""
        self.prepare()
        with opened(self.path) as journal:
            rows = journal.rows()
            known = {row.mapping()["id"].text() for row in rows}
            given = list(items)
            fresh = {item.id: item for item in reversed(given) if item.id not in known}
            new = [fresh[item_id] for item_id in dict.fromkeys(item.id for item in given) if item_id in fresh]
            lines = [item_mapping(item) for item in new]
            for number, line in enumerate(lines, len(rows) + 1):
                read_item(read_row(line, self.path, number), number)
            journal.append(lines)
        return Added(len(new), len(given) - len(new), journal.cut)

    def prepare(self) -> None:
        """Make the folder, out of every corpus and such that git merges it; a set that cannot be made gets none."""
        if not self.gold_file.exists() and self.gold_file.suffix not in (".yaml", ".yml"):
            hint = "give it a name that ends in .yaml"
            raise GoldError("there is no such set yet, and a new one is a native one", file=self.gold_file, hint=hint)
        for name, text in {".assayignore": _IGNORE, ".gitattributes": _ATTRIBUTES}.items():
            if not (self.folder / name).exists():
                write_atomic(self.folder / name, text)
