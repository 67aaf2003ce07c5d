"""Find and read gold sets: a file, a folder, or the name of a shipped set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import GoldError
from assay.gold.formats.common.opening import open_source
from assay.gold.formats.detect import FORMATS, SUFFIXES, Format, detect, detect_folder, is_aside, named
from assay.gold.review.queue import SUFFIX as REVIEW
from assay.gold.shipped import SHIPPED
from assay.gold.split.looks import SUFFIX as LOOKS
from assay.gold.tags import TagRule, apply_tags
from assay.types import CorpusSpec, Gold, Suite

#: Lies in a folder of synthetic gold: what is below it is the corpus of the sets, no gold.
SYNTHETIC_MARK = ".assay-synth"
_SHIPPED_FOLDER = Path(__file__).parent.parent / "data" / "gold"


def load_gold(
    source: str | Path,
    *,
    format: str | None = None,  # noqa: A002  # the public name; nothing here formats
    corpus: CorpusSpec | None = None,
    tags: Sequence[TagRule] = (),
) -> Suite:
    """Read a file, every gold file below a folder, or a shipped set by its name: `stdlib`, `stdlib-docs`."""
    known = named(format) if format is not None else None
    path = _SHIPPED_FOLDER / f"{source}.yaml" if source in SHIPPED else Path(source)
    if path.is_dir():
        golds = [gold for part in _parts(path, known) for gold in _read(part, corpus)]
    elif path.exists():
        golds = _read(_Part(path, known), corpus)
    else:
        raise GoldError(
            "there is no such file or folder", file=path, hint=f"check the path, or use one of {', '.join(SHIPPED)}"
        )
    if not golds:
        raise GoldError(
            "the folder holds no gold set", file=path, hint=f"gold files end in {', '.join(sorted(SUFFIXES))}"
        )
    return _suite([apply_tags(gold, tags) for gold in golds])


@dataclass(frozen=True, slots=True)
class _Part:
    """A file, or a folder that is one set or several as a whole; a file may still have to be told its format."""

    path: Path
    format: Format | None
    walked: bool = False  # found below a folder, so it may be no set at all


def _parts(folder: Path, known: Format | None) -> Iterator[_Part]:
    """Yield the gold files below a folder in path order, folders of a folder format whole.

    Hidden files are left out, and what lies beside a set: its review queue, and the log of looks at its sealed part.
    """
    suffixes = known.suffixes if known else SUFFIXES
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not name.endswith(REVIEW))
        whole = detect_folder(Path(base), (known,) if known else FORMATS)
        if whole is not None:
            folders.clear()
            yield _Part(Path(base), whole)
            continue
        if SYNTHETIC_MARK in files:
            folders.clear()
        visible = sorted(name for name in files if not name.startswith(".") and not name.endswith(LOOKS))
        yield from (_Part(Path(base, name), known, walked=True) for name in visible if Path(name).suffix in suffixes)


def _read(part: _Part, corpus: CorpusSpec | None) -> list[Gold]:
    """Read one part."""
    if part.format is not None and part.format.read_folder is not None and part.path.is_dir():
        return part.format.read_folder(part.path, corpus)
    source = open_source(part.path)
    if part.walked and is_aside(source):
        return []
    name = "-".join(part.path.stem.split())
    found = (part.format or detect(source)).read(source, name, corpus)
    return found if isinstance(found, list) else [found]


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
