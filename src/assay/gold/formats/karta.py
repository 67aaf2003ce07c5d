"""Karta's gold queries: v0.1 (query, expected, adversarial) and, entry by entry, the five layers of v2.1.

`corpus.yaml` beside a set says which files count. Where they are it says with an environment variable, which is never
expanded: the corpus is named when the set is read, and the globs are taken from there.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from assay.gold.building import GoldSource, build_gold, build_query, check_path, parse_target, read_source
from assay.gold.formats.export import renamed, safe_ids
from assay.gold.formats.rows import yaml_has
from assay.gold.native import nodes as schema
from assay.gold.native.nodes import MappingKeys, YamlNode, compose
from assay.types import FORMS, PRIMARY, SECONDARY, Adversary, CorpusSpec, GoldSet, Query, Rationale, Span, Target

NOT_SAID = "not said"
_TAGS = {"type": "category", "category": "category", "difficulty": "difficulty"}
_LAYERS = ("retrieval", "cognitive", "interference", "rationale", "evaluation")
_STRENGTHS = {"high": "strong", "low": "weak"} | {word: word for word in schema.STRENGTHS}
_METRIC_KEYS = ("metrics", "metric_families", "families", "measures")
_METRIC = re.compile(r"(?P<name>[A-Za-z_ -]+?)(@(?P<cutoff>[1-9][0-9]{0,3}))?")
#: Karta's recall@k is 1 when any expected file is among the first k, which is Hit@k here.
_MEASURES = {
    "recall": "Hit",
    "hit": "Hit",
    "mrr": "RR",
    "rr": "RR",
    "ndcg": "nDCG",
    "displacement": "Displacement",
    "displacementrate": "Displacement",
    "rankgap": "RankGap",
}
_CUTOFF = "10"  # of a metric family named without one: every number of the article is at 10


class Notes:
    """What a set holds that is not read, and what it leaves open that had to be assumed."""

    def __init__(self) -> None:
        self._unread: dict[str, None] = {}
        self._assumed: dict[str, None] = {}

    def skip(self, fields: Iterable[str], known: Sequence[str], where: str = "") -> None:
        """Note the keys that are not known here."""
        self._unread |= {f"{key}{where}": None for key in fields if key not in known}

    def assume(self, what: str) -> None:
        """Note what had to be filled in."""
        self._assumed[what] = None

    def told(self) -> dict[str, str]:
        """Give the notes as entries of a set's provenance."""
        notes = {"not read": self._unread, "assumed": self._assumed}
        return {key: ", ".join(found) for key, found in notes.items() if found}


def read_layers(entry: YamlNode, query_id: str, notes: Notes) -> Query:
    """Read an entry of v2.1."""
    fields = present(entry)
    notes.skip(fields, ("id", "query", *_TAGS, *_LAYERS), " of queries")
    return build_query(
        query_id,
        _forms(fields, query_id, entry, notes),
        _targets(fields.get("retrieval"), query_id, entry),
        entry.place,
        adversaries=[read_adversary(one, notes) for one in _entries(fields.get("interference"))],
        rationale=_rationale(fields.get("rationale"), notes),
        measures=_measures(fields.get("evaluation"), notes),
        tags={tag: fields[key].text() for key, tag in _TAGS.items() if key in fields},
    )


def read_adversary(entry: YamlNode, notes: Notes) -> Adversary:
    """Read a wrong neighbour; v0.1 says neither how strong the trap is nor what confuses."""
    fields = present(entry)
    notes.skip(
        fields, ("file", "target", "relationship", "type", "strength", "confusion", "confusion_type"), " of adversaries"
    )
    target, relationship = _either(entry, fields, "file", "target"), _either(entry, fields, "relationship", "type")
    confusion = fields.get("confusion") or fields.get("confusion_type")
    if "strength" not in fields:
        notes.assume("the strength of adversaries is medium where it is not said")
    if confusion is None:
        notes.assume(f"the confusion of adversaries is '{NOT_SAID}' where it is not said")
    return Adversary(
        parse_target(target.text(), target.place),
        relationship.one_of(schema.RELATIONSHIPS),
        _STRENGTHS[fields["strength"].one_of(tuple(_STRENGTHS))] if "strength" in fields else "medium",
        confusion.text().strip() if confusion else NOT_SAID,
    )


def present(field: YamlNode) -> dict[str, YamlNode]:
    """Give the values of a mapping that are not null: Karta's loader takes null for an absent key."""
    return {key: value for key, value in field.mapping().items() if not _is_null(value)}


def texts(field: YamlNode | None) -> tuple[str, ...]:
    """Give a list of texts; none when there is no such key."""
    return tuple(entry.text() for entry in field.sequence()) if field else ()


def _is_null(field: YamlNode) -> bool:
    quoted = getattr(field.node, "style", None) in ("'", '"', "|", ">")
    return not quoted and field.node.value in ("", "~", "null", "Null", "NULL")


def _entries(field: YamlNode | None) -> list[YamlNode]:
    return field.sequence() if field else []


def _either(entry: YamlNode, fields: Mapping[str, YamlNode], first: str, second: str) -> YamlNode:
    found = [fields[key] for key in (first, second) if key in fields]
    if len(found) != 1:
        raise entry.place.error(f"{entry.what} needs one of '{first}' and '{second}'", f"add '{first}:'")
    return found[0]


