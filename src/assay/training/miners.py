"""Pairs of a repository: comments, names, headings, paths and commit subjects, each with the code it describes."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import PurePosixPath
from typing import IO, Final, NamedTuple

from assay.corpus.git import git, git_stream
from assay.corpus.languages import FileType, detect
from assay.corpus.sources import ArchiveLimits
from assay.redaction import secret_lines
from assay.search.chunking import ChunkConfig, cut_sections
from assay.search.query import runs, stem_name
from assay.syntax.identifiers import parts, split
from assay.syntax.outline import Definition
from assay.syntax.prose import (
    content,
    is_idle,
    is_prose,
    is_trivial,
    plain_subject,
    sentences,
    without_leading_name,
    without_markup,
)
from assay.training.config import MiningConfig, PairRules
from assay.training.repositories import (
    LICENSE_TEXT,
    PUBLIC,
    GitRepo,
    LearningScope,
    LicensedFolders,
    TreeEntry,
    read_files,
)
from assay.training.shards import Collection, PairCandidate, draw_rank, path_terms
from assay.training.sources import (
    COPIED_FILE,
    NO_LINES,
    OTHER_LICENSE,
    SelectedFile,
    SourceFileText,
    Windows,
    copied_lines,
    is_code,
    is_foreign,
    is_test,
    open_source,
)

_ENGLISH: Final = 0.9  # minimum share of ASCII among the characters; below, it is another language or ASCII art

#: Definitions that people search for; fields and keys belong to the definition around them.
_SEARCHED: Final = frozenset(
    {"function", "method", "class", "interface", "enum", "type", "macro", "module", "constant"}
)
#: Definitions with a body worth pairing with their name.
_WITH_BODY: Final = _SEARCHED - {"type", "constant"}
#: Start of a comment on its own line.
_ALONE: Final = re.compile(r"\s*(?://|/\*|#|--|\{-|;|%|<!--|@(?:module|type)?doc\b|=begin|\*|\(\*)")
#: Start of documentation strings inside definitions, with their quotes, by language.
_STRINGS: Final = {
    "python": re.compile(r"\s*[rRuUbB]{0,2}(\"\"\"|'''|\"|')"),
    "elixir": re.compile(r"\s*@moduledoc\s+(?:~[sS])?(\"\"\"|'''|\")"),
}
_SIGNATURE: Final = 60  # largest number of lines between a name and its documentation string
_WITH_CLASS: Final = 3  # every third name gets that of the enclosing class


def mine_definitions(source: SourceFileText, config: MiningConfig, collection: Collection) -> None:
    """Offer the comment and the name of each definition with its code."""
    definitions = source.outline.definitions if source.outline else ()
    for one in definitions:
        if one.kind in _SEARCHED:
            lines = range(one.start - 1, min(one.end, one.start - 1 + config.pairs.lines))
            comment = find_comment(source, one)
            rank = draw_rank(config.seed, "doc", source.file.entry.path, one.start, one.name)
            if comment and collection.has_room_for("doc", rank):
                query = comment_to_query(source.lines[comment.start : comment.stop], one.name, config.pairs)
                if query is None:
                    collection.dropped["doc says little"] += 1
                else:
                    words = source.count_words(lines, comment)
                    collection.offer(source.make_candidate("doc", rank, query, words), source.find_taint(lines))
            rank = draw_rank(config.seed, "name", source.file.entry.path, one.start, one.name)
            short = len(lines) - len(comment) < config.pairs.body
            if one.kind in _WITH_BODY and not short and collection.has_room_for("name", rank):
                parent = f"{definitions[one.parent].name} " if one.parent >= 0 and rank % _WITH_CLASS == 0 else ""
                names = runs(f"{parent}{one.name}")
                split_words = list(dict.fromkeys(word for name in names for word in split(name)))
                if sum(len(word) > 1 for word in split_words) < 2:
                    collection.dropped["name of one word"] += 1
                else:
                    words = source.count_words(lines, comment)
                    for name in names:
                        words.pop(name, None)
                    candidate = source.make_candidate("name", rank, " ".join(split_words), words)
                    collection.offer(candidate, source.find_taint(lines))


def find_comment(source: SourceFileText, one: Definition) -> range:
    """Return the lines of a definition's documentation string, else of the comments directly above."""
    if inside := _find_docstring(source, one):
        return inside
    first, last = one.start - 1, one.name_line - 1
    while first < last and not source.commented[first]:
        first += 1  # decorators
    stop = first
    while stop < last and source.commented[stop]:
        stop += 1
    return range(first, stop) if stop > first and _ALONE.match(source.lines[first]) else NO_LINES


