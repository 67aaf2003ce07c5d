from __future__ import annotations

from argparse import Namespace
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import find_corpus, find_engine, given_flags, split_list
from assay.cli.output import emit, info
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.audit.records import AuditConfig
    from assay.audit.sessions import AuditTarget


def audit_command(args: Namespace) -> int:
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
