"""`assay gold split` and `looks`: assignment to splits, access to sealed queries, and the access log."""

import difflib
import json
from pathlib import Path
from typing import Any

import pytest

import assay
from tests.contracts.calling import call
from tests.contracts.gold import Called, gold, isolate, transcripts, write_tree
from tests.contracts.snapshot import check, masked, substituted

#: Query id -> primary targets; modules and files differ in size, and two queries share a target across modules.
QUERIES = {
    "add": ["cart/add.py"],
    "add-twice": ["cart/add.py"],
    "total": ["cart/total.py", "tax/rates.py"],
    "rates": ["tax/rates.py"],
    "duty": ["tax/duty.py"],
    "open-till": ["till/drawer.py"],
    "shut-till": ["till/drawer.py"],
    "count-till": ["till/count.py"],
    "print": ["desk/print.py"],
    "scan": ["desk/scan.py"],
    "greet": ["desk/deep/greet.py"],
    "leave": ["desk/deep/leave.py"],
}
HARD = ("total", "duty", "count-till", "scan")
ENGINES = """\
def first(text, k):
    return ["cart/add.py", "tax/rates.py", "till/drawer.py"][:k]


def second(text, k):
    return ["desk/print.py", "desk/scan.py"][:k]
"""


def gold_set(**parts: str) -> str:
    entries = []
    for name, paths in QUERIES.items():
        tags = {"difficulty": "hard" if name in HARD else "easy"}
        if name in parts:
            tags["split"] = parts[name]
        entries.append(
            f"  - id: {name}\n"
            f"    retrieval: {{primary: [{', '.join(paths)}]}}\n"
            f"    cognitive: {{human: how does one {name}?}}\n"
            f"    tags: {{{', '.join(f'{key}: {value}' for key, value in tags.items())}}}\n"
        )
    return "assay: 1\nname: shop\ncorpus: {path: code}\nqueries:\n" + "".join(entries)


@pytest.fixture
def world(tmp_path, monkeypatch) -> Path:
    root = isolate(monkeypatch, tmp_path)
    paths = {path for paths in QUERIES.values() for path in paths}
    write_tree(root / "code", {path: f"def {Path(path).stem}():\n    return 1\n" for path in paths})
    write_tree(root, {"gold.yaml": gold_set(), "contract_engines.py": ENGINES})
    monkeypatch.syspath_prepend(str(root))
    return root


def parts(path: str = "gold.yaml") -> dict[str, list[str]]:
    """Return the query ids in each split."""
    found: dict[str, list[str]] = {}
    for query in assay.load_gold(path).golds[0].queries:
        found.setdefault(query.tags.get("split", "none"), []).append(query.id)
    return found


@pytest.mark.parametrize("by", ["repository", "module", "file", "query"])
def test_assignment_by_seed(world, by):
    outcomes: dict[str, Any] = {}
    for seed in ("0", "1"):
        write_tree(world, {"gold.yaml": gold_set()})
        called = gold("split", "gold.yaml", "--by", by, "--seed", seed, "--json")
        outcomes[f"seed {seed}"] = {"parts": parts(), **called.data} if called.code == 0 else called.err
    check(f"gold_split/by-{by}.json", outcomes)


def test_shares_and_depth(world):
    outcomes: dict[str, Any] = {}
    for flags in (["--sealed", "0"], ["--dev", "0.8"], ["--depth", "1"], ["--by", "query", "--test", "0"]):
        write_tree(world, {"gold.yaml": gold_set()})
        called = gold("split", "gold.yaml", *flags, "--quiet")
        outcomes[" ".join(flags)] = parts() if called.code == 0 else called.err
    check("gold_split/shares.json", outcomes)


def test_text_and_file(world):
    before = gold_set()
    called = gold("split", "gold.yaml")
    after = Path("gold.yaml").read_text()
    changes = difflib.unified_diff(before.splitlines(), after.splitlines(), "before", "after", lineterm="", n=0)
    check("gold_split/text.txt", "\n".join([called.transcript, *changes]))


def test_later_divisions(world):
    assert gold("split", "gold.yaml", "--by", "file", "--quiet").code == 0
    first = parts()
    kept = gold("split", "gold.yaml", "--seed", "9", "--json").data
    assert (parts(), kept["kept"], kept["by"]) == (first, len(QUERIES), "file")
    with Path("gold.yaml").open("a") as file:
        file.write("  - {id: new, retrieval: {primary: [tax/duty.py]}, cognitive: {human: who pays duty?}}\n")
    grown = gold("split", "gold.yaml", "--json").data
    assert grown["kept"] == len(QUERIES)
    [part] = [name for name, queries in parts().items() if "new" in queries]
    assert "duty" in parts()[part]  # shares a target with a query that was already assigned
    calls = [
        ("split", "gold.yaml", "--by", "module"),
        ("split", "gold.yaml", "--by", "query"),
        ("split", "gold.yaml", "--by", "module", "--force"),
    ]
    check("gold_split/later.txt", transcripts(calls))


