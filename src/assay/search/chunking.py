"""Split files into chunks by syntax, by heading or by size."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import accumulate
from typing import Final, Literal, NamedTuple

from assay.records import dataclass
from assay.settings import setting
from assay.syntax.outline import Definition, LineSpan, Outline, parse_outline
from assay.syntax.parsing import grammar_name
from assay.syntax.text import DocHeading, count_lines, estimate_tokens, find_headings
from assay.types import FileKind

ChunkKind = Literal["ast", "lines", "tokens", "characters", "file"]

_FUNCTIONS: Final = frozenset({"function", "method", "macro"})


@dataclass(frozen=True, slots=True)
class ChunkConfig:
    """Rules for splitting a file into chunks."""

    # matched the target's span about twice as often as windows of any size
    kind: ChunkKind = setting("ast", "unit of splitting: syntax (ast), lines, tokens, characters or the whole file")
    size: int = setting(50, "lines, tokens or characters of a chunk, unless `kind` is ast or file")  # about a screen
    overlap: int = setting(0, "overlap of adjacent chunks, in the unit of `size`")  # overlapping spans are duplicates
    # longer results cost an agent more tokens
    longest: int = setting(70, "lines above which a definition or section is split into parts")
    # 30 to 80 were tried: 50 was best on octocode's code by .014-.019, flat elsewhere
    part: int = setting(50, "target lines of such a part, and of chunks in files without definitions or headings")
    # enough to reach the next statement in most code
    slack: int = setting(7, "maximum lines by which a split moves to fall between statements")
    # the knee: 5 gives tighter spans, 12 more overlap
    shortest: int = setting(8, "lines below which a chunk is joined with an adjacent chunk")
    packed: int = setting(16, "maximum lines of joined chunks")  # twice the shortest: joins two or three
    # a class of a third of a screen reads best in one piece; 0 to 50 are within .013
    whole_class: int = setting(15, "maximum lines of a class that stays one chunk")


@dataclass(frozen=True, slots=True)
class SourceText:
    path: str
    text: str
    kind: FileKind
    language: str | None
    sha256: str = ""  # digest of the file's bytes


class Chunk(NamedTuple):
    """Lines `start` to `end` of a file; the only chunk of an empty file has lines 1 to 0."""

    start: int
    end: int
    kind: str  # kind of definition, or head, gap, section, lines, file
    names: tuple[str, ...] = ()  # definitions or headings in the chunk, in order
    scopes: tuple[str, ...] = ()  # enclosing definitions or headings, outermost first
    signature: str = ""
    doc: str = ""
    name_lines: tuple[LineSpan, ...] = ()  # of each definition in `names`; those of a class may exceed the chunk

    @property
    def lines(self) -> int:
        return self.end - self.start + 1


@dataclass(frozen=True, slots=True)
class ChunkedFile:
    chunks: tuple[Chunk, ...]
    outline: Outline | None = None
    problem: str | None = None


def chunk_file(source: SourceText, config: ChunkConfig) -> ChunkedFile:
    """Split a file into chunks; the outline is None for an empty file and for a language without a grammar."""
    if not source.text:
        return ChunkedFile((Chunk(1, 0, "file"),))
    lines = source.text.split("\n")[: count_lines(source.text)]
    grammar = grammar_name(source.path, source.language, source.text)
    parsed = parse_outline(source.text, grammar) if grammar else None
    problem = None
    if parsed and parsed.problem:
        problem = f"not parsed: {parsed.problem}"
    elif parsed and parsed.broken:
        problem = "its syntax has errors" + ("" if parsed.definitions else ", and no definition was found")
    return ChunkedFile(_cut(source, lines, parsed, config), parsed, problem)


def _cut(source: SourceText, lines: list[str], parsed: Outline | None, config: ChunkConfig) -> tuple[Chunk, ...]:
    if config.kind == "file":
        return (Chunk(1, len(lines), "file"),)
    if config.kind == "lines":
        return cut_lines(len(lines), config.size, config.overlap)
    if config.kind == "tokens":
        tokens = [estimate_tokens(len(line.encode("utf-8", "replace")) + 1) for line in lines]
        return cut_weighed(tokens, config.size, config.overlap)
    if config.kind == "characters":
        return cut_weighed([len(line) + 1 for line in lines], config.size, config.overlap)
    if parsed is not None and parsed.definitions:
        return _cut_definitions(lines, parsed, config)
    if source.kind == "docs":
        return cut_sections(lines, config)
    return cut_lines(len(lines), config.part, 0)


def cut_lines(lines: int, size: int, overlap: int) -> tuple[Chunk, ...]:
    """Split a text into windows of `size` lines; the last window may be shorter, and no window contains another."""
    starts = range(1, max(lines - overlap, 1) + 1, size - overlap)
    return tuple(Chunk(start, min(start + size - 1, lines), "lines") for start in starts)


def cut_weighed(weights: Sequence[int], size: int, overlap: int) -> tuple[Chunk, ...]:
    """Split lines into windows with a total weight of at most `size`; a heavier line becomes a separate window.

    Adjacent windows share lines with a total weight of at most `overlap`.
    """
    total = [0, *accumulate(weights)]
    chunks: list[Chunk] = []
    start = 0
    while start < len(weights):
        end = max(bisect_left(total, total[start] + size + 1) - 1, start + 1)
        chunks.append(Chunk(start + 1, end, "lines"))
        if end == len(weights):
            break
        start = max(bisect_left(total, total[end] - overlap), start + 1)
    return tuple(chunks)


def cut_sections(lines: Sequence[str], config: ChunkConfig) -> tuple[Chunk, ...]:
    """Split a text at its headings; split long sections, preferably at blank lines, and join short ones."""

    def cost(line: int) -> int:
        return lines[line - 2].strip() != ""

    packed: list[Chunk] = []
    for section in _sections(lines):
        for chunk in _split(section, config, cost):
            last = packed[-1] if packed else None
            if last is not None and last.lines < config.shortest and last.lines + chunk.lines <= config.packed:
                names = tuple(dict.fromkeys(last.names + chunk.names))
                packed[-1] = last._replace(end=chunk.end, names=names, signature=" ".join(names))
            else:
                packed.append(chunk)
    return tuple(packed)


def _sections(lines: Sequence[str]) -> Iterator[Chunk]:
    all_headings = list(find_headings(lines))
    if not all_headings or all_headings[0].line > 1:
        yield Chunk(1, all_headings[0].line - 1 if all_headings else len(lines), "section")
    outer_headings: list[DocHeading] = []
    for nth, heading in enumerate(all_headings):
        while outer_headings and outer_headings[-1].level >= heading.level:
            outer_headings.pop()
        end = all_headings[nth + 1].line - 1 if nth + 1 < len(all_headings) else len(lines)
        scopes = tuple(outer.title for outer in outer_headings)
        yield Chunk(heading.line, end, "section", (heading.title,), scopes, heading.title)
        outer_headings.append(heading)


def _split(chunk: Chunk, config: ChunkConfig, cost: Callable[[int], object]) -> Iterator[Chunk]:
    """Split a long chunk into parts of about equal length, each at the line of the lowest cost within `slack` lines."""
    parts = -(-chunk.lines // config.part) if chunk.lines > config.longest else 1
    start = chunk.start
    for nth in range(1, parts):
        wanted = chunk.start + round(nth * chunk.lines / parts)
        near = range(max(wanted - config.slack, start + 1), min(wanted + config.slack, chunk.end) + 1)
        if near:
            at = min(near, key=lambda line: (cost(line), abs(line - wanted), line))
        else:  # parts of one or two lines
            at = min(max(wanted, start + 1), chunk.end)
        yield chunk._replace(start=start, end=at - 1)
        start = at
    yield chunk._replace(start=start) if parts > 1 else chunk


def _cut_definitions(lines: Sequence[str], outline: Outline, config: ChunkConfig) -> tuple[Chunk, ...]:
    children: dict[int, list[int]] = {}
    for position, definition in enumerate(outline.definitions):
        children.setdefault(definition.parent, []).append(position)
    layout = _DefinitionLayout(outline.definitions, children, config)
    layout.split_children(-1, 1, len(lines), ())
    settled: list[Chunk] = []
    for chunk in layout.chunks:
        if chunk.kind == "gap" and settled and not any(map(_has_text, lines[chunk.start - 1 : chunk.end])):
            settled[-1] = settled[-1]._replace(end=chunk.end)
        else:
            settled.append(chunk)
    depths = dict(reversed(outline.breaks))  # the shallowest break of a line wins

    def cost(line: int) -> tuple[bool, int]:
        text = lines[line - 1]
        indent = len(text) - len(text.lstrip()) if text.strip() else 0
        return (False, depths[line]) if line in depths else (True, indent)

    packed: list[Chunk] = []
    for whole in settled:
        for part in _split(whole, config, cost) if whole.lines > config.longest else (whole,):
            chunk = part if part.start == whole.start else part._replace(signature="", doc="")
            if packed and _fits(packed[-1], chunk, config):
                packed[-1] = _join(packed[-1], chunk)
            else:
                packed.append(chunk)
    return tuple(packed)


@dataclass(frozen=True, slots=True)
class _DefinitionLayout:
    definitions: tuple[Definition, ...]
    children: Mapping[int, list[int]]
    config: ChunkConfig
    chunks: list[Chunk] = field(default_factory=list)

    def split_children(self, parent: int, start: int, end: int, scopes: tuple[str, ...]) -> None:
        line = start
        for position in self.children.get(parent, ()):
            child = self.definitions[position]
            first, last = max(child.start, line), min(child.end, end)
            if last < first:
                continue
            if first > line:
                self.chunks.append(Chunk(line, first - 1, "gap", (), scopes))
            self.split_definition(position, first, last, scopes)
            line = last + 1
        if line <= end:
            self.chunks.append(Chunk(line, end, "gap", (), scopes))

    def split_definition(self, position: int, start: int, end: int, scopes: tuple[str, ...]) -> None:
        definition = self.definitions[position]
        members = [m for m in self.children.get(position, ()) if start < self.definitions[m].start <= end]
        most = self.config.longest if definition.kind in _FUNCTIONS else self.config.whole_class
        if not members or end - start + 1 <= most:
            names = self._collect_names(position)
            end_of_chunk, kind = end, definition.kind
        else:
            names = {definition.name: LineSpan(definition.start, definition.end)}
            end_of_chunk = self.definitions[members[0]].start - 1
            kind = definition.kind if definition.kind in _FUNCTIONS else "head"
        signature, doc = definition.signature, definition.doc
        self.chunks.append(
            Chunk(start, end_of_chunk, kind, tuple(names), scopes, signature, doc, tuple(names.values()))
        )
        if end_of_chunk < end:
            self.split_children(position, end_of_chunk + 1, end, (*scopes, definition.name))

    def _collect_names(self, position: int) -> dict[str, LineSpan]:
        definition = self.definitions[position]
        names = {definition.name: LineSpan(definition.start, definition.end)}
        for member in () if definition.kind in _FUNCTIONS else self.children.get(position, ()):
            for name, lines in self._collect_names(member).items():
                names.setdefault(name, lines)
        return names


def _has_text(line: str) -> bool:
    word = line.strip(" \t\r\n{}()[];,")
    return bool(word) and word != "end"


def _fits(first: Chunk, second: Chunk, config: ChunkConfig) -> bool:
    small = min(first.lines, second.lines) < config.shortest
    head = first.kind == "head" and second.scopes[:-1] == first.scopes and second.scopes[-1:] == first.names[:1]
    most = config.longest if head and first.lines < config.shortest else config.packed  # a lone head rarely matches
    return small and first.lines + second.lines <= most and (first.scopes == second.scopes or head)


def _join(first: Chunk, second: Chunk) -> Chunk:
    # in reverse, so that the first definition of a name wins
    lines = dict(zip(second.names + first.names, second.name_lines + first.name_lines, strict=True))
    names = tuple(dict.fromkeys(first.names + second.names))
    return Chunk(
        first.start,
        second.end,
        second.kind if first.kind == "gap" else first.kind,
        names,
        first.scopes,
        " ".join(filter(None, (first.signature, second.signature))),
        " ".join(filter(None, (first.doc, second.doc))),
        tuple(lines[name] for name in names),
    )
