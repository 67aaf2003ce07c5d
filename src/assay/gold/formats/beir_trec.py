"""BEIR directories and TREC files.

A BEIR set has `corpus.jsonl`, `queries.jsonl` and judgments in `qrels/*.tsv`. A TREC set has lines of judgments,
`query 0 document relevance`, and a topics file beside them with lines of `query<TAB>text` or with `<top>` elements.

Document ids are targets: `path`, `path:10-42` or `path::Scope.symbol`. If no corpus is passed for a BEIR set, the
documents are the corpus, one file each.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from assay.errors import GoldError
from assay.files import atomic_directory
from assay.gold.anchors import parse_target
from assay.gold.build import (
    GoldLocation,
    GoldSource,
    build_gold,
    build_query,
    corpus_hint,
    describe_omissions,
    describe_renames,
    read_source,
    require_corpus,
    safe_ids,
)
from assay.gold.formats.losses import WriterOutput, corpus_losses, file_name, read_back, verify_output
from assay.gold.formats.rows import JsonRecord, describe_unread, open_source, read_entries
from assay.syntax.text import line_at
from assay.trec import document_paths
from assay.types import CorpusSpec, GoldSet, Query, Rationale, Span, Suite, Target


class Judgment(NamedTuple):
    query: str
    document: str
    score: int
    location: GoldLocation


class Topic(NamedTuple):
    id: str
    forms: Mapping[str, str]
    location: GoldLocation
    rationale: Rationale | None = None


def _by_id(topics: Iterable[Topic], subject: str) -> dict[str, Topic]:
    by_id: dict[str, Topic] = {}
    for topic in topics:
        first = by_id.setdefault(topic.id, topic)
        if first is not topic:
            message = f"duplicate {subject} '{topic.id}', first on line {first.location.line}"
            raise topic.location.error(message, "remove one")
    return by_id


def _lines(source: GoldSource) -> Iterator[tuple[GoldLocation, str]]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            yield source.at(number), line.rstrip("\r")


def _read_judgments(
    source: GoldSource, split: Callable[[str], list[str]], columns: int, picked: Sequence[int], hint: str
) -> list[Judgment]:
    judgments: list[Judgment] = []
    for location, line in _lines(source):
        try:
            cells = split(line)
        except csv.Error as error:
            raise location.error(f"invalid TSV: {error}", "check the quotes") from error
        if location.line == 1 and tuple(cells) == _HEADER:
            continue
        if len(cells) != columns:
            raise location.error(f"expected {columns} columns, got {len(cells)}", hint)
        query, document, score = (cells[column] for column in picked)
        if not score.removeprefix("-").isdecimal() or not score.isascii() or len(score) > 9:
            raise location.error(f"invalid score '{score}'", "use an integer, such as 2, 1 or 0")
        query, document = location.text(query, "the id of the query"), location.text(document, "the document")
        judgments.append(Judgment(query, document, int(score), location))
    if not judgments:
        raise source.at(1).error("no judgments in the file", hint)
    return judgments


def _judge(
    topics: Mapping[str, Topic], judgments: Sequence[Judgment], paths: Mapping[str, str] | None = None
) -> tuple[list[Query], dict[str, str]]:
    """Return the queries in topic order, and provenance notes; without `paths`, document ids are parsed as targets."""
    by_query = _group_judgments(judgments)
    ids = safe_ids(topics)
    omitted: defaultdict[str, list[str]] = defaultdict(list)
    omitted["queries without a judgment"] = [name for name in topics if name not in by_query]
    omitted["judged queries without a text"] = [name for name in by_query if name not in topics]
    queries: list[Query] = []
    negative = 0
    for name, topic in topics.items():
        own = by_query.get(name, [])
        negative += sum(judgment.score < 0 for judgment in own)
        if not any(judgment.score > 0 for judgment in own):
            omitted["queries without a relevant document"] += [name] if own else []
            continue
        targets: list[Target] = []
        for judgment in own:
            try:
                targets.append(_judged_target(judgment, paths))
            except GoldError:
                if judgment.score > 0:
                    raise
                document = f"{judgment.document} for {name}"
                omitted["irrelevant documents that cannot be located"].append(document)
        queries.append(build_query(ids[name], topic.forms, targets, topic.location, rationale=topic.rationale, least=1))
    assumed = {"assumed": f"negative scores read as 0: {negative}"} if negative else {}
    return queries, {**assumed, **describe_renames(ids), **describe_omissions(omitted)}


def _group_judgments(judgments: Sequence[Judgment]) -> dict[str, list[Judgment]]:
    first: dict[tuple[str, str], Judgment] = {}
    by_query: dict[str, list[Judgment]] = {}
    for judgment in judgments:
        query, document = judgment.query, judgment.document
        if (earlier := first.setdefault((query, document), judgment)) is not judgment:
            message = f"duplicate judgment of '{document}' for '{query}', first on line {earlier.location.line}"
            raise judgment.location.error(message, "remove one")
        by_query.setdefault(query, []).append(judgment)
    return by_query


def _judged_target(judgment: Judgment, paths: Mapping[str, str] | None) -> Target:
    grade = max(judgment.score, 0)
    if paths is None:
        return parse_target(judgment.document, judgment.location, grade=grade)
    if judgment.document not in paths:
        hint = "add the document, remove the line, or pass --corpus"
        raise judgment.location.error(f"document '{judgment.document}' not found in {_CORPUS}", hint)
    return Target(Span(paths[judgment.document]), grade)


def _set_names(directory: Path, files: Sequence[Path]) -> list[str]:
    name = "-".join(directory.resolve().name.split())
    return [name] if len(files) == 1 else [f"{name}-{'-'.join(path.stem.split())}" for path in files]


_CORPUS = "corpus.jsonl"
_QUERIES = "queries.jsonl"
_QRELS_DIRECTORY = "qrels"
_HEADER = ("query-id", "corpus-id", "score")
_TSV_HINT = "write lines as QUERY<TAB>DOCUMENT<TAB>SCORE"
_SPLIT = "test.tsv"  # the default split of BEIR's tools
_NO_TEXT = "the text of {} documents: gold sets hold locations, not text; fill in corpus.jsonl to index the documents"


def is_beir_directory(directory: Path) -> bool:
    return (directory / _QUERIES).is_file() and (directory / _QRELS_DIRECTORY).is_dir()


def read_beir(source: GoldSource, _name: str, _corpus: CorpusSpec | None) -> GoldSet:
    hint = f"use the directory that contains {_QUERIES} and {_QRELS_DIRECTORY}/"
    raise source.at().error("expected a BEIR directory, got a file", hint)


def read_beir_directory(directory: Path, corpus: CorpusSpec | None) -> list[GoldSet]:
    source = open_source(directory / _QUERIES)
    files = sorted(path for path in (directory / _QRELS_DIRECTORY).glob("*.tsv") if not path.name.startswith("."))
    if not files:
        hint = f"add the judgments as {_QRELS_DIRECTORY}/{_SPLIT}"
        raise source.at().error(f"no judgments in {_QRELS_DIRECTORY}/ beside the queries", hint)
    records = read_entries(source)
    entries = (Topic(record.verbatim("_id"), {"human": record.verbatim("text")}, record.location) for record in records)
    topics = _by_id(entries, "query")
    paths = None if corpus else document_paths(_read_documents(directory))

    def split(line: str) -> list[str]:
        return next(csv.reader([line], delimiter="\t", strict=True), [])

    golds: list[GoldSet] = []
    for path, name in zip(files, _set_names(directory, files), strict=True):
        judgments = _read_judgments(read_source(path), split, len(_HEADER), (0, 1, 2), _TSV_HINT)
        queries, provenance = _judge(topics, judgments, paths)
        if not queries:
            hint = f"check that {_QUERIES} and {path.name} use the same ids"
            raise source.at(1).error(f"no query has a relevant document in {path.name}", hint)
        ignored = describe_unread(records, ("_id", "text"))
        golds.append(build_gold(name, corpus or DOCUMENTS, queries, source.at(), {**ignored, **provenance}))
    return golds


def write_beir(suite: Suite) -> WriterOutput:
    """Render one BEIR directory per gold set, with anchors as documents without text."""
    files: dict[str, str | bytes] = {}
    every: set[str] = set()
    for gold in suite.golds:
        directory = file_name(gold, "")
        judged = [(q.id, t.anchor, t.grade) for q in gold.queries for t in (*q.targets, *q.irrelevant)]
        anchors = dict.fromkeys(anchor for _, anchor, _ in judged)
        every |= anchors.keys()
        table = io.StringIO(newline="")
        csv.writer(table, delimiter="\t", lineterminator="\n").writerows([_HEADER, *judged])
        documents = [{"_id": anchor, "title": anchor, "text": ""} for anchor in anchors]
        queries = [{"_id": query.id, "text": query.headline} for query in gold.queries]
        for name, entries in ((_CORPUS, documents), (_QUERIES, queries)):
            files[f"{directory}/{name}"] = "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
        files[f"{directory}/{_QRELS_DIRECTORY}/{_SPLIT}"] = table.getvalue()

    def read(root: Path) -> list[GoldSet]:
        return [back for gold in suite.golds for back in read_beir_directory(root / file_name(gold, ""), gold.corpus)]

    written = verify_output(suite, files, read, lost=corpus_losses(suite))
    return replace(written, lost=(*written.lost, _NO_TEXT.format(len(every))))


#: The directory of the documents of a BEIR set, which is the default corpus of the set.
DOCUMENTS_DIRECTORY = "documents"
DOCUMENTS = CorpusSpec("path", DOCUMENTS_DIRECTORY)
IGNORE_FILE = ".assayignore"
IGNORE_NOTHING = f"# Every file here is a document of the set, whatever its name.\n!*\n/{IGNORE_FILE}\n"


@dataclass(frozen=True, slots=True)
class UnpackedDocuments:
    """The corpus of each set by name, and the directories of documents to write beside the sets."""

    corpora: Mapping[str, CorpusSpec]
    directories: Mapping[str, Mapping[str, str]]  # relative directory -> path in it -> text
    notes: tuple[str, ...] = ()  # about empty and renamed documents


def unpack(golds: Sequence[GoldSet]) -> UnpackedDocuments:
    """Return the documents of the gold sets that were read from a BEIR directory without another corpus."""
    sources = {gold.name: Path(gold.source).parent for gold in golds if gold.source and gold.corpus == DOCUMENTS}
    sources = {name: directory for name, directory in sources.items() if (directory / _CORPUS).is_file()}
    several = len(set(sources.values())) > 1
    values = {source: f"{DOCUMENTS.value}/{source.name}" if several else DOCUMENTS.value for source in sources.values()}
    return UnpackedDocuments(
        {name: replace(DOCUMENTS, value=values[source]) for name, source in sources.items()},
        {value: render_documents(source) for source, value in values.items()},
        tuple(note for source in values for note in _document_notes(source)),
    )


def _document_notes(directory: Path) -> Iterator[str]:
    records = _read_documents(directory)
    empty = sum(not record.values.get("text") for record in records.values())
    if empty:
        missing = f"{empty} of {len(records)} documents in {directory / _CORPUS} have no text"
        yield f"{missing}; if their ids are code locations, pass --corpus PATH"
    renamed = {name: path for name, path in document_paths(records).items() if name != path}
    if renamed:
        name, path = next(iter(renamed.items()))
        example = f"{len(renamed)}, such as {name!r:.80} to {path:.80}"
        yield f"renamed document ids in {directory / _CORPUS}: {example}; run files may use the old or the new ids"


def render_documents(directory: Path) -> Mapping[str, str]:
    """Return the documents of a BEIR directory by path, and an ignore file that includes all of them."""
    records = _read_documents(directory)
    files = {IGNORE_FILE: IGNORE_NOTHING}
    for name, path in document_paths(records).items():
        parts = [str(records[name].values.get(key) or "") for key in ("title", "text")]
        files[path] = "\n\n".join(part for part in parts if part)
    return files


def _read_documents(directory: Path) -> dict[str, JsonRecord]:
    path = directory / _CORPUS
    if not path.is_file():
        raise GoldError(f"{_CORPUS} not found", file=directory, hint=corpus_hint(directory))
    records: dict[str, JsonRecord] = {}
    for record in read_entries(open_source(path)):
        if records.setdefault(record.verbatim("_id"), record) is not record:
            raise record.location.error(f"duplicate document '{record.values['_id']}'", "remove one")
    return records


def is_document_directory(directory: Path) -> bool:
    """Return whether Assay wrote the documents in a directory and may thus replace the directory."""
    mark = directory / IGNORE_FILE
    return mark.is_file() and mark.read_bytes() == IGNORE_NOTHING.encode("utf-8")


def write_documents(directory: Path, files: Mapping[str, str]) -> None:
    with atomic_directory(directory) as work:
        for path, text in files.items():
            (work / path).parent.mkdir(parents=True, exist_ok=True)
            (work / path).write_text(text, "utf-8", newline="")


QRELS = ".qrels"
_TOPICS = ".topics"
_LINE = re.compile(r"[^ \t]+[ \t]+[0-9Q]+[ \t]+[^ \t]+[ \t]+-?[0-9]+[ \t]*")
_BESIDE = ("topics.tsv", "topics.txt", "topics")
_BLANKS = re.compile(r"[ \t]+")
_TOP = re.compile(r"<top>(?P<fields>.*?)</top>", re.DOTALL)
#: The fields of a topic; other tags are text.
_FIELD = re.compile(r"</?(num|title|desc|narr|head|dom|smry|con|fac|def|nat|time)>")
_FIELDS_READ = ("num", "title", "desc", "narr")
_LABEL = re.compile(r"^(Number|Topic|Description|Narrative):\s*")
_QRELS_HINT = "write lines as QUERY 0 DOCUMENT RELEVANCE"
_TOPICS_HINT = "write lines as QUERY<TAB>TEXT"


def is_trec(source: GoldSource) -> bool:
    first = next((line for line in source.text.split("\n") if line.strip()), "")
    return source.path.suffix == QRELS or _LINE.fullmatch(first.rstrip("\r")) is not None


def is_trec_directory(directory: Path) -> bool:
    return bool(_qrels_files(directory)) and _topics_file(directory, "qrels") is not None


def read_trec_directory(directory: Path, corpus: CorpusSpec | None) -> list[GoldSet]:
    files = _qrels_files(directory)
    names = zip(files, _set_names(directory, files), strict=True)
    return [read_trec(read_source(path), name, corpus) for path, name in names]


def _qrels_files(directory: Path) -> list[Path]:
    return sorted(path for path in directory.glob("qrels*") if path.is_file() and path.suffix != QRELS)


def _topics_file(directory: Path, stem: str) -> Path | None:
    names = (f"{stem}{_TOPICS}", f"{stem}{_TOPICS}.tsv", f"{stem}{_TOPICS}.txt", *_BESIDE)
    return next((directory / name for name in names if (directory / name).is_file()), None)


def read_trec(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    spec = require_corpus(source, corpus)
    path = _topics_file(source.path.parent, source.path.stem)
    if path is None:
        hint = f"add the topics as {source.path.stem}{_TOPICS} or {_BESIDE[0]}"
        raise source.at().error("no topics file beside the judgments", hint)
    judgments = _read_judgments(source, lambda line: _BLANKS.split(line.strip(" \t")), 4, (0, 2, 3), _QRELS_HINT)
    beside = read_source(path)
    classic = beside.text.lstrip().startswith("<top>")
    topics = _by_id(_classic_topics(beside) if classic else _tabbed_topics(beside), "topic")
    # the location of a query is its first judgment; errors in topics were raised above
    places = {judgment.query: judgment.location for judgment in reversed(judgments)}
    topics = {key: topic._replace(location=places.get(key, topic.location)) for key, topic in topics.items()}
    queries, provenance = _judge(topics, judgments)
    if not queries:
        raise source.at(1).error("no topic has a relevant document", "check that topics and judgments belong together")
    fields = sorted(set(_FIELD.findall(beside.text)).difference(_FIELDS_READ)) if classic else []
    ignored = {"not read": ", ".join(fields)} if fields else {}
    return build_gold(name, spec, queries, source.at(), {**ignored, **provenance})


def read_qrels(path: Path) -> GoldSet:
    """Read TREC judgments, or BEIR's in a .tsv file, without topics and corpus: documents are ids, not locations."""
    source = read_source(path)
    if path.suffix == ".tsv":
        judgments = _read_judgments(source, lambda line: line.split("\t"), len(_HEADER), (0, 1, 2), _TSV_HINT)
    else:
        judgments = _read_judgments(source, lambda line: _BLANKS.split(line.strip(" \t")), 4, (0, 2, 3), _QRELS_HINT)
    queries = []
    for name, own in _group_judgments(judgments).items():
        if any(judgment.score > 0 for judgment in own):
            targets = [Target(Span(judgment.document), max(judgment.score, 0)) for judgment in own]
            queries.append(build_query(name, {"human": name}, targets, own[0].location, least=1))
    if not queries:
        raise source.at(1).error("no query has a relevant document", _QRELS_HINT)
    return build_gold(path.stem, CorpusSpec("path", "."), queries, source.at())


