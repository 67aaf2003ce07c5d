"""How sure is a move? What was found is told as exact, sure, low or lost."""

from __future__ import annotations

from assay.gold.reanchor.config import Reanchoring
from assay.gold.reanchor.moving import Found
from assay.gold.reanchor.records import Confidence, Range


def judge(old: Range, found: Found, config: Reanchoring) -> Confidence:
    """Say how sure it is that a range went there."""
    if found.exact:
        return "unchanged" if found.span == old.span else "exact"
    if found.by == "scattered":
        return _graded(found.likeness, config.scattered, config.scattered_sure)
    if found.by == "around":
        return "lost"
    if found.by == "words":
        return "low" if found.likeness >= config.scattered_sure else "lost"
    if found.by == "new name":
        return "sure" if found.likeness >= config.renamed_sure else "low"
    if found.kept < config.named:
        return "lost"
    changed = _has_grown(old, found, config) or _has_shrunk(old, found, config)
    return "sure" if found.likeness >= config.sure and not changed else "low"


def _graded(likeness: float, low: float, sure: float) -> Confidence:
    """Grade a likeness."""
    return "sure" if likeness >= sure else "low" if likeness >= low else "lost"


def _has_grown(old: Range, found: Found, config: Reanchoring) -> bool:
    """Tell whether a new range is so long that it must hold something else."""
    length = (found.span.end or 0) - (found.span.start or 0) + 1
    return length > config.grown * old.length + config.grown_lines


def _has_shrunk(old: Range, found: Found, config: Reanchoring) -> bool:
    """Tell whether a new range is so short that most of the old one must be elsewhere, or gone."""
    length = (found.span.end or 0) - (found.span.start or 0) + 1
    return length < config.shrunk * old.length
