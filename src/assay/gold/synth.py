"""Make synthetic gold sets from symbol names, documentation sentences, their keywords, and commit subjects."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter
from pathlib import Path
from typing import Final

from assay.corpus import read_bytes
from assay.corpus.sources import find_work_tree
from assay.errors import ConfigError, InputError, SetupError
from assay.files import atomic_directory
from assay.gold.build import suggest
from assay.gold.code_index import (
    TARGET_KINDS,
    CodeIndex,
    CommentSpan,
    ParsedSource,
    SampleSize,
    SentenceRules,
    doc_sentence,
    draw_by_file,
    find_documentation,
    innermost_definition,
    is_peripheral,
    qualified_name,
)
from assay.gold.formats.native import write_native
from assay.gold.git_history import list_changes, list_commits, read_old_texts
from assay.gold.load import SYNTHETIC_MARK
from assay.syntax.commit_subjects import is_trivial, strip_subject
from assay.syntax.identifiers import words
from assay.syntax.outline import Definition, parse_outline
from assay.syntax.prose import content_words, is_prose
from assay.types import Corpus, CorpusSpec, GoldSet, Query, Span, Target


class SynthRules:
    longest: int = 100  # lines; longer targets are too easy to hit
    shortest_documented: int = 3  # lines; a sentence on a one-line declaration mostly describes the group around it
    shortest_name: int = 3  # characters; `i` and `fn` are not queries
    files: int = 3  # changed, without tests and examples; a wider change has no particular location
    definitions: int = 4  # changed, for the same reason
    tried: int = 5  # commits per wanted query; most of them changed code that was since removed or became too long
    newest: int = 3_000  # commits; older code has mostly moved, and git's output stays small


#: Kind -> the phrasing of its queries.
_FORMS: Final[Mapping[str, str]] = {"symbol": "keyword", "doc": "human", "keyword": "keyword", "commit": "human"}
KINDS: Final = tuple(_FORMS)
DRAW = SampleSize()
#: The copy of the corpus without the comments that became queries, next to the gold files.
COPY: Final = "corpus"
_STRIPPED: Final = frozenset({"doc", "keyword"})  # kinds that are searched in the copy
#: Blocks named after a type that is defined elsewhere.
_EXTENDS: Final = re.compile(r"(?:\w+ )*(?:impl|extension|defimpl)\b")
#: Include guards of C headers.
_GUARD: Final = re.compile(r"\w*_H(?:PP|XX)?_*|\w*_INCLUDED_*")
_IGNORE_FILE: Final = ".assayignore"
_MARK_FILES: Final[Mapping[str, str]] = {
    SYNTHETIC_MARK: "Made by `assay gold synth`, which replaces this directory when run again.\n",
    # Keeps the queries out of the next corpus.
    _IGNORE_FILE: "# Synthetic gold sets are not source code: keep them out of every corpus.\n*\n",
    # Other tools do not read .assayignore, and would find every file of the repository twice.
    ".gitignore": "# Generated files: keep them out of Git and of tools that respect .gitignore.\n*\n",
}
#: Overrides the ignore files of parent directories, so that the copy is a corpus.
_KEEP: Final = f"# Include every file of this copy.\n!*\n/{_IGNORE_FILE}\n"


@dataclass(frozen=True, slots=True)
class SyntheticSets:
    """Gold sets, the corpus files without the comments that became queries, and notes on small or empty sets."""

    golds: tuple[GoldSet, ...]
    stripped: Mapping[str, bytes] = field(default_factory=dict)  # path -> content; empty if no set needs the copy
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A possible query: its first target, its text, and further targets (path, start, end)."""

    path: str
    start: int
    end: int
    text: str
    others: tuple[tuple[str, int, int], ...] = ()


#: Kind -> the reason for an empty set.
_REASONS: Final[Mapping[str, str]] = {
    "symbol": "no suitable definition has a unique name",
    "doc": "no definition has a usable comment",
    "keyword": "no usable comment has enough keywords",
    "commit": "no suitable commit found",
}
_ORDER: Final = attrgetter("path", "start", "end", "text", "others")


