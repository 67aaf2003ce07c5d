"""Published benchmarks over GitHub repositories: CodeSearchNet, ContextBench, SWE-bench and its relatives."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import unquote

from assay.gold.building import GoldSource, build_query, path_problem, ranged_span
from assay.gold.formats.diffs import FileDiff, read_diff
from assay.gold.formats.export import describe_renames, safe_ids
from assay.gold.formats.multi_repo import Omitted, RepoQuery, RepoRevision, from_github, github_code
from assay.gold.formats.rows import CsvRow, Record, header, json_has, parse, read_entries, read_table, unread
from assay.types import CorpusSpec, GoldSet, Span, Target

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
