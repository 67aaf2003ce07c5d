"""Published benchmarks over GitHub repositories: CodeSearchNet, ContextBench, SWE-bench and its relatives."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple
from urllib.parse import unquote

from assay.gold.anchors import check_path, path_problem, ranged_span
from assay.gold.build import (
    GoldLocation,
    GoldSource,
    Omitted,
    build_gold,
    build_query,
    corpus_hint,
    describe_renames,
    left_out,
    safe_ids,
)
from assay.gold.formats.diffs import FileDiff, read_diff
from assay.gold.formats.rows import CsvRow, Record, header, json_has, parse, read_entries, read_table, unread
from assay.types import CorpusSpec, GoldSet, Query, Span, Target

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-]")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12  # digits of a commit in the name of a set: two commits of a repository never share so many


@dataclass(frozen=True, slots=True)
class RepoRevision:
    """A repository, and a commit where the file names one."""

    repository: str
    commit: str = ""

    @property
    def label(self) -> str:
        """Its part of the name of a gold set."""
        return f"{self.repository}-{self.commit[:_SHORT]}" if self.commit else self.repository


@dataclass(frozen=True, slots=True)
class RepoQuery:
    """A query and the code it asks about."""

    code: RepoRevision
    query: Query


def github_code(repository: str, commit: str, place: GoldLocation) -> RepoRevision:
    """Return a GitHub repository and commit after checking both."""
    if not _REPOSITORY.fullmatch(repository):
        raise place.error(f"'{repository}' is not a repository of GitHub", "write it as owner/name")
    if not _COMMIT.fullmatch(commit):
        raise place.error(f"'{commit}' is not a commit", "write the hexadecimal id of a commit")
    return RepoRevision(repository, commit)


def from_github(
    source: GoldSource,
    name: str,
    corpus: CorpusSpec | None,
    entries: Sequence[RepoQuery | Omitted],
    provenance: Mapping[str, str],
) -> list[GoldSet]:
    """Return one gold set per GitHub repository and commit; a given corpus must be the only one asked about."""
    queries = [entry for entry in entries if isinstance(entry, RepoQuery)]
    codes = {one.code for one in queries}
    if corpus is not None and len(codes) > 1:
        raise source.at(1).error(
            f"the file asks about {len(codes)} repositories or commits, and the corpus given can be only one of them",
            "leave the corpus out: the file names them itself",
        )
    omitted = left_out([entry for entry in entries if isinstance(entry, Omitted)])

    def spec(code: RepoRevision) -> CorpusSpec:
        return corpus or CorpusSpec("git", f"https://github.com/{code.repository}", rev=code.commit)

    return split(source, name, queries, spec, {**provenance, **omitted})


def in_folders(source: GoldSource, corpus: CorpusSpec | None) -> Callable[[RepoRevision], CorpusSpec]:
    """Return where repositories are that a file only names: each in a directory of the given corpus."""
    if corpus is None:
        raise source.at(1).error(
            "the file names its repositories, not where they are",
            corpus_hint(source.path, several=True) + "; FOLDER holds each repository in a folder of its name",
        )
    above = f"{corpus.root.strip('/')}/" if corpus.root else ""
    return lambda code: replace(corpus, root=f"{above}{code.repository}")


def split(
    source: GoldSource,
    name: str,
    queries: Sequence[RepoQuery],
    spec: Callable[[RepoRevision], CorpusSpec],
    provenance: Mapping[str, str],
) -> list[GoldSet]:
    """Return one gold set per revision, in order of first use; a single one keeps the name of the file."""
    groups: dict[RepoRevision, list[Query]] = {}
    for one in queries:
        groups.setdefault(one.code, []).append(one.query)
    if not groups:
        reason = provenance.get("left out", "nothing")
        raise source.at(1).error(f"no query of the file can be asked: {reason}", "check that this is the right file")
    labels = safe_ids(f"{name}-{code.label}" for code in groups)
    return [
        build_gold(
            labels[f"{name}-{code.label}"] if len(groups) > 1 else name,
            spec(code),
            asked,
            source.at(asked[0].line),
            provenance,
        )
        for code, asked in groups.items()
    ]


_Entries = list[RepoQuery | Omitted]

# SWE-bench: an issue, and the patch that closed it. Targets are the lines that the patch changed, on its old side.
# `test_patch` is not gold: a reader of the issue does not look for tests that are not written yet.
_SWEBENCH_KEYS = ("instance_id", "repo", "base_commit", "problem_statement", "patch")


def is_swebench(source: GoldSource) -> bool:
    """Return whether a file has the keys of SWE-bench."""
    return json_has(source, "[{", *_SWEBENCH_KEYS)


def read_swebench(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one issue per entry, one gold set per repository and commit."""
    return _read_issues(source, name, corpus, _SWEBENCH_KEYS, _swebench_entry)


