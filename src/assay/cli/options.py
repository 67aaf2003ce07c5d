"""Flags that several commands share, and the objects that they name."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.output import info, warn, write_result
from assay.errors import ConfigError, SetupError

if TYPE_CHECKING:
    from assay.chat import Endpoint
    from assay.experiment.spec import Spec
    from assay.experiment.spec.model import EngineFactory
    from assay.report.explorer.excerpts import PagePlan
    from assay.types import AnalysisPlan, Corpus, CorpusSpec, Query, Run, Suite
    from assay.web.server import Route, WebServer


def claim_flags(args: Namespace) -> dict[str, Any]:
    """Return the values of the analysis plan's flags; None for flags that are absent."""
    names = {"primary": "primary", "baseline": "baseline", "margin": "margin", "alpha": "alpha", "seed": "seed"}
    given = {key: getattr(args, flag, None) for key, flag in {**names, "cluster": "cluster_by"}.items()}
    return given | {"measures": tuple(measures) if (measures := getattr(args, "measure", None)) else None}


def claim_for(run: Run, args: Namespace) -> AnalysisPlan:
    """Return the analysis plan of a run, changed by the flags."""
    from assay.experiment.spec.model import (
        analysis_plan_of,
        change_plan,
        check_plan,
        check_suite,
        resolve_family,
        split_names,
    )

    names = [*(engine.name for engine in run.engines), *run.header.skipped]
    claim = change_plan(analysis_plan_of(run), run.k, **claim_flags(args))
    family = getattr(args, "family", None)
    if family is not None:
        claim = replace(claim, family=resolve_family(split_names(family, names), names, claim.baseline))
    check_suite(claim.cluster, run.suite)
    return check_plan(claim, run.k, names)


def given_flags(args: Namespace, *names: str) -> dict[str, Any]:
    """Return the flags that were given."""
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def reject_flags(args: Namespace, purpose: str, *flags: str) -> None:
    """Raise ConfigError for a flag that has no effect here."""
    for flag in given_flags(args, *flags):
        raise ConfigError(f"--{flag.replace('_', '-')} means nothing for {purpose}", hint="leave it out")


def read_results(text: str) -> Run:
    """Read the run in a directory."""
    from assay.experiment import read_run

    path = Path(text)
    if not path.is_dir():
        problem = "is a file, not a folder of results" if path.exists() else "no such folder"
        raise ConfigError(problem, file=path, hint="name the folder that `assay run --out` wrote")
    return read_run(path)


def log_look(args: Namespace, run: Run, command: str) -> None:
    """Log the access to the sealed queries of a run whose results are shown again."""
    from assay.gold.split import sealed_queries

    sealed = sum(len(sealed_queries(gold)) for gold in run.suite.golds)
    if not sealed:
        return
    from assay.gold.load import log_reaccess

    if not log_reaccess(run.suite, command, [engine.name for engine in run.engines]):
        info(args, f"{sealed} sealed queries are in this run; their gold file is not here, so the look is not logged")


def split_today(suite: Suite) -> Suite:
    """Tag the queries of a run with the splits that their gold sets have now."""
    from assay.gold.load import reload_set
    from assay.gold.split import TAG, split_of

    golds = []
    for gold in suite.golds:
        now = reload_set(gold)
        parts = {query.id: split_of(query) for query in now.queries} if now else {}
        tagged = [replace(q, tags={**q.tags, TAG: part}) if (part := parts.get(q.id)) else q for q in gold.queries]
        golds.append(replace(gold, queries=tuple(tagged)))
    return replace(suite, golds=tuple(golds))


def report_plan(args: Namespace, spec: Spec | None = None) -> PagePlan:
    """Return the contents of report.html by the flags and [report] of assay.toml, that of this directory by default."""
    from assay.experiment.corpora import CorpusTexts
    from assay.experiment.tracing import trace_queries
    from assay.report.explorer.page import page_plan

    plan = page_plan(
        spec or load_config(None),
        max_size=getattr(args, "max_size", None),
        no_source=getattr(args, "no_source", False),
        traces=getattr(args, "traces", None),
    )
    return replace(plan, texts=CorpusTexts, tracer=trace_queries)


def question_flags(args: Namespace) -> dict[str, Any]:
    """Return the values of the flags of `add_questions`; None for flags that are absent."""
    return {
        "gold": tuple(args.gold) if args.gold else None,
        "corpus": args.corpus,
        "tags": tuple(args.tag) if args.tag else None,
        "k": args.k,
        "phrasings": split_list(args.phrasings),
    }


def split_list(text: str | None) -> tuple[str, ...] | None:
    """Split a comma-separated list; None if it is absent."""
    return tuple(part.strip() for part in text.split(",")) if text else None


def config_file(config: str | None) -> Path | None:
    """Return the path of the given assay.toml, or of the one in this directory, or None."""
    from assay.experiment.spec import FILE

    if config:
        return Path(config)
    return Path(FILE) if Path(FILE).is_file() else None


def load_config(config: str | None) -> Spec:
    """Load the given assay.toml, or the one in this directory, or the defaults."""
    from assay.experiment.spec import load_spec

    return load_spec(config_file(config))