def _find_docstring(source: SourceFileText, one: Definition) -> range:
    pattern, python = _STRINGS.get(source.file.language), source.file.language == "python"
    in_body = not python  # Python's is the first statement of the body
    for number in range(one.name_line - 1, min(one.end, one.name_line + _SIGNATURE)) if pattern else ():
        line = source.lines[number]
        if pattern and in_body and (found := pattern.match(line)):
            quotes, stop = found[1], min(one.end, len(source.lines))
            if quotes in line[found.end() :]:
                return range(number, number + 1)
            ends = (n + 1 for n in range(number + 1, stop) if quotes in source.lines[n])
            return range(number, next(ends, number + 1))
        if python and in_body and line.strip():
            break
        in_body = in_body or line.split("#", 1)[0].rstrip().endswith(":")
    return NO_LINES


#: Headings that occur in most projects.
_IDLE_HEADING: Final = re.compile(
    r"^\W*(?:licen[cs]e|copyright|contribut\w*|install\w*|credits|authors?|thanks|acknowledge?ments|badges|contents"
    r"|table of contents|changelog|support|donat\w*|contact|community|links|see also|references|index|requirements|faq"
    r"|getting started|quick ?start|usage|overview|introduction|stay in touch|v?\d[\d.]*)\W*$"
    r"|\b(?:sponsor|backer)s?\b",
    re.IGNORECASE,
)
_HEADING_WORDS: Final = 2  # content words of a heading, which has no verb
#: Sections are neither cut nor merged.
_WHOLE: Final = ChunkConfig(longest=1_000_000, shortest=1)


def mine_headings(source: SourceFileText, config: MiningConfig, collection: Collection) -> None:
    """Offer the headings of a document with their sections; plain text has no reliable headings."""
    for section in cut_sections(source.lines, _WHOLE) if source.file.language != "text" else ():
        if not section.names:
            continue
        rank = draw_rank(config.seed, "heading", source.file.entry.path, section.start, section.names[0])
        if not collection.has_room_for("heading", rank):
            continue
        query = " ".join(map(without_markup, (*section.scopes[-1:], section.names[0])))
        lines = range(section.start, min(section.end, section.start + config.pairs.lines))
        text = "\n".join(source.lines[lines.start : lines.stop])
        informative = is_informative(query, _HEADING_WORDS) and not _IDLE_HEADING.search(section.names[0])
        if not informative or not is_english(text) or LICENSE_TEXT.search(text):
            collection.dropped["heading says little"] += 1
            continue
        words = source.count_words(lines)
        collection.offer(source.make_candidate("heading", rank, query, words), source.find_taint(lines))


# fmt: off
#: Directories named after their role in a project, not after their contents.
_GENERIC_FOLDERS: Final = frozenset(
    {
        "app", "cmd", "core", "crates", "include", "internal", "java", "js", "kotlin", "lib", "libs", "main", "modules",
        "packages", "php", "pkg", "python", "scala", "source", "sources", "spec", "src", "test", "tests",
    }
)
# fmt: on


def mine_path(source: SourceFileText, config: MiningConfig, collection: Collection) -> None:
    """Offer the words of a file's path with the beginning of its text."""
    path = source.file.entry.path
    rank = draw_rank(config.seed, "path", path)
    words = path_words(path)
    if len(words) < 2 or not collection.has_room_for("path", rank):
        return
    lines = range(min(source.license_lines.stop + config.pairs.file_lines, len(source.lines)))
    if sum(1 for number in lines if source.runs[number]) < config.pairs.body:
        collection.dropped["little code"] += 1
        return
    candidate = source.make_candidate("path", rank, " ".join(words), source.count_words(lines))
    collection.offer(candidate, source.find_taint(lines))


