"""Karta's gold sets: each entry has the keys of v0.1 (query, expected, adversarial) or the five layers of v2.1.

`corpus.yaml` beside a set has the base path and the globs of the corpus. Environment variables in the base path are not
expanded, so such a set needs a passed corpus.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from assay.gold.anchors import check_path, parse_target
from assay.gold.build import GoldSource, build_gold, build_query, describe_renames, read_source, safe_ids
from assay.gold.formats.native import RATIONALE, RELATIONSHIPS, RETRIEVAL, STRENGTHS
from assay.gold.formats.rows import yaml_has
from assay.gold.yaml_nodes import MappingKeys, YamlNode, compose
from assay.types import FORMS, PRIMARY, SECONDARY, Adversary, CorpusSpec, GoldSet, Query, Rationale, Span, Target

_CORPUS_FILE = "corpus.yaml"
_CORPUS = MappingKeys(("id",), ("name", "tag", "base_path", "include", "exclude"))
_PROVENANCE = ("corpus_id", "version", "author")
_TAGS = {"type": "category", "category": "category", "difficulty": "difficulty"}
_NOT_SAID = "not said"


def matches(source: GoldSource) -> bool:
    return yaml_has(source, "corpus_id") and not yaml_has(source, "assay")


def is_corpus_file(source: GoldSource) -> bool:
    return source.path.name == _CORPUS_FILE and yaml_has(source, "id", "base_path")


def read_karta(source: GoldSource, name: str, corpus: CorpusSpec | None) -> GoldSet:
    document = compose(source, "the gold set")
    fields = _present(document)
    for key in ("corpus_id", "queries"):
        if key not in fields:
            raise document.location.error(f"missing key '{key}' in the gold set", f"add '{key}:'")
    spec = _corpus(source, fields["corpus_id"], corpus)
    notes: _Notes = {"not read": [], "assumed": []}
    _skip(notes, fields, (*_PROVENANCE, "queries"))
    entries = fields["queries"].sequence()
    originals: list[str] = []
    for entry in entries:
        if "id" not in entry.mapping():
            raise entry.location.error(f"missing key 'id' in {entry.subject}", "add 'id:'")
        originals.append(entry.mapping()["id"].text())
    ids = safe_ids(originals)
    queries = [
        (_layered_query if "retrieval" in entry.mapping() else _flat_query)(entry, ids[original], notes)
        for entry, original in zip(entries, originals, strict=True)
    ]
    provenance = {key: field.text() for key, field in fields.items() if key in _PROVENANCE}
    provenance |= {key: ", ".join(dict.fromkeys(texts)) for key, texts in notes.items() if texts}
    provenance |= describe_renames(ids)
    return build_gold(name, spec, queries, fields["queries"].location, provenance)


_Notes = Mapping[str, list[str]]  # unread keys and assumed values, for the provenance


def _skip(notes: _Notes, fields: Iterable[str], known: Sequence[str], where: str = "") -> None:
    notes["not read"].extend(f"{key}{where}" for key in fields if key not in known)


def _present(field: YamlNode) -> dict[str, YamlNode]:
    """Return the values of a mapping without nulls, which Karta's loader treats as absent."""

    def is_null(value: YamlNode) -> bool:
        quoted = getattr(value.node, "style", None) in ("'", '"', "|", ">")
        return not quoted and value.node.value in ("", "~", "null", "Null", "NULL")

    return {key: value for key, value in field.mapping().items() if not is_null(value)}


def _corpus(source: GoldSource, corpus_id: YamlNode, given: CorpusSpec | None) -> CorpusSpec:
    path = source.path.parent / _CORPUS_FILE
    fields: dict[str, YamlNode] = {}
    if path != source.path and path.is_file():
        document = compose(read_source(path), "the corpus")
        document.mapping(_CORPUS)
        fields = _present(document)
        if "id" not in fields:
            raise document.location.error("missing key 'id' in the corpus", "add 'id:' with the corpus_id of the set")
        if fields["id"].text() != corpus_id.text():
            message = f"'id' of the corpus is '{fields['id'].text()}', but the gold set names '{corpus_id.text()}'"
            raise fields["id"].location.error(message, "use the corpus.yaml of the set, or remove the file")
    base_path, tag = (fields[key].text() if key in fields else "" for key in ("base_path", "tag"))
    include, exclude = (tuple(e.text() for e in _entries(fields.get(key))) for key in ("include", "exclude"))
    if given is not None:
        rev = given.rev or (tag if tag and given.kind == "git" else None)
        return replace(given, rev=rev, include=given.include or include, exclude=given.exclude or exclude)
    if not base_path or "$" in base_path:
        raise corpus_id.location.error(
            f"the base path of corpus '{corpus_id.text()}' is missing or contains an environment variable",
            f"use --corpus PATH or --corpus git:URL{f'@{tag}' if tag else ''}",
        )
    return CorpusSpec("path", base_path, include=include, exclude=exclude)


def _entries(field: YamlNode | None) -> list[YamlNode]:
    return field.sequence() if field else []


_FLAT = MappingKeys(("id", "query", "expected"), ("type", "rationale", "has_adversarial", "adversarial"))
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}  # of YAML 1.1


