"""Published benchmarks over many repositories: SWE-bench, ContextBench, CodeSearchNet, RepoEval, CrossCodeEval.

Each file becomes one gold set per repository and commit.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from assay.corpus import open_corpus, read_text
from assay.errors import ConfigError
from assay.gold.anchors import check_path, path_problem, ranged_span
from assay.gold.build import (
    NO_CORPUS,
    GoldLocation,
    GoldSource,
    build_gold,
    build_query,
    corpus_hint,
    describe_omissions,
    describe_renames,
    safe_ids,
)
from assay.gold.formats.beir_trec import IGNORE_FILE, IGNORE_NOTHING
from assay.gold.formats.diffs import read_diff
from assay.gold.formats.rows import (
    CsvRow,
    JsonRecord,
    describe_unread,
    json_kind,
    json_matcher,
    parse_json,
    read_entries,
    read_header,
    read_table,
)
from assay.types import CorpusSpec, GoldSet, Query, Span, Target

_REPOSITORY = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9_.-]*[A-Za-z0-9_-]")
_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_SHORT = 12  # digits of a commit in the name of a set


class RepoRevision(NamedTuple):
    """A repository, and its commit if the benchmark names one."""

    repository: str
    commit: str = ""

    @property
    def label(self) -> str:
        return f"{self.repository}-{self.commit[:_SHORT]}" if self.commit else self.repository


def _on_github(repository: str, commit: str, location: GoldLocation) -> RepoRevision:
    if not _REPOSITORY.fullmatch(repository):
        raise location.error(f"invalid GitHub repository '{repository}'", "write it as owner/name")
    if not _COMMIT.fullmatch(commit):
        raise location.error(f"invalid commit '{commit}'", "use a hexadecimal commit id")
    return RepoRevision(repository, commit)


class _RepoSets:
    def __init__(self, source: GoldSource, name: str) -> None:
        self._source, self._name = source, name
        self.queries: defaultdict[RepoRevision, list[Query]] = defaultdict(list)
        self.omitted: defaultdict[str, list[str]] = defaultdict(list)

    def build_from_github(self, corpus: CorpusSpec | None, provenance: Mapping[str, str]) -> list[GoldSet]:
        """Return one gold set per GitHub revision; raise if `corpus` would replace several revisions."""
        if corpus is not None and len(self.queries) > 1:
            message = f"cannot use one corpus for {len(self.queries)} repositories or commits"
            raise self._source.at(1).error(message, "remove --corpus: the file names its repositories")
        return self.build(
            lambda code: corpus or CorpusSpec("git", f"https://github.com/{code.repository}", rev=code.commit),
            {**provenance, **describe_omissions(self.omitted)},
        )

    def build(self, spec: Callable[[RepoRevision], CorpusSpec], provenance: Mapping[str, str]) -> list[GoldSet]:
        """Return one gold set per revision, named after the file and, if there are several, the revision."""
        if not self.queries:
            message = f"no usable query in the file: {provenance.get('left out', 'it is empty')}"
            hint = "use a file with at least one query whose target is in the repository"
            raise self._source.at(1).error(message, hint)
        labels = {code: f"{self._name}-{code.label}" for code in self.queries}
        names = safe_ids(labels.values())
        return [
            build_gold(
                names[labels[code]] if len(labels) > 1 else self._name,
                spec(code),
                queries,
                self._source.at(queries[0].line),
                provenance,
            )
            for code, queries in self.queries.items()
        ]


# SWE-bench: an issue, and the patch that closed it. Targets are the lines of the old files that the patch changed.
# `test_patch` is not read, since its tests do not exist at the base commit.
_SWEBENCH_KEYS = ("instance_id", "repo", "base_commit", "problem_statement", "patch")
is_swebench = json_matcher("[{", *_SWEBENCH_KEYS)


def read_swebench(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    records = read_entries(source)
    ids = safe_ids(record.text("instance_id") for record in records)
    sets = _RepoSets(source, name)
    for record in records:
        instance = record.text("instance_id")
        code = _on_github(record.text("repo"), record.text("base_commit"), record.location)
        spans: dict[Span, None] = {}
        for file in read_diff(record.verbatim("patch"), record.location):
            if file.old is None:
                sets.omitted["new files of a patch"].append(f"{file.new} of {instance}")
            elif path_problem(file.old) is not None:
                sets.omitted["files with an unsupported path"].append(f"{file.old} of {instance}")
            elif not file.lines:
                sets.omitted["files of a patch without changed lines"].append(f"{file.old} of {instance}")
            else:
                changed = (Span(file.old, start, end) if start else Span(file.old) for start, end in file.lines)
                spans |= dict.fromkeys(changed)
        if not spans:
            sets.omitted["queries whose patch changes no existing line"].append(instance)
            continue
        forms = {"human": record.verbatim("problem_statement").strip()}
        query = build_query(ids[instance], forms, [Target(span) for span in spans], record.location)
        sets.queries[code].append(query)
    return sets.build_from_github(corpus, {**describe_unread(records, _SWEBENCH_KEYS), **describe_renames(ids)})


# ContextBench: an issue, and the lines that annotators found necessary to solve it.
_CONTEXTBENCH_KEYS = (
    *("instance_id", "repo", "base_commit", "problem_statement", "gold_context"),
    *("original_inst_id", "language"),
)
#: The checkout of some annotators: /workspace/owner__name__0.1/src/a.c.
_CONTAINER = re.compile(r"/workspace/[^/]+__[^/]+__[^/]+/(?P<path>.+)")
#: The spans of an older export that is not JSON.
_BLOCK = re.compile(
    r"^context(?P<number>[0-9]+)[:：]\nfile: (?P<file>.+)\nstart_line: (?P<start>.+)\nend_line: (?P<end>.+)$", re.M
)
_CONTEXT_HINT = 'write it as [{"file": "src/a.py", "start_line": 1, "end_line": 9, "content": "..."}]'
is_contextbench = json_matcher("[{", "instance_id", "base_commit", "gold_context", "problem_statement")


def read_contextbench(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    records = read_entries(source)
    ids = safe_ids(record.text("instance_id") for record in records)
    sets = _RepoSets(source, name)
    for record in records:
        instance, repository, commit = (record.text(key) for key in ("instance_id", "repo", "base_commit"))
        if "/" not in repository and "original_inst_id" in record.values:
            # some entries have the owner only in an id: owner__name-5973
            owner, _, rest = record.text("original_inst_id").partition("__")
            repository = f"{owner}/{repository}" if rest.startswith(f"{repository}-") else repository
        code = _on_github(repository, commit, record.location)
        targets: dict[str, Target] = {}
        for span in _context_spans(record):
            written = span.text("file")
            inside = _CONTAINER.fullmatch(written)
            if written.startswith("/") and inside is None:
                sets.omitted["files that are not in the repository"].append(f"{written} of {instance}")
                continue
            path = inside["path"] if inside else written
            target = Target(ranged_span(path, span.number("start_line"), span.number("end_line"), record.location))
            if target.anchor in targets:
                sets.omitted["duplicate spans"].append(f"{target.anchor} of {instance}")
            targets[target.anchor] = target
        if not targets:
            sets.omitted["queries without context in the repository"].append(instance)
            continue
        tags = {"language": record.text("language")} if record.values.get("language") is not None else {}
        forms = {"human": record.text("problem_statement")}
        sets.queries[code].append(build_query(ids[instance], forms, targets.values(), record.location, tags=tags))
    return sets.build_from_github(corpus, {**describe_unread(records, _CONTEXTBENCH_KEYS), **describe_renames(ids)})


def _context_spans(record: JsonRecord) -> Iterator[JsonRecord]:
    subject = f"'gold_context' of {record.subject}"
    value = record.values.get("gold_context")
    if isinstance(value, str):
        text = record.verbatim("gold_context")
        read = _parse_blocks if text.startswith("context") else parse_json
        value = read(text, record.location, subject)
    if not isinstance(value, list):
        raise record.location.error(f"{subject}: expected a list, got {json_kind(value)}", _CONTEXT_HINT)
    for number, span in enumerate(value, 1):
        if not isinstance(span, dict):
            message = f"entry {number} of {subject}: expected an object, got {json_kind(span)}"
            raise record.location.error(message, _CONTEXT_HINT)
        yield JsonRecord(span, record.location, f"entry {number} of {subject}")


def _parse_blocks(text: str, location: GoldLocation, subject: str) -> list[dict[str, object]]:
    blocks = list(_BLOCK.finditer(text))
    if [block["number"] for block in blocks] != [str(number) for number in range(text.count("\nfile: "))]:
        raise location.error(f"{subject} has incomplete or misnumbered blocks", _CONTEXT_HINT)

    def number(digits: str) -> object:
        return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else digits

    return [{"file": b["file"], "start_line": number(b["start"]), "end_line": number(b["end"])} for b in blocks]


# CodeSearchNet's annotations: a query, a function on GitHub, and its relevance from 0 to 3, which is the grade.
# Functions of relevance 0 are judged irrelevant. Several judgments are averaged, rounding half up.
_CODESEARCHNET_COLUMNS = ("Language", "Query", "GitHubUrl", "Relevance", "Notes")
_URL = re.compile(
    r"https?://github\.com/(?P<repository>[^/]+/[^/]+)/blob/(?P<commit>[0-9a-f]+)/(?P<path>[^#]+)"
    r"#L(?P<start>[0-9]{1,9})(?:-L(?P<end>[0-9]{1,9}))?"
)
_RELEVANCE = ("0", "1", "2", "3")
_APART = 2  # judgments that differ by this much disagree on relevance


class _RepoQuery(NamedTuple):
    code: RepoRevision
    language: str
    text: str

    @property
    def id(self) -> str:
        return f"{self.language.lower()} {self.text}"


def is_codesearchnet(source: GoldSource) -> bool:
    columns = read_header(source.text)
    return "GitHubUrl" in columns and "Relevance" in columns


def read_codesearchnet(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    columns, rows = read_table(source)
    if set(columns) != set(_CODESEARCHNET_COLUMNS):
        hint = f"use {','.join(_CODESEARCHNET_COLUMNS)}"
        raise source.at(1).error(f"unexpected header {','.join(columns)}", hint)
    judgments: defaultdict[_RepoQuery, defaultdict[Span, list[int]]] = defaultdict(lambda: defaultdict(list))
    places: dict[_RepoQuery, GoldLocation] = {}
    for row in rows:
        query, span, relevance = _parse_judgment(row)
        judgments[query][span].append(relevance)
        places.setdefault(query, row.location)
    ids = safe_ids(query.id for query in judgments)
    sets = _RepoSets(source, name)
    for query, judged in judgments.items():
        targets = [Target(span, (2 * sum(marks) + len(marks)) // (2 * len(marks))) for span, marks in judged.items()]
        if not any(target.grade > 0 for target in targets):
            label = f"'{query.text}' in {query.code.label}"
            sets.omitted["queries without a relevant function in the repository"].append(label)
            continue
        forms, tags = {"human": query.text}, {"language": query.language}
        sets.queries[query.code].append(build_query(ids[query.id], forms, targets, places[query], tags=tags, least=1))
    several = [marks for judged in judgments.values() for marks in judged.values() if len(marks) > 1]
    apart = sum(max(marks) - min(marks) >= _APART for marks in several)
    notes = sum(bool(row.get("Notes")) for row in rows)
    provenance: dict[str, str] = {}
    if several:
        counts = f"{len(several)}, graded by the mean; differing by 2 or 3: {apart}"
        provenance["judges"] = f"functions judged more than once: {counts}"
    if notes:
        provenance["not read"] = f"notes by judges ({notes})"
    return sets.build_from_github(corpus, provenance)


def _parse_judgment(row: CsvRow) -> tuple[_RepoQuery, Span, int]:
    url = _URL.fullmatch(row.text("GitHubUrl"))
    if url is None:
        hint = "write it as https://github.com/owner/name/blob/COMMIT/path#L1-L9"
        raise row.location.error(f"expected a GitHub link to lines at a commit, got '{row.get('GitHubUrl')}'", hint)
    if row.text("Relevance") not in _RELEVANCE:
        raise row.location.error(f"invalid relevance '{row.get('Relevance')}'", f"use one of {', '.join(_RELEVANCE)}")
    code = _on_github(url["repository"], url["commit"], row.location)
    span = ranged_span(unquote(url["path"]), int(url["start"]), int(url["end"] or url["start"]), row.location)
    return _RepoQuery(code, row.text("Language"), row.text("Query")), span, int(row.text("Relevance"))


# Completion benchmarks, RepoEval and CrossCodeEval: the query is the code before the cursor, the target what follows.
# Both count lines from 0. CrossCodeEval's `crossfile_context` was retrieved by search engines (BM25, UniXcoder, Ada),
# so it is not gold: a label from an engine would only measure agreement with that engine. It is listed as not read.

#: A provenance note of these sets. Their queries have a tag, so that reports can separate the scores.
LEAK = "queries are verbatim text of the target's file, so scores measure recognition rather than search"
_TAGS = {"leak": "verbatim"}
#: The provenance note instead of `LEAK` in a set whose corpus is a copy without the prompts.
MASKED = "the prompts are blank in this copy of the corpus"
MASKED_DIRECTORY = "masked"  # of the copies, beside the gold files
_QUERY_LINES = 10  # last lines of the prompt, as in CrossCodeEval's own retrieval
_REPOEVAL_LINE = ("line_no", "lineno")  # key in line and API tasks; in function tasks
_REPOEVAL_KEYS = ("prompt", "metadata", "task_id", "ground_truth", "fpath_tuple", *_REPOEVAL_LINE)
_CROSSCODEEVAL_ENTRY = ("prompt", "groundtruth", "metadata")
_CROSSCODEEVAL_KEYS = (*_CROSSCODEEVAL_ENTRY, "task_id", "repository", "file", "groundtruth_start_lineno")
is_repoeval = json_matcher("[{", "prompt", "metadata", "fpath_tuple", "ground_truth")
is_crosscodeeval = json_matcher("[{", *_CROSSCODEEVAL_ENTRY, "repository", "groundtruth_start_lineno")


def read_repoeval(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    def parse_task(_record: JsonRecord, task: JsonRecord) -> tuple[str, str, int, str]:
        steps = task.entries("fpath_tuple")
        if len(steps) < 2 or not all(isinstance(step, str) for step in steps):
            hint = 'write it as ["repo", "dir", "file.py"]'
            raise task.location.error(f"'fpath_tuple' of {task.subject}: expected a repository and a path", hint)
        repository, *path = (str(step) for step in steps)
        key = next((key for key in _REPOEVAL_LINE if key in task.values), _REPOEVAL_LINE[0])
        return repository, "/".join(path), task.number(key), task.verbatim("ground_truth")

    return _read_completions(source, name, corpus, _REPOEVAL_KEYS, parse_task)


def read_crosscodeeval(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    def parse_task(record: JsonRecord, task: JsonRecord) -> tuple[str, str, int, str]:
        before, text = task.number("groundtruth_start_lineno"), record.verbatim("groundtruth")
        return task.text("repository"), task.text("file"), before, text

    return _read_completions(source, name, corpus, _CROSSCODEEVAL_KEYS, parse_task)


def _read_completions(
    source: GoldSource,
    name: str,
    corpus: CorpusSpec | None,
    keys: Sequence[str],
    parse_task: Callable[
        [JsonRecord, JsonRecord], tuple[str, str, int, str]
    ],  # repository, path, lines before, completion
) -> list[GoldSet]:
    if corpus is None:
        hint = corpus_hint(source.path, several=True) + "; DIR contains one directory per repository"
        raise source.at(1).error(NO_CORPUS, hint)
    records = read_entries(source)
    tasks = [record.mapping("metadata") for record in records]
    task_ids = [task.text("task_id") for task in tasks]
    times = Counter(task_ids)
    numbers = {task_id: count(1) for task_id in times}
    originals = [f"{task_id}/{next(numbers[task_id])}" if times[task_id] > 1 else task_id for task_id in task_ids]
    ids = safe_ids(originals)
    sets = _RepoSets(source, name)
    for record, task, original in zip(records, tasks, originals, strict=True):
        repository, path, before, text = parse_task(record, task)
        check_path(repository, task.location)
        last = before + 1 + text.rstrip("\r\n").count("\n")
        target = Target(ranged_span(path, before + 1, last, task.location))
        prompt = record.verbatim("prompt").rstrip().split("\n")
        forms = {"human": "\n".join(prompt[-_QUERY_LINES:]).strip("\r\n")}
        query = build_query(ids[original], forms, [target], record.location, tags=_TAGS)
        sets.queries[RepoRevision(repository)].append(query)
    provenance = {"leak": LEAK, **describe_unread([*records, *tasks], keys), **describe_renames(ids)}
    above = f"{corpus.root.strip('/')}/" if corpus.root else ""

    def repository_spec(code: RepoRevision) -> CorpusSpec:
        root = f"{above}{code.repository}"
        for base in (Path(), source.path.parent) if corpus.kind == "path" else ():
            directory = base / Path(corpus.value).expanduser() / root
            if directory.is_symlink() and directory.is_dir():  # `root` itself may not lead out of the corpus
                return replace(corpus, value=str(directory.resolve()), root=None)
        return replace(corpus, root=root)

    return sets.build(repository_spec, provenance)


def mask_prompts(golds: Sequence[GoldSet]) -> tuple[list[GoldSet], dict[str, dict[str, str]]]:
    """Return completion sets with copies of their corpora in which the prompts are blank, as texts by directory.

    Lines keep their numbers. Lines of targets keep their text, except for the part before the cursor.
    """
    masked: list[GoldSet] = []
    directories: dict[str, dict[str, str]] = {}
    for gold in golds:
        if gold.provenance.get("leak") != LEAK:
            raise ConfigError(f"'{gold.name}' has no prompts to mask", hint="remove --mask-prompts")
        corpus = open_corpus(gold.corpus, base=Path(gold.source).parent if gold.source else None)
        lines = {file.path: read_text(corpus, file.path).split("\n") for file in corpus.files}
        for path, text in lines.items():
            _blank_prompts(text, [query for query in gold.queries if query.targets[0].span.path == path])
        directory = f"{MASKED_DIRECTORY}/{gold.name}"
        directories[directory] = {IGNORE_FILE: IGNORE_NOTHING}
        directories[directory] |= {path: "\n".join(text) for path, text in lines.items()}
        rest = {key: value for key, value in gold.provenance.items() if key != "leak"}
        queries = tuple(replace(q, tags={k: v for k, v in q.tags.items() if k not in _TAGS}) for q in gold.queries)
        spec = CorpusSpec("path", directory)
        masked.append(replace(gold, corpus=spec, queries=queries, provenance={"masked": MASKED, **rest}))
    return masked, directories


def _blank_prompts(lines: list[str], queries: Sequence[Query]) -> None:
    spans = {query.id: query.targets[0].span for query in queries}
    answers = {line for span in spans.values() for line in range((span.start or 1) - 1, span.end or 0)}
    original = tuple(lines)
    for query in queries:
        *above, last = query.forms["human"].split("\n")
        at = (spans[query.id].start or 1) - 1
        if at < len(lines) and original[at].startswith(last):  # the cursor is inside the line
            if lines[at].startswith(last):
                lines[at] = lines[at].removeprefix(last)
        else:
            above.append(last)
        at -= 1
        while above and at >= 0 and (not original[at].strip() or original[at].rstrip() == above[-1].rstrip()):
            if original[at].rstrip() == above[-1].rstrip():
                above.pop()
            if at not in answers:
                lines[at] = ""
            at -= 1
