"""Commands share modules; they do not lean on each other in circles."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import assay.cli

SOURCE = Path(assay.cli.__file__).parents[2]


def imported(path: Path) -> set[str]:
    """Name the modules of the command line that a module imports, wherever it does so."""
    found = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.ImportFrom)]
    return {f"{node.module}.{alias.name}" for node in found for alias in node.names} | {str(n.module) for n in found}


def test_no_command_is_imported_by_what_it_imports():
    files = {
        ".".join(path.relative_to(SOURCE).with_suffix("").parts): path
        for path in (SOURCE / "assay" / "cli").rglob("*.py")
        if path.name != "__init__.py"  # a package names its modules, and they come from it
    }
    graph = {name: imported(path) & set(files) - {name} for name, path in files.items()}
    assert len(list(TopologicalSorter(graph).static_order())) == len(files)


def test_gate_loads_neither_engines_nor_corpora_nor_gold_formats():
    program = "import sys, assay.cli.gate; print(*(name for name in sys.modules if name.startswith('assay.')))"
    output = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout
    loaded = output.split()
    assert len(loaded) <= 100
    unwanted = ("assay.engines.", "assay.corpus.", "assay.gold.formats.")
    assert not [name for name in loaded if f"{name}.".startswith(unwanted)]
