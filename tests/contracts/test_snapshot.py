"""The recorder: a changed value fails, and no recorded folder is left without a test module."""

import ast
from pathlib import Path

import pytest

from tests.contracts import snapshot

HERE = Path(__file__).parent


def test_a_changed_value_fails_with_a_diff(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "RECORDED", tmp_path)
    monkeypatch.setattr(snapshot, "RECORDING", False)
    (tmp_path / "a.json").write_text('{\n "score": 0.5\n}\n')
    snapshot.check("a.json", {"score": 0.5000000001})
    with pytest.raises(pytest.fail.Exception, match=r'\+ "score": 0.6'):
        snapshot.check("a.json", {"score": 0.6})


def test_a_missing_file_fails(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshot, "RECORDED", tmp_path)
    monkeypatch.setattr(snapshot, "RECORDING", False)
    with pytest.raises(pytest.fail.Exception, match="make contracts"):
        snapshot.check("a.json", {})


def test_shapes_merge_the_items_of_a_list():
    value = {"rows": [{"a": 1, "b": None}, {"a": 2.5}], "none": []}
    assert snapshot.shape(value) == {"rows": [{"a": "float | int", "b": "absent | null"}], "none": ["empty"]}


def test_masks_keep_the_kind_of_a_value():
    value = {"rows": [{"seconds": 0.5, "on": "today", "per": {"a": 1, "b": 2.5}, "peak": 12}]}
    found = snapshot.masked(value, ["seconds", "on", "per"], nullable=["peak"])
    row = {"seconds": "<masked number>", "on": "<masked text>", "per": "<masked object of number>", "peak": "<masked>"}
    assert found == {"rows": [row]}
    assert snapshot.shape(found) == found
    assert snapshot.masked({"seconds": "0.5"}, ["seconds"]) != snapshot.masked({"seconds": 0.5}, ["seconds"])


@pytest.mark.skipif(snapshot.RECORDING, reason="other workers are still writing the recorded files")
def test_every_recorded_folder_belongs_to_a_test_module():
    """`recorded/<name>/…` is written by `test_<name>.py`, so a removed module cannot leave its files behind."""
    modules = {path.stem.removeprefix("test_") for path in HERE.glob("test_*.py")}
    assert {path.name for path in snapshot.RECORDED.iterdir()} <= modules
    for name in modules & {path.name for path in snapshot.RECORDED.iterdir()}:
        tree = ast.parse((HERE / f"test_{name}.py").read_text(encoding="utf-8"))
        assert any(isinstance(node, ast.ImportFrom) and "contracts" in (node.module or "") for node in ast.walk(tree))
