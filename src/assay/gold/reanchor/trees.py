"""What git knows about two commits: their files, which became which, and which lines stayed."""

from __future__ import annotations

import re
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from assay.corpus import ArchiveLimits, decode_text
from assay.corpus.git import git, git_stream
from assay.errors import CorpusError
from assay.gold.reanchor.records import Reanchoring
from assay.gold.reanchor.sheets import (
    Fingerprint,
    ParsedFile,
    Section,
    WordIndex,
    has_word,
    index_words,
    kept,
    similarity,
    squeezed,
)
from assay.syntax.text import split_lines
from assay.types import Span

_HUNK: Final = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
#: Paths as they are, and no program of the repository's choosing.
_PLAIN: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--ignore-submodules")


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A git repository, bare or not, and the folder of it that the gold set's paths start from."""

    folder: Path
    root: str = ""

    def commit(self, rev: str) -> str:
        """Turn a revision into a commit."""
        if rev.startswith("-"):
            raise CorpusError(f"{rev!r} is not a revision", hint="name a commit, a tag or a branch")
        self._readable()
        found = git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", cwd=self._there(), limits=ArchiveLimits())
        if found.code:
            raise CorpusError(
                f"revision {rev!r} is not found in this repository",
                file=self.folder,
                hint="name a git repository with --repo that holds both revisions; fetch it first",
            )
        return found.out.decode().strip()

    def _readable(self) -> None:
        inside = git("rev-parse", "--git-dir", cwd=self._there(), limits=ArchiveLimits())
        if inside.code:
            trust = f"if you trust it: git config --global --add safe.directory {self.folder.resolve()}"
            raise CorpusError(
                f"git cannot read this repository: {inside.last_words}",
                file=self.folder,
                hint=trust if "dubious ownership" in inside.err else "name a git repository with --repo",
            )

    def run(self, *arguments: str) -> bytes:
        """Run git and read what it prints."""
        answer = git("-c", "core.quotePath=false", *arguments, cwd=self._there(), limits=ArchiveLimits())
        if answer.code:
            raise CorpusError(f"git cannot compare the revisions: {answer.last_words}", file=self.folder)
        return answer.out

    def inside(self, path: str) -> str | None:
        """Give a path of the repository as the gold set writes it; None when it lies outside the root."""
        prefix = f"{self.root}/" if self.root else ""
        return path.removeprefix(prefix) if path.startswith(prefix) else None

    @property
    def pathspec(self) -> tuple[str, ...]:
        """Name the root to git."""
        return ("--", f":(top,literal){self.root}") if self.root else ()

    def _there(self) -> Path:
        if not self.folder.is_dir():
            raise CorpusError("there is no such folder", file=self.folder, hint="name a git repository with --repo")
        return self.folder


@dataclass(slots=True)
class Tree:
    """The files of a commit, read when they are first asked for."""

    repository: GitRepository
    commit: str
    blobs: Mapping[str, str]  # path -> object id
    _lines: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def __contains__(self, path: str) -> bool:
        return path in self.blobs

    def lines(self, path: str) -> tuple[str, ...]:
        """Give the lines of a file."""
        if path not in self._lines:
            self.read([path])
        return self._lines[path]

    def read(self, paths: Iterable[str]) -> None:
        """Read files at once."""
        wanted = [path for path in paths if path not in self._lines]
        with tempfile.TemporaryFile() as names:
            names.write("".join(f"{self.blobs[path]}\n" for path in wanted).encode("ascii"))
            names.seek(0)
            with git_stream("cat-file", "--batch", cwd=self.repository.folder, stdin=names) as stream:
                for path in wanted:
                    header = stream.readline().split()
                    if len(header) != 3 or header[1] != b"blob":
                        raise CorpusError(
                            f"git has no content for {path} at {self.commit[:12]}",
                            file=self.repository.folder,
                            hint="the clone is partial or damaged: run `git fsck`, fetch it all",
                        )
                    self._lines[path] = split_lines(decode_text(stream.read(int(header[2]))))
                    stream.read(1)


def read_tree(repository: GitRepository, commit: str, most_bytes: int) -> Tree:
    """List the files of a commit below the root; links, submodules and what is far too long are no source."""
    listed = repository.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit)
    blobs: dict[str, str] = {}
    for row in listed.split(b"\0"):
        about, _, name = row.partition(b"\t")
        path = repository.inside(name.decode("utf-8", "surrogateescape"))
        fields = about.decode("ascii").split()
        if path and fields[0].startswith("100") and int(fields[3]) <= most_bytes:
            blobs[path] = fields[2]
    return Tree(repository, commit, blobs)


@dataclass(frozen=True, slots=True)
class FileMap:
    """Where the files of one commit went in another."""

    became: Mapping[str, tuple[str, ...]]  # old path -> new paths it was renamed or copied to, most alike first
    changed: tuple[str, ...]  # paths of the new commit that are new or not what they were


