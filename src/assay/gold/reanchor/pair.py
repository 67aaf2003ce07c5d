"""Two commits side by side: sheets of both, and everything that is worked out once for all targets."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from assay.gold.reanchor.config import Reanchoring
from assay.gold.reanchor.likeness import Fingerprint, kept, likeness, says, squeezed
from assay.gold.reanchor.resembling import WordIndex, index_words
from assay.gold.reanchor.sheets import Part, Sheet
from assay.gold.reanchor.trees import FileMap, Tree, read_file_map, read_line_map
from assay.types import Span


@dataclass(frozen=True, slots=True)
class Place:
    """Lines of a file of the new commit."""

    path: str
    part: Part


def _common_tail(one: PurePosixPath, other: PurePosixPath) -> int:
    """Count the steps at the end that two paths share."""
    pairs = zip(reversed(one.parts), reversed(other.parts), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(one.parts), len(other.parts)))


class Pair:
    """An old and a new commit; what is asked twice is answered from memory."""

    def __init__(self, old: Tree, new: Tree, config: Reanchoring) -> None:
        self.old, self.new, self.config = old, new, config
        self._sheets: dict[tuple[bool, str], Sheet] = {}
        self._maps: dict[tuple[str, str], dict[int, int]] = {}
        self._prints: dict[tuple[bool, Span], Fingerprint] = {}

    @cached_property
    def files(self) -> FileMap:
        """Which files became which."""
        return read_file_map(self.old, self.new, self.config)

    def before(self, path: str) -> Sheet:
        """Give a file of the old commit."""
        return self._sheet(self.old, path, old=True)

    def after(self, path: str) -> Sheet:
        """Give a file of the new commit."""
        return self._sheet(self.new, path, old=False)

    def line_map(self, path: str, other: str) -> dict[int, int]:
        """Give the lines of an old file that stayed in a new one."""
        key = (path, other)
        if key not in self._maps:
            self._maps[key] = read_line_map(self.old, path, self.new, other)
        return self._maps[key]

    def successors(self, path: str) -> tuple[str, ...]:
        """List the new files that an old one may live on in: its own path first, then what it was renamed to."""
        same = (path,) if path in self.new else ()
        found = (*same, *(other for other in self.files.became.get(path, ()) if other != path))
        return found or self._namesakes(path)

    def _namesakes(self, path: str) -> tuple[str, ...]:
        """Find the one new file of the same name nearest to where a file was, or of the same stem beside it.

        A tree that moved below `src/` and was rewritten since, or a document in another markup, is no rename to git.
        """
        old = PurePosixPath(path)
        fresh = [PurePosixPath(other) for other in self.files.changed if other not in self.old]
        named = {other: _common_tail(old, other) for other in fresh if other.name == old.name}
        best = [other for other, count in named.items() if count == max(named.values())]
        best = best or [other for other in fresh if other.parent == old.parent and other.stem == old.stem]
        return (str(best[0]),) if len(best) == 1 else ()

    def alike(self, old: Span, new: Span) -> float:
        """Compare lines of the old commit with lines of the new, in both directions."""
        return likeness(self._print(old, old=True), self._print(new, old=False))

    def kept(self, old: Span, new: Span) -> float:
        """Say how much of some lines of the old commit is in lines of the new."""
        return kept(self._print(old, old=True), self._print(new, old=False))

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """The files something may have moved to: what is new or changed."""
        self.new.read(self.files.changed)
        return self.files.changed

    @cached_property
    def by_name(self) -> dict[str, list[Place]]:
        """The definitions and sections of the changed files by their own names."""
        found: dict[str, list[Place]] = defaultdict(list)
        for path in self.changed:
            for part in self.after(path).parts:
                found[part.last].append(Place(path, part))
        return found

    @cached_property
    def by_line(self) -> dict[str, list[tuple[str, int]]]:
        """Where in the changed files a line stands; what stands in too many places says nothing."""
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for path in self.changed:
            for number, line in enumerate(self.after(path).lines, 1):
                if says(said := squeezed(line)):
                    found[said].append((path, number))
        return {line: places for line, places in found.items() if len(places) <= self.config.common}

    @cached_property
    def by_words(self) -> WordIndex:
        """The definitions and sections of the changed files by what they say."""
        return index_words((self.after(path) for path in self.changed), self.config.indexed)

    def _sheet(self, tree: Tree, path: str, *, old: bool) -> Sheet:
        """Make the sheet of a file once."""
        if (old, path) not in self._sheets:
            self._sheets[old, path] = Sheet(path, tree.lines(path))
        return self._sheets[old, path]

    def _print(self, span: Span, *, old: bool) -> Fingerprint:
        """Make the fingerprint of some lines once."""
        if (old, span) not in self._prints:
            sheet = self.before(span.path) if old else self.after(span.path)
            self._prints[old, span] = Fingerprint(sheet.text(span.start or 1, span.end or len(sheet.lines)))
        return self._prints[old, span]
