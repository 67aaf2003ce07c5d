"""What a reader must know of the queries that changes were chosen on."""

from __future__ import annotations

from collections.abc import Sequence

from assay.experiment.tuning.devdata import DataNote
from assay.report.pages.document import Block, Paragraph


def data_notes(notes: Sequence[DataNote]) -> list[Block]:
    """Show them, aloud where they take something from what may be claimed."""
    return [Paragraph(note.text, "warning" if note.is_grave else "quiet") for note in notes]
