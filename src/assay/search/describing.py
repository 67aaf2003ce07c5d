"""Add what a model says about each unit to the words it is found by."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from assay.search.filters import scope_text, unit_text
from assay.search.models import DescriptionSettings
from assay.search.tables import Table, add_words
from assay.search.words import runs, term_hash, terms

if TYPE_CHECKING:
    from assay.search.describe import Describer


def describe_units(table: Table, settings: DescriptionSettings, kept: Path | None) -> Table:
    """Have every unit described that holds something; with a folder, answers are kept there by content and reused."""
    if not _wanted(settings):
        return table
    from assay.search.describe import DescribedText

    texts = [unit_text(table, int(file), unit, unit) for unit, file in enumerate(table.units.file.tolist())]
    told = [unit for unit, text in enumerate(texts) if text.strip()]
    lines = _describer(settings, kept).describe([DescribedText(texts[unit], scope_text(table, unit)) for unit in told])
    said = [[term_hash(term) for run in runs(line) for term in terms(run)] for line in lines]
    unit = np.repeat(np.array(told, dtype=np.int64), np.array([len(one) for one in said], dtype=np.int64))
    return add_words(table, np.array([one for found in said for one in found], np.uint64), unit, settings.weight)


def description_identity(settings: DescriptionSettings) -> str:
    """Name all that decides the words that are added; where the model is served does not."""
    return f"{_describer(settings, None).identity};weight={settings.weight}" if _wanted(settings) else ""


def _wanted(settings: DescriptionSettings) -> bool:
    """Tell whether descriptions have a say."""
    return bool(settings.url and settings.weight)


def _describer(settings: DescriptionSettings, kept: Path | None) -> Describer:
    """Make the describer; a client of servers is imported only for this."""
    from assay.search.describe import Describer

    return Describer(settings.url, settings.model, settings.token_env or None, kept)
