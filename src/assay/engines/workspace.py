from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path

from assay.corpus.opening import directory_size
from assay.engines.base import EngineContext
from assay.engines.config_files import ConfigTemplate
from assay.engines.templates import INTERPRETER, has_placeholder
from assay.redaction import Redactor
from assay.store.scratch import scratch
from assay.types import Corpus

STORE, CONFIG = "assay-store-", "assay-config-"
#: Largest index directory to back up, in bytes: writing takes 1-2 s, less than indexing. A larger index is rebuilt
#: after a variant has changed it.
MAX_BACKUP_BYTES = 1_000_000_000


def fixed_placeholders(context: EngineContext) -> dict[str, str]:
    """Return the values of placeholders that do not depend on a corpus; only presets have {preset}."""
    preset = {} if context.preset is None else {"preset": os.path.abspath(context.preset)}
    return {"here": os.path.abspath(context.directory), **INTERPRETER, **preset}


def placeholder_names(fixed: Mapping[str, str], config: ConfigTemplate | None = None) -> tuple[str, ...]:
    """Return the names of the placeholders that are valid in all templates, unlike {query} and {path}."""
    return (*fixed, "root", "store", *(() if config is None else ("config",)))


class EngineWorkspace:
    """The directories of an engine on one corpus, and the values of placeholders.

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


@dataclass(frozen=True, slots=True)
class IndexWorkspace:
    """The corpus that an engine works on, and the shared {store} directory, if there is one."""

    corpus: Corpus
    store: Path | None = None


@dataclass(slots=True, eq=False)
class IndexDirectory:
    path: Path
    workspace: IndexWorkspace
    is_copy: bool = True  # False: the corpus itself, which the engine does not write to
    users: int = 0
    notes: tuple[str, ...] = ()
    stderr: str = ""  # stderr of indexing
    added_bytes: int = 0  # size of the files that indexing added to the corpus copy
    close: Callable[[], None] = lambda: None
    _files: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    _backup: Path | None = None

    def freeze(self, backup: Path | None) -> None:
        self._files = snapshot(self.path)
        self._backup = backup

    def is_unchanged(self) -> bool:
        return not self.is_copy or snapshot(self.path) == self._files

    def restore(self) -> bool:
        """Restore the directory from its backup; return False if there is no backup or restoring fails."""
        if self._backup is None:
            return False
        with suppress(OSError):
            shutil.rmtree(self.path)
            copy_tree(self._backup, self.path)
        return self.is_unchanged()


def snapshot(directory: Path) -> dict[str, tuple[int, int]]:
    """Return the size and modification time of every file; skip files that vanish during the scan."""
    files = {}
    for parent, _, names in os.walk(directory):
        for name in names:
            path = os.path.join(parent, name)
            with suppress(OSError):
                facts = os.lstat(path)
                files[os.path.relpath(path, directory)] = (facts.st_size, facts.st_mtime_ns)
    return files


def copy_tree(source: Path, target: Path) -> None:
    """Copy files with their times; keep symbolic links, skip pipes, sockets and devices."""

    def special(directory: str, names: list[str]) -> list[str]:
        copied = (stat.S_IFREG, stat.S_IFDIR, stat.S_IFLNK)
        return [name for name in names if stat.S_IFMT(os.lstat(os.path.join(directory, name)).st_mode) not in copied]

    shutil.copytree(source, target, symlinks=True, ignore=special, dirs_exist_ok=True)


def back_up(directory: Path) -> Path | None:
    backup = directory.with_name(f"{directory.name}-backup")
    with suppress(OSError):
        if directory_size(directory) <= MAX_BACKUP_BYTES:
            copy_tree(directory, backup)
            return backup
    return None


class PathMask(Redactor):
    """A redactor that replaces the corpus copy, store and config paths in messages with placeholders.

    `path` maps the path of a hit from the copy to the corpus.
    """

    def __init__(self, corpus: Corpus, workspace: IndexWorkspace, config: str = "") -> None:
        self._corpus_root = corpus.root.as_posix()
        root = str(workspace.corpus.root)
        self._roots = tuple(dict.fromkeys((root, os.path.realpath(root))))
        paths = {root: "{root}", str(workspace.store or ""): "{store}", config: "{config}"}
        named = [(path, name) for path, name in paths.items() if path and path != str(corpus.root)]
        self._named = sorted(named, key=lambda item: (-len(item[0]), item[0]))

    def text(self, text: str) -> str:
        for path, name in self._named:
            text = text.replace(path, name)
        return text

    def path(self, path: str) -> str:
        root = next((root for root in self._roots if path.startswith(f"{root}/")), None)
        return path if root is None else f"{self._corpus_root}/{path[len(root) + 1 :]}"
