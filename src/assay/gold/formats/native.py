"""The native format as one of the registry: told by its version key, written so that all of it comes back."""

from __future__ import annotations

from pathlib import Path

from assay.gold.formats.common.losses import verified
from assay.gold.formats.common.sniffing import yaml_has
from assay.gold.formats.common.written import Written, file_name
from assay.gold.native.reading import read_native
from assay.gold.native.writing import write_native
from assay.gold.source import Source, read_source
from assay.types import Gold, Suite

SUFFIXES = (".yaml", ".yml")


def matches(source: Source) -> bool:
    """Tell a native file by its version key; a YAML file that looks like no other format may lack it."""
    return has_version(source) or (source.path.suffix in SUFFIXES and not yaml_has(source, "corpus_id"))


def has_version(source: Source) -> bool:
    """Tell whether a file says that it is native."""
    return yaml_has(source, "assay")


def write_suite(suite: Suite) -> Written:
    """Write one YAML file a set."""
    files = {file_name(gold, ".yaml"): write_native(gold) for gold in suite.golds}

    def read(folder: Path) -> list[Gold]:
        return [read_native(read_source(folder / file_name(gold, ".yaml"))) for gold in suite.golds]

    return verified(suite, files, read)
