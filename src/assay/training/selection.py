"""Selection of files and lines to learn from, without excluded repositories, copied code and secrets."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from typing import Final
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from assay.corpus import decode_text
from assay.corpus.file_types import FileType, detect_type
from assay.errors import ConfigError
from assay.files import read_utf8
from assay.processes.forks import run_forked
from assay.redaction import find_secret_lines
from assay.search.query import find_words
from assay.store.array_file import IndexFormatError, read_store, write_store
from assay.syntax.outline import Outline, parse_outline
from assay.syntax.parsing import GRAMMARS, grammar_name
from assay.training.config import FileRules, MiningConfig, WindowRules
from assay.training.repositories import (
    DIRECTORY_LICENSE,
    LICENSE_WORD,
    PUBLIC,
    GitRepo,
    LearningScope,
    LicensedDirectories,
    TreeEntry,
    has_restrictive_header,
    is_license_path,
    list_files,
    read_files,
    repository_name,
)
from assay.training.shards import PairCandidate, draw_rank, path_terms

Windows = NDArray[np.uint64]  # hashes, ascending

#: Incremented when the meaning of a window changes, so that cached windows are recomputed.
_FORMAT: Final = 1
_BLANKS: Final = b" \t\r\f\v"
#: Odd numbers with well-mixed bits, of splitmix64.
_STEP: Final = np.uint64(0x9E3779B97F4A7C15)
_MIX: Final = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))


@dataclass(frozen=True, slots=True)
class Exclusions:
    names: tuple[str, ...]  # `owner/name`, sorted

    def find_reason(self, repository: GitRepo) -> str | None:
        """Return why a repository is excluded: the list has it, or a repository of the same name; else None."""
        own = {repository.name.casefold(), (repository_name(repository.url) or "").casefold()}
        base = repository.name.rpartition("/")[2].casefold()
        if name := next((excluded for excluded in self.names if excluded.casefold() in own), None):
            return f"excluded: {name} is on the exclusion list"
        if name := next((excluded for excluded in self.names if excluded.rpartition("/")[2].casefold() == base), None):
            return f"excluded: same name as {name}, which is on the exclusion list"
        return None


@dataclass(frozen=True, slots=True, eq=False)
class ExclusionIndex:
    exclusions: Exclusions
    windows: Windows = field(repr=False)
    checked: Mapping[str, str]  # repositories whose windows are known, with the commit
    unchecked: tuple[str, ...]  # repositories whose code is missing or unreadable
    digest: str


def read_exclusions(path: Path) -> Exclusions:
    """Read a list with one URL or owner/name per line; `#` begins a comment."""
    names: set[str] = set()
    for number, line in enumerate(read_utf8(path, ConfigError).splitlines(), 1):
        text = line.partition("#")[0].strip()
        name = repository_name(text)
        if text and name is None:
            problem = f"expected a repository URL or owner/name, got {text!r}"
            raise ConfigError(problem, file=path, line=number, hint="write one URL or owner/name per line")
        names |= {name} if name else set()
    return Exclusions(tuple(sorted(names)))


def build_exclusions(
    exclusions: Exclusions, repositories: Sequence[GitRepo], rules: WindowRules, cache: Path, workers: int
) -> ExclusionIndex:
    """Collect the windows of the excluded repositories among `repositories`, cached by commit."""
    excluded = {repository.name: repository for repository in repositories if exclusions.find_reason(repository)}
    cut = (rules.lines, rules.characters, rules.bytes)
    paths: dict[str, Path] = {}
    tasks: dict[str, Callable[[], None]] = {}
    for repository in excluded.values():
        digest = _short_digest(f"{_FORMAT} {repository.commit} {cut}")
        path = paths[repository.name] = cache / f"{repository.file_name}-{digest}.windows"
        if _read_windows(path) is None:
            tasks[repository.name] = partial(_cache_windows, repository, rules, path)
    failed = {name for name, done in run_forked(tasks, workers) if done.exception()}
    commits = {name: repository.commit for name, repository in excluded.items() if name not in failed}
    parts = sorted({paths[name] for name in commits})
    path = cache / f"all-{_short_digest(chr(10).join(part.name for part in parts))}.windows"
    windows = _read_windows(path)
    if windows is None:
        merged = merge_windows(read_store(part).arrays["windows"] for part in parts)
        write_store(path, {"windows": _FORMAT}, {"windows": merged})
        windows = read_store(path).arrays["windows"]
    checked = dict(sorted(commits.items()))
    known = {name.casefold() for name in checked}
    unchecked = tuple(name for name in exclusions.names if name.casefold() not in known)
    digest = hashlib.sha256("\n".join(exclusions.names).encode() + windows.tobytes()).hexdigest()
    return ExclusionIndex(exclusions, windows, checked, unchecked, digest)


def _short_digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _cache_windows(repository: GitRepo, rules: WindowRules, path: Path) -> None:
    entries = [
        entry
        for entry in list_files(repository)
        if entry.size <= rules.bytes
        and ("." not in entry.path.rpartition("/")[2] or detect_type(entry.path, b"").kind != "other")
    ]
    hashes = (hash_windows(data, rules) for _, data in read_files(repository, entries) if b"\0" not in data)
    write_store(path, {"windows": _FORMAT, "repository": repository.name}, {"windows": merge_windows(hashes)})


def _read_windows(path: Path) -> Windows | None:
    try:
        return read_store(path).arrays["windows"]
    except (IndexFormatError, KeyError):
        return None


def cut_windows(data: bytes, rules: WindowRules) -> tuple[Windows, NDArray[np.int64], NDArray[np.int64]]:
    """Hash every window of a text: `rules.lines` consecutive nonblank lines with enough characters.

    Return the hashes, and the first and last line of each window, from 0.
    """
    lines = data.translate(None, _BLANKS).split(b"\n")
    sizes = np.fromiter(map(len, lines), np.int64, len(lines))
    nonblank = np.flatnonzero(sizes)
    count = len(nonblank) - rules.lines + 1
    if count < 1:
        return np.empty(0, np.uint64), nonblank[:0], nonblank[:0]
    sums = np.fromiter(map(crc32, filter(None, lines)), np.uint64, len(nonblank))
    total = np.concatenate([[0], np.cumsum(sizes[nonblank])])
    long = total[rules.lines :] - total[:count] >= rules.characters
    hashes = np.zeros(count, dtype=np.uint64)
    for nth in range(rules.lines):
        hashes = (hashes ^ sums[nth : nth + count]) * _MIX[0] + _STEP
        hashes = (hashes ^ (hashes >> np.uint64(29))) * _MIX[1]
        hashes ^= hashes >> np.uint64(32)
    return hashes[long], nonblank[:count][long], nonblank[rules.lines - 1 :][long]


def hash_windows(data: bytes, rules: WindowRules) -> Windows:
    return np.unique(cut_windows(data, rules)[0])


def merge_windows(parts: Iterable[Windows]) -> Windows:
    every = list(parts)
    return np.unique(np.concatenate(every)) if every else np.empty(0, np.uint64)


@dataclass(frozen=True, slots=True, eq=False)
class WindowMatches:
    """The first and last line of each window of a text, from 0, and whether an excluded repository has the window."""

    first: NDArray[np.int64]
    last: NDArray[np.int64]
    known: NDArray[np.bool_]

    def lines(self, count: int) -> NDArray[np.bool_]:
        marks = np.zeros(count + 1, dtype=np.int64)
        np.add.at(marks, self.first[self.known], 1)
        np.add.at(marks, self.last[self.known] + 1, -1)
        return np.cumsum(marks)[:-1] > 0

    def is_copy(self, rules: WindowRules, ignored: range) -> bool:
        """Return whether enough windows of a file are known, not counting windows that begin in `ignored` lines."""
        counted = (self.first < ignored.start) | (self.first >= ignored.stop)
        known = int((self.known & counted).sum())
        return known >= rules.fewest and known >= rules.share * int(counted.sum())


def compare(data: bytes, known: Windows, rules: WindowRules) -> WindowMatches:
    """Cut a text into windows and mark those that are in `known`; without known windows, return none."""
    if not len(known):
        return WindowMatches(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))
    hashes, first, last = cut_windows(data, rules)
    position = np.minimum(np.searchsorted(known, hashes), len(known) - 1)
    return WindowMatches(first, last, known[position] == hashes)


def copied_lines(data: bytes, known: Windows, rules: WindowRules) -> NDArray[np.bool_]:
    return compare(data, known, rules).lines(data.count(b"\n") + 1)


NO_EXCLUSIONS: Final = ExclusionIndex(Exclusions(()), merge_windows(()), {}, (), "")


#: Languages with a grammar, without those that are data or markup.
CODE: Final = frozenset(GRAMMARS) - {"css", "html", "json", "toml", "yaml"}
COPIED_FILE: Final = "copied file"
OTHER_LICENSE: Final = "file under another license"
NO_LINES: Final = range(0)
# These two patterns differ from those of `corpus.file_types`: the shipped model was trained with them.
_VENDORED: Final = re.compile(
    r"(?:^|/)_*(?:vendor(?:ed|s)?|bundled|third[_-]?party|3rd[_-]?party|node_modules|bower_components|deps|externals?|extern|pods"
    r"|carthage|submodules|site-packages|ext[_-]?libs?|godeps|jspm_packages)/",
    re.IGNORECASE,
)
_TEST: Final = re.compile(
    r"(?:^|[/_.-])(?:tests?|specs?|testdata|testing|fixtures?|mocks?|benchmarks?|bench|conftest|e2e)(?:[/_.-]|$)"
    r"|Tests?\.\w+$|Specs?\.\w+$|Tests?/|(?:^|/)__tests__/"
)
_GENERATED_NAME: Final = re.compile(
    r"\.min\.\w+$|_pb2(?:_grpc)?\.pyi?$|\.pb(?:\.gw)?\.\w+$|\.g(?:\.dart|\.cs)?$|\.freezed\.dart$|\.designer\.cs$"
    r"|[._-]generated?\.\w+$|_gen\.go$|(?:^|[/._-])(?:bundle|parser\.tab)\.\w+$|(?:^|/)(?:dist|generated|autogen|gen)/",
    re.IGNORECASE,
)
#: Documentation about the project rather than about its code.
_IDLE_DOCS: Final = re.compile(
    r"(?:^|/)(?:change(?:log|s)?|history|news|releases?|release[-_ ]?notes?|contribut\w*|code[-_]of[-_]conduct|security"
    r"|authors|maintainers|governance|upgrading|pull_request_template|issue_template|todo|notice|support|funding)\b[^/]*$"
    r"|(?:^|/)(?:changelogs?|releases?|release[-_]notes)/|(?:^|/)\.\w+/",
    re.IGNORECASE,
)
_GENERATED_HEAD: Final = re.compile(
    r"@generated|\b(?:auto(?:matically)?[- ]?generated|generated (?:by|from|with|code|file)|do not (?:edit|modify))\b",
    re.IGNORECASE,
)
_FIRST_LINE: Final = 200  # bytes that contain the first line of a program
_GENERATED_TOP: Final = 600  # characters to search for a note that a file is generated
_LICENSE_TOP: Final = 60  # lines in which a license header begins


@dataclass(frozen=True, slots=True)
class SelectedFile:
    number: int
    entry: TreeEntry
    language: str
    test: bool


def find_scripts(repository: GitRepo, entries: Sequence[TreeEntry], config: MiningConfig) -> dict[str, FileType]:
    """Detect the types of executable files without an extension by their first line."""
    plain = [entry for entry in entries if entry.script and "." not in entry.path.rpartition("/")[2]]
    fitting = [entry for entry in plain if _find_unfit(entry, config.files) is None][: config.files.code]
    return {entry.path: detect_type(entry.path, data[:_FIRST_LINE]) for entry, data in read_files(repository, fitting)}


def select_files(
    entries: Sequence[TreeEntry],
    scripts: Mapping[str, FileType],
    config: MiningConfig,
    licenses: LicensedDirectories,
    scope: LearningScope = PUBLIC,
) -> tuple[list[SelectedFile], list[SelectedFile], Counter[str]]:
    """Select code and documentation by path, size and license; where there are too many files, draw by path hash.

    Return the code files, the documentation files, and the number of dropped files by reason.
    """
    dropped: Counter[str] = Counter()
    code, docs = list[SelectedFile](), list[SelectedFile]()
    for number, entry in enumerate(entries):
        kind = scripts.get(entry.path) or detect_type(entry.path, b"")
        is_doc = kind.kind == "docs"
        if entry.path in scope.withheld or kind.language is None or not (is_doc or is_code(kind)):
            continue
        reason = _find_unfit(entry, config.files)
        if reason is None and is_doc and _IDLE_DOCS.search(entry.path):
            reason = "idle document"
        if reason is None and licenses.forbids(entry.path):
            reason = DIRECTORY_LICENSE
        if reason is None:
            (docs if is_doc else code).append(SelectedFile(number, entry, kind.language, is_test(entry.path)))
        else:
            dropped[reason] += 1
    plain, tests = [file for file in code if not file.test], [file for file in code if file.test]
    share = config.files.tests
    selected = _draw(plain, int(config.files.code * (1 - share)) if tests else config.files.code, config.seed)
    selected += _draw(tests, int(len(selected) * share / (1 - share)), config.seed)
    selected.sort(key=lambda file: file.number)
    kept_docs = _draw(docs, config.files.docs, config.seed)
    dropped["file over the cap"] += len(code) + len(docs) - len(selected) - len(kept_docs)
    return selected, kept_docs, dropped


def is_code(kind: FileType) -> bool:
    return kind.kind == "code" and kind.language in CODE


def is_test(path: str) -> bool:
    return _TEST.search(path) is not None


def is_foreign(path: str) -> bool:
    """Return whether a file is vendored or generated, by its path."""
    return _VENDORED.search(path) is not None or _GENERATED_NAME.search(path) is not None


def _find_unfit(entry: TreeEntry, rules: FileRules) -> str | None:
    if entry.size > rules.bytes:
        return "large file"
    if _VENDORED.search(entry.path):
        return "vendored file"
    if _GENERATED_NAME.search(entry.path):
        return "generated file"
    return "license file" if is_license_path(entry.path) else None


def _draw(files: Sequence[SelectedFile], most: int, seed: int) -> list[SelectedFile]:
    drawn = sorted(files, key=lambda file: (draw_rank(seed, file.entry.path), file.number))[:most]
    return sorted(drawn, key=lambda file: file.number)


@dataclass(frozen=True, eq=False)
class SourceFileText:
    """The text of a file; line numbers start at 0."""

    file: SelectedFile
    text: str
    shared: NDArray[np.bool_] = field(repr=False)  # lines also found in an excluded repository
    secret: NDArray[np.bool_] = field(repr=False)  # lines that look like secrets

    @cached_property
    def lines(self) -> list[str]:
        return self.text.split("\n")

    @cached_property
    def runs(self) -> list[list[str]]:
        return [find_words(line) for line in self.lines]

    @cached_property
    def outline(self) -> Outline | None:
        grammar = grammar_name(self.file.entry.path, self.file.language, self.text)
        return parse_outline(self.text, grammar) if grammar else None

    @cached_property
    def commented(self) -> NDArray[np.bool_]:
        marks = np.zeros(len(self.lines), dtype=np.bool_)
        for comment in self.outline.comments if self.outline else ():
            marks[comment.start - 1 : comment.end] = True
        return marks

    @cached_property
    def license_lines(self) -> range:
        first = next((n for n, marked in enumerate(self.commented[:_LICENSE_TOP]) if marked), 0)
        last = first
        while last < len(self.lines) and self.commented[last]:
            last += 1
        return range(first, last) if LICENSE_WORD.search("\n".join(self.lines[first:last])) else NO_LINES

    @cached_property
    def path(self) -> tuple[str, ...]:
        return path_terms(self.file.entry.path)

    def count_words(self, lines: range, comment: range = NO_LINES) -> Counter[str]:
        """Count the words of `lines`, except those of `comment` and of the license header."""
        header = self.license_lines
        return Counter(chain.from_iterable(self.runs[n] for n in lines if n not in comment and n not in header))

    def find_taint(self, lines: range) -> str | None:
        """Return why lines must not be learned from, or None; shared lines of a license header do not count."""
        shared = np.flatnonzero(self.shared[lines.start : lines.stop]) + lines.start
        if any(number not in self.license_lines for number in shared.tolist()):
            return "copied"
        return "secret" if self.secret[lines.start : lines.stop].any() else None

    def read_text(self, lines: range, comment: range = NO_LINES, name: str = "") -> str:
        """Return path and name, then `lines` without those of `comment` and of the license header, as a search does."""
        kept = (self.lines[n] for n in lines if n not in comment and n not in self.license_lines)
        return "\n".join((f"{self.file.entry.path} {name}", *kept))

    def make_candidate(self, kind: str, rank: int, query: str, code: Counter[str], text: str = "") -> PairCandidate:
        """Pair a query with words of this file, and with its path unless the query was made from the path."""
        path = () if kind == "path" else self.path
        return PairCandidate(kind, rank, query, code, path, self.file.language, self.file.number, text)


def open_source(
    file: SelectedFile, data: bytes, known: Windows, config: MiningConfig, scope: LearningScope = PUBLIC
) -> SourceFileText | str:
    if b"\0" in data:
        return "binary file"
    if len(data) > config.files.line * (data.count(b"\n") + 1):
        return "minified file"
    if len(data.translate(None, b"0123456789")) < (1 - config.files.digits) * len(data):
        return "data file"
    text = decode_text(data)
    if not scope.own and has_restrictive_header(text):
        return OTHER_LICENSE
    if _GENERATED_HEAD.search(text, 0, _GENERATED_TOP):
        return "generated file"
    compared = compare(data, known, config.windows)
    shared = compared.lines(data.count(b"\n") + 1)
    secret = np.zeros(len(shared), dtype=np.bool_)
    for lines in find_secret_lines(text):
        secret[lines.start : lines.stop] = True
    source = SourceFileText(file, text, shared, secret)
    copied = compared.known.any() and compared.is_copy(config.windows, source.license_lines)
    return COPIED_FILE if copied else source
