"""What templates name: {here} and {preset}, known with the settings; {root}, {store} and {config} with a corpus."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from assay.artefacts import scratch
from assay.corpus.copying import folder_bytes
from assay.engines.base import Context
from assay.engines.configs.rendering import ConfigTemplate
from assay.engines.templates import INTERPRETER, names_place

#: What the names of stores begin with, and of the folders of rendered files.
STORE, CONFIG = "assay-store-", "assay-config-"


@dataclass(frozen=True, slots=True)
class Files:
    """What an engine may have beside its folders: a store that is there already, and configuration to render."""

    store: Path | None = None
    config: ConfigTemplate | None = None
    index_config: ConfigTemplate | None = None  # what making an index sees of it; None: the same


def settled_places(context: Context) -> dict[str, str]:
    """Give what is known before any corpus is, our own Python too; {preset} has a value in a preset only."""
    preset = {} if context.preset is None else {"preset": os.path.abspath(context.preset)}
    return {"here": os.path.abspath(context.folder), **INTERPRETER, **preset}


def place_names(settled: Mapping[str, str], config: ConfigTemplate | None = None) -> tuple[str, ...]:
    """Name what templates of an engine may name besides the question."""
    return (*settled, "root", "store", *(() if config is None else ("config",)))


class Folders:
    """The folders of an engine on one corpus; {store} is there only where a template names it."""

    def __init__(self, settled: Mapping[str, str], root: Path, templates: object, files: Files | None = None) -> None:
        """Make the store, an empty folder of the engine's own, unless there is one; render its configuration."""
        files = files or Files()
        self.root = Path(os.path.abspath(root))
        self._owned = ExitStack()
        self._store = files.store
        if self._store is None and names_place(templates, "store"):
            self._store = self._folder(STORE)
        store = {} if self._store is None else {"store": str(self._store)}
        self.places: Mapping[str, str] = {**settled, "root": str(self.root), **store}
        self.index_places = self.places  # what making an index is told
        if files.config is not None:
            self._render(files.config, files.index_config or files.config)

    def store_bytes(self) -> int | None:
        """Tell the size of what lies in the store, where there is one."""
        return None if self._store is None else folder_bytes(self._store)

    def close(self) -> None:
        """Remove what is the engine's own."""
        self._owned.close()

    def _render(self, config: ConfigTemplate, for_index: ConfigTemplate) -> None:
        """Write the configuration, and that of making an index where it is another."""
        plain = self.places
        try:
            written = config.write(self._folder(CONFIG), plain)
            apart = written if for_index == config else for_index.write(self._folder(CONFIG), plain)
        except BaseException:
            self.close()
            raise
        self.places = {**plain, "config": str(written)}
        self.index_places = {**plain, "config": str(apart)}

    def _folder(self, prefix: str) -> Path:
        """Make an empty folder; what a tool left there without the right to remove it must not fail a run."""
        return self._owned.enter_context(scratch(prefix))
