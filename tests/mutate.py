"""Break each rule of the honest harness on purpose and see its test fail: `python -m tests.mutate [RULE]`.

A mutant is a line of the source replaced by a wrong one. Every mutant must be killed by the tests named with it;
one that survives, or that no longer fits the source, ends in exit code 1.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
MUTANTS = Path(__file__).parent / "mutants.toml"
_PASSED, _FAILED = 0, 1  # pytest's exit codes; any other means that it did not get to test
_OUTCOMES = {_PASSED: "survived", _FAILED: "killed"}
_LEFT_OUT = (".git", ".venv", "*_cache", ".hypothesis", "demo-results", "__pycache__")


@dataclass(frozen=True, slots=True)
class Mutant:
    """A rule, how it is broken, and who must notice."""

    rule: str
    file: str
    old: str
    new: str
    tests: str


def main(wanted: str | None = None) -> int:
    """Try every mutant in a copy of the tree."""
    mutants = [Mutant(**entry) for entry in tomllib.loads(MUTANTS.read_text(encoding="utf-8"))["mutant"]]
    chosen = [mutant for mutant in mutants if wanted is None or wanted in mutant.rule]
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "tree"
        shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(*_LEFT_OUT))
        if run_tests(copy, " ".join(sorted({tests for mutant in chosen for tests in mutant.tests.split()}))) != _PASSED:
            print("the tests fail without any mutant")
            return 1
        outcomes = [try_mutant(copy, mutant) for mutant in chosen]
    for mutant, outcome in zip(chosen, outcomes, strict=True):
        print(f"{outcome:9} {mutant.rule}: {mutant.file}")
    killed = outcomes.count("killed")
    print(f"{killed} of {len(chosen)} mutants killed")
    return 0 if killed == len(chosen) else 1


def try_mutant(copy: Path, mutant: Mutant) -> str:
    """Say whether the tests notice one mutant; the file is put back afterwards."""
    path = copy / mutant.file
    text = path.read_text(encoding="utf-8")
    if text.count(mutant.old) != 1:
        return "misfit"
    path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
    try:
        return _OUTCOMES.get(run_tests(copy, mutant.tests), "broken")
    finally:
        path.write_text(text, encoding="utf-8")


def run_tests(copy: Path, tests: str) -> int:
    """Run some tests of the copy against its own source and give pytest's exit code; one that hangs has failed."""
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", *tests.split()]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, check=False, timeout=600
        ).returncode
    except subprocess.TimeoutExpired:
        return _FAILED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
