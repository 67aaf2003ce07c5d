"""The claim of a run: which measures, against whom, by which margin. Checked before anything runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fnmatch import fnmatchcase

from assay.errors import AssayError, ConfigError, meant
from assay.types import Claim, Run, Suite

#: Engines that every table carries: the floor, what a careful grep finds, and the reachable ceiling.
REFERENCES = ("random", "keywords", "oracle")
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
    family: Sequence[str] | None = None,
    cluster: str | None = None,
) -> Claim:
    """Change what is given; None leaves it as it is."""
    given: dict[str, object] = {"baseline": baseline, "margin": margin, "alpha": alpha, "seed": seed}
    given |= {"cluster": cluster, "family": None if family is None else tuple(family)}
    kept = measures if measures is not None else claim.measures
    named = make_measures(k, primary or claim.primary, kept)
    return replace(claim, measures=named, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]  # names and types are those of the record


def check_claim(claim: Claim, k: int, engines: Sequence[str]) -> Claim:
    """Refuse a claim that no result could be given for."""
    from assay.scoring import parse_measure
    from assay.stats.config import Settings, settings_of

    Settings(**settings_of(claim))
    deepest = max(parse_measure(m).depth for m in claim.measures)
    if deepest > k:
        raise ConfigError(
            f"k = {k}", hint=f"a measure looks at {deepest} results: ask for as many, or lower its cut-off"
        )
    if claim.baseline not in engines:
        raise ConfigError(f"baseline = {claim.baseline!r}", hint=f"name an engine of this run: {', '.join(engines)}")
    chosen_names(claim.family, engines, "family")
    if claim.baseline in claim.family:
        raise ConfigError(
            f"family holds the baseline {claim.baseline!r}",
            hint="leave it out: it is what the others are compared with",
        )
    return claim


def check_suite(cluster: str, suite: Suite) -> None:
    """Refuse a cluster by a tag that no query has, before anything runs."""
    from assay.stats.config import check_tag

    check_tag(cluster, (tag for gold in suite.golds for query in gold.queries for tag in query.tags))


def resolved_family(patterns: Sequence[str], engines: Sequence[str], baseline: str) -> tuple[str, ...]:
    """Name the engines of a declared family; a glob never takes in the baseline or a reference."""
    return chosen_names(patterns, engines, "family", apart=(baseline, *REFERENCES))


def chosen_names(
    patterns: Sequence[str], names: Sequence[str], what: str, *, apart: Sequence[str] = (), kind: str = "engine"
) -> tuple[str, ...]:
    """Find what names and globs mean, in the order of `names`; one that means nothing is an error."""
    found: set[str] = set()
    for pattern in patterns:
        matched = {pattern} & set(names) or {n for n in names if n not in apart and fnmatchcase(n, pattern)}
        if not matched:
            hint = meant(pattern, names) or f"there are: {', '.join(names)}"
            raise ConfigError(f"{what} = {pattern!r} means no {kind} here", hint=hint)
        found |= matched
    return tuple(name for name in names if name in found)


def split_names(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Split a list at its commas, but for those that belong to a name: `w:a=1,b=2,other`."""
    pieces = [piece.strip() for piece in text.split(",")]
    found, at = [], 0
    while at < len(pieces):
        ends = (end for end in range(len(pieces), at, -1) if ",".join(pieces[at:end]) in names)
        end = next(ends, at + 1)
        found.append(",".join(pieces[at:end]))
        at = end
    return tuple(filter(None, found))


def about(error: AssayError) -> str:
    """Name the setting that an error of the checks above is about: the first word of its message."""
    return error.message.split()[0]
