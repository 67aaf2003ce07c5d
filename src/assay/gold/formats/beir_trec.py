"""BEIR directories and TREC files: topics, judged documents, and BEIR documents as the files of a corpus.

A BEIR set has `corpus.jsonl`, `queries.jsonl` and judgments in `qrels/*.tsv`. A TREC set has judgments as
`query 0 document relevance`, and topics beside them as `query<TAB>text` or in classic `<top>`.

A document is a target as in other formats: `path`, `path:10-42`, `path::Scope.symbol`. Without a given corpus, the
documents of a BEIR set are its corpus, one file each.
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

from assay.corpus.spec import document_paths
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
from assay.types import CorpusSpec, GoldSet, Query, Rationale, Span, Suite, Target


class Judgment(NamedTuple):
    """The relevance of a document for a query, with the location of the judgment."""

    query: str
    document: str
    score: int
    place: GoldLocation


class Topic(NamedTuple):
    """A query of a topics file, with its location."""

    id: str
    forms: Mapping[str, str]
    place: GoldLocation
    rationale: Rationale | None = None


def _by_id(topics: Iterable[Topic], what: str) -> dict[str, Topic]:
    found: dict[str, Topic] = {}
    for topic in topics:
        first = found.setdefault(topic.id, topic)
        if first is not topic:
            message = f"duplicate {what} '{topic.id}', first in line {first.place.line}"
            raise topic.place.error(message, "remove one")
    return found


def _lines(source: GoldSource) -> Iterator[tuple[GoldLocation, str]]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            yield source.at(number), line.rstrip("\r")


def _read_judgments(
    source: GoldSource, split: Callable[[str], list[str]], columns: int, picked: Sequence[int], hint: str
) -> list[Judgment]:
    found: list[Judgment] = []
    for place, line in _lines(source):
        try:
            cells = split(line)
        except csv.Error as error:
            raise place.error(f"invalid TSV: {error}", "check the quotes") from error
        if place.line == 1 and tuple(cells) == _HEADER:
            continue
        if len(cells) != columns:
            raise place.error(f"expected {columns} columns, got {len(cells)}", hint)
        query, document, score = (cells[column] for column in picked)
        if not score.removeprefix("-").isdecimal() or not score.isascii() or len(score) > 9:
            raise place.error(f"invalid score '{score}'", "use an integer, such as 2, 1 or 0")
        query, document = place.text(query, "the id of the query"), place.text(document, "the document")
        found.append(Judgment(query, document, int(score), place))
    if not found:
        raise source.at(1).error("no judgments in the file", hint)
    return found


def _judge(
    topics: Mapping[str, Topic], judgments: Sequence[Judgment], paths: Mapping[str, str] | None = None
) -> tuple[list[Query], dict[str, str]]:
    """Return the queries in topic order, and provenance notes; `paths` maps document ids to files, if given."""
    by_query: dict[str, dict[str, Judgment]] = {}
    for one in judgments:
        first = by_query.setdefault(one.query, {}).setdefault(one.document, one)
        if first is not one:
            message = f"duplicate judgment of '{one.document}' for '{one.query}', first in line {first.place.line}"
            raise one.place.error(message, "remove one")
    ids = safe_ids(topics)
    omitted: defaultdict[str, list[str]] = defaultdict(list)
    omitted["queries without a judgment"] = [name for name in topics if name not in by_query]
    omitted["judged queries without a text"] = [name for name in by_query if name not in topics]
    queries: list[Query] = []
    judged = {name: by_query[name] for name in topics if name in by_query}
    for name, found in judged.items():
        if not any(one.score > 0 for one in found.values()):
            omitted["queries without a relevant document"].append(name)
            continue
        targets: list[Target] = []
        for one in found.values():
            grade = max(one.score, 0)
            try:
                if paths is None:
                    targets.append(parse_target(one.document, one.place, grade=grade))
                elif one.document in paths:
                    targets.append(Target(Span(paths[one.document]), grade))
                else:
                    hint = "add it, remove the line, or pass --corpus"
                    raise one.place.error(f"document '{one.document}' not found in {_CORPUS}", hint)
            except GoldError:
                if one.score > 0:
                    raise
                omitted["irrelevant documents that are not in the corpus"].append(f"{one.document} for {name}")
        topic = topics[name]
        queries.append(build_query(ids[name], topic.forms, targets, topic.place, rationale=topic.rationale, least=1))
    negative = sum(one.score < 0 for found in judged.values() for one in found.values())
    assumed = {"assumed": f"negative scores read as 0: {negative}"} if negative else {}
    return queries, {**assumed, **describe_renames(ids), **describe_omissions(omitted)}


def _set_names(folder: Path, files: Sequence[Path]) -> list[str]:
    """Return the set name for each file; a single set is named after its directory."""
    name = "-".join(folder.resolve().name.split())
    return [name] if len(files) == 1 else [f"{name}-{'-'.join(path.stem.split())}" for path in files]


_CORPUS = "corpus.jsonl"
_QUERIES = "queries.jsonl"
_QRELS_FOLDER = "qrels"
_HEADER = ("query-id", "corpus-id", "score")
_TSV_HINT = "write lines as QUERY<TAB>DOCUMENT<TAB>SCORE"
_SPLIT = "test.tsv"  # the default split of BEIR's tools
_NO_TEXT = "the text of {} documents: gold sets hold locations, not text; fill in corpus.jsonl to index them"


def is_beir_folder(folder: Path) -> bool:
    return (folder / _QUERIES).is_file() and (folder / _QRELS_FOLDER).is_dir()


def read_beir(source: GoldSource, _name: str, _corpus: CorpusSpec | None) -> GoldSet:
    """Raise an error, since a BEIR set is a directory and not a file."""
    hint = f"use the directory that contains {_QUERIES} and {_QRELS_FOLDER}/"
    raise source.at().error("a BEIR set is a directory", hint)


def read_beir_folder(folder: Path, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read a BEIR directory into one gold set per split."""
    source = open_source(folder / _QUERIES)
    files = sorted(path for path in (folder / _QRELS_FOLDER).glob("*.tsv") if not path.name.startswith("."))
    if not files:
        hint = f"add the judgments as {_QRELS_FOLDER}/{_SPLIT}"
        raise source.at().error(f"no judgments in {_QRELS_FOLDER}/ beside the queries", hint)
    records = read_entries(source)
    found = (Topic(one.verbatim("_id"), {"human": one.verbatim("text")}, one.place) for one in records)
    topics = _by_id(found, "query")
    paths = None if corpus else document_paths(_read_documents(folder))

    def split(line: str) -> list[str]:
        return next(csv.reader([line], delimiter="\t", strict=True), [])

    golds: list[GoldSet] = []
    for path, name in zip(files, _set_names(folder, files), strict=True):
        judgments = _read_judgments(read_source(path), split, len(_HEADER), (0, 1, 2), _TSV_HINT)
        queries, provenance = _judge(topics, judgments, paths)
        if not queries:
            raise source.at(1).error(f"no query has a relevant document in {path.name}", "check the ids in both files")
        ignored = describe_unread(records, ("_id", "text"))
        golds.append(build_gold(name, corpus or DOCUMENTS, queries, source.at(), {**ignored, **provenance}))
    return golds


