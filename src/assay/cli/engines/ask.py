"""Send one query to an engine and print its ranking.

assay engines ask semble "where are retries decided"        on this folder
assay engines ask mine parse_config src -k 5                an engine of assay.toml, on src
assay engines ask -k 5 -- mine --help src                   a query that looks like an option
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from assay.cli.execution import add_subject, corpus_named, engine_named
from assay.cli.options import given_flags
from assay.cli.output import emit
from assay.errors import ConfigError, EngineError

if TYPE_CHECKING:
    from assay.audit.sessions import AuditRanking, AuditSessions
    from assay.engines.base import SearchFilter
    from assay.report.render.document import Document


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
    parser.add_argument("engine", metavar="ENGINE", help="a kind, kind:value, a preset, or a name in assay.toml")
    parser.add_argument("query", metavar="QUERY", help="what to ask")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a folder or corpus (this folder, or the gold set's)")
    add_subject(parser)
    parser.add_argument("-k", type=int, default=10, metavar="N", help="results asked for (10)")
    parser.add_argument("--paths", action="append", default=[], metavar="GLOB", help="such as 'src/**' (repeatable)")
    parser.add_argument("--language", action="append", default=[], metavar="NAME", help="such as python (repeatable)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for the query (60)")
    parser.add_argument("--seed", type=int, metavar="N", help="for engines that draw (that of assay.toml, or 0)")


def handle(args: argparse.Namespace) -> int:
    """Open the engine, ask, and print; a query that fails is an error."""
    from assay.audit.records import AuditConfig
    from assay.audit.sessions import AuditSessions
    from assay.audit.subject import AuditTarget, ReproCommand
    from assay.redaction import make_redactor

    config = AuditConfig(k=args.k, **given_flags(args, "timeout", "seed"))
    ground = corpus_named(args.path, args.gold, args.config)
    recipe = replace(engine_named(args.engine, args.config), suite=ground.suite, **given_flags(args, "seed"))
    engine = recipe.make()
    subject = AuditTarget(args.engine, engine, ground.corpus, (), ReproCommand(args.engine), ours=ground.ours)
    with AuditSessions(subject, config) as bench:
        reading = _ask(bench, args)
    redactor = make_redactor(engine.secrets)
    if not reading.ok:
        raise EngineError(f"{reading.status}: {redactor.text(reading.error)}", hint=None)
    known = {file.path for file in ground.corpus.files}
    rows = [
        {
            "rank": rank,
            "path": place.path if place.path in known else redactor.text(place.path),
            "start": redactor.value(place.start),
            "end": redactor.value(place.end),
            "score": redactor.value(hit.score),
        }
        for rank, (hit, place) in enumerate(zip(reading.hits, reading.places, strict=True), start=1)
    ]
    head = {"schema": "assay/engines-ask/1", "engine": args.engine, "query": args.query, "k": args.k}
    emit(args, _document(args, rows), {**head, "hits": rows})
    return 0


def _ask(bench: AuditSessions, args: argparse.Namespace) -> AuditRanking:
    wanted = _wanted(args)
    if wanted is None:
        return bench.main.ask(args.query, args.k)
    reading = bench.main.ask_filtered(args.query, args.k, wanted)
    if reading is None:
        named = " and ".join(name for name in ("paths", "languages") if getattr(wanted, name))
        raise ConfigError(f"{args.engine} has no filter for {named}", hint="leave out --paths and --language")
    return reading


def _wanted(args: argparse.Namespace) -> SearchFilter | None:
    from assay.corpus.languages import language_name
    from assay.engines.base import SearchFilter

    languages = tuple(language_name(name) for name in args.language)
    return SearchFilter(tuple(args.paths), languages) if args.paths or languages else None


def _document(args: argparse.Namespace, rows: Sequence[Mapping[str, object]]) -> Document:
    from assay.report.render.document import Document, Paragraph, table

    lines = [[str(row["rank"]), _place(row), "" if row["score"] is None else str(row["score"])] for row in rows]
    body = table([">rank", "result", ">score"], lines) if lines else Paragraph("no results")
    return Document(f"{args.engine}: {args.query}", (body,))


def _place(row: Mapping[str, object]) -> str:
    return str(row["path"]) if row["start"] is None else f"{row['path']}:{row['start']}-{row['end']}"
