"""TREC: judgments as `query 0 document relevance`, and topics beside them as `query<TAB>text` or in classic `<top>`.

A document is a target as in other formats: `path`, `path:10-42`, `path::Scope.symbol`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from assay.gold.building import GoldLocation, GoldSource, build_gold, parse_target, read_source
from assay.gold.formats.documents import Judgment, Topic, judge, read_judgment
from assay.gold.formats.export import WriterOutput, corpus_losses, file_name, verify_output
from assay.gold.formats.multi_repo import require_corpus
from assay.syntax.text import line_at
from assay.types import CorpusSpec, GoldSet, Query, Rationale, Suite

QRELS = ".qrels"
TOPICS = ".topics"
_LINE = re.compile(r"[^ \t]+[ \t]+[0-9Q]+[ \t]+[^ \t]+[ \t]+-?[0-9]+[ \t]*")
_BLANKS = re.compile(r"[ \t]+")
_BESIDE = ("topics.tsv", "topics.txt", "topics")
_TOP = re.compile(r"<top>(?P<fields>.*?)</top>", re.DOTALL)
#: The fields of a topic; anything else in angle brackets is text.
_FIELD = re.compile(r"</?(num|title|desc|narr|head|dom|smry|con|fac|def|nat|time)>")
_READ = ("num", "title", "desc", "narr")
_LABEL = re.compile(r"^(Number|Topic|Description|Narrative):\s*")
_QRELS_HINT = "a line is: query 0 document relevance"
_TOPICS_HINT = "a line is the id of a query, a tab, and its text"


def matches(source: GoldSource) -> bool:
    """Return whether a file has the suffix or the first line of judgments."""
    first = next((line for line in source.text.split("\n") if line.strip()), "")
    return source.path.suffix == QRELS or _LINE.fullmatch(first.rstrip("\r")) is not None


def is_trec_folder(folder: Path) -> bool:
    """Return whether a directory holds judgments and topics under their usual names."""
    return bool(_qrels_files(folder)) and _topics_file(folder, "qrels") is not None


def read_trec_folder(folder: Path, corpus: CorpusSpec | None) -> list[GoldSet]:
    """Read one gold set per file of judgments; a single one is named after the directory."""
    name, files = "-".join(folder.resolve().name.split()), _qrels_files(folder)
    names = [name if len(files) == 1 else f"{name}-{'-'.join(path.stem.split())}" for path in files]
    return [read_trec(read_source(path), own, corpus) for path, own in zip(files, names, strict=True)]


def _qrels_files(folder: Path) -> list[Path]:
    return sorted(path for path in folder.glob("qrels*") if path.is_file() and path.suffix != QRELS)


def _topics_file(folder: Path, stem: str) -> Path | None:
    names = (f"{stem}{TOPICS}", f"{stem}{TOPICS}.tsv", f"{stem}{TOPICS}.txt", *_BESIDE)
    return next((folder / name for name in names if (folder / name).is_file()), None)


def read_trec(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    """Read judgments and the topics beside them."""
    spec = require_corpus(source, corpus)
    path = _topics_file(source.path.parent, source.path.stem)
    if path is None:
        raise source.at().error(
            "there are no topics beside the judgments", f"put them into {source.path.stem}{TOPICS} or {_BESIDE[0]}"
        )
    judgments, beside = _judgments(source), read_source(path)
    classic = beside.text.lstrip().startswith("<top>")
    topics: dict[str, Topic] = {}
    for key, topic in _classic_topics(beside) if classic else _tabbed_topics(beside):
        if key in topics:
            raise topic.place.error(
                f"the topic '{key}' appears twice, first in line {topics[key].place.line}", "keep one"
            )
        topics[key] = topic
    # A set has one file, so the location of a query is its first judgment; errors in topics are raised above.
    first = {one.query: one.place for one in reversed(judgments)}
    topics = {key: replace(topic, place=first.get(key, topic.place)) for key, topic in topics.items()}
    queries, provenance = judge(
        topics, judgments, lambda one, grade: parse_target(one.document, one.place, grade=grade)
    )
    if not queries:
        raise source.at(1).error("no topic has a relevant document", "check that topics and judgments belong together")
    fields = sorted(set(_FIELD.findall(beside.text)).difference(_READ)) if classic else []
    unread = {"not read": ", ".join(fields)} if fields else {}
    return build_gold(name, spec, queries, source.at(), {**unread, **provenance})


def _judgments(source: GoldSource) -> list[Judgment]:
    found: list[Judgment] = []
    for place, line in _lines(source):
        cells = _BLANKS.split(line.strip(" \t"))
        if len(cells) != 4:
            raise place.error(f"the line has {len(cells)} words, not 4", _QRELS_HINT)
        found.append(read_judgment(cells[0], cells[2], cells[3], place))
    if not found:
        raise source.at(1).error("there is no judgment in the file", _QRELS_HINT)
    return found


def _lines(source: GoldSource) -> Iterator[tuple[GoldLocation, str]]:
    for number, line in enumerate(source.text.split("\n"), 1):
        if line.strip():
            yield source.at(number), line.rstrip("\r")


def _tabbed_topics(source: GoldSource) -> Iterator[tuple[str, Topic]]:
    for place, line in _lines(source):
        name, tab, text = line.partition("\t")
        if not tab:
            raise place.error("the line has no tab in it", _TOPICS_HINT)
        yield place.text(name.strip(), "the id of the topic"), Topic({"human": _one_line(text, place)}, place)


def _classic_topics(source: GoldSource) -> Iterator[tuple[str, Topic]]:
    end = 0
    for top in _TOP.finditer(source.text):
        _check_blank(source, end, top.start())
        end, place = top.end(), source.at(line_at(source.text, top.start()))
        if "<top>" in top["fields"]:
            raise place.error("another topic begins before this one ends", "end each with </top>")
        fields = _fields(top["fields"], place)
        title, description = _one_line(fields.get("title", ""), place), fields.get("desc")
        forms = {"human": _one_line(description, place), "keyword": title} if description else {"human": title}
        narrative = " ".join(fields.get("narr", "").split())
        number = place.text(fields.get("num", ""), "the number of the topic")
        number = number.lstrip("0") or "0" if number.isdecimal() else number
        yield number, Topic(forms, place, Rationale(reason=narrative) if narrative else None)
    _check_blank(source, end, len(source.text))


def _check_blank(source: GoldSource, start: int, end: int) -> None:
    rest = source.text[start:end].lstrip()
    if rest:
        place = source.at(line_at(source.text, end - len(rest)))
        raise place.error("this is outside of any topic", "put each topic between <top> and </top>")


def _fields(text: str, place: GoldLocation) -> dict[str, str]:
    before, *parts = _FIELD.split(text)
    fields: dict[str, str] = {}
    for key, value in zip(parts[0::2], parts[1::2], strict=True):
        if value.strip() and key in fields:
            raise place.error(f"the field '{key}' of the topic appears twice", "keep one")
        if value.strip():
            fields[key] = _LABEL.sub("", value.strip())
    if before.strip():
        raise place.error("the topic begins with text outside of any field", "begin it with <num>")
    return fields


def _one_line(text: str, place: GoldLocation) -> str:
    return place.text(" ".join(text.split()), "the text of the topic")


def write_trec(suite: Suite) -> WriterOutput:
    """Write `NAME.qrels` and `NAME.topics` for each set."""
    files: dict[str, str | bytes] = {}
    for gold in suite.golds:
        topics = (f"{query.id}\t{' '.join(query.headline.split())}\n" for query in gold.queries)
        files[file_name(gold, QRELS)] = "".join(_render_judgments(query, gold) for query in gold.queries)
        files[file_name(gold, TOPICS)] = "".join(topics)

    def read(folder: Path) -> list[GoldSet]:
        sources = [(read_source(folder / file_name(gold, QRELS)), gold) for gold in suite.golds]
        return [read_trec(source, gold.name, gold.corpus) for source, gold in sources]

    return verify_output(suite, files, read, lost=corpus_losses(suite))


def _render_judgments(query: Query, gold: GoldSet) -> str:
    targets = (*query.targets, *query.irrelevant)
    fitting = [target for target in targets if not any(character.isspace() for character in target.anchor)]
    if not any(target in fitting for target in query.primaries):
        raise GoldLocation(gold.source or gold.name, query.line).error(
            f"a TREC line has no place for the blank in the targets of query '{query.id}'", "write BEIR or CSV instead"
        )
    return "".join(f"{query.id} 0 {target.anchor} {target.grade}\n" for target in fitting)
