"""Human-readable output of commands at three widths."""

import io
import os
import re
import shutil
from functools import cache
from unittest import mock

import pytest

from assay.store.store import Store
from tests.conftest import write_tree
from tests.contracts.calling import Workspace
from tests.contracts.seen import (
    SKILL_MODULE,
    VERSION,
    WIDTHS,
    Terminal,
    folded,
    gated_workspace,
    see,
    see_at_widths,
    see_on,
    settled_workspace,
    transcripts,
)
from tests.contracts.snapshot import check, substituted

AUDIT = ("--only", "answers,prefix,depth,ties,paths,filters,reachability", "--queries", "3", "--quiet")
SHOP = ("--gold", "gold/shop.yaml", "--jobs", "1", "--quiet")
LEDGER = ("--engine", "ours", "--by", "Ann", "--quiet")
LAWLESS_AUDIT = ("--only", "prefix,depth,ties,paths", "--queries", "3", "--quiet")

COMMANDS = {
    "score": ("score", "results"),
    "compare_engines": ("compare", "results"),
    "compare_all_pairs": ("compare", "results", "--all-pairs"),
    "compare_runs": ("compare", "all_right", "mostly_wrong"),
    "compare_tables": ("compare", "before.csv", "after.csv"),
    "gate_pass": ("gate", "all_right", "--against", "all_right", "--require", "Hit(level=file)@1>=0.9"),
    "gate_fail": ("gate", "mostly_wrong", "--against", "all_right", "--require", "Hit(level=file)@1>=0.9"),
    "gate_inconclusive": ("gate", "mostly_wrong", "--against", "all_right"),
    "gate_engine_failed": ("gate", "often_broken", "--against", "all_right"),
    "gate_not_comparable": ("gate", "asked_otherwise", "--against", "all_right"),
    "show": ("show", "results", "tax-lookup"),
    "show_two_runs": ("show", "all_right", "mostly_wrong", "retry-wait"),
    "plan": ("plan", "results", "--detect", "0.05", "--baseline", "random"),
    "plan_refused": ("plan", "results", "--detect", "0.05"),
    "plan_assumed": ("plan", "--detect", "0.05", "--sd", "0.3", "--icc", "0.1", "--repositories", "10"),
    "ablate": ("ablate", "builtin", *SHOP, "--only", "names", "--only", "dense"),
    "tune": ("tune", "builtin", *SHOP, "--param", "search.stem.files=0.0,0.4"),
    "ledger_list": ("ledger", "list"),
    "ledger_show": ("ledger", "show", "2"),
    "gold_lint": ("gold", "lint", "gold/shop.yaml"),
    "gold_lint_errors": ("gold", "lint", "broken.yaml"),
    "search": ("search", "where is the tax added", "shop"),
    "search_places": ("search", "where is the tax added", "shop", "--per", "span", "--no-snippets"),
    "explain": ("explain", "where is the tax added", "shop", "--expect", "shop/coupons.py"),
    "related": ("related", "shop/cart.py:10", "shop"),
    "explain_run": ("explain", "--run", "results", "--missed", "--quiet"),
    "audit_builtin": ("audit", "builtin", "shop", *AUDIT),
    "audit_findings": ("audit", f"python:{SKILL_MODULE}:lawless", "shop", *LAWLESS_AUDIT),
    "error": ("score", "nowhere"),
}

BROKEN_GOLD = """\
assay: 1
name: broken
corpus: {path: shop}
queries:
  - id: gone
    retrieval: {primary: ["shop/gone.py"]}
    cognitive: {human: where did it go?}
  - id: no-such-symbol
    retrieval: {primary: ["shop/tax.py::tax_rates"]}
    cognitive: {human: where is the tax rate of a country?}
"""


# Commands whose tables are recorded.
FULL = ("score", "compare_engines", "compare_all_pairs", "compare_runs", "gate_pass", "gate_fail", "gate_engine_failed")

