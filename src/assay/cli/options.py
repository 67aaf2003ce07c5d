"""Read the values of flags that several commands share."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import K_MEASURES, require_flag
from assay.cli.console import info, warn, write_result
from assay.errors import ConfigError, GoldError, SetupError
from assay.experiment import read_run
from assay.experiment.spec import FILE, Spec, load_spec
from assay.experiment.spec.analysis_plan import (
    analysis_plan_of,
    change_plan,
    check_plan,
    check_suite,
    resolve_family,
    split_names,
)
from assay.experiment.spec.engine_entries import parse_engine_flags
from assay.files import find_upward, write_atomic
from assay.types import AnalysisPlan, GoldSet, Run, Suite

# Gold sets, corpora and pages are imported where they are used: `assay gate` needs none of them.
if TYPE_CHECKING:
    from assay.chat import Endpoint
    from assay.report.explorer.html_page import PageOptions
    from assay.web.web_server import Route, WebServer


def plan_flags(args: Namespace) -> dict[str, Any]:
    """Return the values of the analysis plan's flags; None for flags that are absent."""
    given = {key: getattr(args, key, None) for key in ("primary", "level", "baseline", "margin", "alpha", "seed")}
    at_cutoffs = (f"{name}@{k}" for name in K_MEASURES for k in getattr(args, "k_values", None) or ())
    measures = (*(getattr(args, "measure", None) or ()), *at_cutoffs) or None
    return given | {"cluster": getattr(args, "cluster_by", None), "measures": measures}


def plan_for(run: Run, args: Namespace) -> AnalysisPlan:
    names = [*(engine.name for engine in run.engines), *run.header.skipped]
    plan = change_plan(analysis_plan_of(run), run.k, **plan_flags(args))
    family = getattr(args, "family", None)
    if family is not None:
        plan = replace(plan, family=resolve_family(split_names(family, names), names, plan.baseline))
    check_suite(plan.cluster, run.suite)
    return check_plan(plan, run.k, names)


def given_flags(args: Namespace, *names: str) -> dict[str, Any]:
    return {name: getattr(args, name) for name in names if getattr(args, name) is not None}


def read_results(directory: str) -> Run:
    path = Path(directory)
    if not path.is_dir():
        problem = "expected a results directory, got a file" if path.exists() else "no such directory"
        above = None if path.is_absolute() else find_upward(Path(), f"{path}/run.json")
        hint = f"did you mean {above.parent}?" if above else "pass a directory that `assay run` wrote"
        raise ConfigError(problem, file=path, hint=hint)
    return read_run(path)


def load_one_set(path: Path) -> GoldSet:
    if not path.is_file():
        problem = "expected a file, got a directory" if path.is_dir() else "no such file"
        raise GoldError(problem, file=path, hint="pass one gold file")
    from assay.gold.load import load_gold

    golds = load_gold(path).golds
    if len(golds) != 1:
        raise GoldError(f"expected one gold set, got {len(golds)}", file=path, hint="pass a file with one gold set")
    return golds[0]


def log_run_access(args: Namespace, run: Run, command: str) -> None:
    """Log the access to the sealed queries of a saved run."""
    from assay.gold.split import sealed_queries

    sealed = sum(len(sealed_queries(gold)) for gold in run.suite.golds)
    if not sealed:
        return
    from assay.gold.access_log import log_saved_access

    if not log_saved_access(run.suite, command, [engine.name for engine in run.engines]):
        info(args, f"cannot log the access to {sealed} sealed queries of this run: their gold file is missing")


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


