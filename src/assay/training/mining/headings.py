"""Pairs from documentation: a heading, with the one above it, and the section under it."""

from __future__ import annotations

import re
from typing import Final

from assay.search.chunking.config import ChunkConfig
from assay.search.chunking.sections import cut_sections
from assay.search.chunking.unit import Unit
from assay.syntax.prose import without_markup
from assay.training.mining.config import MiningConfig
from assay.training.mining.drawing import Collection, draw_rank
from assay.training.mining.licences import LICENCE_TEXT
from assay.training.mining.prose import is_english, tells
from assay.training.mining.sources import Source

#: Headings that stand in every project.
_IDLE: Final = re.compile(
    r"^\W*(?:licen[cs]e|copyright|contribut\w*|install\w*|credits|authors?|thanks|acknowledge?ments|badges|contents"
    r"|table of contents|changelog|support|donat\w*|contact|community|links|see also|references|index|requirements|faq"
    r"|getting started|quick ?start|usage|overview|introduction|stay in touch|v?\d[\d.]*)\W*$"
    r"|\b(?:sponsor|backer)s?\b",
    re.IGNORECASE,
)
_FEWEST: Final = 2  # telling words of a heading: it has no verb
#: Sections are neither cut nor put together.
_WHOLE: Final = ChunkConfig(longest=1_000_000, shortest=1)


def mine_headings(source: Source, config: MiningConfig, collection: Collection) -> None:
    """Offer the headings of a document with the sections under them; plain text has none that are sure."""
    for unit in cut_sections(source.lines, _WHOLE) if source.file.language != "text" else ():
        if unit.names:
            _offer(source, unit, config, collection)


def _offer(source: Source, unit: Unit, config: MiningConfig, collection: Collection) -> None:
    """Offer one section, without its heading."""
    rank = draw_rank(config.seed, "heading", source.file.entry.path, unit.start, unit.names[0])
    if not collection.wants("heading", rank):
        return
    asked = " ".join(map(without_markup, (*unit.scopes[-1:], unit.names[0])))
    lines = range(unit.start, min(unit.end, unit.start + config.pairs.lines))
    text = "\n".join(source.lines[lines.start : lines.stop])
    if _IDLE.search(unit.names[0]) or not tells(asked, _FEWEST) or not is_english(text) or LICENCE_TEXT.search(text):
        collection.dropped["heading says little"] += 1
        return
    collection.offer(source.candidate("heading", rank, asked, source.count(lines)), source.taint(lines))
