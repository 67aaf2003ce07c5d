"""An engine and a corpus as the command line names them, for the commands that put one engine to the test."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from assay.cli.common.specs import config_file
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.experiment.places.place import Place
    from assay.experiment.spec.recipe import Recipe
    from assay.types import Corpus, CorpusSpec, Query, Suite


@dataclass(frozen=True, slots=True)
class NamedCorpus:
    """The corpus to ask on, and the gold set that names it, if one was given."""

    corpus: Corpus
    suite: Suite | None = None
    queries: tuple[Query, ...] = ()  # anchors resolved
    notes: tuple[str, ...] = ()
    ours: Callable[[str], bool] = field(default=lambda _: False)


def add_subject(parser: argparse.ArgumentParser) -> None:
    """Add the flags that name the engine's configuration and a gold set."""
    parser.add_argument("--gold", metavar="PATH", help="a gold set: its queries, its targets and its corpus")
    parser.add_argument("--config", metavar="FILE", help="an assay.toml whose engines may be named (this folder's)")


def engine_named(text: str, config: str | None) -> Recipe:
    """Find an engine: one that assay.toml names, with its seed, else a kind, `kind:value`, a preset or its file."""
    from assay.experiment.spec import load_spec, recipe_of
    from assay.experiment.spec.environment import with_environment
    from assay.experiment.spec.recipe import Recipe

    path = config_file(config)
    if path:
        spec = load_spec(path)
        if text in spec.engines or spec.subject(text) is not None:
            return recipe_of(spec, text)
    return Recipe(with_environment(text))


def corpus_named(path: str | None, gold: str | None, config: str | None) -> NamedCorpus:
    """Open the corpus that is named, or that a gold set names; by default this folder."""
    from assay.corpus import parse_spec

    if gold:
        return _on_gold(gold, path)
    spec = parse_spec(path or ".")
    own = frozenset(_own_files(spec, config))
    return NamedCorpus(open_without_ours(spec, config), ours=own.__contains__)


def open_without_ours(corpus: CorpusSpec, config: str | None) -> Corpus:
    """Open a corpus without the files that no engine finds in a run either; it keeps the name that it was given."""
    from assay.corpus import open_corpus

    return replace(open_corpus(without_ours(corpus, config)), spec=corpus)


def without_ours(corpus: CorpusSpec, config: str | None) -> CorpusSpec:
    """Leave assay.toml and the gold files that it names out of a corpus."""
    from assay.experiment.places.own_files import hidden

    return hidden(corpus, _own_files(corpus, config))


def _own_files(corpus: CorpusSpec, config: str | None) -> list[str]:
    """List assay.toml and the gold files that it names, as paths of a corpus."""
    from assay.experiment.places.own_files import files_of, inside
    from assay.experiment.spec import load_spec

    path = config_file(config)
    return inside(corpus, None, files_of(load_spec(path))) if path else []


def _on_gold(source: str, path: str | None) -> NamedCorpus:
    """Open a gold set's corpus; sealed queries stay sealed."""
    from assay.experiment.places.place import prepare
    from assay.gold import load_gold
    from assay.gold.split import select

    suite = select(load_gold(source, corpus=path or None), ()).suite
    if len(suite.golds) != 1:
        names = ", ".join(gold.name for gold in suite.golds)
        raise ConfigError(f"{source} holds {len(suite.golds)} gold sets: {names}", hint="name one of its files")
    place = prepare(suite.golds[0], None, None, "report")
    return NamedCorpus(place.corpus, suite, place.gold.queries, _problems(place), place.is_ours)


def _problems(place: Place) -> tuple[str, ...]:
    """Say what of the gold set does not fit its corpus."""
    found = place.problems
    return (f"{len(found)} targets of the gold set are not in this corpus, e.g. {found[0]}",) if found else ()
