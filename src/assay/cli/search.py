from __future__ import annotations

import argparse
import json
import math
import os
import re
import sys
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.output import LAYOUT, ResultPrinter, check_lines, clean, emit, fit, headline, info, page, show_hit
from assay.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from assay.report.render.document import Block
    from assay.search import Index, SearchConfig
    from assay.search.building import OpenedTable
    from assay.search.related import Related, Relation
    from assay.search.results import ResultFilter
    from assay.search.trace import Trace
    from assay.types import Hit

_K = 10


def search_arguments(parser: argparse.ArgumentParser) -> None:
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


def search_command(args: argparse.Namespace) -> int:
    """Search code by question, keywords or name.

    assay search "where are retries decided"            in this folder
    assay search parse_config src --per span -k 5       spans of lines, in src
    assay search "old name" --all --regex 'old_name'    every match, ranked, for a refactoring

    The index is made on first use and refreshed when files change. Settings come from the [search] table of assay.toml,
    then ASSAY_SEARCH__STEM__FILES=0.4 (two underscores for a dot), then --set stem.files=0.4.
    """
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


def _filter(args: argparse.Namespace) -> ResultFilter:
    from assay.search.results import KINDS, ResultFilter

    check_known("kind", args.kind, KINDS)
    if args.min_score is not None and not math.isfinite(args.min_score):
        raise ConfigError(f"--min-score {args.min_score}", hint="it is a number")
    from assay.corpus.languages import language_name

    languages = tuple(language_name(name) for name in args.language)
    return ResultFilter(tuple(args.globs), languages, tuple(args.kind), args.regex, args.min_score)


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
    for text in _hit_lines(index, query, hits, lines):
        found = True
        print(text)  # noqa: T201  # stdout is the result
    if not found:
        print(f"No match in {len(index.table.files):,} files.")  # noqa: T201  # stdout is the result


def _hit_lines(index: Index, query: str, hits: Iterable[Hit], lines: int) -> Iterator[str]:
    from assay.search.query import parse_query
    from assay.search.trace import choose_lines, term_weights

    where = page()
    weights = term_weights(parse_query(query), index.view)
    for rank, hit in enumerate(hits, start=1):
        whole = hit.snippet if lines and hit.start is not None else None
        excerpt = None if whole is None else choose_lines(whole, hit.start or 1, weights, lines)
        yield from show_hit(where, rank, hit, excerpt, weights)


_SHOWN = 5  # examples of a kind; --json has them all


def index_arguments(parser: argparse.ArgumentParser) -> None:
    add_folder(parser)
    parser.add_argument("--rebuild", action="store_true", help="forget what is kept and read every file again")
    add_settings(parser)


def index_command(args: argparse.Namespace) -> int:
    """Build or refresh the index of a directory and show its contents.

    The index lies in the user's cache ($ASSAY_INDEX_DIR, or $ASSAY_CACHE_DIR, or the XDG cache); nothing is written
    into the folder itself. Only files whose contents changed are read again.
    """
    folder = folder_of(args.path)
    config, workers = config_of(args, folder), workers_of(args)
    from assay.report.render.document import Document
    from assay.search.building import index_directory, index_key, open_table
    from assay.search.dense import embed_table

    if args.rebuild:
        _forget(index_directory(folder, index_key(config.index)))
    info(args, f"indexing {folder.resolve()} ...")
    began = time.perf_counter()
    opened = open_table(folder, config.index, workers, keep=True)
    embed_table(opened.table, config.dense, opened.folder)
    data = _index_data(opened, time.perf_counter() - began)
    emit(args, Document(f"The index of {folder.resolve()}", tuple(_index_blocks(data))), data)
    return 0


def _forget(folder: Path) -> None:
    for file in sorted(folder.glob("*.assay")):
        file.unlink(missing_ok=True)