def _tabbed_topics(source: GoldSource) -> Iterator[Topic]:
    for location, line in _lines(source):
        name, tab, text = line.partition("\t")
        if not tab:
            raise location.error("the line has no tab", _TOPICS_HINT)
        yield Topic(location.text(name.strip(), "the id of the topic"), {"human": _one_line(text, location)}, location)


def _classic_topics(source: GoldSource) -> Iterator[Topic]:
    end = 0
    for top in _TOP.finditer(source.text):
        _check_blank(source, end, top.start())
        end, location = top.end(), source.at(line_at(source.text, top.start()))
        if "<top>" in top["fields"]:
            raise location.error("the topic has no </top>", "end each topic with </top>")
        before, *parts = _FIELD.split(top["fields"])
        fields: dict[str, str] = {}
        for key, value in zip(parts[0::2], parts[1::2], strict=True):
            if value.strip() and key in fields:
                raise location.error(f"duplicate field '{key}' in the topic", "remove one")
            if value.strip():
                fields[key] = _LABEL.sub("", value.strip())
        if before.strip():
            raise location.error("the topic starts with text outside of any field", "start the topic with <num>")
        title, description = _one_line(fields.get("title", ""), location), fields.get("desc")
        forms = {"human": _one_line(description, location), "keyword": title} if description else {"human": title}
        narrative = " ".join(fields.get("narr", "").split())
        number = location.text(fields.get("num", ""), "the number of the topic")
        number = number.lstrip("0") or "0" if number.isdecimal() else number
        yield Topic(number, forms, location, Rationale(reason=narrative) if narrative else None)
    _check_blank(source, end, len(source.text))


