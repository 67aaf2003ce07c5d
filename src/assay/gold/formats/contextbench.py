"""ContextBench: an issue, and the lines that people found to be needed to solve it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.gold.building import GoldSource, build_query, ranged_span
from assay.gold.formats.export import renamed, safe_ids
from assay.gold.formats.multi_repo import Omitted, RepoQuery, RepoRevision, from_github, github_code
from assay.gold.formats.rows import Record, json_has, parse, read_entries, unread
from assay.types import CorpusSpec, GoldSet, Target

_KEYS = ("instance_id", "repo", "base_commit", "problem_statement", "gold_context", "original_inst_id", "language")
#: Where some annotators had the repository: /workspace/owner__name__0.1/src/a.c.
_CONTAINER = re.compile(r"/workspace/[^/]+__[^/]+__[^/]+/(?P<path>.+)")
#: The spans of an older export, which is no JSON.
_BLOCK = re.compile(
    r"^context(?P<number>[0-9]+)[:：]\nfile: (?P<file>.+)\nstart_line: (?P<start>.+)\nend_line: (?P<end>.+)$", re.M
)


@dataclass(frozen=True, slots=True)
class _Context:
    """The targets of one task, and what of its context can be none."""

    targets: tuple[Target, ...]
    left: tuple[Omitted, ...]


def matches(source: GoldSource) -> bool:
    """Tell a file by the keys of its entries."""
    return json_has(source, "[{", "instance_id", "base_commit", "gold_context", "problem_statement")


def read_contextbench(source: GoldSource, name: str, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one issue an entry; each repository and commit is a set of its own."""
    records = read_entries(source)
    ids = safe_ids(record.text("instance_id") for record in records)
    entries = [entry for record in records for entry in _entry(record, ids)]
    return from_github(source, name, corpus, entries, {**unread(records, _KEYS), **renamed(ids)})


def _entry(record: Record, ids: Mapping[str, str]) -> list[RepoQuery | Omitted]:
    instance = record.text("instance_id")
    code = _code(record)
    context = _context(record, instance)
    if not context.targets:
        return [*context.left, Omitted("queries without context in the repository", instance)]
    tags = {"language": record.text("language")} if record.values.get("language") is not None else {}
    forms = {"human": record.text("problem_statement")}
    return [*context.left, RepoQuery(code, build_query(ids[instance], forms, context.targets, record.place, tags=tags))]


def _code(record: Record) -> RepoRevision:
    """Find the repository; part of the set names it without its owner, who is then in an id: owner__name-5973."""
    repository, commit = record.text("repo"), record.text("base_commit")
    if "/" not in repository and "original_inst_id" in record.values:
        owner, _, rest = record.text("original_inst_id").partition("__")
        repository = f"{owner}/{repository}" if rest.startswith(f"{repository}-") else repository
    return github_code(repository, commit, record.place)


def _context(record: Record, instance: str) -> _Context:
    value = record.values.get("gold_context")
    if isinstance(value, str):
        text = record.verbatim("gold_context")
        value = _blocks(text, record) if text.startswith("context") else _json(text, record)
    if not isinstance(value, list):
        raise record.place.error(f"'gold_context' of {record.what} is not a list", _HINT)
    targets: dict[str, Target] = {}
    left: list[Omitted] = []
    for span in _spans(value, record):
        path = _path(span)
        if path is None:
            left.append(Omitted("files that are not in the repository", f"{span.text('file')} of {instance}"))
            continue
        target = Target(ranged_span(path, span.number("start_line"), span.number("end_line"), record.place))
        if target.anchor in targets:
            left.append(Omitted("spans that stand twice", f"{target.anchor} of {instance}"))
        targets[target.anchor] = target
    return _Context(tuple(targets.values()), tuple(left))


_HINT = 'write it as [{"file": "src/a.py", "start_line": 1, "end_line": 9, "content": "..."}]'


def _json(text: str, record: Record) -> object:
    return parse(text, record.place, f"'gold_context' of {record.what}")


def _blocks(text: str, record: Record) -> list[dict[str, object]]:
    blocks = list(_BLOCK.finditer(text))
    if [block["number"] for block in blocks] != [str(number) for number in range(text.count("\nfile: "))]:
        raise record.place.error(f"'gold_context' of {record.what} has blocks that cannot be told apart", _HINT)
    return [{"file": b["file"], "start_line": _whole(b["start"]), "end_line": _whole(b["end"])} for b in blocks]


def _whole(digits: str) -> object:
    return int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 10 else digits


def _spans(values: Sequence[object], record: Record) -> Iterator[Record]:
    for number, value in enumerate(values, 1):
        if not isinstance(value, dict):
            raise record.place.error(f"entry {number} of 'gold_context' of {record.what} is not an object", _HINT)
        yield Record(value, record.place, f"entry {number} of 'gold_context' of {record.what}")


def _path(span: Record) -> str | None:
    written = span.text("file")
    inside = _CONTAINER.fullmatch(written)
    if inside:
        return inside["path"]
    return None if written.startswith("/") else written
