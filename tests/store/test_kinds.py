"""Kinds of things in the cache: whatever is written there is registered, so that it can be seen and pruned."""

import ast
from collections.abc import Iterator
from pathlib import Path

import assay
from assay.corpus.cache import cache_dir
from assay.experiment.running.experiments import run_experiment
from assay.store import KINDS

SOURCE = Path(assay.__file__).parent
NAMES = {kind.name for kind in KINDS}
#: What the cache holds beside kinds: the store of artefacts, and small files that are not worth pruning.
BESIDE = {"artefacts", "refs", "locks", "_FILE"}
#: What the constants of the source are called.
CONSTANTS = {
    name for name, value in vars(__import__("assay.store.paths", fromlist=["KINDS"])).items() if value in KINDS
}


def parsed(*words: str) -> Iterator[tuple[Path, ast.AST]]:
    """Walk the modules that have one of some words."""
    for path in SOURCE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        if any(word in text for word in words):
            for node in ast.walk(ast.parse(text)):
                yield path, node


def test_every_folder_of_the_cache_that_the_source_names_is_a_kind():
    named = set()
    for path, node in parsed("cache_dir()"):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div) and "cache_dir()" in ast.unparse(node.left):
            right = node.right.value if isinstance(node.right, ast.Attribute) else node.right
            name = str(right.value) if isinstance(right, ast.Constant) else ast.unparse(right).split(".")[-1]
            named |= {name} if "cli/cache" not in path.as_posix() else set()
    assert {"artefacts", "INDEX", "DESCRIPTIONS", "EMBEDDINGS", "UNFINISHED"} <= named
    assert named <= NAMES | CONSTANTS | BESIDE


def test_no_module_has_the_name_of_an_artefact_of_its_own():
    own = {kind.name for kind in KINDS if kind.artefact}
    for path, node in parsed(".obtain(", ".release(", "artefacts."):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            first = node.args[0]
            stores = node.func.attr in ("obtain", "release") or ast.unparse(node.func.value).endswith("artefacts")
            assert not (stores and isinstance(first, ast.Constant) and first.value in own), path


def test_a_run_leaves_nothing_in_the_cache_that_is_no_kind(shop, monkeypatch, tmp_path):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\ntimes = false\n[engines.mine]\nkind = "builtin"\n')
    run_experiment(shop / "assay.toml")
    kept = cache_dir() / "artefacts"
    assert {"cells", "tables"} <= {one.name for one in kept.iterdir()}
    assert {one.name for one in kept.iterdir() if not one.name.startswith(".")} <= NAMES
    assert {one.name for one in cache_dir().iterdir() if one.is_dir()} <= NAMES | BESIDE


def test_every_kind_says_what_it_is_and_what_it_costs():
    assert len(NAMES) == len(KINDS)
    assert all(kind.about and kind.anew for kind in KINDS)
