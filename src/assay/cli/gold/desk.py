"""What a review command works with: the set, its queue, and its code, opened when it is first needed."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.common.output import counted, warn
from assay.errors import ConfigError, GoldError

if TYPE_CHECKING:
    from assay.gold.review import Item, Queue
    from assay.gold.review.viewing import Viewer
    from assay.types import Corpus, CorpusSpec, Gold


@dataclass(frozen=True)
class Desk:
    """One gold file that is reviewed; the file need not be there yet."""

    path: Path
    given: CorpusSpec | None = None

    @cached_property
    def queue(self) -> Queue:
        """The proposals for the set."""
        from assay.gold.review import Queue

        return Queue(self.path)

    def load(self) -> Gold | None:
        """Read the set; none where there is none yet."""
        from assay.gold import load_gold

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
        from assay.gold.review.viewing import Viewer

        return Viewer(self.corpus)

    @cached_property
    def commit(self) -> str:
        """The commit of the code."""
        from assay.gold.circumstances import commit_of

        return commit_of(self.corpus)

    def items(self) -> tuple[Item, ...]:
        """Give the proposals; there must be some."""
        items = self.queue.items()
        if not items:
            hint = "fill it with `assay gold mine`, `assay gold pool --queue` or --queue-labels"
            raise GoldError("the review queue is empty", file=self.queue.path, hint=hint)
        return items

    def tell_torn(self, reviewer: str | None = None) -> None:
        """Warn of journals that end in half a line; for one who votes only of what is not another reviewer's."""
        from assay.gold.journal import torn

        for path in sorted(self.queue.folder.rglob("*.jsonl")):
            mine = reviewer is None or path.parent == self.queue.folder or path.stem == reviewer
            if mine and (left := torn(path)):
                warn(f"{path}: the last line is cut off ({counted(left, 'byte')}) and does not count")


def open_desk(path: Path, corpus: str | None) -> Desk:
    """Open the review of a gold file."""
    from assay.corpus import parse_spec
    from assay.experiment.running.loading import beside

    if path.is_dir():
        raise GoldError("is a folder", file=path, hint="review one gold file at a time")
    return Desk(path, beside(parse_spec(corpus), str(path)) if corpus else None)


def reviewer_of(args: argparse.Namespace) -> str:
    """Give who votes or decides."""
    from assay.gold.review.votes import check_name

    if not args.reviewer:
        raise ConfigError("nobody is named", hint="say who you are: --as NAME")
    return check_name(args.reviewer)


def on_terminal() -> bool:
    """Tell whether somebody sits there who can be asked."""
    return sys.stdin.isatty()


def ask_line(prompt: str) -> str | None:
    """Ask for a line on stderr's side of the terminal; None when there are no more."""
    print(prompt, end="", file=sys.stderr, flush=True)  # noqa: T201  # a question to the person at the terminal
    line = sys.stdin.readline()
    return line.strip() if line else None


def show(lines: Iterable[str]) -> None:
    """Show lines of foreign text on the terminal."""
    from assay.cli.common.hits import clean

    for line in lines:
        print(clean(line))  # noqa: T201  # what the reviewer reads


@dataclass(frozen=True, slots=True)
class Said:
    """A vote or a decision as it was given."""

    item: str
    value: str
    reason: str
    line: int | None = None  # of the file it stands in


def read_flags(given: list[str], reasons: list[str] | None) -> list[Said]:
    """Read `ITEM=VALUE` flags with their reasons: one for each, or one for all."""
    said = list(reasons or [])
    if len(said) == 1:
        said *= len(given)
    if len(said) != len(given):
        many = f"{counted(len(given), 'vote')} and {counted(len(said), 'reason')}"
        raise ConfigError(many, hint='give each its --reason "..."')
    rows = []
    for text, reason in zip(given, said, strict=True):
        item, equals, value = text.partition("=")
        if not equals:
            raise ConfigError(f"'{text}' is no vote", hint="write ITEM=VALUE, such as 3f2a91c0d4e5=2")
        rows.append(Said(item.strip(), value.strip(), reason))
    return rows
