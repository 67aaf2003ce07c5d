"""assay.toml: what to run, on what, and which claim will be made of it."""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from assay.errors import ConfigError
from assay.gold.loading import SHIPPED
from assay.types import Run

FILE = "assay.toml"

#: Engines that every table carries: the floor, what a careful grep finds, and the reachable ceiling.
REFERENCES = ("random", "keywords", "oracle")

_CLAIM = ("k", "measures", "primary", "baseline", "margin", "alpha", "seed")


@dataclass(frozen=True, slots=True)
class Spec:
    """One experiment. Every default is the one DESIGN.md argues for."""

    gold: tuple[str, ...] = ()
    corpus: str | None = None  # for gold formats that name none
    tags: tuple[str, ...] = ()  # such as difficulty=hard:101-127
    k: int = 10  # results asked for; no measure may look further
    forms: tuple[str, ...] = ()  # none: all that the gold set has
    measures: tuple[str, ...] = ()  # none: the usual ones at k
    primary: str = ""  # none: nDCG at k
    baseline: str = "keywords"
    margin: float = 0.02  # the smallest difference anybody would act on
    alpha: float = 0.05
    seed: int = 0
    timeout: float = 60.0  # seconds for one query
    index_timeout: float = 3600.0  # seconds to open an engine on one corpus
    out: str = "results"
    references: bool = True  # add random, keywords and oracle
    engines: Mapping[str, Mapping[str, Any] | str] = field(default_factory=dict)

    def all_engines(self) -> dict[str, Mapping[str, Any] | str]:
        """The engines under test and the references, in the order they are shown."""
        own = dict(self.engines) or {"builtin": "builtin"}
        return own | {name: name for name in REFERENCES if self.references and name not in own}

    def primary_measure(self) -> str:
        """The measure that verdicts are about."""
        return self.primary or f"nDCG@{self.k}"

    def all_measures(self) -> tuple[str, ...]:
        """Every measure that is reported, the primary one first."""
        first = self.primary_measure()
        k = self.k
        usual = (f"RR@{k}", f"Hit@{min(5, k)}", f"R@{k}", f"nDCG(level=lines)@{k}", "RecallAtTokens(2000)")
        return (first, *(m for m in self.measures or usual if m != first))


def to_header(spec: Spec) -> dict[str, object]:
    """Keep what later commands need to make the same claim; engines have their own records."""
    return {f.name: getattr(spec, f.name) for f in fields(Spec) if f.name in _CLAIM}


def from_run(run: Run) -> Spec:
    """Take up the claim that a run was made for, over the engines it has."""
    kept: Any = run.header.get("spec", {"k": run.k})
    values: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in kept.items()}
    return Spec(**values, engines={e.name: e.name for e in run.engines}, references=False)


def read_spec(path: Path) -> Spec:
    """Read assay.toml; paths in it are relative to its folder."""
    text = _text(path)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"line (\d+)", str(error))
        line = int(found.group(1)) if found else None
        raise ConfigError(f"not TOML: {error}", file=path, line=line, hint="fix the syntax at that line") from error
    _check_keys(data, {"run": None, "engines": None}, path, text, "")
    run = data.get("run", {})
    engines = data.get("engines", {})
    if not isinstance(run, dict) or not isinstance(engines, dict):
        raise ConfigError(
            "[run] and [engines.NAME] are tables", file=path, hint="see `assay init` for a commented file"
        )
    known = {f.name: f for f in fields(Spec) if f.name != "engines"}
    _check_keys(run, known, path, text, "run")
    values: dict[str, Any] = {key: _typed(key, value, path, text) for key, value in run.items()}
    for name, table in engines.items():
        if not isinstance(table, dict) or "kind" not in table:
            raise ConfigError(
                f"engine {name!r} has no kind",
                file=path,
                line=locate(text, f"engines.{name}"),
                hint='add kind = "command" (or builtin, keywords, python, runfile, random, oracle)',
            )
    return check(_placed(Spec(**values, engines=engines), path.parent), path, text)


def _placed(spec: Spec, folder: Path) -> Spec:
    """Make the paths of a file relative to where the command runs."""
    gold = tuple(source if source == SHIPPED else str(folder / source) for source in spec.gold)
    return replace(spec, gold=gold, out=str(folder / spec.out))


