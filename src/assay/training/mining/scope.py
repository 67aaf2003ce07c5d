"""What of a repository may be learned from: by default what everybody may, and all of it."""

from __future__ import annotations

from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from typing import Final


@dataclass(frozen=True)
class Scope:
    """Whose a repository is, and what of it is kept for a test."""

    own: bool = False  # one's own code may be learned from whatever its licence
    withheld: frozenset[str] = frozenset()  # paths that are not read; nor is a commit that touches one

    def withholds(self, path: str, here: Container[str]) -> bool:
        """Tell whether a path of the history is withheld; `here` are the paths that there are today.

        One that is gone may be an earlier place of a withheld file, so it goes by its name.
        """
        return path in self.withheld or (path not in here and _name(path) in self._names)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of the withheld files, without their folders."""
        return frozenset(map(_name, self.withheld))


def _name(path: str) -> str:
    """Take the folders off a path."""
    return path.rpartition("/")[2]


EVERYBODYS: Final = Scope()