def write_beir(suite: Suite) -> WriterOutput:
    """Write one BEIR directory per gold set, with targets as documents without text."""
    files: dict[str, str | bytes] = {}
    every: set[str] = set()
    for gold in suite.golds:
        folder = file_name(gold, "")
        judged = [(q.id, t.anchor, t.grade) for q in gold.queries for t in (*q.targets, *q.irrelevant)]
        anchors = dict.fromkeys(anchor for _, anchor, _ in judged)
        every |= anchors.keys()
        table = io.StringIO(newline="")
        csv.writer(table, delimiter="\t", lineterminator="\n").writerows([_HEADER, *judged])
        documents = [{"_id": anchor, "title": anchor, "text": ""} for anchor in anchors]
        queries = [{"_id": query.id, "text": query.headline} for query in gold.queries]
        for name, entries in ((_CORPUS, documents), (_QUERIES, queries)):
            files[f"{folder}/{name}"] = "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
        files[f"{folder}/{_QRELS_FOLDER}/{_SPLIT}"] = table.getvalue()

    def read(root: Path) -> list[GoldSet]:
        return [back for gold in suite.golds for back in read_beir_folder(root / file_name(gold, ""), gold.corpus)]

    written = verify_output(suite, files, read, lost=corpus_losses(suite))
    return replace(written, lost=(*written.lost, _NO_TEXT.format(len(every))))


