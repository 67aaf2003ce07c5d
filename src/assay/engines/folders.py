"""The folders that templates name: {here} and {preset}, known with the settings, {root} and {store} with a corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from assay.corpus.copying import folder_bytes
from assay.engines.base import Context
from assay.engines.templates import INTERPRETER, names_place

#: What the names of stores begin with.
STORE = "assay-store-"


def settled_places(context: Context) -> dict[str, str]:
    """Give what is known before any corpus is, our own Python too; {preset} has a value in a preset only."""
    preset = {} if context.preset is None else {"preset": os.path.abspath(context.preset)}
    return {"here": os.path.abspath(context.folder), **INTERPRETER, **preset}


def place_names(settled: Mapping[str, str]) -> tuple[str, ...]:
    """Name what templates of an engine may name besides the question."""
    return (*settled, "root", "store")


class Folders:
    """The folders of an engine on one corpus; {store} is there only where a template names it."""

    def __init__(self, settled: Mapping[str, str], root: Path, templates: object) -> None:
        """Make the store, an empty folder of the engine's own."""
        self.root = Path(os.path.abspath(root))
        wanted = names_place(templates, "store")
        # what a tool left there without the right to remove it must not fail a run that is over
        self._store = TemporaryDirectory(prefix=STORE, ignore_cleanup_errors=True) if wanted else None
        store = {} if self._store is None else {"store": self._store.name}
        self.places: Mapping[str, str] = {**settled, "root": str(self.root), **store}

    def store_bytes(self) -> int | None:
        """Tell the size of what lies in the store, where there is one."""
        return None if self._store is None else folder_bytes(Path(self._store.name))

    def close(self) -> None:
        """Remove the store."""
        if self._store is not None:
            self._store.cleanup()
