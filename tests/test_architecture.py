"""Import order between and inside packages, and the pinned public names."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import assay
from assay.experiment.cell_cache import RESULT_CODE
from assay.search.building import TABLE_CODE

SOURCE = Path(assay.__file__).parent

#: The packages that each package may import, in the order of the data flow.
ALLOWED = {
    "errors": set(),
    "records": set(),
    "types": {"errors"},
    "files": {"errors"},
    "corpus_changes": {"errors", "types", "digests"},
    "digests": set(),
    "trec": {"types"},
    "locks": set(),
    "settings": {"errors", "toml"},
    "toml": {"errors", "files"},
    "http": {"errors", "clock", "redaction"},
    "chat": {"errors", "http", "redaction"},
    "clock": set(),
    "terminal": set(),
    "redaction": {"errors"},
    "patterns": {"errors"},
    "processes": {"errors", "types"},
    "_version": set(),
    "syntax": {"errors", "types", "processes"},
    "store": {"errors", "files", "locks"},
    "corpus": {"errors", "types", "syntax", "store", "files", "processes", "redaction", "_version"},
    "gold": {
        "errors",
        "types",
        "clock",
        "syntax",
        "store",
        "corpus",
        "files",
        "digests",
        "locks",
        "chat",
        "redaction",
        "trec",
    },
    "search": {
        "errors",
        "types",
        "settings",
        "toml",
        "syntax",
        "corpus",
        "store",
        "files",
        "digests",
        "locks",
        "http",
        "chat",
        "processes",
        "patterns",
        "redaction",
    },
    "engines": {
        "errors",
        "types",
        "clock",
        "settings",
        "toml",
        "syntax",
        "corpus",
        "store",
        "files",
        "digests",
        "http",
        "processes",
        "patterns",
        "redaction",
        "trec",
    },
    "scoring": {"errors", "types", "syntax", "digests"},
    "stats": {"errors", "types", "files", "scoring"},
    "data": set(),
    "browser": {"errors"},
}
ALLOWED["training"] = {
    "errors", "types", "files", "digests", "settings", "toml", "processes", "redaction", "syntax", "corpus", "store",
    "search", "stats", "scoring",
}  # fmt: skip
ALLOWED["measures"] = {"scoring"}
ALLOWED["experiment"] = {*ALLOWED, "experiment"} - {"search", "training"}
ALLOWED["report"] = {*ALLOWED} - {"search", "engines", "corpus", "training"}
ALLOWED["audit"] = {*ALLOWED} - {"search", "training"}
ALLOWED["agent"] = {*ALLOWED} - {"training"}
ALLOWED["web"] = {*ALLOWED} - {"training"}
ALLOWED["cli"] = {*ALLOWED}
ALLOWED["__main__"] = {"cli"}
ALLOWED["__init__"] = {*ALLOWED} - {"cli", "report", "training", "audit", "agent", "web", "browser"}

#: Modules with one more import than their package.
EXCEPTIONS = {"engines/builtin.py": {"search"}}

#: Packages of gold, and the parts of gold that they never import.
GOLD_FORBIDDEN = {
    "formats": {"lint", "mining", "review", "reanchor", "synth"},
    "anchors": {"lint", "mining", "review", "reanchor", "synth", "split"},
    "code_index": {"lint", "mining", "review", "reanchor", "synth"},
    "lint": {"mining", "review"},
    "review": {"lint", "mining", "synth"},
    "synth": {"mining", "review"},
}

#: Import cycles inside packages that are still to be removed.
CYCLES: set[str] = set()

PATHS = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted({path.parent for path in PATHS})


def relative(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@cache
def import_nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    """Return the imports of a module, also inside functions, without those for type checkers."""

    def walk(node: ast.AST) -> Iterator[ast.AST]:
        yield node
        if not (isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)):
            for child in ast.iter_child_nodes(node):
                yield from walk(child)

    nodes = walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


@cache
def imported_modules(path: Path) -> set[tuple[str, ...]]:
    """Return the modules of assay that a module imports, each as the parts of its name below `assay`."""
    names = set()
    for node in import_nodes(path):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif node.level:
            pytest.fail(f"{path} uses a relative import; import by the full name")
        elif node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    parts = (tuple(name.split(".")[1:]) for name in names if name.startswith("assay."))
    return {name if exists(name) else name[:-1] for name in parts} - {()}


def exists(name: tuple[str, ...]) -> bool:
    path = SOURCE.joinpath(*name)
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


@pytest.mark.parametrize("path", PATHS, ids=relative)
def test_packages_import_only_the_packages_listed_for_them(path):
    package = relative(path).partition("/")[0].removesuffix(".py")
    allowed = ALLOWED[package] | {package, "records"} | EXCEPTIONS.get(relative(path), set())
    imported = {name[0] for name in imported_modules(path)}
    assert imported <= allowed, f"{relative(path)} imports {sorted(imported - allowed)}"


@pytest.mark.parametrize("package", PACKAGES, ids=relative)
def test_modules_of_a_package_do_not_import_in_cycles(package):
    depth = len(package.relative_to(SOURCE).parts)
    graph: dict[str, set[str]] = {}
    for path in package.rglob("*.py"):
        name = path.relative_to(package).parts[0].removesuffix(".py")
        siblings = {
            (*module, "__init__")[depth]
            for module in imported_modules(path)
            if module[:depth] == package.relative_to(SOURCE).parts
        }
        graph[name] = graph.get(name, set()) | siblings - {name}
    cycle = []
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        cycle = error.args[1]
    assert bool(cycle) == (relative(package) in CYCLES), " imports ".join(reversed(cycle)) or "no cycle any more"


@pytest.mark.parametrize("package", GOLD_FORBIDDEN)
def test_packages_of_gold_do_not_import_what_builds_on_them(package):
    paths = [*(SOURCE / "gold" / package).rglob("*.py"), *(SOURCE / "gold").glob(f"{package}.py")]
    imported = {name[1] for path in paths for name in imported_modules(path) if name[0] == "gold" and len(name) > 1}
    assert paths
    assert not imported & GOLD_FORBIDDEN[package]


def test_engines_never_see_the_gold_set():
    for package in ("search", "engines"):
        assert not ALLOWED[package] & {"gold", "stats"}


def test_gold_and_scoring_never_import_the_engine():
    for package in ("gold", "stats", "experiment", "report"):
        assert "search" not in ALLOWED[package]


def test_only_the_command_line_imports_training():
    assert {package for package, allowed in ALLOWED.items() if "training" in allowed} == {"cli"}


def test_every_package_is_listed():
    found = {p.name.removesuffix(".py") for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert found == set(ALLOWED)


def test_public_names_are_pinned():
    assert assay.__all__ == [
        "AssayError",
        "CorpusSpec",
        "Engine",
        "GoldSet",
        "Hit",
        "Index",
        "Query",
        "Run",
        "Scores",
        "Session",
        "Span",
        "Suite",
        "Target",
        "__version__",
        "compare",
        "load_gold",
        "measures",
        "run",
        "run_experiment",
        "score",
    ]


def test_public_names_all_exist():
    for name in assay.__all__:
        assert getattr(assay, name) is not None
    assert set(assay.__all__) <= set(dir(assay))


def test_unknown_public_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="nonsense"):
        assay.nonsense  # noqa: B018


#: Modules of experiment that reports may import: records and results, nothing that opens a corpus or an engine.
REPORT_READS = {"ablation", "ledger", "records", "spec", "tuning"}


def test_reports_open_neither_corpora_nor_engines():
    imported = {name for path in (SOURCE / "report").rglob("*.py") for name in imported_modules(path)}
    assert {name[1] for name in imported if name[0] == "experiment"} <= REPORT_READS


#: Modules of report that compute: their text is in other modules.
NUMBERS = (
    "analysis", "baseline_file", "comparison", "decision", "diagnostics", "engine_behavior", "family", "gate_checks",
    "query_scores", "results_file", "scored_run", "sentences",
)  # fmt: skip


@pytest.mark.parametrize("name", NUMBERS)
def test_modules_that_compute_build_no_tables(name):
    imported = imported_modules(SOURCE / "report" / f"{name}.py")
    assert ("report", "render", "document") not in imported


def test_gates_load_neither_corpora_nor_engines():
    program = "import sys, assay.report.baseline_file, assay.report.gate_checks; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = {name for name in done.stdout.split() if name.startswith("assay")}
    assert not loaded & {"assay.corpus", "assay.engines", "assay.experiment", "assay.gold", "assay.search"}
    assert len(loaded) < 60


BROWSER = SOURCE / "browser"
SCRIPTS = sorted(BROWSER.rglob("*.js"))
_SCRIPT_IMPORT = re.compile(r'import\s*(?:\{([^}]*)\}\s*from\s*)?"([^"]+)";')


def script_imports(path: Path) -> dict[Path, list[str]]:
    """Return the imported modules of a script, each with the local names of what it imports."""
    found = _SCRIPT_IMPORT.findall(path.read_text(encoding="utf-8"))
    names = ([name.split(" as ")[-1].strip() for name in taken.split(",") if name.strip()] for taken, _ in found)
    return dict(zip(((path.parent / target).resolve() for _, target in found), names, strict=True))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.relative_to(BROWSER).as_posix())
def test_pages_import_only_themselves_and_common(path):
    page = path.relative_to(BROWSER).parts[0]
    reached = {target.relative_to(BROWSER).parts[0] for target in script_imports(path)}
    assert reached <= {page, "common"}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.relative_to(BROWSER).as_posix())
def test_scripts_have_no_unused_imports(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("import ") == len(_SCRIPT_IMPORT.findall(text)), "unrecognized import syntax"
    body = _SCRIPT_IMPORT.sub("", text)
    names = [name for taken in script_imports(path).values() for name in taken]
    used = {name for name in names if re.search(rf"(?:(?<![\w$.])|(?<=\.\.\.)){re.escape(name)}(?![\w$])", body)}
    assert [name for name in names if name not in used] == []


def test_common_scripts_serve_more_than_one_page():
    users = {(path.relative_to(BROWSER).parts[0], target) for path in SCRIPTS for target in script_imports(path)}
    pages = {path: sorted({page for page, used in users if used == path and page != "common"}) for path in SCRIPTS}
    common = {path: found for path, found in pages.items() if path.is_relative_to(BROWSER / "common")}
    assert [path.name for path, found in common.items() if len(found) == 1] == []


@pytest.fixture(scope="module")
def worker_modules():
    program = "import sys, assay.experiment.worker; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_workers_start_without_the_modules_of_reports(worker_modules):
    forbidden = {"numpy", "dask", "pyarrow", "assay.scoring", "assay.stats", "assay.search", "assay.report"}
    assert "assay.experiment.worker" in worker_modules
    assert not worker_modules & forbidden


def test_cache_keys_cover_the_code_that_workers_import(worker_modules):
    """What an engine imports later belongs to its identity, which is in the key too."""
    loaded = [SOURCE.joinpath(*name.split(".")[1:]) for name in worker_modules if name.startswith("assay.")]
    paths = {relative(path / "__init__.py" if path.is_dir() else path.with_suffix(".py")) for path in loaded}
    covered = {path for path in paths if any(path == code or path.startswith(f"{code}/") for code in RESULT_CODE)}
    assert paths - covered <= {"_version.py", "data/__init__.py"}
    assert all((SOURCE / code).exists() for code in RESULT_CODE)


def test_index_keys_cover_the_code_that_analyzes_files():
    """An index must be rebuilt after a change of any module that decides what the table holds."""
    pending, reached = ["search/building.py"], {"search/config.py"}  # settings are in the key
    while pending:
        path = pending.pop()
        if path not in reached:
            reached.add(path)
            names = ["/".join(name) for name in imported_modules(SOURCE / path)]
            pending += [f"{name}.py" if (SOURCE / f"{name}.py").exists() else f"{name}/__init__.py" for name in names]
    decisive = {path for path in reached if path.startswith(("search/", "syntax/", "corpus/"))}
    covered = {path for path in decisive if any(path == code or path.startswith(f"{code}/") for code in TABLE_CODE)}
    assert decisive - covered == {"search/config.py"}
    assert all((SOURCE / code).exists() for code in TABLE_CODE)
