from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path, PurePosixPath
from typing import Final

from assay.corpus import decode_text
from assay.corpus.git import git, parse_hunk, read_blobs
from assay.errors import CorpusError
from assay.gold.reanchor.sections import FileRange, ParsedFile, Section, WordIndex, has_word, normalize_blanks
from assay.syntax.text import split_lines

#: Options that disable programs configured in the repository.
_PLAIN: Final = ("--no-ext-diff", "--no-textconv", "--ignore-submodules")


@dataclass(frozen=True, slots=True)
class ReanchorConfig:
    """Thresholds and limits for matching old and new code. Likeness is `Fingerprint.similarity`, from 0 to 1."""

    #: Minimum percentage of a file that is left after a rename or copy. Git's default of 50 misses files that were
    #: split; a low value is harmless, since the lines are compared afterwards.
    rename_percent: int = 30
    rename_limit: int = 5_000  # files compared as renames; with more, Git skips the comparison (default: 1,000)
    #: Minimum likeness of a range found by name, or by unchanged lines, for the confidence `sure`.
    #: Unrelated functions of one program reach 0.2 to 0.35.
    sure: float = 0.5
    named: float = 0.2  # share of the old lines and words in such a range; below it, only the name is left
    moved: float = 0.35  # likeness of an equally named definition in another scope or file: many are named `new`
    title: float = 0.3  # bonus of a renamed definition, times the similarity of the names
    neighbor: float = 0.15  # bonus of a renamed definition for each adjacent one with the same name
    renamed: float = 0.4  # likeness of a renamed definition without the bonus ...
    renamed_sum: float = 0.55  # ... and with it
    section: float = 0.05  # likeness of a retitled section, whose text is rewritten more freely, without the bonus ...
    section_sum: float = 0.45  # ... and with it
    retitled: float = 0.25  # likeness of a section without a common word in the title
    renamed_sure: float = 0.6  # likeness from which a renamed definition is `sure`
    scattered: float = 0.5  # likeness of a range with only some of the lines, for the confidence `low` ...
    scattered_sure: float = 0.75  # ... and for `sure`
    #: Bonus for names and unchanged lines when ranges are compared. It is limited because bodies move out of
    #: functions that stay as one-line wrappers.
    better: float = 0.25
    #: A section is placed on the unchanged lines, not on the whole new section, if that adds this much likeness ...
    closer: float = 0.15
    #: ... and at least this share of the old text remains: a heading was removed, so the section absorbed the next one.
    held: float = 0.9
    split_off: float = 0.05  # share of the old text that an adjacent new definition must add to be included
    distinctive: int = 60  # characters that a text needs to be searched for: shorter texts are found everywhere
    slack: int = 3  # lines of comments, blanks and brackets between the edges of a range and a definition
    shrunk: float = 0.34  # share of its old length below which a range is not `sure`: two of three lines are elsewhere
    grown: float = 3.0  # a range longer than this many times the old one, plus `grown_lines`, includes other code
    grown_lines: int = 30
    like_line: float = 0.7  # minimum difflib ratio of an edited line; with one of four words renamed it is about that
    common: int = 8  # maximum occurrences of a line that counts as evidence; `return None` is everywhere
    listed: int = 3  # candidates for a lost target
    candidate: float = 0.2  # likeness from which a candidate is listed
    indexed: int = 50_000  # definitions compared by words; ten times that takes a minute and a gigabyte
    compared: int = 4_000_000  # pairs of lines compared where no line is unique; long tables take minutes otherwise
    file_bytes: int = 1_000_000  # maximum file size; larger files are generated


DEFAULT = ReanchorConfig()


