"""Mine pairs from the comments, names, headings, paths and commit subjects of a repository."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import PurePosixPath
from typing import IO, Final, NamedTuple

from assay.corpus.file_types import FileType, detect_type
from assay.corpus.git import git, git_stream, parse_hunk
from assay.corpus.unpack import ArchiveLimits
from assay.redaction import find_secret_lines
from assay.search.chunking import ChunkConfig, cut_sections
from assay.search.query import find_words, stem_name
from assay.syntax.commit_subjects import is_trivial, strip_subject
from assay.syntax.identifiers import parts, split
from assay.syntax.outline import Definition
from assay.syntax.prose import content_words, is_idle, is_prose, split_sentences, strip_leading_name, strip_markup
from assay.training.config import MiningConfig, PairRules
from assay.training.repositories import (
    LICENSE_TEXT,
    PUBLIC,
    GitRepo,
    LearningScope,
    LicensedDirectories,
    TreeEntry,
    read_files,
)
from assay.training.selection import (
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
from assay.training.shards import Collection, PairCandidate, draw_rank, path_terms

_ENGLISH: Final = 0.9  # minimum share of ASCII characters; texts below it are in another language

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
_WITH_CLASS: Final = 3  # every third name is prefixed with that of the enclosing class


def mine_definitions(source: SourceFileText, config: MiningConfig, collection: Collection) -> None:
    for definition in source.outline.definitions if source.outline else ():
        if definition.kind in _SEARCHED:
            comment = _find_comment(source, definition)
            _offer_comment(source, definition, comment, config, collection)
            if definition.kind in _WITH_BODY:
                _offer_name(source, definition, comment, config, collection)


def _offer_comment(
    source: SourceFileText, definition: Definition, comment: range, config: MiningConfig, collection: Collection
) -> None:
    rank = draw_rank(config.seed, "doc", source.file.entry.path, definition.start, definition.name)
    if not comment or not collection.has_room_for("doc", rank):
        return
    query = _comment_to_query(source.lines[comment.start : comment.stop], definition.name, config.pairs)
    if query is None:
        collection.dropped["uninformative comment"] += 1
        return
    lines = _code_lines(definition, config)
    words, text = source.count_words(lines, comment), source.read_text(lines, comment, definition.name)
    collection.offer(source.make_candidate("doc", rank, query, words, text), source.find_taint(lines))


def _offer_name(
    source: SourceFileText, definition: Definition, comment: range, config: MiningConfig, collection: Collection
) -> None:
    lines = _code_lines(definition, config)
    rank = draw_rank(config.seed, "name", source.file.entry.path, definition.start, definition.name)
    if len(lines) - len(comment) < config.pairs.body or not collection.has_room_for("name", rank):
        return
    name = definition.name
    if source.outline and definition.parent >= 0 and rank % _WITH_CLASS == 0:
        name = f"{source.outline.definitions[definition.parent].name} {name}"
    identifiers = find_words(name)
    query = list(dict.fromkeys(word for identifier in identifiers for word in split(identifier)))
    if sum(len(word) > 1 for word in query) < 2:
        collection.dropped["name of one word"] += 1
        return
    words, text = source.count_words(lines, comment), source.read_text(lines, comment)
    for identifier in identifiers:
        words.pop(identifier, None)
        text = re.sub(rf"\b{re.escape(identifier)}\b", "_", text)
    collection.offer(source.make_candidate("name", rank, " ".join(query), words, text), source.find_taint(lines))


def _code_lines(definition: Definition, config: MiningConfig) -> range:
    first = definition.start - 1
    return range(first, min(definition.end, first + config.pairs.lines))


def _find_comment(source: SourceFileText, definition: Definition) -> range:
    """Return the lines of a definition's documentation string, else of the comments directly above the definition."""
    if inside := _find_docstring(source, definition):
        return inside
    first, last = definition.start - 1, definition.name_line - 1
    while first < last and not source.commented[first]:
        first += 1  # decorators
    stop = first
    while stop < last and source.commented[stop]:
        stop += 1
    return range(first, stop) if stop > first and _ALONE.match(source.lines[first]) else NO_LINES