def _read_issues(
    source: GoldSource,
    name: str,
    corpus: CorpusSpec | None,
    keys: Sequence[str],
    parse_entry: Callable[[Record, Mapping[str, str]], _Entries],
) -> list[GoldSet]:
    records = read_entries(source)
    ids = safe_ids(record.text("instance_id") for record in records)
    entries = [entry for record in records for entry in parse_entry(record, ids)]
    return from_github(source, name, corpus, entries, {**unread(records, keys), **describe_renames(ids)})


def _swebench_entry(record: Record, ids: Mapping[str, str]) -> _Entries:
    instance = record.text("instance_id")
    code = github_code(record.text("repo"), record.text("base_commit"), record.place)
    files = read_diff(record.verbatim("patch"), record.place)
    omitted: _Entries = [Omitted(kind, f"{path} of {instance}") for kind, path in _unusable_files(files)]
    spans = [
        Span(file.old, lines.start, lines.end) if lines.start else Span(file.old)
        for file in files
        if file.old is not None and path_problem(file.old) is None
        for lines in file.lines
    ]
    if not spans:
        return [*omitted, Omitted("queries whose patch changes no line that was there", instance)]
    targets = [Target(span) for span in dict.fromkeys(spans)]
    forms = {"human": record.verbatim("problem_statement").strip()}
    return [*omitted, RepoQuery(code, build_query(ids[instance], forms, targets, record.place))]


def _unusable_files(files: Sequence[FileDiff]) -> Iterator[tuple[str, str]]:
    for file in files:
        if file.old is None:
            yield "files that a patch makes", str(file.new)
        elif path_problem(file.old) is not None:
            yield "files whose path no gold set can hold", file.old
        elif not file.lines:
            yield "files of a patch without a changed line", file.old


# ContextBench: an issue, and the lines that annotators found necessary to solve it.
_CONTEXTBENCH_KEYS = (
    *("instance_id", "repo", "base_commit", "problem_statement", "gold_context"),
    *("original_inst_id", "language"),
)
#: Where some annotators had the repository: /workspace/owner__name__0.1/src/a.c.
_CONTAINER = re.compile(r"/workspace/[^/]+__[^/]+__[^/]+/(?P<path>.+)")
#: The spans of an older export, which is not JSON.
_BLOCK = re.compile(
    r"^context(?P<number>[0-9]+)[:：]\nfile: (?P<file>.+)\nstart_line: (?P<start>.+)\nend_line: (?P<end>.+)$", re.M
)
_CONTEXT_HINT = 'write it as [{"file": "src/a.py", "start_line": 1, "end_line": 9, "content": "..."}]'


def is_contextbench(source: GoldSource) -> bool:
    """Return whether a file has the keys of ContextBench."""
    return json_has(source, "[{", "instance_id", "base_commit", "gold_context", "problem_statement")


