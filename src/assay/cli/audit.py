from __future__ import annotations

from argparse import ArgumentParser, Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import add_engine, add_flag, find_corpus, find_engine, given_flags, split_list
from assay.cli.output import emit, info
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.audit.records import AuditConfig
    from assay.audit.sessions import AuditTarget


def audit_arguments(parser: ArgumentParser) -> None:
    add_engine(parser)
    add_flag(parser, "--queries N", "Send this many ordinary queries [default: 20]", type=int)
    add_flag(parser, "--seed N", "Seed the choice of queries and random engines [default: 0]", type=int)
    add_flag(parser, "-k N", "Request this many results [default: 10]", type=int)
    add_flag(parser, "--repeats N", "Repeat each query this many times [default: 2]", type=int)
    add_flag(parser, "--only LIST", "Run these checks only, comma-separated [default: all]")
    add_flag(parser, "--out FOLDER", "Write audit.json, audit.md and audit.html there")


def audit_command(args: Namespace) -> int:
    """Check an engine's determinism, ranking consistency, filters and paths.

    assay audit builtin                                 on this directory, with queries made from its code
    assay audit semble src --only prefix,filters        a preset, two checks
    assay audit mine --gold gold.yaml --out audit       an engine of assay.toml; writes audit.json, audit.md, audit.html

    Each finding has a count, an example and a command that reproduces it. Findings are no failure: the exit code is 0
    after a complete audit, and 4 if the engine fails on every query.
    """
    from assay.audit.records import AuditConfig
    from assay.audit.report import audit_json, document
    from assay.audit.runner import FILES, choose_checks, run_audit, write_audit

    only = tuple(filter(None, split_list(args.only) or ()))
    given = given_flags(args, "queries", "seed", "k", "repeats", "timeout")
    config = replace(AuditConfig(), **given, only=only)
    choose_checks(config.only)
    directory = Path(args.out) if args.out else None
    if directory and directory.exists() and not directory.is_dir():
        raise ConfigError("is a file, not a folder", file=args.out, hint="name another place with --out")
    audit = run_audit(_target(args, config), config, lambda text: info(args, text))
    if directory:
        write_audit(audit, directory)
    emit(args, document(audit), audit_json(audit))
    if directory:
        info(args, f"\nwritten to {directory}/: {', '.join(FILES)}")
    return 0 if audit.answered else 4


def _target(args: Namespace, config: AuditConfig) -> AuditTarget:
    from assay.audit.records import ReproCommand
    from assay.audit.runner import code_queries, gold_queries
    from assay.audit.sessions import AuditTarget
    from assay.cli.gold.lint import builtin_reach
    from assay.engines.builtin import BuiltinEngine

    named = find_corpus(args.path, args.gold, args.config)
    recipe = replace(find_engine(args.engine, args.config), suite=named.suite, **given_flags(args, "seed"))
    engine = recipe.make()
    if args.gold:
        queries = gold_queries(named.queries, config.queries, config.seed)
    else:
        queries = code_queries(named.corpus, config.queries, config.seed)
    reach = None
    if isinstance(engine, BuiltinEngine):
        reach = builtin_reach(named.corpus, engine.settings.search.index.chunks)
    return AuditTarget(
        name=args.engine,
        engine=engine,
        corpus=named.corpus,
        queries=queries,
        repro=ReproCommand(args.engine, args.path or "", args.gold or "", args.config or ""),
        factory=recipe,
        gold=named.queries,
        reach=reach,
        ours=named.ours,
        notes=named.notes,
    )
