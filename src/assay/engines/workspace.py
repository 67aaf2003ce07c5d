"""Directories of an engine for one corpus: the corpus or a copy of it, the store, and the rendered configuration."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from assay.corpus.opening import directory_size
from assay.engines.base import EngineContext
from assay.engines.config_files import ConfigTemplate
from assay.engines.templates import INTERPRETER, has_placeholder
from assay.store import scratch

STORE, CONFIG = "assay-store-", "assay-config-"


def fixed_placeholders(context: EngineContext) -> dict[str, str]:
    """Return the placeholders that do not depend on a corpus; only presets have {preset}."""
    preset = {} if context.preset is None else {"preset": os.path.abspath(context.preset)}
    return {"here": os.path.abspath(context.folder), **INTERPRETER, **preset}


def placeholder_names(fixed: Mapping[str, str], config: ConfigTemplate | None = None) -> tuple[str, ...]:
    """Return the placeholders that are valid in templates, besides those of the query."""
    return (*fixed, "root", "store", *(() if config is None else ("config",)))


class EngineWorkspace:
    """Directories of an engine on one corpus, and the values of its placeholders.

    {store} is created if a template contains the placeholder and no existing store is passed. `configs` are the
    configurations for queries and for indexing.
    """

    def __init__(
        self,
        fixed: Mapping[str, str],
        root: Path,
        templates: object,
        store: Path | None = None,
        configs: tuple[ConfigTemplate | None, ConfigTemplate | None] = (None, None),
    ) -> None:
        self.root = Path(os.path.abspath(root))
        self._owned = ExitStack()
        self._store = store
        if self._store is None and has_placeholder(templates, "store"):
            self._store = self._owned.enter_context(scratch(STORE))
        values = {**fixed, "root": str(self.root), **({} if self._store is None else {"store": str(self._store)})}
        try:
            self.placeholders = self._write_config(configs[0], values)
            same = configs[0] == configs[1]
            self.index_placeholders = self.placeholders if same else self._write_config(configs[1], values)
        except BaseException:
            self.close()
            raise

    def _write_config(self, config: ConfigTemplate | None, values: Mapping[str, str]) -> Mapping[str, str]:
        if config is None:
            return values
        return {**values, "config": str(config.write(self._owned.enter_context(scratch(CONFIG)), values))}

    def store_bytes(self) -> int | None:
        return None if self._store is None else directory_size(self._store)

    def close(self) -> None:
        self._owned.close()