def check(spec: Spec, path: Path | None = None, text: str = "") -> Spec:
    """Refuse a specification that cannot give a result, before anything runs."""
    from assay.scoring import parse_measure

    def refuse(key: str, hint: str) -> ConfigError:
        line = locate(text, "run", key) if text else None
        return ConfigError(f"{key} = {getattr(spec, key)!r}", file=path, line=line, hint=hint)

    ranges = {
        "k": (spec.k >= 1, "at least 1"),
        "margin": (0 < spec.margin < 1, "between 0 and 1"),
        "alpha": (0 < spec.alpha < 1, "between 0 and 1"),
        "timeout": (spec.timeout > 0, "more than 0 seconds"),
        "index_timeout": (spec.index_timeout > 0, "more than 0 seconds"),
        "seed": (spec.seed >= 0, "0 or more"),
    }
    for key, (fine, wanted) in ranges.items():
        if not fine:
            raise refuse(key, f"{key} is {wanted}")
    deepest = max(parse_measure(m).depth for m in spec.all_measures())
    if deepest > spec.k:
        raise refuse("k", f"a measure looks at {deepest} results: ask for k = {deepest}, or lower its cut-off")
    if spec.baseline not in spec.all_engines():
        raise refuse("baseline", f"name an engine of this run: {', '.join(spec.all_engines())}")
    return spec


def _text(path: Path) -> str:
    """Read a configuration file as UTF-8."""
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", file=path, hint="make one with `assay init`") from error
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise ConfigError("not UTF-8", file=path, line=line, hint="save the file as UTF-8") from error


def _check_keys(table: Mapping[str, Any], known: Mapping[str, Any], path: Path, text: str, where: str) -> None:
    """Refuse unknown keys: a dead knob is worse than none."""
    for key in table:
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known here: {', '.join(known)}"
            shown = f"[{where}] {key}" if where else f"[{key}]"
            raise ConfigError(f"unknown key {shown}", file=path, line=locate(text, where, key), hint=hint)


def _typed(key: str, value: object, path: Path, text: str) -> object:
    """Check a value against its default's type; a single string stands for a list of one."""
    texts = {"corpus", "primary", "baseline", "out"}
    lists = {"gold", "tags", "forms", "measures"}
    if key in lists:
        items = [value] if isinstance(value, str) else value
        if isinstance(items, list) and all(isinstance(item, str) for item in items):
            return tuple(items)
        wanted = "a list of strings"
    elif key in texts:
        if isinstance(value, str):
            return value
        wanted = "a string"
    elif key == "references":
        if isinstance(value, bool):
            return value
        wanted = "true or false"
    else:
        whole = key in {"k", "seed"}
        if isinstance(value, int if whole else int | float) and not isinstance(value, bool):
            return value
        wanted = "a whole number" if whole else "a number"
    raise ConfigError(f"{key} = {value!r}", file=path, line=locate(text, "run", key), hint=f"{key} is {wanted}")


def locate(text: str, table: str, key: str | None = None) -> int | None:
    """Find the line of a table or of a key in it; tomllib gives no positions."""
    inside = table == ""
    for number, line in enumerate(text.splitlines(), start=1):
        header = re.match(r"\s*\[\[?\s*([^\]]+?)\s*\]", line)
        if header:
            name = header.group(1).replace('"', "").replace("'", "")
            inside = name == table
            if (inside and key is None) or (table == "" and name.partition(".")[0] == key):
                return number
        elif inside and key is not None and re.match(rf"\s*[\"']?{re.escape(key)}[\"']?\s*[=.]", line):
            return number
    return None


def override(spec: Spec, **changes: object) -> Spec:
    """Replace what flags name; None means the flag was not given."""
    return check(replace(spec, **{key: value for key, value in changes.items() if value is not None}))  # type: ignore[arg-type]  # checked by `check`


def engine_table(specs: Sequence[str]) -> dict[str, Mapping[str, Any] | str]:
    """Read `NAME=SPEC` or `SPEC` flags into an engine table."""
    table: dict[str, Mapping[str, Any] | str] = {}
    for text in specs:
        name, equals, rest = text.partition("=")
        named = bool(equals) and re.fullmatch(r"[\w.-]+", name) is not None
        label, spec = (name, rest) if named else (text.partition(":")[0], text)
        if label in table:
            raise ConfigError(f"two engines are called {label!r}", hint="give each a name: --engine NAME=SPEC")
        table[label] = spec
    return table
