"""BEIR: a folder with `corpus.jsonl`, `queries.jsonl` and judgements in `qrels/*.tsv`.

With a corpus given, a document id is a target as it is written everywhere: `path`, `path:10-42`, `path::Scope.symbol`.
Without one the documents are the corpus, a file each (documents.py).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

from assay.corpus.spec import document_paths
from assay.gold.building import GoldLocation, GoldSource, build_gold, parse_target, read_source
from assay.gold.formats.documents import CORPUS, OWN, Judgment, Topic, document_ids, judge, read_judgement
from assay.gold.formats.export import WriterOutput, corpus_losses, file_name, verified
from assay.gold.formats.rows import Record, open_source, read_entries, unread
from assay.types import CorpusSpec, GoldSet, Query, Span, Suite, Target

QUERIES = "queries.jsonl"
QRELS = "qrels"
_HEADER = ("query-id", "corpus-id", "score")
_KEYS = ("_id", "text")
_HINT = "a line is: query, tab, document, tab, score"
_SPLIT = "test.tsv"  # what BEIR's own tools read when nobody names a split
_NO_TEXT = "the text of {} documents: a gold set has places, not text; fill in corpus.jsonl to index it elsewhere"


def is_beir_folder(folder: Path) -> bool:
    """Tell a folder by the files that make it one."""
    return (folder / QUERIES).is_file() and (folder / QRELS).is_dir()


def read_beir_folder(folder: Path, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read each split of a folder; a single one is called after the folder."""
    source = open_source(folder / QUERIES)
    files = sorted(path for path in (folder / QRELS).glob("*.tsv") if not path.name.startswith("."))
    if not files:
        raise source.at().error(f"there are no judgements in {QRELS}/ beside it", f"put them into {QRELS}/{_SPLIT}")
    records = read_entries(source)
    topics, ignored = _topics(records), unread(records, _KEYS)
    target = _in_corpus if corpus else _among(folder)
    spec = corpus or OWN
    name = "-".join(folder.resolve().name.split())
    golds: list[GoldSet] = []
    for path in files:
        found = judge(topics, _judgements(read_source(path)), target)
        if not found.queries:
            raise source.at(1).error(f"no query has a relevant document in {path.name}", "check the ids in both files")
        own = name if len(files) == 1 else f"{name}-{'-'.join(path.stem.split())}"
        golds.append(build_gold(own, spec, found.queries, source.at(), {**ignored, **found.provenance}))
    return golds


def read_beir(source: GoldSource, _name: str, _corpus: CorpusSpec | None) -> GoldSet:
    """Refuse one file of a set."""
    raise source.at().error("a BEIR set is a folder", f"name the folder that holds {QUERIES} and {QRELS}/")


def _topics(records: list[Record]) -> dict[str, Topic]:
    topics: dict[str, Topic] = {}
    for record in records:
        name = record.verbatim("_id")
        if name in topics:
            first = topics[name].place.line
            raise record.place.error(f"the query '{name}' stands twice, first in line {first}", "keep one")
        topics[name] = Topic({"human": record.verbatim("text")}, record.place)
    return topics


def _judgements(source: GoldSource) -> list[Judgment]:
    found: list[Judgment] = []
    for number, line in enumerate(source.text.split("\n"), 1):
        place, cells = source.at(number), _cells(line.rstrip("\r"), source.at(number))
        if not line.strip() or (number == 1 and tuple(cells) == _HEADER):
            continue
        if len(cells) != len(_HEADER):
            raise place.error(f"the line has {len(cells)} cells, not 3", _HINT)
        found.append(read_judgement(cells[0], cells[1], cells[2], place))
    if not found:
        raise source.at(1).error("there is no judgement in the file", _HINT)
    return found


def _cells(line: str, place: GoldLocation) -> list[str]:
    try:
        return next(csv.reader([line], delimiter="\t", strict=True), [])
    except csv.Error as error:
        raise place.error(f"not a line of a table: {error}", "check the quotes in it") from error


def _in_corpus(judgement: Judgment, grade: int) -> Target:
    return parse_target(judgement.document, judgement.place, grade=grade)


def _among(folder: Path) -> Callable[[Judgment, int], Target]:
    names = document_paths(document_ids(folder))

    def target(judgement: Judgment, grade: int) -> Target:
        if judgement.document not in names:
            raise judgement.place.error(
                f"the document '{judgement.document}' is not in {CORPUS}", "add it, take the line out, or give a corpus"
            )
        return Target(Span(names[judgement.document]), grade)

    return target


def write_beir(suite: Suite) -> WriterOutput:
    """Write a folder a set. Its documents are targets, and have no text: Assay's gold has none."""
    files: dict[str, str | bytes] = {}
    for gold in suite.golds:
        folder = file_name(gold, "")
        anchors = _anchors(gold)
        files[f"{folder}/{CORPUS}"] = _lines([{"_id": anchor, "title": anchor, "text": ""} for anchor in anchors])
        files[f"{folder}/{QUERIES}"] = _lines([{"_id": query.id, "text": _headline(query)} for query in gold.queries])
        files[f"{folder}/{QRELS}/{_SPLIT}"] = _table(gold)

    def read(root: Path) -> list[GoldSet]:
        return [back for gold in suite.golds for back in read_beir_folder(root / file_name(gold, ""), gold.corpus)]

    written = verified(suite, files, read, lost=corpus_losses(suite))
    count = len({anchor for gold in suite.golds for anchor in _anchors(gold)})
    return WriterOutput(written.files, (*written.lost, _NO_TEXT.format(count)))


def _anchors(gold: GoldSet) -> dict[str, None]:
    return dict.fromkeys(target.anchor for query in gold.queries for target in (*query.targets, *query.irrelevant))


def _headline(query: Query) -> str:
    return query.headline


def _lines(entries: list[dict[str, str]]) -> str:
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)


def _table(gold: GoldSet) -> str:
    stream = io.StringIO(newline="")
    writer = csv.writer(stream, delimiter="\t", lineterminator="\n")
    writer.writerow(_HEADER)
    writer.writerows((q.id, t.anchor, t.grade) for q in gold.queries for t in (*q.targets, *q.irrelevant))
    return stream.getvalue()
