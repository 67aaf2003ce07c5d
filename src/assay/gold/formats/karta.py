"""Karta's gold queries: v0.1 (query, expected, adversarial) and, entry by entry, the five layers of v2.1.

`corpus.yaml` beside a set says which files count. Where they are it says with an environment variable, which is never
expanded: the corpus is named when the set is read, and the globs are taken from there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from assay.gold.building import build_gold, build_query
from assay.gold.formats.common.ids import renamed, sound_ids
from assay.gold.formats.common.sniffing import yaml_has
from assay.gold.formats.karta_layers import Notes, present, read_adversary, read_layers, texts
from assay.gold.formats.native import has_version
from assay.gold.native.nodes import Field, compose
from assay.gold.schema import Keys
from assay.gold.source import Source, read_source
from assay.gold.targets import check_path
from assay.types import CorpusSpec, Gold, Query, Rationale, Span, Target

CORPUS_FILE = "corpus.yaml"
_SAID = ("corpus_id", "version", "author")
_DOCUMENT = (*_SAID, "queries")
_QUERY = Keys(("id", "query", "expected"), ("type", "rationale", "has_adversarial", "adversarial"))
_CORPUS = Keys(("id",), ("name", "tag", "base_path", "include", "exclude"))
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}  # as YAML 1.1 has them


@dataclass(frozen=True, slots=True)
class Beside:
    """What `corpus.yaml` says."""

    id: Field
    base_path: str = ""
    tag: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def matches(source: Source) -> bool:
    """Tell a set by the corpus it names; the native format has a version key and no such."""
    return yaml_has(source, "corpus_id") and not has_version(source)


def is_corpus_file(source: Source) -> bool:
    """Tell the description of a corpus, which lies beside sets and holds no queries."""
    return source.path.name == CORPUS_FILE and yaml_has(source, "id", "base_path")


def read_karta(source: Source, name: str, corpus: CorpusSpec | None) -> Gold:
    """Read a set, whichever version its entries are written in."""
    document = compose(source, "the gold set")
    fields = present(document)
    for key in ("corpus_id", "queries"):
        if key not in fields:
            raise document.place.error(f"the gold set lacks the key '{key}'", f"add '{key}:'")
    spec = _corpus(source, fields["corpus_id"], corpus)
    notes = Notes()
    notes.skip(fields, _DOCUMENT)
    entries = fields["queries"].sequence()
    ids = sound_ids(_id(entry) for entry in entries)
    queries = [_query(entry, ids[_id(entry)], notes) for entry in entries]
    said = {key: field.text() for key, field in fields.items() if key in _SAID}
    return build_gold(name, spec, queries, fields["queries"].place, {**said, **notes.told(), **renamed(ids)})


def _id(entry: Field) -> str:
    """Give the id of an entry."""
    fields = entry.mapping()
    if "id" not in fields:
        raise entry.place.error(f"{entry.what} lacks the key 'id'", "add 'id:'")
    return fields["id"].text()


def _query(entry: Field, query_id: str, notes: Notes) -> Query:
    """Read an entry: one with a retrieval layer has five of them."""
    return read_layers(entry, query_id, notes) if "retrieval" in entry.mapping() else _first(entry, query_id, notes)


def _first(entry: Field, query_id: str, notes: Notes) -> Query:
    """Read an entry of v0.1, whose own loader takes no other keys either."""
    entry.mapping(_QUERY)
    fields = present(entry)
    for key in _QUERY.required:
        if key not in fields:
            raise entry.place.error(f"'{key}' of query '{query_id}' is empty", "write it")
    adversaries = fields["adversarial"].sequence() if "adversarial" in fields else []
    _check_flag(fields.get("has_adversarial"), len(adversaries), query_id)
    return build_query(
        query_id,
        {"human": fields["query"].text()},
        [Target(Span(check_path(path.text(), path.place))) for path in fields["expected"].sequence()],
        entry.place,
        adversaries=[read_adversary(adversary, notes) for adversary in adversaries],
        rationale=Rationale(reason=fields["rationale"].text().strip()) if "rationale" in fields else None,
        tags={"category": fields["type"].text()} if "type" in fields else {},
    )


def _check_flag(flag: Field | None, adversaries: int, query_id: str) -> None:
    """Refuse an entry that says it has adversaries and names none, or the other way round."""
    if flag is None:
        return
    said = _TRUTH.get(flag.text().casefold())
    if said is None:
        raise flag.place.error(f"'has_adversarial' of query '{query_id}' is '{flag.text()}'", "write true or false")
    if said != bool(adversaries):
        found = f"{adversaries} adversarial files" if adversaries else "no adversarial file"
        raise flag.place.error(
            f"'has_adversarial' of query '{query_id}' is {flag.text()}, but it names {found}", "make the two agree"
        )


def _corpus(source: Source, corpus_id: Field, given: CorpusSpec | None) -> CorpusSpec:
    """Give where the code is, with the globs and the tag of the file beside the set."""
    beside = _beside(source)
    if beside is not None and beside.id.text() != corpus_id.text():
        raise beside.id.place.error(
            f"this describes the corpus '{beside.id.text()}', and the set beside it is for '{corpus_id.text()}'",
            "put the right one beside the set, or none",
        )
    if given is not None:
        return _narrowed(given, beside)
    if beside is None or not beside.base_path or "$" in beside.base_path:
        tag = f"@{beside.tag}" if beside and beside.tag else ""
        raise corpus_id.place.error(
            f"where the code of '{corpus_id.text()}' is, nothing here says",
            f"name it: --corpus PATH or --corpus git:URL{tag}; environment variables are not read",
        )
    return CorpusSpec("path", beside.base_path, include=beside.include, exclude=beside.exclude)


def _narrowed(given: CorpusSpec, beside: Beside | None) -> CorpusSpec:
    """Take what a corpus that was named leaves open from the file beside the set."""
    if beside is None:
        return given
    rev = given.rev or (beside.tag if given.kind == "git" else None)
    include, exclude = given.include or beside.include, given.exclude or beside.exclude
    return replace(given, rev=rev, include=include, exclude=exclude)


def _beside(source: Source) -> Beside | None:
    """Read the description of the corpus, if one lies beside the set."""
    path = source.path.parent / CORPUS_FILE
    if path == source.path or not path.is_file():
        return None
    document = compose(read_source(path), "the corpus")
    document.mapping(_CORPUS)
    fields = present(document)
    if "id" not in fields:
        raise document.place.error("the corpus has no id", "write the corpus_id of the set")
    return Beside(
        fields["id"],
        fields["base_path"].text() if "base_path" in fields else "",
        fields["tag"].text() if "tag" in fields else None,
        texts(fields.get("include")),
        texts(fields.get("exclude")),
    )
