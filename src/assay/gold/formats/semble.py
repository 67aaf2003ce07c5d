"""semble's benchmark: `repos.json` with the URL and revision of each repository, and queries in `annotations/`.

Targets in `relevant` have grade 2 and those in `secondary` grade 1; semble scores both alike.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from assay.corpus.spec import is_url, spec_text
from assay.gold.anchors import check_path, ranged_span
from assay.gold.build import GoldLocation, GoldSource, build_gold, build_query, read_source, row_id
from assay.gold.formats.losses import FieldLoss, WriterOutput, file_name, verify_output
from assay.gold.formats.rows import JsonRecord, json_kind, json_matcher, read_records
from assay.types import PRIMARY, SECONDARY, CorpusSpec, GoldSet, Query, Span, Suite, Target

REPOS = "repos.json"
ANNOTATIONS = "annotations"
_ANNOTATION = ("query", "relevant", "secondary", "category", "seed", "related")
_UNREAD = ("seed", "related")  # not labels
_REPO = ("name", "language", "url", "revision", "benchmark_root")
_COMMAND = re.compile(r"\s*-|[^/]*::")  # an option of git, or a command that git would run
_RANGE = ("path", "start_line", "end_line")

_Repos = Mapping[str, tuple[CorpusSpec, str]]  # corpus and language by name
matches = json_matcher("[", "query", "relevant")


def is_semble_directory(directory: Path) -> bool:
    return (directory / REPOS).is_file()


def read_semble_directory(directory: Path, corpus: CorpusSpec | None) -> list[GoldSet]:
    source = read_source(directory / REPOS)
    repos = _repos(source)
    below = directory / ANNOTATIONS if (directory / ANNOTATIONS).is_dir() else directory
    files = sorted(path for path in below.glob("*.json") if path.name != REPOS)
    if not files:
        raise source.at().error("no annotation file in the directory", "add annotations/<repo>.json")
    return [_read(read_source(path), repos, corpus) for path in files]


def read_semble(source: GoldSource, corpus: CorpusSpec | None) -> GoldSet:
    """Read one annotation file, and its repository from `repos.json` in the same or the parent directory."""
    directory = source.path.parent
    lists = [path for path in (directory / REPOS, directory.parent / REPOS) if path.is_file()]
    return _read(source, _repos(read_source(lists[0])) if lists else {}, corpus)


def _read(source: GoldSource, repos: _Repos, corpus: CorpusSpec | None) -> GoldSet:
    name = source.at().name(source.path.stem, "the name of the file")
    own, language = repos.get(name, (None, ""))
    spec = corpus or own
    if spec is None:
        hint = f"add the repository to {REPOS} beside the file, or pass --corpus"
        raise source.at().error(f"repository '{name}' not found in {REPOS}", hint)
    records = read_records(source)
    queries = [_query(record, n, language) for n, record in enumerate(records, 1)]
    unread = [key for key in _UNREAD if any(key in record.values for record in records)]
    provenance = {"not read": ", ".join(unread)} if unread else {}
    return build_gold(name, spec, queries, source.at(1), provenance)


def _repos(source: GoldSource) -> _Repos:
    repos: dict[str, tuple[CorpusSpec, str]] = {}
    for record in read_records(source):
        record.check_keys(_REPO, required=("name", "url", "revision"))
        name, url = record.text("name"), record.text("url")
        if name in repos:
            raise record.location.error(f"duplicate repository '{name}'", "remove one")
        if _COMMAND.match(url):
            raise record.location.error(f"invalid repository URL '{url}'", "use https://host/owner/name")
        # benchmark_root becomes an include rather than a root, so that paths stay as annotated
        root = record.text("benchmark_root") if "benchmark_root" in record.values else ""
        include = (f"{check_path(root, record.location)}/**",) if root else ()
        spec = CorpusSpec("git", url, rev=record.text("revision"), include=include)
        repos[name] = spec, record.text("language") if "language" in record.values else ""
    return repos


def _query(record: JsonRecord, number: int, language: str) -> Query:
    record.check_keys(_ANNOTATION, required=("query", "relevant"))
    grades = (("relevant", PRIMARY), ("secondary", SECONDARY))
    targets = [Target(_span(entry, record, key), grade) for key, grade in grades for entry in record.entries(key)]
    tags = {"category": record.text("category")} if "category" in record.values else {}
    if language:
        tags["language"] = language
    return build_query(row_id(number), {"human": record.text("query")}, targets, record.location, tags=tags)


def _span(entry: object, record: JsonRecord, key: str) -> Span:
    if isinstance(entry, str):
        return Span(check_path(entry, record.location))
    if not isinstance(entry, Mapping):
        message = f"expected a path or an object as entry of '{key}', got {json_kind(entry)}"
        raise record.location.error(message, "write the path as a string")
    ranged = JsonRecord(entry, record.location, f"an entry of '{key}'")
    ranged.check_keys(_RANGE, required=_RANGE)
    return ranged_span(ranged.text("path"), ranged.number("start_line"), ranged.number("end_line"), record.location)


def write_semble(suite: Suite) -> WriterOutput:
    """Render one annotation file per set, and `repos.json` with the sets whose corpus is a Git URL with a revision."""
    files = {
        f"{ANNOTATIONS}/{file_name(gold, '.json')}": _lines([_annotation(q, gold) for q in gold.queries])
        for gold in suite.golds
    }
    repos = [_repository(gold) for gold in suite.golds if _is_pinned(gold.corpus)]
    if repos:
        files[REPOS] = _lines(repos)

    def read(directory: Path) -> list[GoldSet]:
        known = _repos(read_source(directory / REPOS)) if repos else {}
        sources = [read_source(directory / ANNOTATIONS / file_name(gold, ".json")) for gold in suite.golds]
        return [
            _read(source, known, None if gold.name in known else gold.corpus)
            for source, gold in zip(sources, suite.golds, strict=True)
        ]

    left_out = [FieldLoss("corpus", spec_text(gold.corpus)) for gold in suite.golds if not _is_pinned(gold.corpus)]
    return verify_output(suite, files, read, lost=left_out)


def _is_pinned(spec: CorpusSpec) -> bool:
    return spec.kind == "git" and is_url(spec.value) and bool(spec.rev)


def _repository(gold: GoldSet) -> dict[str, object]:
    spec = gold.corpus
    entry: dict[str, object] = {"name": gold.name}
    languages = {query.tags.get("language", "") for query in gold.queries}
    if len(languages) == 1 and "" not in languages:
        entry["language"] = languages.pop()
    entry |= {"url": spec.value, "revision": spec.rev}
    if len(spec.include) == 1 and spec.include[0].endswith("/**"):
        entry["benchmark_root"] = spec.include[0].removesuffix("/**")
    return entry


def _annotation(query: Query, gold: GoldSet) -> dict[str, object]:
    entries: dict[str, list[object]] = {"relevant": [], "secondary": []}
    for target in query.targets:
        span = target.span
        if target.symbol is not None and span.start is None:
            message = f"semble supports only files and line ranges, got target {target.anchor} of query '{query.id}'"
            hint = "resolve the lines with `assay gold convert --corpus PATH`"
            raise GoldLocation(gold.source or gold.name, query.line).error(message, hint)
        ranged = {"path": span.path, "start_line": span.start, "end_line": span.end}
        key = "relevant" if target in query.primaries else "secondary"
        entries[key].append(span.path if span.start is None else ranged)
    category = {"category": query.tags["category"]} if "category" in query.tags else {}
    return {"query": query.headline, **entries, **category}


def _lines(entries: Sequence[object]) -> str:
    return json.dumps(entries, ensure_ascii=False, indent=2) + "\n"
