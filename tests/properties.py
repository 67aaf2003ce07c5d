"""Example counts for property tests: few and derandomized in `make test`, all and randomized in `make soak`."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from hypothesis import HealthCheck, settings
from hypothesis.database import DirectoryBasedExampleDatabase

FEWEST: Final = 10
EXAMPLES: Final = Path(__file__).parents[1] / ".hypothesis" / "examples"


def register_profiles() -> None:
    # Examples may be slow, large or share a directory: health checks would fail at random on a busy machine.
    # The default profile derandomizes and drops the database where CI is set, so both are stated here.
    settings.register_profile(
        "soak",
        deadline=None,
        suppress_health_check=list(HealthCheck),
        print_blob=True,
        derandomize=False,
        database=DirectoryBasedExampleDatabase(EXAMPLES),
    )
    settings.register_profile("test", settings.get_profile("soak"), derandomize=True, max_examples=25, database=None)
    settings.load_profile("test")


def examples(count: int) -> settings:
    """Return settings for `count` examples in `make soak` and a quarter of them in `make test`."""
    soaking = settings.get_current_profile_name() == "soak"
    return settings(max_examples=count if soaking else min(count, max(count // 4, FEWEST)))
