"""From a specification to a run: its gold sets loaded, its engines made and asked."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.corpus import parse_spec
from assay.errors import ConfigError
from assay.experiment.asking import Tell
from assay.experiment.places import Missing
from assay.experiment.runner import run
from assay.experiment.spec import Spec, make_engines
from assay.gold import TagRule, join, load_gold
from assay.types import CorpusSpec, Gold, Run, Suite


def load_suite(spec: Spec) -> Suite:
    """Load the gold sets of a specification."""
    if not spec.gold:
        raise ConfigError("no gold set is named", hint="use --gold PATH or --gold stdlib, or begin with `assay init`")
    rules = [TagRule.parse(text) for text in spec.tags]
    corpus = parse_spec(spec.corpus) if spec.corpus else None
    return join([load_on(source, corpus, tags=rules) for source in spec.gold])


def run_spec(spec: Spec, suite: Suite, *, missing: Missing | None = None, progress: Tell | None = None) -> Run:
    """Run a checked specification over loaded gold; the claim it was made for goes with it."""
    made = run(
        make_engines(spec, suite),
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
    )
    return replace(made, header=replace(made.header, claim=spec.claim()))


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