def path_words(path: str) -> tuple[str, ...]:
    """Return the words of a file's name and of the nearest descriptive directory, each once."""
    name = stem_name(path)
    folders = [
        folder
        for folder in PurePosixPath(path).parent.parts
        if folder.lower() not in _GENERIC_FOLDERS and folder != name
    ]
    found = parts(f"{folders[-1] if folders else ''} {name}")
    return tuple(word for word in dict.fromkeys(found) if len(word) > 1 and not word.isdigit())


#: Start of a commit in the output of git; no line of a patch begins with it.
_BEGIN: Final = b"\x01"
_HUNK: Final = re.compile(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
#: Unquoted paths, and patches that no git configuration can change.
_PLAIN: Final = ("-c", "core.quotePath=false", "--git-dir=.")
_DIFF: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--submodule=short")
_PATCH: Final = (
    *("-p", "-U3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--indent-heuristic"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_RESTARTS: Final = 50  # restarts of git after missing objects


class _Commit(NamedTuple):
    """A commit with an informative subject."""

    id: str
    query: str
    rank: int
    paths: tuple[str, ...] = ()  # changed files


@dataclass(frozen=True, slots=True)
class CommitMiner:
    """Miner of commit subjects with the lines that the commits changed."""

    repository: GitRepo
    entries: Mapping[str, tuple[int, TreeEntry]]  # the files of the newest commit, with their numbers
    scripts: Mapping[str, FileType]  # programs without an extension
    refused: Mapping[str, str | None]  # reason why an opened file was not read, None if it was
    known: Windows
    folders: LicensedFolders
    config: MiningConfig
    collection: Collection
    scope: LearningScope = PUBLIC

    def mine(self) -> None:
        """Offer the commits that changed a few code files, in the order of the draw."""
        languages = _Languages(self.scripts, self.folders, self.entries)
        numbers = {path: number for path, (number, _) in self.entries.items()}
        commits = {commit.id: commit for commit in self._select(languages)}
        refused = self._find_refused(commits.values(), languages)
        for commit, path, data in read_changes(
            self.repository, list(commits), lambda path: bool(languages[path]), self.config
        ):
            if path is None:
                self.collection.dropped["commit without its content"] += 1
                continue
            number = numbers.setdefault(path, len(numbers))
            if reason := refused.get(path):
                self.collection.dropped[reason] += 1
                continue
            rank = draw_rank(self.config.seed, "change", commit, path)
            if self.collection.has_room_for("commit", rank):
                text, taint = data.decode("utf-8", "replace"), None
                if copied_lines(data, self.known, self.config.windows).any():
                    taint = "copied"
                elif next(secret_lines(text), None) is not None:
                    taint = "secret"
                query, words = commits[commit].query, Counter(runs(text))
                candidate = PairCandidate("commit", rank, query, words, path_terms(path), languages[path], number)
                self.collection.offer(candidate, taint)

    def _select(self, languages: Mapping[str, str]) -> list[_Commit]:
        rules = self.config.commits
        informative: list[_Commit] = []
        for oid, subject in list_subjects(self.repository):
            query = subject_to_query(subject, self.config.pairs)
            if query is None:
                self.collection.dropped["subject says little"] += 1
            else:
                informative.append(_Commit(oid, query, draw_rank(self.config.seed, "commit", oid)))
        informative.sort(key=lambda commit: (commit.rank, commit.id))
        kept: list[_Commit] = []
        for begin in range(0, len(informative), rules.read):
            part = informative[begin : begin + rules.read]
            paths = changed_paths(self.repository, [commit.id for commit in part])
            changed = [commit._replace(paths=tuple(paths.get(commit.id, ()))) for commit in part]
            for commit in changed:
                code = sum(bool(languages[path]) for path in commit.paths)
                fits = 0 < code <= rules.files and len(commit.paths) <= rules.paths
                if fits and not any(self.scope.withholds(path, self.entries) for path in commit.paths):
                    kept.append(commit)
            if len(kept) >= rules.read:
                break
        return kept[: rules.read]

    def _find_refused(self, commits: Iterable[_Commit], languages: Mapping[str, str]) -> dict[str, str]:
        found = dict(self.refused)
        changed = {path for commit in commits for path in commit.paths if languages[path]}
        new = [self.entries[path] for path in sorted(changed & self.entries.keys() - found.keys())]
        small = {entry.path: (number, entry) for number, entry in new if entry.size <= self.config.files.bytes}
        for entry, data in read_files(self.repository, [entry for _, entry in small.values()]):
            file = SelectedFile(small[entry.path][0], entry, languages[entry.path], test=False)
            source = open_source(file, data, self.known, self.config, self.scope)
            found[entry.path] = source if isinstance(source, str) else None
        return {path: reason for path, reason in found.items() if reason in (COPIED_FILE, OTHER_LICENSE)}


class _Languages(dict[str, str]):
    """The languages of changed files by path; empty for tests, foreign code and other files."""

    def __init__(self, scripts: Mapping[str, FileType], folders: LicensedFolders, here: Container[str]) -> None:
        super().__init__()
        self._scripts = scripts
        self._folders = folders
        self._here = here

    def __missing__(self, path: str) -> str:
        kind = self._scripts.get(path) or detect(path, b"")
        code = is_code(kind) and not is_test(path) and not is_foreign(path)
        code = code and not self._folders.forbids_past(path, self._here)
        found = self[path] = (kind.language or "") if code else ""
        return found


class CommitChange(NamedTuple):
    """The new lines of a file in a commit, with their context; without a path, the content of the commit is missing."""

    commit: str
    path: str | None = None
    text: bytes = b""


def list_subjects(repository: GitRepo) -> Iterator[tuple[str, str]]:
    """List the commits that are not merges with their subjects."""
    arguments = ("log", "--no-merges", "--no-show-signature", "--format=%H %s", repository.commit)
    listed = git(*_PLAIN, *arguments, cwd=repository.folder, limits=ArchiveLimits())
    for line in listed.out.decode("utf-8", "replace").split("\n"):
        commit, _, subject = line.partition(" ")
        if subject:
            yield commit, subject


def changed_paths(repository: GitRepo, commits: Sequence[str]) -> dict[str, list[str]]:
    """List the files that commits changed, from their trees alone."""
    paths: dict[str, list[str]] = {}
    here: list[str] = []
    with _run_log(repository, commits, "--name-only") as stream:
        for line in stream:
            text = line.rstrip(b"\n").decode("utf-8", "surrogateescape")
            if line.startswith(_BEGIN):
                here = paths.setdefault(text[1:], [])
            elif text:
                here.append(text)
    return paths


def read_changes(
    repository: GitRepo, commits: Sequence[str], wanted: Callable[[str], bool], config: MiningConfig
) -> Iterator[CommitChange]:
    """Read the changes of commits to wanted paths; if git stops at a missing object, continue with the next commit.

    Git may stop before or after it prints the name of the failing commit. The last commit named is therefore
    skipped, unless it is the last of all and a diff followed its name.
    """
    left = list(commits)
    for _ in range(_RESTARTS):
        if not left:
            return
        named, last = 0, None
        with _run_log(repository, left, *_PATCH) as stream:
            for patch in _parse_patches(stream, wanted, config):
                if last is not None:
                    yield from last.changes()
                named, last = named + 1, patch
        if named == len(left) and last is not None and last.begun:
            yield from last.changes()
            return
        named = max(named, 1)
        yield CommitChange(left[named - 1])
        left = left[named:]
    yield from (CommitChange(commit) for commit in left)


@contextmanager
def _run_log(repository: GitRepo, commits: Sequence[str], *options: str) -> Iterator[IO[bytes]]:
    with tempfile.TemporaryFile() as names:
        names.write("".join(f"{commit}\n" for commit in commits).encode("ascii"))
        names.seek(0)
        arguments = ("log", "--no-walk=unsorted", "--stdin", "--no-show-signature", "--format=%x01%H", *_DIFF, *options)
        with git_stream(*_PLAIN, *arguments, cwd=repository.folder, stdin=names) as stream:
            yield stream


def _parse_patches(stream: IO[bytes], wanted: Callable[[str], bool], config: MiningConfig) -> Iterator[_Patch]:
    patch: _Patch | None = None
    for line in stream:
        if patch is not None and patch.in_hunk:
            patch.add_line(line)
        elif line.startswith(_BEGIN):
            if patch is not None:
                yield patch
            patch = _Patch(line[1:].strip().decode("ascii"), wanted, config)
        elif patch is not None:
            patch.add_header(line)
    if patch is not None and not patch.in_hunk:
        yield patch


class _Patch:
    """A parser of one commit's patch; hunks are read by line count, since their lines may look like headers."""

    def __init__(self, commit: str, wanted: Callable[[str], bool], config: MiningConfig) -> None:
        self.begun = False  # whether git printed more than the name
        self._commit = commit
        self._wanted = wanted
        self._config = config
        self._texts: dict[str, list[bytes]] = {}
        self._path = ""
        self._old = self._new = 0
        self._bytes = 0

    @property
    def in_hunk(self) -> bool:
        return self._old > 0 or self._new > 0

    def add_header(self, line: bytes) -> None:
        self.begun = self.begun or line.startswith(b"diff ")
        if line.startswith(b"+++ "):
            path = line[4:].rstrip(b"\n\t").removeprefix(b"b/").decode("utf-8", "surrogateescape")
            self._path = path if self._wanted(path) else ""
        elif found := _HUNK.match(line):
            self._old, self._new = (1 if count is None else int(count) for count in found.groups())

    def add_line(self, line: bytes) -> None:
        sign = line[:1]
        if sign == b"\\":
            return
        self._old -= sign != b"+"
        self._new -= sign != b"-"
        if sign != b"-" and self._path and self._bytes < self._config.commits.bytes:
            kept = self._texts.setdefault(self._path, [])
            if len(kept) < self._config.pairs.lines:
                kept.append(line[1:])
                self._bytes += len(line)

    def changes(self) -> Iterator[CommitChange]:
        for path, lines in self._texts.items():
            yield CommitChange(self._commit, path, b"".join(lines))


def comment_to_query(lines: Sequence[str], name: str, rules: PairRules) -> str | None:
    """Return the first sentence of a comment, and the next if that is short, without the name it begins with."""
    first = re.sub(r"^\s*(?:@\w+\s+)?(?:~[sS])?[rRuUbB]{0,2}(\"\"\"|'''|\"(?=\w)|'(?=\w))", "", lines[0])
    taken: list[str] = []
    for sentence in islice(sentences("\n".join([first, *lines[1:]])), rules.sentences):
        if not is_prose(sentence, rules.most):
            break
        taken.append(sentence if taken else without_leading_name(sentence, name))
        if len(content(" ".join(taken))) >= rules.short:
            break
    text = ". ".join(taken)
    return text if is_informative(text, rules.fewest) and not is_idle(text) and not LICENSE_TEXT.search(text) else None


def subject_to_query(subject: str, rules: PairRules) -> str | None:
    """Return a commit subject without prefixes and issue numbers; None if the rest is not informative."""
    query = plain_subject(subject)
    if is_trivial(subject) or not query.isprintable() or not is_prose(query, rules.most):
        return None
    return query if is_informative(query, rules.fewest) else None


def is_informative(text: str, fewest: int) -> bool:
    """Return whether a text may be English and has enough content words."""
    return is_english(text) and len(content(text)) >= fewest


def is_english(text: str) -> bool:
    """Return whether a text may be English, by its characters."""
    return sum(map(str.isascii, text)) >= _ENGLISH * len(text)
