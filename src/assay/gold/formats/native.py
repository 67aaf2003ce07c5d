"""Read, write and edit the native five-layer YAML; edits preserve comments where possible."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from assay.corpus.sources import KINDS
from assay.errors import GoldError, closest_match
from assay.gold.anchors import parse_target
from assay.gold.build import GoldSource, build_gold, build_query
from assay.gold.yaml_nodes import MappingKeys, YamlNode, compose
from assay.types import (
    FORMS,
    PRIMARY,
    SECONDARY,
    Adversary,
    CorpusSpec,
    GoldSet,
    LabelProvenance,
    Query,
    Rationale,
    Target,
)

if TYPE_CHECKING:
    import yaml

VERSION = "1"
RELATIONSHIPS = ("interface", "parent", "child", "mock", "config", "sibling", "caller", "test", "namesake")
STRENGTHS = ("strong", "medium", "weak")

#: A grade as a key; 0 is judged irrelevant.
GRADE = re.compile("0|[1-9][0-9]{0,8}")
#: `name(params)@k`; scoring checks whether the measure exists.
MEASURE = re.compile(r"[A-Za-z][A-Za-z0-9_]*(\(.+\))?(@[1-9][0-9]*)?")

DOCUMENT = MappingKeys(("assay", "name", "corpus", "queries"), ("provenance",))
QUERY = MappingKeys(("id", "retrieval", "cognitive"), ("interference", "rationale", "evaluation", "tags", "labels"))
RETRIEVAL = MappingKeys((), ("primary", "secondary", "grades"))
ADVERSARY = MappingKeys(("target", "relationship", "strength", "confusion"))
RATIONALE = MappingKeys((), ("owner", "reason", "boundary"))
EVALUATION = MappingKeys(("measures",))
LABEL = MappingKeys(("target",), ("by", "on", "commit", "shown_by"))
_STDLIB_FIRST = sorted(KINDS.values(), key=lambda kind: kind.name != "stdlib")  # the order of the JSON Schema
CORPUS = {kind.name: MappingKeys((kind.name,), kind.keys) for kind in _STDLIB_FIRST}


def read_native(source: GoldSource, corpus: CorpusSpec | None = None) -> GoldSet:
    """Read a native gold file; `corpus` replaces the corpus in the file."""
    document = compose(source, "the gold set")
    version = document.mapping().get("assay")
    if version is None:
        raise document.location.error("missing key 'assay' in the gold set", "start the file with 'assay: 1'")
    if version.text() != VERSION:
        hint = f"upgrade Assay, or use 'assay: {VERSION}'"
        raise version.location.error(f"unsupported version '{version.text()}' of the gold format", hint)
    fields = document.mapping(DOCUMENT)
    written = _corpus(fields["corpus"])
    queries = [read_query(entry, n) for n, entry in enumerate(fields["queries"].sequence(), 1)]
    name = fields["name"].location.name(fields["name"].text(), "the name of the gold set")
    provenance = _texts(fields["provenance"].mapping()) if "provenance" in fields else {}
    return build_gold(name, corpus or written, queries, fields["queries"].location, provenance)


def _corpus(field: YamlNode) -> CorpusSpec:
    written = field.mapping()
    kinds = [kind for kind in CORPUS if kind in written]
    if len(kinds) != 1:
        problem = f"more than one source: {', '.join(kinds)}" if kinds else "no source"
        known = {key for keys in CORPUS.values() for key in keys.known}
        similar = [(key, kind) for key in written if key not in known for kind in closest_match(key, CORPUS)[:1]]
        hint = f"use exactly one of {', '.join(CORPUS)}"
        if similar and not kinds:
            hint = f"did you mean '{similar[0][1]}' instead of '{similar[0][0]}'?"
        raise field.location.error(f"the corpus has {problem}", hint)
    kind = kinds[0]
    fields = field.mapping(CORPUS[kind])
    value = fields[kind].text()
    if kind == "stdlib" and value != "true":
        raise fields["stdlib"].location.error(f"expected 'true' for stdlib, got '{value}'", "write 'stdlib: true'")
    return CorpusSpec(
        kind=kind,
        value="" if kind == "stdlib" else value,
        rev=fields["rev"].text() if "rev" in fields else None,
        root=fields["root"].text() if "root" in fields else None,
        include=fields["include"].texts() if "include" in fields else (),
        exclude=fields["exclude"].texts() if "exclude" in fields else (),
    )


def read_query(entry: YamlNode, number: int) -> Query:
    fields = entry.mapping(QUERY)
    name = fields["id"].location.name(fields["id"].text(), f"the id of query {number}")
    cognitive = fields["cognitive"]
    forms = {form: text.text() for form, text in cognitive.mapping(MappingKeys(optional=FORMS)).items()}
    if not forms:
        raise cognitive.location.error(f"query '{name}' has no phrasing", f"add at least one of {', '.join(FORMS)}")
    rationale = fields["rationale"].mapping(RATIONALE) if "rationale" in fields else None
    return build_query(
        name,
        forms,
        _targets(fields["retrieval"]),
        entry.location,
        adversaries=[_adversary(e) for e in fields["interference"].sequence()] if "interference" in fields else [],
        rationale=Rationale(**_texts(rationale)) if rationale is not None else None,
        measures=_measures(fields["evaluation"]) if "evaluation" in fields else (),
        tags=_texts(fields["tags"].mapping()) if "tags" in fields else {},
        labels=[_label(e) for e in fields["labels"].sequence()] if "labels" in fields else [],
        least=1,  # `primary` is checked below
    )


def _targets(field: YamlNode) -> list[Target]:
    fields = field.mapping(RETRIEVAL)
    if "primary" not in fields and "grades" not in fields:
        raise field.location.error(f"missing key 'primary' in {field.subject}", "add 'primary:' with a target")
    if "primary" in fields and not fields["primary"].sequence():
        raise fields["primary"].location.error(f"{fields['primary'].subject} is empty", "add at least one target")
    grades = (("primary", PRIMARY), ("secondary", SECONDARY))
    lists = [(fields[key], grade) for key, grade in grades if key in fields]
    for key, value in fields["grades"].mapping().items() if "grades" in fields else ():
        if not GRADE.fullmatch(key):
            raise value.location.error(f"invalid grade '{key}'", "use an integer, as in 3: [src/price.py]")
        lists.append((value, int(key)))
    entries = [(entry, grade) for named, grade in lists for entry in named.sequence()]
    return [parse_target(entry.text(), entry.location, grade=grade) for entry, grade in entries]


def _adversary(entry: YamlNode) -> Adversary:
    fields = entry.mapping(ADVERSARY)
    return Adversary(
        target=parse_target(fields["target"].text(), fields["target"].location),
        relationship=fields["relationship"].one_of(RELATIONSHIPS),
        strength=fields["strength"].one_of(STRENGTHS),
        confusion=fields["confusion"].text(),
    )


def _measures(field: YamlNode) -> tuple[str, ...]:
    entries = field.mapping(EVALUATION)["measures"]
    for entry in entries.sequence():
        if not MEASURE.fullmatch(entry.text()):
            hint = "use a measure such as nDCG@10 or nDCG(level=lines)@10"
            raise entry.location.error(f"invalid measure '{entry.text()}'", hint)
    return entries.texts()


def _label(entry: YamlNode) -> LabelProvenance:
    fields = entry.mapping(LABEL)
    day = fields["on"].text() if "on" in fields else ""
    try:
        day = day and date.fromisoformat(day).isoformat()
    except ValueError as error:
        on = fields["on"]
        raise on.location.error(f"invalid date '{day}' of {on.subject}", "use YYYY-MM-DD") from error
    return LabelProvenance(
        target=fields["target"].text(),
        by=fields["by"].texts() if "by" in fields else (),
        on=day,
        commit=fields["commit"].text() if "commit" in fields else "",
        shown_by=fields["shown_by"].texts() if "shown_by" in fields else (),
    )


def _texts(fields: Mapping[str, YamlNode]) -> dict[str, str]:
    return {name: value.text() for name, value in fields.items()}


_WIDTH = 120  # columns
_SHORT = 100  # longest list of strings on one line, in characters
_ONE_LINE = 1 << 30  # disables the folding of PyYAML


def write_native(gold: GoldSet) -> str:
    """Return the native YAML of a gold set; symbol anchors are written without their resolved lines."""
    queries = [query_mapping(query) for query in gold.queries]
    return to_yaml({"assay": 1, **gold_mapping(gold), "queries": queries})


def gold_mapping(gold: GoldSet) -> dict[str, object]:
    spec = gold.corpus
    corpus = {
        spec.kind: True if spec.kind == "stdlib" else spec.value,
        "rev": spec.rev,
        "root": spec.root,
        "include": spec.include,
        "exclude": spec.exclude,
    }
    return _present({"name": gold.name, "corpus": _present(corpus), "provenance": dict(gold.provenance)})


def to_yaml(value: object) -> str:
    import yaml

    return yaml.dump(value, Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=_WIDTH)


def to_flow(value: object) -> str:
    import yaml

    text = yaml.dump(
        [value], Dumper=_dumper(), sort_keys=False, allow_unicode=True, width=_ONE_LINE, default_flow_style=True
    )
    return text.strip()[1:-1]


def _dumper() -> type[yaml.SafeDumper]:
    import yaml

    class Dumper(yaml.SafeDumper):
        """PyYAML's safe dumper with flow style for short lists of strings."""

    def text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=None if value.isprintable() else '"')

    def entries(dumper: yaml.SafeDumper, values: Sequence[object]) -> yaml.SequenceNode:
        short = all(isinstance(value, str) for value in values) and sum(map(len, map(str, values))) <= _SHORT
        return dumper.represent_sequence("tag:yaml.org,2002:seq", values, flow_style=short or None)

    Dumper.add_representer(str, text)
    Dumper.add_representer(list, entries)
    Dumper.add_representer(tuple, entries)
    return Dumper


