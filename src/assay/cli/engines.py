"""The commands engines (list, show, check and query) and audit."""

from __future__ import annotations

import json
import re
import shlex
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from assay.audit.engine_client import AuditRanking, AuditSessions, AuditTarget
from assay.audit.findings import AuditConfig, ReproCommand
from assay.audit.run_audit import (
    FILES,
    audit_document,
    audit_json,
    audit_summary,
    choose_checks,
    code_queries,
    gold_queries,
    run_audit,
    write_audit,
)
from assay.cli.console import emit, emit_blocks, info, pluralize, show_progress
from assay.cli.gold.lint import builtin_reach
from assay.cli.options import given_flags, load_config, split_list
from assay.corpus import open_corpus, parse_spec, spec_text
from assay.corpus.file_types import language_name
from assay.engines import KINDS
from assay.engines.base import SearchFilter
from assay.engines.builtin import BuiltinEngine
from assay.engines.kinds import EngineKind
from assay.engines.presets import check_installed, load_preset, shipped_presets
from assay.errors import ConfigError, CorpusError, EngineError
from assay.experiment.corpora import prepare
from assay.experiment.engine_check import EngineCheck, ParsedReply, check_engine, check_gold
from assay.experiment.own_files import exclude_paths, own_files, paths_inside
from assay.experiment.spec import FILE, engine_factory
from assay.experiment.spec.engine_entries import EngineFactory, with_environment
from assay.files import read_utf8
from assay.gold.load import load_gold
from assay.gold.split import select
from assay.redaction import make_redactor
from assay.report.render.document import Block, Cell, Heading, Paragraph, table
from assay.toml import find_line
from assay.types import Corpus, CorpusSpec, GoldSet, Query, Suite


def list_command(args: Namespace) -> None:
    presets = [load_preset(name) for name in shipped_presets()]
    with ThreadPoolExecutor(4) as pool:  # each check starts a program that mostly waits for the disk
        tools = list(pool.map(check_installed, presets))
    kinds = [{"name": kind.name, "main": kind.main, "about": kind.about} for _, kind in sorted(KINDS.items())]
    data: list[dict[str, object]] = []
    rows: list[list[str | Cell]] = []
    for preset, tool in zip(presets, tools, strict=True):
        facts = preset.facts
        data.append(
            {
                "name": preset.name,
                "kind": preset.kind,
                "about": facts.about,
                "home": facts.home,
                "installed": tool.ready,
                "version": tool.version,
                "missing": tool.missing,
                "unset": tool.unset,
                "install": facts.install,
                "verified": facts.verified,
                "docs": facts.docs,
            }
        )
        state = Cell(f"yes, {tool.version}" if tool.version else "yes", "good")
        if tool.missing:
            state = Cell(f"no {', '.join(tool.missing)} → {facts.install or facts.home}", "warning")
        elif tool.unset:
            state = Cell(f"set {', '.join(tool.unset)}", "warning")
        verified = Cell(f"with {facts.verified}", "good")
        if not facts.verified:
            verified = Cell(f"unverified: written from {facts.docs}" if facts.docs else "unverified", "quiet")
        rows.append([preset.name, facts.about, state, verified])
    blocks = (
        Heading("Kinds"),
        table(["Kind", "Description"], [[str(kind["name"]), str(kind["about"])] for kind in kinds]),
        Heading("Presets"),
        table(["Preset", "Description", "Installed", "Verified"], rows),
        "Use one: assay run --engine NAME. Copy one: assay engines show NAME > mine.toml.",
        "Test one: assay engines check NAME.",
    )
    emit_blocks(args, "assay engines", blocks, {"schema": "assay/engines/1", "kinds": kinds, "presets": data})


def show_command(args: Namespace) -> None:
    text, path = _declared_toml(args) or _shipped_toml(args.name)
    if args.json:
        data = {"schema": "assay/engines-show/1", "name": args.name, "file": path, "toml": text}
        text = json.dumps(data, ensure_ascii=False, indent=1) + "\n"
    sys.stdout.write(text)


def _declared_toml(args: Namespace) -> tuple[str, str] | None:
    """Return the lines of assay.toml that declare an engine, and the file."""
    name, spec = args.name, load_config(args)
    if name not in spec.engines:
        return None
    path = Path(spec.locations[f"engines.{name}"].file or spec.file or FILE)  # maybe a file that this one extends
    text = read_utf8(path)
    lines = text.split("\n")[(find_line(text, f"engines.{name}") or 1) - 1 :]
    own = re.compile(rf"\[+engines\.[\"']?{re.escape(name)}[\"']?[.\]]")
    after = (n for n, line in enumerate(lines) if n and line.startswith("[") and not own.match(line))
    table_lines = lines[: next(after, len(lines))]
    while table_lines[-1].startswith("#") or not table_lines[-1].strip():
        table_lines.pop()  # comments about what follows
    return "\n".join(table_lines) + "\n", str(path)


