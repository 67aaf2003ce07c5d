"""Runs in memory: read when they are first asked for, and anew when they were replaced."""

from __future__ import annotations

from dataclasses import dataclass

from assay.experiment import read_run
from assay.experiment.records.generations import peek_generation
from assay.experiment.spec.claim import claim_of
from assay.types import Claim, Gold, Run
from assay.web.exploring.library import Found, Library
from assay.web.keeping import Kept
from assay.web.messages import Refused


@dataclass(frozen=True, slots=True)
class Opened:
    """A run that was read, and which generation of its folder it is."""

    found: Found
    digest: str
    run: Run

    @property
    def claim(self) -> Claim:
        """What is claimed of it."""
        return claim_of(self.run)

    def gold(self, name: str) -> Gold:
        """Give one of its gold sets."""
        for gold in self.run.suite.golds:
            if gold.name == name:
                return gold
        raise Refused(404, "this run has no such gold set", hint="reload the page")


class Runs:
    """The runs of a library, those that were used last in memory."""

    def __init__(self, library: Library) -> None:
        self.library = library
        self._opened: Kept[tuple[str, str], Opened] = Kept(library.limits.opened)

    def open(self, run_id: str) -> Opened:
        """Read the run that an id stands for, as it is now."""
        found = self.library.find(run_id)
        digest = peek_generation(found.path).digest
        return self._opened.get((found.id, digest), lambda: Opened(found, digest, read_run(found.path)))