def _forms(fields: Mapping[str, YamlNode], query_id: str, entry: YamlNode, notes: Notes) -> dict[str, str]:
    layer = present(fields["cognitive"]) if "cognitive" in fields else {}
    notes.skip(layer, FORMS, " of cognitive")
    forms = {form: layer[form].text().strip() for form in FORMS if form in layer}
    if "query" in fields:
        forms.setdefault("human", fields["query"].text().strip())
    if not forms:
        raise entry.place.error(f"query '{query_id}' has no phrasing", f"write at least one of {', '.join(FORMS)}")
    return forms


def _targets(field: YamlNode | None, query_id: str, entry: YamlNode) -> list[Target]:
    if field is None:
        raise entry.place.error(f"query '{query_id}' has no retrieval layer", "name its primary files")
    field.mapping(schema.RETRIEVAL)
    fields = present(field)
    grades = (("primary", PRIMARY), ("secondary", SECONDARY))
    entries = [(one, grade) for key, grade in grades for one in _entries(fields.get(key))]
    return [parse_target(one.text(), one.place, grade=grade) for one, grade in entries]


def _rationale(field: YamlNode | None, notes: Notes) -> Rationale | None:
    if field is None:
        return None
    if not _is_mapping(field):
        return Rationale(reason=field.text().strip())
    fields = present(field)
    notes.skip(fields, schema.RATIONALE.optional, " of rationale")
    return Rationale(**{key: fields[key].text().strip() for key in schema.RATIONALE.optional if key in fields})


def _measures(field: YamlNode | None, notes: Notes) -> tuple[str, ...]:
    measures: dict[str, None] = {}
    for word in (entry.text() for entry in _metrics(field, notes)):
        match = _METRIC.fullmatch(word.strip())
        name = _MEASURES.get(re.sub(r"[_ -]", "", match["name"]).lower()) if match else None
        if match is None or name is None:
            notes.skip([f"metric '{word}'"], ())
        else:
            measures[f"{name}@{match['cutoff'] or _CUTOFF}"] = None
    return tuple(measures)


def _metrics(field: YamlNode | None, notes: Notes) -> list[YamlNode]:
    if field is None or not _is_mapping(field):
        return _entries(field)
    fields = present(field)
    notes.skip(fields, _METRIC_KEYS, " of evaluation")
    return [entry for key in _METRIC_KEYS for entry in _entries(fields.get(key))]


def _is_mapping(field: YamlNode) -> bool:
    return type(field.node).__name__ == "MappingNode"


CORPUS_FILE = "corpus.yaml"
_SAID = ("corpus_id", "version", "author")
_DOCUMENT = (*_SAID, "queries")
_QUERY = MappingKeys(("id", "query", "expected"), ("type", "rationale", "has_adversarial", "adversarial"))
_CORPUS = MappingKeys(("id",), ("name", "tag", "base_path", "include", "exclude"))
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}  # as YAML 1.1 has them


@dataclass(frozen=True, slots=True)
class KartaCorpus:
    """What `corpus.yaml` says."""

    id: YamlNode
    base_path: str = ""
    tag: str | None = None
    include: tuple[str, ...] = ()
    exclude: tuple[str, ...] = ()


def matches(source: GoldSource) -> bool:
    """Tell a set by the corpus it names; the native format has a version key and no such."""
    return yaml_has(source, "corpus_id") and not yaml_has(source, "assay")


def is_corpus_file(source: GoldSource) -> bool:
    """Tell the description of a corpus, which lies beside sets and holds no queries."""
    return source.path.name == CORPUS_FILE and yaml_has(source, "id", "base_path")


def read_karta(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
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
    ids = safe_ids(_id(entry) for entry in entries)
    queries = [_query(entry, ids[_id(entry)], notes) for entry in entries]
    said = {key: field.text() for key, field in fields.items() if key in _SAID}
    return build_gold(name, spec, queries, fields["queries"].place, {**said, **notes.told(), **renamed(ids)})


def _id(entry: YamlNode) -> str:
    fields = entry.mapping()
    if "id" not in fields:
        raise entry.place.error(f"{entry.what} lacks the key 'id'", "add 'id:'")
    return fields["id"].text()


def _query(entry: YamlNode, query_id: str, notes: Notes) -> Query:
    return read_layers(entry, query_id, notes) if "retrieval" in entry.mapping() else _first(entry, query_id, notes)


def _first(entry: YamlNode, query_id: str, notes: Notes) -> Query:
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


def _check_flag(flag: YamlNode | None, adversaries: int, query_id: str) -> None:
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


def _corpus(source: GoldSource, corpus_id: YamlNode, given: CorpusSpec | None) -> CorpusSpec:
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


def _narrowed(given: CorpusSpec, beside: KartaCorpus | None) -> CorpusSpec:
    if beside is None:
        return given
    rev = given.rev or (beside.tag if given.kind == "git" else None)
    include, exclude = given.include or beside.include, given.exclude or beside.exclude
    return replace(given, rev=rev, include=include, exclude=exclude)


def _beside(source: GoldSource) -> KartaCorpus | None:
    path = source.path.parent / CORPUS_FILE
    if path == source.path or not path.is_file():
        return None
    document = compose(read_source(path), "the corpus")
    document.mapping(_CORPUS)
    fields = present(document)
    if "id" not in fields:
        raise document.place.error("the corpus has no id", "write the corpus_id of the set")
    return KartaCorpus(
        fields["id"],
        fields["base_path"].text() if "base_path" in fields else "",
        fields["tag"].text() if "tag" in fields else None,
        texts(fields.get("include")),
        texts(fields.get("exclude")),
    )
