"""Change a gold file in place: only what changed is written anew, so that comments and style elsewhere stay."""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.errors import GoldError
from assay.files import write_atomic
from assay.gold.building import GoldSource, read_source
from assay.gold.native.layers import gold_mapping, query_mapping, read_native, to_flow, to_yaml, write_native
from assay.gold.native.nodes import compose
from assay.types import GoldSet, Query, Suite

if TYPE_CHECKING:
    import yaml


_MARK = codecs.BOM_UTF8


@dataclass(frozen=True, slots=True)
class Edit:
    """A part of a text, from one position up to another, and what takes its place."""

    start: int
    end: int
    text: str


@dataclass(frozen=True, slots=True)
class SaveResult:
    """A gold file that was changed; `whole` when all of it was written anew and comments went."""

    path: Path
    whole: bool = False
    lost: tuple[str, ...] = ()  # what the format could not hold

    @property
    def notes(self) -> tuple[str, ...]:
        """What a person should be told."""
        anew = f"{self.path} was written anew as a whole: comments in it are gone"
        return ((anew,) if self.whole else ()) + tuple(f"{self.path} does not hold: {lost}" for lost in self.lost)


def save(old: GoldSet, new: GoldSet, to: Path | None = None) -> SaveResult:
    """Write a changed gold set over the file it was read from, or elsewhere; whole or not at all."""
    from assay.gold.formats.registry import detect

    if old.source is None:
        raise GoldError(f"the gold set '{old.name}' comes from no file", hint="write it with `assay gold convert`")
    source = read_source(Path(old.source))
    known = detect(source)
    if known.name == "native":
        text = rewritten(source.text, old, new)
        _write(to or source.path, text or _anew(new, source), source)
        return SaveResult(to or source.path, whole=text is None)
    if known.write is None:
        raise source.at().error(
            f"a set in the format {known.name} is read, never written",
            "make a native one first: `assay gold convert`",
        )
    written = known.write(Suite((new,)))
    if len(written.files) != 1:
        raise source.at().error(f"a set in the format {known.name} is several files", "convert it to native first")
    write_atomic((to or source.path).resolve(), next(iter(written.files.values())))
    return SaveResult(to or source.path, lost=written.lost)


def _anew(gold: GoldSet, source: GoldSource) -> str:
    text = write_native(gold)
    read_native(GoldSource(source.path, text))
    return text


def _write(path: Path, text: str, source: GoldSource) -> None:
    raw = source.path.read_bytes()
    plain = text.replace("\r\n", "\n")
    ends = plain.replace("\n", "\r\n") if b"\r\n" in raw else plain
    mark = _MARK if raw.startswith(_MARK) else b""
    write_atomic(path.resolve(), mark + ends.encode("utf-8"))


def rewritten(text: str, old: GoldSet, new: GoldSet) -> str | None:
    """Give the native text of `old` changed into that of `new`; None where that takes writing all of it anew."""
    source = GoldSource(Path(old.source or "gold.yaml"), text)
    document = compose(source, "the gold set").node
    edits = _Rewriter(text).document(document, old, new)
    if edits is None:
        return None
    changed = _applied(text, edits)
    return changed if _reads_as(changed, source.path, new) else None


def _reads_as(text: str, path: Path, wanted: GoldSet) -> bool:
    try:
        found = read_native(GoldSource(path, text))
    except GoldError:
        return False
    return _without_places(found) == _without_places(wanted)


def _without_places(gold: GoldSet) -> GoldSet:
    queries = tuple(replace(query, line=None) for query in gold.queries)
    return replace(gold, queries=queries, source=None)


def _applied(text: str, edits: Sequence[Edit]) -> str:
    parts: list[str] = []
    position = 0
    for edit in sorted(edits, key=lambda edit: edit.start):
        parts += [text[position : edit.start], edit.text]
        position = edit.end
    return "".join([*parts, text[position:]])


@dataclass(frozen=True, slots=True)
class _Pair:
    """A key of a mapping and its value."""

    key: yaml.Node
    value: yaml.Node


@dataclass(frozen=True, slots=True)
class _Rewriter:
    """Find the edits that turn one gold set into another; it holds the text that positions are of."""

    text: str

    def document(self, document: yaml.Node, old: GoldSet, new: GoldSet) -> list[Edit] | None:
        edits = list(self._keys(document, gold_mapping(old), gold_mapping(new)))
        entries = _children(document).get("queries")
        queries = None if entries is None else self._queries(entries.value, old.queries, new.queries)
        return None if queries is None else edits + queries

    def _queries(self, entries: yaml.Node, old: Sequence[Query], new: Sequence[Query]) -> list[Edit] | None:
        wanted = {query.id: query for query in new}
        kept = [query.id for query in old if query.id in wanted]
        if list(wanted)[: len(kept)] != kept or _in_braces(entries) or not kept:
            return None
        edits: list[Edit] = []
        for node, query in zip(entries.value, old, strict=True):
            if query.id in wanted:
                edits += self._keys(node, query_mapping(query), query_mapping(wanted[query.id]))
            else:
                edits.append(self._cut(node, entries))
        end = self._end(entries.value[-1])
        added = [_indented(to_yaml([query_mapping(query)]), entries.start_mark.column) for query in new[len(kept) :]]
        return [*edits, *(Edit(end, end, f"\n\n{one}") for one in added)]

    def _cut(self, node: yaml.Node, entries: yaml.Node) -> Edit:
        dash = self.text.rindex("-", 0, node.start_mark.index)
        return Edit(dash - entries.start_mark.column, self._end(node), "")

    def _keys(self, node: yaml.Node, before: Mapping[str, object], after: Mapping[str, object]) -> Iterator[Edit]:
        pairs = _children(node)
        column = next(iter(pairs.values())).key.start_mark.column
        for key, pair in pairs.items():
            if before.get(key) != after.get(key):
                yield self._changed(node, pair, _written(key, after.get(key), column, flow=_in_braces(pair.value)))
        end = max((self._end(pair.value) for key, pair in pairs.items() if key in before), default=0)
        for key in after:
            if key not in pairs:
                text = _written(key, after[key], column, flow=_in_braces(node) or key == "tags")
                yield Edit(end, end, f", {text}" if _in_braces(node) else f"\n{' ' * column}{text}")

    def _changed(self, node: yaml.Node, pair: _Pair, text: str) -> Edit:
        start, end = pair.key.start_mark.index, self._end(pair.value)
        if text or _in_braces(node):
            return Edit(start, end, text)
        return Edit(self.text.rfind("\n", 0, start), end, "")

    def _end(self, node: yaml.Node) -> int:
        if isinstance(node.value, list) and node.value and not _in_braces(node):
            last = node.value[-1]
            return self._end(last[1] if isinstance(last, tuple) else last)
        return len(self.text[: node.end_mark.index].rstrip())


def _children(node: yaml.Node) -> dict[str, _Pair]:
    return {key.value: _Pair(key, value) for key, value in node.value}


def _in_braces(node: yaml.Node) -> bool:
    return bool(getattr(node, "flow_style", False))


def _written(key: str, value: object, column: int, *, flow: bool) -> str:
    """Write a key and its value so that they can stand at a column; nothing for a value that is gone."""
    if value is None:
        return ""
    if flow:
        return f"{key}: {to_flow(value)}"
    return _indented(to_yaml({key: value}), column).strip()


def _indented(text: str, column: int) -> str:
    lines = text.rstrip("\n").split("\n")
    return "\n".join(f"{' ' * column}{line}" if line else line for line in lines)
