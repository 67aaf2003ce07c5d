"""The proposals of one gold set, on disk beside it, each once. Miners and pools add; reviewers read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from assay.errors import GoldError
from assay.files import write_atomic
from assay.gold.journal import Remembered, opened, read_row, read_rows
from assay.gold.review.items import Item, item_mapping, read_item

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
        self._items = Remembered(self.path, self._read)

    @property
    def path(self) -> Path:
        """The file that holds the proposals."""
        return self.folder / "items.jsonl"

    def items(self) -> tuple[Item, ...]:
        """Give all proposals in the order they came."""
        return self._items()

    def _read(self) -> tuple[Item, ...]:
        """Read the proposals."""
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