@dataclass(frozen=True, slots=True)
class GitRepository:
    """A Git repository, bare or not, and the directory in it that the gold set's paths are relative to."""

    directory: Path
    root: str = ""

    def commit(self, rev: str) -> str:
        if rev.startswith("-"):
            raise CorpusError(f"expected a revision, got {rev!r}", hint="name a commit, a tag or a branch")
        if not self.directory.is_dir():
            raise CorpusError("no such directory", file=self.directory, hint="set a Git repository with --repo")
        inside = git("rev-parse", "--git-dir", cwd=self.directory)
        if inside.code:
            trust = f"if you trust the repository: git config --global --add safe.directory {self.directory.resolve()}"
            hint = trust if "dubious ownership" in inside.err else "set a Git repository with --repo"
            raise CorpusError(
                f"git cannot read this repository: {inside.last_error_line}", file=self.directory, hint=hint
            )
        resolved = git("rev-parse", "--verify", "--quiet", f"{rev}^{{commit}}", cwd=self.directory)
        if resolved.code:
            hint = "fetch the revision, or set a repository that has both revisions with --repo"
            raise CorpusError(f"revision {rev!r} not found in this repository", file=self.directory, hint=hint)
        return resolved.out.decode().strip()

    def run(self, *arguments: str) -> bytes:
        result = git("-c", "core.quotePath=false", *arguments, cwd=self.directory)
        if result.code:
            raise CorpusError(f"git {arguments[0]} failed: {result.last_error_line}", file=self.directory)
        return result.out

    def inside(self, path: str) -> str | None:
        prefix = f"{self.root}/" if self.root else ""
        return path.removeprefix(prefix) if path.startswith(prefix) else None


class CommitTree:
    """The regular files of a commit below the root, each of at most `most_bytes`, read on demand."""

    def __init__(self, repository: GitRepository, commit: str, most_bytes: int) -> None:
        self.repository, self.commit = repository, commit
        self.blobs: dict[str, str] = {}  # path -> object id
        self._lines: dict[str, tuple[str, ...]] = {}
        for row in repository.run("ls-tree", "-r", "-l", "-z", "--full-tree", commit).split(b"\0"):
            about, _, name = row.partition(b"\t")
            path = repository.inside(name.decode("utf-8", "surrogateescape"))
            fields = about.decode("ascii").split()
            if path and fields[0].startswith("100") and int(fields[3]) <= most_bytes:
                self.blobs[path] = fields[2]

    def __contains__(self, path: str) -> bool:
        return path in self.blobs

    def lines(self, path: str) -> tuple[str, ...]:
        if path not in self._lines:
            self.read([path])
        return self._lines[path]

    def read(self, paths: Iterable[str]) -> None:
        wanted = [path for path in paths if path not in self._lines]
        contents = read_blobs((self.blobs[path] for path in wanted), cwd=self.repository.directory)
        for path, data in zip(wanted, contents, strict=True):
            if data is None:
                message = f"git has no content for {path} at {self.commit[:12]}"
                hint = "the clone is partial or damaged: run `git fsck`, or fetch the whole repository"
                raise CorpusError(message, file=self.repository.directory, hint=hint)
            self._lines[path] = split_lines(decode_text(data))


