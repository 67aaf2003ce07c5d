from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.corpus import open_corpus, read_text
from assay.errors import GoldError
from assay.gold.anchors import AnchorIndex, UnresolvedTarget
from assay.gold.formats.native import query_mapping
from assay.gold.git_history import commit_of
from assay.gold.journal import truncated_bytes
from assay.gold.load import load_gold
from assay.gold.review.items import ReviewItem, ReviewQueue
from assay.gold.review.votes import vote_question, vote_values
from assay.types import Corpus, CorpusSpec, GoldSet, Target


@dataclass(frozen=True, slots=True)
class ViewConfig:
    lines: int = 80  # a screen or two: the body of most functions, the beginning of a file
    columns: int = 240  # cuts minified lines


@dataclass(frozen=True, slots=True)
class CodeExcerpt:
    """The code of a location from line `start` on, or the reason why the location cannot be resolved."""

    role: str  # proposed | primary | secondary | adversary
    anchor: str
    start: int = 1
    lines: tuple[str, ...] = ()
    more: int = 0  # lines that are not shown
    problem: str = ""
    path: str = ""

    @property
    def end(self) -> int:
        return self.start + len(self.lines) + self.more - 1


@dataclass(frozen=True, slots=True)
class ItemView:
    item: ReviewItem
    excerpts: tuple[CodeExcerpt, ...]


class ItemViewer:
    def __init__(self, corpus: Corpus, config: ViewConfig | None = None) -> None:
        self._corpus = corpus
        self._library = AnchorIndex(corpus)
        self._config = config or ViewConfig()

    def view(self, item: ReviewItem) -> ItemView:
        primaries = item.query.primaries
        targets = [("primary" if target in primaries else "secondary", target) for target in item.query.targets]
        if item.kind == "target":
            targets = [("proposed", item.target)]
        adversaries = [("adversary", adversary.target) for adversary in item.query.adversaries]
        places = [*adversaries, *targets] if item.kind == "adversary" else [*targets, *adversaries]
        return ItemView(item, tuple(self._excerpt(role, target) for role, target in places))

    def _excerpt(self, role: str, target: Target) -> CodeExcerpt:
        resolved = self._library.look_up(target)
        if isinstance(resolved, UnresolvedTarget):
            return CodeExcerpt(role, target.anchor, problem=resolved.message, path=target.span.path)
        text = read_text(self._corpus, resolved.span.path).removesuffix("\n").split("\n")
        start, end = resolved.span.start or 1, resolved.span.end or len(text)
        lines = text[start - 1 : end]
        shown = tuple(line.removesuffix("\r")[: self._config.columns] for line in lines[: self._config.lines])
        return CodeExcerpt(role, target.anchor, start, shown, len(lines) - len(shown), path=resolved.span.path)


def format_view(view: ItemView, *, engines: bool = False) -> Iterator[str]:
    item = view.item
    of = f": '{item.query.id}'" if item.kind == "query" else f" of query '{item.query.id}'"
    yield f"{item.kind} {item.id}{of}"
    for form in item.query.ordered_forms:
        yield f"{form}: {item.query.forms[form]}"
    if item.kind == "adversary":
        adversary = item.adversary
        yield f"proposed adversary ({adversary.relationship}, {adversary.strength}): {adversary.confusion}"
    if shows_origin(item):
        source = f", {item.origin.source}" if item.origin.source else ""
        yield f"proposed by: {item.origin.how}{source}"
    if engines and item.origin.shown_by:
        yield f"returned by: {', '.join(item.origin.shown_by)}"
    yield from (f"note: {note}" for note in item.notes)
    for excerpt in view.excerpts:
        yield ""
        yield f"{excerpt.role}: {excerpt.anchor}"
        if excerpt.problem:
            yield f"  {excerpt.problem}"
        width = len(str(excerpt.start + len(excerpt.lines)))
        for number, line in enumerate(excerpt.lines, excerpt.start):
            yield f"  {number:>{width}}  {line}"
        if excerpt.more:
            yield f"  … {excerpt.more} more lines"


def shows_origin(item: ReviewItem) -> bool:
    """Return whether reviewers may see the origin of an item.

    Proposals by engines, by reviewers or from the set look alike: their origin would bias or reveal votes.
    """
    return item.origin.how not in ("pool", "set", "reviewer")


def view_mapping(view: ItemView, *, engines: bool = False) -> dict[str, object]:
    item = view.item
    shown = shows_origin(item)
    origin: dict[str, object] = {"how": item.origin.how if shown else "", "source": item.origin.source if shown else ""}
    places = [
        {"role": p.role, "anchor": p.anchor, "start": p.start, "lines": list(p.lines), "more": p.more}
        | ({"problem": p.problem} if p.problem else {})
        for p in view.excerpts
    ]
    return {
        "item": item.id,
        "kind": item.kind,
        "question": vote_question(item.kind),
        "votes": list(vote_values(item.kind)),
        "query": query_mapping(item.query),
        "origin": origin | ({"shown_by": list(item.origin.shown_by)} if engines else {}),
        "notes": list(item.notes),
        "places": places,
    }


@dataclass(frozen=True)
class ReviewWorkspace:
    path: Path
    given: CorpusSpec | None = None

    @cached_property
    def queue(self) -> ReviewQueue:
        return ReviewQueue(self.path)

    def load(self) -> GoldSet | None:
        if not self.path.exists():
            return None
        named = self.path.suffix in (".yaml", ".yml")  # a native set names its corpus
        golds = load_gold(self.path, corpus=None if named else self.given).golds
        if len(golds) != 1:
            message = f"expected one gold set, got {len(golds)}"
            raise GoldError(message, file=self.path, hint="use a file that contains one gold set")
        return golds[0]

    @cached_property
    def corpus(self) -> Corpus:
        gold = self.load()
        spec = gold.corpus if gold else self.given
        if spec is None:
            raise GoldError("the gold set does not exist", file=self.path, hint="name the code with --corpus CORPUS")
        return open_corpus(spec, base=self.path.parent)

    @cached_property
    def viewer(self) -> ItemViewer:
        return ItemViewer(self.corpus)

    @cached_property
    def commit(self) -> str:
        return commit_of(self.corpus)

    def items(self) -> tuple[ReviewItem, ...]:
        items = self.queue.items()
        if not items:
            hint = "run `assay gold mine`, `assay gold pool --queue` or `assay gold review --queue-labels`"
            raise GoldError("the review queue is empty", file=self.queue.path, hint=hint)
        return items

    def truncated_files(self, reviewer: str | None = None) -> Iterator[tuple[Path, int]]:
        """Yield journals and the size of their truncated last line; with `reviewer`, omit those of other reviewers."""
        for path in sorted(self.queue.directory.rglob("*.jsonl")):
            mine = reviewer is None or path.parent == self.queue.directory or path.stem == reviewer
            if mine and (left := truncated_bytes(path)):
                yield path, left