def _check_blank(source: GoldSource, start: int, end: int) -> None:
    rest = source.text[start:end].lstrip()
    if rest:
        location = source.at(line_at(source.text, end - len(rest)))
        raise location.error("the file has text outside of any topic", "put each topic between <top> and </top>")


def _one_line(text: str, location: GoldLocation) -> str:
    return location.text(" ".join(text.split()), "the text of the topic")


def write_trec(suite: Suite) -> WriterOutput:
    files: dict[str, str | bytes] = {}
    for gold in suite.golds:
        lines: list[str] = []
        for query in gold.queries:
            targets = [t for t in (*query.targets, *query.irrelevant) if not any(c.isspace() for c in t.anchor)]
            if not any(target in targets for target in query.primaries):
                message = f"TREC allows no whitespace, but all primary targets of query '{query.id}' contain some"
                raise GoldLocation(gold.source or gold.name, query.line).error(message, "use BEIR or CSV")
            lines += [f"{query.id} 0 {target.anchor} {target.grade}\n" for target in targets]
        files[file_name(gold, QRELS)] = "".join(lines)
        topics = (f"{query.id}\t{' '.join(query.headline.split())}\n" for query in gold.queries)
        files[file_name(gold, _TOPICS)] = "".join(topics)
    return verify_output(suite, files, read_back(suite, QRELS, read_trec), lost=corpus_losses(suite))