def query_mapping(query: Query) -> dict[str, object]:
    layers: dict[str, object] = {
        "retrieval": _retrieval(query),
        "cognitive": dict(query.forms),
        "interference": [asdict(adversary) | {"target": adversary.target.anchor} for adversary in query.adversaries],
        "rationale": _present(asdict(query.rationale)) if query.rationale else {},
        "evaluation": {"measures": query.measures} if query.measures else {},
        "tags": dict(query.tags),
        "labels": [_present(asdict(label)) for label in query.labels],
    }
    if query.rationale == Rationale():
        return {"id": query.id, **_present(layers), "rationale": {}}  # an empty rationale differs from none
    return {"id": query.id, **_present(layers)}


def _retrieval(query: Query) -> dict[str, object]:
    grades: dict[int, list[str]] = {}
    for target in (*query.targets, *query.irrelevant):
        grades.setdefault(target.grade, []).append(target.anchor)
    names = {PRIMARY: "primary", SECONDARY: "secondary"}
    if PRIMARY not in grades or not {*names, 0}.issuperset(grades):
        return {"grades": grades}
    named = {name: grades.pop(grade) for grade, name in names.items() if grade in grades}
    return _present({**named, "grades": grades})


def _present(values: Mapping[str, object]) -> dict[str, object]:
    return {key: value for key, value in values.items() if value}


