"""The signals of seed 001 (ColGREP's ledger), as what this engine has for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from assay.search.config import STAGES
from benchmarks.quality.variants import Changes, Variant, default_of, variant

#: The reference engine with nothing but the words in its units: a file is as good as its best one.
OFF: Final[Changes] = MappingProxyType(
    {
        "without": tuple(stage for stage in STAGES if stage != "coherence"),
        "coherence.chunks": 1,
        "index.fields.name": 0.0,
        "index.fields.scope": 0.0,
        "index.fields.signature": 0.0,
        "index.fields.stem": 0.0,
        "index.fields.folder": 0.0,
        "stem.prefix": 0.0,
        "identifier.files_inside": 0.0,
        "translation.model": "",
        "dense.model": "",
    }
)


@dataclass(frozen=True, slots=True)
class Rung:
    """A signal: the settings that get their default back, or values that are only tried and not kept."""

    name: str
    seed: str  # what seed 001 measured for it, on its own engine and 63 repositories
    restored: tuple[str, ...] = ()  # settings, or stages that `without` names
    tried: Mapping[str, object] = field(default_factory=dict)


RUNGS: Final = (
    Rung(
        "names, scopes and signatures as fields",
        "",
        ("index.fields.name", "index.fields.scope", "index.fields.signature"),
    ),
    Rung("file and folder names as fields", "", ("index.fields.stem", "index.fields.folder")),
    Rung("path noise", "+0.009", ("noise",)),
    Rung("coherence over a file's units", "+0.014", ("coherence.chunks",)),
    Rung("definition, at the seed's weight", "+0.006", tried={"definition.files": 0.25, "+stage": "definition"}),
    Rung("definition, at the default's weight", "+0.006", ("definition",)),
    Rung("file stem, whole words", "+0.021", ("stem",)),
    Rung("file stem, prefixes", "+0.014", ("stem.prefix",)),
    Rung("a name that is asked for", "", ("identifier",)),
    Rung("a compound name inside a sentence", "", ("identifier.files_inside",)),
    Rung("reference graph", "", ("references",)),
    Rung("what words are called in code", "", ("translation.model",)),
    Rung("meaning, by the shipped model", "", ("dense.model",)),
    Rung(
        "generated, stubs and barrels as noise, too",
        "",
        tried={"noise.files.generated": 0.5, "noise.files.stub": 0.7, "noise.files.barrel": 0.7},
    ),
    Rung("stem weighed twice as much", "", tried={"stem.files": 2.0 * float(default_of("stem.files"))}),
)

#: Seed 001's signals that need no rung: what became of them here.
ELSEWHERE: Final = (
    "plural and snake-case stems (+0.000 in the seed): roots of words do both, in every rung from the third on",
    "stop words in stem matching (+0.001 in the seed): stop words are dropped from every query, in every rung",
    "one result a file (+0.000 in the seed): a ranking of files is one by construction",
    "relative-score fusion (+0.002 in the seed): words and meaning both reach from 0 to 1 when they meet",
    "binary instead of proportional stem boost (+0.004 in the seed): not in this engine, whose stem share is graded",
)


@dataclass(frozen=True, slots=True)
class Step:
    """A variant and what it is compared with."""

    variant: Variant
    against: str
    seed: str
    kept: bool


def steps() -> Iterator[Step]:
    """Climb from plain words to the default."""
    words, parts, roots = "plain words, 50-line windows", "identifier parts (camel, snake, acronyms)", "roots of words"
    yield Step(Variant(words, kind="plain", tokens="words"), "", "", True)
    yield Step(Variant(parts, kind="plain", tokens="parts"), words, "+0.032", True)
    yield Step(Variant(roots, kind="plain", tokens="roots"), parts, "", True)
    units = "units by syntax instead of windows"
    yield Step(variant(units, OFF), roots, "", True)
    last, state = units, dict(OFF)
    for rung in RUNGS:
        now = _with(state, rung)
        yield Step(variant(rung.name, now), last, rung.seed, not rung.tried)
        if not rung.tried:
            last, state = rung.name, now
    yield Step(Variant("the default: all that is left"), last, "", True)


def _with(state: Mapping[str, object], rung: Rung) -> dict[str, object]:
    """Apply a rung."""
    tried = dict(rung.tried)
    stages = {*rung.restored, tried.pop("+stage", "")}
    kept = {name: value for name, value in state.items() if name not in rung.restored}
    without = kept["without"]
    assert isinstance(without, tuple)
    return kept | {"without": tuple(stage for stage in without if stage not in stages)} | tried


def left_out() -> Iterator[Step]:
    """Leave each stage out of the default; coherence is the base of a ranking of files, so it is cut to one unit."""
    for stage in STAGES:
        changes: Changes = {"coherence.chunks": 1} if stage == "coherence" else {"without": (stage,)}
        yield Step(variant(f"without {stage}", changes), "default", "", False)
