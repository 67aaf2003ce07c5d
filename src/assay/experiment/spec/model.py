"""The specification of an experiment as records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from assay.errors import AssayError, ConfigError, did_you_mean
from assay.settings import read_settings, unknown_name
from assay.types import TIME_LIMITS, AnalysisPlan, Run, Suite, VariantInfo

if TYPE_CHECKING:
    from assay.engines.base import FullEngine


#: Engines that every table carries: the floor, what a careful grep finds, and the reachable ceiling.
REFERENCES = ("random", "keywords", "oracle")
#: What a run without a declared baseline is compared with: what a careful grep finds.
BASELINE = "keywords"


def default_measures(k: int) -> tuple[str, ...]:
    """Give the measures of a run that declares none, the primary one first."""
    files = (f"nDCG@{k}", f"RR@{k}", f"Hit@{min(5, k)}", f"R@{k}")
    return (*files, f"nDCG(level=lines)@{k}", f"SpanR(iou=0.3)@{k}", "RecallAtTokens(2000)")


def make_measures(k: int, primary: str | None, others: Sequence[str]) -> tuple[str, ...]:
    """Put the primary measure first, under full names, each once."""
    from assay.scoring import parse_measure

    usual = default_measures(k)
    named = [primary or usual[0], *(others or usual)]
    return tuple(dict.fromkeys(repr(parse_measure(name)) for name in named))


def claim_of(run: Run) -> AnalysisPlan:
    """Give the claim that a run was made for; one that came without gets the usual one."""
    names = [engine.name for engine in run.engines]
    baseline = BASELINE if BASELINE in names else names[0]
    return run.header.claim or AnalysisPlan(make_measures(run.k, None, ()), baseline)


def changed(
    claim: AnalysisPlan,
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
) -> AnalysisPlan:
    """Change what is given; None leaves it as it is."""
    given: dict[str, object] = {"baseline": baseline, "margin": margin, "alpha": alpha, "seed": seed}
    given |= {"cluster": cluster, "family": None if family is None else tuple(family)}
    kept = measures if measures is not None else claim.measures
    named = make_measures(k, primary or claim.primary, kept)
    return replace(claim, measures=named, **{key: value for key, value in given.items() if value is not None})  # type: ignore[arg-type]  # names and types are those of the record


def check_claim(claim: AnalysisPlan, k: int, engines: Sequence[str]) -> AnalysisPlan:
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
            hint = did_you_mean(pattern, names) or f"there are: {', '.join(names)}"
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


FILE = "assay.toml"

#: Tables that a report may carry beside the usual ones.
TABLE_NAMES = ("matrix", "bootstrap", "forest", "ranks", "pairs")
#: The tables of a file. [search] is read by `assay search` and its kin (`search.settings`); no run depends on it.
TABLES = ("run", "engines", "variants", "sweeps", "tune", "ledger", "report", "search")
_USUAL = AnalysisPlan((), BASELINE)

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
class ConfigLocation:
    """Where an engine, a variant or a key is declared."""

    file: str | None = None
    line: int | None = None
    folder: Path = Path()  # where relative paths in its settings begin
    flags: tuple[str, ...] = ()  # the --set flags that changed it


@dataclass(frozen=True, slots=True)
class RunEntry:
    """One engine that is run under a name of its own."""

    name: str
    settings: Settings
    variation: VariantInfo | None = None
    requires: tuple[str, ...] = ()
    place: ConfigLocation = ConfigLocation()


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
    places: Mapping[str, ConfigLocation] = field(
        default_factory=dict, repr=False
    )  # "variants.no-stem" -> where it stands
    _made: dict[str, RunEntry] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def folder(self) -> Path:
        """What relative paths in engine settings start from, where nobody declared the engine elsewhere."""
        return Path(self.file).parent if self.file else Path()

    @property
    def timed(self) -> bool:
        """Whether engines take turns and are timed; else cells run side by side, without times."""
        return not (self.variants or self.sweeps or self.jobs is not None) if self.times is None else self.times

    def subjects(self) -> tuple[RunEntry, ...]:
        """Give everything that runs, in the order shown: engines, variants, sweeps, references."""
        if not self._made:  # a sweep has up to 10,000 points, and everybody asks
            from assay.experiment.spec.variants import expand

            self._made.update((subject.name, subject) for subject in expand(self))
        return tuple(self._made.values())

    def subject(self, name: str) -> RunEntry | None:
        """Find what runs by name."""
        if not self._made:
            self.subjects()
        return self._made.get(name)

    def all_engines(self) -> dict[str, Settings]:
        """Give what runs by name, in the order it is shown."""
        return {subject.name: subject.settings for subject in self.subjects()}

    def claim(self) -> AnalysisPlan:
        """Say what will be said of the run."""
        measures = make_measures(self.k, self.primary or None, self.measures)
        names = [subject.name for subject in self.subjects()]
        baseline = self.baseline or (BASELINE if BASELINE in names else names[0])
        family = resolved_family(self.family, names, baseline)
        return AnalysisPlan(measures, baseline, self.margin, self.alpha, self.seed, family, self.cluster, self.tables)


_NO_KEYS = ("engines", "variants", "sweeps", "tune", "ledger", "report", "only", "file", "files", "places", "_made")
#: What a file may say under [run].
KEYS = tuple(f.name for f in fields(Spec) if f.name not in _NO_KEYS)
#: What a file may say of a variant and of a sweep.
VARIANT_KEYS = tuple(f.name for f in fields(Variant))
SWEEP_KEYS = tuple(f.name for f in fields(Sweep))
#: What a file may say of an engine of any kind; neither is a setting of it.
ENGINE_KEYS = ("template", "requires")


@dataclass(frozen=True, slots=True)
class EngineFactory:
    """What `make_engine` makes an engine of."""

    spec: str | Mapping[str, object]
    folder: Path = Path()  # where its relative paths begin
    seed: int = 0
    suite: Suite | None = field(default=None, repr=False)
    name: str = ""  # what it is called, if it is
    file: str | None = None  # the assay.toml that declares it under that name
    line: int | None = None  # where, if that is known
    flags: tuple[str, ...] = ()  # the --set flags that changed its settings

    def make(self) -> FullEngine:
        """Make it; what is wrong with it is told with its name and where it is declared."""
        from assay.engines import make_engine

        try:
            return make_engine(self.spec, suite=self.suite, seed=self.seed, folder=self.folder)
        except ConfigError as error:
            raise self._told(error) from error

    def check(self) -> None:
        """Check its settings alone, where making it would need what this machine lacks."""
        try:
            _check_settings(self.spec, self.folder)
        except ConfigError as error:
            raise self._told(error) from error

    def _told(self, error: ConfigError) -> ConfigError:
        message = f"{self.name}: {error.message}" if self.name else error.message
        flag = self._blamed(error)
        if flag:
            return ConfigError(f"{flag}: {message}", hint=error.hint)
        file, line = (error.file, error.line) if error.file else (self.file, error.line or self.line)
        return ConfigError(message, file=file, line=line, hint=error.hint)

    def _blamed(self, error: ConfigError) -> str | None:
        words = set(re.findall(r"[\w-]+", error.message))

        def blamed(flag: str) -> bool:
            table, _, *names = re.findall(r"[\w-]+", flag.partition("=")[0].removeprefix("--set "))
            path = names if table == "engines" else names[1:]  # after `set` or `knobs`
            return bool(path) and (words.issuperset(path) or any(f"'{name}'" in error.message for name in path))

        return next((flag for flag in reversed(self.flags) if blamed(flag)), None)


def _check_settings(spec: str | Mapping[str, object], folder: Path) -> None:
    from assay.engines import KINDS, engine_table
    from assay.engines.presets import add_location, load_preset, preset_settings

    table = engine_table(spec) if isinstance(spec, str) else spec
    rest = {name: value for name, value in table.items() if name not in ("kind", "preset")}
    preset = load_preset(str(table["preset"]), folder) if "preset" in table else None
    kind = preset.kind if preset else str(table["kind"])
    if kind not in KINDS:
        raise unknown_name("unknown kind of engine", kind, sorted(KINDS), "kinds")
    record = KINDS[kind].settings_class()
    try:
        read_settings(record, preset_settings(preset, rest) if preset else rest, f"engine {kind}")
    except ConfigError as problem:
        raise (add_location(problem, preset, rest) if preset else problem) from problem


def check_writable(names: Iterable[str]) -> None:
    """Refuse a name that no file can hold, before anybody is asked under it."""
    for name in names:
        try:
            name.encode("utf-8")
        except UnicodeEncodeError as error:
            raise ConfigError(
                f"{name!a} is no name of an engine: character {error.start + 1} is half of a pair",
                hint="give it a name in letters that UTF-8 can write",
            ) from error


T = TypeVar("T")


def read_table(record: type[T], spec: Spec, name: str, values: Mapping[str, object]) -> T:
    """Build a record from a table of a specification; a key that is unknown or of the wrong type is an error."""
    try:
        return read_settings(record, values, f"[{name}]")
    except ConfigError as error:
        raise placed(error, spec, name, values) from error


def placed(error: ConfigError, spec: Spec, name: str, values: Mapping[str, object]) -> ConfigError:
    """Tell a mistake in a table where the key stands that its message names, or by the flag that said it last."""
    words = re.findall(r"[\w-]+", error.message)
    keys = sorted((key for key in values if key in words), key=words.index)
    place = next((spec.places[f"{name}.{key}"] for key in keys if f"{name}.{key}" in spec.places), None)
    if place and place.flags:
        return ConfigError(f"{place.flags[-1]}: {error.message}", hint=error.hint)
    file, line = (place.file, place.line) if place else (spec.file, None)
    return ConfigError(error.message, file=file, line=line, hint=error.hint)
