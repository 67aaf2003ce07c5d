"""Index once, run three queries, and show how the output was understood.

The questions come from the code: a name that is defined once, the sentence over a definition, and a word that stands
nowhere. The engine is asked as in a run: on a copy of the corpus, with the same limits, its answers read by the same
rules. Exits 4 when the engine fails, or when nothing that it says can be used.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from assay.cli.execution import engine_named, open_without_ours, without_ours
from assay.cli.options import given_flags
from assay.cli.output import emit, info, pluralize, progress_callback
from assay.errors import ConfigError, CorpusError

if TYPE_CHECKING:
    from assay.engines import FullEngine
    from assay.experiment.engine_check import EngineCheck, ParsedReply
    from assay.experiment.spec.model import EngineFactory
    from assay.report.render.document import Block, Cell, Document
    from assay.types import Corpus, CorpusSpec, GoldSet

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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action."""
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


def handle(args: argparse.Namespace) -> int:
    """Check the engine and tell what was seen."""
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
    emit(args, _document(checked), _data(checked))
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


def _data(checked: _Checked) -> dict[str, object]:
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


def _document(checked: _Checked) -> Document:
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
    rows: list[list[str | Cell]] = [_row(one) for one in found.answers]
    heads = ["asked for", "query", ">results", "paths", "lines", "scores", ">seconds", "found"]
    return [table(["what", "value"], facts), table(heads, rows)]


def _row(one: ParsedReply) -> list[str | Cell]:
    from assay.report.render.document import Cell

    total = len(one.hits)
    paths = Cell(_share(one.known, total, "in the corpus"), "plain" if one.known == total else "warning")
    order = {None: "", True: ", falling", False: ", not falling: the order counts"}[one.falling]
    scores = (_share(one.scored, total, "scored") if one.scored else "none") + order if total else ""
    lines = (_share(one.ranged, total, "with lines") if one.ranged else "whole files") if total else ""
    shown: list[str | Cell] = [one.what, one.query, str(total), paths, lines, scores, f"{one.seconds:.3f}", _place(one)]
    if one.error is not None:
        shown = [*shown[:3], "", "", "", f"{one.seconds:.3f}", Cell(str(one.status), "bad")]
    return shown


def _place(one: ParsedReply) -> Cell:
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