def read_file_map(old: Tree, new: Tree, config: Reanchoring) -> FileMap:
    """Ask git which files became which."""
    similar = (f"-M{config.rename_percent}%", f"-C{config.rename_percent}%", f"-l{config.rename_limit}")
    printed = old.repository.run(
        "diff-tree", "-r", "-z", "--raw", *similar, *_PLAIN[1:], old.commit, new.commit, *old.repository.pathspec
    )
    became: dict[str, list[tuple[int, str]]] = {}
    changed: set[str] = set()
    for status, source, path in _raw(printed.decode("utf-8", "surrogateescape").split("\0")):
        here, there = old.repository.inside(source), old.repository.inside(path)
        if there is not None and there in new:
            changed.add(there)
            if here is not None and status[0] in "RC":
                became.setdefault(here, []).append((-int(status[1:] or 0), there))
    return FileMap({path: tuple(p for _, p in sorted(found)) for path, found in became.items()}, tuple(sorted(changed)))


def _raw(fields: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    rest = iter(fields)
    for about in rest:
        if about.startswith(":"):
            status, path = about.rsplit(" ", 1)[1], next(rest)
            yield status, path, next(rest) if status[0] in "RC" else path


def read_line_map(old: Tree, path: str, new: Tree, other: str) -> dict[int, int]:
    """Ask git which lines of one file stayed in the other, blanks aside: line before -> line after."""
    before, after = len(old.lines(path)), len(new.lines(other))
    if old.blobs[path] == new.blobs[other]:
        return {line: line for line in range(1, before + 1)}
    printed = old.repository.run("diff", "--histogram", "-w", "-U0", *_PLAIN, old.blobs[path], new.blobs[other])
    return dict(_stayed(printed, before, after))


def _stayed(printed: bytes, before: int, after: int) -> Iterator[tuple[int, int]]:
    if re.search(rb"^Binary files ", printed, re.M):
        return
    here, there = 1, 1
    for line in printed.split(b"\n"):
        hunk = _HUNK.match(line)
        if hunk is not None:
            removed, added = int(hunk[2] or 1), int(hunk[4] or 1)
            stop = int(hunk[1]) + (removed == 0)  # a hunk that only adds is named after the line before it
            yield from zip(range(here, stop), range(there, there + stop - here), strict=True)
            there += stop - here + added
            here = stop + removed
    while here <= before and there <= after:
        yield here, there
        here, there = here + 1, there + 1


@dataclass(frozen=True, slots=True)
class NewRange:
    """Lines of a file of the new commit."""

    path: str
    part: Section


def _common_tail(one: PurePosixPath, other: PurePosixPath) -> int:
    pairs = zip(reversed(one.parts), reversed(other.parts), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(one.parts), len(other.parts)))


class CommitPair:
    """An old and a new commit; what is asked twice is answered from memory."""

    def __init__(self, old: Tree, new: Tree, config: Reanchoring) -> None:
        self.old, self.new, self.config = old, new, config
        self._sheets: dict[tuple[bool, str], ParsedFile] = {}
        self._maps: dict[tuple[str, str], dict[int, int]] = {}
        self._prints: dict[tuple[bool, Span], Fingerprint] = {}

    @cached_property
    def files(self) -> FileMap:
        """Which files became which."""
        return read_file_map(self.old, self.new, self.config)

    def before(self, path: str) -> ParsedFile:
        """Give a file of the old commit."""
        return self._sheet(self.old, path, old=True)

    def after(self, path: str) -> ParsedFile:
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
        return similarity(self._print(old, old=True), self._print(new, old=False))

    def kept(self, old: Span, new: Span) -> float:
        """Say how much of some lines of the old commit is in lines of the new."""
        return kept(self._print(old, old=True), self._print(new, old=False))

    @cached_property
    def changed(self) -> tuple[str, ...]:
        """The files something may have moved to: what is new or changed."""
        self.new.read(self.files.changed)
        return self.files.changed

    @cached_property
    def by_name(self) -> dict[str, list[NewRange]]:
        """The definitions and sections of the changed files by their own names."""
        found: dict[str, list[NewRange]] = defaultdict(list)
        for path in self.changed:
            for part in self.after(path).parts:
                found[part.last].append(NewRange(path, part))
        return found

    @cached_property
    def by_line(self) -> dict[str, list[tuple[str, int]]]:
        """Where in the changed files a line stands; what stands in too many places says nothing."""
        found: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for path in self.changed:
            for number, line in enumerate(self.after(path).lines, 1):
                if has_word(said := squeezed(line)):
                    found[said].append((path, number))
        return {line: places for line, places in found.items() if len(places) <= self.config.common}

    @cached_property
    def by_words(self) -> WordIndex:
        """The definitions and sections of the changed files by what they say."""
        return index_words((self.after(path) for path in self.changed), self.config.indexed)

    def _sheet(self, tree: Tree, path: str, *, old: bool) -> ParsedFile:
        if (old, path) not in self._sheets:
            self._sheets[old, path] = ParsedFile(path, tree.lines(path))
        return self._sheets[old, path]

    def _print(self, span: Span, *, old: bool) -> Fingerprint:
        if (old, span) not in self._prints:
            sheet = self.before(span.path) if old else self.after(span.path)
            self._prints[old, span] = Fingerprint(sheet.text(span.start or 1, span.end or len(sheet.lines)))
        return self._prints[old, span]
