"""Find and read gold sets: a file, a folder, or the name of the shipped set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.errors import GoldError
from assay.gold.formats import semble
from assay.gold.formats.detect import SUFFIXES, Format, detect, named
from assay.gold.source import read_source
from assay.gold.tags import TagRule, apply_tags
from assay.types import CorpusSpec, Gold, Suite

SHIPPED = "stdlib"
#: Lies in a folder of synthetic gold: what is below it is the corpus of the sets, no gold.
SYNTHETIC_MARK = ".assay-synth"
_SHIPPED_FILE = Path(__file__).parent.parent / "data" / "gold" / "stdlib.yaml"


def load_gold(
    source: str | Path,
    *,
    format: str | None = None,  # noqa: A002  # the public name; nothing here formats
    corpus: CorpusSpec | None = None,
    tags: Sequence[TagRule] = (),
) -> Suite:
    """Read a file, every gold file below a folder, or the shipped set by its name `stdlib`."""
    known = named(format) if format is not None else None
    path = _SHIPPED_FILE if source == SHIPPED else Path(source)
    if path.is_dir():
        golds = [gold for part in _parts(path, known) for gold in _read(part, known, corpus)]
    elif path.exists():
        golds = _read(path, known, corpus)
    else:
        raise GoldError("there is no such file or folder", file=path, hint=f"check the path, or use '{SHIPPED}'")
    if not golds:
        raise GoldError(
            "the folder holds no gold set", file=path, hint=f"gold files end in {', '.join(sorted(SUFFIXES))}"
        )
    return _suite([apply_tags(gold, tags) for gold in golds])


def _parts(folder: Path, known: Format | None) -> Iterator[Path]:
    """Yield the gold files below a folder in path order, a semble benchmark as its folder; hidden ones are left out."""
    suffixes = known.suffixes if known else SUFFIXES
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        if semble.REPOS in files and (known is None or known.name == "semble"):
            folders.clear()
            yield Path(base)
            continue
        if SYNTHETIC_MARK in files:
            folders.clear()
        visible = sorted(name for name in files if not name.startswith("."))
        yield from (Path(base, name) for name in visible if Path(name).suffix in suffixes)


def _read(path: Path, known: Format | None, corpus: CorpusSpec | None) -> list[Gold]:
    """Read one part."""
    if path.is_dir():
        return semble.read_semble_folder(path, corpus)
    source = read_source(path)
    name = "-".join(path.stem.split())
    return [(known or detect(source)).read(source, name, corpus)]


def join(suites: Sequence[Suite]) -> Suite:
    """Put suites together; names stay unique."""
    return _suite([gold for suite in suites for gold in suite.golds])


def _suite(golds: Sequence[Gold]) -> Suite:
    """Make a suite of gold sets whose names differ."""
    first: dict[str, Gold] = {}
    for gold in golds:
        if gold.name in first:
            raise GoldError(
                f"two gold sets are called '{gold.name}', the other is {first[gold.name].source}",
                file=gold.source,
                hint="give each its own name; a set without a name key is called after its file",
            )
        first[gold.name] = gold
    return Suite(tuple(golds))
