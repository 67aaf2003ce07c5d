"""{store} is made where a template names it, and nowhere else; {preset} has a value in a preset only."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from assay.engines import make_engine
from assay.engines.base import EngineContext
from assay.engines.workspace import EngineWorkspace, fixed_placeholders, placeholder_names
from assay.errors import ConfigError


def test_store_is_made_measured_and_removed(tmp_path: Path) -> None:
    folders = EngineWorkspace({"here": "/h"}, tmp_path, {"env": {"DB": "{store}/db"}})
    store = Path(folders.placeholders["store"])
    assert list(store.iterdir()) == []
    (store / "db").write_text("x" * 123)
    assert folders.store_bytes() == 123
    assert folders.placeholders == {"here": "/h", "root": str(tmp_path), "store": str(store)}
    folders.close()
    folders.close()
    assert not store.exists()


def test_store_that_nobody_names_is_not_made_and_has_no_size(tmp_path: Path) -> None:
    folders = EngineWorkspace({"here": "/h"}, tmp_path, ["{root}", "{stores}"])
    assert folders.placeholders == {"here": "/h", "root": str(tmp_path)}
    assert folders.store_bytes() is None
    folders.close()


def test_store_that_cannot_be_removed_fails_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folders = EngineWorkspace({}, tmp_path, "{store}")

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError("not yours")

    (Path(folders.placeholders["store"]) / "db").touch()
    with monkeypatch.context() as patch:
        patch.setattr("os.unlink", refuse)
        folders.close()
    EngineWorkspace.close(folders)


@pytest.mark.parametrize(
    "settings",
    [
        {"kind": "command", "argv": ["tool", "{preset}/x", "{query}"]},
        {"kind": "http", "url": "http://h/?q={query}", "body": {"p": "{preset}"}},
        {"kind": "mcp", "command": ["tool", "{preset}/x"], "tool": "search"},
        {"kind": "mcp", "command": "tool", "tool": "search", "arguments": {"query": "{query}", "p": "{preset}"}},
    ],
)
def test_preset_outside_of_one_is_refused_by_every_kind(settings: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=r"placeholder \{preset\}"):
        make_engine(settings)


def test_places_are_known_by_the_context(tmp_path: Path) -> None:
    assert fixed_placeholders(EngineContext(directory=tmp_path)) == {"here": str(tmp_path), "python": sys.executable}
    settled = fixed_placeholders(EngineContext(directory=tmp_path, preset=tmp_path / "p"))
    assert settled == {"here": str(tmp_path), "python": sys.executable, "preset": str(tmp_path / "p")}
    assert placeholder_names(settled) == ("here", "python", "preset", "root", "store")
