"""TOML: tomllib says what stands there, the parse tree where."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from assay.engines.configs.paths import Path, Tree
from assay.engines.configs.spots import TextEdit, TextSpan, apply, break_of, line_end
from assay.toml import write_key, write_value

if TYPE_CHECKING:
    from tree_sitter import Node


def parse(text: str) -> Tree:
    """Read TOML."""
    return tomllib.loads(text)


def edited(text: str, tree: Tree, changes: Mapping[Path, object]) -> str:  # noqa: ARG001 - formats have one shape
    """Replace values where they stand, and add what is new."""
    source = text.encode("utf-8")
    spots = _Spots(source)
    made = [TextEdit(spots.values[path], write_value(value)) for path, value in changes.items() if path in spots.values]
    added = {path: value for path, value in changes.items() if path not in spots.values}
    # positions are of bytes: latin-1 has one character for each
    changed = apply(_as_text(source), [TextEdit(one.at, _as_text(one.text.encode())) for one in made])
    text = changed.encode("latin-1").decode("utf-8")
    for path, value in added.items():
        text = _added(text, path, value)
    return text


def _added(text: str, path: Path, value: object) -> str:
    *parent, name = path
    line = f"{write_key((name,))} = {write_value(value)}"
    source = text.encode("utf-8")
    spots = _Spots(source)
    end = break_of(text)
    if not parent:
        head = _as_text(source)[: spots.first_header].encode("latin-1").decode("utf-8")
        glue = end if head and not head.endswith("\n") else ""
        return f"{head}{glue}{line}{end}{text[len(head) :]}"
    if tuple(parent) in spots.headers:
        at = line_end(_as_text(source), spots.headers[tuple(parent)])
        return (source[:at] + f"{end}{line}".encode() + source[at:]).decode("utf-8")
    return f"{text}{'' if text.endswith(chr(10)) or not text else end}{end}[{write_key(parent)}]{end}{line}{end}"


def _as_text(source: bytes) -> str:
    return source.decode("latin-1")


class _Spots:
    """Where the values and the headers of a file stand, in bytes."""

    def __init__(self, source: bytes) -> None:
        from assay.syntax.grammars import load_grammar

        self._source = source
        self._arrays: dict[Path, int] = {}
        self.values: dict[Path, TextSpan] = {}
        self.headers: dict[Path, int] = {}
        root = load_grammar("toml").parser.parse(source).root_node
        tables = [node for node in root.named_children if node.type.startswith("table")]
        self.first_header = tables[0].start_byte if tables else len(source)
        for node in root.named_children:
            self._see(node)

    def _see(self, node: Node) -> None:
        if node.type == "pair":
            self._pair((), node)
        elif node.type.startswith("table"):
            header, *inside = node.named_children
            path = self._header(self._names(header), node.type == "table_array_element")
            self.headers[path] = header.end_byte
            for child in inside:
                if child.type == "pair":
                    self._pair(path, child)

    def _header(self, names: Path, counted: bool) -> Path:
        path: Path = ()
        for number, name in enumerate(names):
            path = (*path, name)
            if counted and number == len(names) - 1:
                self._arrays[path] = self._arrays.get(path, -1) + 1
            if path in self._arrays:
                path = (*path, str(self._arrays[path]))
        return path

    def _pair(self, table: Path, node: Node) -> None:
        key, value = node.named_children[0], node.named_children[1]
        self._value((*table, *self._names(key)), value)

    def _value(self, path: Path, node: Node) -> None:
        self.values[path] = TextSpan(node.start_byte, node.end_byte)
        inside = [child for child in node.named_children if child.type != "comment"]
        if node.type == "inline_table":
            for child in inside:
                self._pair(path, child)
        elif node.type == "array":
            for number, child in enumerate(inside):
                self._value((*path, str(number)), child)

    def _names(self, node: Node) -> Path:
        return tuple(self._parts(node))

    def _parts(self, node: Node) -> Iterator[str]:
        if node.type == "dotted_key":
            for child in node.named_children:
                yield from self._parts(child)
            return
        text = self._source[node.start_byte : node.end_byte].decode("utf-8")
        yield text if node.type == "bare_key" else str(tomllib.loads(f"k = {text}")["k"])