def synthesize(corpus: Corpus, *, name: str, kinds: Sequence[str] = KINDS, wanted: SampleSize = DRAW) -> SyntheticSets:
    """Make one gold set per kind from a corpus; the same corpus, history and arguments give the same sets."""
    _check_options(kinds, wanted)
    code = CodeIndex(corpus)
    drawn: dict[str, tuple[_Candidate, ...]] = {}
    stripped: dict[str, bytes] = {}
    reasons = dict(_REASONS)
    if "symbol" in kinds:
        drawn["symbol"] = _draw_symbols(code, wanted)
    if _STRIPPED.intersection(kinds):
        documented, comments = _draw_documented(code, wanted)
        stripped = _strip_files(code, comments)
        if "doc" in kinds:
            drawn["doc"] = documented
        if "keyword" in kinds:
            drawn["keyword"] = _keywords(documented, stripped)
    if "commit" in kinds:
        try:
            drawn["commit"] = _draw_commits(code, wanted)
        except SetupError as error:
            drawn["commit"], reasons["commit"] = (), error.message
    notes: list[str] = []
    for kind, queries in drawn.items():
        if not queries:
            notes.append(f"no {kind} set: {reasons[kind]}")
        elif len(queries) < wanted.count:
            notes.append(f"{kind}: only {len(queries)} of {wanted.count} queries found")
    golds = tuple(_gold(kind, queries, corpus, name, wanted) for kind, queries in drawn.items() if queries)
    return SyntheticSets(golds, stripped if any(drawn.get(kind) for kind in _STRIPPED) else {}, tuple(notes))


def _check_options(kinds: Sequence[str], wanted: SampleSize) -> None:
    for kind in kinds:
        if kind not in KINDS:
            raise ConfigError(f"unknown kind {kind!r} of synthetic gold set", hint=suggest(kind, KINDS))
    limits = {"count": (wanted.count, 1), "max-per-file": (wanted.max_per_file, 1), "seed": (wanted.seed, 0)}
    for option, (number, least) in limits.items():
        if number < least:
            raise ConfigError(f"expected --{option} of at least {least}, got {number}")


def _strip_files(code: CodeIndex, comments: Mapping[str, Sequence[CommentSpan]]) -> dict[str, bytes]:
    files: dict[str, bytes] = {}
    for file in code.corpus.files:
        if file.path in comments:
            bare = strip_comments(code.files[file.path].text, comments[file.path])
            files[file.path] = bare.encode("utf-8", "surrogatepass")
        else:
            files[file.path] = read_bytes(code.corpus, file.path)
    return files


def _draw_symbols(code: CodeIndex, wanted: SampleSize) -> tuple[_Candidate, ...]:
    times = Counter(d.name for file in code.files.values() for d in file.definitions if not _EXTENDS.match(d.signature))

    def fits(definition: Definition) -> bool:
        name = definition.name
        named = len(name) >= SynthRules.shortest_name and name.strip("_").isidentifier() and not name.startswith("__")
        guard = definition.kind in ("macro", "constant") and _GUARD.fullmatch(name)
        own = definition.kind in TARGET_KINDS and not _EXTENDS.match(definition.signature)
        short = definition.end - definition.start < SynthRules.longest
        return named and own and not guard and short and times[name] == 1

    candidates = [
        _Candidate(file.path, definition.start, definition.end, definition.name)
        for file in code.files.values()
        if not is_peripheral(file.path)
        for definition in file.definitions
        if fits(definition)
    ]
    return draw_by_file(candidates, _ORDER, wanted, wanted.rng(KINDS.index("symbol")))


