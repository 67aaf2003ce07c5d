"""assay.toml: what to run, on what, and which claim will be made of it."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.errors import ConfigError, meant
from assay.experiment.claim import BASELINE, about, check_claim, make_measures
from assay.gold.loading import SHIPPED
from assay.redaction import declare
from assay.toml import line_of, read_toml
from assay.types import TIME_LIMITS, Claim, Suite

if TYPE_CHECKING:
    from assay.engines.base import FullEngine
    from assay.experiment.recipe import Recipe

FILE = "assay.toml"

#: Engines that every table carries: the floor, what a careful grep finds, and the reachable ceiling.
REFERENCES = ("random", "keywords", "oracle")
_USUAL = Claim((), BASELINE)


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
    margin: float = _USUAL.margin
    alpha: float = _USUAL.alpha
    seed: int = _USUAL.seed
    timeout: float = TIME_LIMITS.query  # seconds for one query
    index_timeout: float = TIME_LIMITS.index  # seconds to open an engine on one corpus
    give_up: int = 10  # time-outs in a row after which an engine is not asked any more on that corpus; 0: never
    threads: int = 0  # processors that every engine has; 0: all there are
    interleave: bool = True  # engines take turns at every question; false: one is open at a time
    out: str = "results"
    references: bool = True  # add random, keywords and oracle
    engines: Mapping[str, Mapping[str, Any] | str] = field(default_factory=dict)
    file: str | None = None  # the file it was read from; not a key of it

    @property
    def folder(self) -> Path:
        """What relative paths in engine settings start from."""
        return Path(self.file).parent if self.file else Path()

    def all_engines(self) -> dict[str, Mapping[str, Any] | str]:
        """The engines under test and the references, in the order they are shown."""
        own = dict(self.engines) or {"builtin": "builtin"}
        return own | {name: name for name in REFERENCES if self.references and name not in own}

    def claim(self) -> Claim:
        """What will be said of the run."""
        measures = make_measures(self.k, self.primary or None, self.measures)
        names = list(self.all_engines())
        baseline = self.baseline or (BASELINE if BASELINE in names else names[0])
        return Claim(measures, baseline, self.margin, self.alpha, self.seed)


#: The tables of a file. [search] is read by `assay search` and its kin (`search.settings`); no run depends on it.
TABLES = ("run", "engines", "search")
#: What a file may say under [run].
KEYS = tuple(f.name for f in fields(Spec) if f.name not in ("engines", "file"))


def read_spec(path: Path) -> Spec:
    """Read assay.toml; paths in it are relative to its folder."""
    file = read_toml(path, hint="make one with `assay init`")
    text, data = file.text, file.data
    _check_keys(data, TABLES, path, text, "")
    run = data.get("run", {})
    engines = data.get("engines", {})
    if not isinstance(run, dict) or not isinstance(engines, dict):
        raise ConfigError(
            "[run] and [engines.NAME] are tables", file=path, hint="see `assay init` for a commented file"
        )
    _check_keys(run, KEYS, path, text, "run")
    values: dict[str, Any] = {key: _typed(key, value, path, text) for key, value in run.items()}
    declare(engines)
    for name, table in engines.items():
        if not isinstance(table, dict) or not {"kind", "preset"} & set(table):
            raise ConfigError(
                f"engine {name!r} has neither kind nor preset",
                file=path,
                line=locate(text, f"engines.{name}"),
                hint='add kind = "command" (or another), or preset = "semble"; `assay engines` lists both',
            )
    return check(_placed(Spec(**values, engines=engines, file=str(path)), path.parent), path, text)


def _placed(spec: Spec, folder: Path) -> Spec:
    """Make the paths of a file relative to where the command runs."""
    gold = tuple(source if source in SHIPPED else str(folder / source) for source in spec.gold)
    corpus = str(folder / spec.corpus) if spec.corpus and (folder / spec.corpus).is_dir() else spec.corpus
    return replace(spec, gold=gold, corpus=corpus, out=str(folder / spec.out))


def check(spec: Spec, path: Path | None = None, text: str = "") -> Spec:
    """Refuse a specification that cannot give a result, before anything runs."""
    try:
        for key in ("k", "timeout", "index_timeout"):
            if not getattr(spec, key) > 0:
                raise ConfigError(f"{key} = {getattr(spec, key)}", hint=f"{key} is more than 0")
        for key in ("give_up", "threads"):
            if getattr(spec, key) < 0:
                raise ConfigError(f"{key} = {getattr(spec, key)}", hint=f"{key} is 0 or more")
        _check_names(spec.engines)
        check_claim(spec.claim(), spec.k, list(spec.all_engines()))
    except ConfigError as error:
        if error.file or not text:
            raise
        line = locate(text, "run", about(error))
        raise ConfigError(error.message, file=path, line=line, hint=error.hint) from error
    return spec


def _check_names(engines: Mapping[str, Mapping[str, Any] | str]) -> None:
    """Keep the names of the references for themselves: every table and sentence relies on them."""
    for name, engine in engines.items():
        kind = engine.partition(":")[0] if isinstance(engine, str) else engine.get("kind")
        if name in REFERENCES and kind != name:
            raise ConfigError(f"{name} is the name of a reference engine", hint="give your engine a name of its own")


def _check_keys(table: Mapping[str, Any], known: Sequence[str], path: Path, text: str, where: str) -> None:
    """Refuse unknown keys: a dead knob is worse than none."""
    for key in table:
        if key not in known:
            hint = meant(key, known) or f"known here: {', '.join(known)}"
            shown = f"[{where}] {key}" if where else f"[{key}]"
            raise ConfigError(f"unknown key {shown}", file=path, line=locate(text, where, key), hint=hint)


def _typed(key: str, value: object, path: Path, text: str) -> object:
    """Check a value against its default's type; a single string stands for a list of one."""
    texts = {"corpus", "primary", "baseline", "out"}
    lists = {"gold", "tags", "forms", "split", "measures"}
    if key in lists:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return tuple(items)
        wanted = "a list of strings"
    elif key in texts:
        if isinstance(value, str):
            return value
        wanted = "a string"
    elif key in {"references", "interleave"}:
        if isinstance(value, bool):
            return value
        wanted = "true or false"
    else:
        whole = key in {"k", "seed", "give_up", "threads"}
        if isinstance(value, int if whole else int | float) and not isinstance(value, bool):
            return value
        wanted = "a whole number" if whole else "a number"
    raise ConfigError(f"{key} = {value!r}", file=path, line=locate(text, "run", key), hint=f"{key} is {wanted}")


