"""Write a gold set in the native format; what is read back is the same set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.types import PRIMARY, SECONDARY, Adversary, CorpusSpec, Gold, Label, Query, Rationale

if TYPE_CHECKING:
    import yaml

_WIDTH = 120  # of a line, as everywhere in this project
_SHORT = 100  # characters of a list of texts that is written on one line, as people write anchors
_ONE_LINE = 1 << 30  # PyYAML folds at a width and cannot be told not to


def write_native(gold: Gold) -> str:
    """Give the YAML of a gold set: anchors as written, not as resolved."""
    queries = [query_mapping(query) for query in gold.queries]
    return to_yaml({"assay": 1, **gold_mapping(gold), "queries": queries})


def gold_mapping(gold: Gold) -> dict[str, object]:
    """Give what stands above the queries."""
    about: dict[str, object] = {"name": gold.name, "corpus": corpus_mapping(gold.corpus)}
    return {**about, "provenance": dict(gold.provenance)} if gold.provenance else about


def to_yaml(value: object) -> str:
    """Give the YAML of plain values, keys in their order."""
    import yaml

    return yaml.dump(value, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=_WIDTH)


def to_flow(value: object) -> str:
    """Give the YAML of plain values on one line, in the style of JSON."""
    import yaml

    text = yaml.dump(
        [value], Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=_ONE_LINE, default_flow_style=True
    )
    return text.strip()[1:-1]


def _dumper() -> type[yaml.SafeDumper]:
    """Give a dumper that quotes and escapes what is not printable; PyYAML would fold some of it into blanks."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """PyYAML's, with a style of its own for texts."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')

    def entries(dumper: yaml.SafeDumper, values: list[object]) -> yaml.SequenceNode:
        short = all(isinstance(value, str) for value in values) and sum(map(len, map(str, values))) <= _SHORT
        return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short or None)

    Dumper.add_representer(str, text)
    Dumper.add_representer(list, entries)
    return Dumper


def corpus_mapping(spec: CorpusSpec) -> dict[str, object]:
    """Give the corpus as its keys."""
    return _present(
        {
            spec.kind: True if spec.kind == "stdlib" else spec.value,
            "rev": spec.rev,
            "root": spec.root,
            "include": list(spec.include),
            "exclude": list(spec.exclude),
        }
    )


def query_mapping(query: Query) -> dict[str, object]:
    """Give the five layers of a query."""
    layers: dict[str, object] = {
        "retrieval": _retrieval(query),
        "cognitive": dict(query.forms),
        "interference": [_adversary(adversary) for adversary in query.adversaries],
        "rationale": _rationale(query.rationale),
        "evaluation": {"measures": list(query.measures)} if query.measures else {},
        "tags": dict(query.tags),
        "labels": [_label(label) for label in query.labels],
    }
    if query.rationale == Rationale():
        return {"id": query.id, **_present(layers), "rationale": {}}  # present and empty is not the same as absent
    return {"id": query.id, **_present(layers)}


def _retrieval(query: Query) -> dict[str, object]:
    """Give the targets by grade: `primary` and `secondary` where these two say it all, else `grades`."""
    grades: dict[int, list[str]] = {}
    for target in (*query.targets, *query.irrelevant):
        grades.setdefault(target.grade, []).append(target.anchor)
    names = {PRIMARY: "primary", SECONDARY: "secondary"}
    if PRIMARY not in grades or not {*names, 0}.issuperset(grades):
        return {"grades": grades}
    named = {name: grades.pop(grade) for grade, name in names.items() if grade in grades}
    return _present({**named, "grades": grades})


def _adversary(adversary: Adversary) -> dict[str, object]:
    """Give the keys of an adversary."""
    return {
        "target": adversary.target.anchor,
        "relationship": adversary.relationship,
        "strength": adversary.strength,
        "confusion": adversary.confusion,
    }


def _rationale(rationale: Rationale | None) -> dict[str, object]:
    """Give the keys of a rationale that say something."""
    if rationale is None:
        return {}
    return _present({"owner": rationale.owner, "reason": rationale.reason, "boundary": rationale.boundary})


def _label(label: Label) -> dict[str, object]:
    """Give the keys of a label's origin that say something."""
    origin = {"by": list(label.by), "on": label.on, "commit": label.commit, "shown_by": list(label.shown_by)}
    return {"target": label.target, **_present(origin)}


def _present(values: Mapping[str, object]) -> dict[str, object]:
    """Leave out what is empty: the reader takes an absent key for it."""
    return {key: value for key, value in values.items() if value}