def _draw_documented(
    code: CodeIndex, wanted: SampleSize
) -> tuple[tuple[_Candidate, ...], dict[str, tuple[CommentSpan, ...]]]:
    """Draw definitions with a unique first sentence of documentation; return them, and their comments by path."""
    every: dict[_Candidate, tuple[CommentSpan, ...]] = {}
    for file in code.files.values():
        documented = find_documentation(file.definitions, file.comments)
        for definition, comments in zip(file.definitions, documented, strict=True):
            if definition.kind not in TARGET_KINDS or not comments:
                continue
            sentence = doc_sentence(comments, definition, file.language)
            removed_lines = {line for c in comments if not c.inside for line in range(c.start, c.end + 1)}
            start = next(line for line in range(definition.start, definition.end + 2) if line not in removed_lines)
            if sentence and SynthRules.shortest_documented <= definition.end - start + 1 <= SynthRules.longest:
                every[_Candidate(file.path, start, definition.end, sentence)] = comments
    times = Counter(query.text.lower() for query in every)
    fitting = [query for query in every if times[query.text.lower()] == 1 and not is_peripheral(query.path)]
    drawn = draw_by_file(fitting, _ORDER, wanted, wanted.rng(KINDS.index("doc")))
    removed: dict[str, tuple[CommentSpan, ...]] = {}
    for query in drawn:
        removed[query.path] = (*removed.get(query.path, ()), *every[query])
    return drawn, removed


def strip_comments(text: str, spans: Sequence[CommentSpan]) -> str:
    """Remove comments from a text, but keep their line ends, so that line numbers stay the same."""
    source = text.encode("utf-8", "surrogatepass")
    parts: list[bytes] = []
    at = 0
    for span in sorted(set(spans), key=lambda span: (span.first, span.last)):
        parts += [source[at : span.first], re.sub(rb"[^\r\n]+", b"", source[span.first : span.last])]
        at = span.last
    return b"".join([*parts, source[at:]]).decode("utf-8", "surrogatepass")


def _keywords(documented: Sequence[_Candidate], files: Mapping[str, bytes]) -> tuple[_Candidate, ...]:
    """Reduce each sentence to its rarest words, in order; drop sentences with too few words that occur in a file."""
    wanted = frozenset(word for query in documented for word in content_words(query.text))
    texts = (data.decode("utf-8", "replace") for data in files.values())
    frequency = Counter(word for text in texts for word in wanted.intersection(words(text)))
    made: list[_Candidate] = []
    for query in documented:
        candidates = content_words(query.text)
        present = sorted((frequency[word], position) for position, word in enumerate(candidates) if frequency[word])
        if len(present) >= SentenceRules.keywords:
            places = sorted(position for _, position in present[: SentenceRules.keywords])
            made.append(replace(query, text=" ".join(candidates[position] for position in places)))
    return tuple(made)


def _draw_commits(code: CodeIndex, wanted: SampleSize) -> tuple[_Candidate, ...]:
    root, rng = code.corpus.root.resolve(), wanted.rng(KINDS.index("commit"))
    if code.corpus.spec.kind != "path" or find_work_tree(root) is None:
        raise SetupError("the corpus is not a local Git work tree")
    now = {file.path: file for file in code.files.values() if not is_peripheral(file.path)}
    commits = list_commits(root, SynthRules.newest)
    times = Counter(strip_subject(commit.subject).lower() for commit in commits)
    fitting = [
        commit
        for commit in commits
        if not now.keys().isdisjoint(commit.paths)
        and sum(not is_peripheral(path) for path in commit.paths) <= SynthRules.files
        and times[strip_subject(commit.subject).lower()] == 1
        and describes_change(commit.subject)
    ]
    sample = [fitting[i] for i in rng.permutation(len(fitting))[: SynthRules.tried * wanted.count]]
    changed = _changed_definitions(root, [commit.id for commit in sample], now)
    candidates: list[_Candidate] = []
    for commit in sample:
        here = changed.get(commit.id, [])
        spans = sorted((path, d.start, d.end) for path, d in here if d and d.end - d.start < SynthRules.longest)
        if 0 < len(spans) == len(here) <= SynthRules.definitions:
            first, *others = spans
            candidates.append(_Candidate(*first, strip_subject(commit.subject), tuple(others)))
    return draw_by_file(candidates, _ORDER, wanted, rng)


