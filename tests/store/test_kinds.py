"""Kinds of things in the cache: whatever is written there is registered, so that it can be seen and pruned."""

import ast
from pathlib import Path

import assay
from assay.experiment.execution import run_experiment
from assay.store.kinds import KINDS, cache_dir

SOURCE = Path(assay.__file__).parent
NAMES = {kind.name for kind in KINDS}


def test_only_the_store_names_directories_of_the_cache():
    assert not [path for path in SOURCE.rglob("*.py") if "cache_dir() /" in path.read_text(encoding="utf-8")]


def test_names_of_kinds_are_constants():
    for path in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
                first = node.args[0]
                stores = node.func.attr in ("directory", "workspace", "put", "find", "release", "kind_dir")
                assert not (stores and isinstance(first, ast.Constant) and first.value in NAMES), path


def test_a_run_leaves_nothing_in_the_cache_that_is_no_kind(shop, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\ntimes = false\n[engines.mine]\nkind = "builtin"\n')
    run_experiment(shop / "assay.toml")
    found = {one.name for one in cache_dir().iterdir()}
    assert {"cells", "tables"} <= found
    assert {name for name in found if not name.startswith(".")} <= NAMES


def test_every_kind_says_what_it_is_and_what_it_costs():
    assert len(NAMES) == len(KINDS)
    assert all(kind.about and kind.anew for kind in KINDS)
