"""Every benchmark there is can be run by its name."""

import ast
from pathlib import Path

import benchmarks
from benchmarks.__main__ import BENCHES, choose

ROOT = Path(benchmarks.__file__).parent


def test_every_module_with_a_main_is_registered():
    paths = (path.relative_to(ROOT.parent) for path in ROOT.rglob("*.py") if is_benchmark(path))
    found = {".".join(path.with_suffix("").parts) for path in paths}
    assert found == {bench.module for bench in BENCHES}


def is_benchmark(path):
    """Whether a module has a `main` that gives something to write down; programs of workers give nothing."""
    if path.name == "__main__.py":
        return False
    functions = [node for node in ast.parse(path.read_text("utf-8")).body if isinstance(node, ast.FunctionDef)]
    return any(one.name == "main" and one.returns and ast.unparse(one.returns) != "None" for one in functions)


def test_benchmarks_have_names_and_titles_of_their_own():
    assert len({bench.name for bench in BENCHES}) == len({bench.title for bench in BENCHES}) == len(BENCHES)


def test_bench_without_a_name_runs_what_the_experiments_cost():
    assert {"sweep", "cluster"} <= {bench.name for bench in choose([])}
