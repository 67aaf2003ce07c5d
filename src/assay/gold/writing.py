"""Write a gold set in the native format; what is read back is the same set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from assay.types import PRIMARY, SECONDARY, Adversary, CorpusSpec, Gold, Query, Rationale

if TYPE_CHECKING:
    import yaml

_WIDTH = 120  # of a line, as everywhere in this project


def write_native(gold: Gold) -> str:
    """Give the YAML of a gold set: anchors as written, not as resolved."""
    import yaml

    document: dict[str, object] = {"assay": 1, "name": gold.name, "corpus": _corpus(gold.corpus)}
    if gold.provenance:
        document["provenance"] = dict(gold.provenance)
    document["queries"] = [_query(query) for query in gold.queries]
    return yaml.dump(document, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=_WIDTH)


def _dumper() -> type[yaml.SafeDumper]:
    """Give a dumper that quotes and escapes what is not printable; PyYAML would fold some of it into blanks."""
    import yaml

    class Dumper(yaml.SafeDumper):
        """PyYAML's, with a style of its own for texts."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')

    Dumper.add_representer(str, text)
    return Dumper


def _corpus(spec: CorpusSpec) -> dict[str, object]:
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


def _query(query: Query) -> dict[str, object]:
    """Give the five layers of a query."""
    layers: dict[str, object] = {
        "retrieval": _retrieval(query),
        "cognitive": dict(query.forms),
        "interference": [_adversary(adversary) for adversary in query.adversaries],
        "rationale": _rationale(query.rationale),
        "evaluation": {"measures": list(query.measures)} if query.measures else {},
        "tags": dict(query.tags),
    }
    if query.rationale == Rationale():
        return {"id": query.id, **_present(layers), "rationale": {}}  # present and empty is not the same as absent
    return {"id": query.id, **_present(layers)}


def _retrieval(query: Query) -> dict[str, object]:
    """Give the targets by grade."""
    grades = {"primary": PRIMARY, "secondary": SECONDARY}
    return _present({key: [t.anchor for t in query.targets if t.grade == grade] for key, grade in grades.items()})


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


def _present(values: Mapping[str, object]) -> dict[str, object]:
    """Leave out what is empty: the reader takes an absent key for it."""
    return {key: value for key, value in values.items() if value}
