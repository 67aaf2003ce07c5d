"""Cell storage: permanent if the key is complete, else until the run is finished."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from assay.digests import digest_of
from assay.errors import SetupError
from assay.experiment.cells.keys import CellKey
from assay.experiment.cells.records import CellResult, cell_bytes, read_cell
from assay.experiment.records import write_assayignore
from assay.experiment.records.directory import UNFINISHED
from assay.store import Store, kinds

KIND = kinds.CELLS.name


def partial_dir(run: str) -> Path:
    """Return the cache directory of a run without a results folder, until it is finished."""
    return Store().path(kinds.UNFINISHED.name, run)


@dataclass(slots=True)
class CellStore:
    """The cells that need not be asked again."""

    folder: Path  # of the results
    lasting: Store = field(default_factory=Store)
    fresh: bool = False  # whether what is kept already is passed over
    troubles: list[str] = field(default_factory=list)  # what people should know, each once

    def read(self, key: CellKey) -> CellResult | None:
        """Give a cell if it is kept; a broken one is not."""
        if self.fresh:
            return None
        for store in (self.lasting, self._unfinished) if key.lasting else (self._unfinished,):
            data = store.get(KIND, key.digest)
            if data is not None:
                try:
                    return read_cell(data)
                except ValueError:
                    self._tell("a kept cell could not be read; it is asked again")
        return None

    def write(self, key: CellKey, cell: CellResult) -> None:
        """Keep a cell; where the cache cannot be written, only for this run."""
        if not cell.whole:
            return
        data = cell_bytes(cell)
        if key.lasting:
            try:
                self.lasting.put(KIND, key.digest, data)
            except SetupError as failure:
                self._tell(f"{failure.message}; cells are kept in the results until the run is complete")
            else:
                return
        write_assayignore(self.folder)  # in a folder inside the corpus it must not become a part of it
        self._unfinished.put(KIND, key.digest, data)

    def has(self, key: CellKey) -> bool:
        """Tell whether a cell is kept, without reading it."""
        if self.fresh:
            return False
        stores = (self.lasting, self._unfinished) if key.lasting else (self._unfinished,)
        return any(store.has(KIND, key.digest) for store in stores)

    def keeps(self, key: CellKey) -> bool:
        """Tell whether a cell is where it belongs: one that may last is not, while it is kept for this run only."""
        store = self.lasting if key.lasting else self._unfinished
        return not self.fresh and store.has(KIND, key.digest)

    def read_turns(self, key: str, engines: Sequence[str]) -> dict[str, CellResult] | None:
        """Give what engines that took turns did on a gold set, if all of it is kept."""
        cells = {name: self.read(CellKey(digest_of([key, name]), lasting=False)) for name in engines}
        found = {name: cell for name, cell in cells.items() if cell is not None}
        return found if len(found) == len(engines) else None

    def write_turns(self, key: str, cells: Mapping[str, CellResult]) -> None:
        """Keep what engines that took turns did on a gold set, until the run is finished."""
        for name, cell in cells.items():
            self.write(CellKey(digest_of([key, name]), lasting=False), cell)

    @property
    def all_troubles(self) -> list[str]:
        """Give what was found broken, and what could not be kept."""
        return [*self.troubles, *self.lasting.troubles]

    def finish(self) -> None:
        """Forget what was kept for this run only; a place in the cache that was made for it goes with it."""
        shutil.rmtree(self.folder / UNFINISHED, ignore_errors=True)
        if self.folder.parent == Store().kind_dir(kinds.UNFINISHED.name):
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def _unfinished(self) -> Store:
        return Store(self.folder / UNFINISHED)

    def _tell(self, text: str) -> None:
        if text not in self.troubles:
            self.troubles.append(text)
