"""What does meaning add to words? `python -m benchmarks static`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from assay.stats import Verdict, means
from assay.stats.config import DEFAULT as STATS
from assay.stats.records import ComparisonRow, MeanRow
from assay.types import FORMS, Scores, Unit
from benchmarks.pages import Section, difference_text, mean_text, signed, table, target_text
from benchmarks.quality.gathering import Gathered, gather
from benchmarks.quality.measuring import by_repository, chosen, differences
from benchmarks.quality.model import DEFAULT, LEXICAL, MEANING, VECTOR, WORDS, engine, identity
from benchmarks.quality.pool import CODE, DOCS, POOLED, STDLIB, SYNTHETIC, VISIBLE, Answers, answer, by_module
from benchmarks.quality.variants import default_of

#: The issue's.
GAIN = 0.03  # on the pool
MARGIN = 0.01  # that the visible half, and each category of it, may lose
ALONE = 0.78  # dense-only on the visible half, macro
ROUNDING = 0.005  # that smaller vectors may change

EXACT: Final = "float32"  # the default
SMALL: Final = ("int8", "binary")
#: Dense-only with the default's say of path words, which other signals speak for there.
QUIET: Final = f"{MEANING}, paths as in the default"
VARIANTS = (
    engine(DEFAULT, {}),
    engine(LEXICAL, WORDS),
    engine(MEANING, VECTOR),
    engine(QUIET, {**VECTOR, "dense.path": default_of("dense.path")}),
    *(engine(f"{DEFAULT}, {kind}", {"dense.vectors": kind}) for kind in SMALL),
    *(engine(f"{MEANING}, {kind}", {**VECTOR, "dense.vectors": kind}) for kind in SMALL),
)


@dataclass(frozen=True, slots=True)
class Shown:
    """Two engines on some queries; `met` says whether what was wanted holds, None where nothing was."""

    label: str
    row: ComparisonRow
    met: bool | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """All that is shown."""

    pool: tuple[Shown, ...]
    visible: tuple[Shown, ...]
    alone: MeanRow
    quiet: MeanRow
    vectors: tuple[Shown, ...]
    context: tuple[Shown, ...]

    @property
    def passed(self) -> bool:
        """Whether every target is met."""
        shown = (*self.pool, *self.visible, *self.vectors)
        return self.alone.mean >= ALONE and all(one.met is not False for one in shown)


def main() -> Section:
    """Ask every set."""
    model = identity()
    here = gather()
    answers = Answers(here.sources, answer(here.sources, VARIANTS))
    return section(figures(answers), here, model)


def figures(answers: Answers) -> Figures:
    """Compare engines on every part."""
    visible = answers.whole(VISIBLE)
    assert visible is not None  # `visible()` gives at least one repository
    macro = by_repository(visible)
    return Figures(
        pool=tuple(_pool(answers)),
        visible=tuple(_visible(visible, macro)),
        alone=_mean(macro, MEANING),
        quiet=_mean(macro, QUIET),
        vectors=tuple(_vectors(answers, macro)),
        context=tuple(_context(answers)),
    )


def _mean(scores: Scores, name: str) -> MeanRow:
    """Return the mean of an engine with its interval."""
    return next(row for row in means(scores) if row.engine == name)


def _against(scores: Scores, new: str = DEFAULT, old: str = LEXICAL, margin: float = STATS.margin) -> ComparisonRow:
    """Compare two engines of a table."""
    return differences(scores, [new], old, margin)[new, POOLED]


def _pool(answers: Answers) -> Iterator[Shown]:
    """Compare on the whole pool, on the part least like the training data, and on each part."""
    scores = answers.pool()
    assert scores is not None  # the standard library is everywhere
    row = _against(scores)
    yield Shown("all", row, row.difference >= GAIN and row.verdict is Verdict.BETTER)
    yield Shown("all, modules of the standard library apart", _against(by_module(scores, answers.sources)))
    written = answers.pool(*(part for part in answers.parts if part != SYNTHETIC))
    assert written is not None
    yield Shown("all but the synthetic sets", _against(written))
    for part in answers.parts:
        some = answers.pool(part)
        if some is not None:
            yield Shown(part, _against(some))


def _visible(visible: Scores, macro: Scores) -> Iterator[Shown]:
    """Compare on the visible half: macro, over queries, and each category over queries."""
    for label, scores in (("macro", macro), ("over queries", visible)):
        row = _against(scores, margin=MARGIN)
        yield Shown(label, row, row.difference > 0 and row.interval.low > -MARGIN)
    for kind in sorted({_category(unit) for unit in visible.units}):
        part = chosen(visible, lambda unit, kind=kind: _category(unit) == kind)  # type: ignore[misc]
        row = _against(part, margin=MARGIN)
        yield Shown(kind, row, row.difference >= -MARGIN)


def _category(unit: Unit) -> str:
    """Return the category of a query."""
    return unit.tags.get("category", "none")


def _vectors(answers: Answers, macro: Scores) -> Iterator[Shown]:
    """Compare smaller vectors with exact ones."""
    pairs = [(f"{name}, {kind}", name) for name in (DEFAULT, MEANING) for kind in SMALL]
    for part, scores in ((VISIBLE, macro), (CODE, answers.whole(CODE)), (DOCS, answers.whole(DOCS))):
        rows = [_against(scores, small, exact) for small, exact in pairs] if scores else []
        yield from (Shown(part, row, abs(row.difference) <= ROUNDING) for row in rows)


def _context(answers: Answers) -> Iterator[Shown]:
    """Compare on the whole sets."""
    for part in answers.parts:
        scores = answers.whole(part)
        if scores is not None:
            yield Shown(f"{part}, human" if part == STDLIB else part, _against(scores))
    for form in FORMS[1:]:
        scores = answers.whole(STDLIB, lambda unit, form=form: unit.form == form)  # type: ignore[misc]
        if scores is not None:
            yield Shown(f"{STDLIB}, {form}", _against(scores))
    scores = answers.whole(STDLIB, lambda _: True)
    assert scores is not None
    yield Shown(f"{STDLIB}, all phrasings of an intent averaged", _against(scores))


def section(seen: Figures, here: Gathered, model: str) -> Section:
    """Write what was seen."""
    lines = (
        f"Model `{model}`. The visible half by files, nDCG(rule=semble)@10; all other sets by lines, "
        "nDCG(level=lines)@10. Intervals are at 95 %, by repository where there are six, else by intent; phrasings of "
        "one intent are one query. MDE: the smallest difference the set could have shown. Each row is a comparison of "
        "its own, not adjusted for the others.",
        "",
        *here.notes,
        "",
        *_lost_lines(seen),
        *_visible_lines(seen),
        *_vector_lines(seen),
        "The whole sets, for context:",
        "",
        *_comparisons(seen.context),
    )
    return Section(lines, passed=seen.passed)


def _lost_lines(seen: Figures) -> tuple[str, ...]:
    """Write the pool."""
    first = seen.pool[0]
    return (
        "The pool: questions that name no word of their answer's path or symbol (its text may still hold some), the "
        "standard library's with a wrong word, octocode's hard ones. Doc sentences are what the model learned from. "
        f"{DEFAULT} minus {LEXICAL} is {signed(first.row.difference)}, "
        f"{first.row.summary} ({_met(first)}: at least {signed(GAIN)} and better; MDE {first.row.mde_text}).",
        "",
        *_comparisons(seen.pool),
    )


def _visible_lines(seen: Figures) -> tuple[str, ...]:
    """Write the visible half."""
    return (
        f"The visible half: above 0 and its interval above {-MARGIN}; each category at least {-MARGIN}.",
        "",
        *_comparisons(seen.visible, wanted=True),
        f"Macro of {MEANING} (no word, no signal but several units of a file together, a path's words times four): "
        f"{target_text(seen.alone.mean, ALONE)}, {mean_text(seen.alone)}; path words as in the default: "
        f"{mean_text(seen.quiet)}.",
        "",
    )


def _vector_lines(seen: Figures) -> tuple[str, ...]:
    """Write what smaller vectors change."""
    header = ("set", "engine", EXACT, "smaller", "difference", f"at most {ROUNDING}")
    rows = [(one.label, one.row.engine, *_means(one.row), difference_text(one.row), _met(one)) for one in seen.vectors]
    return ("Vectors of int8, and of bits with exact re-scoring, beside float32:", "", *table(header, rows))


def _comparisons(shown: Sequence[Shown], *, wanted: bool = False) -> tuple[str, ...]:
    """Write comparisons, one a row."""
    header = ("queries of", "queries", "clusters", LEXICAL, DEFAULT, "difference", "better, same, worse", "verdict")
    rows = [(*_row(one), *((_met(one),) if wanted else ())) for one in shown]
    return table((*header, "MDE", *(("target",) if wanted else ())), rows)


def _row(one: Shown) -> tuple[object, ...]:
    """Write one comparison."""
    row = one.row
    counts = f"{row.wins}, {row.ties}, {row.losses}"
    found = (difference_text(row), counts, row.verdict, row.mde_text)
    return (one.label, row.queries, row.clusters, *_means(row), *found)


def _means(row: ComparisonRow) -> tuple[str, str]:
    """Write the means that are compared, the baseline's first."""
    return f"{row.baseline_mean:.3f}", f"{row.mean:.3f}"


def _met(one: Shown) -> str:
    """Write whether what was wanted holds."""
    return "met" if one.met else "missed"
