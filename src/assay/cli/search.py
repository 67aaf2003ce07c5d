from __future__ import annotations

import json
import math
import os
import re
import sys
import time
from argparse import Namespace
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.cli.arguments import reject_flags
from assay.cli.console import (
    ResultPrinter,
    clean,
    emit_blocks,
    fit,
    format_headline,
    format_hit,
    info,
    result_printer,
    write_result,
)
from assay.corpus.file_types import LANGUAGES, language_name
from assay.errors import ConfigError, did_you_mean
from assay.files import write_atomic
from assay.search import Index, SearchConfig
from assay.search.building import FILE_NAME, OpenedTable, index_directory, index_key, open_table
from assay.search.config import config_text, find_config, load_search_config
from assay.search.dense import embed_table
from assay.search.query import parse_query
from assay.search.related import Related
from assay.search.results import KINDS, ResultFilter
from assay.search.trace import choose_lines, is_tracing, term_weights
from assay.types import Hit

if TYPE_CHECKING:
    from assay.report.render.document import Block
    from assay.search.encoder import EncoderScores

_K = 10
_HEAD = 2048  # bytes of a file that may begin a gold set, after comments
_LINES = 6  # of a snippet on a terminal


def search_command(args: Namespace) -> None:
    if args.show_config:
        reject_flags(args, "--show-config", "query")
        config = _load_config(args, check_directory(args.path))
        data = {"schema": "assay/search-config/1", "search": config.as_dict()}
        sys.stdout.write(json.dumps(data) + "\n" if args.json else config_text(config))
        return

    query = check_query(args.query, "search")
    if args.all:
        reject_flags(args, "--all", "k")
    k = None if args.all else args.k or _K
    wanted = _read_filter(args)
    index = open_index(args)
    _check_known("language", wanted.languages, {*filter(None, index.table.files.languages), *LANGUAGES})
    if args.trace or is_tracing():
        _write_trace(index, args, query, k or _K)
    matches = index.matches(query, per=args.per, wanted=wanted, pad=not args.all)
    hits = islice((hit for hit in matches if not is_gold(index.root / hit.path)), k)
    if args.json:
        _print_json(args, index, query, k, hits)
    else:
        lines = 0 if args.no_snippets else args.lines
        here = "" if args.path == "." else args.path  # paths can be opened from the current directory
        found = (hit._replace(path=os.path.join(here, hit.path)) for hit in hits)
        if sys.stdout.isatty():
            _print_hits(index, query, found, _LINES if lines is None else lines)
        else:
            _print_locations(index, query, filter(_is_match, found), 1 if lines is None else lines)


def _is_match(hit: Hit) -> bool:
    """Return whether a result is no padding, which has no positive score."""
    return (hit.score or 0) > 0


def is_gold(path: Path) -> bool:
    """Return whether a file is a native gold set, which would match its own queries best."""
    if path.suffix not in (".yaml", ".yml"):
        return False
    with suppress(OSError), path.open("rb") as file:
        return re.search(rb"^assay: *\d", file.read(_HEAD), re.MULTILINE) is not None
    return False


def _read_filter(args: Namespace) -> ResultFilter:
    _check_known("kind", args.kind, KINDS)
    if args.min_score is not None and not math.isfinite(args.min_score):
        raise ConfigError(f"expected a finite --min-score, got {args.min_score}", hint="use a number such as 0.5")
    languages = tuple(language_name(name) for name in args.language)
    return ResultFilter(tuple(args.globs), languages, tuple(args.kind), args.regex, args.min_score)


def _check_known(noun: str, given: Iterable[str], known: Iterable[str]) -> None:
    names = sorted(known)
    for name in given:
        if name not in names:
            hint = did_you_mean(name, names) or f"known: {', '.join(names)}"
            raise ConfigError(f"unknown {noun} {name!r}", hint=hint)


def _write_trace(index: Index, args: Namespace, query: str, k: int) -> None:
    trace = index.explain(query, per=args.per, k=k)
    text = "".join(f"{line}\n" for line in trace.json_lines())
    if args.trace in (None, "-"):
        sys.stderr.write(text)
        return
    if not Path(args.trace).absolute().parent.is_dir():
        raise ConfigError("no such directory", file=Path(args.trace).parent, hint="create it, or pass another --trace")
    write_atomic(Path(args.trace), text)