def _find_docstring(source: SourceFileText, definition: Definition) -> range:
    pattern, python = _STRINGS.get(source.file.language), source.file.language == "python"
    in_body = not python  # a Python docstring is the first statement of the body
    last = min(definition.end, definition.name_line + _SIGNATURE)
    for number in range(definition.name_line - 1, last) if pattern else ():
        line = source.lines[number]
        if pattern and in_body and (match := pattern.match(line)):
            quotes, stop = match[1], min(definition.end, len(source.lines))
            if quotes in line[match.end() :]:
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
_HEADING_WORDS: Final = 2  # minimum content words of a heading, which has no verb
#: Sections are neither cut nor merged.
_WHOLE: Final = ChunkConfig(longest=1_000_000, shortest=1)


def mine_headings(source: SourceFileText, config: MiningConfig, collection: Collection) -> None:
    """Offer pairs of a heading and its section; skip plain text, which has no reliable headings."""
    for section in cut_sections(source.lines, _WHOLE) if source.file.language != "text" else ():
        if not section.names:
            continue
        rank = draw_rank(config.seed, "heading", source.file.entry.path, section.start, section.names[0])
        if not collection.has_room_for("heading", rank):
            continue
        query = " ".join(map(strip_markup, (*section.scopes[-1:], section.names[0])))
        lines = range(section.start, min(section.end, section.start + config.pairs.lines))
        text = "\n".join(source.lines[lines.start : lines.stop])
        informative = _is_informative(query, _HEADING_WORDS) and not _IDLE_HEADING.search(section.names[0])
        if not informative or not _is_english(text) or LICENSE_TEXT.search(text):
            collection.dropped["uninformative heading"] += 1
            continue
        words, body = source.count_words(lines), source.read_text(range(lines.start + 1, lines.stop))
        collection.offer(source.make_candidate("heading", rank, query, words, body), source.find_taint(lines))


# fmt: off
#: Directories named after their role in a project, not after their contents.
_GENERIC_DIRECTORIES: Final = frozenset(
    {
        "app", "cmd", "core", "crates", "include", "internal", "java", "js", "kotlin", "lib", "libs", "main", "modules",
        "packages", "php", "pkg", "python", "scala", "source", "sources", "spec", "src", "test", "tests",
    }
)
# fmt: on


def mine_path(source: SourceFileText, config: MiningConfig, collection: Collection) -> None:
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
    """Return the distinct words of a file's name and of the nearest descriptive directory."""
    name = stem_name(path)
    directories = [
        directory
        for directory in PurePosixPath(path).parent.parts
        if directory.lower() not in _GENERIC_DIRECTORIES and directory != name
    ]
    words = parts(f"{directories[-1] if directories else ''} {name}")
    return tuple(word for word in dict.fromkeys(words) if len(word) > 1 and not word.isdigit())


