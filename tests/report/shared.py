"""Runs of the shop that cost little: one for all tests of a module, by engines whose source is not digested."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

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


def sourceless(engines: Mapping[str, Any]) -> dict[str, Any]:
    """Have functions name a module that has no file.

    The fingerprint of an engine covers the package of its function, so each run would digest every file of the tests.
    """
    for engine in engines.values():
        if isinstance(engine, FunctionType):
            engine.__module__ = "sourceless"
    return dict(engines)
