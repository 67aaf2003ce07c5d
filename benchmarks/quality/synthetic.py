"""Sentences of documentation as questions, made by `assay gold synth` of packages and of the visible repositories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from assay.corpus import open_corpus
from assay.errors import AssayError
from assay.gold import load_gold
from assay.gold.synth import synthesize, write_sets
from assay.types import CorpusSpec, GoldSet
from benchmarks.quality.sources import say, scratch

#: Ten sets: five packages, five languages of the visible half. Weights were tuned on others, but looked at here too.
PACKAGES: Final = ("click==8.5.1", "werkzeug==3.1.9", "sqlalchemy==2.1.8", "networkx==3.6.1", "pygments==2.21.0")
REPORTED: Final = ("axum", "gin", "gson", "zod", "ktor")


@dataclass(frozen=True, slots=True)
class Synthetic:
    """A set and the repository it was made of."""

    gold: GoldSet
    home: str


@dataclass(frozen=True, slots=True)
class Made:
    """The sets that could be made here, and what is missing."""

    sets: tuple[Synthetic, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Origin:
    """What a set is made of."""

    name: str
    corpus: CorpusSpec


def reported(visible: Sequence[GoldSet]) -> Made:
    """Make the ten sets that results are about."""
    packages = [_Origin(name, CorpusSpec("pypi", pin, root=name)) for pin, name in _packages()]
    here = {gold.name: _Origin(gold.name, _rooted(gold.corpus)) for gold in visible}
    made = _made([*packages, *(here[name] for name in REPORTED if name in here)])
    absent = tuple(
        say(f"{name}-synthetic-doc is left out: {name} is not here") for name in REPORTED if name not in here
    )
    return replace(made, notes=(*made.notes, *absent))


def kept_for_tuning(visible: Sequence[GoldSet]) -> Made:
    """Make the sets of the other visible repositories."""
    return _made([_Origin(gold.name, _rooted(gold.corpus)) for gold in visible if gold.name not in REPORTED])


def _packages() -> Iterator[tuple[str, str]]:
    """Pair each pin with the name of its package, which is also that of its folder."""
    return ((pin, pin.partition("==")[0]) for pin in PACKAGES)


def _rooted(spec: CorpusSpec) -> CorpusSpec:
    """Make the folder that is indexed the root: what is above it is no part of a path's words."""
    folders = [glob.removesuffix("/**") for glob in spec.include]
    return replace(spec, include=(), root=folders[0]) if folders else spec


def _made(origins: Sequence[_Origin]) -> Made:
    """Make sets; what cannot be made is said loudly and left out."""
    sets, notes = [], []
    for origin in origins:
        try:
            found = _written(origin)
        except AssayError as error:
            notes.append(say(f"{origin.name}-synthetic-doc is left out: {error.message}"))
            continue
        sets += [Synthetic(found, origin.name)] if found else []
        notes += [] if found else [say(f"{origin.name}-synthetic-doc is left out: it has no documented definitions")]
    return Made(tuple(sets), tuple(notes))


def _written(origin: _Origin) -> GoldSet | None:
    """Draw sentences, and write the corpus without them: they are asked on that."""
    sets = synthesize(open_corpus(origin.corpus), name=origin.name, kinds=("doc",))
    files = write_sets(sets, Path(scratch().name, "synthetic", origin.name))
    return load_gold(files[0]).golds[0] if files else None
