"""Cheap runs of the shop: one per test module, with engines whose source is not hashed."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import FunctionType
from typing import Any, TypeVar

import pytest

from tests.conftest import SHOP, enter, write_tree

Made = TypeVar("Made")


def make_in_shop(factory: pytest.TempPathFactory, make: Callable[[], Made]) -> tuple[Path, Made]:
    """Return a directory for `enter_shared` that contains the shop, and the result of `make` called in it."""
    base = factory.mktemp("shared-shop")
    write_tree(base / "repo", SHOP)
    with pytest.MonkeyPatch.context() as patch:
        enter(base, patch)
        return base, make()


def sourceless(engines: Mapping[str, Any]) -> dict[str, Any]:
    """Set the module of each engine function to one without a file.

    An engine's fingerprint covers the package of its function, so each run would otherwise hash every test file.
    """
    for engine in engines.values():
        if isinstance(engine, FunctionType):
            engine.__module__ = "sourceless"
    return dict(engines)