# Output with commands to copy or lines of code is not wrapped.
UNFOLDED = {"audit_builtin", "audit_findings", "explain", "error", "gate_not_comparable"}

RUN_CONFIG = """\
[run]
gold = "gold/library.yaml"
measures = ["nDCG@10", "Hit@1"]

[engines.builtin]
kind = "builtin"
"""


@pytest.fixture(scope="module")
def place(workspace) -> Workspace:
    return prepared_workspace(gated_workspace(settled_workspace(workspace)))


@cache  # xdist may set up a module twice in one process
def prepared_workspace(place: Workspace) -> Workspace:
    write_tree(place.root, {"broken.yaml": BROKEN_GOLD, "library.toml": RUN_CONFIG})
    values = {"before": lambda n: 0.5, "after": lambda n: 0.5 + 0.01 * (n - 3)}
    for name, value in values.items():
        rows = [f"q{n},{value(n):.2f}\n" for n in range(12)]
        (place.root / f"{name}.csv").write_text("query,value\n" + "".join(rows))
    prepared = [
        ("index", "shop", "--quiet"),  # otherwise the first search reports building an index
        ("ledger", "add", "mostly_wrong", "--against", "all_right", *LEDGER, "--title", "Ask an older index"),
        ("ledger", "add", "all_right", "--against", "mostly_wrong", *LEDGER, "--title", "Ask the new index"),
    ]
    for argv in prepared:
        outcome = place.call(*argv)
        assert outcome.code == 0, outcome.err
    return place


@pytest.mark.parametrize("name", COMMANDS)
def test_output(place, name):
    outcomes = see_at_widths(place, *COMMANDS[name])
    check(f"terminal/{name}.txt", transcripts(place, COMMANDS[name], outcomes))
    if name not in UNFOLDED:
        assert all(len(line) <= width for width, one in outcomes.items() for line in one.out.splitlines())


def test_run_output(place):
    """The run is timed, because interleaved engines report their progress in a fixed order."""
    argv = ("run", "--config", "library.toml", "--out", "ran")
    seen = transcripts(place, argv, see_at_widths(place, *argv))
    times = {r"median [\d.,]+ ms →\s+[\d.,]+\s+ms": "median # ms → # ms", r"searches in [\d.]+ s": "searches in # s"}
    check("terminal/run.txt", substituted(seen, times))


@pytest.mark.parametrize("name", FULL)
def test_full_output(place, name):
    argv = (*COMMANDS[name], "--full")
    outcomes = see_at_widths(place, *argv)
    check(f"terminal/{name}_full.txt", transcripts(place, argv, outcomes))
    assert all(len(line) <= width for width, one in outcomes.items() for line in one.out.splitlines())


@pytest.mark.parametrize("more", [(), ("--full",), ("--times",)])
def test_run_fits_80_columns(place, more):
    argv = ("run", "--config", "library.toml", "--out", "ran", *more)
    outcome = see(place, *argv, columns=80)
    assert max(map(len, outcome.out.splitlines())) <= 80
    assert len(outcome.err.splitlines()) <= 6


def test_index(place):
    argv = ("index", "shop")
    names = {
        folded(f"{place.root}/shop"): "<folder>",
        folded(f"{place.home}/assay/index/shop-") + r"(?:\s*[0-9a-f]){20}": "<index>",
        r"\d+\.\d\d s": "#.## s",
    }
    outcomes = see_at_widths(place, *argv)
    seen = {columns: one._replace(out=substituted(one.out, names)) for columns, one in outcomes.items()}
    check("terminal/index.txt", transcripts(place, argv, seen))


def test_init(place):
    """Drafts are written to a new folder for each width, because existing files are not overwritten."""
    outcomes = {}
    for columns in WIDTHS:
        (place.root / "new").mkdir()
        (place.root / "new" / "tax.py").write_text("def tax_rate(country):\n    return 0.19\n")
        outcomes[columns] = see(place, "init", "new", columns=columns)
        shutil.rmtree(place.root / "new")
    check("terminal/init.txt", transcripts(place, ("init", "new"), outcomes))


