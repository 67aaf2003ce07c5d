"""Find and read gold sets: a file, a folder, or the name of a shipped set."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus import parse_spec
from assay.errors import CorpusError, GoldError
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
    corpus: str | Path | CorpusSpec | None = None,
    tags: Sequence[TagRule] = (),
) -> Suite:
    """Read a file, every gold file below a folder, or a shipped set by its name: `stdlib`, `stdlib-docs`.

    `corpus` is where the code is, for formats that do not name it or instead of what a set names: a folder, or what
    `--corpus` takes (`git:URL@REV`, `pypi:NAME==VERSION`). A folder is relative to the current directory; that of a
    `CorpusSpec` is relative to the gold file, as in the file itself.
    """
    known = named(format) if format is not None else None
    path = _SHIPPED_FOLDER / f"{source}.yaml" if source in SHIPPED else Path(source)
    given = _spec(corpus)
    if path.is_dir():
        golds = [gold for part in _parts(path, known) for gold in _read(part, given)]
    elif path.exists():
        golds = _read(_Part(path, known), given)
    else:
        raise GoldError(
            "there is no such file or folder", file=path, hint=f"check the path, or use one of {', '.join(SHIPPED)}"
        )
    if not golds:
        raise GoldError(
            "the folder holds no gold set", file=path, hint=f"gold files end in {', '.join(sorted(SUFFIXES))}"
        )
    if given is not None and given is not corpus:
        golds = [replace(gold, corpus=_seen_from(gold, given)) for gold in golds]
    return _suite([apply_tags(gold, tags) for gold in golds])


def beside(corpus: CorpusSpec, source: str) -> CorpusSpec:
    """Return a corpus whose folder is relative to a gold file, as the file would write it, the same on any machine."""
    if corpus.kind not in ("path", "git") or "://" in corpus.value or not Path(corpus.value).exists():
        return corpus
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    return replace(corpus, value=os.path.relpath(corpus.value, folder))


def _spec(corpus: str | Path | CorpusSpec | None) -> CorpusSpec | None:
    if corpus is None or isinstance(corpus, CorpusSpec):
        return corpus
    if isinstance(corpus, os.PathLike):
        return CorpusSpec("path", os.fspath(corpus))
    if isinstance(corpus, str):
        return parse_spec(corpus)
    raise CorpusError(f"corpus = {corpus!r}", hint='pass a folder, such as corpus="src", or an assay.CorpusSpec')


def _seen_from(gold: Gold, given: CorpusSpec) -> CorpusSpec:
    """Return the given corpus relative to the file of a set; a repository that the set found in it stays."""
    own = gold.corpus
    same = gold.source is not None and (own.kind, own.value) == (given.kind, given.value)
    return beside(own, str(gold.source)) if same else own


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
