"""What a review works with: the set, its queue, and its code, opened when it is first needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from assay.errors import GoldError
from assay.gold.circumstances import commit_of
from assay.gold.journal import torn
from assay.gold.loading import load_gold
from assay.gold.review.items import Item
from assay.gold.review.queue import Queue
from assay.gold.review.viewing import Viewer
from assay.types import Corpus, CorpusSpec, Gold


@dataclass(frozen=True, slots=True)
class Torn:
    """A journal whose last line was cut off, and how much of it is there."""

    path: Path
    bytes: int


@dataclass(frozen=True)
class Desk:
    """One gold file that is reviewed; the file need not be there yet."""

    path: Path
    given: CorpusSpec | None = None

    @cached_property
    def queue(self) -> Queue:
        """The proposals for the set."""
        return Queue(self.path)

    def load(self) -> Gold | None:
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
    def viewer(self) -> Viewer:
        """Shows items with their code."""
        return Viewer(self.corpus)

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

    def torn(self, reviewer: str | None = None) -> Iterator[Torn]:
        """Find journals that end in half a line; for one who votes only what is not another reviewer's."""
        for path in sorted(self.queue.folder.rglob("*.jsonl")):
            mine = reviewer is None or path.parent == self.queue.folder or path.stem == reviewer
            if mine and (left := torn(path)):
                yield Torn(path, left)