def locate(text: str, table: str, key: str | None = None) -> int | None:
    """Find the line of a table or of a key in it."""
    return line_of(text, ".".join(part for part in (table, key) if part))


def override(spec: Spec, **changes: object) -> Spec:
    """Replace what flags name; None means the flag was not given."""
    return check(replace(spec, **{key: value for key, value in changes.items() if value is not None}))  # type: ignore[arg-type]  # checked by `check`


def engine_table(
    specs: Sequence[str], declared: Mapping[str, Mapping[str, Any] | str] | None = None
) -> dict[str, Mapping[str, Any] | str]:
    """Read `NAME=SPEC` or `SPEC` flags into an engine table; an engine that the file declares goes before others."""
    table: dict[str, Mapping[str, Any] | str] = {}
    for text in specs:
        name, equals, rest = text.partition("=")
        named = bool(equals) and re.fullmatch(r"[\w.-]+", name) is not None
        alone = Path(text).stem if text.endswith(".toml") else text.partition(":")[0]
        label, spec = (name, rest) if named else (alone, text)
        if label in table:
            raise ConfigError(f"two engines are called {label!r}", hint="give each a name: --engine NAME=SPEC")
        table[label] = (declared or {}).get(spec, spec)
    return table


def make_engines(spec: Spec, suite: Suite) -> dict[str, FullEngine]:
    """Make every engine of a specification; what is wrong with one is told with its name, file and line."""
    return {name: recipe_of(spec, name, suite).make() for name in spec.all_engines()}


def recipe_of(spec: Spec, name: str, suite: Suite | None = None) -> Recipe:
    """Say how one of its engines is made; a table is always the file's, flags are texts."""
    from assay.experiment.recipe import Recipe

    settings = spec.all_engines()[name]
    file = spec.file if isinstance(settings, Mapping) else None
    return Recipe(settings, spec.folder, spec.seed, suite, name, file)