def read_contextbench(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one issue per entry, one gold set per repository and commit."""
    return _read_issues(source, name, corpus, _CONTEXTBENCH_KEYS, _contextbench_entry)


def _contextbench_entry(record: Record, ids: Mapping[str, str]) -> _Entries:
    instance = record.text("instance_id")
    repository, commit = record.text("repo"), record.text("base_commit")
    if "/" not in repository and "original_inst_id" in record.values:
        # part of the set has the owner only in an id: owner__name-5973
        owner, _, rest = record.text("original_inst_id").partition("__")
        repository = f"{owner}/{repository}" if rest.startswith(f"{repository}-") else repository
    code = github_code(repository, commit, record.place)
    targets: dict[str, Target] = {}
    omitted: _Entries = []
    for span in _context_spans(record):
        written = span.text("file")
        inside = _CONTAINER.fullmatch(written)
        if written.startswith("/") and inside is None:
            omitted.append(Omitted("files that are not in the repository", f"{written} of {instance}"))
            continue
        path = inside["path"] if inside else written
        target = Target(ranged_span(path, span.number("start_line"), span.number("end_line"), record.place))
        if target.anchor in targets:
            omitted.append(Omitted("spans that appear twice", f"{target.anchor} of {instance}"))
        targets[target.anchor] = target
    if not targets:
        return [*omitted, Omitted("queries without context in the repository", instance)]
    tags = {"language": record.text("language")} if record.values.get("language") is not None else {}
    forms = {"human": record.text("problem_statement")}
    query = build_query(ids[instance], forms, targets.values(), record.place, tags=tags)
    return [*omitted, RepoQuery(code, query)]


def _context_spans(record: Record) -> Iterator[Record]:
    what = f"'gold_context' of {record.what}"
    value = record.values.get("gold_context")
    if isinstance(value, str):
        text = record.verbatim("gold_context")
        value = _parse_blocks(text, record) if text.startswith("context") else parse(text, record.place, what)
    if not isinstance(value, list):
        raise record.place.error(f"{what} is not a list", _CONTEXT_HINT)
    for number, span in enumerate(value, 1):
        if not isinstance(span, dict):
            raise record.place.error(f"entry {number} of {what} is not an object", _CONTEXT_HINT)
        yield Record(span, record.place, f"entry {number} of {what}")


def _parse_blocks(text: str, record: Record) -> list[dict[str, object]]:
    blocks = list(_BLOCK.finditer(text))
    if [block["number"] for block in blocks] != [str(number) for number in range(text.count("\nfile: "))]:
        what = f"'gold_context' of {record.what}"
        raise record.place.error(f"{what} has ambiguous blocks", _CONTEXT_HINT)

    def number(digits: str) -> object:
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else digits

    return [{"file": b["file"], "start_line": number(b["start"]), "end_line": number(b["end"])} for b in blocks]


# CodeSearchNet's annotations: a query, a function on GitHub, and its relevance from 0 to 3, which is the grade.
# Functions of relevance 0 are judged and irrelevant. Of several judgments the mean counts, a half rounded up.
_CODESEARCHNET_COLUMNS = ("Language", "Query", "GitHubUrl", "Relevance", "Notes")
_URL = re.compile(
    r"https?://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<commit>[0-9a-f]+)/(?P<path>[^#]+)"
    r"#L(?P<start>[0-9]{1,9})(?:-L(?P<end>[0-9]{1,9}))?"
)
_RELEVANCE = ("0", "1", "2", "3")
_APART = 2  # judgments of one function that differ by so much disagree on whether it answers


class _Question(NamedTuple):
    """A query about one repository; rows of several languages are several questions."""

    code: RepoRevision
    language: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.language.lower()} {self.text}"


def is_codesearchnet(source: GoldSource) -> bool:
    """Return whether a file has the header of the annotations."""
    columns = header(source.text)
    return "GitHubUrl" in columns and "Relevance" in columns


def read_codesearchnet(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read the annotations, one gold set per repository and commit."""
    table = read_table(source)
    if set(table.columns) != set(_CODESEARCHNET_COLUMNS):
        expected = ",".join(_CODESEARCHNET_COLUMNS)
        raise source.at(1).error(f"the header is {','.join(table.columns)}", f"CodeSearchNet's is {expected}")
    questions: dict[_Question, dict[Span, list[int]]] = {}
    first: dict[_Question, CsvRow] = {}
    for row in table.rows:
        question, span, relevance = _parse_judgment(row)
        questions.setdefault(question, {}).setdefault(span, []).append(relevance)
        first.setdefault(question, row)
    ids = safe_ids(question.id for question in questions)
    entries: _Entries = []
    for question, judged in questions.items():
        targets = [Target(span, (2 * sum(marks) + len(marks)) // (2 * len(marks))) for span, marks in judged.items()]
        if not any(target.grade > 0 for target in targets):
            here = f"'{question.text}' in {question.code.label}"
            entries.append(Omitted("queries without an answer in the repository", here))
            continue
        forms, tags = {"human": question.text}, {"language": question.language}
        query = build_query(ids[question.id], forms, targets, first[question].place, tags=tags, least=1)
        entries.append(RepoQuery(question.code, query))
    several = [marks for judged in questions.values() for marks in judged.values() if len(marks) > 1]
    apart = sum(max(marks) - min(marks) >= _APART for marks in several)
    notes = sum(bool(row.get("Notes")) for row in table.rows)
    provenance = {
        "judges": several
        and f"{len(several)} judged by several people, whose mean counts; {apart} of them differ by 2 or 3",
        "not read": notes and f"{notes} notes of judges",
    }
    return from_github(source, name, corpus, entries, {key: str(text) for key, text in provenance.items() if text})


def _parse_judgment(row: CsvRow) -> tuple[_Question, Span, int]:
    url = _URL.fullmatch(row.text("GitHubUrl"))
    if url is None:
        raise row.place.error(
            f"'{row.get('GitHubUrl')}' does not name lines of a file at a commit",
            "write it as https://github.com/owner/name/blob/COMMIT/path#L1-L9",
        )
    if row.text("Relevance") not in _RELEVANCE:
        raise row.place.error(f"the relevance is '{row.get('Relevance')}'", f"it is one of {', '.join(_RELEVANCE)}")
    code = github_code(url["repository"], url["commit"], row.place)
    span = ranged_span(unquote(url["path"]), int(url["start"]), int(url["end"] or url["start"]), row.place)
    return _Question(code, row.text("Language"), row.text("Query")), span, int(row.text("Relevance"))


#: In the provenance of every such set, and as a tag of each query, so that reports can separate its scores.
LEAK = "the query is text of its target's file, word for word: an engine that finds it recognises, it does not search"
_TAGS = {"leak": "verbatim"}
_QUERY_LINES = 10  # the last of the prompt; CrossCodeEval's own retrieval uses as many
_REPOEVAL_LINE = ("line_no", "lineno")  # of lines and API calls; of functions
_REPOEVAL_KEYS = ("prompt", "metadata", "task_id", "ground_truth", "fpath_tuple", *_REPOEVAL_LINE)
_CROSSCODEEVAL_ENTRY = ("prompt", "groundtruth", "metadata")
_CROSSCODEEVAL_KEYS = (*_CROSSCODEEVAL_ENTRY, "task_id", "repository", "file", "groundtruth_start_lineno")


def is_repoeval(source: GoldSource) -> bool:
    """Return whether a file has the keys of RepoEval."""
    return json_has(source, "[{", "prompt", "metadata", "fpath_tuple", "ground_truth")


def is_crosscodeeval(source: GoldSource) -> bool:
    """Return whether a file has the keys of CrossCodeEval."""
    return json_has(source, "[{", *_CROSSCODEEVAL_ENTRY, "repository", "groundtruth_start_lineno")


def read_repoeval(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one completion per entry, one gold set per repository; repositories are directories of the corpus."""

    def parse(_record: Record, task: Record) -> tuple[str, Target]:
        steps = task.entries("fpath_tuple")
        if len(steps) < 2 or not all(isinstance(step, str) for step in steps):
            raise task.place.error(
                f"'fpath_tuple' of {task.what} is not a repository and a path",
                'write it as ["repo", "folder", "file.py"]',
            )
        repository, *path = (str(step) for step in steps)
        check_path(repository, task.place)
        key = next((key for key in _REPOEVAL_LINE if key in task.values), _REPOEVAL_LINE[0])
        text = task.verbatim("ground_truth")
        return repository, _completed("/".join(path), task.number(key), text, task.place)

    return _read(source, name, corpus, _REPOEVAL_KEYS, parse)


def read_crosscodeeval(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one completion per entry, one gold set per repository; repositories are directories of the corpus."""

    def parse(record: Record, task: Record) -> tuple[str, Target]:
        before = task.number("groundtruth_start_lineno")
        target = _completed(task.text("file"), before, record.verbatim("groundtruth"), task.place)
        return check_path(task.text("repository"), task.place), target

    return _read(source, name, corpus, _CROSSCODEEVAL_KEYS, parse)


def _read(
    source: GoldSource,
    name: str,
    corpus: CorpusSpec | None,
    keys: Sequence[str],
    parse: Callable[[Record, Record], tuple[str, Target]],
) -> list[GoldSet]:
    spec = in_folders(source, corpus)
    records = read_entries(source)
    tasks = [record.mapping("metadata") for record in records]
    originals = _number_repeats([task.text("task_id") for task in tasks])
    ids = safe_ids(originals)
    queries: list[RepoQuery] = []
    for record, task, original in zip(records, tasks, originals, strict=True):
        repository, target = parse(record, task)
        prompt = record.verbatim("prompt").rstrip().split("\n")
        forms = {"human": "\n".join(prompt[-_QUERY_LINES:]).strip("\r\n")}
        query = build_query(ids[original], forms, [target], record.place, tags=_TAGS)
        queries.append(RepoQuery(RepoRevision(repository), query))
    provenance = {"leak": LEAK, **unread([*records, *tasks], keys), **describe_renames(ids)}
    return split(source, name, queries, spec, provenance)


def _completed(path: str, before: int, text: str, place: GoldLocation) -> Target:
    return Target(ranged_span(path, before + 1, before + 1 + text.rstrip("\r\n").count("\n"), place))


def _number_repeats(task_ids: Sequence[str]) -> list[str]:
    times, seen = Counter(task_ids), Counter[str]()
    numbered: list[str] = []
    for task_id in task_ids:
        seen[task_id] += 1
        numbered.append(f"{task_id}/{seen[task_id]}" if times[task_id] > 1 else task_id)
    return numbered
