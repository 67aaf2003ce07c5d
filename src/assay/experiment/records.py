"""Runs on disk: a folder from which every number can be computed again without engine or corpus.

`run.json` names its members with their hashes and is replaced last, in one step, so that a reader
sees the old run or the new one. `engines/NAME-HASH.jsonl` has a header line, then one line for each
intent × form.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from assay import types
from assay._version import __version__
from assay.errors import AssayError, InputError
from assay.experiment.codec import dump, gold_json, ranking_json, read_gold, read_header, read_ranking
from assay.files import write_atomic

FORMAT = 1
MANIFEST = "run.json"
#: Results inside a repository are no part of it: the next run must not find them.
_IGNORE_FILE = ".assayignore"
_LOCK_FILE = ".lock"
_IGNORE = "# Results are not source: this keeps them out of every corpus.\n*\n"


def check_folder(folder: Path) -> Path:
    """Make sure that a run can be written here before hours are spent on it; nothing is written yet."""
    if folder.exists() and not folder.is_dir():
        raise InputError("is a file, not a folder", file=folder, hint="name another place with --out")
    ours = (folder / MANIFEST).exists() or not any(folder.glob("*"))
    if not ours:
        raise InputError("holds files that are no run", file=folder, hint="name a new or empty folder with --out")
    there = next(path for path in (folder.absolute(), *folder.absolute().parents) if path.exists())
    if not os.access(there, os.W_OK | os.X_OK) or not there.is_dir():
        raise InputError("cannot be written", file=there, hint="check its rights, or name another place with --out")
    return folder


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Hold a results folder for oneself while records and reports are written; a second writer waits."""
    keep_out(folder)
    with open(folder / _LOCK_FILE, "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def write_run(run: types.Run, folder: Path) -> None:
    """Write a run into a folder; what an earlier run left there goes once the new one is in place."""
    members = {"gold.json": dump(_suite_json(run.suite)), "lines.json": dump(run.lines)}
    members |= {f"engines/{_slug(e.name)}.jsonl": _engine_lines(run, e) for e in run.engines}
    named = {_hashed(name, text): text for name, text in members.items()}
    keep_out(folder)
    for name, text in named.items():
        write_atomic(folder / name, text)
    manifest = {
        "assay_run": FORMAT,
        "k": run.k,
        "suite": run.suite.name,
        "engines": [e.name for e in run.engines],
        "hashes": dict(run.hashes),
        "header": asdict(run.header),
        "members": {name: _sha(text) for name, text in named.items()},
    }
    write_atomic(folder / MANIFEST, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")
    _sweep(folder, keep=set(named))


def keep_out(folder: Path) -> None:
    """Keep results out of every corpus; a file that the user put there stays as it is."""
    if not (folder / _IGNORE_FILE).exists():
        write_atomic(folder / _IGNORE_FILE, _IGNORE)


def read_run(folder: Path) -> types.Run:
    """Read a run back, checking every member against its hash."""
    manifest = _manifest(folder)
    members = {_plain(name): _member(folder, name, digest) for name, digest in manifest["members"].items()}
    try:
        engines = [_read_engine(text) for name, text in sorted(members.items()) if name.startswith("engines/")]
        order = {name: place for place, name in enumerate(manifest["engines"])}
        lines = json.loads(members["lines.json"])
        return types.Run(
            suite=_suite(json.loads(members["gold.json"])),
            k=manifest["k"],
            engines=tuple(sorted(engines, key=lambda e: order[e.name])),
            lines={g: {p: tuple(sizes) for p, sizes in files.items()} for g, files in lines.items()},
            hashes=manifest["hashes"],
            header=read_header(manifest["header"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise _broken(folder, f"a record is malformed ({type(error).__name__}: {error})") from error


def _manifest(folder: Path) -> dict[str, Any]:
    """Read run.json and check that it is one of ours."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise InputError("there is no run here", file=folder, hint="make one with `assay run --out FOLDER`") from error
    except (OSError, ValueError) as error:
        raise _broken(folder, f"run.json cannot be read: {error}") from error
    if not isinstance(manifest, dict) or "assay_run" not in manifest:
        raise _broken(folder, "run.json is not an Assay run")
    if manifest["assay_run"] != FORMAT:
        raise InputError(
            f"the run has format {manifest['assay_run']}, this Assay reads {FORMAT}",
            file=path,
            hint="score it with the Assay version in its header, or run it again",
        )
    return manifest


def _member(folder: Path, name: str, digest: str) -> str:
    """Read one member of a run; its name must stay inside the folder and its content must fit the hash."""
    if ".." in Path(name).parts or Path(name).is_absolute():
        raise _broken(folder, f"run.json names {name!r}, which lies outside the folder")
    try:
        text = (folder / name).read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _broken(folder, f"{name} cannot be read") from error
    if _sha(text) != digest:
        raise _broken(folder, f"{name} was changed after the run")
    return text


def _broken(folder: Path, message: str) -> AssayError:
    """Make the error for a run folder that cannot be trusted."""
    return InputError(message, file=folder, hint="run it again; records are never edited by hand")


def _engine_lines(run: types.Run, engine: types.EngineRun) -> str:
    """Write one engine's records: header first, then a line for each ranking."""
    header = {
        "assay_records": FORMAT,
        "assay": __version__,
        "engine": engine.name,
        "role": engine.role,
        "oversample": engine.oversample,
        "config": dict(engine.config),
        "config_hash": config_hash(engine.config),
        "k": run.k,
        "gold_hash": run.header.gold_hash,
        "corpora": {name: asdict(facts) for name, facts in run.header.corpora.items()},
        "environment": dict(run.header.environment),
        "index_seconds": dict(engine.index_seconds),
        "notes": list(engine.notes),
        "version": engine.version,
        "parallel": engine.parallel,
        "resources": {name: asdict(taken) for name, taken in engine.resources.items()},
        "stderr": dict(engine.stderr),
    }
    return "".join(f"{dump(line)}\n" for line in [header, *map(ranking_json, engine.rankings)])


def config_hash(config: Mapping[str, object]) -> str:
    """Hash the settings that shape a ranking."""
    return hashlib.sha256(json.dumps(config, sort_keys=True, default=str).encode()).hexdigest()[:16]


def _read_engine(text: str) -> types.EngineRun:
    """Read one engine's records; those of older runs have no version, resources or stderr."""
    header, *rows = (json.loads(line) for line in text.split("\n") if line)
    return types.EngineRun(
        name=header["engine"],
        rankings=tuple(map(read_ranking, rows)),
        role=header["role"],
        oversample=header["oversample"],
        config=header["config"],
        index_seconds=header["index_seconds"],
        notes=tuple(header["notes"]),
        resources={name: types.Resources(**taken) for name, taken in header.get("resources", {}).items()},
        version=header.get("version", ""),
        stderr=header.get("stderr", {}),
        parallel=header.get("parallel", 1),
    )


def _suite_json(suite: types.Suite) -> list[dict[str, Any]]:
    """Turn a resolved suite into JSON."""
    return [gold_json(gold) for gold in suite.golds]


def _suite(golds: Iterable[Mapping[str, Any]]) -> types.Suite:
    """Read a resolved suite."""
    return types.Suite(tuple(map(read_gold, golds)))


def _sha(text: str) -> str:
    """Hash a text."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _slug(name: str) -> str:
    """Make a file name of an engine's name; names that would collide differ by their hash."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.") or "engine"
    return plain if plain == name else f"{plain}-{_sha(name)[:6]}"


def _hashed(name: str, text: str) -> str:
    """Put a content hash into a member's file name, so that a new run never overwrites an old member."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem}-{_sha(text)[:10]}.{suffix}"


def _plain(name: str) -> str:
    """Take the hash out of a member's file name again."""
    stem, _, suffix = name.rpartition(".")
    return f"{stem.rpartition('-')[0]}.{suffix}"


def _sweep(folder: Path, keep: set[str]) -> None:
    """Remove the members of earlier runs."""
    pattern = re.compile(r"(gold|lines|engines/.+)-[0-9a-f]{10}\.(json|jsonl)")
    for path in sorted([*folder.glob("*.json"), *folder.glob("engines/*.jsonl")]):
        name = path.relative_to(folder).as_posix()
        if name not in keep and pattern.fullmatch(name):
            path.unlink(missing_ok=True)
