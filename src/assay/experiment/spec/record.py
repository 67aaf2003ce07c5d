"""One experiment as a record: what to run, on what, and which claim will be made of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from assay.experiment.spec.claim import BASELINE, make_measures, resolved_family
from assay.types import TIME_LIMITS, Claim, Variation

FILE = "assay.toml"

#: Tables that a report may carry beside the usual ones.
TABLE_NAMES = ("matrix", "bootstrap", "forest", "ranks", "pairs")
#: The tables of a file. [search] is read by `assay search` and its kin (`search.settings`); no run depends on it.
TABLES = ("run", "engines", "variants", "sweeps", "tune", "ledger", "report", "search")
_USUAL = Claim((), BASELINE)

Settings = Mapping[str, Any] | str
Way = Literal["grid", "one-at-a-time", "leave-one-out"]


@dataclass(frozen=True, slots=True)
class Variant:
    """An engine with some settings changed."""

    engine: str
    set: Mapping[str, object]  # dotted setting -> value
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Sweep:
    """Many variants of one engine."""

    engine: str
    way: Way = "grid"
    knobs: Mapping[str, tuple[object, ...]] = field(default_factory=dict)  # dotted setting -> its values
    parts: Mapping[str, Mapping[str, object]] = field(default_factory=dict)  # a part -> what switches it off
    name: str = ""  # such as w{search.dense.language}; none: SWEEP:key=value
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Place:
    """Where an engine, a variant or a key is declared."""

    file: str | None = None
    line: int | None = None
    folder: Path = Path()  # where relative paths in its settings begin
    flags: tuple[str, ...] = ()  # the --set flags that changed it


@dataclass(frozen=True, slots=True)
class Subject:
    """One engine that is run under a name of its own."""

    name: str
    settings: Settings
    variation: Variation | None = None
    requires: tuple[str, ...] = ()
    place: Place = Place()


@dataclass(frozen=True, slots=True)
class Spec:
    """One experiment. Every default is the one DESIGN.md argues for."""

    gold: tuple[str, ...] = ()
    corpus: str | None = None  # for gold formats that name none
    tags: tuple[str, ...] = ()  # such as difficulty=hard:101-127
    k: int = 10  # results asked for; no measure may look further
    forms: tuple[str, ...] = ()  # none: all that the gold set has
    split: tuple[str, ...] = ()  # parts of a divided set: dev, test, sealed; none: all but the sealed one
    measures: tuple[str, ...] = ()  # none: the usual ones at k
    primary: str = ""  # none: nDCG at k
    baseline: str = ""  # none: keywords, or the first engine where there is no keywords
    family: tuple[str, ...] = ()  # names or globs of the engines that get a verdict; none: all but the baseline
    cluster: str = _USUAL.cluster  # what is drawn independently: auto, repository, intent or tag:NAME
    margin: float = _USUAL.margin
    alpha: float = _USUAL.alpha
    seed: int = _USUAL.seed
    timeout: float = TIME_LIMITS.query  # seconds for one query
    index_timeout: float = TIME_LIMITS.index  # seconds to open an engine on one corpus
    give_up: int = 10  # time-outs in a row after which an engine is not asked any more on that corpus; 0: never
    threads: int = 0  # processors that every engine has; 0: all there are
    interleave: bool = True  # engines take turns at every question; false: one is open at a time
    times: bool | None = None  # None: measured unless variants, sweeps or jobs are declared
    jobs: int | None = None  # processes that cells run in; 0: as many as processors; None: not said
    tables: tuple[str, ...] = ()  # of TABLE_NAMES, beside the usual ones
    out: str = "results"
    references: bool = True  # add random, keywords and oracle
    engines: Mapping[str, Settings] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    sweeps: Mapping[str, Sweep] = field(default_factory=dict)
    tune: Mapping[str, Any] = field(default_factory=dict)  # as the file has it; checked by who tunes
    ledger: Mapping[str, Any] = field(default_factory=dict)  # likewise
    report: Mapping[str, Any] = field(default_factory=dict)  # likewise
    only: tuple[str, ...] = ()  # the subjects that are asked now; none: all
    file: str | None = None  # the file it was read from; not a key of it
    files: tuple[str, ...] = ()  # all that were read: it, and what it extends
    places: Mapping[str, Place] = field(default_factory=dict, repr=False)  # "variants.no-stem" -> where it stands
    _made: dict[str, Subject] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """What relative paths in engine settings start from, where nobody declared the engine elsewhere."""
        return Path(self.file).parent if self.file else Path()

    @property
    def timed(self) -> bool:
        """Whether engines take turns and are timed; else cells run side by side, without times."""
        return not (self.variants or self.sweeps or self.jobs is not None) if self.times is None else self.times

    def subjects(self) -> tuple[Subject, ...]:
        """Give everything that runs, in the order shown: engines, variants, sweeps, references."""
        if not self._made:  # a sweep has up to 10,000 points, and everybody asks
            from assay.experiment.spec.subjects import expand

            self._made.update((subject.name, subject) for subject in expand(self))
        return tuple(self._made.values())

    def subject(self, name: str) -> Subject | None:
        """Find what runs by name."""
        if not self._made:
            self.subjects()
        return self._made.get(name)

    def all_engines(self) -> dict[str, Settings]:
        """Give what runs by name, in the order it is shown."""
        return {subject.name: subject.settings for subject in self.subjects()}

    def claim(self) -> Claim:
        """Say what will be said of the run."""
        measures = make_measures(self.k, self.primary or None, self.measures)
        names = [subject.name for subject in self.subjects()]
        baseline = self.baseline or (BASELINE if BASELINE in names else names[0])
        family = resolved_family(self.family, names, baseline)
        return Claim(measures, baseline, self.margin, self.alpha, self.seed, family, self.cluster, self.tables)


_NO_KEYS = ("engines", "variants", "sweeps", "tune", "ledger", "report", "only", "file", "files", "places", "_made")
#: What a file may say under [run].
KEYS = tuple(f.name for f in fields(Spec) if f.name not in _NO_KEYS)
#: What a file may say of a variant and of a sweep.
VARIANT_KEYS = tuple(f.name for f in fields(Variant))
SWEEP_KEYS = tuple(f.name for f in fields(Sweep))
#: What a file may say of an engine of any kind; neither is a setting of it.
ENGINE_KEYS = ("template", "requires")
