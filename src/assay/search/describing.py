"""Add what a model says about each unit to the words it is found by."""

from __future__ import annotations

import numpy as np

from assay.corpus.cache import cache_dir
from assay.search.describe import DescribedText, Describer
from assay.search.filters import unit_text
from assay.search.models import DescriptionSettings
from assay.search.tables import Table, add_words
from assay.search.words import runs, term_hash, terms


def describe_units(table: Table, settings: DescriptionSettings) -> Table:
    """Have every unit described; answers are kept by content, so that an update asks only about what is new."""
    if not settings.url:
        return table
    describer = Describer(settings.url, settings.model, settings.token_env or None, cache_dir() / "descriptions")
    units = [
        DescribedText(unit_text(table, int(file), unit, unit), table.files.paths[file])
        for unit, file in enumerate(table.units.file.tolist())
    ]
    said = [[term_hash(term) for run in runs(text) for term in terms(run)] for text in describer.describe(units)]
    unit = np.repeat(np.arange(len(said)), [len(one) for one in said])
    term = np.array([one for found in said for one in found], dtype=np.uint64)
    return add_words(table, term, unit, settings.weight)