def _print_json(args: Namespace, index: Index, query: str, k: int | None, hits: Iterable[Hit]) -> None:
    head = {
        "schema": "assay/search/2",
        "query": query,
        "directory": str(index.root),
        "files": len(index.table.files),
        "per": args.per,
        "k": k,
    }
    sys.stdout.write(json.dumps(head, ensure_ascii=False)[:-1] + ', "hits": [')
    for rank, hit in enumerate(hits, start=1):
        row: dict[str, object] = {"rank": rank, **_hit_json(hit), "score": hit.score}
        if not args.no_snippets:
            row["snippet"] = hit.snippet
        sys.stdout.write((",\n" if rank > 1 else "\n") + json.dumps(row, ensure_ascii=False))
    sys.stdout.write("\n]}\n")


def _print_hits(index: Index, query: str, hits: Iterable[Hit], lines: int) -> None:
    printer = result_printer()
    weights = term_weights(parse_query(query), index.view)
    hits = list(hits)
    if not any(map(_is_match, hits)):
        write_result(f"No match in {len(index.table.files):,} files.")
    for rank, hit in enumerate(hits, start=1):
        snippet = None
        if lines and _is_match(hit) and hit.start is not None and hit.snippet is not None:
            snippet = choose_lines(hit.snippet, hit.start, weights, lines)
        for line in format_hit(printer, rank, hit, snippet, weights):
            write_result(line)


def _print_locations(index: Index, query: str, hits: Iterable[Hit], lines: int) -> None:
    """Print `path:line:text` of the best lines of each result, as grep does."""
    printer = result_printer()
    weights = term_weights(parse_query(query), index.view)
    for hit in hits:
        place = printer.bold(clean(hit.path))
        if not lines or hit.start is None or hit.snippet is None:
            write_result(place if hit.start is None else f"{place}:{hit.start}")
            continue
        snippet = choose_lines(hit.snippet, hit.start, weights, lines)
        for number, line in enumerate(snippet.lines, start=snippet.start):
            width = printer.width - len(f"{clean(hit.path)}:{number}:")
            write_result(f"{place}:{number}:{fit(line, max(width, 1))}")


def index_command(args: Namespace) -> None:
    directory = check_directory(args.path)
    config = _load_config(args, directory)
    if args.rebuild:
        for file in index_directory(directory, index_key(config.index)).glob("*.assay"):
            file.unlink(missing_ok=True)
    info(args, f"indexing {directory.resolve()} ...")
    began = time.perf_counter()
    opened = open_table(directory, config.index, args.workers, keep=True)
    embed_table(opened.table, config.dense, opened.directory)
    if config.dense.encoder:
        from assay.search.encoder import make_encoder

        _encode_all(args, make_encoder(config, opened.table, opened.directory))
    data = _index_data(opened, time.perf_counter() - began)
    emit_blocks(args, f"The index of {directory.resolve()}", _index_blocks(data), data)


def _index_data(opened: OpenedTable, seconds: float) -> dict[str, Any]:
    files = opened.table.files
    problems = [{"path": path, "problem": text} for path, text in zip(files.paths, files.problems, strict=True) if text]
    return {
        "schema": "assay/index/2",
        "directory": str(opened.corpus.root.resolve()),
        "index": str(opened.directory),
        "bytes": sum(file.stat().st_size for file in opened.directory.glob("*.assay")),
        "files": len(files),
        "units": len(opened.table.chunks),
        "changed": opened.changed,
        "seconds": round(seconds, 3),
        "languages": dict(Counter(language or "none" for language in files.languages).most_common()),
        "skipped": dict(sorted(Counter(file.reason for file in opened.corpus.skipped).items())),
        "skipped_files": [{"path": file.path, "reason": file.reason} for file in opened.corpus.skipped],
        "unparsed": problems,
        "notes": [*opened.corpus.notes, *opened.notes],
    }


def _index_blocks(data: dict[str, Any]) -> Iterator[Block | str]:
    from assay.report.render.document import Paragraph

    examples = 5  # --json has all
    size = f"{data['files']:,} files in {data['units']:,} chunks"
    yield f"{size}; {data['changed']:,} files read in {data['seconds']:.2f} s."
    yield f"{data['bytes'] / 1e6:.1f} MB at {data['index']}"
    yield _format_counts("Languages", data["languages"])
    if data["skipped"]:
        paths = ", ".join(file["path"] for file in data["skipped_files"][:examples])
        yield Paragraph(f"{_format_counts('Skipped', data['skipped'])} Such as {paths}.", "quiet")
    if data["unparsed"]:
        shown = "; ".join(f"{file['path']} ({file['problem']})" for file in data["unparsed"][:examples])
        yield Paragraph(
            f"{len(data['unparsed'])} files could not be parsed and were split by lines: {shown}.", "warning"
        )
    yield from (Paragraph(note, "warning") for note in data["notes"])


def _format_counts(title: str, counts: dict[str, int]) -> str:
    return f"{title}: {', '.join(f'{name} {count:,}' for name, count in counts.items()) or 'none'}."