def test_cache(place):
    """Use a separate cache with entries of fixed size and age."""
    home = place.home.parent / "cached"
    with Store(home / "assay") as store:
        for number, size in enumerate((1500, 2500)):
            store.put("cells", f"key {number}", bytes(size))
        store.put("descriptions", "key", bytes(4000))
    write_tree(home / "assay" / "index", {"shop-0123/units": "x" * 12_345})
    for path in home.rglob("*"):
        os.utime(path, (1_700_000_000, 1_700_000_000))
    outcomes = see_at_widths(Workspace(place.root, home), "cache", env={"ASSAY_CACHE_LIMIT": "20kB"})
    check("terminal/cache.txt", transcripts(place, ("cache",), outcomes))


def test_engines_list_without_tools(place, tmp_path, monkeypatch):
    monkeypatch.delenv("PYCKLE_API_KEY", raising=False)
    argv = ("engines", "list")
    seen = transcripts(place, argv, see_at_widths(place, *argv, env={"PATH": str(tmp_path)}))
    check("terminal/engines_list.txt", substituted(seen, {rf"yes, {VERSION}": "yes, #####"}))


def test_engines_check(place):
    argv = ("engines", "check", "builtin", "shop", "--quiet")
    seen = transcripts(place, argv, see_at_widths(place, *argv))
    timings = {r"\d+\.\d\d s": "#.## s", r"\b\d\.\d{3}\b": "#.###", r"(Peak memory +).*": r"\1<masked>"}
    check("terminal/engines_check.txt", substituted(seen, timings))


def test_doctor_on_a_bare_machine(place, tmp_path):
    """No programs on PATH, and a standard library of one file."""
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "os.py").write_text("sep = '/'\n")
    argv, env = ("doctor",), {"PATH": str(tmp_path), "ASSAY_CACHE_DIR": "cache"}
    library = mock.patch("sysconfig.get_path", return_value=str(tmp_path / "lib"))
    with library, mock.patch("sys.executable", "python"):
        seen = transcripts(place, argv, see_at_widths(place, *argv, env=env))
    check("terminal/doctor.txt", substituted(seen, {r"3\.\d+\.\d+ at": "3.#.# at", r"\d+ GiB free": "# GiB free"}))


@pytest.mark.parametrize("name", ["score", "gate_fail", "gate_pass", "search", "explain"])
def test_colors_on_a_terminal(place, name):
    stream = Terminal()
    see_on(place, stream, *COMMANDS[name])
    seen = stream.getvalue()
    plain = re.sub(r"\033\[[\d;]*m", "", seen)
    # A styled cell keeps its padding. A piped search prints path:line:text.
    assert name == "search" or [line.rstrip() for line in plain.splitlines()] == [
        line.rstrip() for line in see(place, *COMMANDS[name]).out.splitlines()
    ]
    visible = re.sub(r"\033\[[\d;]*m(\s*)\033\[0m", r"\1", seen)  # rich versions style padding differently
    check(f"terminal/color/{name}.txt", visible.replace("\033", "\\e"))


@pytest.mark.parametrize("variables", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_terminals_without_color(place, variables):
    stream = Terminal()
    see_on(place, stream, *COMMANDS["gate_fail"], env=variables)
    assert stream.getvalue() == see(place, *COMMANDS["gate_fail"]).out


@pytest.mark.parametrize("name", ["score", "gate_fail", "show", "search"])
def test_ascii_stream(place, name):
    data = io.BytesIO()
    stream = io.TextIOWrapper(data, encoding="ascii")
    see_on(place, stream, *COMMANDS[name])
    stream.flush()
    check(f"terminal/ascii/{name}.txt", data.getvalue().decode("ascii"))
