"""Mutation tests: break each rule and check that its tests fail; run as `python -m tests.mutate [RULE]`.

Each mutant in tests/mutations.toml replaces one piece of source with a wrong one and must be killed by the tests it
names. `make test` checks that all mutants still apply (tests/test_mutants.py), `make soak` runs them.
"""

from __future__ import annotations

import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parent.parent
MUTANTS = Path(__file__).parent / "mutations.toml"
_PASSED, _FAILED = 0, 1  # pytest's exit codes; any other code means that no test ran
_OUTCOMES = {_PASSED: "survived", _FAILED: "killed"}
_NOT_COPIED = {".git", ".venv", ".mypy_cache", ".ruff_cache", ".hypothesis", "demo-results", "site"}  # at the top level
_WATCHDOG = 1800  # seconds for the tests of one mutant; a mutant that makes them hang is killed too


@dataclass(frozen=True, slots=True)
class Mutant:
    """One rule, the edit that breaks it, and the tests that must fail."""

    rule: str
    file: str
    old: str
    new: str
    tests: str

    def misfit(self) -> str | None:
        """Return why this mutant cannot be applied to the tree, or None."""
        if not (ROOT / self.file).is_file():
            return f"no file {self.file}"
        count = (ROOT / self.file).read_text(encoding="utf-8").count(self.old)
        if count != 1:
            return f"{self.file}: expected one match for {self.old!r}, found {count}"
        missing = [test for test in self.tests.split() if not (ROOT / test).exists()]
        return f"no test {', '.join(missing)}" if missing else None


def load_mutants() -> list[Mutant]:
    return [Mutant(**entry) for entry in tomllib.loads(MUTANTS.read_text(encoding="utf-8"))["mutant"]]


def main(wanted: str = "") -> int:
    """Test the mutants whose rule contains `wanted`; return 1 unless all are killed."""
    chosen = [mutant for mutant in load_mutants() if wanted in mutant.rule]
    misfits = [f"{mutant.rule}: {why}" for mutant in chosen if (why := mutant.misfit())]
    if misfits or not chosen:
        print("\n".join(misfits) or f"no mutant for {wanted!r}")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        copies: SimpleQueue[Path] = SimpleQueue()
        workers = os.cpu_count() or 1
        for number in range(workers):
            copy = Path(folder) / str(number)
            shutil.copytree(
                ROOT, copy, symlinks=True, ignore=lambda at, _: _NOT_COPIED if at == str(ROOT) else {"__pycache__"}
            )
            compileall.compile_dir(copy / "src", quiet=2)  # so that hundreds of child processes load bytecode
            copies.put(copy)
        with ThreadPoolExecutor(workers) as pool:
            tests = sorted({test for mutant in chosen for test in mutant.tests.split()})
            plain = pool.map(lambda test: _with_copy(copies, None, [test]), tests)
            failing = [test for test, code in zip(tests, plain, strict=True) if code != _PASSED]
            if failing:
                print(f"tests that fail without any mutant: {', '.join(failing)}")
                return 1
            codes = pool.map(lambda mutant: _with_copy(copies, mutant, mutant.tests.split()), chosen)
            outcomes = []
            for mutant, code in zip(chosen, codes, strict=True):
                outcomes.append(_OUTCOMES.get(code, "broken"))
                print(f"{outcomes[-1]:9} {mutant.rule}: {mutant.file}", flush=True)
    killed = outcomes.count("killed")
    print(f"{killed} of {len(chosen)} mutants killed")
    return 0 if killed == len(chosen) else 1


def _with_copy(copies: SimpleQueue[Path], mutant: Mutant | None, tests: Sequence[str]) -> int:
    """Run tests in one of the copies, with `mutant` applied unless it is None, and return pytest's exit code."""
    copy = copies.get()
    try:
        if mutant is None:
            return _run_tests(copy, tests)
        path = copy / mutant.file
        text = path.read_text(encoding="utf-8")
        path.write_text(text.replace(mutant.old, mutant.new), encoding="utf-8")
        try:
            return _run_tests(copy, tests)
        finally:
            path.write_text(text, encoding="utf-8")
    finally:
        copies.put(copy)


def _run_tests(copy: Path, tests: Sequence[str]) -> int:
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-n0", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        return subprocess.run(
            command, cwd=copy, env=environment, capture_output=True, check=False, timeout=_WATCHDOG
        ).returncode
    except subprocess.TimeoutExpired:
        return _FAILED


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:2]))
