"""Specification of an experiment: its settings, analysis plan and engines."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar, cast

from assay.errors import AssayError, ConfigError, did_you_mean
from assay.experiment.records.codec import config_hash
from assay.experiment.records.merge import RetainedEngine
from assay.experiment.spec.variants import (
    REFERENCES,
    ConfigLocation,
    RunEntry,
    Settings,
    Sweep,
    Variant,
    declared_engines,
    expand,
    location_of,
    parse_override,
    reject_duplicates,
    settings_table,
)
from assay.redaction import make_redactor
from assay.settings import iter_leaves, read_settings, split_key, unknown_name
from assay.types import TIME_LIMITS, AnalysisPlan, ResultLevel, Run, Suite

if TYPE_CHECKING:
    from assay.engines.base import FullEngine

FILE = "assay.toml"
#: The tables of the file. [search] belongs to `assay search`; no run depends on it.
TABLES = ("run", "engines", "variants", "sweeps", "tune", "ledger", "report", "search")
#: Optional tables of a report.
TABLE_NAMES = ("matrix", "bootstrap", "forest", "ranks")
#: The baseline of a run that declares none.
BASELINE = "keywords"
#: Engines up to which times are measured by default: more are compared for quality, faster in parallel.
MAX_TIMED = 3
_DEFAULTS = AnalysisPlan((), BASELINE)

T = TypeVar("T")


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
            self._entries.update((entry.name, entry) for entry in expand(self))
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
        return AnalysisPlan(measures, baseline, self.margin, self.alpha, self.seed, family, self.cluster, self.tables)


_OTHER_FIELDS = (
    *("engines", "variants", "sweeps", "tune", "ledger", "report", "only", "file", "files", "locations", "_entries"),
)
#: The keys of [run], [variants.NAME] and [sweeps.NAME].
KEYS = tuple(f.name for f in fields(Spec) if f.name not in _OTHER_FIELDS)
VARIANT_KEYS = tuple(f.name for f in fields(Variant))
SWEEP_KEYS = tuple(f.name for f in fields(Sweep))


def resolve_level(
    spec: Spec, suite: Suite, *, primary: str | None = None, measures: Sequence[str] | None = None
) -> Spec:
    """Return `spec` with the level of the gold sets for "auto", and with measures of flags at that level by default."""
    level = suite.level if spec.level == "auto" else spec.level
    named = at_level([primary] if primary else [], level) or (spec.primary,)
    return replace(spec, level=level, primary=named[0], measures=at_level(measures or (), level) or spec.measures)


def at_level(measures: Iterable[str], level: str) -> tuple[str, ...]:
    """Return the full names of measures, with `level` for those that name no level."""
    from assay.scoring.measures import default_level, parse_measure

    return tuple(repr(default_level(parse_measure(name), level)) for name in measures)


def make_measures(k: int, primary: str | None, others: Sequence[str], level: str = "file") -> tuple[str, ...]:
    """Return the full names of the measures, the primary one first; without `others`, the usual ones at k."""
    from assay.scoring import parse_measure

    usual = [f"nDCG@{k}", f"RR@{k}", f"Hit@{min(5, k)}", f"R@{k}"]
    if level == "lines":
        by_lines = [f"nDCG(level=lines)@{k}", f"RR(level=lines)@{k}", f"Hit(level=lines)@{min(5, k)}"]
        usual = [*by_lines, f"R(level=lines)@{k}", usual[0], f"SpanR(iou=0.3)@{k}", "RecallAtTokens(2000)"]
    named = [primary or usual[0], *(others or usual)]
    return tuple(dict.fromkeys(repr(parse_measure(name)) for name in named))


def default_baseline(tested: Sequence[str], names: Sequence[str]) -> str:
    """Return the first of two tested engines, or keywords for one; empty means the runner-up of more engines."""
    if len(tested) > 2:
        return ""
    return tested[0] if len(tested) == 2 else BASELINE if BASELINE in names else names[0]


def analysis_plan_of(run: Run) -> AnalysisPlan:
    """Return the analysis plan of a run; the default plan if the run declares none."""
    names = [engine.name for engine in run.engines]
    tested = [engine.name for engine in run.engines if engine.role == "candidate"]
    baseline = default_baseline(tested, names)
    return run.header.claim or AnalysisPlan(make_measures(run.k, None, (), run.suite.level), baseline)


def change_plan(
    plan: AnalysisPlan,
    k: int,
    *,
    measures: Sequence[str] | None = None,
    primary: str | None = None,
    level: str | None = None,
    family: Sequence[str] | None = None,
    **others: Any,  # noqa: ANN401 - values of fields of the plan
) -> AnalysisPlan:
    """Return a plan with some fields changed; None leaves a field unchanged."""
    changes = {key: value for key, value in others.items() if value is not None}
    if family is not None:
        changes["family"] = tuple(family)
    if level or primary or measures:
        from assay.scoring import parse_measure

        chosen = level or parse_measure(plan.primary).level
        named = at_level(measures, chosen) if measures else () if level else plan.measures
        first = at_level([primary], chosen)[0] if primary else None if level else plan.primary
        changes["measures"] = make_measures(k, first, named, chosen)
    return replace(plan, **changes)


def check_plan(plan: AnalysisPlan, k: int, engines: Sequence[str]) -> AnalysisPlan:
    """Return the plan; raise ConfigError if the engines or k of the run do not fit."""
    from assay.scoring import parse_measure
    from assay.stats.config import CompareSettings, compare_options

    CompareSettings(**compare_options(plan))
    deepest = max(parse_measure(measure).depth for measure in plan.measures)
    if deepest > k:
        hint = "increase k, or lower the cutoff of the measure"
        raise ConfigError(f"k = {k}: a measure needs {deepest} results", hint=hint, keys=["k"])
    if plan.baseline and plan.baseline not in engines:
        message = f"baseline = {plan.baseline!r} is not an engine of this run"
        raise ConfigError(message, hint=_known(plan.baseline, engines), keys=["baseline"])
    match_names(plan.family, engines, "family")
    if plan.baseline in plan.family:
        hint = "remove it: the other engines are compared with the baseline"
        raise ConfigError(f"family contains the baseline {plan.baseline!r}", hint=hint, keys=["family"])
    return plan


def check_suite(cluster: str, suite: Suite) -> None:
    """Raise ConfigError for a cluster tag that no query has."""
    from assay.stats.config import check_tag

    check_tag(cluster, (tag for gold in suite.golds for query in gold.queries for tag in query.tags))


def resolve_family(patterns: Sequence[str], engines: Sequence[str], baseline: str) -> tuple[str, ...]:
    """Return the engines that match names or globs; globs never match the baseline or a reference."""
    return match_names(patterns, engines, "family", exclude=(baseline, *REFERENCES))


def match_names(
    patterns: Sequence[str], names: Sequence[str], key: str, *, exclude: Sequence[str] = (), kind: str = "engine"
) -> tuple[str, ...]:
    """Return the `names` that match names or globs; raise ConfigError for a pattern without a match."""
    chosen: set[str] = set()
    for pattern in patterns:
        matched = {pattern} & set(names) or {n for n in names if n not in exclude and fnmatchcase(n, pattern)}
        if not matched:
            raise ConfigError(f"{key} = {pattern!r} matches no {kind}", hint=_known(pattern, names), keys=[key])
        chosen |= matched
    return tuple(name for name in names if name in chosen)


def split_names(text: str, names: Sequence[str]) -> tuple[str, ...]:
    """Split a comma-separated list, except at the commas of a known name such as `w:a=1,b=2`."""
    pieces = [piece.strip() for piece in text.split(",")]
    found, start = [], 0
    while start < len(pieces):
        ends = (end for end in range(len(pieces), start, -1) if ",".join(pieces[start:end]) in names)
        end = next(ends, start + 1)
        found.append(",".join(pieces[start:end]))
        start = end
    return tuple(filter(None, found))


def check(spec: Spec) -> Spec:
    """Return the specification; raise ConfigError for an invalid value."""
    for key in ("k", "timeout", "index_timeout"):
        if not getattr(spec, key) > 0:
            raise ConfigError(f"{key} = {getattr(spec, key)}", hint=f"set {key} to a positive number", keys=[key])
    for key in ("max_timeouts", "threads", "jobs"):
        if (getattr(spec, key) or 0) < 0:
            raise ConfigError(f"{key} = {getattr(spec, key)}", hint=f"set {key} to 0 or more", keys=[key])
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
            raise ConfigError(f"tables = {name!r}: unknown table", hint=_known(name, TABLE_NAMES), keys=["tables"])
    reject_duplicates(spec)
    names = spec.names()
    for name in spec.only:
        if name not in names:
            raise ConfigError(f"only = {name!r}: unknown engine", hint=_known(name, names))
    check_plan(spec.analysis_plan(), spec.k, names)
    return spec


def _known(name: str, names: Iterable[str]) -> str:
    return did_you_mean(name, names) or f"known: {', '.join(names)}"


def check_encodable(names: Iterable[str]) -> None:
    """Raise ConfigError for a name that UTF-8 cannot encode."""
    for name in names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            message = f"engine name {name!a}: character {error.start + 1} is a lone surrogate"
            raise ConfigError(message, hint="choose a name that can be written as UTF-8") from error


def override(spec: Spec, **changes: object) -> Spec:
    """Replace fields of a specification and check it; None leaves a field unchanged."""
    return check(replace(spec, **{key: value for key, value in changes.items() if value is not None}))  # type: ignore[arg-type]  # checked by `check`


def read_table(record: type[T], spec: Spec, name: str, values: Mapping[str, object]) -> T:
    """Build a record from a table such as [tune]; errors name the flag, or the file and line."""
    try:
        return read_settings(record, values, f"[{name}]")
    except ConfigError as error:
        raise locate_error(error, spec, name) from error


def locate_error(error: ConfigError, spec: Spec, name: str) -> ConfigError:
    """Return the error with the flag, or the file and line, that set its first key."""
    keys = [f"{name}.{split_key(key)[0]}" for key in error.keys]
    location = next((spec.locations[key] for key in keys if key in spec.locations), None)
    if location and location.flags:
        flag = location.flags[-1]
        return ConfigError(f"{flag}: {error.message}", hint=error.hint, flag=flag)
    file, line = (location.file, location.line) if location else (spec.file, None)
    return ConfigError(error.message, file=file, line=line, hint=error.hint)


@dataclass(frozen=True, slots=True)
class EngineFactory:
    """Arguments of `make_engine`, and the location that errors name."""

    spec: str | Mapping[str, object]
    directory: Path = Path()  # base of relative paths
    seed: int = 0
    suite: Suite | None = field(default=None, repr=False)
    name: str = ""
    file: str | None = None  # the file that declares the engine
    line: int | None = None
    flags: tuple[str, ...] = ()  # the --set flags that changed its settings
    level: ResultLevel | None = None  # None: that of the suite

    def make(self) -> FullEngine:
        """Make the engine; errors name the engine and its file, line or flag."""
        from assay.engines import make_engine

        try:
            return make_engine(self.spec, suite=self.suite, seed=self.seed, directory=self.directory, level=self.level)
        except ConfigError as error:
            raise self._locate(error) from error

    def check(self) -> None:
        """Check the settings without making the engine, because its tools may be missing."""
        from assay.engines import KINDS
        from assay.engines.presets import add_location, load_preset, preset_settings

        try:
            table = settings_table(self.spec)
            rest = {name: value for name, value in table.items() if name not in ("kind", "preset")}
            preset = load_preset(str(table["preset"]), self.directory) if "preset" in table else None
            kind = preset.kind if preset else str(table["kind"])
            if kind not in KINDS:
                raise unknown_name("unknown kind of engine", kind, sorted(KINDS), "kinds", keys=["kind"])
            settings = preset_settings(preset, rest) if preset else rest
            try:
                read_settings(KINDS[kind].settings_class(), settings, f"engine {kind}")
            except ConfigError as error:
                raise (add_location(error, preset, rest) if preset else error) from error
        except ConfigError as error:
            raise self._locate(error) from error

    def _locate(self, error: ConfigError) -> ConfigError:
        message = f"{self.name}: {error.message}" if self.name else error.message
        faults = [split_key(key) for key in error.keys]
        for flag in reversed(self.flags):
            if any(fault[: len(path)] == path[: len(fault)] for path in _changed_settings(flag) for fault in faults):
                return ConfigError(f"{flag}: {message}", hint=error.hint, flag=flag)
        file, line = (error.file, error.line) if error.file else (self.file, error.line or self.line)
        return ConfigError(message, file=file, line=line, hint=error.hint)


def _changed_settings(flag: str) -> Iterator[tuple[str, ...]]:
    for (table, _, *names), _ in iter_leaves(parse_override(flag.removeprefix("--set "))):
        # in a variant or a sweep, dotted keys of settings follow `set` or `params`
        path = names if table == "engines" else [part for key in names[1:] for part in split_key(key)]
        if path:
            yield tuple(path)


def engine_factory(spec: Spec, name: str, suite: Suite | None = None) -> EngineFactory:
    """Return the factory of a run entry or a declared engine."""
    entry = spec.entry(name) or declared_engines(spec)[name]
    at, level = entry.location, None if spec.level == "auto" else spec.level
    return EngineFactory(entry.settings, at.directory, spec.seed, suite, entry.name, at.file, at.line, at.flags, level)


def make_engines(spec: Spec, suite: Suite) -> dict[str, FullEngine]:
    """Make the engines of all entries."""
    return {name: engine_factory(spec, name, suite).make() for name in spec.names()}


def retained_engines(spec: Spec, suite: Suite) -> dict[str, RetainedEngine]:
    """Return the engines that may keep rows of an earlier run, with the hashes of their current settings.

    Without `--only` all engines run, so the result is empty.
    """

    def retained(name: str) -> RetainedEngine:
        try:
            engine = engine_factory(spec, name, suite).make()
        except AssayError:
            return RetainedEngine()
        config = cast(Mapping[str, object], make_redactor(engine.secrets).value(engine.config))
        return RetainedEngine(config_hash(config), engine.fingerprint)

    if not spec.only:
        return {}
    return {name: RetainedEngine() if name in spec.only else retained(name) for name in spec.names()}


def parse_engine_flags(flags: Sequence[str]) -> dict[str, str]:
    """Parse `NAME=SPEC` or `SPEC` flags into texts by name."""
    labeled: dict[str, str] = {}
    for text in flags:
        label, equals, spec = text.partition("=")
        if not equals or not re.fullmatch(r"[\w.-]+", label):
            label, spec = Path(text).stem if text.endswith(".toml") else text.partition(":")[0], text
        if label in labeled:
            raise ConfigError(f"two engines are called {label!r}", hint="give each a name: --engine NAME=SPEC")
        labeled[label] = spec
    return labeled


def with_engines(spec: Spec, flags: Sequence[str]) -> Spec:
    """Replace all engines, variants and sweeps by the engines that flags name, which may be templates."""
    declared = without_template_keys(spec.engines)
    labeled = parse_engine_flags(flags)
    engines = {}
    for label, text in labeled.items():
        set_by_flags = label in declared and location_of(spec, f"engines.{label}").by_flags
        engines[label] = declared[label] if set_by_flags else declared.get(text, text)
    named = {label: text for label, text in labeled.items() if text in declared}
    moved = {f"engines.{label}": location_of(spec, f"engines.{text}") for label, text in named.items()}
    return replace(spec, engines=engines, variants={}, sweeps={}, locations={**spec.locations, **moved})


def without_template_keys(engines: Mapping[str, Settings]) -> dict[str, Settings]:
    """Return the engines without their `template` keys."""
    return {
        name: settings if isinstance(settings, str) else {k: v for k, v in settings.items() if k != "template"}
        for name, settings in engines.items()
    }
