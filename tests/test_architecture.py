"""The walls of the house: who may import whom, and what is public."""

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import assay

SOURCE = Path(assay.__file__).parent

#: Each room, and the rooms it may import. Left to right, the path of the data.
ALLOWED = {
    "errors": set(),
    "types": {"errors"},
    "files": {"errors"},
    "digests": set(),
    "locks": set(),
    "settings": {"errors", "toml"},
    "toml": {"errors", "files"},
    "http": {"errors", "clock", "redaction"},
    "chat": {"errors", "http"},
    "clock": set(),
    "screen": set(),
    "redaction": {"errors"},
    "processes": {"errors", "types"},
    "_version": set(),
    "syntax": {"errors", "types"},
    "corpus": {"errors", "types", "syntax", "files", "locks", "processes", "_version"},
    "store": {"errors", "files", "locks", "corpus"},
    "gold": {"errors", "types", "clock", "syntax", "corpus", "files", "digests", "chat"},
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
        "redaction",
    },
    "scoring": {"errors", "types", "syntax", "digests"},
    "stats": {"errors", "types", "files", "scoring"},
    "data": set(),
    "browser": {"errors"},
}
ALLOWED["training"] = {
    "errors", "types", "files", "digests", "settings", "toml", "syntax", "corpus", "store", "search",
    "stats", "scoring",
}  # fmt: skip
ALLOWED["measures"] = {"scoring"}
ALLOWED["experiment"] = {*ALLOWED, "experiment"} - {"search", "training"}
ALLOWED["report"] = {*ALLOWED} - {"search", "engines", "corpus", "training"}
ALLOWED["audit"] = {*ALLOWED} - {"search", "training"}
# What an agent may ask is what a person may: it sees both halves, as the command line does.
ALLOWED["agent"] = {*ALLOWED} - {"training"}
# The pages of a server ask what the command line asks: reports, gold, and the engine once more with other settings.
ALLOWED["web"] = {*ALLOWED} - {"training"}
# The engine is a product of its own (`assay search`), so the command line may ask it directly. That opens no way from
# the engine to the answers: gold, scoring and stats still never meet search, and a test below says so.
ALLOWED["cli"] = {*ALLOWED}
ALLOWED["__main__"] = {"cli"}
ALLOWED["__init__"] = {*ALLOWED} - {"cli", "report", "training", "audit", "agent", "web", "browser"}

DOORS = {"engines/builtin.py": {"search"}}


@cache
def import_nodes(path: Path) -> list[ast.Import | ast.ImportFrom]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom)]


def imports(path: Path) -> set[str]:
    rooms = set()
    for node in import_nodes(path):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "assay":
            parts = node.module.split(".")
            rooms |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level:
            pytest.fail(f"{path} imports relatively; the rooms are easier to see by name")
        elif isinstance(node, ast.Import):
            rooms |= {alias.name.split(".")[1] for alias in node.names if alias.name.startswith("assay.")}
    return rooms


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.relative_to(SOURCE).as_posix())
def test_rooms_import_only_what_lies_before_them(path):
    name = path.relative_to(SOURCE).as_posix()
    room = name.partition("/")[0].removesuffix(".py")
    allowed = ALLOWED[room] | {room} | DOORS.get(name, set())
    assert imports(path) <= allowed, f"{name} reaches into {sorted(imports(path) - allowed)}"


def test_engine_half_knows_nothing_of_the_answers():
    for room in ("search", "engines"):
        assert not ALLOWED[room] & {"gold", "scoring", "stats"}


def test_training_is_reached_by_the_command_line_alone():
    assert {room for room, allowed in ALLOWED.items() if "training" in allowed} == {"cli"}


def test_answers_half_knows_nothing_of_the_engine():
    for room in ("gold", "scoring", "stats", "experiment", "report"):
        assert "search" not in ALLOWED[room]


def test_every_room_on_disk_is_listed():
    rooms = {p.name.removesuffix(".py") for p in SOURCE.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()}
    assert rooms == set(ALLOWED)


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


#: Rooms of gold, and what of gold they never import: proposals become gold in one place, and reading needs none of it.
GOLD_WALLS = {
    "formats": {"lint", "mining", "review", "reanchor", "synth"},
    "native": {"lint", "mining", "review", "reanchor", "synth", "split"},
    "anchors": {"lint", "mining", "review", "reanchor", "synth", "split"},
    "lint": {"mining", "review"},
    "review": {"lint", "mining", "synth"},
    "synth": {"mining", "review"},
}


@pytest.mark.parametrize("room", GOLD_WALLS)
def test_rooms_of_gold_keep_their_walls(room):
    paths = [*(SOURCE / "gold" / room).rglob("*.py"), *(SOURCE / "gold").glob(f"{room}.py")]
    assert paths
    reached = {name.split(".")[2] for path in paths for name in _gold_modules(path)}
    assert not reached & GOLD_WALLS[room]


def _gold_modules(path: Path) -> set[str]:
    named = {node.module for node in import_nodes(path) if isinstance(node, ast.ImportFrom) and node.module}
    return {name for name in named if name.startswith("assay.gold.")}


BROWSER = SOURCE / "browser"
SCRIPTS = sorted(BROWSER.rglob("*.js"))
_SCRIPT_IMPORT = re.compile(r'import\s*(?:\{([^}]*)\}\s*from\s*)?"([^"]+)";')


def script_imports(path: Path) -> dict[Path, list[str]]:
    """The modules that a script imports, each with the names it takes, as they are called in the script."""
    found = _SCRIPT_IMPORT.findall(path.read_text(encoding="utf-8"))
    names = ([name.split(" as ")[-1].strip() for name in taken.split(",") if name.strip()] for taken, _ in found)
    return dict(zip(((path.parent / target).resolve() for _, target in found), names, strict=True))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.relative_to(BROWSER).as_posix())
def test_pages_import_what_is_common_and_nothing_of_each_other(path):
    page = path.relative_to(BROWSER).parts[0]
    reached = {target.relative_to(BROWSER).parts[0] for target in script_imports(path)}
    assert reached <= {page, "common"}


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda p: p.relative_to(BROWSER).as_posix())
def test_scripts_use_what_they_import(path):
    text = path.read_text(encoding="utf-8")
    assert text.count("import ") == len(_SCRIPT_IMPORT.findall(text)), "an import that is not understood here"
    body = _SCRIPT_IMPORT.sub("", text)
    names = [name for taken in script_imports(path).values() for name in taken]
    used = {name for name in names if re.search(rf"(?:(?<![\w$.])|(?<=\.\.\.)){re.escape(name)}(?![\w$])", body)}
    assert [name for name in names if name not in used] == []


def test_what_is_common_serves_more_than_one_page():
    users = {(path.relative_to(BROWSER).parts[0], target) for path in SCRIPTS for target in script_imports(path)}
    pages = {path: sorted({page for page, used in users if used == path and page != "common"}) for path in SCRIPTS}
    common = {path: found for path, found in pages.items() if path.is_relative_to(BROWSER / "common")}
    assert [path.name for path, found in common.items() if len(found) == 1] == []


def test_a_worker_starts_without_what_only_reports_need():
    program = "import sys, assay.experiment.cells.working; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert "assay.experiment.cells.working" in loaded
    assert not loaded & {"numpy", "dask", "pyarrow", "assay.scoring", "assay.stats", "assay.search", "assay.report"}
