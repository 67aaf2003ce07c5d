"""An engine and its variants as a specification that can be run: it is the baseline of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from assay.engines.kinds import Part, parts_of
from assay.errors import ConfigError, meant
from assay.experiment import spec as specs
from assay.experiment.spec import Spec, Sweep, with_engines
from assay.experiment.spec.claim import chosen_names
from assay.experiment.spec.subjects import declared_engines

LEAVE_ONE_OUT = "leave-one-out"


@dataclass(frozen=True, slots=True)
class Change:
    """A name, and the dotted settings in which an engine differs."""

    name: str
    changes: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Base:
    """The engine that is varied, alone in a specification of its own."""

    spec: Spec
    name: str
    settings: Mapping[str, Any]


def find_base(spec: Spec, name: str | None) -> Base:
    """Find the engine that is meant: the one that is named, else the only one there is."""
    if name is None and len(spec.engines) > 1:
        raise ConfigError(f"there are several engines: {', '.join(spec.engines)}", hint="name the one that is meant")
    alone = with_engines(spec, [name or next(iter(spec.engines), "builtin")])
    called, engine = next(iter(declared_engines(alone).items()))
    alone = replace(alone, references=False, baseline=called, family=(), only=(), tables=())
    return Base(alone, called, _table(engine.settings))


def _table(settings: Mapping[str, Any] | str) -> Mapping[str, Any]:
    """Write an engine as the table that it would be in assay.toml."""
    from assay.engines import table_of

    return table_of(settings) if isinstance(settings, str) else settings


def spec_with(base: Base, variants: Sequence[Change]) -> Spec:
    """Put variants beside an engine; what is wrong with one is told before anything runs.

    Nobody asks here how long anything takes, so cells may run side by side unless the file wants times.
    """
    declared = {one.name: specs.Variant(base.name, dict(one.changes)) for one in variants}
    return specs.check(replace(base.spec, variants=declared, times=base.spec.times or False))


@dataclass(frozen=True, slots=True)
class Parts:
    """An engine, and what can be left out of it."""

    base: Base
    parts: tuple[Part, ...]


def find_parts(spec: Spec, name: str | None) -> Parts:
    """Find what is taken apart: a leave-one-out sweep by its name, or an engine by its own parts or its sweep."""
    sweeps = {key: sweep for key, sweep in spec.sweeps.items() if sweep.way == LEAVE_ONE_OUT}
    if name in sweeps:
        return _of_sweep(spec, sweeps[name])
    if name is not None and name in spec.sweeps:
        raise ConfigError(
            f"the sweep {name!r} goes its way as {spec.sweeps[name].way}", hint=f'way = "{LEAVE_ONE_OUT}"'
        )
    base = find_base(spec, name)
    own = parts_of(base.settings)
    of_engine = {key: sweep for key, sweep in sweeps.items() if sweep.engine == base.name}
    if not own and len(of_engine) == 1:
        return _of_sweep(spec, next(iter(of_engine.values())))
    if not own:
        known = meant(base.name, of_engine) or ", ".join(of_engine)
        hint = (
            f"name one: {known}" if of_engine else f'[sweeps.NAME] with way = "{LEAVE_ONE_OUT}" and parts in assay.toml'
        )
        raise ConfigError(f"nobody says what {base.name} is made of", hint=hint)
    return Parts(base, own)


def only_parts(found: Parts, patterns: Sequence[str]) -> Parts:
    """Keep the parts that names or globs mean; no pattern means all."""
    names = chosen_names(patterns, [part.name for part in found.parts], "--only", kind="part")
    return replace(found, parts=tuple(part for part in found.parts if part.name in names)) if patterns else found


def _of_sweep(spec: Spec, sweep: Sweep) -> Parts:
    """Take the parts that a sweep names."""
    return Parts(find_base(spec, sweep.engine), tuple(Part(name, off) for name, off in sweep.parts.items()))
