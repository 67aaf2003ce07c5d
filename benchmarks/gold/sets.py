"""Every published gold set on this machine, each with its corpus as one word for a command line.

KARTA_COMMIT stands in for Kafka's tag 4.0.0, which no clone here has: the newest commit before it that is there.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from assay.corpus import spec_text
from assay.types import CorpusSpec
from benchmarks.pages import Unavailable
from benchmarks.quality.sources import OCTOCODE, OCTOCODE_COMMIT, gold_folder, mirror_of, say, visible

KAFKA = "https://github.com/apache/kafka.git"
KARTA_COMMIT = "1eb7644349c"
KARTA = ("gold-queries", "gold-queries-sanity")


@dataclass(frozen=True, slots=True)
class Published:
    """A gold set that other people made."""

    name: str
    file: Path
    corpus: str  # as `--corpus` takes it


def published() -> list[Published]:
    """List the sets whose repositories are here; the others are named on stderr."""
    found = [*_semble(), *_octocode(), *_karta()]
    if not found:
        raise Unavailable("no published gold set is here: set ASSAY_BENCH_GOLD and ASSAY_BENCH_MIRRORS")
    return found


def _semble() -> Iterator[Published]:
    """Yield the visible repositories of semble's benchmark."""
    for gold in visible().golds:
        yield Published(gold.name, Path(gold.source or ""), spec_text(gold.corpus))


def _octocode() -> Iterator[Published]:
    """Yield octocode's two sets."""
    spec = CorpusSpec("git", str(mirror_of(OCTOCODE)), rev=OCTOCODE_COMMIT)
    for name in ("code", "docs"):
        yield Published(f"octocode-{name}", gold_folder() / "octocode" / f"{name}.csv", spec_text(spec))


def _karta() -> Iterator[Published]:
    """Yield Karta's sets; the folders are those that the corpus.yaml beside them names."""
    mirror = mirror_of(KAFKA)
    if not mirror.is_dir():
        say("karta is left out: apache+kafka is not here")
        return
    for name in KARTA:
        spec = CorpusSpec("git", str(mirror), rev=KARTA_COMMIT)
        yield Published(f"karta-{name}", gold_folder() / "karta" / f"{name}.yaml", spec_text(spec))