_Edit = tuple[int, int, str]  # start, end, replacement


def rewrite(text: str, old: GoldSet, new: GoldSet) -> str | None:
    """Edit `text`, the native YAML of `old`, to that of `new`; return None if the text must be rewritten completely."""
    source = GoldSource(Path(old.source or "gold.yaml"), text)
    document = compose(source, "the gold set").node
    edits = _Rewriter(text).document(document, old, new)
    if edits is None:
        return None
    parts: list[str] = []
    position = 0
    for start, end, replacement in sorted(edits, key=lambda edit: edit[0]):
        parts += [text[position:start], replacement]
        position = end
    changed = "".join([*parts, text[position:]])
    try:
        reread = read_native(GoldSource(source.path, changed))
    except GoldError:
        return None
    return changed if _without_locations(reread) == _without_locations(new) else None


def _without_locations(gold: GoldSet) -> GoldSet:
    queries = tuple(replace(query, line=None) for query in gold.queries)
    return replace(gold, queries=queries, source=None)


class _Rewriter:
    def __init__(self, text: str) -> None:
        self.text = text

    def document(self, document: yaml.Node, old: GoldSet, new: GoldSet) -> list[_Edit] | None:
        children = _children(document)
        entries = children["queries"][1] if "queries" in children else None
        wanted = {query.id: query for query in new.queries}
        retained = [query.id for query in old.queries if query.id in wanted]
        if entries is None or _in_braces(entries) or not retained or list(wanted)[: len(retained)] != retained:
            return None
        edits = list(self._keys(document, gold_mapping(old), gold_mapping(new)))
        column = entries.start_mark.column
        for node, query in zip(entries.value, old.queries, strict=True):
            if query.id in wanted:
                edits += self._keys(node, query_mapping(query), query_mapping(wanted[query.id]))
            else:
                dash = self.text.rindex("-", 0, node.start_mark.index)
                edits.append((dash - column, self._end(node), ""))
        end = self._end(entries.value[-1])
        added = [_indent(to_yaml([query_mapping(query)]), column) for query in new.queries[len(retained) :]]
        return [*edits, *((end, end, f"\n\n{query}") for query in added)]

    def _keys(self, node: yaml.Node, before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[_Edit]:
        pairs = _children(node)
        column = next(iter(pairs.values()))[0].start_mark.column
        for key, (name, value) in pairs.items():
            if before.get(key) != after.get(key):
                text = _render(key, after.get(key), column, flow=_in_braces(value))
                start = name.start_mark.index
                start = start if text or _in_braces(node) else self.text.rfind("\n", 0, start)
                yield start, self._end(value), text
        end = max((self._end(value) for key, (_, value) in pairs.items() if key in before), default=0)
        for key in after:
            if key not in pairs:
                text = _render(key, after[key], column, flow=_in_braces(node) or key == "tags")
                yield (end, end, f", {text}" if _in_braces(node) else f"\n{' ' * column}{text}")

    def _end(self, node: yaml.Node) -> int:
        if isinstance(node.value, list) and node.value and not _in_braces(node):
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        return len(self.text[: node.end_mark.index].rstrip())


def _children(node: yaml.Node) -> dict[str, tuple[yaml.Node, yaml.Node]]:
    return {key.value: (key, value) for key, value in node.value}


def _in_braces(node: yaml.Node) -> bool:
    return bool(getattr(node, "flow_style", False))


def _render(key: str, value: object, column: int, *, flow: bool) -> str:
    if value is None:
        return ""
    if flow:
        return f"{key}: {to_flow(value)}"
    return _indent(to_yaml({key: value}), column).strip()


def _indent(text: str, column: int) -> str:
    lines = text.rstrip("\n").split("\n")
    return "\n".join(f"{' ' * column}{line}" if line else line for line in lines)
