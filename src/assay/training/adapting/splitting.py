"""Which files are learned from, and which are kept for the test."""

from __future__ import annotations

from collections.abc import Iterable

from assay.training.adapting.config import HeldConfig
from assay.training.mining.drawing import draw_rank


def hold_out_files(documented: Iterable[str], config: HeldConfig, seed: int) -> frozenset[str]:
    """Draw the files of the test by the hashes of their paths: what is in a file has no say in where it goes."""
    drawn = sorted(set(documented), key=lambda path: (draw_rank(seed, "adapt", path), path))
    return frozenset(drawn[: max(round(config.share * len(drawn)), min(config.files, len(drawn) // 2))])