def _flat_query(entry: YamlNode, query_id: str, notes: _Notes) -> Query:
    entry.mapping(_FLAT)
    fields = _present(entry)
    for key in _FLAT.required:
        if key not in fields:
            raise entry.location.error(f"'{key}' of query '{query_id}' is empty", "add a value")
    adversaries = _entries(fields.get("adversarial"))
    flag = fields.get("has_adversarial")
    if flag is not None:
        value = _TRUTH.get(flag.text().casefold())
        subject = f"'has_adversarial' of query '{query_id}'"
        if value is None:
            raise flag.location.error(
                f"expected true or false as {subject}, got '{flag.text()}'", "write true or false"
            )
        if value != bool(adversaries):
            count = f"{len(adversaries)} adversarial files" if adversaries else "no adversarial files"
            raise flag.location.error(f"{subject} is {flag.text()}, but the query has {count}", "correct either one")
    return build_query(
        query_id,
        {"human": fields["query"].text()},
        [Target(Span(check_path(path.text(), path.location))) for path in fields["expected"].sequence()],
        entry.location,
        adversaries=[_adversary(adversary, notes) for adversary in adversaries],
        rationale=Rationale(reason=fields["rationale"].text().strip()) if "rationale" in fields else None,
        tags={"category": fields["type"].text()} if "type" in fields else {},
    )


_ADVERSARY = ("file", "target", "relationship", "type", "strength", "confusion", "confusion_type")
_STRENGTHS = {"high": "strong", "low": "weak"} | {word: word for word in STRENGTHS}


def _adversary(entry: YamlNode, notes: _Notes) -> Adversary:
    fields = _present(entry)
    _skip(notes, fields, _ADVERSARY, " of adversaries")

    def either(first: str, second: str) -> YamlNode:
        given = [fields[key] for key in (first, second) if key in fields]
        if len(given) != 1:
            message = f"{entry.subject} needs either '{first}' or '{second}'"
            raise entry.location.error(message, "write exactly one of them")
        return given[0]

    target, relationship = either("file", "target"), either("relationship", "type")
    confusion = fields.get("confusion") or fields.get("confusion_type")
    if "strength" not in fields:
        notes["assumed"].append("strength 'medium' for adversaries without one")
    if confusion is None:
        notes["assumed"].append(f"confusion '{_NOT_SAID}' for adversaries without one")
    return Adversary(
        parse_target(target.text(), target.location),
        relationship.one_of(RELATIONSHIPS),
        _STRENGTHS[fields["strength"].one_of(tuple(_STRENGTHS))] if "strength" in fields else "medium",
        confusion.text().strip() if confusion else _NOT_SAID,
    )


_LAYERS = ("retrieval", "cognitive", "interference", "rationale", "evaluation")


def _layered_query(entry: YamlNode, query_id: str, notes: _Notes) -> Query:
    fields = _present(entry)
    _skip(notes, fields, ("id", "query", *_TAGS, *_LAYERS), " of queries")
    cognitive = _present(fields["cognitive"]) if "cognitive" in fields else {}
    _skip(notes, cognitive, FORMS, " of cognitive")
    forms = {form: cognitive[form].text().strip() for form in FORMS if form in cognitive}
    if "query" in fields:
        forms.setdefault("human", fields["query"].text().strip())
    if not forms:
        raise entry.location.error(f"query '{query_id}' has no phrasing", f"add at least one of {', '.join(FORMS)}")
    if "retrieval" not in fields:
        hint = "add 'retrieval:' with its primary files"
        raise entry.location.error(f"query '{query_id}' has no retrieval layer", hint)
    fields["retrieval"].mapping(RETRIEVAL)
    retrieval = _present(fields["retrieval"])
    grades = (("primary", PRIMARY), ("secondary", SECONDARY))
    targets = [(entry, grade) for key, grade in grades for entry in _entries(retrieval.get(key))]
    return build_query(
        query_id,
        forms,
        [parse_target(entry.text(), entry.location, grade=grade) for entry, grade in targets],
        entry.location,
        adversaries=[_adversary(entry, notes) for entry in _entries(fields.get("interference"))],
        rationale=_rationale(fields["rationale"], notes) if "rationale" in fields else None,
        measures=_measures(fields.get("evaluation"), notes),
        tags={tag: fields[key].text() for key, tag in _TAGS.items() if key in fields},
    )


def _rationale(field: YamlNode, notes: _Notes) -> Rationale:
    if not _is_mapping(field):
        return Rationale(reason=field.text().strip())
    fields = _present(field)
    _skip(notes, fields, RATIONALE.optional, " of rationale")
    return Rationale(**{key: fields[key].text().strip() for key in RATIONALE.optional if key in fields})


_METRIC_KEYS = ("metrics", "metric_families", "families", "measures")
_METRIC = re.compile(r"(?P<name>[A-Za-z_ -]+?)(@(?P<cutoff>[1-9][0-9]{0,3}))?")
#: Karta's recall@k is 1 if any expected file is in the top k, which is Hit@k here.
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
_CUTOFF = "10"  # default cutoff, as in the article


def _measures(field: YamlNode | None, notes: _Notes) -> tuple[str, ...]:
    if field is not None and _is_mapping(field):
        fields = _present(field)
        _skip(notes, fields, _METRIC_KEYS, " of evaluation")
        metrics = [entry for key in _METRIC_KEYS for entry in _entries(fields.get(key))]
    else:
        metrics = _entries(field)
    measures: dict[str, None] = {}
    for word in (entry.text() for entry in metrics):
        match = _METRIC.fullmatch(word.strip())
        name = _MEASURES.get(re.sub(r"[_ -]", "", match["name"]).lower()) if match else None
        if match is None or name is None:
            _skip(notes, [f"metric '{word}'"], ())
        else:
            measures[f"{name}@{match['cutoff'] or _CUTOFF}"] = None
    return tuple(measures)


def _is_mapping(field: YamlNode) -> bool:
    return type(field.node).__name__ == "MappingNode"
