"""The claim of a run: which measures, against whom, by which margin. Checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.errors import AssayError, ConfigError
from assay.types import Claim, Run

#: What a run without a declared baseline is compared with: what a careful grep finds.
BASELINE = "keywords"


def usual_measures(k: int) -> tuple[str, ...]:
    """Give the measures of a run that declares none, the primary one first."""
    files = (f"nDCG@{k}", f"RR@{k}", f"Hit@{min(5, k)}", f"R@{k}")
    return (*files, f"nDCG(level=lines)@{k}", f"SpanR(iou=0.3)@{k}", "RecallAtTokens(2000)")


def make_measures(k: int, primary: str | None, others: Sequence[str]) -> tuple[str, ...]:
    """Put the primary measure first, under full names, each once."""
    from assay.scoring import parse_measure

    usual = usual_measures(k)
    named = [primary or usual[0], *(others or usual)]
    return tuple(dict.fromkeys(repr(parse_measure(name)) for name in named))


def claim_of(run: Run) -> Claim:
    """Give the claim that a run was made for; one that came without gets the usual one."""
    names = [engine.name for engine in run.engines]
    baseline = BASELINE if BASELINE in names else names[0]
    return run.header.claim or Claim(make_measures(run.k, None, ()), baseline)


def changed(
    claim: Claim,
    k: int,
    *,
    measures: Sequence[str] | None = None,
    primary: str | None = None,
    baseline: str | None = None,
    margin: float | None = None,
    alpha: float | None = None,
    seed: int | None = None,
) -> Claim:
    """Change what is given; None leaves it as it is."""
    given = {"baseline": baseline, "margin": margin, "alpha": alpha, "seed": seed}
    kept = measures if measures is not None else claim.measures
    named = make_measures(k, primary or claim.primary, kept)
    return replace(claim, measures=named, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]  # names and types are those of the record


def check_claim(claim: Claim, k: int, engines: Sequence[str]) -> Claim:
    """Refuse a claim that no result could be given for."""
    from assay.scoring import parse_measure
    from assay.stats.config import Settings

    Settings(claim.margin, claim.alpha, claim.seed)
    deepest = max(parse_measure(m).depth for m in claim.measures)
    if deepest > k:
        raise ConfigError(
            f"k = {k}", hint=f"a measure looks at {deepest} results: ask for as many, or lower its cut-off"
        )
    if claim.baseline not in engines:
        raise ConfigError(f"baseline = {claim.baseline!r}", hint=f"name an engine of this run: {', '.join(engines)}")
    return claim


def about(error: AssayError) -> str:
    """Name the setting that an error of the checks above is about: the first word of its message."""
    return error.message.split()[0]
