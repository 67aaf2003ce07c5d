from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.options import given_flags
from assay.cli.output import emit, info
from assay.cli.run import add_subject, corpus_named, engine_named
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.audit.records import AuditConfig
    from assay.audit.subject import AuditTarget
    from assay.engines.base import FullEngine
    from assay.gold.lint.rules import EngineReach
    from assay.types import Corpus


def audit_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("engine", metavar="ENGINE", help="a kind, kind:value, a preset, or a name in assay.toml")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a folder or corpus (this folder, or the gold set's)")
    add_subject(parser)
    parser.add_argument("--queries", type=int, metavar="N", help="ordinary queries to ask (20)")
    parser.add_argument("--seed", type=int, metavar="N", help="which ones, and for engines that draw (0)")
    parser.add_argument("-k", type=int, metavar="N", help="results asked for (10)")
    parser.add_argument("--repeats", type=int, metavar="N", help="times each query is asked again (2)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for one query (60)")
    parser.add_argument("--only", metavar="LIST", help="checks to make, by commas (all)")
    parser.add_argument("--out", metavar="FOLDER", help="write audit.json, audit.md and audit.html there")


def audit_command(args: argparse.Namespace) -> int:
    """Check an engine's determinism, ranking consistency, filters and paths.

    assay audit builtin                                 on this folder, with queries that its code gives
    assay audit semble src --only prefix,filters        a preset, two checks
    assay audit mine --gold gold.yaml --out audit       an engine of assay.toml; writes audit.json, audit.md, audit.html

    Every finding says how many of how many, shows an example and the command that shows it again. Findings are no
    failure: the exit code is 0 when the audit could be made, 4 when the engine fails on everything.
    """
    from assay.audit.checks import choose
    from assay.audit.report import audit_json, document
    from assay.audit.runner import FILES, run_audit, write_audit

    config = _config(args)
    choose(config.only)
    folder = _folder(args.out)
    audit = run_audit(_subject(args, config), config, lambda text: info(args, text))
    if folder:
        write_audit(audit, folder)
    emit(args, document(audit), audit_json(audit))
    if folder:
        info(args, f"\nwritten to {folder}/: {', '.join(FILES)}")
    return 0 if audit.answered else 4


def _folder(text: str | None) -> Path | None:
    if text and Path(text).exists() and not Path(text).is_dir():
        raise ConfigError("is a file, not a folder", file=text, hint="name another place with --out")
    return Path(text) if text else None


def _config(args: argparse.Namespace) -> AuditConfig:
    from assay.audit.records import AuditConfig

    given = given_flags(args, "queries", "seed", "k", "repeats", "timeout")
    only = tuple(name.strip() for name in args.only.split(",") if name.strip()) if args.only else ()
    return replace(AuditConfig(), **given, only=only)


def _subject(args: argparse.Namespace, config: AuditConfig) -> AuditTarget:
    from assay.audit.queries import code_questions, gold_questions
    from assay.audit.subject import AuditTarget, ReproCommand

    ground = corpus_named(args.path, args.gold, args.config)
    recipe = replace(engine_named(args.engine, args.config), suite=ground.suite, **given_flags(args, "seed"))
    engine = recipe.make()
    count, seed = config.queries, config.seed
    drawn = gold_questions(ground.queries, count, seed) if args.gold else code_questions(ground.corpus, count, seed)
    return AuditTarget(
        name=args.engine,
        engine=engine,
        corpus=ground.corpus,
        questions=drawn,
        wording=ReproCommand(args.engine, args.path or "", args.gold or "", args.config or ""),
        recipe=recipe,
        gold=ground.queries,
        reach=_reach(engine, ground.corpus),
        ours=ground.ours,
        notes=ground.notes,
    )


def _reach(engine: FullEngine, corpus: Corpus) -> EngineReach | None:
    from assay.engines.builtin import BuiltinEngine

    if not isinstance(engine, BuiltinEngine):
        return None
    from assay.cli.gold.lint import builtin_reach

    return builtin_reach(corpus, engine.settings.search.index.chunks)