def read_page_options(args: Namespace, spec: Spec | None = None) -> PageOptions:
    """Return the settings of report.html from the flags and the [report] table, by default of assay.toml."""
    from assay.experiment.source_texts import CorpusTexts
    from assay.experiment.tracing import trace_queries
    from assay.report.explorer.html_page import page_options
    from assay.report.gate_history import read_trend

    options = page_options(
        spec or load_config(args),
        max_size=getattr(args, "max_size", None),
        no_source=getattr(args, "no_source", False),
        traces=getattr(args, "traces", None),
    )
    results = getattr(args, "results", None)
    history = read_trend(Path(results)) if isinstance(results, str) else ()
    return replace(options, texts=CorpusTexts, tracer=trace_queries, history=history)


def question_flags(args: Namespace) -> dict[str, Any]:
    """Return the values of the flags that select queries; None for flags that are absent."""
    return {
        "gold": tuple(args.gold) if args.gold else None,
        "corpus": args.corpus,
        "tags": tuple(args.tag) if args.tag else None,
        "k": args.k,
        "phrasings": split_list(args.phrasings),
    }


def split_list(text: str | None) -> tuple[str, ...] | None:
    return tuple(part.strip() for part in text.split(",")) if text else None


def config_file(args: Namespace) -> Path | None:
    """Return the file of --config, or the assay.toml of this directory or of a parent in the same repository."""
    if config := getattr(args, "config", None):
        return Path(config)
    path = find_upward(Path(), FILE)
    if path and not hasattr(args, "config_shown"):
        args.config_shown = True
        if path.parent != Path() or args.verbose:
            info(args, f"using {path}")
    return path


def load_config(args: Namespace) -> Spec:
    return load_spec(config_file(args))


def default_results(args: Namespace) -> str:
    """Return the directory that `assay run` writes to by default: `out` of assay.toml, or results."""
    return load_config(args).out


def default_set(args: Namespace, given: str | None = None) -> str:
    """Return the given gold file, or else the only one that assay.toml names."""
    if given:
        return given
    named = load_config(args).gold
    if len(named) != 1:
        problem = f"assay.toml names {len(named)} gold sets" if named else "no gold set is named"
        raise ConfigError(problem, hint="add the gold file to the command, or [run] gold to assay.toml")
    return named[0]


def load_experiment(args: Namespace) -> Spec:
    if args.preset and args.config:
        hint = f'write extends = "preset:{args.preset}" into {args.config}'
        raise ConfigError("--preset and --config cannot be combined", hint=hint)
    path = None if args.preset else config_file(args)
    engine = getattr(args, "engine", None)
    named = parse_engine_flags(engine) if isinstance(engine, list) else {}
    return load_spec(path, preset=args.preset, sets=args.set, named=named)


def endpoint_of(args: Namespace) -> Endpoint | None:
    require_flag(args, "endpoint", "model", "token_env")
    require_flag(args, "model", "endpoint")
    from assay.chat import Endpoint

    return Endpoint(args.endpoint, args.model, args.token_env) if args.endpoint else None


def open_page(args: Namespace, url: str, name: str) -> None:
    import webbrowser

    if not webbrowser.open(url):
        info(args, f"cannot start a browser; open {name} in one")


def serve_until_stopped(
    args: Namespace, routes: Sequence[Route], path: str, facts: Mapping[str, object], last: Path | None
) -> None:
    """Print the address of `path` and serve the routes until Ctrl-C; the file `last` stores the port."""
    with listen(args, routes, last) as server:
        url = server.address(path)
        if args.json:
            write_result(json.dumps({"schema": "assay/serve/1", "url": url, **facts}))
        else:
            write_result(url)
            text = "open this address on this machine and keep it private: it grants access. Ctrl-C stops the server."
            info(args, text)
        if args.open:
            open_page(args, url, "the address")
        server.wait()


def listen(args: Namespace, routes: Sequence[Route], last: Path | None = None) -> WebServer:
    """Start the server, if possible on the port in the file `last`, so that open pages reconnect."""
    from assay.web.web_server import LOOPBACK, serve

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
        warn(f"port {before} of the last review is in use; open its pages again at the new address")
    if last:
        write_atomic(last, f"{server.port}\n")
    return server