def _changed_definitions(
    root: Path, ids: Sequence[str], now: Mapping[str, ParsedSource]
) -> dict[str, list[tuple[str, Definition | None]]]:
    """Return the definitions that each commit changed, None for those that no longer exist under one name."""
    written = [change for change in list_changes(root, ids) if change.path in now]
    then = read_old_texts(root, written)
    changed: dict[str, list[tuple[str, Definition | None]]] = {}
    for change in written:
        own, file = changed.setdefault(change.commit, []), now[change.path]
        if change not in then:
            own.append((file.path, None))
            continue
        before = parse_outline(then[change], file.language).definitions
        positions = {innermost_definition(before, line) for line in change.lines} - {-1}
        names = [qualified_name(file.definitions, i) for i in range(len(file.definitions))]
        for name in sorted({qualified_name(before, position) for position in positions}):
            own.append((file.path, file.definitions[names.index(name)] if names.count(name) == 1 else None))
    return changed


def describes_change(subject: str) -> bool:
    plain = strip_subject(subject)
    prose = plain.isprintable() and is_prose(plain, SentenceRules.most) and not is_trivial(subject)
    return prose and len(content_words(plain)) >= SentenceRules.fewest


def _gold(kind: str, drawn: Sequence[_Candidate], corpus: Corpus, name: str, wanted: SampleSize) -> GoldSet:
    queries: list[Query] = []
    for number, candidate in enumerate(drawn, 1):
        first = Span(candidate.path, candidate.start, candidate.end)
        spans = dict.fromkeys([first, *(Span(*other) for other in candidate.others)])
        targets = tuple(map(Target, spans))
        queries.append(Query(f"{kind}-{number:03d}", {_FORMS[kind]: candidate.text}, targets, tags={"synthetic": kind}))
    provenance = {
        "synthetic": kind,
        "made": f"assay gold synth, seed {wanted.seed}, at most {wanted.count} queries",
        "from": f"{name}, {len(corpus.files)} files, digest {corpus.digest[:16]}",
    }
    if corpus.revision:
        provenance["revision"] = corpus.revision
    spec = CorpusSpec("path", COPY) if kind in _STRIPPED else corpus.spec
    return GoldSet(f"{name}-synthetic-{kind}", spec, tuple(queries), provenance)


def check_directory(directory: Path) -> Path:
    """Return `directory`; raise unless it is new, empty or written by `write_sets`."""
    if directory.exists() and not directory.is_dir():
        raise InputError("expected a directory, got a file", file=directory, hint="set another path with --out")
    if directory.is_dir() and any(directory.iterdir()) and not (directory / SYNTHETIC_MARK).is_file():
        message = "the directory contains files that `assay gold synth` did not write"
        raise InputError(message, file=directory, hint="set a new or empty directory with --out")
    return directory


def write_sets(sets: SyntheticSets, directory: Path) -> tuple[Path, ...]:
    """Replace a directory with gold files and the stripped copy of the corpus; return the paths of the gold files."""
    check_directory(directory)
    names = {f"{gold.provenance['synthetic']}.yaml": gold for gold in sets.golds}
    with atomic_directory(directory) as work:
        for name, text in _MARK_FILES.items():
            (work / name).write_text(text, "utf-8")
        for name, gold in names.items():
            if gold.corpus.kind == "path" and gold.corpus.value != COPY:
                there = Path(gold.corpus.value).expanduser().resolve()
                corpus = replace(gold.corpus, value=os.path.relpath(there, directory.resolve()))
                gold = replace(gold, corpus=corpus)  # noqa: PLW2901
            (work / name).write_text(write_native(gold), "utf-8", newline="\n")
        for path, data in sorted(sets.stripped.items()):
            (work / COPY / path).parent.mkdir(parents=True, exist_ok=True)
            (work / COPY / path).write_bytes(data)
        if sets.stripped:
            (work / COPY / _IGNORE_FILE).write_text(_KEEP, "utf-8")
    return tuple(directory / name for name in names)
