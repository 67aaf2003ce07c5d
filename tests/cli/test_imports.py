"""Commands share modules; they do not lean on each other in circles."""

import ast
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
