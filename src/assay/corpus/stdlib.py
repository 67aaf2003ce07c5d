"""The standard library of the running interpreter, with its tests where installed."""

from __future__ import annotations

import platform
import sysconfig
from pathlib import Path
from typing import Final

from assay.corpus.kinds import CorpusRequest, LocatedCorpus, subfolder
from assay.corpus.walk import WalkRoot
from assay.errors import SetupError

#: Third-party packages inside the library directory.
_INSTALLED: Final = frozenset({"site-packages", "dist-packages"})
#: A complete library has more than 400 test modules; distributions leave a handful.
_FEWEST_TESTS: Final = 50


def locate(request: CorpusRequest) -> LocatedCorpus:
    """Locate the standard library."""
    top = Path(sysconfig.get_path("stdlib")).resolve()
    if not (top / "os.py").is_file():
        raise SetupError(
            f"this interpreter has no standard library in source form at {top}",
            hint="use an interpreter that has one: python.org, uv, pyenv or the distribution's",
        )
    ground = WalkRoot(subfolder(request.spec, top), top, git=False, built_in=True, barred=_INSTALLED)
    complete = sum(1 for _ in (top / "test").glob("test_*.py")) >= _FEWEST_TESTS
    note = "this interpreter has no test/ package, so targets in it cannot be resolved"
    return LocatedCorpus(ground, platform.python_version(), () if complete else (note,))