_RELATIONS = {"uses": "Uses", "used_by": "Used by", "alike": "Similar code"}


def related_command(args: Namespace) -> None:
    location = re.fullmatch(r"(.+?):(\d+)(?:-\d+)?", args.place)
    if location is None or int(location.group(2)) < 1:
        raise ConfigError(f"expected FILE:LINE, got {args.place!r}", hint="assay related src/http.py:120")
    index = open_index(args)
    related = index.related(path_inside(index, location.group(1)), int(location.group(2)), args.k)
    if args.json:
        write_result(json.dumps(_related_json(related), ensure_ascii=False, indent=1))
    else:
        write_result("\n".join(_format_related(result_printer(), related)))


def _related_json(related: Related) -> dict[str, Any]:
    kinds = {
        kind: [
            {**_hit_json(relation.hit), "score": relation.hit.score, "shared": list(relation.shared)}
            for relation in getattr(related, kind)
        ]
        for kind in _RELATIONS
    }
    unit = {**_hit_json(related.chunk), "names": list(related.names)}
    files = [{"path": hit.path, "score": hit.score} for hit in related.files]
    return {"schema": "assay/related/1", "unit": unit, **kinds, "files": files}


def _hit_json(hit: Hit) -> dict[str, Any]:
    return {"path": hit.path, "start": hit.start, "end": hit.end}


def _format_related(printer: ResultPrinter, related: Related) -> Iterator[str]:
    shared = 6  # names or words per relation; --json has all
    names = f"  {', '.join(map(clean, related.names))}" if related.names else ""
    yield printer.bold(clean(str(related.chunk.span))) + names
    for kind, title in _RELATIONS.items():
        relations = getattr(related, kind)
        if relations:
            yield f"\n{title}"
        for rank, relation in enumerate(relations, start=1):
            yield format_headline(printer, rank, relation.hit)
            yield printer.dim("     " + fit(", ".join(relation.shared[:shared]), printer.width - 5))
    if related.files:
        yield "\nFiles"
        yield from (format_headline(printer, rank, hit) for rank, hit in enumerate(related.files, start=1))
    else:
        yield "\nNo related code."


def check_directory(text: str) -> Path:
    directory = Path(text)
    if directory.is_file():
        hint = f"pass its directory: {directory.parent}"
        raise ConfigError("expected a directory, got a file", file=directory, hint=hint)
    if not directory.is_dir():
        raise ConfigError("no such directory", file=directory, hint="pass a directory of code")
    return directory


def _load_config(args: Namespace, directory: Path) -> SearchConfig:
    return load_search_config(args.set, Path(args.config) if args.config else find_config(directory), os.environ)


def check_query(text: str | None, command: str) -> str:
    if text is None or not text.strip():
        raise ConfigError("expected a query", hint=f'assay {command} "where are retries decided"')
    return text


def open_index(args: Namespace) -> Index:
    """Open the index of the directory; build it if it does not exist."""
    directory = check_directory(args.path)
    config = _load_config(args, directory)
    file = index_directory(directory, index_key(config.index)) / FILE_NAME
    new = not file.exists()
    if new:
        info(args, f"indexing {directory.resolve()} for the first time ...")
    began = time.perf_counter()
    index = Index.open(directory, config, workers=args.workers)
    if index.view.encoder:
        _encode_all(args, index.view.encoder)
    if new:
        size = f"{len(index.table.files):,} files, {len(index.table.chunks):,} chunks"
        cached = "; the index is cached" if file.exists() else ""
        info(args, f"{size} in {time.perf_counter() - began:.1f} s{cached}")
    for note in index.notes:
        info(args, note)
    return index


def _encode_all(args: Namespace, encoder: EncoderScores) -> None:
    """Encode all chunks if the encoder needs them ahead of a query; show a bar on a terminal."""
    if encoder.settings.mode != "full":
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True, disable=args.quiet) as bar:
        task = bar.add_task("encoding chunks", total=None, visible=False)
        encoder.encoder.encode_all(lambda done, total: bar.update(task, completed=done, total=total, visible=True))


def path_inside(index: Index, text: str) -> str:
    """Return a path relative to the indexed directory; `text` is relative to that or to the current directory."""
    if text in index.table.files.paths:
        return text
    root = index.root.resolve()
    from_here = Path(os.path.normpath(Path.cwd() / text))
    real = from_here.parent.resolve() / from_here.name
    if real.is_relative_to(root):
        return real.relative_to(root).as_posix()
    if (root / text).exists() and ".." not in Path(text).parts and not Path(text).is_absolute():
        return Path(text).as_posix()
    raise ConfigError("not in the searched directory", file=text, hint=f"pass a file in {root}")
