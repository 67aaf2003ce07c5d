"""Index once, ask three questions, and say what was understood of the answers.

The questions come from the code: a name that is defined once, the sentence over a definition, and a word that stands
nowhere. The engine is asked as in a run: on a copy of the corpus, with the same limits, its answers read by the same
rules. Exits 4 when the engine fails, or when nothing that it says can be used.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.output import counted, emit, say, teller
from assay.errors import ConfigError, CorpusError, InputError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from assay.engines import FullEngine
    from assay.experiment.checkup import CheckUp, Understood
    from assay.report.document import Block, Cell, Document
    from assay.types import Corpus, CorpusSpec, Gold

#: Of the standard library, when there is no code here: enough to ask about, indexed in seconds by any tool.
_SAMPLE = ("json/*", "email/*", "http/*")


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
    parser.add_argument("--timeout", type=float, default=60.0, metavar="S", help="seconds for a query (60)")
    parser.add_argument("--index-timeout", type=float, default=3600.0, metavar="S", help="seconds to open (3600)")


def handle(args: argparse.Namespace) -> int:
    """Check the engine and tell what was seen."""
    from assay.experiment.checkup import check_gold, check_up
    from assay.types import CorpusSpec, Gold

    for flag in ("timeout", "index_timeout"):
        if not getattr(args, flag) > 0:
            raise ConfigError(f"--{flag.replace('_', '-')} is {getattr(args, flag):g}", hint="give it some seconds")
    _engine(args, Gold("", CorpusSpec("stdlib"), ()))  # what is wrong with it is told before anything is read
    corpus = _corpus(args.path)
    say(args, f"looking for questions in {counted(len(corpus.files), 'file')} of {corpus.root}")
    gold = check_gold(corpus)
    engine = _engine(args, gold)
    found = check_up(
        args.engine,
        engine,
        gold,
        timeout=args.timeout,
        index_timeout=args.index_timeout,
        progress=teller(args),
    )
    emit(args, _document(args.engine, engine, corpus, found), _data(args.engine, engine, corpus, found))
    return 4 if found.problems else 0


def _corpus(path: str | None) -> Corpus:
    """Open what was named; else this folder if it has code, else a part of the standard library."""
    from assay.corpus import open_corpus, parse_spec
    from assay.types import CorpusSpec

    if path is not None:
        return open_corpus(parse_spec(path))
    try:
        here = open_corpus(CorpusSpec("path", "."))
    except CorpusError:  # an empty folder
        here = None
    if here is not None and any(file.kind == "code" for file in here.files):
        return here
    return open_corpus(CorpusSpec("stdlib", include=_SAMPLE))


def _engine(args: argparse.Namespace, gold: Gold) -> FullEngine:
    """Make the engine: one that assay.toml names, else what the words mean."""
    from assay.engines import make_engine
    from assay.experiment.spec import FILE, read_spec
    from assay.types import Suite

    suite = Suite((gold,))
    config = Path(args.config or FILE)
    if args.config and not config.is_file():
        raise InputError("no such file", file=config, hint="name an assay.toml, or leave --config out")
    spec = read_spec(config) if config.is_file() else None
    table: str | Mapping[str, Any] = args.engine
    if spec is not None and args.engine in spec.engines:
        table = spec.engines[args.engine]
        return make_engine(table, suite=suite, seed=spec.seed, folder=spec.folder)
    return make_engine(table, suite=suite)


def _data(name: str, engine: FullEngine, corpus: Corpus, found: CheckUp) -> dict[str, object]:
    """Give everything, for programs."""
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
        "engine": name,
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


def _document(name: str, engine: FullEngine, corpus: Corpus, found: CheckUp) -> Document:
    """Show what it took, what each answer meant, and what is wrong."""
    from assay.report.document import Document, Paragraph

    notes = (*engine.notes, *found.notes, *(note for one in found.answers for note in one.notes))
    blocks: list[Block] = [Paragraph(f"On {_shown(corpus.spec)}, {counted(len(corpus.files), 'file')}.")]
    blocks += _measured(found) if found.index_seconds is not None else []
    blocks += [Paragraph(note, "quiet") for note in dict.fromkeys(notes)]
    blocks += [Paragraph(problem, "bad") for problem in found.problems]
    if found.problems and found.stderr.strip():
        blocks.append(Paragraph(f"it said: {found.stderr.strip().splitlines()[-1]}", "quiet"))
    blocks.append(_verdict(name, found))
    return Document(f"assay engines check {name}", tuple(blocks))


def _measured(found: CheckUp) -> list[Block]:
    """Show times, sizes and answers."""
    from assay.report.document import table

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
    return [table(["", ""], facts), table(heads, rows)]


def _row(one: Understood) -> list[str | Cell]:
    """Show what one answer meant."""
    from assay.report.document import Cell

    total = len(one.hits)
    paths = Cell(_share(one.known, total, "in the corpus"), "plain" if one.known == total else "warning")
    order = {None: "", True: ", falling", False: ", not falling: the order counts"}[one.falling]
    scores = (_share(one.scored, total, "scored") if one.scored else "none") + order if total else ""
    lines = (_share(one.ranged, total, "with lines") if one.ranged else "whole files") if total else ""
    shown: list[str | Cell] = [one.what, one.query, str(total), paths, lines, scores, f"{one.seconds:.3f}", _place(one)]
    if one.error is not None:
        shown = [*shown[:3], "", "", "", f"{one.seconds:.3f}", Cell(str(one.status), "bad")]
    return shown


def _place(one: Understood) -> Cell:
    """Say whether the file that holds the answer was found."""
    from assay.report.document import Cell

    if not one.expected:
        return Cell("nothing, as it should be" if not one.hits else "something for everything", "quiet")
    if one.rank is None:
        return Cell(f"not {one.expected}", "warning")
    return Cell(f"{one.expected} is file {one.rank}", "good")


def _verdict(name: str, found: CheckUp) -> Block:
    """Close with a sentence and the next step."""
    from assay.report.document import Paragraph

    if found.problems:
        return Paragraph(
            f"{name} cannot be measured like this. `assay engines show {name}` prints its settings.", "bad"
        )
    return Paragraph(f"{name} works: assay run --engine {name}", "good")


def _share(part: int, total: int, what: str) -> str:
    """Say how many of how many."""
    return f"all {what}" if part == total and total else f"{part} of {total} {what}" if total else ""


def _seconds(value: float | None) -> str:
    """Write a time."""
    return "not measured" if value is None else f"{value:.2f} s"


def _bytes(value: int | None) -> str:
    """Write a size."""
    return "not measured" if value is None else f"{value / 1e6:.1f} MB"


def _shown(spec: CorpusSpec) -> str:
    """Name a corpus as it is written on the command line."""
    from assay.corpus import spec_text

    return spec_text(spec)