def _shipped_toml(name: str) -> tuple[str, str | None]:
    if name in KINDS:
        return "\n".join(_kind_template(KINDS[name])) + "\n", None
    preset = load_preset(name)
    # The programs that some presets run are not copied along.
    text = preset.text.replace("{preset}", str(preset.path.parent)) if name in shipped_presets() else preset.text
    return text, str(preset.path)


def _kind_template(kind: EngineKind) -> Iterator[str]:
    yield from (f"# {kind.about}", f"[engines.my-{kind.name}]", f'kind = "{kind.name}"')
    for setting in kind.describe_settings():
        if setting.default is None:
            yield f"# {setting.name} = ...  # required, {setting.type}: {setting.about}"
        else:
            value = "..." if setting.default == "none" else setting.default
            yield f"# {setting.name} = {value}  # {setting.about}"


def check_command(args: Namespace) -> int:
    given = given_flags(args, "timeout", "index_timeout")
    recipe = find_engine(args)
    replace(recipe, suite=Suite((GoldSet("", CorpusSpec("stdlib"), ()),))).make()  # report its problems first
    corpus = _open_code(args)
    info(args, f"generating queries from {pluralize(len(corpus.files), 'file')} of {corpus.root}")
    gold = replace(check_gold(corpus), corpus=without_ours(args, corpus.spec))
    engine = replace(recipe, suite=Suite((gold,))).make()
    with show_progress(args) as report:
        check = check_engine(args.engine, engine, gold, **given, progress=report)
    repository = spec_text(corpus.spec)
    data = {
        "schema": "assay/engines-check/1",
        "engine": args.engine,
        "works": not check.problems,
        "problems": list(check.problems),
        "corpus": {"repository": repository, "files": len(corpus.files)},
        "version": check.version,
        "index_seconds": check.index_seconds,
        **asdict(check.resources),
        "answers": [_reply_json(reply) for reply in check.answers],
        "notes": [*engine.notes, *check.notes],
        "stderr": check.stderr,
    }
    notes = (*engine.notes, *check.notes, *(note for reply in check.answers for note in reply.notes))
    blocks = (
        f"On {repository}, {pluralize(len(corpus.files), 'file')}.",
        *_check_blocks(check, notes),
        _check_verdict(args.engine, check, recipe.file),
    )
    emit_blocks(args, f"assay engines check {args.engine}", blocks, data)
    return 4 if check.problems else 0


def _open_code(args: Namespace) -> Corpus:
    if args.path is not None:
        return open_without_ours(args, parse_spec(args.path))
    try:
        here = open_without_ours(args, CorpusSpec("path", "."))
    except CorpusError:  # an empty directory
        here = None
    if here is not None and any(file.kind == "code" for file in here.files):
        return here
    # Enough code for queries; any tool indexes it in seconds.
    return open_corpus(CorpusSpec("stdlib", include=("json/*", "email/*", "http/*")))


def _reply_json(reply: ParsedReply) -> dict[str, Any]:
    return {
        "what": reply.what,
        "query": reply.query,
        "expected": reply.expected or None,
        "rank": reply.rank,
        "status": str(reply.status),
        "seconds": reply.seconds,
        "results": len(reply.hits),
        "known_paths": reply.known,
        "with_lines": reply.ranged,
        "with_scores": reply.scored,
        "scores_fall": reply.falling,
        "first": str(reply.hits[0].span) if reply.hits else None,
        "notes": list(reply.notes),
        "error": reply.error,
    }


def _check_blocks(check: EngineCheck, notes: tuple[str, ...]) -> Iterator[Block]:
    if check.index_seconds is not None:
        used = check.resources
        facts = [
            ["Version", check.version or "unknown"],
            ["Startup", _format_amount(used.startup_seconds, "s", 2)],
            ["Indexing", _format_amount(check.index_seconds, "s", 2)],
            ["Index size", _format_amount(used.index_bytes, "MB", 1, 1e6)],
            ["Peak memory", _format_amount(used.peak_bytes, "MB", 1, 1e6)],
        ]
        yield table(["Property", "Value"], facts)
        columns = ["Query type", "Query", ">Results", "Paths", "Lines", "Scores", ">Time (s)", "Expected file"]
        yield table(columns, [_reply_row(reply) for reply in check.answers])
    yield from (Paragraph(note, "quiet") for note in dict.fromkeys(notes))
    first, *others = check.problems or ("",)
    failed = sum(reply.error is not None for reply in check.answers)
    if failed == len(check.answers) and others:  # the same failure of each query
        others = others[failed - 1 :]
        first += f" ({pluralize(failed - 1, 'other query', 'other queries')} failed too)"
    yield from (Paragraph(problem, "bad") for problem in (first, *others) if problem)
    stderr = check.stderr.strip().splitlines()[-1:]
    if check.problems and stderr and not failed:
        yield Paragraph(f"stderr: {stderr[0]}", "quiet")


