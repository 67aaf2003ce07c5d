"""YAML documents as checked nodes with line numbers; all scalars are text."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.gold.build import GoldLocation, GoldSource, suggest
from assay.syntax.text import line_at

if TYPE_CHECKING:
    import yaml


@dataclass(frozen=True, slots=True)
class MappingKeys:
    required: tuple[str, ...] = ()
    optional: tuple[str, ...] = ()

    @property
    def known(self) -> tuple[str, ...]:
        return (*self.required, *self.optional)


@dataclass(frozen=True, slots=True)
class NodeLimits:
    nodes: int = 2_000_000  # 50,000 queries of about 40 nodes each
    depth: int = 16  # the format needs 5: values of an interference entry


@dataclass(frozen=True, slots=True)
class YamlNode:
    """A YAML node with its file and its name in error messages."""

    node: yaml.Node
    subject: str
    file: str

    @property
    def location(self) -> GoldLocation:
        return GoldLocation(self.file, self.node.start_mark.line + 1)

    def text(self) -> str:
        """Return the text of a scalar; raise if the node is not a scalar or is blank."""
        return self.location.text(self._value("ScalarNode"), self.subject)

    def sequence(self) -> list[YamlNode]:
        nodes = enumerate(self._value("SequenceNode"), 1)
        return [YamlNode(node, f"entry {n} of {self.subject}", self.file) for n, node in nodes]

    def texts(self) -> tuple[str, ...]:
        entries = self.sequence()
        if not entries:
            raise self.location.error(f"{self.subject} is an empty list", "add an entry or remove the key")
        return tuple(entry.text() for entry in entries)

    def mapping(self, keys: MappingKeys | None = None) -> dict[str, YamlNode]:
        """Return the values of a mapping by key; raise on duplicate and, with `keys`, on unknown and missing keys."""
        fields: dict[str, YamlNode] = {}
        for key_node, node in self._value("MappingNode"):
            key = YamlNode(key_node, f"a key of {self.subject}", self.file)
            name = key.text()
            if keys is not None and name not in keys.known:
                raise key.location.error(f"unknown key '{name}' in {self.subject}", suggest(name, keys.known))
            if name in fields:
                first = fields[name].location.line
                message = f"duplicate key '{name}' in {self.subject}, first on line {first}"
                raise key.location.error(message, "remove one")
            fields[name] = YamlNode(node, f"'{name}' of {self.subject}", self.file)
        for name in keys.required if keys else ():
            if name not in fields:
                raise self.location.error(f"missing key '{name}' in {self.subject}", f"add '{name}:'")
        return fields

    def one_of(self, words: tuple[str, ...]) -> str:
        word = self.text()
        if word not in words:
            raise self.location.error(f"unknown value '{word}' of {self.subject}", suggest(word, words))
        return word

    def _value(self, kind: str) -> Any:  # noqa: ANN401  # PyYAML types the value of each node kind as Any
        actual = type(self.node).__name__
        if actual != kind:
            wanted = "a mapping of keys and values" if kind == "MappingNode" else _KIND_NAMES[kind]
            message = f"{self.subject}: expected {wanted}, got {_KIND_NAMES[actual]}"
            raise self.location.error(message, f"write {wanted}")
        if self.node.tag not in _PLAIN_TAGS:
            raise self.location.error(f"unsupported YAML tag {self.node.tag} on {self.subject}", "remove the tag")
        return self.node.value


_KIND_NAMES = {"ScalarNode": "a string", "SequenceNode": "a list", "MappingNode": "a mapping"}
_PLAIN_TAGS = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "seq", "map"))
_FIX = "check indentation and quotes; quote text that contains ': ' or ' #'"


def compose(source: GoldSource, subject: str, limits: NodeLimits | None = None) -> YamlNode:
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        _check_growth(yaml.parse(source.text, Loader=loader), source, limits or NodeLimits())
        node = yaml.compose(source.text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join(filter(None, (error.context, error.problem)))
        raise source.at(mark.line + 1 if mark else None).error(f"invalid YAML: {message}", _FIX) from error
    except yaml.reader.ReaderError as error:
        hint = "remove the character"
        raise source.at(line_at(source.text, error.position)).error(f"invalid YAML: {error.reason}", hint) from error
    if node is None:
        raise source.at(1).error(f"{subject} is empty", "add its keys; a native gold set starts with 'assay: 1'")
    return YamlNode(node, subject, str(source.path))


def _check_growth(events: Iterator[yaml.Event], source: GoldSource, limits: NodeLimits) -> None:
    import yaml

    sizes: dict[str, int] = {}  # nodes below each closed anchor, aliases expanded
    stack: list[tuple[str | None, int]] = [(None, 0)]  # anchor and size of each open node
    for event in events:
        location = source.at(event.start_mark.line + 1 if event.start_mark else None)
        if isinstance(event, yaml.CollectionStartEvent):
            stack.append((event.anchor, 1))
        elif isinstance(event, yaml.NodeEvent | yaml.CollectionEndEvent):
            if isinstance(event, yaml.CollectionEndEvent):
                anchor, size = stack.pop()
            elif isinstance(event, yaml.AliasEvent):
                if event.anchor not in sizes:
                    raise location.error(f"undefined alias *{event.anchor}", "replace the alias with its value")
                anchor, size = None, sizes[event.anchor]
            else:
                anchor, size = event.anchor, 1
            if anchor is not None:
                sizes[anchor] = size
            parent, total = stack.pop()
            stack.append((parent, total + size))
        if len(stack) > limits.depth + 1:
            raise location.error(
                f"the YAML is nested more than {limits.depth} levels deep", "remove levels; the format needs 5"
            )
        if stack[-1][1] > limits.nodes:
            hint = "remove aliases, or split the file into several gold sets"
            raise location.error(f"the YAML has more than {limits.nodes} nodes after expanding aliases", hint)
