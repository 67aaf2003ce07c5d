from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from assay.cli.output import emit
from assay.errors import AssayError, ConfigError


def init_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", default=".", help="the repository (this folder)")


def init_command(args: argparse.Namespace) -> int:
    """Write a commented assay.toml and a gold file with five drafts for this repository.

    The drafts are places worth asking about, found in the code; the questions are yours to write.
    Nothing that exists is overwritten.
    """
    from assay.corpus import open_corpus, parse_spec
    from assay.experiment.spec.starter import starter_config, starter_gold
    from assay.files import write_atomic
    from assay.report.render.document import Document, Paragraph

    folder = Path(args.folder)
    config, gold = folder / "assay.toml", folder / "gold.yaml"
    for path in (config, gold):
        if path.exists():
            raise ConfigError("exists already", file=path, hint="remove it first, or edit it: init overwrites nothing")
    corpus = open_corpus(parse_spec(str(folder)))
    text, drafts = starter_gold(corpus)
    write_atomic(gold, text)
    write_atomic(config, starter_config())
    sentences = (
        f"{gold}: {len(drafts)} drafts, from {len(corpus.files)} files. Rewrite each `human` line as one would ask it.",
        f"{config}: what to run. Add your own engine under [engines.NAME].",
        "Then: assay run",
    )
    emit(
        args,
        Document("A first gold set", tuple(Paragraph(s) for s in sentences)),
        {"schema": "assay/init/1", "config": str(config), "gold": str(gold), "targets": list(drafts)},
    )
    return 0


State = Literal["ok", "missing", "failed"]


@dataclass(frozen=True, slots=True)
class DoctorCheck:
    """One check: what was found and, where something is amiss, the next step."""

    name: str
    state: State
    detail: str
    hint: str = ""
    required: bool = True


def doctor_command(args: argparse.Namespace) -> int:
    """Check this machine: what is installed, what is missing, and how to fix it."""
    from assay.report.render.document import Cell, Document, Paragraph, Tone, table

    findings = [check() for check in _CHECKS]
    broken = [f for f in findings if f.required and f.state != "ok"]
    tones: dict[State, Tone] = {"ok": "good", "missing": "warning", "failed": "bad"}
    rows: list[list[str | Cell]] = [
        [f.name, Cell(f.state, tones[f.state]), f.detail + (f" → {f.hint}" if f.hint else "")] for f in findings
    ]
    closing = "Something that Assay needs is amiss." if broken else "Ready."
    document = Document("assay doctor", (table(["", "", ""], rows), Paragraph(closing)))
    emit(args, document, {"schema": "assay/doctor/1", "ready": not broken, "findings": [asdict(f) for f in findings]})
    return 4 if broken else 0


def _python() -> DoctorCheck:
    version = ".".join(map(str, sys.version_info[:3]))
    fine = sys.version_info >= (3, 11)
    return DoctorCheck(
        "python", "ok" if fine else "failed", f"{version} at {sys.executable}", "" if fine else "use 3.11 or newer"
    )


def _tool(name: str, use: str, hint: str, *, required: bool = False) -> Callable[[], DoctorCheck]:
    def check() -> DoctorCheck:
        from shutil import which

        from assay.engines.presets import PROBE_LIMITS
        from assay.processes.running import ProgramSpec, run_process

        path = which(name)
        if path is None:
            return DoctorCheck(name, "missing", f"not on PATH; {use}", hint, required)
        try:
            done = run_process(ProgramSpec((path, "--version")), PROBE_LIMITS.seconds)
        except AssayError as error:
            return DoctorCheck(name, "failed", error.message, hint, required)
        if done.end != "exit":
            return DoctorCheck(name, "failed", f"asked for its version: {done.end}", hint, required)
        version = (done.stdout or done.stderr).decode(errors="replace").strip().splitlines()[:1]
        return DoctorCheck(name, "ok", version[0] if version else path, "", required)

    return check


def _cache() -> DoctorCheck:
    from shutil import disk_usage
    from tempfile import NamedTemporaryFile

    from assay.store import cache_dir

    folder = cache_dir()
    hint = "set ASSAY_CACHE_DIR to a folder you can write"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=folder):
            pass
    except OSError as error:
        return DoctorCheck("cache", "failed", f"{folder}: {error.strerror}", hint)
    free = disk_usage(folder).free / 2**30
    return DoctorCheck("cache", "ok", f"{folder}, {free:.0f} GiB free")


def _library() -> DoctorCheck:
    from assay.corpus import open_corpus
    from assay.gold import load_gold, resolve

    try:
        gold = load_gold("stdlib").golds[0]
        corpus = open_corpus(gold.corpus)
        resolution = resolve(gold, corpus, missing="report")
    except AssayError as error:
        return DoctorCheck("standard library", "failed", error.message, error.hint or "")
    left = f"{len(resolution.gold.queries)} of {len(gold.queries)} gold queries hold on its {len(corpus.files)} files"
    notes = "; ".join(corpus.notes)
    return DoctorCheck("standard library", "ok", f"{left}{'; ' + notes if notes else ''}")


def _terminal() -> DoctorCheck:
    from shutil import get_terminal_size

    colour = "no colour (NO_COLOR)" if os.environ.get("NO_COLOR") else "colour"
    width = get_terminal_size().columns
    shown = f"{colour}, {width} columns" if sys.stdout.isatty() else "not a terminal: plain text"
    return DoctorCheck("terminal", "ok", shown, required=False)


def _configuration() -> DoctorCheck:
    from assay.experiment.spec import FILE, load_spec
    from assay.search.config import load_config

    if not Path(FILE).is_file():
        return DoctorCheck(FILE, "missing", "none in this folder", "`assay init` writes one", required=False)
    try:
        spec = load_spec(Path(FILE))
        load_config((), Path(FILE), os.environ)
    except AssayError as error:
        return DoctorCheck(FILE, "failed", str(error).replace("\n", " "))
    return DoctorCheck(FILE, "ok", f"{len(spec.entries())} engines, {len(spec.gold)} gold sources")


_CHECKS: tuple[Callable[[], DoctorCheck], ...] = (
    _python,
    _tool("git", "needed for git corpora and tracked files", "install git"),
    _tool("rg", "makes the keywords engine faster", "install ripgrep, or `pip install ripgrep`"),
    _tool("npm", "needed for npm: corpora", "install Node.js"),
    _cache,
    _library,
    _terminal,
    _configuration,
)