class CommitPair:
    def __init__(self, old: CommitTree, new: CommitTree, config: ReanchorConfig) -> None:
        self.old, self.new, self.config = old, new, config
        self.before = cache(lambda path: ParsedFile(path, old.lines(path)))
        self.after = cache(lambda path: ParsedFile(path, new.lines(path)))
        self.line_map = cache(self._compare_lines)

    def _compare_lines(self, path: str, other: str) -> dict[int, int]:
        """Map the numbers of unchanged lines from an old file to a new one, ignoring whitespace; empty if binary."""
        before, after = len(self.old.lines(path)), len(self.new.lines(other))
        blobs = self.old.blobs[path], self.new.blobs[other]
        if blobs[0] == blobs[1]:
            return {line: line for line in range(1, before + 1)}
        printed = self.old.repository.run("diff", "--histogram", "-w", "-U0", "--no-color", *_PLAIN, *blobs)
        line_map: dict[int, int] = {}
        if re.search(rb"^Binary files ", printed, re.M):
            return line_map
        here, there = 1, 1
        for line in printed.split(b"\n"):
            hunk = parse_hunk(line)
            if hunk is not None:
                removed, added = hunk.old_count, hunk.new_count
                stop = hunk.old_start + (removed == 0)
                line_map.update(zip(range(here, stop), range(there, there + stop - here), strict=True))
                there += stop - here + added
                here = stop + removed
        line_map.update(zip(range(here, before + 1), range(there, after + 1), strict=False))
        return line_map

    def successors(self, path: str) -> tuple[str, ...]:
        """Return the new files that may correspond to an old file.

        These are the same path and Git's renames and copies, else the only new file of the same name with the longest
        common path ending, else the only one of the same stem and directory. Git detects no rename if a tree moved
        below `src/` and was rewritten, or if the markup of a document changed.
        """
        renamed, changed = self._changes
        same = (path,) if path in self.new else ()
        successors = (*same, *(other for other in renamed.get(path, ()) if other != path))
        if successors:
            return successors
        old = PurePosixPath(path)
        fresh = [PurePosixPath(other) for other in changed if other not in self.old]
        named = {other: _common_tail(old, other) for other in fresh if other.name == old.name}
        best = [other for other, count in named.items() if count == max(named.values())]
        best = best or [other for other in fresh if other.parent == old.parent and other.stem == old.stem]
        return (str(best[0]),) if len(best) == 1 else ()

    def compare(self, old: FileRange, new: FileRange) -> float:
        return self.before(old.path).fingerprint(old).similarity(self.after(new.path).fingerprint(new))

    def share_in(self, old: FileRange, new: FileRange) -> float:
        return self.before(old.path).fingerprint(old).share_in(self.after(new.path).fingerprint(new))

    @cached_property
    def _changes(self) -> tuple[dict[str, tuple[str, ...]], tuple[str, ...]]:
        """The new paths of each renamed or copied file, most similar first, and all new or changed paths."""
        config, repository = self.config, self.old.repository
        similar = (f"-M{config.rename_percent}%", f"-C{config.rename_percent}%", f"-l{config.rename_limit}")
        below = ("--", f":(top,literal){repository.root}") if repository.root else ()
        printed = repository.run(
            "diff-tree", "-r", "-z", "--raw", *similar, *_PLAIN, self.old.commit, self.new.commit, *below
        )
        renamed: dict[str, list[tuple[int, str]]] = {}
        changed: set[str] = set()
        rest = iter(printed.decode("utf-8", "surrogateescape").split("\0"))
        for about in rest:
            if not about.startswith(":"):
                continue
            status, source = about.rsplit(" ", 1)[1], next(rest)
            here, there = repository.inside(source), repository.inside(next(rest) if status[0] in "RC" else source)
            if there is not None and there in self.new:
                changed.add(there)
                if here is not None and status[0] in "RC":
                    renamed.setdefault(here, []).append((-int(status[1:] or 0), there))
        return {path: tuple(p for _, p in sorted(copies)) for path, copies in renamed.items()}, tuple(sorted(changed))

    @cached_property
    def changed(self) -> tuple[str, ...]:
        self.new.read(self._changes[1])
        return self._changes[1]

    @cached_property
    def by_name(self) -> dict[str, list[Section]]:
        by_name: dict[str, list[Section]] = defaultdict(list)
        for path in self.changed:
            for part in self.after(path).parts:
                by_name[part.last].append(part)
        return by_name

    @cached_property
    def by_line(self) -> dict[str, list[tuple[str, int]]]:
        by_line: dict[str, list[tuple[str, int]]] = defaultdict(list)
        for path in self.changed:
            for number, line in enumerate(self.after(path).lines, 1):
                if has_word(text := normalize_blanks(line)):
                    by_line[text].append((path, number))
        return {line: places for line, places in by_line.items() if len(places) <= self.config.common}

    @cached_property
    def by_words(self) -> WordIndex:
        return WordIndex((self.after(path) for path in self.changed), self.config.indexed)


def _common_tail(path: PurePosixPath, other: PurePosixPath) -> int:
    pairs = zip(reversed(path.parts), reversed(other.parts), strict=False)
    return next((count for count, (a, b) in enumerate(pairs) if a != b), min(len(path.parts), len(other.parts)))
