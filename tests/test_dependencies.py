"""Dependencies: lowest versions that pyproject.toml admits, licenses, known vulnerabilities."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import urllib.error
import urllib.request
import warnings
from importlib.metadata import distribution, requires, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = Path(__file__).parents[1]
#: Loads every grammar with its queries, then searches, filters by a pattern and runs two engines over a gold set.
SMOKE = """
import sys
from pathlib import Path
from assay.cli.main import main
from assay.syntax.parsing import GRAMMARS, load_grammar
for name in GRAMMARS:
    load_grammar(name)
Path("shop").mkdir()
Path("shop/cart.py").write_text("def total(items):\\n    return sum(items)\\n")
Path("shop/tax.py").write_text("def rate(country):\\n    return 0.2\\n")
Path("gold.yaml").write_text('''assay: 1
name: shop
corpus: {path: .}
queries:
  - {id: total, retrieval: {primary: ["shop/cart.py::total"]}, cognitive: {human: what do all items cost}}
''')
codes = [main(["search", "total", "--regex", "def"]), main(["gold", "lint", "gold.yaml"])]
codes += [main(["run", "--gold", "gold.yaml", "--engine", "builtin", "--engine", "keywords", "--quiet"])]
sys.exit(str(codes) if any(codes) else 0)
"""


def runtime_dependencies() -> dict[str, str]:
    """Return the name and version of every package that `pip install assay` installs, without extras."""
    found: dict[str, str] = {}
    stack = ["assay"]
    while stack:
        for line in requires(stack.pop()) or ():
            requirement = Requirement(line)
            name = canonicalize_name(requirement.name)
            if name not in found and (requirement.marker is None or requirement.marker.evaluate({"extra": ""})):
                found[name] = version(name)
                stack.append(name)
    return found


def license_of(name: str) -> str:
    metadata = distribution(name).metadata
    lines = [line.rpartition(" :: ")[2] for line in metadata.get_all("Classifier", []) if line.startswith("License")]
    stated = metadata.get_all("License-Expression", []) or lines or metadata.get_all("License", ["?"])
    return " and ".join(stated).split("\n")[0]


def test_licenses_are_permissive_and_listed() -> None:
    listed = (PROJECT / "SECURITY.md").read_text(encoding="utf-8")
    for name in runtime_dependencies():
        permissive = re.search(r"\b(?:MIT|BSD|Apache|ISC|PSF|CNRI|CC0|Zlib)|Mozilla|MPL", license_of(name))
        assert permissive, f"{name}: {license_of(name)}"
        if not name.startswith("tree-sitter-"):
            assert f"`{name}`" in listed, f"SECURITY.md does not list {name}: {license_of(name)}"


@pytest.mark.nightly
def test_lowest_versions_of_direct_dependencies_work(tmp_path: Path) -> None:
    """Newest versions are those of all other tests."""

    def step(*command: str, cwd: Path = tmp_path) -> subprocess.CompletedProcess[str]:
        return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=1_200, check=False)

    step(sys.executable, "-m", "venv", "tools")
    if step("tools/bin/python", "-m", "pip", "install", "--quiet", "uv").returncode:
        warnings.warn("NOT TESTED: lower bounds; uv cannot be installed", stacklevel=1)
        pytest.skip("NOT TESTED: lower bounds of dependencies; uv cannot be installed here")
    uv = str(tmp_path / "tools/bin/uv")
    lowest = ("--resolution", "lowest-direct", "--only-binary", ":all:")  # wheels: what users get
    done = step(
        uv,
        "pip",
        "compile",
        "-q",
        "--python",
        sys.executable,
        *lowest,
        str(PROJECT / "pyproject.toml"),
        "-o",
        "low.txt",
    )
    assert done.returncode == 0, done.stderr
    pinned = dict(re.findall(r"^([\w.-]+)==(\S+)", (tmp_path / "low.txt").read_text(), re.MULTILINE))
    for line in requires("assay") or ():
        requirement = Requirement(line)
        if requirement.marker is None:
            bound = next(iter(requirement.specifier)).version
            assert Version(pinned[canonicalize_name(requirement.name)]) == Version(bound), line
    step(uv, "venv", "-q", "--python", sys.executable, "low")
    for arguments in (("-r", "low.txt", "--only-binary", ":all:"), ("--no-deps", str(PROJECT))):
        done = step(uv, "pip", "install", "-q", "--python", "low/bin/python", *arguments)
        assert done.returncode == 0, done.stderr
    (tmp_path / "repo").mkdir()
    done = step("../low/bin/python", "-W", "error", "-c", SMOKE, cwd=tmp_path / "repo")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.nightly
def test_no_dependency_has_a_known_vulnerability() -> None:
    known = []
    for name, number in runtime_dependencies().items():
        try:
            with urllib.request.urlopen(f"https://pypi.org/pypi/{name}/{number}/json", timeout=30) as response:
                page = json.load(response)
        except (OSError, ValueError) as error:
            if isinstance(error, urllib.error.HTTPError):
                error.close()  # otherwise a ResourceWarning
            pytest.skip(f"NOT TESTED: known vulnerabilities of dependencies; {name}: {error}")
        known += [
            f"{name} {number}: {entry['id']} fixed in {entry['fixed_in']}" for entry in page.get("vulnerabilities", ())
        ]
    assert not known, "\n".join(known)