#: Start of a commit in the output of git; no line of a patch begins with it.
_BEGIN: Final = b"\x01"
#: Unquoted paths, and patches that no git configuration can change.
_PLAIN: Final = ("-c", "core.quotePath=false", "--git-dir=.")
_DIFF: Final = ("--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "--submodule=short")
_PATCH: Final = (
    *("-p", "-U3", "--inter-hunk-context=0", "--diff-algorithm=myers", "--indent-heuristic"),
    *("--src-prefix=a/", "--dst-prefix=b/"),
)
_RESTARTS: Final = 50  # restarts of git after missing objects


@dataclass(frozen=True)
class CommitMiner:
    repository: GitRepo
    entries: Mapping[str, tuple[int, TreeEntry]]  # the files of the newest commit, with their numbers
    scripts: Mapping[str, FileType]  # programs without an extension
    windows: Windows  # of excluded repositories
    licenses: LicensedDirectories
    config: MiningConfig
    collection: Collection
    scope: LearningScope = PUBLIC
    _languages: dict[str, str] = field(default_factory=dict)

    def mine(self, unread: Mapping[str, str | None]) -> None:
        """Offer a pair of subject and new lines, with their context, for each code file of each selected commit.

        `unread` maps the paths of selected files to the reason why a file was skipped, or to None.
        """
        queries = self._read_queries()
        commits = self._select_commits(queries)
        refused = {**unread, **self._check_files(commits, unread)}
        numbers = {path: number for path, (number, _) in self.entries.items()}
        for change in read_changes(self.repository, list(commits), self._is_code, self.config):
            if change.path is None:
                self.collection.dropped["commit with missing objects"] += 1
                continue
            number = numbers.setdefault(change.path, len(numbers))
            reason = refused.get(change.path)
            if reason in (COPIED_FILE, OTHER_LICENSE):
                self.collection.dropped[reason] += 1
            else:
                self._offer(queries[change.commit], change.commit, change.path, change.text, number)

    def _read_queries(self) -> dict[str, str]:
        queries: dict[str, str] = {}
        for commit, subject in list_subjects(self.repository):
            if query := _subject_to_query(subject, self.config.pairs):
                queries[commit] = query
            else:
                self.collection.dropped["uninformative subject"] += 1
        return queries

    def _select_commits(self, queries: Mapping[str, str]) -> dict[str, list[str]]:
        """Return the changed paths of the drawn commits that changed few files, none of them withheld."""
        rules, commits = self.config.commits, dict[str, list[str]]()
        drawn = sorted(queries, key=lambda commit: (draw_rank(self.config.seed, "commit", commit), commit))
        for begin in range(0, len(drawn), rules.read):
            part = drawn[begin : begin + rules.read]
            changed = changed_paths(self.repository, part)
            for commit in part:
                paths = changed.get(commit, [])
                fits = 0 < sum(map(self._is_code, paths)) <= rules.files and len(paths) <= rules.paths
                if fits and not any(self.scope.withholds(path, self.entries) for path in paths):
                    commits[commit] = paths
            if len(commits) >= rules.read:
                break
        return dict(islice(commits.items(), rules.read))

    def _check_files(self, commits: Mapping[str, list[str]], unread: Mapping[str, str | None]) -> dict[str, str | None]:
        changed = {path for paths in commits.values() for path in paths if self._is_code(path)}
        new = [self.entries[path] for path in sorted(changed & self.entries.keys() - unread.keys())]
        small = {entry.path: (number, entry) for number, entry in new if entry.size <= self.config.files.bytes}
        checked: dict[str, str | None] = {}
        for entry, data in read_files(self.repository, [entry for _, entry in small.values()]):
            file = SelectedFile(small[entry.path][0], entry, self._code_language(entry.path), test=False)
            source = open_source(file, data, self.windows, self.config, self.scope)
            checked[entry.path] = source if isinstance(source, str) else None
        return checked

    def _offer(self, query: str, commit: str, path: str, data: bytes, number: int) -> None:
        rank = draw_rank(self.config.seed, "change", commit, path)
        if not self.collection.has_room_for("commit", rank):
            return
        text, taint = data.decode("utf-8", "replace"), None
        if copied_lines(data, self.windows, self.config.windows).any():
            taint = "copied"
        elif next(find_secret_lines(text), None) is not None:
            taint = "secret"
        words, language = Counter(find_words(text)), self._code_language(path)
        candidate = PairCandidate("commit", rank, query, words, path_terms(path), language, number, f"{path}\n{text}")
        self.collection.offer(candidate, taint)

    def _is_code(self, path: str) -> bool:
        return bool(self._code_language(path))

    def _code_language(self, path: str) -> str:
        """Return the language of a code file that may be learned from, else an empty string."""
        if path not in self._languages:
            kind = self.scripts.get(path) or detect_type(path, b"")
            excluded = is_test(path) or is_foreign(path) or self.licenses.forbids_past(path, self.entries)
            self._languages[path] = (kind.language or "") if is_code(kind) and not excluded else ""
        return self._languages[path]


class CommitChange(NamedTuple):
    """New lines of a file in a commit, with context; `path` is None if objects of the commit are missing."""

    commit: str
    path: str | None = None
    text: bytes = b""


def list_subjects(repository: GitRepo) -> Iterator[tuple[str, str]]:
    arguments = ("log", "--no-merges", "--no-show-signature", "--format=%H %s", repository.commit)
    listed = git(*_PLAIN, *arguments, cwd=repository.directory, limits=ArchiveLimits())
    for line in listed.out.decode("utf-8", "replace").split("\n"):
        commit, _, subject = line.partition(" ")
        if subject:
            yield commit, subject


def changed_paths(repository: GitRepo, commits: Sequence[str]) -> dict[str, list[str]]:
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
    """Yield the changes of commits to wanted paths; if git stops at a missing object, continue with the next commit.

    Git may stop before or after it prints the hash of the failing commit. The last printed commit is therefore
    skipped, unless it is the last of `commits` and a diff followed its hash.
    """
    left = list(commits)
    for _ in range(_RESTARTS):
        if not left:
            return
        named, last = 0, None
        with _run_log(repository, left, *_PATCH) as stream:
            for patch in _parse_patches(stream, wanted, config):
                if last is not None:
                    yield from last[1]
                named, last = named + 1, patch
        if named == len(left) and last is not None and last[0]:
            yield from last[1]
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
        with git_stream(*_PLAIN, *arguments, cwd=repository.directory, stdin=names) as stream:
            yield stream


def _parse_patches(
    stream: Iterable[bytes], wanted: Callable[[str], bool], config: MiningConfig
) -> Iterator[tuple[bool, list[CommitChange]]]:
    """Yield for each commit whether git printed a diff, and the changes to wanted paths.

    Hunks are read by line count, since their lines may look like headers. A commit that ends inside a hunk is omitted.
    """
    commit, begun, path, size = "", False, "", 0
    texts: dict[str, list[bytes]] = {}
    old = new = 0  # lines left in the hunk
    for line in chain(stream, (_BEGIN,)):
        sign = line[:1]
        if old > 0 or new > 0:
            if sign == b"\\":
                continue
            old -= sign != b"+"
            new -= sign != b"-"
            if sign != b"-" and path and size < config.commits.bytes:
                text = texts.setdefault(path, [])
                if len(text) < config.pairs.lines:
                    text.append(line[1:])
                    size += len(line)
        elif sign == _BEGIN:
            if commit:
                yield begun, [CommitChange(commit, name, b"".join(lines)) for name, lines in texts.items()]
            commit, begun, path, size, texts = line[1:].strip().decode("ascii"), False, "", 0, {}
        elif line.startswith(b"+++ "):
            path = line[4:].rstrip(b"\n\t").removeprefix(b"b/").decode("utf-8", "surrogateescape")
            path = path if wanted(path) else ""
        elif hunk := parse_hunk(line):
            old, new = hunk.old_count, hunk.new_count
        else:
            begun = begun or line.startswith(b"diff ")


def _comment_to_query(lines: Sequence[str], name: str, rules: PairRules) -> str | None:
    """Return a comment's first sentence, or more if it is short, without a leading `name`; None if uninformative."""
    first = re.sub(r"^\s*(?:@\w+\s+)?(?:~[sS])?[rRuUbB]{0,2}(\"\"\"|'''|\"(?=\w)|'(?=\w))", "", lines[0])
    taken: list[str] = []
    for sentence in islice(split_sentences("\n".join([first, *lines[1:]])), rules.sentences):
        if not is_prose(sentence, rules.most):
            break
        taken.append(sentence if taken else strip_leading_name(sentence, name))
        if len(content_words(" ".join(taken))) >= rules.short:
            break
    text = ". ".join(taken)
    return text if _is_informative(text, rules.fewest) and not is_idle(text) and not LICENSE_TEXT.search(text) else None


def _subject_to_query(subject: str, rules: PairRules) -> str | None:
    query = strip_subject(subject)
    if is_trivial(subject) or not query.isprintable() or not is_prose(query, rules.most):
        return None
    return query if _is_informative(query, rules.fewest) else None


def _is_informative(text: str, fewest: int) -> bool:
    return _is_english(text) and len(content_words(text)) >= fewest


def _is_english(text: str) -> bool:
    return sum(map(str.isascii, text)) >= _ENGLISH * len(text)
