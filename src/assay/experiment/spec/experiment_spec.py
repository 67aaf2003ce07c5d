"""Specification of an experiment: the settings of assay.toml and their checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from assay.errors import ConfigError
from assay.experiment.spec.analysis_plan import (
    BASELINE,
    at_level,
    check_plan,
    default_baseline,
    known_names,
    make_measures,
    resolve_family,
)
from assay.experiment.spec.engine_entries import (
    REFERENCES,
    ConfigLocation,
    RunEntry,
    Settings,
    check_encodable,
    declared_engines,
    find_duplicates,
    is_template,
    location_of,
)
from assay.experiment.spec.variants import Sweep, Variant, expand
from assay.types import TIME_LIMITS, AnalysisPlan, Suite

FILE = "assay.toml"
#: The tables of the file. [search] belongs to `assay search`; no run depends on it.
TABLES = ("run", "engines", "variants", "sweeps", "tune", "ledger", "report", "search")
#: Optional tables of a report.
TABLE_NAMES = ("matrix", "bootstrap", "forest", "ranks")
#: Engines up to which times are measured by default: more are compared for quality, faster in parallel.
MAX_TIMED = 3
_DEFAULTS = AnalysisPlan((), BASELINE)


@dataclass(frozen=True, slots=True)
class Spec:
    """Settings of one experiment."""

    gold: tuple[str, ...] = ()
    corpus: str | None = None  # for gold formats that name none
    tags: tuple[str, ...] = ()  # such as difficulty=hard:101-127
    k: int = 10  # results per query; no measure may have a larger cutoff
    phrasings: tuple[str, ...] = ()  # default: all phrasings of the gold set
    split: tuple[str, ...] = ()  # dev, test, sealed; default: all but sealed
    measures: tuple[str, ...] = ()  # default: the usual ones at k
    level: Literal["auto", "file", "lines"] = "auto"  # of the default measures; auto: as the gold sets need
    primary: str = ""  # default: nDCG at k
    baseline: str = ""  # default: `default_baseline`
    family: tuple[str, ...] = ()  # names or globs of the engines that get a verdict; default: all but the baseline
    cluster: str = _DEFAULTS.cluster  # independent unit: auto, repository, intent or tag:NAME
    margin: float = _DEFAULTS.margin
    alpha: float = _DEFAULTS.alpha
    seed: int = _DEFAULTS.seed
    timeout: float = TIME_LIMITS.query  # seconds per query
    index_timeout: float = TIME_LIMITS.index  # seconds to open an engine on one corpus
    max_timeouts: int = 10  # consecutive timeouts after which an engine is skipped on that corpus; 0: never
    threads: int = 0  # processors per engine; 0: all
    interleave: bool = True  # alternate engines query by query; false: one engine at a time
    times: bool | None = None  # None: measured with up to three engines, unless variants, sweeps or jobs are declared
    jobs: int | None = None  # worker processes; 0: one per processor; None: not set
    tables: tuple[str, ...] = ()  # of TABLE_NAMES
    out: str = "results"
    references: bool = True  # add random, keywords and oracle
    auto_level: bool = False  # the level was resolved from the gold sets, with the usual measures
    engines: Mapping[str, Settings] = field(default_factory=dict)
    variants: Mapping[str, Variant] = field(default_factory=dict)
    sweeps: Mapping[str, Sweep] = field(default_factory=dict)
    # Tables that are checked by the commands that use them.
    tune: Mapping[str, Any] = field(default_factory=dict)
    ledger: Mapping[str, Any] = field(default_factory=dict)
    report: Mapping[str, Any] = field(default_factory=dict)
    only: tuple[str, ...] = ()  # names of the entries to run now; default: all
    file: str | None = None
    files: tuple[str, ...] = ()  # `file` and the files that it extends
    locations: Mapping[str, ConfigLocation] = field(default_factory=dict, repr=False)  # by `variants.no-stem`
    _entries: dict[str, RunEntry] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def directory(self) -> Path:
        """Base of relative paths in engine settings without a location."""
        return Path(self.file).parent if self.file else Path()

    @property
    def timed(self) -> bool:
        """Whether engines are interleaved and timed; otherwise cells run in parallel, without times."""
        if self.times is not None:
            return self.times
        return not (self.variants or self.sweeps or self.jobs is not None or len(self.engines) > MAX_TIMED)

    def entries(self) -> tuple[RunEntry, ...]:
        """Return the entries of the run in the order shown: engines, variants, sweeps, references."""
        if not self._entries:  # cached: a sweep has up to 10,000 points
            self._entries.update((entry.name, entry) for entry in _list_entries(self))
        return tuple(self._entries.values())

    def entry(self, name: str) -> RunEntry | None:
        self.entries()
        return self._entries.get(name)

    def names(self) -> list[str]:
        return [entry.name for entry in self.entries()]

    def tested(self) -> list[str]:
        """Return the engines under test: all but the references that [engines] does not declare."""
        return [name for name in self.names() if name not in REFERENCES or name in self.engines]

    def analysis_plan(self) -> AnalysisPlan:
        measures = make_measures(self.k, self.primary or None, self.measures, self.level)
        names, tested = self.names(), self.tested()
        baseline = self.baseline or default_baseline(tested, names)
        family = resolve_family(self.family, names, baseline)
        if not family and BASELINE in self.engines and baseline != BASELINE:  # named, so no mere reference
            family = tuple(name for name in tested if name != baseline)
        return AnalysisPlan(
            measures,
            baseline,
            self.margin,
            self.alpha,
            self.seed,
            family,
            self.cluster,
            self.tables,
            self.auto_level,
        )


def resolve_level(
    spec: Spec, suite: Suite, *, primary: str | None = None, measures: Sequence[str] | None = None
) -> Spec:
    """Return `spec` with the level of the gold sets for "auto", and with measures of flags at that level by default."""
    level = suite.level if spec.level == "auto" else spec.level
    named = at_level([primary] if primary else [], level) or (spec.primary,)
    usual = spec.level == "auto" and not (primary or measures or spec.primary or spec.measures)
    return replace(
        spec,
        level=level,
        primary=named[0],
        measures=at_level(measures or (), level) or spec.measures,
        auto_level=spec.auto_level or usual,
    )


def check(spec: Spec) -> Spec:
    """Return the specification; raise ConfigError for an invalid value."""
    for key in ("k", "timeout", "index_timeout"):
        if not getattr(spec, key) > 0:
            message = f"{key}: expected a positive number, got {getattr(spec, key)}"
            raise ConfigError(message, hint=f"the default is {getattr(Spec(), key):g}", keys=[key])
    for key in ("max_timeouts", "threads", "jobs"):
        if (getattr(spec, key) or 0) < 0:
            message = f"{key}: expected 0 or more, got {getattr(spec, key)}"
            raise ConfigError(message, hint=f"remove {key} to use the default", keys=[key])
    check_encodable(spec.engines)
    for name, engine in spec.engines.items():
        kind = engine.partition(":")[0] if isinstance(engine, str) else engine.get("kind")
        if name in REFERENCES and kind != name:
            raise ConfigError(f"{name!r} is the name of a reference engine", hint="choose another name")
    if spec.times and spec.jobs is not None:
        hint = "remove one of them: parallel engines affect each other's times"
        raise ConfigError("times = true cannot be combined with jobs", hint=hint, keys=["times"])
    for name in spec.tables:
        if name not in TABLE_NAMES:
            raise ConfigError(f"tables = {name!r}: unknown table", hint=known_names(name, TABLE_NAMES), keys=["tables"])
    for entry, other in find_duplicates(spec, declared_engines(spec).values()):
        if entry.name in spec.variants:
            message = f"{entry.name} has the same settings as {other.name}"
            raise entry.location.error(message, "change a setting, or remove the variant")
    names = spec.names()
    for name in spec.only:
        if name not in names:
            raise ConfigError(f"only = {name!r}: unknown engine", hint=known_names(name, names))
    check_plan(spec.analysis_plan(), spec.k, names)
    return spec


def override(spec: Spec, **changes: object) -> Spec:
    """Replace fields of a specification and check it; None leaves a field unchanged."""
    return check(replace(spec, **{key: value for key, value in changes.items() if value is not None}))  # type: ignore[arg-type]  # checked by `check`


def _list_entries(spec: Spec) -> tuple[RunEntry, ...]:
    declared = declared_engines(spec)
    own = [entry for name, entry in declared.items() if not is_template(spec, name)]
    if spec.variants or spec.sweeps:
        own += expand(spec, declared)
    if not own:
        location = location_of(spec, f"engines.{next(iter(declared))}")
        raise location.error("no engine to run: all engines are templates", "declare a variant, or remove template")
    by_name: dict[str, RunEntry] = {}
    for entry in own:
        if entry.name in REFERENCES and entry.variation:
            raise entry.location.error(f"{entry.name!r} is the name of a reference engine", "choose another name")
        if other := by_name.get(entry.name):
            where = f": the other is at {other.location.file}:{other.location.line}" if other.location.file else ""
            hint = 'rename one of them; in a sweep, put a setting in the name: name = "...{setting}..."'
            raise entry.location.error(f"duplicate engine name {entry.name!r}{where}", hint)
        by_name[entry.name] = entry
    references = [RunEntry(name, name) for name in REFERENCES if spec.references and name not in by_name]
    return (*own, *references)
