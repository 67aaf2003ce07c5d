"""All measures: `from assay.scoring import nDCG, Hit`, then `nDCG @ 10`, `Hit(grade=2) @ 5`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from types import MappingProxyType

from assay.errors import ConfigError, closest_match
from assay.scoring import budget, lines, ranks, robustness
from assay.scoring.match import LEVELS
from assay.scoring.measure import Measure, MeasureKind, Param, parse
from assay.types import FORMS, SECONDARY


def _choice(options: Sequence[str]) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in options:
            near = closest_match(text, options)
            raise ValueError(f"did you mean {near[0]}?" if near else "")
        return text

    return read


def _whole(least: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not text.isdecimal() or int(text) < least:
            raise ValueError
        return int(text)

    return read


def _share(text: str) -> float:
    with suppress(ValueError):
        if 0 < float(text) <= 1:
            return float(text)
    raise ValueError


def _pair(text: str) -> str:
    before, _, after = text.replace("->", robustness.ARROW).partition(robustness.ARROW)
    read = _choice(FORMS)
    pair = read(before.strip()), read(after.strip())
    if pair[0] == pair[1]:
        raise ValueError("the two phrasings are the same")
    return robustness.ARROW.join(pair)


def _ranked(text: str) -> Measure:
    measure = parse_measure(text)
    if measure.kind.phrasings:
        raise ValueError("it already combines phrasings")
    return measure


def _level(default: str) -> Param:
    return Param("level", " | ".join(LEVELS), _choice(LEVELS), default)


_FILE = _level("file")
_LINES = _level("lines")
#: 1: every target counts; 2: only primary ones; higher for sets with more grades.
_GRADE = Param("grade", "the least grade that counts, from 1", _whole(SECONDARY), SECONDARY)
_RULE = Param("rule", " | ".join(ranks.RULES), _choice(ranks.RULES), ranks.RULES[0])
#: 0.3: a hit three times as long as its target still counts (used in notes/spans.md).
_IOU = Param("iou", "a number above 0, at most 1", _share, 0.3, shown=True)
_TOKENS = Param("tokens", "a whole number of tokens", _whole(1), positional=True, looks=r"[^=()]+", example="2000")
#: 32,000: where semble's token_efficiency.py stops reading, so that figures are comparable.
_CAP = Param("cap", "a whole number of tokens", _whole(1), 32_000)
_OF = Param("of", "a measure", _ranked, positional=True, shown=True, looks=r"(?:(?!→|->).)+", example="Hit@10")
_FORMS = Param(
    "forms",
    "form→form",
    _pair,
    positional=True,
    shown=True,
    looks=r"\s*\w+\s*(?:→|->)\s*\w+\s*",
    example="human→wrong_terminology",
)


def _require_file_level(measure: Measure) -> None:
    if measure["rule"] == "semble" and measure["level"] != "file":
        hint = f"write {measure.name}(rule=semble)"
        raise ConfigError(f"{measure!r}: semble's rule is defined for level=file only", hint=hint)


_COUNTED = (_FILE, _GRADE)
nDCG = Measure(  # noqa: N816  the name in the literature
    MeasureKind("nDCG", ranks.ndcg, ranks.share_range, (_FILE, _RULE), check=_require_file_level)
)
RR = Measure(MeasureKind("RR", ranks.reciprocal_rank, ranks.share_range, _COUNTED))
Hit = Measure(MeasureKind("Hit", ranks.hit, ranks.share_range, _COUNTED, binary=True))
R = Measure(MeasureKind("R", ranks.recall, ranks.share_range, _COUNTED))
P = Measure(MeasureKind("P", ranks.precision, ranks.share_range, _COUNTED))
AP = Measure(MeasureKind("AP", ranks.average_precision, ranks.share_range, _COUNTED))
Judged = Measure(MeasureKind("Judged", ranks.judged, ranks.share_range, (_FILE,)))
LineR = Measure(MeasureKind("LineR", lines.line_recall, ranks.share_range, (_GRADE,), everywhere=False))
LineP = Measure(MeasureKind("LineP", lines.line_precision, ranks.share_range, (_GRADE,), everywhere=False))
SpanR = Measure(MeasureKind("SpanR", lines.span_recall, ranks.share_range, (_IOU, _GRADE)))
RecallAtTokens = Measure(
    MeasureKind("RecallAtTokens", budget.recall_at_tokens, ranks.share_range, (_TOKENS, _LINES, _GRADE), cutoff=False)
)
TokensToHit = Measure(
    MeasureKind("TokensToHit", budget.tokens_to_hit, budget.token_range, (_CAP, _LINES, _GRADE), cutoff=False)
)
Displacement = Measure(
    MeasureKind(
        "Displacement", robustness.displacement, robustness.failure_range, (_FILE,), binary=True, everywhere=False
    )
)
RankGap = Measure(MeasureKind("RankGap", robustness.rank_gap, robustness.gap_range, (_FILE,), everywhere=False))
Any = Measure(
    MeasureKind(
        "Any", robustness.any_phrasing, robustness.inner_range, (_OF,), False, True, check=robustness.require_binary
    )
)
All = Measure(
    MeasureKind(
        "All", robustness.all_phrasings, robustness.inner_range, (_OF,), False, True, check=robustness.require_binary
    )
)
Worst = Measure(MeasureKind("Worst", robustness.worst_phrasing, robustness.inner_range, (_OF,), False, True))
Spread = Measure(
    MeasureKind("Spread", robustness.spread, robustness.spread_range, (_OF,), False, True, everywhere=False)
)
#: `Drop(human→wrong_terminology)` is of nDCG@10, the headline measure; its full name includes it.
_OF_DROP = Param("of", _OF.expects, _ranked, nDCG @ 10, positional=True, shown=True, looks=_OF.looks)
Drop = Measure(
    MeasureKind("Drop", robustness.drop, robustness.drop_range, (_OF_DROP, _FORMS), False, True, everywhere=False)
)

_RANKED = (nDCG, RR, Hit, R, P, AP, Judged, LineR, LineP, SpanR, RecallAtTokens, TokensToHit, Displacement, RankGap)
#: All measures by name, in display order.
MEASURES = MappingProxyType({measure.name: measure for measure in (*_RANKED, Any, All, Worst, Spread, Drop)})
#: Names in other tools, for hints only.
_ALIASES = {
    "mrr": "RR", "recall": "R", "precision": "P", "map": "AP", "success": "Hit", "hitrate": "Hit", "accuracy": "Hit",
}  # fmt: skip


def parse_measure(text: str) -> Measure:
    """Parse a measure from its name, the inverse of repr."""
    return parse(text, MEASURES, _ALIASES)
