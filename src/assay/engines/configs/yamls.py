"""YAML: PyYAML's nodes say where values stand; only plain data is read, nothing is made from tags."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from assay.engines.configs.paths import Path, Tree, put
from assay.engines.configs.spots import TextEdit, TextSpan, apply, break_of, line_end

if TYPE_CHECKING:
    import yaml


def parse(text: str) -> Tree:
    """Read YAML, of which the outermost thing is a mapping."""
    import yaml

    try:
        tree = yaml.load(text, Loader=_loader())  # noqa: S506 - it is the safe one, with texts for keys
    except (yaml.YAMLError, RecursionError) as problem:
        raise ValueError(" ".join(str(problem).split())) from problem
    if tree is not None and not isinstance(tree, dict):
        raise ValueError("the outermost thing is no mapping")
    return tree or {}


def edited(text: str, tree: Tree, changes: Mapping[Path, object]) -> str:  # noqa: ARG001 - formats have one shape
    """Replace values where they stand; what is new goes behind the last key of the table it belongs to."""
    import yaml

    root = yaml.compose(text, Loader=yaml.SafeLoader)
    if root is None:
        return f"{text}{break_of(text) if text and not text.endswith(chr(10)) else ''}{_block(_nested(changes))}"
    pairs = dict(_pairs((), root, None))
    made = [_changed(text, pairs[path], value) for path, value in changes.items() if path in pairs]
    groups: dict[Path, dict[Path, object]] = {}
    for path, value in changes.items():
        if path not in pairs:
            cut = next(cut for cut in range(len(path) - 1, -1, -1) if path[:cut] in pairs)
            groups.setdefault(path[:cut], {})[path[cut:]] = value
    added = [_added(text, pairs[parent].value, _nested(new)) for parent, new in groups.items()]
    return apply(text, [*made, *added])


def _loader() -> type[yaml.SafeLoader]:
    """Give a safe loader that takes keys as they are written: `on` is a name, and true only in the YAML of 2005."""
    import yaml

    class Loader(yaml.SafeLoader):
        """PyYAML's, with texts for keys."""

        def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
            for key, _ in node.value:
                if isinstance(key, yaml.ScalarNode) and key.tag != "tag:yaml.org,2002:merge":
                    key.tag = "tag:yaml.org,2002:str"
            return super().construct_mapping(node, deep)

    return Loader


@dataclass(frozen=True, slots=True)
class _Pair:
    """A value, and the key before it in a mapping."""

    value: yaml.Node
    key: yaml.Node | None


def _pairs(path: Path, node: yaml.Node, key: yaml.Node | None) -> Iterator[tuple[Path, _Pair]]:
    yield path, _Pair(node, key)
    for number, child in enumerate(node.value if isinstance(node.value, list) else ()):
        if isinstance(child, tuple):
            yield from _pairs((*path, str(child[0].value)), child[1], child[0])
        else:
            yield from _pairs((*path, str(number)), child, None)


def _changed(text: str, pair: _Pair, value: object) -> TextEdit:
    node, start = pair.value, pair.value.start_mark.index
    block = isinstance(node.value, list) and not _in_braces(node)
    if pair.key is not None and (block or _is_blank(node)):
        start = text.index(":", pair.key.end_mark.index) + 1
        return TextEdit(TextSpan(start, max(start, _end(text, node))), f" {_flow(value)}")
    return TextEdit(TextSpan(start, _end(text, node)), _flow(value))


def _added(text: str, node: yaml.Node, new: Mapping[str, object]) -> TextEdit:
    if _in_braces(node):
        end = node.end_mark.index - 1
        return TextEdit(TextSpan(end, end), f"{', ' if node.value else ''}{_flow(dict(new))[1:-1]}")
    end = line_end(text, _end(text, node))
    column, glue = node.start_mark.column, break_of(text)
    return TextEdit(TextSpan(end, end), "".join(f"{glue}{' ' * column}{_flow({k: v})[1:-1]}" for k, v in new.items()))


def _end(text: str, node: yaml.Node) -> int:
    if isinstance(node.value, list) and node.value and not _in_braces(node):
        last = node.value[-1]
        return _end(text, last[1] if isinstance(last, tuple) else last)
    start, end = node.start_mark.index, node.end_mark.index
    return start + len(text[start:end].rstrip(" \t\r\n"))  # of YAML's blanks: other spaces are letters to it


def _in_braces(node: yaml.Node) -> bool:
    return isinstance(node.value, list) and bool(getattr(node, "flow_style", False))


def _is_blank(node: yaml.Node) -> bool:
    return node.start_mark.index == node.end_mark.index


def _nested(changes: Mapping[Path, object]) -> dict[str, object]:
    table: dict[str, Any] = {}
    for path, value in changes.items():
        put(table, path, value)
    return table


def _flow(value: object) -> str:
    import yaml

    text = yaml.safe_dump([value], default_flow_style=True, width=sys.maxsize, allow_unicode=True, sort_keys=False)
    return text.strip()[1:-1]


def _block(value: object) -> str:
    import yaml

    return yaml.safe_dump(value, width=sys.maxsize, allow_unicode=True, sort_keys=False)
