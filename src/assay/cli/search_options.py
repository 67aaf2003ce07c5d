"""Flags and index opening shared by the search commands."""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from assay.cli.output import info
from assay.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from assay.search import Index, SearchConfig


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
    from assay.search.building import index_key
    from assay.search.index_files import index_file

    new = not index_file(folder, index_key(config.index)).exists()
    if new:
        info(args, f"indexing {folder.resolve()}, which is new here ...")
    began = time.perf_counter()
    index = Index.open(folder, config, workers=workers)
    if new:
        spent = time.perf_counter() - began
        size = f"{len(index.table.files):,} files, {len(index.table.units):,} units"
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
