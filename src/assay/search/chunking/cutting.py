"""Choose how a file is cut."""

from __future__ import annotations

from assay.search.chunking.config import ChunkConfig
from assay.search.chunking.definitions import cut_definitions
from assay.search.chunking.sections import cut_sections
from assay.search.chunking.unit import Cut, Source, Unit
from assay.search.chunking.windows import character_weights, cut_lines, cut_weighed, token_weights
from assay.syntax.grammars import grammar_name
from assay.syntax.lines import count_lines
from assay.syntax.outline import Outline, outline


def cut(source: Source, config: ChunkConfig) -> Cut:
    """Cut a file; it is parsed whatever the cutting, because names and references come from the parse too."""
    if not source.text:
        return Cut((Unit(1, 0, "file"),))
    lines = source.text.split("\n")[: count_lines(source.text)]
    grammar = grammar_name(source.path, source.language, source.text)
    parsed = outline(source.text, grammar) if grammar else None
    return Cut(_units(source, lines, parsed, config), parsed, _problem(parsed))


def _problem(parsed: Outline | None) -> str | None:
    """Say what went wrong with the parse; a tree with errors is used as far as it goes."""
    if parsed is None or not parsed.broken:
        return None
    if parsed.problem is not None:
        return f"not parsed: {parsed.problem}"
    return "its syntax has errors" if parsed.definitions else "its syntax has errors, and no definition was found"


def _units(source: Source, lines: list[str], parsed: Outline | None, config: ChunkConfig) -> tuple[Unit, ...]:
    """Cut by the configured kind; by syntax where the file has one, by heading in documentation, else by lines."""
    if config.kind == "file":
        return (Unit(1, len(lines), "file"),)
    if config.kind == "lines":
        return cut_lines(len(lines), config.size, config.overlap)
    if config.kind == "tokens":
        return cut_weighed(token_weights(lines), config.size, config.overlap)
    if config.kind == "characters":
        return cut_weighed(character_weights(lines), config.size, config.overlap)
    if parsed is not None and parsed.definitions:
        return cut_definitions(lines, parsed, config)
    if source.kind == "docs":
        return cut_sections(lines, config)
    return cut_lines(len(lines), config.part, 0)
