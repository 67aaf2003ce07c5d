"""BEIR: a directory with `corpus.jsonl`, `queries.jsonl` and judgments in `qrels/*.tsv`.

With a given corpus, a document id is a target as in other formats: `path`, `path:10-42`, `path::Scope.symbol`.
Without one, the documents are the corpus, one file each (documents.py).
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from pathlib import Path

from assay.corpus.spec import document_paths
from assay.gold.building import GoldSource, build_gold, parse_target, read_source
from assay.gold.formats.documents import CORPUS, OWN, Judgment, Topic, judge, read_documents, read_judgment
from assay.gold.formats.export import WriterOutput, corpus_losses, file_name, verify_output
from assay.gold.formats.rows import Record, open_source, read_entries, unread
from assay.types import CorpusSpec, GoldSet, Span, Suite, Target

QUERIES = "queries.jsonl"
QRELS = "qrels"
_HEADER = ("query-id", "corpus-id", "score")
_KEYS = ("_id", "text")
_HINT = "a line is: query, tab, document, tab, score"
_SPLIT = "test.tsv"  # the split that BEIR's own tools read by default
_NO_TEXT = "the text of {} documents: a gold set has places, not text; fill in corpus.jsonl to index it elsewhere"


def is_beir_folder(folder: Path) -> bool:
    """Return whether a directory has the files of a BEIR set."""
    return (folder / QUERIES).is_file() and (folder / QRELS).is_dir()


def read_beir(source: GoldSource, _name: str, _corpus: CorpusSpec | None) -> GoldSet:
    """Raise for a single file of a set."""
    raise source.at().error("a BEIR set is a folder", f"name the folder that holds {QUERIES} and {QRELS}/")


def read_beir_folder(folder: Path, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one gold set per split; a single one is named after the directory."""
    source = open_source(folder / QUERIES)
    files = sorted(path for path in (folder / QRELS).glob("*.tsv") if not path.name.startswith("."))
    if not files:
        raise source.at().error(f"there are no judgments in {QRELS}/ beside it", f"put them into {QRELS}/{_SPLIT}")
    records = read_entries(source)
    topics, ignored = _topics(records), unread(records, _KEYS)
    target = _in_documents(folder) if corpus is None else _in_corpus
    name = "-".join(folder.resolve().name.split())
    golds: list[GoldSet] = []
    for path in files:
        queries, provenance = judge(topics, _judgments(read_source(path)), target)
        if not queries:
            raise source.at(1).error(f"no query has a relevant document in {path.name}", "check the ids in both files")
        own = name if len(files) == 1 else f"{name}-{'-'.join(path.stem.split())}"
        golds.append(build_gold(own, corpus or OWN, queries, source.at(), {**ignored, **provenance}))
    return golds


def _topics(records: list[Record]) -> dict[str, Topic]:
    topics: dict[str, Topic] = {}
    for record in records:
        name = record.verbatim("_id")
        if name in topics:
            first = topics[name].place.line
            raise record.place.error(f"the query '{name}' appears twice, first in line {first}", "keep one")
        topics[name] = Topic({"human": record.verbatim("text")}, record.place)
    return topics


def _judgments(source: GoldSource) -> list[Judgment]:
    found: list[Judgment] = []
    for number, line in enumerate(source.text.split("\n"), 1):
        place = source.at(number)
        try:
            cells = next(csv.reader([line.rstrip("\r")], delimiter="\t", strict=True), [])
        except csv.Error as error:
            raise place.error(f"not a line of a table: {error}", "check the quotes in it") from error
        if not line.strip() or (number == 1 and tuple(cells) == _HEADER):
            continue
        if len(cells) != len(_HEADER):
            raise place.error(f"the line has {len(cells)} cells, not 3", _HINT)
        found.append(read_judgment(cells[0], cells[1], cells[2], place))
    if not found:
        raise source.at(1).error("there is no judgment in the file", _HINT)
    return found


def _in_corpus(judgment: Judgment, grade: int) -> Target:
    return parse_target(judgment.document, judgment.place, grade=grade)


def _in_documents(folder: Path) -> Callable[[Judgment, int], Target]:
    names = document_paths(read_documents(folder))

    def target(judgment: Judgment, grade: int) -> Target:
        if judgment.document not in names:
            raise judgment.place.error(
                f"the document '{judgment.document}' is not in {CORPUS}", "add it, take the line out, or give a corpus"
            )
        return Target(Span(names[judgment.document]), grade)

    return target


def write_beir(suite: Suite) -> WriterOutput:
    """Write one directory per set; its documents are the targets, without text, since a gold set has none."""
    files: dict[str, str | bytes] = {}
    every: set[str] = set()
    for gold in suite.golds:
        folder = file_name(gold, "")
        judged = [(q.id, t.anchor, t.grade) for q in gold.queries for t in (*q.targets, *q.irrelevant)]
        anchors = dict.fromkeys(anchor for _, anchor, _ in judged)
        every |= anchors.keys()
        table = io.StringIO(newline="")
        csv.writer(table, delimiter="\t", lineterminator="\n").writerows([_HEADER, *judged])
        files[f"{folder}/{CORPUS}"] = _lines([{"_id": anchor, "title": anchor, "text": ""} for anchor in anchors])
        files[f"{folder}/{QUERIES}"] = _lines([{"_id": query.id, "text": query.headline} for query in gold.queries])
        files[f"{folder}/{QRELS}/{_SPLIT}"] = table.getvalue()

    def read(root: Path) -> list[GoldSet]:
        return [back for gold in suite.golds for back in read_beir_folder(root / file_name(gold, ""), gold.corpus)]

    written = verify_output(suite, files, read, lost=corpus_losses(suite))
    return WriterOutput(written.files, (*written.lost, _NO_TEXT.format(len(every))))


def _lines(entries: list[dict[str, str]]) -> str:
    return "".join(f"{json.dumps(entry, ensure_ascii=False)}\n" for entry in entries)
