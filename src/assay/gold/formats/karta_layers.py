"""The five layers of Karta's v2.1, known from its article alone: the file was never published with its schema.

So keys that are not known here are not refused but told, except where they would change what counts as right.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from assay.gold import schema
from assay.gold.building import build_query
from assay.gold.native.nodes import Field
from assay.gold.targets import parse_target
from assay.types import FORMS, PRIMARY, SECONDARY, Adversary, Query, Rationale, Target

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


def read_layers(entry: Field, query_id: str, notes: Notes) -> Query:
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


def read_adversary(entry: Field, notes: Notes) -> Adversary:
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


def present(field: Field) -> dict[str, Field]:
    """Give the values of a mapping that are not null: Karta's loader takes null for an absent key."""
    return {key: value for key, value in field.mapping().items() if not _is_null(value)}


def texts(field: Field | None) -> tuple[str, ...]:
    """Give a list of texts; none when there is no such key."""
    return tuple(entry.text() for entry in field.sequence()) if field else ()


def _is_null(field: Field) -> bool:
    """Tell a null: a plain scalar, never a quoted one."""
    quoted = getattr(field.node, "style", None) in ("'", '"', "|", ">")
    return not quoted and field.node.value in ("", "~", "null", "Null", "NULL")


def _entries(field: Field | None) -> list[Field]:
    """Give the entries of a list; none when there is no such key."""
    return field.sequence() if field else []


def _either(entry: Field, fields: Mapping[str, Field], first: str, second: str) -> Field:
    """Give the value of the one of two keys that is there."""
    found = [fields[key] for key in (first, second) if key in fields]
    if len(found) != 1:
        raise entry.place.error(f"{entry.what} needs one of '{first}' and '{second}'", f"add '{first}:'")
    return found[0]


def _forms(fields: Mapping[str, Field], query_id: str, entry: Field, notes: Notes) -> dict[str, str]:
    """Read the phrasings; a bare `query` is the human one where the layer has none."""
    layer = present(fields["cognitive"]) if "cognitive" in fields else {}
    notes.skip(layer, FORMS, " of cognitive")
    forms = {form: layer[form].text().strip() for form in FORMS if form in layer}
    if "query" in fields:
        forms.setdefault("human", fields["query"].text().strip())
    if not forms:
        raise entry.place.error(f"query '{query_id}' has no phrasing", f"write at least one of {', '.join(FORMS)}")
    return forms


def _targets(field: Field | None, query_id: str, entry: Field) -> list[Target]:
    """Read what counts as right; another key than these two would be another grade, so it is refused."""
    if field is None:
        raise entry.place.error(f"query '{query_id}' has no retrieval layer", "name its primary files")
    field.mapping(schema.RETRIEVAL)
    fields = present(field)
    grades = (("primary", PRIMARY), ("secondary", SECONDARY))
    entries = [(one, grade) for key, grade in grades for one in _entries(fields.get(key))]
    return [parse_target(one.text(), one.place, grade=grade) for one, grade in entries]


def _rationale(field: Field | None, notes: Notes) -> Rationale | None:
    """Read why the answer is right: prose, or owner, reason and boundary."""
    if field is None:
        return None
    if not _is_mapping(field):
        return Rationale(reason=field.text().strip())
    fields = present(field)
    notes.skip(fields, schema.RATIONALE.optional, " of rationale")
    return Rationale(**{key: fields[key].text().strip() for key in schema.RATIONALE.optional if key in fields})


def _measures(field: Field | None, notes: Notes) -> tuple[str, ...]:
    """Read which metric families matter; one that is no measure here is told."""
    measures: dict[str, None] = {}
    for word in (entry.text() for entry in _metrics(field, notes)):
        match = _METRIC.fullmatch(word.strip())
        name = _MEASURES.get(re.sub(r"[_ -]", "", match["name"]).lower()) if match else None
        if match is None or name is None:
            notes.skip([f"metric '{word}'"], ())
        else:
            measures[f"{name}@{match['cutoff'] or _CUTOFF}"] = None
    return tuple(measures)


def _metrics(field: Field | None, notes: Notes) -> list[Field]:
    """Give the entries of the evaluation layer: a list, or a mapping that holds one."""
    if field is None or not _is_mapping(field):
        return _entries(field)
    fields = present(field)
    notes.skip(fields, _METRIC_KEYS, " of evaluation")
    return [entry for key in _METRIC_KEYS for entry in _entries(fields.get(key))]


def _is_mapping(field: Field) -> bool:
    """Tell a mapping from a list and a text."""
    return type(field.node).__name__ == "MappingNode"
