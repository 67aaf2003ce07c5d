"""Review items and their queue; an item proposes a query, or one target, adversary or phrasing of a query."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal, cast, get_args

from assay.errors import GoldError
from assay.files import write_atomic
from assay.gold.formats.native import query_mapping, read_query
from assay.gold.journal import REVIEW_SUFFIX, JournalCache, open_journal, read_row, read_rows
from assay.gold.yaml_nodes import MappingKeys, YamlNode
from assay.types import PRIMARY, Adversary, Query, Target

ItemKind = Literal["query", "target", "adversary", "phrasing"]
KINDS: tuple[ItemKind, ...] = get_args(ItemKind)

#: Sources of proposals: miners, rules, models, engines, labels of the set, and reviewers.
ProposalSource = Literal[
    "history", "shell", "transcript", "docs", "comments", "names",
    "confusion", "rules", "endpoint", "pool", "set", "reviewer",
]  # fmt: skip
PROPOSAL_SOURCES: tuple[ProposalSource, ...] = get_args(ProposalSource)

DRAFT_TAG = "status"  # of queries that `assay init` proposes; acceptance removes it
ID_DIGITS = 12  # 48 bits: with 100,000 items, the probability that two share an id is 1 in 50,000

_ITEM = MappingKeys(("id", "kind", "query", "origin"), ("on", "commit", "notes"))
_ORIGIN = MappingKeys(("how",), ("source", "shown_by"))
_IGNORE = "# Votes are not source code: keep them out of every corpus.\n*\n"
_ATTRIBUTES = "# Lines are independent: Git merges keep those of both sides.\n*.jsonl merge=union\n"


@dataclass(frozen=True, slots=True)
class ItemOrigin:
    how: ProposalSource
    source: str = ""  # such as "commit 3f2a91c"; never a path in the user's home
    shown_by: tuple[str, ...] = ()  # engines that returned it


@dataclass(frozen=True, slots=True)
class ReviewItem:
    """A proposal: a whole query, or a query whose only target, adversary or phrasing is the proposed one."""

    id: str
    kind: ItemKind
    query: Query
    origin: ItemOrigin
    on: str = ""  # ISO date
    commit: str = ""  # of the corpus
    notes: tuple[str, ...] = ()  # for reviewers, such as lint findings

    @property
    def target(self) -> Target:
        return self.query.targets[0]

    @property
    def adversary(self) -> Adversary:
        return self.query.adversaries[0]

    @property
    def anchor(self) -> str:
        """The anchor of the proposed adversary or the first target; empty if the query has no target."""
        targets = [self.adversary.target] if self.kind == "adversary" else self.query.targets
        return targets[0].anchor if targets else ""

    @property
    def form(self) -> str:
        return self.query.ordered_forms[0]


def is_draft(query: Query) -> bool:
    return query.tags.get(DRAFT_TAG) == "draft"


def make_item(
    kind: ItemKind, query: Query, origin: ItemOrigin, *, on: str = "", commit: str = "", notes: Sequence[str] = ()
) -> ReviewItem:
    """Create an item whose id is a hash of the proposal, independent of its origin."""
    bare = replace(query, line=None, labels=())
    if kind == "target":
        bare = replace(bare, targets=tuple(replace(t, grade=PRIMARY) for t in bare.targets), adversaries=())
    elif kind == "phrasing":
        bare = replace(bare, adversaries=())
    parts = {"target": bare.targets, "adversary": bare.adversaries, "phrasing": bare.forms}
    if kind != "query" and len(parts[kind]) != 1:
        raise GoldError(f"expected one {kind} in an item, got {len(parts[kind])}", hint=f"make one item per {kind}")
    content: list[object] = [bare.id, bare.headline]
    if kind == "query":
        content = [dict(bare.forms), sorted([target.anchor, target.grade] for target in bare.targets)]
    elif kind == "phrasing":
        content = [bare.id, bare.ordered_forms[0], bare.headline]
    else:
        content.append((bare.targets[0] if kind == "target" else bare.adversaries[0].target).anchor)
    text = json.dumps([kind, *content], ensure_ascii=True, sort_keys=True)
    digest = hashlib.sha256(text.encode("ascii")).hexdigest()[:ID_DIGITS]
    return ReviewItem(digest, kind, bare, origin, on, commit, tuple(note for note in notes if note.strip()))


def item_mapping(item: ReviewItem) -> dict[str, object]:
    origin = {"how": item.origin.how, "source": item.origin.source, "shown_by": list(item.origin.shown_by)}
    extra = {"on": item.on, "commit": item.commit, "notes": list(item.notes)}
    return {
        "id": item.id,
        "kind": item.kind,
        "query": query_mapping(item.query),
        "origin": {key: value for key, value in origin.items() if value},
        **{key: value for key, value in extra.items() if value},
    }


def read_item(row: YamlNode, number: int) -> ReviewItem:
    fields = row.mapping(_ITEM)
    kind = cast(ItemKind, fields["kind"].one_of(KINDS))
    query = read_query(fields["query"], number)
    source = fields["origin"].mapping(_ORIGIN)
    origin = ItemOrigin(
        cast(ProposalSource, source["how"].one_of(PROPOSAL_SOURCES)),
        _text(source, "source"),
        _texts(source, "shown_by"),
    )
    on, commit, notes = _text(fields, "on"), _text(fields, "commit"), _texts(fields, "notes")
    try:
        item = make_item(kind, query, origin, on=on, commit=commit, notes=notes)
    except GoldError as error:
        raise row.location.error(error.message, error.hint) from error
    if item.id != fields["id"].text():
        message = f"item {fields['id'].text()} was edited after it was queued"
        raise row.location.error(message, "restore the line, and queue the change as a new item")
    return item


def _text(fields: Mapping[str, YamlNode], key: str) -> str:
    return fields[key].text() if key in fields else ""


def _texts(fields: Mapping[str, YamlNode], key: str) -> tuple[str, ...]:
    return fields[key].texts() if key in fields else ()


@dataclass(frozen=True, slots=True)
class AddedItems:
    new: int
    known: int
    cut: int = 0  # bytes of a truncated last line, which was removed


class ReviewQueue:
    """The queue of proposals for a gold file; the gold file need not exist."""

    def __init__(self, gold_file: Path) -> None:
        self.gold_file = gold_file
        self.directory = gold_file.with_name(gold_file.stem + REVIEW_SUFFIX)
        self.path = self.directory / "items.jsonl"
        self.items = JournalCache(self.path, self._read)  # all proposals, in the order in which they were added

    def file(self, kind: Literal["votes", "looks", "adjudicators"], name: str) -> Path:
        return self.directory / kind / f"{name}.jsonl"

    def _read(self) -> tuple[ReviewItem, ...]:
        items: dict[str, ReviewItem] = {}
        for number, row in enumerate(read_rows(self.path), 1):
            item = read_item(row, number)
            items.setdefault(item.id, item)
        return tuple(items.values())

    def add(self, items: Iterable[ReviewItem]) -> AddedItems:
        """Append new proposals; concurrent processes add each proposal only once."""
        self.prepare()
        with open_journal(self.path) as journal:
            rows, given = journal.rows(), list(items)
            known = {row.mapping()["id"].text() for row in rows}
            new: dict[str, ReviewItem] = {}
            for item in given:
                if item.id not in known:
                    new.setdefault(item.id, item)
            lines = [item_mapping(item) for item in new.values()]
            for number, line in enumerate(lines, len(rows) + 1):
                read_item(read_row(line, self.path, number), number)
            journal.append(lines)
        return AddedItems(len(new), len(given) - len(new), journal.cut)

    def prepare(self) -> None:
        """Create the review directory, with files that exclude it from corpora and make Git merge journals by union."""
        if not self.gold_file.exists() and self.gold_file.suffix not in (".yaml", ".yml"):
            hint = "use a name that ends in .yaml"
            raise GoldError("the set does not exist, and a new set must be native YAML", file=self.gold_file, hint=hint)
        for name, text in {".assayignore": _IGNORE, ".gitattributes": _ATTRIBUTES}.items():
            if not (self.directory / name).exists():
                write_atomic(self.directory / name, text)
