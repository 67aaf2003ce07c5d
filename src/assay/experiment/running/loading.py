"""The gold sets of an experiment, on the corpora that it names."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from assay.corpus import parse_spec
from assay.errors import ConfigError
from assay.experiment.spec import Spec
from assay.experiment.spec.claim import check_suite
from assay.gold import TagRule, join, load_gold
from assay.types import CorpusSpec, Gold, Suite


def load_suite(spec: Spec) -> Suite:
    """Load the gold sets of a specification."""
    if not spec.gold:
        raise ConfigError("no gold set is named", hint="use --gold PATH or --gold stdlib, or begin with `assay init`")
    rules = [TagRule.parse(text) for text in spec.tags]
    corpus = parse_spec(spec.corpus) if spec.corpus else None
    suite = join([load_on(source, corpus, tags=rules) for source in spec.gold])
    check_suite(spec.cluster, suite)
    return suite


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