def load_experiment(args: Namespace) -> Spec:
    """Load the experiment that --config or --preset names, changed by --set."""
    from assay.experiment.spec import load_spec

    if args.preset and args.config:
        hint = f'write extends = "preset:{args.preset}" into {args.config}'
        raise ConfigError("--preset and --config are two experiments", hint=hint)
    return load_spec(None if args.preset else config_file(args.config), preset=args.preset, sets=args.set)


def endpoint_of(args: Namespace) -> Endpoint | None:
    """Return the endpoint of the flags, if one is given."""
    from assay.chat import Endpoint

    if bool(args.endpoint) != bool(args.model):
        raise ConfigError("--endpoint and --model go together", hint="such as --endpoint URL --model qwen3")
    if args.token_env and not args.endpoint:
        raise ConfigError("--token-env means nothing without --endpoint", hint="name the endpoint, or leave it out")
    return Endpoint(args.endpoint, args.model, args.token_env) if args.endpoint else None


def find_engine(text: str, config: str | None) -> EngineFactory:
    """Return the factory of an engine that assay.toml declares, else of a kind, `kind:value`, a preset or a file."""
    from assay.experiment.spec import engine_factory, load_spec
    from assay.experiment.spec.model import EngineFactory
    from assay.experiment.spec.variants import with_environment

    path = config_file(config)
    if path:
        spec = load_spec(path)
        if text in spec.engines or spec.entry(text) is not None:
            return engine_factory(spec, text)
    return EngineFactory(with_environment(text))


@dataclass(frozen=True, slots=True)
class NamedCorpus:
    """A corpus, and the gold set that names it, if one was given."""

    corpus: Corpus
    ours: Callable[[str], bool]  # whether a path is a gold or configuration file, which engines must not return
    suite: Suite | None = None
    queries: tuple[Query, ...] = ()  # anchors resolved
    notes: tuple[str, ...] = ()


def find_corpus(path: str | None, gold: str | None, config: str | None) -> NamedCorpus:
    """Open the corpus at the path, or that of the gold set, or this directory."""
    from assay.corpus import parse_spec

    if not gold:
        spec = parse_spec(path or ".")
        return NamedCorpus(open_without_ours(spec, config), frozenset(_own_files(spec, config)).__contains__)
    from assay.experiment.corpora import prepare
    from assay.gold import load_gold
    from assay.gold.split import select

    suite = select(load_gold(gold, corpus=path or None), ()).suite
    if len(suite.golds) != 1:
        names = ", ".join(one.name for one in suite.golds)
        raise ConfigError(f"{gold} holds {len(suite.golds)} gold sets: {names}", hint="name one of its files")
    prepared = prepare(suite.golds[0], None, None, "report")
    missing = prepared.problems
    notes = (f"{len(missing)} targets of the gold set are not in this corpus, e.g. {missing[0]}",) if missing else ()
    return NamedCorpus(prepared.corpus, prepared.is_own, suite, prepared.gold.queries, notes)


def open_without_ours(corpus: CorpusSpec, config: str | None) -> Corpus:
    """Open a corpus without assay.toml and its gold files, under its original name."""
    from assay.corpus import open_corpus

    return replace(open_corpus(without_ours(corpus, config)), spec=corpus)


def without_ours(corpus: CorpusSpec, config: str | None) -> CorpusSpec:
    """Exclude assay.toml and the gold files that it names from a corpus."""
    from assay.experiment.corpora import exclude_paths

    return exclude_paths(corpus, _own_files(corpus, config))


def _own_files(corpus: CorpusSpec, config: str | None) -> list[str]:
    from assay.experiment.corpora import own_files, paths_inside
    from assay.experiment.spec import load_spec

    path = config_file(config)
    return paths_inside(corpus, None, own_files(load_spec(path))) if path else []


def serve_until_stopped(
    args: Namespace, routes: Sequence[Route], path: str, facts: Mapping[str, object], last: Path | None
) -> None:
    """Serve the routes until Ctrl-C, after printing the address of a path; `last` is a file that keeps the port."""
    with listen(args, routes, last) as server:
        url = server.address(path)
        if args.json:
            write_result(json.dumps({"schema": "assay/serve/1", "url": url, **facts}))
        else:
            write_result(url)
            text = (
                "open this address in a browser on this machine; it is a key, so keep it to yourself. Ctrl-C ends it."
            )
            info(args, text)
        if args.open:
            open_page(args, url, "the address")
        server.wait()


def listen(args: Namespace, routes: Sequence[Route], last: Path | None = None) -> WebServer:
    """Start the server; reuse the port in the file `last`, under which open pages stored unsaved votes."""
    from assay.files import write_atomic
    from assay.web.server import LOOPBACK, serve

    host = LOOPBACK[0] if args.host is None else args.host
    before = 0
    if last and args.port is None:
        with suppress(OSError, ValueError):
            before = int(last.read_text("ascii"))
    if not 0 < before < 1 << 16:
        before = 0
    try:
        server = serve(routes, port=args.port or before, host=host)
    except SetupError:
        if not before:
            raise
        server = serve(routes, host=host)
        warn(f"port {before}, where this review was before, is taken; pages that are open there wait for it")
    if last:
        write_atomic(last, f"{server.port}\n")
    return server


def open_page(args: Namespace, url: str, name: str) -> None:
    """Open a page in a browser, or print that there is none."""
    import webbrowser

    if not webbrowser.open(url):
        info(args, f"no browser was found; open {name} yourself")
