"""The commands doctor, cache and model, which look after an installation."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from shutil import disk_usage, get_terminal_size, which
from tempfile import NamedTemporaryFile
from typing import Any

from assay.cli.console import emit_blocks, info, pluralize, write_result
from assay.corpus import open_corpus
from assay.engines.tool import PROBE_LIMITS
from assay.errors import AssayError, ConfigError, did_you_mean
from assay.experiment.spec import FILE, load_spec
from assay.files import find_upward
from assay.gold.anchors import resolve
from assay.gold.load import load_gold
from assay.processes.running import ProgramSpec, run_process
from assay.report.render.document import Block, Cell, Paragraph, Tone, table
from assay.search.config import load_search_config
from assay.search.models import InstallableModel, install_model, installed_model, list_models, named_model, remove_model
from assay.store.kinds import KINDS, LIMITED, cache_dir, parse_age, parse_size
from assay.store.store import Store
from assay.terminal import use_color


def doctor_command(args: Namespace) -> int:
    checks = [
        _check("python", "ok", f"{'.'.join(map(str, sys.version_info[:3]))} at {sys.executable}"),
        _check_tool("git", "needed for git corpora and tracked files", "install git"),
        _check_tool("rg", "needed by the ripgrep presets", "install ripgrep, or `pip install ripgrep`"),
        _check_tool("npm", "needed for npm: corpora", "install Node.js"),
        _check_cache(),
        _check_stdlib(),
        _check_terminal(),
        _check_config(),
    ]
    broken = any(check["required"] and check["state"] != "ok" for check in checks)
    tones: dict[object, Tone] = {"ok": "good", "missing": "warning", "failed": "bad"}
    rows: list[list[str | Cell]] = []
    for check in checks:
        state, hint = str(check["state"]), check["hint"]
        rows.append(
            [str(check["name"]), Cell(state, tones[state]), f"{check['detail']}" + (f" → {hint}" if hint else "")]
        )
    closing = "A required check failed." if broken else "Ready."
    data = {"schema": "assay/doctor/1", "ready": not broken, "findings": checks}
    emit_blocks(args, "assay doctor", (table(["Check", "State", "Details"], rows), closing), data)
    return 4 if broken else 0


def _check(name: str, state: str, detail: str, hint: str = "", *, required: bool = True) -> dict[str, object]:
    return {"name": name, "state": state, "detail": detail, "hint": hint, "required": required}


def _check_tool(name: str, use: str, hint: str) -> dict[str, object]:
    path = which(name)
    if path is None:
        return _check(name, "missing", f"not on PATH; {use}", hint, required=False)
    try:
        done = run_process(ProgramSpec((path, "--version")), PROBE_LIMITS.seconds)
    except AssayError as error:
        return _check(name, "failed", error.message, hint, required=False)
    if done.end != "exit":
        return _check(name, "failed", f"`{name} --version` ended with: {done.end}", hint, required=False)
    version = (done.stdout or done.stderr).decode(errors="replace").strip().splitlines()[:1]
    return _check(name, "ok", version[0] if version else path, required=False)


def _check_cache() -> dict[str, object]:
    directory = cache_dir()
    try:
        directory.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=directory):
            pass
    except OSError as error:
        hint = "set ASSAY_CACHE_DIR to a writable directory"
        return _check("cache", "failed", f"{directory}: {error.strerror}", hint)
    return _check("cache", "ok", f"{directory}, {disk_usage(directory).free / 2**30:.0f} GiB free")


def _check_stdlib() -> dict[str, object]:
    try:
        gold = load_gold("stdlib").golds[0]
        corpus = open_corpus(gold.corpus)
        resolved = resolve(gold, corpus, missing="report").gold
    except AssayError as error:
        return _check("standard library", "failed", error.message, error.hint or "")
    queries = (
        f"{len(resolved.queries)} of {len(gold.queries)} gold queries have targets in its {len(corpus.files)} files"
    )
    return _check("standard library", "ok", "; ".join((queries, *corpus.notes)))


def _check_terminal() -> dict[str, object]:
    detail = "not a terminal: plain text"
    if sys.stdout.isatty():
        color = "color" if use_color(sys.stdout) else "no color"
        detail = f"{color}, {get_terminal_size().columns} columns"
    return _check("terminal", "ok", detail, required=False)


def _check_config() -> dict[str, object]:
    path = find_upward(Path(), FILE)
    if path is None:
        return _check(FILE, "missing", "not in this directory or above", "run `assay init`", required=False)
    try:
        spec = load_spec(path)
        load_search_config((), path, os.environ)
    except AssayError as error:
        return _check(FILE, "failed", str(error).replace("\n", " "))
    return _check(FILE, "ok", f"{path}: {len(spec.entries())} engines, {len(spec.gold)} gold sources")


def show_command(args: Namespace) -> None:
    store = Store()
    known = {kind.name: kind for kind in KINDS}
    usage = [(entry, known[entry.kind]) for entry in store.usage()]
    data = {
        "schema": "assay/cache/2",
        "directory": str(store.root),
        "limit": store.limits.bytes,
        "artifacts": sum(entry.bytes for entry, kind in usage if kind in LIMITED),
        "bytes": sum(entry.bytes for entry, _ in usage),
        "kinds": [
            {
                "kind": entry.kind,
                "artifacts": kind in LIMITED,
                "entries": entry.entries,
                "bytes": entry.bytes,
                "oldest": _format_day(entry.oldest),
                "newest": _format_day(entry.newest),
                "about": kind.about,
                "anew": kind.anew,
                "share": entry.bytes / store.limits.bytes if kind in LIMITED and store.limits.bytes else None,
            }
            for entry, kind in usage
        ],
    }
    emit_blocks(args, f"The cache at {data['directory']}", _cache_blocks(data), data)


def _cache_blocks(data: Mapping[str, Any]) -> Iterator[Block | str]:
    if data["kinds"]:
        rows = [
            [
                row["kind"],
                f"{row['entries']:,}",
                _format_size(row["bytes"]),
                "" if row["share"] is None else f"{row['share']:.1%}",
                row["oldest"],
                row["newest"],
            ]
            for row in data["kinds"]
        ]
        note = "Kinds without a share have no limit, and their dates are those of the last write."
        yield table(["Kind", ">Entries", ">Size", ">Of the limit", ">First used", ">Last used"], rows, note)
        artifacts = f"{_format_size(data['artifacts'])} of {_format_size(data['limit'])} for artifacts"
        yield f"{artifacts}; {_format_size(data['bytes'])} in all."
    else:
        yield "The cache is empty."
    yield table(["Kind", "Description", "Rebuilt by"], [[kind.name, kind.about, kind.anew] for kind in KINDS])


def prune_command(args: Namespace) -> None:
    most = None if args.to is None else parse_size(args.to, "--to")
    age = None if args.older_than is None else parse_age(args.older_than, "--older-than")
    known = [kind.name for kind in KINDS]
    for kind in args.kind:
        if kind not in known:
            hint = did_you_mean(kind, known) or f"kinds: {', '.join(sorted(known))}"
            raise ConfigError(f"--kind: unknown kind {kind!r}", hint=hint)
    if most is None and age is None and not {kind.name for kind in LIMITED}.issuperset(args.kind):
        raise ConfigError("pruning these kinds requires --to or --older-than", hint="add --to SIZE or --older-than AGE")
    pruned = Store().prune(most, age, args.kind, dry_run=args.dry_run)
    removed = "would be removed" if args.dry_run else "removed"
    text = f"{pluralize(pruned.entries, 'entry', 'entries')} {removed}, {_format_size(pruned.bytes)}"
    text += f"; {_format_size(pruned.left)} left." + (f" {pruned.held} in use were kept." if pruned.held else "")
    data = {"schema": "assay/cache-prune/1", "dry_run": args.dry_run, **asdict(pruned)}
    emit_blocks(args, "Pruned the cache", [text], data)


def verify_command(args: Namespace) -> int:
    store = Store()
    info(args, f"reading {store.root} ...")
    plain = {kind.name for kind in KINDS if kind.workspace}
    checked = sum(entry.entries for entry in store.usage() if entry.kind not in plain)
    broken = store.verify()
    outcome = f"{len(broken)} broken and removed" if broken else "none broken"
    removed = (Paragraph(f"removed the broken {name}; it is rebuilt when needed", "warning") for name in broken)
    data = {"schema": "assay/cache-verify/1", "checked": checked, "broken": list(broken)}
    emit_blocks(args, "Verified the cache", (f"{pluralize(checked, 'artifact')} checked; {outcome}.", *removed), data)
    return AssayError.exit_code if broken else 0


def _format_size(size: float) -> str:
    for unit in ("B", "kB", "MB"):
        if size < 1000:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1000
    return f"{size:.2f} GB"


def _format_day(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d")


def list_command(args: Namespace) -> int:
    rows = list(list_models())
    cells = [(model.name, "yes" if path else "no", model.about, model.license) for model, path in rows]
    emit_blocks(args, "Encoders", [table(("Name", "Installed", "Description", "License"), cells)], _data(*rows))
    return 0


def install_command(args: Namespace) -> int:
    directory = install_model(args.name, Path(args.source) if args.source else None)
    shown = (f"{args.name} is installed.", f'Search with it: assay search --set dense.encoder={args.name} "..."')
    emit_blocks(args, "", shown, _data((named_model(args.name), directory)))
    return 0


def remove_command(args: Namespace) -> int:
    remove_model(args.name)
    emit_blocks(args, "", [f"{args.name} was removed."], _data((named_model(args.name), None)))
    return 0


def path_command(args: Namespace) -> int:
    directory = installed_model(args.name)
    if args.json:
        emit_blocks(args, "", [], _data((named_model(args.name), directory)))
    else:
        write_result(str(directory))  # one line, at any width
    return 0


def _data(*rows: tuple[InstallableModel, Path | None]) -> dict[str, Any]:
    models = [
        {
            "name": model.name,
            "description": model.about,
            "license": model.license,
            "sha256": dict(model.sha256),
            "path": str(directory) if directory else None,
        }
        for model, directory in rows
    ]
    return {"schema": "assay/models/1", "models": models}
