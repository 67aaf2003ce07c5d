"""List engine kinds and presets for known tools.

A preset is verified when it was run with the tool, in the version that is named; the others were written from the
tool's documentation and are marked unverified: check them with `assay engines check NAME` before you rely on them.
"""

from __future__ import annotations

import argparse
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from assay.cli.output import emit

if TYPE_CHECKING:
    from assay.engines.presets import InstalledTool, Preset
    from assay.report.render.document import Cell, Document


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


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the flags of this action: there are none."""


def handle(args: argparse.Namespace) -> int:
    """Look for every tool and list what there is."""
    from concurrent.futures import ThreadPoolExecutor

    from assay.engines import KINDS
    from assay.engines.presets import check_installed, find_preset, preset_names

    presets = [find_preset(name) for name in sorted(preset_names())]
    with ThreadPoolExecutor(LISTING.at_once) as pool:
        rows = [_row(preset, found) for preset, found in zip(presets, pool.map(check_installed, presets), strict=True)]
    kinds = [{"name": kind.name, "main": kind.main, "about": kind.about} for _, kind in sorted(KINDS.items())]
    data = {"schema": "assay/engines/1", "kinds": kinds, "presets": [asdict(row) for row in rows]}
    emit(args, _document(kinds, rows), data)
    return 0


def _row(preset: Preset, found: InstalledTool) -> PresetRow:
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


def _document(kinds: list[dict[str, str | None]], rows: list[PresetRow]) -> Document:
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