def _index_data(opened: OpenedTable, seconds: float) -> dict[str, Any]:
    files = opened.table.files
    problems = [{"path": path, "problem": text} for path, text in zip(files.paths, files.problems, strict=True) if text]
    return {
        "schema": "assay/index/1",
        "folder": str(opened.corpus.root.resolve()),
        "index": str(opened.folder),
        "bytes": sum(file.stat().st_size for file in opened.folder.glob("*.assay")),
        "files": len(files),
        "units": len(opened.table.chunks),
        "changed": opened.changed,
        "seconds": round(seconds, 3),
        "languages": dict(Counter(language or "none" for language in files.languages).most_common()),
        "skipped": dict(sorted(Counter(one.reason for one in opened.corpus.skipped).items())),
        "skipped_files": [{"path": one.path, "reason": one.reason} for one in opened.corpus.skipped],
        "unparsed": problems,
        "notes": [*opened.corpus.notes, *opened.notes],
    }


def _index_blocks(data: dict[str, Any]) -> list[Block]:
    from assay.report.render.document import Paragraph

    size = f"{data['files']:,} files in {data['units']:,} units"
    blocks: list[Block] = [
        Paragraph(f"{size}; {data['changed']:,} read now, in {data['seconds']:.2f} s."),
        Paragraph(f"{data['bytes'] / 1e6:.1f} MB at {data['index']}"),
        Paragraph(_counted("Languages", data["languages"])),
    ]
    if data["skipped"]:
        examples = ", ".join(one["path"] for one in data["skipped_files"][:_SHOWN])
        blocks.append(Paragraph(f"{_counted('Skipped', data['skipped'])} Such as {examples}.", "quiet"))
    if data["unparsed"]:
        shown = "; ".join(f"{one['path']} ({one['problem']})" for one in data["unparsed"][:_SHOWN])
        blocks.append(Paragraph(f"{len(data['unparsed'])} did not parse and were cut by lines: {shown}.", "warning"))
    return blocks + [Paragraph(note, "warning") for note in data["notes"]]


def _counted(title: str, counts: dict[str, int]) -> str:
    return f"{title}: {', '.join(f'{name} {count:,}' for name, count in counts.items()) or 'none'}."


_SHARED = 6  # names or words shown of a relation; --json has them all
_TITLES = {"uses": "It uses", "used_by": "Used by", "alike": "About the same things"}


def related_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("place", metavar="FILE:LINE", help="a line of the code in question")
    add_folder(parser)
    parser.add_argument("-k", type=int, default=5, metavar="N", help="relatives of each kind (5)")
    add_settings(parser)


def related_command(args: argparse.Namespace) -> int:
    """Show code related to a line: what it uses, what uses it, and similar code.

    assay related src/http.py:120
    assay related src/http.py:120 ~/repository -k 5
    """
    name, line = _place(args.place)
    k = check_count("-k", args.k)
    index = open_index(args)
    found = index.related(path_inside(index, name), line, k)
    if args.json:
        print(json.dumps(_json(found), ensure_ascii=False, indent=1))  # noqa: T201  # stdout is the result
        return 0
    for text in _related_lines(page(), found):
        print(text)  # noqa: T201  # stdout is the result
    return 0


def _place(text: str) -> tuple[str, int]:
    found = re.fullmatch(r"(.+?):(\d+)(?:-\d+)?", text)
    if found is None or int(found.group(2)) < 1:
        raise ConfigError(f"{text!r} is no line of a file", hint="write FILE:LINE, such as src/http.py:120")
    return found.group(1), int(found.group(2))


def _json(found: Related) -> dict[str, Any]:
    return {
        "schema": "assay/related/1",
        "unit": _neighbor_json(found.chunk) | {"names": list(found.names)},
        **{kind: [_relation_json(one) for one in getattr(found, kind)] for kind in _TITLES},
        "files": [{"path": hit.path, "score": hit.score} for hit in found.files],
    }


def _relation_json(relation: Relation) -> dict[str, Any]:
    return _neighbor_json(relation.hit) | {"score": relation.hit.score, "shared": list(relation.shared)}


def _neighbor_json(hit: Hit) -> dict[str, Any]:
    return {"path": hit.path, "start": hit.start, "end": hit.end}


def _related_lines(page: ResultPrinter, found: Related) -> Iterator[str]:
    names = f"  {', '.join(map(clean, found.names))}" if found.names else ""
    yield page.bold(clean(str(found.chunk.span))) + names
    for kind, title in _TITLES.items():
        relations: tuple[Relation, ...] = getattr(found, kind)
        if relations:
            yield f"\n{title}"
        for rank, one in enumerate(relations, start=1):
            yield headline(page, rank, one.hit)
            yield page.dim("     " + fit(", ".join(one.shared[:_SHARED]), page.width - 5))
    if found.files:
        yield "\nFiles"
        yield from (headline(page, rank, hit) for rank, hit in enumerate(found.files, start=1))
    else:
        yield "\nNothing else belongs to it."


