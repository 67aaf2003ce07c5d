"""List, show and check engines.

assay engines                                 kinds and presets, what is installed and how to get the rest
assay engines show semble > mine.toml         a preset to copy and change: --engine ./mine.toml
assay engines check semble                    one index, three queries, and what was understood of the answers
assay engines ask semble "parse the config"   one query, and the ranking as it came
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from assay.cli.options import given_flags
from assay.cli.output import emit, info, pluralize, progress_callback
from assay.cli.run import add_subject, corpus_named, engine_named, open_without_ours, without_ours
from assay.errors import ConfigError, CorpusError, EngineError

if TYPE_CHECKING:
    from assay.audit.sessions import AuditRanking, AuditSessions
    from assay.engines import FullEngine
    from assay.engines.base import SearchFilter
    from assay.engines.kinds import EngineKind, SettingPage
    from assay.engines.presets import InstalledTool, Preset
    from assay.experiment.engine_check import EngineCheck, ParsedReply
    from assay.experiment.spec.model import EngineFactory
    from assay.report.render.document import Block, Cell, Document
    from assay.types import Corpus, CorpusSpec, GoldSet


@dataclass(frozen=True, slots=True)
class ListingConfig:
    """How the tools are looked for."""

    at_once: int = 4  # versions are asked for side by side: each is a program that mostly waits for the disk


LISTING = ListingConfig()


@dataclass(frozen=True, slots=True)
class PresetRow:
    """A preset, and what this machine has of its tool."""

    name: str
    kind: str
    about: str
    home: str
    installed: bool
    version: str
    missing: tuple[str, ...]
    unset: tuple[str, ...]
    install: str
    verified: str
    docs: str


def list_command(args: argparse.Namespace) -> int:
    """List engine kinds and presets for known tools.

    A preset is verified when it was run with the tool, in the version that is named; the others were written from the
    tool's documentation and are marked unverified: check them with `assay engines check NAME` before you rely on them.
    """
    from concurrent.futures import ThreadPoolExecutor

    from assay.engines import KINDS
    from assay.engines.presets import check_installed, load_preset, shipped_presets

    presets = [load_preset(name) for name in shipped_presets()]
    with ThreadPoolExecutor(LISTING.at_once) as pool:
        rows = [
            _preset_row(preset, found)
            for preset, found in zip(presets, pool.map(check_installed, presets), strict=True)
        ]
    kinds = [{"name": kind.name, "main": kind.main, "about": kind.about} for _, kind in sorted(KINDS.items())]
    data = {"schema": "assay/engines/1", "kinds": kinds, "presets": [asdict(row) for row in rows]}
    emit(args, _list_document(kinds, rows), data)
    return 0


def _preset_row(preset: Preset, found: InstalledTool) -> PresetRow:
    facts = preset.facts
    return PresetRow(
        name=preset.name,
        kind=preset.kind,
        about=facts.about,
        home=facts.home,
        installed=found.ready,
        version=found.version,
        missing=found.missing,
        unset=found.unset,
        install=facts.install,
        verified=facts.verified,
        docs=facts.docs,
    )


def _list_document(kinds: list[dict[str, str | None]], rows: list[PresetRow]) -> Document:
    from assay.report.render.document import Document, Heading, Paragraph, table

    named = [[str(kind["name"]), str(kind["about"])] for kind in kinds]
    known: list[list[str | Cell]] = [[row.name, row.about, _state(row), _proof(row)] for row in rows]
    return Document(
        "assay engines",
        (
            Heading("Kinds"),
            table(["kind", "what it is"], named),
            Heading("Presets"),
            table(["preset", "what it is", "here", "run before"], known),
            Paragraph("Use one: assay run --engine NAME. Copy one: assay engines show NAME > mine.toml."),
            Paragraph("See that it works: assay engines check NAME."),
        ),
    )


def _state(row: PresetRow) -> Cell:
    from assay.report.render.document import Cell

    if row.missing:
        return Cell(f"no {', '.join(row.missing)} → {row.install or row.home}", "warning")
    if row.unset:
        return Cell(f"set {', '.join(row.unset)}", "warning")
    return Cell(f"yes, {row.version}" if row.version else "yes", "good")


def _proof(row: PresetRow) -> Cell:
    from assay.report.render.document import Cell

    return Cell(f"with {row.verified}", "good") if row.verified else Cell("unverified", "quiet")


def show_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("name", metavar="NAME", help="an engine of assay.toml, a preset, a kind, or a file of yours")
    parser.add_argument("--config", metavar="FILE", help="an assay.toml (this folder's)")


def show_command(args: argparse.Namespace) -> int:
    """Print an engine's settings as TOML.

    A preset is printed as it ships; save it, change it, and name the file: `--engine ./mine.toml`. Of a kind, every
    setting is printed with its default, as a table for assay.toml. An engine of assay.toml is printed as it stands
    there.
    """
    text, path = _declared(args.name, args.config) or _toml(args.name)
    if args.json:
        import json

        data = {"schema": "assay/engines-show/1", "name": args.name, "file": path, "toml": text}
        sys.stdout.write(json.dumps(data, ensure_ascii=False, indent=1) + "\n")
    else:
        sys.stdout.write(text)
    return 0


def _declared(name: str, config: str | None) -> tuple[str, str] | None:
    from pathlib import Path

    from assay.cli.options import config_file
    from assay.experiment.spec import load_spec
    from assay.files import read_utf8
    from assay.toml import find_line

    path = config_file(config)
    if path is None:
        return None
    spec = load_spec(path)
    if name not in spec.engines:
        return None
    path = Path(spec.locations[f"engines.{name}"].file or path)  # it may stand in a file that this one extends
    text = read_utf8(path)
    first = find_line(text, f"engines.{name}")
    lines = text.split("\n")[(first or 1) - 1 :]
    own = re.compile(rf"\[+engines\.[\"']?{re.escape(name)}[\"']?[.\]]")
    after = (n for n, line in enumerate(lines) if n and line.startswith("[") and not own.match(line))
    return "\n".join(lines[: next(after, len(lines))]).rstrip() + "\n", str(path)


def _toml(name: str) -> tuple[str, str | None]:
    from assay.engines import KINDS
    from assay.engines.presets import load_preset, shipped_presets

    if name in KINDS:
        return "\n".join(_skeleton(KINDS[name])) + "\n", None
    preset = load_preset(name)
    # A copy lies elsewhere, and the small programs that some presets run stay where they are.
    text = preset.text.replace("{preset}", str(preset.path.parent)) if name in shipped_presets() else preset.text
    return text, str(preset.path)


def _skeleton(kind: EngineKind) -> Iterator[str]:
    yield f"# {kind.about}"
    yield f"[engines.my-{kind.name}]"
    yield f'kind = "{kind.name}"'
    yield from (_line(setting) for setting in kind.describe_settings())


def _line(setting: SettingPage) -> str:
    if setting.default is None:
        return f"# {setting.name} = ...  # must be given, {setting.type}: {setting.about}"
    value = "..." if setting.default == "none" else setting.default
    return f"# {setting.name} = {value}  # {setting.about}"


#: Of the standard library, when there is no code here: enough to ask about, indexed in seconds by any tool.
_SAMPLE = ("json/*", "email/*", "http/*")


@dataclass(frozen=True, slots=True)
class _Checked:
    """An engine, and what was seen of it."""

    name: str
    engine: FullEngine
    corpus: Corpus
    found: EngineCheck
    file: str | None  # the assay.toml that declares it


def check_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "engine", metavar="SPEC", help="a preset, kind, kind:value, ./file.toml, or a name in assay.toml"
    )
    parser.add_argument(
        "path",
        nargs="?",
        metavar="CORPUS",
        help="what to index (this folder; without code here, some standard library)",
    )
    parser.add_argument("--config", metavar="FILE", help="the assay.toml that SPEC may be a name in")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for a query (60)")
    parser.add_argument("--index-timeout", type=float, metavar="S", help="seconds to open (3600)")


def check_command(args: argparse.Namespace) -> int:
    """Index once, run three queries, and show how the output was understood.

    The questions come from the code: a name that is defined once, the sentence over a definition, and a word that
    stands nowhere. The engine is asked as in a run: on a copy of the corpus, with the same limits, its answers read by
    the same rules. Exits 4 when the engine fails, or when nothing that it says can be used.
    """
    from assay.experiment.engine_check import check_engine, check_gold
    from assay.types import CorpusSpec, GoldSet

    given = given_flags(args, "timeout", "index_timeout")
    for flag, seconds in given.items():
        if not seconds > 0:
            raise ConfigError(f"--{flag.replace('_', '-')} is {seconds:g}", hint="give it some seconds")
    recipe = engine_named(args.engine, args.config)
    _make(recipe, GoldSet("", CorpusSpec("stdlib"), ()))  # what is wrong with it is told before anything is read
    corpus = _corpus(args.path, args.config)
    info(args, f"looking for questions in {pluralize(len(corpus.files), 'file')} of {corpus.root}")
    gold = replace(check_gold(corpus), corpus=without_ours(corpus.spec, args.config))
    engine = _make(recipe, gold)
    found = check_engine(args.engine, engine, gold, **given, progress=progress_callback(args))
    checked = _Checked(args.engine, engine, corpus, found, recipe.file)
    emit(args, _check_document(checked), _check_data(checked))
    return 4 if found.problems else 0


def _corpus(path: str | None, config: str | None) -> Corpus:
    from assay.corpus import open_corpus, parse_spec
    from assay.types import CorpusSpec

    if path is not None:
        return open_without_ours(parse_spec(path), config)
    try:
        here = open_without_ours(CorpusSpec("path", "."), config)
    except CorpusError:  # an empty folder
        here = None
    if here is not None and any(file.kind == "code" for file in here.files):
        return here
    return open_corpus(CorpusSpec("stdlib", include=_SAMPLE))


def _make(recipe: EngineFactory, gold: GoldSet) -> FullEngine:
    from assay.types import Suite

    return replace(recipe, suite=Suite((gold,))).make()


def _check_data(checked: _Checked) -> dict[str, object]:
    engine, corpus, found = checked.engine, checked.corpus, checked.found
    answers = [
        {
            "what": one.what,
            "query": one.query,
            "expected": one.expected or None,
            "rank": one.rank,
            "status": str(one.status),
            "seconds": one.seconds,
            "results": len(one.hits),
            "known_paths": one.known,
            "with_lines": one.ranged,
            "with_scores": one.scored,
            "scores_fall": one.falling,
            "first": str(one.hits[0].span) if one.hits else None,
            "notes": list(one.notes),
            "error": one.error,
        }
        for one in found.answers
    ]
    return {
        "schema": "assay/engines-check/1",
        "engine": checked.name,
        "works": not found.problems,
        "problems": list(found.problems),
        "corpus": {"repository": _shown(corpus.spec), "files": len(corpus.files)},
        "version": found.version,
        "index_seconds": found.index_seconds,
        **asdict(found.resources),
        "answers": answers,
        "notes": [*engine.notes, *found.notes],
        "stderr": found.stderr,
    }


def _check_document(checked: _Checked) -> Document:
    from assay.report.render.document import Document, Paragraph

    engine, corpus, found = checked.engine, checked.corpus, checked.found
    notes = (*engine.notes, *found.notes, *(note for one in found.answers for note in one.notes))
    blocks: list[Block] = [Paragraph(f"On {_shown(corpus.spec)}, {pluralize(len(corpus.files), 'file')}.")]
    blocks += _measured(found) if found.index_seconds is not None else []
    blocks += [Paragraph(note, "quiet") for note in dict.fromkeys(notes)]
    blocks += [Paragraph(problem, "bad") for problem in found.problems]
    if found.problems and found.stderr.strip():
        blocks.append(Paragraph(f"it said: {found.stderr.strip().splitlines()[-1]}", "quiet"))
    blocks.append(_verdict(checked))
    return Document(f"assay engines check {checked.name}", tuple(blocks))


def _measured(found: EngineCheck) -> list[Block]:
    from assay.report.render.document import table

    took = found.resources
    facts = [
        ["version", found.version or "not told"],
        ["start-up", _seconds(took.startup_seconds)],
        ["ready for the corpus", _seconds(found.index_seconds)],
        ["index", _bytes(took.index_bytes)],
        ["memory at most", _bytes(took.peak_bytes)],
    ]
    rows: list[list[str | Cell]] = [_reply_row(one) for one in found.answers]
    heads = ["asked for", "query", ">results", "paths", "lines", "scores", ">seconds", "found"]
    return [table(["what", "value"], facts), table(heads, rows)]


def _reply_row(one: ParsedReply) -> list[str | Cell]:
    from assay.report.render.document import Cell

    total = len(one.hits)
    paths = Cell(_share(one.known, total, "in the corpus"), "plain" if one.known == total else "warning")
    order = {None: "", True: ", falling", False: ", not falling: the order counts"}[one.falling]
    scores = (_share(one.scored, total, "scored") if one.scored else "none") + order if total else ""
    lines = (_share(one.ranged, total, "with lines") if one.ranged else "whole files") if total else ""
    shown: list[str | Cell] = [
        one.what,
        one.query,
        str(total),
        paths,
        lines,
        scores,
        f"{one.seconds:.3f}",
        _first_hit(one),
    ]
    if one.error is not None:
        shown = [*shown[:3], "", "", "", f"{one.seconds:.3f}", Cell(str(one.status), "bad")]
    return shown


def _first_hit(one: ParsedReply) -> Cell:
    from assay.report.render.document import Cell

    if not one.expected:
        return Cell("nothing, as it should be" if not one.hits else "something for everything", "quiet")
    if one.rank is None:
        return Cell(f"not {one.expected}", "warning")
    return Cell(f"{one.expected} is file {one.rank}", "good")


def _verdict(checked: _Checked) -> Block:
    import shlex

    from assay.experiment.spec import FILE
    from assay.report.render.document import Paragraph

    name, file = checked.name, checked.file
    if checked.found.problems:
        kind = name.partition(":")[0]  # of `kind:value`; a preset and a file are whole
        settings = f"Its settings stand in {file}." if file else f"`assay engines show {kind}` prints its settings."
        return Paragraph(f"{name} cannot be measured like this. {settings}", "bad")
    flags = ["--engine", name] if file is None else ["--config", file] if file != FILE else []
    return Paragraph(f"{name} works: {shlex.join(['assay', 'run', *flags])}", "good")


def _share(part: int, total: int, what: str) -> str:
    return f"all {what}" if part == total and total else f"{part} of {total} {what}" if total else ""


def _seconds(value: float | None) -> str:
    return "not measured" if value is None else f"{value:.2f} s"


def _bytes(value: int | None) -> str:
    return "not measured" if value is None else f"{value / 1e6:.1f} MB"


def _shown(spec: CorpusSpec) -> str:
    from assay.corpus import spec_text

    return spec_text(spec)


def ask_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("engine", metavar="ENGINE", help="a kind, kind:value, a preset, or a name in assay.toml")
    parser.add_argument("query", metavar="QUERY", help="what to ask")
    parser.add_argument("path", nargs="?", metavar="PATH", help="a folder or corpus (this folder, or the gold set's)")
    add_subject(parser)
    parser.add_argument("-k", type=int, default=10, metavar="N", help="results asked for (10)")
    parser.add_argument("--paths", action="append", default=[], metavar="GLOB", help="such as 'src/**' (repeatable)")
    parser.add_argument("--language", action="append", default=[], metavar="NAME", help="such as python (repeatable)")
    parser.add_argument("--timeout", type=float, metavar="S", help="seconds for the query (60)")
    parser.add_argument("--seed", type=int, metavar="N", help="for engines that draw (that of assay.toml, or 0)")


def ask_command(args: argparse.Namespace) -> int:
    """Send one query to an engine and print its ranking.

    assay engines ask semble "where are retries decided"        on this folder
    assay engines ask mine parse_config src -k 5                an engine of assay.toml, on src
    assay engines ask -k 5 -- mine --help src                   a query that looks like an option
    """
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
        reading = _send(bench, args)
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
    emit(args, _ranking_document(args, rows), {**head, "hits": rows})
    return 0


def _send(bench: AuditSessions, args: argparse.Namespace) -> AuditRanking:
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


def _ranking_document(args: argparse.Namespace, rows: Sequence[Mapping[str, object]]) -> Document:
    from assay.report.render.document import Document, Paragraph, table

    lines = [[str(row["rank"]), _location(row), "" if row["score"] is None else str(row["score"])] for row in rows]
    body = table([">rank", "result", ">score"], lines) if lines else Paragraph("no results")
    return Document(f"{args.engine}: {args.query}", (body,))


def _location(row: Mapping[str, object]) -> str:
    return str(row["path"]) if row["start"] is None else f"{row['path']}:{row['start']}-{row['end']}"