#: The directory of the documents of a BEIR set, which is the default corpus of the set.
FOLDER = "documents"
DOCUMENTS = CorpusSpec("path", FOLDER)
_IGNORE_FILE = ".assayignore"
_IGNORE_NOTHING = f"# Every file here is a document of the set, whatever its name.\n!*\n/{_IGNORE_FILE}\n"


@dataclass(frozen=True, slots=True)
class UnpackedDocuments:
    """The corpus of each set by name, and the directories of documents to write beside the sets."""

    corpora: Mapping[str, CorpusSpec]
    folders: Mapping[str, Mapping[str, str]]  # relative directory -> path in it -> text
    notes: tuple[str, ...] = ()  # about empty and renamed documents


def unpack(golds: Sequence[GoldSet]) -> UnpackedDocuments:
    """Return the documents of the gold sets whose corpus is their BEIR directory."""
    folders = {gold.name: Path(gold.source).parent for gold in golds if gold.source and gold.corpus == DOCUMENTS}
    found = {name: folder for name, folder in folders.items() if (folder / _CORPUS).is_file()}
    several = len(set(found.values())) > 1
    places = {folder: f"{FOLDER}/{folder.name}" if several else FOLDER for folder in found.values()}
    return UnpackedDocuments(
        {name: replace(DOCUMENTS, value=places[folder]) for name, folder in found.items()},
        {place: render_documents(folder) for folder, place in places.items()},
        tuple(note for folder in places for note in _document_notes(folder)),
    )


def _document_notes(folder: Path) -> Iterator[str]:
    records = _read_documents(folder)
    empty = sum(not record.values.get("text") for record in records.values())
    if empty:
        yield (
            f"{empty} of {len(records)} documents in {folder / _CORPUS} have no text; if their ids are code locations, "
            "pass --corpus PATH"
        )
    renamed = {name: path for name, path in document_paths(records).items() if name != path}
    if renamed:
        name, path = next(iter(renamed.items()))
        yield (
            f"renamed document ids in {folder / _CORPUS}: {len(renamed)}, such as {name!r:.80} to {path:.80}; "
            "run files may use either"
        )


def render_documents(folder: Path) -> Mapping[str, str]:
    """Return the documents of a BEIR directory by path, and an ignore file that includes all of them."""
    records = _read_documents(folder)
    files = {_IGNORE_FILE: _IGNORE_NOTHING}
    for name, path in document_paths(records).items():
        parts = [str(records[name].values.get(key) or "") for key in ("title", "text")]
        files[path] = "\n\n".join(part for part in parts if part)
    return files


def _read_documents(folder: Path) -> dict[str, JsonRecord]:
    path = folder / _CORPUS
    if not path.is_file():
        raise GoldError(f"{_CORPUS} not found", file=folder, hint=corpus_hint(folder))
    records: dict[str, JsonRecord] = {}
    for record in read_entries(open_source(path)):
        if records.setdefault(record.verbatim("_id"), record) is not record:
            raise record.place.error(f"duplicate document '{record.values['_id']}'", "remove one")
    return records


def is_document_directory(folder: Path) -> bool:
    """Return whether Assay wrote a directory of documents, and may replace the directory."""
    mark = folder / _IGNORE_FILE
    return mark.is_file() and mark.read_bytes() == _IGNORE_NOTHING.encode("utf-8")


def write_documents(folder: Path, files: Mapping[str, str]) -> None:
    with atomic_directory(folder) as work:
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


def is_trec_folder(folder: Path) -> bool:
    return bool(_qrels_files(folder)) and _topics_file(folder, "qrels") is not None