def add_folder(parser: argparse.ArgumentParser) -> None:
    """Add the folder that is searched."""
    parser.add_argument("path", nargs="?", default=".", metavar="PATH", help="the folder to search (this one)")


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the flags that change the configuration."""
    group = parser.add_argument_group("settings", "see `assay search --show-config` for every one and its meaning")
    group.add_argument("--config", metavar="FILE", help="a file with a [search] table (assay.toml in PATH, if any)")
    group.add_argument(
        "--set", action="append", default=[], metavar="KEY=VALUE", help="such as stem.files=0.4 (repeatable)"
    )
    group.add_argument("--workers", type=int, metavar="N", help="processes that index (one for each core)")


def add_per(parser: argparse.ArgumentParser) -> None:
    """Add the flag that says what a result is."""
    parser.add_argument("--per", choices=("file", "span"), default="file", help="a result is a file or a span of lines")


def folder_of(text: str) -> Path:
    """Check the folder that is searched."""
    folder = Path(text)
    if folder.is_file():
        hint = f"name its folder, and the file by --path: {folder.parent} --path {folder.name}"
        raise ConfigError("is a file, not a folder", file=folder, hint=hint)
    if not folder.is_dir():
        raise ConfigError("no such folder", file=folder, hint="name the folder of the code to search")
    return folder


def config_of(args: argparse.Namespace, folder: Path) -> SearchConfig:
    """Put the configuration together."""
    from assay.search.config import find_config, load_config

    file = Path(args.config) if args.config else find_config(folder)
    return load_config(args.set, file, os.environ)


def workers_of(args: argparse.Namespace) -> int | None:
    """Check how many processes are wanted."""
    if args.workers is not None:
        check_count("--workers", args.workers)
    return None if args.workers is None else int(args.workers)


def check_count(flag: str, count: int) -> int:
    """Refuse a number of things that is less than one."""
    if count < 1:
        raise ConfigError(f"{flag} {count}", hint="it is 1 or more")
    return count


def check_query(text: str | None) -> str:
    """Refuse a query without a word in it."""
    if text is None or not text.strip():
        raise ConfigError("there is nothing to search for", hint='write what you look for: assay search "retry limit"')
    return text


def check_known(what: str, given: Iterable[str], known: Iterable[str]) -> None:
    """Refuse a name that no result could have."""
    names = sorted(known)
    for name in given:
        if name not in names:
            raise ConfigError(
                f"unknown {what} {name!r}", hint=did_you_mean(name, names) or f"there are {', '.join(names)}"
            )


def open_index(args: argparse.Namespace) -> Index:
    """Open the index of the folder; what takes time the first time is told on stderr."""
    folder = folder_of(args.path)
    config, workers = config_of(args, folder), workers_of(args)
    from assay.search import Index
    from assay.search.building import FILE_NAME, index_directory, index_key

    new = not (index_directory(folder, index_key(config.index)) / FILE_NAME).exists()
    if new:
        info(args, f"indexing {folder.resolve()}, which is new here ...")
    began = time.perf_counter()
    index = Index.open(folder, config, workers=workers)
    if new:
        spent = time.perf_counter() - began
        size = f"{len(index.table.files):,} files, {len(index.table.chunks):,} units"
        info(args, f"{size} in {spent:.1f} s; kept for later")
    for note in index.notes:
        info(args, note)
    return index


def path_inside(index: Index, text: str) -> str:
    """Name a file as the index does: relative to its folder, whether it was written so or as seen from here."""
    if text in index.table.files.paths:
        return text
    root = index.root.resolve()
    from_here = Path(os.path.normpath(Path.cwd() / text))
    real = from_here.parent.resolve() / from_here.name
    if real.is_relative_to(root):
        return real.relative_to(root).as_posix()
    if (root / text).exists() and ".." not in Path(text).parts and not Path(text).is_absolute():
        return Path(text).as_posix()
    raise ConfigError("lies outside of what is searched", file=text, hint=f"name a file in {root}")
