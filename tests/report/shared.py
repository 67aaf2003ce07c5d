"""A run of the shop that the tests of a module share: a run is immutable, so making it once is enough."""

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from tests.conftest import SHOP, enter, write_tree

Made = TypeVar("Made")


def make_in_shop(factory: pytest.TempPathFactory, make: Callable[[], Made]) -> tuple[Path, Made]:
    """Return a folder for `enter_shared` with the shop in it, and what `make` returns there."""
    base = factory.mktemp("shared-shop")
    write_tree(base / "repo", SHOP)
    with pytest.MonkeyPatch.context() as patch:
        enter(base, patch)
        return base, make()
