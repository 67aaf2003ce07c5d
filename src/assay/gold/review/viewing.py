"""What a reviewer sees of an item: the question, the place, its code. Never what others voted."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.errors import GoldError
from assay.gold.anchors import AnchorIndex, UnresolvedTarget
from assay.gold.history import commit_of
from assay.gold.journal import truncated_bytes
from assay.gold.loading import load_gold
from assay.gold.review.items import Item, Queue
from assay.types import Corpus, CorpusSpec, GoldSet, Target


@dataclass(frozen=True, slots=True)
class ViewConfig:
    """How much of a place is shown."""

    lines: int = 80  # a screen or two: the body of most functions, the beginning of a file
    columns: int = 240  # a minified line must not flood the page


@dataclass(frozen=True, slots=True)
class CodeExcerpt:
    """The code of one place: its lines, counted from `start`, and how many more there are; or why there are none."""

    role: str  # the place | primary | secondary | adversary
    anchor: str
    start: int = 1
    lines: tuple[str, ...] = ()
    more: int = 0
    problem: str = ""
    path: str = ""

    @property
    def end(self) -> int:
        """Number the last line of the place, shown or not."""
        return self.start + len(self.lines) + self.more - 1


@dataclass(frozen=True, slots=True)
class ItemView:
    """One item as it is put before a reviewer."""

    item: Item
    places: tuple[CodeExcerpt, ...]


class ItemViewer:
    """Shows items with the code of one corpus."""

    def __init__(self, corpus: Corpus, config: ViewConfig | None = None) -> None:
        self._corpus = corpus
        self._library = AnchorIndex(corpus)
        self._config = config or ViewConfig()

    def view(self, item: Item) -> ItemView:
        """Put an item together with its code."""
        places = [self._excerpt(role, target) for role, target in _places(item)]
        return ItemView(item, tuple(places))

    def _excerpt(self, role: str, target: Target) -> CodeExcerpt:
        from assay.corpus import read_text

        found = self._library.look_up(target)
        if isinstance(found, UnresolvedTarget):
            return CodeExcerpt(role, target.anchor, problem=found.message, path=target.span.path)
        text = read_text(self._corpus, found.span.path).removesuffix("\n").split("\n")
        start, end = found.span.start or 1, found.span.end or len(text)
        lines = text[start - 1 : end]
        shown = tuple(line.removesuffix("\r")[: self._config.columns] for line in lines[: self._config.lines])
        return CodeExcerpt(role, target.anchor, start, shown, len(lines) - len(shown), path=found.span.path)


def _places(item: Item) -> Iterator[tuple[str, Target]]:
    if item.kind == "adversary":
        yield "adversary", item.adversary.target
    primaries = item.query.primaries
    for target in item.query.targets:
        yield "the place" if item.kind == "target" else "primary" if target in primaries else "secondary", target
    if item.kind == "query":
        yield from (("adversary", adversary.target) for adversary in item.query.adversaries)


def describe(view: ItemView, *, engines: bool = False) -> Iterator[str]:
    """Write a view as lines of text, for a person or a model."""
    item = view.item
    yield f"query {item.id}: '{item.query.id}'" if item.kind == "query" else _part(item)
    for form in item.query.ordered_forms:
        yield f"{form}: {item.query.forms[form]}"
    if item.kind == "adversary":
        one = item.adversary
        yield f"proposed adversary ({one.relationship}, {one.strength}): {one.confusion}"
    source = f", {item.origin.source}" if item.origin.source else ""
    if shows_origin(item):
        yield f"proposed by: {item.origin.how}{source}"
    if engines and item.origin.shown_by:
        yield f"returned by: {', '.join(item.origin.shown_by)}"
    yield from (f"note: {note}" for note in item.notes)
    for place in view.places:
        yield ""
        yield from _place_lines(place)


def _part(item: Item) -> str:
    return f"{item.kind} {item.id} of query '{item.query.id}'"


def _place_lines(place: CodeExcerpt) -> Iterator[str]:
    yield f"{place.role}: {place.anchor}"
    if place.problem:
        yield f"  {place.problem}"
    width = len(str(place.start + len(place.lines)))
    for number, line in enumerate(place.lines, place.start):
        yield f"  {number:>{width}}  {line}"
    if place.more:
        yield f"  … {place.more} more lines"


def shows_origin(item: Item) -> bool:
    """Tell whether one who votes sees where an item comes from.

    Who marked a place voted for it, and that is nobody's business yet: places that engines returned, that the set has
    and that reviewers marked look alike.
    """
    return item.origin.how not in ("pool", "set", "reviewer")


def _origin(item: Item) -> dict[str, str]:
    origin = item.origin if shows_origin(item) else None
    return {"how": origin.how if origin else "", "source": origin.source if origin else ""}


def view_mapping(view: ItemView, *, engines: bool = False) -> dict[str, object]:
    """Give a view as data, for agents; which engines returned it only where that is asked for."""
    from assay.gold.native.layers import query_mapping
    from assay.gold.review.votes import question_for, values_for

    item = view.item
    shown = {"shown_by": list(item.origin.shown_by)} if engines else {}
    places = [
        {"role": p.role, "anchor": p.anchor, "start": p.start, "lines": list(p.lines), "more": p.more}
        | ({"problem": p.problem} if p.problem else {})
        for p in view.places
    ]
    return {
        "item": item.id,
        "kind": item.kind,
        "question": question_for(item.kind),
        "votes": list(values_for(item.kind)),
        "query": query_mapping(item.query),
        "origin": {**_origin(item), **shown},
        "notes": list(item.notes),
        "places": places,
    }


@dataclass(frozen=True, slots=True)
class TruncatedFile:
    """A journal whose last line was cut off, and how much of it is there."""

    path: Path
    bytes: int


@dataclass(frozen=True)
class ReviewWorkspace:
    """One gold file that is reviewed; the file need not be there yet."""

    path: Path
    given: CorpusSpec | None = None

    @cached_property
    def queue(self) -> Queue:
        """The proposals for the set."""
        return Queue(self.path)

    def load(self) -> GoldSet | None:
        """Read the set; none where there is none yet."""
        if not self.path.exists():
            return None
        named = self.path.suffix in (".yaml", ".yml")  # a native set names its code, and keeps what it names
        golds = load_gold(self.path, corpus=None if named else self.given).golds
        if len(golds) != 1:
            raise GoldError(f"holds {len(golds)} sets", file=self.path, hint="review one file at a time")
        return golds[0]

    @cached_property
    def corpus(self) -> Corpus:
        """The code that the set, or --corpus, names."""
        from assay.corpus import open_corpus

        gold = self.load()
        spec = gold.corpus if gold else self.given
        if spec is None:
            raise GoldError("there is no such set yet", file=self.path, hint="name its code with --corpus")
        return open_corpus(spec, base=self.path.parent)

    @cached_property
    def viewer(self) -> ItemViewer:
        """Shows items with their code."""
        return ItemViewer(self.corpus)

    @cached_property
    def commit(self) -> str:
        """The commit of the code."""
        return commit_of(self.corpus)

    def items(self) -> tuple[Item, ...]:
        """Give the proposals; there must be some."""
        items = self.queue.items()
        if not items:
            hint = "fill it with `assay gold mine`, `assay gold pool --queue` or --queue-labels"
            raise GoldError("the review queue is empty", file=self.queue.path, hint=hint)
        return items

    def torn(self, reviewer: str | None = None) -> Iterator[TruncatedFile]:
        """Find journals that end in half a line; for one who votes only what is not another reviewer's."""
        for path in sorted(self.queue.folder.rglob("*.jsonl")):
            mine = reviewer is None or path.parent == self.queue.folder or path.stem == reviewer
            if mine and (left := truncated_bytes(path)):
                yield TruncatedFile(path, left)
