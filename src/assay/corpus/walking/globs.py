"""The include and exclude patterns of a corpus.

git-ignore syntax, relative to the corpus root: `*.py` matches at any depth, `src/*.py` only there, `tests/` a folder
with all that is below it, `**` any folders. A file counts when an include matches (or there is none) and no exclude
does; inside one list `!pattern` takes back and the last match wins.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.errors import CorpusError
from assay.types import CorpusSpec

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class Globs:
    """Compiled patterns."""

    include: GitIgnoreSpec | None
    exclude: GitIgnoreSpec | None
    takes_back: bool  # an exclude begins with `!`, so a folder it matches may still hold files that count

    def selects(self, path: str) -> bool:
        """Tell whether a file counts."""
        if self.include is not None and not self.include.match_file(path):
            return False
        return self.exclude is None or not self.exclude.match_file(path)

    def prunes(self, folder: str) -> bool:
        """Tell whether nothing below a folder can count."""
        return self.exclude is not None and not self.takes_back and self.exclude.match_file(folder + "/")


def compile_globs(spec: CorpusSpec) -> Globs:
    """Compile the patterns of a corpus."""
    takes_back = any(glob.startswith("!") for glob in spec.exclude)
    return Globs(_compiled(spec.include), _compiled(spec.exclude), takes_back)


def select_paths(globs: tuple[str, ...]) -> Globs:
    """Compile patterns of which one must match."""
    return Globs(_compiled(globs), None, False)


def _compiled(globs: tuple[str, ...]) -> GitIgnoreSpec | None:
    """Compile one list; None when it is empty."""
    if not globs:
        return None
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        return GitIgnoreSpec.from_lines([glob.removeprefix("./") for glob in globs])
    except GitIgnorePatternError as error:
        raise CorpusError(
            f"{error}", hint="include and exclude take git-ignore patterns: *.py, src/**/*.go, tests/"
        ) from error