def run(*more: str) -> Called:
    engines = [f"--engine={name}=python:contract_engines:{name}" for name in ("first", "second")]
    arguments = ["run", "--gold", "gold.yaml", "--no-references", "--quiet", "--baseline=second", *engines, *more]
    return Called(*call(arguments, Path.cwd(), home=Path.cwd().parent, env=READER))


#: Sets the user name that the access log records.
READER = {"LOGNAME": "ann", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": "/dev/null"}
SEALED = {"add": "dev", "rates": "dev", "total": "test", "scan": "sealed", "greet": "sealed"}


def asked(results: str) -> list[str]:
    """Return the ids of the queries that a run includes."""
    suite = assay.load_gold("gold.yaml").golds[0]
    lines = Path(results, "engines", "first.jsonl").read_text().splitlines()
    rows = {row["query"] for row in map(json.loads, lines) if "query" in row}
    return [query.id for query in suite.queries if query.id in rows]


def without_times(text: str) -> str:
    return substituted(text, {r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00": "2000-01-01T00:00:00.000+00:00"})


def test_sealed_queries_are_asked_only_by_name_and_every_look_is_logged(world):
    write_tree(world, {"gold.yaml": gold_set(**SEALED)})
    queries = {}
    for name, flags in {"default": [], "dev": ["--split", "dev"], "sealed": ["--split", "sealed"]}.items():
        called = run(*flags, "--out", name)
        assert called.code == 0, called.err
        queries[name] = asked(name)
        assert Path("gold.looks.jsonl").exists() == (name == "sealed")
    check("gold_split/asked.json", queries)
    score = Called(*call(["score", "sealed", "--json"], world, home=world.parent, env=READER))
    assert score.code == 0
    log = [json.loads(line) for line in Path("gold.looks.jsonl").read_text().splitlines()]
    check("gold_split/looks.json", masked(log, ["when"]))
    shown = [gold("access-log", "gold.yaml", *flags, env=READER).transcript for flags in ([], ["--json"])]
    check("gold_split/looks.txt", without_times("\n".join(shown)))
    divided = gold("split", "gold.yaml", "--by", "query", "--force", env=READER).transcript
    again = gold("access-log", "gold.yaml", env=READER).transcript
    check("gold_split/divided-after-a-look.txt", without_times(f"{divided}\n{again}"))


def test_refused_looks(world):
    write_tree(world, {"gold.yaml": gold_set(**SEALED)})
    assert run("--split", "sealed").code == 0
    calls = {
        "gold pool": ["gold", "pool", "gold.yaml", "results"],
        "gold mine": ["gold", "mine", "code", "--set", "gold.yaml", "--adversaries", "--run", "results"],
        "explain": ["explain", "--run", "results", "--missed"],
        "tag rule": ["run", "--gold", "gold.yaml", "--engine", "keywords", "--tag", "split=dev:11-12"],
        "unknown part": ["run", "--gold", "gold.yaml", "--engine", "keywords", "--split", "seald"],
        "tune": ["tune", "builtin", "--gold", "gold.yaml", "--param", "search.stem.files=0,1", "--split", "sealed"],
        "looks of a folder": ["gold", "access-log", "code"],
        "looks of no file": ["gold", "access-log", "none.yaml"],
        "split without a set": ["gold", "split", "none.yaml"],
        "split of nothing": ["gold", "split", "gold.yaml", "--dev", "0", "--test", "0", "--sealed", "0"],
        "split by depth": ["gold", "split", "gold.yaml", "--depth", "0"],
        "spread": ["gold", "split", "gold.yaml", "--sd", "0"],
    }
    refused = {}
    for name, arguments in calls.items():
        outcome = Called(*call([*arguments, "--quiet"], world, home=world.parent, env=READER))
        refused[name] = f"# {name}\n{outcome.transcript}"
    write_tree(world, {"misspelt.yaml": gold_set(**{**SEALED, "scan": "Sealed"}), "gold.looks.jsonl": "{broken\n"})
    misspelt = ["run", "--gold", "misspelt.yaml", "--engine", "keywords", "--quiet"]
    refused["misspelt"] = f"# misspelt part\n{Called(*call(misspelt, world, home=world.parent)).transcript}"
    refused["broken log"] = f"# broken log\n{gold('looks', 'gold.yaml').transcript}"
    check("gold_split/refused.txt", "\n".join(refused.values()).replace(str(world), "."))
