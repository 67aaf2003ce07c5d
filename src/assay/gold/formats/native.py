"""The native format as one of the registry: told by its version key, written so that all of it comes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.gold.building import GoldSource, read_source
from assay.gold.formats.export import WriterOutput, comes_from, file_name, verified
from assay.gold.formats.rows import yaml_has
from assay.gold.native.layers import read_native, write_native
from assay.types import GoldSet, Suite

SUFFIXES = (".yaml", ".yml")


def matches(source: GoldSource) -> bool:
    """Tell a native file by its version key; a YAML file that looks like no other format may lack it."""
    return has_version(source) or (source.path.suffix in SUFFIXES and not yaml_has(source, "corpus_id"))


def has_version(source: GoldSource) -> bool:
    """Tell whether a file says that it is native."""
    return yaml_has(source, "assay")


def write_suite(suite: Suite) -> WriterOutput:
    """Write one YAML file a set."""
    files = {file_name(gold, ".yaml"): write_native(gold) for gold in suite.golds}

    def read(folder: Path) -> list[GoldSet]:
        return [read_native(read_source(folder / file_name(gold, ".yaml"))) for gold in suite.golds]

    return verified(suite, files, read)


#: Keys of the provenance under which readers write what is not in a set as the file has it.
KEYS = ("left out", "not read", "assumed")


def ignored_notes(golds: Sequence[GoldSet]) -> tuple[str, ...]:
    """Say, file by file, what was not taken from it; sets of one file share what is told of it."""
    return tuple(dict.fromkeys(sentence for gold in golds for sentence in _of_set(gold)))


def _of_set(gold: GoldSet) -> Iterator[str]:
    notes = [(key, gold.provenance[key]) for key in KEYS if gold.provenance.get(key)]
    if not notes or _is_native(gold):
        return
    for key, text in notes:
        yield f"{gold.source or gold.name}: {key}: {text}"


def _is_native(gold: GoldSet) -> bool:
    named = gold.source is not None and Path(gold.source).suffix in SUFFIXES
    return named and comes_from(gold, matches) is not None
