"""The gold sets and the repositories they are about: where they lie, and what is missing here.

ASSAY_BENCH_GOLD      the folder with semble/ and octocode/            default ../shared/gold
ASSAY_BENCH_MIRRORS   the folder with OWNER+NAME/repo, bare clones     default ../.mirror
"""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.corpus import open_corpus
from assay.errors import AssayError, CorpusError
from assay.gold import TagRule, load_gold
from assay.types import CorpusSpec, GoldSet
from benchmarks.pages import Unavailable

PROJECT = Path(__file__).resolve().parent.parent.parent
OCTOCODE = "https://github.com/Muvon/octocode.git"
OCTOCODE_COMMIT = "b1771ba48214ce7404ad7158e277eb60680912b4"
#: octocode's rows 101 to 127 were written to be hard.
HARD = TagRule.parse("difficulty=hard:101-127")


@dataclass(frozen=True, slots=True)
class Visible:
    """The visible half of semble's benchmark, as far as it is on this machine."""

    golds: tuple[GoldSet, ...]
    notes: tuple[str, ...]  # what is missing, or was opened in another way


def gold_folder() -> Path:
    """Find the gold sets."""
    return Path(os.environ.get("ASSAY_BENCH_GOLD") or PROJECT.parent / "shared" / "gold").absolute()


def mirror_of(url: str) -> Path:
    """Find the bare clone of a repository."""
    mirrors = Path(os.environ.get("ASSAY_BENCH_MIRRORS") or PROJECT.parent / ".mirror").absolute()
    owner, name = url.removesuffix(".git").split("/")[-2:]
    return mirrors / f"{owner}+{name}" / "repo"


def visible() -> Visible:
    """Read the visible half; each repository that cannot be opened is said loudly and left out."""
    folder = _existing(gold_folder() / "semble")
    golds, notes = [], []
    for gold in load_gold(folder).golds:
        found = _opened(gold)
        notes += [found.note] if found.note else []
        golds += [found.gold] if found.gold else []
    if not golds:
        raise Unavailable("no repository of the visible half is here: set ASSAY_BENCH_MIRRORS")
    return Visible(tuple(golds), tuple(notes))


def octocode(name: str, *, include: Sequence[str] = (), exclude: Sequence[str] = ()) -> GoldSet:
    """Read one of octocode's sets over the files that globs choose."""
    source = _existing(gold_folder() / "octocode" / f"{name}.csv")
    mirror = _existing(mirror_of(OCTOCODE))
    spec = CorpusSpec("git", str(mirror), rev=OCTOCODE_COMMIT, include=tuple(include), exclude=tuple(exclude))
    return load_gold(source, corpus=spec, tags=[HARD]).golds[0]


@dataclass(frozen=True, slots=True)
class _Opened:
    """A gold set whose corpus opens, or why there is none."""

    gold: GoldSet | None
    note: str = ""


def _opened(gold: GoldSet) -> _Opened:
    """Point a gold set to the clone on this machine, and see that it opens."""
    mirror = mirror_of(gold.corpus.value)
    if not mirror.is_dir():
        return _told(None, f"{gold.name} is left out: {mirror.parent.name} is not here")
    here = replace(gold, corpus=replace(gold.corpus, value=str(mirror)))
    try:
        open_corpus(here.corpus)
    except CorpusError as error:
        return _in_part(here, error)
    except AssayError as error:
        return _told(None, f"{gold.name} is left out: {error.message}")
    return _Opened(here)


def _in_part(gold: GoldSet, error: CorpusError) -> _Opened:
    """Take only the folder that is indexed out of a clone that lacks something elsewhere."""
    wanted = [glob.removesuffix("/**") for glob in gold.corpus.include]
    command = ["git", "archive", "--format=tar", str(gold.corpus.rev), "--", *wanted]
    packed = subprocess.run(command, cwd=gold.corpus.value, capture_output=True, check=False)
    if packed.returncode or not wanted:
        return _told(None, f"{gold.name} is left out: {error.message}")
    folder = Path(scratch().name, gold.name)
    with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as archive:
        archive.extractall(folder, filter="data")
    spec = CorpusSpec("path", str(folder), include=gold.corpus.include)
    return _told(replace(gold, corpus=spec), f"{gold.name}: only {wanted[0]} was taken: {error.message}")


def _told(gold: GoldSet | None, note: str) -> _Opened:
    """Give a gold set, or none, with what is not as it should be."""
    return _Opened(gold, say(note))


def say(note: str) -> str:
    """Say aloud what is not as it should be, and give it back for the page."""
    print(f"!! {note}", file=sys.stderr, flush=True)
    return note


def _existing(path: Path) -> Path:
    """Refuse what is not there."""
    if not path.exists():
        raise Unavailable(f"{path} is not here: set ASSAY_BENCH_GOLD and ASSAY_BENCH_MIRRORS")
    return path


@cache
def scratch() -> TemporaryDirectory[str]:
    """Give a folder that lives as long as this process."""
    return TemporaryDirectory(prefix="assay-bench-")
