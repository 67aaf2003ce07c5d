"""Edit YAML gold files in place: only changed keys are rewritten, other comments and styles are preserved."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import GoldError
from assay.files import write_atomic
from assay.gold.build import GoldSource, read_source
from assay.gold.formats.native import gold_mapping, query_mapping, read_native, to_flow, to_yaml, write_native
from assay.gold.yaml_nodes import compose
from assay.types import GoldSet, Suite

if TYPE_CHECKING:
    import yaml

_Edit = tuple[int, int, str]  # start, end, replacement


@dataclass(frozen=True, slots=True)
class SaveResult:
    """A saved gold file; `whole` is true if the file was rewritten completely."""

    path: Path
    whole: bool = False
    lost: tuple[str, ...] = ()  # losses

    @property
    def notes(self) -> tuple[str, ...]:
        anew = f"{self.path} was rewritten completely; its comments are lost"
        return ((anew,) if self.whole else ()) + tuple(f"{self.path} lost: {lost}" for lost in self.lost)


def save(old: GoldSet, new: GoldSet, to: Path | None = None) -> SaveResult:
    """Write a changed gold set atomically to its source or to another file."""
    from assay.gold.formats.registry import detect

    if old.source is None:
        raise GoldError(
            f"gold set '{old.name}' was not read from a file", hint="write the gold set with `assay gold convert`"
        )
    source = read_source(Path(old.source))
    known, path = detect(source), to or source.path
    if known.name == "native":
        text = rewrite(source.text, old, new)
        whole = text is None
        if text is None:
            text = write_native(new)
            read_native(GoldSource(source.path, text))
        raw = source.path.read_bytes()
        text = text.replace("\r\n", "\n").replace("\n", "\r\n" if b"\r\n" in raw else "\n")
        mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        write_atomic(path.resolve(), mark + text.encode("utf-8"))
        return SaveResult(path, whole=whole)
    if known.write is None:
        hint = "convert the set to native with `assay gold convert`"
        raise source.at().error(f"cannot write the format {known.name}", hint)
    written = known.write(Suite((new,)))
    if len(written.files) != 1:
        hint = "convert the set to native with `assay gold convert`"
        raise source.at().error(f"cannot edit the format {known.name} in place: a set is several files", hint)
    write_atomic(path.resolve(), next(iter(written.files.values())))
    return SaveResult(path, lost=written.lost)


def rewrite(text: str, old: GoldSet, new: GoldSet) -> str | None:
    """Return the native text of `old` edited to `new`; None if the text must be rewritten completely."""
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
    """The edits that turn the text of one gold set into another."""

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