def read_trec_folder(folder: Path, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read a TREC directory into one gold set per file of judgments."""
    files = _qrels_files(folder)
    names = zip(files, _set_names(folder, files), strict=True)
    return [read_trec(read_source(path), name, corpus) for path, name in names]


def _qrels_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("qrels*") if path.is_file() and path.suffix != QRELS)


def _topics_file(folder: Path, stem: str) -> Path | None:
    names = (f"{stem}{_TOPICS}", f"{stem}{_TOPICS}.tsv", f"{stem}{_TOPICS}.txt", *_BESIDE)
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_trec(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    """Read a TREC judgments file and the topics file beside it."""
    spec = require_corpus(source, corpus)
    path = _topics_file(source.path.parent, source.path.stem)
    if path is None:
        hint = f"add the topics as {source.path.stem}{_TOPICS} or {_BESIDE[0]}"
        raise source.at().error("no topics beside the judgments", hint)
    judgments = _read_judgments(source, lambda line: _BLANKS.split(line.strip(" \t")), 4, (0, 2, 3), _QRELS_HINT)
    beside = read_source(path)
    classic = beside.text.lstrip().startswith("<top>")
    topics = _by_id(_classic_topics(beside) if classic else _tabbed_topics(beside), "topic")
    # The location of a query is its first judgment; errors in topics are raised above.
    places = {one.query: one.place for one in reversed(judgments)}
    topics = {key: topic._replace(place=places.get(key, topic.place)) for key, topic in topics.items()}
    queries, provenance = _judge(topics, judgments)
    if not queries:
        raise source.at(1).error("no topic has a relevant document", "check that topics and judgments belong together")
    fields = sorted(set(_FIELD.findall(beside.text)).difference(_FIELDS_READ)) if classic else []
    ignored = {"not read": ", ".join(fields)} if fields else {}
    return build_gold(name, spec, queries, source.at(), {**ignored, **provenance})


def _tabbed_topics(source: GoldSource) -> Iterator[Topic]:
    for place, line in _lines(source):
        name, tab, text = line.partition("\t")
        if not tab:
            raise place.error("the line has no tab", _TOPICS_HINT)
        yield Topic(place.text(name.strip(), "the id of the topic"), {"human": _one_line(text, place)}, place)


def _classic_topics(source: GoldSource) -> Iterator[Topic]:
    end = 0
    for top in _TOP.finditer(source.text):
        _check_blank(source, end, top.start())
        end, place = top.end(), source.at(line_at(source.text, top.start()))
        if "<top>" in top["fields"]:
            raise place.error("the topic has no </top>", "end each topic with </top>")
        before, *parts = _FIELD.split(top["fields"])
        fields: dict[str, str] = {}
        for key, value in zip(parts[0::2], parts[1::2], strict=True):
            if value.strip() and key in fields:
                raise place.error(f"duplicate field '{key}' in the topic", "remove one")
            if value.strip():
                fields[key] = _LABEL.sub("", value.strip())
        if before.strip():
            raise place.error("the topic starts with text outside of any field", "start the topic with <num>")
        title, description = _one_line(fields.get("title", ""), place), fields.get("desc")
        forms = {"human": _one_line(description, place), "keyword": title} if description else {"human": title}
        narrative = " ".join(fields.get("narr", "").split())
        number = place.text(fields.get("num", ""), "the number of the topic")
        number = number.lstrip("0") or "0" if number.isdecimal() else number
        yield Topic(number, forms, place, Rationale(reason=narrative) if narrative else None)
    _check_blank(source, end, len(source.text))


def _check_blank(source: GoldSource, start: int, end: int) -> None:
    rest = source.text[start:end].lstrip()
    if rest:
        place = source.at(line_at(source.text, end - len(rest)))
        raise place.error("text outside of any topic", "put each topic between <top> and </top>")


def _one_line(text: str, place: GoldLocation) -> str:
    return place.text(" ".join(text.split()), "the text of the topic")


def write_trec(suite: Suite) -> WriterOutput:
    """Write `NAME.qrels` and `NAME.topics` for each set."""
    files: dict[str, str | bytes] = {}
    for gold in suite.golds:
        lines: list[str] = []
        for query in gold.queries:
            targets = [t for t in (*query.targets, *query.irrelevant) if not any(c.isspace() for c in t.anchor)]
            if not any(target in targets for target in query.primaries):
                message = f"TREC cannot hold whitespace in the targets of query '{query.id}'"
                raise GoldLocation(gold.source or gold.name, query.line).error(message, "use BEIR or CSV")
            lines += [f"{query.id} 0 {target.anchor} {target.grade}\n" for target in targets]
        files[file_name(gold, QRELS)] = "".join(lines)
        topics = (f"{query.id}\t{' '.join(query.headline.split())}\n" for query in gold.queries)
        files[file_name(gold, _TOPICS)] = "".join(topics)
    return verify_output(suite, files, read_back(suite, QRELS, read_trec), lost=corpus_losses(suite))
