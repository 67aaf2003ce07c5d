"""From a specification to a run: its gold sets loaded, its engines made and asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.corpus import parse_spec
from assay.errors import ConfigError
from assay.experiment.cells.keeping import Keeper
from assay.experiment.executing.given import Executor, Given
from assay.experiment.places.place import Missing
from assay.experiment.running.asking import Tell
from assay.experiment.running.matrix import How, asked_now, is_timed, matrix
from assay.experiment.running.turns import run
from assay.experiment.spec import FILE, Spec, load_spec, override, recipe_of
from assay.experiment.spec.claim import check_suite, chosen_names
from assay.gold import TagRule, join, load_gold
from assay.types import CorpusSpec, Gold, Run, Suite


def load_suite(spec: Spec) -> Suite:
    """Load the gold sets of a specification."""
    if not spec.gold:
        raise ConfigError("no gold set is named", hint="use --gold PATH or --gold stdlib, or begin with `assay init`")
    rules = [TagRule.parse(text) for text in spec.tags]
    corpus = parse_spec(spec.corpus) if spec.corpus else None
    suite = join([load_on(source, corpus, tags=rules) for source in spec.gold])
    check_suite(spec.cluster, suite)
    return suite


def run_spec(
    spec: Spec,
    suite: Suite,
    *,
    missing: Missing | None = None,
    progress: Tell | None = None,
    how: How | None = None,
) -> Run:
    """Run a checked specification over loaded gold; the claim it was made for goes with it.

    Where it measures times, engines take turns in this process; else its cells are run by a fleet.
    """
    if is_timed(spec, how):
        return _take_turns(spec, suite, missing, progress, how or How())
    return matrix(spec, suite, missing=missing, progress=progress, how=how).run


def run_experiment(
    file: str | Path = FILE,
    *,
    executor: Executor | None = None,
    only: Sequence[str] = (),
    sets: Sequence[str] = (),
    fresh: bool = False,
) -> Run:
    """Run the experiment of an assay.toml; `only` names engines, `sets` has `table.key=value` texts as --set does.

    With an executor (anything with `submit(function, *args)` that gives a future, in threads, processes or on a
    cluster) its workers ask the cells; without one, processes on this machine do, or engines take turns where times
    are measured. Nothing is written but what is kept in the cache.
    """
    spec = load_spec(Path(file), sets=sets)
    names = chosen_names(list(only), list(spec.all_engines()), "only") if only else ()
    chosen = override(spec, only=names)
    how = How(fleet=Given(executor) if executor is not None else None, fresh=fresh)
    return run_spec(chosen, load_suite(chosen), how=how)


def _take_turns(spec: Spec, suite: Suite, missing: Missing | None, progress: Tell | None, how: How) -> Run:
    """Run engines that take turns, with what is there."""
    asked = asked_now(spec)
    engines = {subject.name: recipe_of(spec, subject.name, suite).make() for subject in asked.run}
    keeper = Keeper(how.folder, fresh=how.fresh) if how.folder else None
    made = run(
        engines,
        suite,
        k=spec.k,
        forms=spec.forms or None,
        split=spec.split,
        timeout=spec.timeout,
        index_timeout=spec.index_timeout,
        give_up=spec.give_up,
        threads=spec.threads or None,
        interleave=spec.interleave,
        missing=missing,
        progress=progress,
        keeper=keeper,
        variations={s.name: s.variation for s in asked.run if s.variation},
    )
    return replace(made, header=replace(made.header, claim=spec.claim(), skipped=asked.skipped))


def load_on(
    source: str,
    corpus: CorpusSpec | None,
    *,
    format: str | None = None,  # noqa: A002  # as load_gold has it
    tags: Sequence[TagRule] = (),
) -> Suite:
    """Load gold sets on a corpus named on the command line; each set of a folder names it from its own file."""
    suite = load_gold(source, format=format, corpus=corpus, tags=tags)
    golds = [replace(gold, corpus=_named_from(gold, corpus)) for gold in suite.golds]
    return replace(suite, golds=tuple(golds))


def _named_from(gold: Gold, given: CorpusSpec | None) -> CorpusSpec:
    """Write the corpus that was given as the file of a set would; one the set names itself stays."""
    own = gold.corpus
    if given is None or gold.source is None or (own.kind, own.value) != (given.kind, given.value):
        return own
    return beside(own, gold.source) or own


def beside(corpus: CorpusSpec | None, source: str) -> CorpusSpec | None:
    """Write a folder named on the command line as the gold file would: relative to itself, the same on any machine."""
    if corpus is None or corpus.kind not in ("path", "git") or "://" in corpus.value or not Path(corpus.value).exists():
        return corpus
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    return replace(corpus, value=os.path.relpath(corpus.value, folder))