def _format_amount(value: float | None, unit: str, digits: int, scale: float = 1) -> str:
    return "not measured" if value is None else f"{value / scale:.{digits}f} {unit}"


def _reply_row(reply: ParsedReply) -> list[str | Cell]:
    total, seconds = len(reply.hits), f"{reply.seconds:.3f}"
    if reply.error is not None:
        return [reply.what, reply.query, str(total), "", "", "", seconds, Cell(str(reply.status), "bad")]
    paths = Cell(_format_share(reply.known, total, "in the corpus"), "plain" if reply.known == total else "warning")
    order = {None: "", True: ", falling", False: ", not sorted: the order of results is used"}[reply.falling]
    lines = scores = ""
    if total:
        lines = _format_share(reply.ranged, total, "with lines") if reply.ranged else "whole files"
        scores = (_format_share(reply.scored, total, "scored") if reply.scored else "none") + order
    if not reply.expected:
        first = Cell("no results, as expected" if not reply.hits else "results for a nonsense word", "quiet")
    elif reply.rank is None:
        first = Cell(f"not {reply.expected}", "warning")
    else:
        first = Cell(f"{reply.expected} is file {reply.rank}", "good")
    return [reply.what, reply.query, str(total), paths, lines, scores, seconds, first]


def _format_share(part: int, total: int, noun: str) -> str:
    return f"all {noun}" if part == total and total else f"{part} of {total} {noun}" if total else ""


def _check_verdict(name: str, check: EngineCheck, file: str | None) -> Block:
    if check.problems:
        kind = spec_of(name).partition(":")[0]  # of `kind:value`
        settings = f"Its settings are in {file}." if file else f"`assay engines show {kind}` prints its settings."
        return Paragraph(f"{name} cannot be measured. {settings}", "bad")
    flags = ["--engine", name] if file is None else ["--config", file] if file != FILE else []
    return Paragraph(f"{name} works: {shlex.join(['assay', 'run', *flags])}", "good")


def query_command(args: Namespace) -> None:
    config = AuditConfig(k=args.k, **given_flags(args, "timeout", "seed"))
    named = find_corpus(args, args.gold)
    recipe = replace(find_engine(args), suite=named.suite, **given_flags(args, "seed"))
    engine = recipe.make()
    target = AuditTarget(args.engine, engine, named.corpus, (), ReproCommand(args.engine), ours=named.ours)
    with AuditSessions(target, config) as sessions:
        ranking = _send(sessions, args)
    redactor = make_redactor(engine.secrets)
    if not ranking.ok:
        raise EngineError(f"{ranking.status}: {redactor.text(ranking.error)}")
    known = {file.path for file in named.corpus.files}
    hits = [
        {
            "rank": rank,
            "path": place.path if place.path in known else redactor.text(place.path),
            "start": redactor.value(place.start),
            "end": redactor.value(place.end),
            "score": redactor.value(hit.score),
        }
        for rank, (hit, place) in enumerate(zip(ranking.hits, ranking.locations, strict=True), start=1)
    ]
    rows = []
    for row in hits:
        location = str(row["path"]) if row["start"] is None else f"{row['path']}:{row['start']}-{row['end']}"
        rows.append([str(row["rank"]), location, "" if row["score"] is None else str(row["score"])])
    body = table([">Rank", "Result", ">Score"], rows) if rows else "no results"
    head = {"schema": "assay/engines-query/1", "engine": args.engine, "query": args.query, "k": args.k}
    emit_blocks(args, f"{args.engine}: {args.query}", [body], {**head, "hits": hits})


def _send(sessions: AuditSessions, args: Namespace) -> AuditRanking:
    languages = tuple(language_name(name) for name in args.language)
    if not args.paths and not languages:
        return sessions.main.query(args.query, args.k)
    wanted = SearchFilter(tuple(args.paths), languages)
    ranking = sessions.main.query_filtered(args.query, args.k, wanted)
    if ranking is None:
        names = " and ".join(name for name in ("paths", "languages") if getattr(wanted, name))
        raise ConfigError(f"{args.engine} cannot filter by {names}", hint="remove the filters")
    return ranking


