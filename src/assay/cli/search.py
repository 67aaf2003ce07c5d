"""Search code by question, keywords or name.

assay search "where are retries decided"            in this folder
assay search parse_config src --per span -k 5       spans of lines, in src
assay search "old name" --all --regex 'old_name'    every match, ranked, for a refactoring

The index is made on first use and refreshed when files change. Settings come from the [search] table of assay.toml,
then ASSAY_SEARCH__STEM__FILES=0.4 (two underscores for a dot), then --set stem.files=0.4.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import LAYOUT, check_lines, page, show_hit
from assay.cli.search_options import (
    add_folder,
    add_per,
    add_settings,
    check_count,
    check_known,
    check_query,
    config_of,
    folder_of,
    open_index,
)
from assay.errors import ConfigError

if TYPE_CHECKING:
    from assay.search import Index
    from assay.search.results import Filter
    from assay.search.trace import Trace
    from assay.types import Hit

_K = 10


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this command."""
    parser.add_argument("query", nargs="?", metavar="QUERY", help="a question, keywords or a name")
    add_folder(parser)
    parser.add_argument("-k", type=int, metavar="N", help=f"results ({_K})")
    add_per(parser)
    parser.add_argument("--all", action="store_true", help="every match, ranked, as they are found")
    wanted = parser.add_argument_group("filters", "they strike results out and change neither score nor order")
    wanted.add_argument("--path", dest="globs", action="append", default=[], metavar="GLOB", help="such as 'src/**'")
    wanted.add_argument("--language", action="append", default=[], metavar="NAME", help="such as python (repeatable)")
    wanted.add_argument("--kind", action="append", default=[], metavar="KIND", help="code, docs, function, class, ...")
    wanted.add_argument("--regex", metavar="RE", help="must be found in the lines of the result")
    wanted.add_argument("--min-score", type=float, metavar="X", help="scores below it are left out")
    shown = parser.add_argument_group("output")
    shown.add_argument("--lines", type=int, default=LAYOUT.lines, metavar="N", help=f"of a snippet ({LAYOUT.lines})")
    shown.add_argument("--no-snippets", action="store_true", help="places only")
    shown.add_argument("--trace", metavar="FILE", help="write what every stage did, as JSON lines; - for stderr")
    shown.add_argument("--show-config", action="store_true", help="print every setting as TOML, and do not search")
    add_settings(parser)


def handle(args: argparse.Namespace) -> int:
    """Search and print."""
    if args.show_config:
        return _show_config(args)
    query, lines = check_query(args.query), check_lines(args.lines)
    k = _count(args)
    wanted = _filter(args)
    index = open_index(args)
    check_known("language", wanted.languages, _languages(index))
    if args.trace:
        _write_trace(index.explain(query, per=args.per, k=k or _K), args.trace)
    hits = islice(index.matches(query, per=args.per, wanted=wanted), k)
    if args.json:
        _print_json(args, index, query, k, hits)
    else:
        _print_hits(index, query, hits, 0 if args.no_snippets else lines)
    return 0


def _show_config(args: argparse.Namespace) -> int:
    from assay.search.config import config_text

    if args.query is not None:
        raise ConfigError("--show-config does not search", hint="leave the query out")
    config = config_of(args, folder_of(args.path))
    data = {"schema": "assay/search-config/1", "search": config.as_dict()}
    sys.stdout.write(json.dumps(data) + "\n" if args.json else config_text(config))
    return 0


def _count(args: argparse.Namespace) -> int | None:
    if args.all and args.k is not None:
        raise ConfigError("--all is every match", hint="leave -k out")
    return None if args.all else check_count("-k", _K if args.k is None else args.k)


def _filter(args: argparse.Namespace) -> Filter:
    from assay.search.results import KINDS, Filter

    check_known("kind", args.kind, KINDS)
    if args.min_score is not None and not math.isfinite(args.min_score):
        raise ConfigError(f"--min-score {args.min_score}", hint="it is a number")
    from assay.corpus.languages import language_name

    languages = tuple(language_name(name) for name in args.language)
    return Filter(tuple(args.globs), languages, tuple(args.kind), args.regex, args.min_score)


def _languages(index: Index) -> set[str]:
    from assay.corpus.languages import LANGUAGES

    return {language for language in index.table.files.languages if language} | set(LANGUAGES)


def _write_trace(trace: Trace, place: str) -> None:
    text = "".join(f"{line}\n" for line in trace.json_lines())
    if place == "-":
        sys.stderr.write(text)
        return
    from assay.files import write_atomic

    if not Path(place).absolute().parent.is_dir():
        raise ConfigError(f"--trace {place}: there is no such folder", hint="make it first, or name another")
    write_atomic(Path(place), text)


def _print_json(args: argparse.Namespace, index: Index, query: str, k: int | None, hits: Iterable[Hit]) -> None:
    head = {
        "schema": "assay/search/1",
        "query": query,
        "folder": str(index.root),
        "files": len(index.table.files),
        "per": args.per,
        "k": k,
    }
    sys.stdout.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "hits": [')
    for rank, hit in enumerate(hits, start=1):
        sys.stdout.write(",\n" if rank > 1 else "\n")
        sys.stdout.write(json.dumps(_hit_json(rank, hit, snippets=not args.no_snippets), ensure_ascii=False))
    sys.stdout.write("\n]}\n")


def _hit_json(rank: int, hit: Hit, *, snippets: bool) -> dict[str, object]:
    row = {"rank": rank, "path": hit.path, "start": hit.start, "end": hit.end, "score": hit.score}
    return row | ({"snippet": hit.snippet} if snippets else {})


def _print_hits(index: Index, query: str, hits: Iterable[Hit], lines: int) -> None:
    found = False
    for text in _shown(index, query, hits, lines):
        found = True
        print(text)  # noqa: T201  # stdout is the result
    if not found:
        print(f"No match in {len(index.table.files):,} files.")  # noqa: T201  # stdout is the result


def _shown(index: Index, query: str, hits: Iterable[Hit], lines: int) -> Iterator[str]:
    from assay.search.query import parse_query
    from assay.search.trace import choose_lines, term_weights

    where = page()
    weights = term_weights(parse_query(query), index.view)
    for rank, hit in enumerate(hits, start=1):
        whole = hit.snippet if lines and hit.start is not None else None
        excerpt = None if whole is None else choose_lines(whole, hit.start or 1, weights, lines)
        yield from show_hit(where, rank, hit, excerpt, weights)