def audit_command(args: Namespace) -> int:
    only = tuple(filter(None, split_list(args.only) or ()))
    given = given_flags(args, "queries", "seed", "k", "repeats", "timeout")
    config = replace(AuditConfig(), **given, only=only)
    choose_checks(config.only)
    directory = Path(args.out) if args.out else None
    if directory and directory.exists() and not directory.is_dir():
        raise ConfigError("expected a directory, got a file", file=args.out, hint="pass another --out")
    audit = run_audit(_target(args, config), config, lambda text: info(args, text))
    emit(args, audit_document(audit) if args.full else audit_summary(audit), audit_json(audit))
    if directory:
        write_audit(audit, directory)
        info(args, f"\nwritten to {directory}/: {', '.join(FILES)}")
    return 0 if audit.answered else 4


def _target(args: Namespace, config: AuditConfig) -> AuditTarget:
    gold = args.gold or ("" if args.path else _configured_gold(args))
    named = find_corpus(args, gold)
    recipe = replace(find_engine(args), suite=named.suite, **given_flags(args, "seed"))
    engine = recipe.make()
    if gold:
        queries = gold_queries(named.queries, config.queries, config.seed)
    else:
        queries = code_queries(named.corpus, config.queries, config.seed)
    reach = None
    if isinstance(engine, BuiltinEngine):
        reach = builtin_reach(named.corpus, engine.search.index.chunks)
    return AuditTarget(
        name=args.engine,
        engine=engine,
        corpus=named.corpus,
        queries=queries,
        repro=ReproCommand(args.engine, args.path or "", gold, args.config or ""),
        factory=recipe,
        gold=named.queries,
        reach=reach,
        ours=named.ours,
        notes=named.notes,
    )


def _configured_gold(args: Namespace) -> str:
    """Return the gold file of assay.toml; empty if there is none, or more than one."""
    names = load_config(args).gold
    return names[0] if len(names) == 1 and not Path(names[0]).is_dir() else ""


def find_engine(args: Namespace) -> EngineFactory:
    """Return the factory of an engine of assay.toml or, if none matches, of a kind, `kind:value`, preset or file."""
    spec = load_config(args)
    if spec.file and spec.entry(args.engine) is not None:
        return engine_factory(spec, args.engine)
    return EngineFactory(with_environment(spec_of(args.engine)))


def spec_of(engine: str) -> str:
    """Return SPEC of `NAME=SPEC`, a form that `assay run` accepts too."""
    return re.sub(r"^[\w.-]+=", "", engine)


@dataclass(frozen=True, slots=True)
class NamedCorpus:
    corpus: Corpus
    ours: Callable[[str], bool]  # whether a path is a gold or configuration file, which engines must not return
    suite: Suite | None = None
    queries: tuple[Query, ...] = ()  # anchors resolved
    notes: tuple[str, ...] = ()


def find_corpus(args: Namespace, gold: str | None) -> NamedCorpus:
    """Open the corpus at PATH; by default that of the gold set, or this directory."""
    if not gold:
        spec = parse_spec(args.path or ".")
        return NamedCorpus(open_without_ours(args, spec), frozenset(_own_files(args, spec)).__contains__)

    suite = select(load_gold(gold, corpus=args.path or None), ()).suite
    if len(suite.golds) != 1:
        names = ", ".join(one.name for one in suite.golds)
        raise ConfigError(f"expected one gold set in {gold}, got {names}", hint="pass one gold file")
    prepared = prepare(suite.golds[0], None, None, "report")
    missing = prepared.problems
    notes = (f"{len(missing)} targets of the gold set are not in this corpus, e.g. {missing[0]}",) if missing else ()
    return NamedCorpus(prepared.corpus, prepared.is_own, suite, prepared.gold.queries, notes)


def open_without_ours(args: Namespace, corpus: CorpusSpec) -> Corpus:
    """Open a corpus without assay.toml and its gold files."""
    return replace(open_corpus(without_ours(args, corpus)), spec=corpus)


def without_ours(args: Namespace, corpus: CorpusSpec) -> CorpusSpec:
    """Exclude assay.toml and the gold files that it names from a corpus."""
    return exclude_paths(corpus, _own_files(args, corpus))


def _own_files(args: Namespace, corpus: CorpusSpec) -> list[str]:
    return paths_inside(corpus, None, own_files(load_config(args)))
