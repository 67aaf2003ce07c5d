"""The `--json` output of every command that accepts it."""

import argparse
import json
import re
import subprocess
import sysconfig
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest

import assay
from assay.cli.main import build_parser
from tests.conftest import write_tree
from tests.contracts.calling import Workspace, isolated_environment
from tests.contracts.inputs import CONFIG
from tests.contracts.layout import laid_out
from tests.contracts.snapshot import RECORDED, RECORDING, check, masked, shape, substituted

MACHINE = ["assay", "environment", "fingerprint", "machine", "cores", "seconds", "index_seconds"]

# Commands that accept --json and have no contract here.
WITHOUT_CONTRACT = {
    "model install": "needs a network; the record of `model list`",
    "model remove": "the record of `model list`",
    "model path": "the record of `model list`",
    "gold": "needs one of its sub-commands",
    "mcp": "speaks the Model Context Protocol on stdout until the client disconnects",
    "serve": "prints its address and serves until stopped",
    "demo": "runs the whole standard library; it prints the document of `assay run`",
    "help": "prints the help text of a command",
    "completion": "prints a script for a shell",
    "train": "tests/training records it: it needs the train extra and repositories to train on",
}
# Documents of docs/reference/json.md that no contract here records.
SCHEMAS_ELSEWHERE = {
    "assay/adapt/2": "tests/training/test_adapt.py",
    "assay/train/2": "tests/training/test_train.py",
    "assay/train-encoder/1": "tests/training/test_encoder.py",
    "assay/serve/1": "assay serve",
    "assay/ask/2": "the pages of assay serve",
    "assay/runs/2": "the pages of assay serve",
    "assay/page/1": "the data embedded in report.html",
    "assay/rows/1": "test_run_folder.py",
    "assay/history/1": "tests/cli/test_own_repository.py",
    "assay/timings/1": "test_run_folder.py",
}

COVERED: dict[str, set[str]] = {}


def covers(*commands: str) -> Callable[[Callable], Callable]:
    """Declare which commands a test calls with --json; the `documents` fixture rejects others."""

    def declare(test: Callable) -> Callable:
        COVERED[test.__name__] = set(commands)
        return test

    return declare


def every_command(parser: argparse.ArgumentParser, name: str = "") -> Iterable[tuple[str, argparse.ArgumentParser]]:
    """Yield the name and parser of every command and subcommand."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, sub in action.choices.items():
                yield f"{name} {word}".strip(), sub
                yield from every_command(sub, f"{name} {word}".strip())


def accepts_json(parser: argparse.ArgumentParser) -> bool:
    return "--json" in parser._option_string_actions


def command_of(argv: Iterable[str]) -> str:
    """Return the command that a command line calls."""
    words = [*argv]
    known = {name for name, _ in every_command(build_parser())}
    return " ".join(words[:2]) if " ".join(words[:2]) in known else words[0]


class Documents:
    """Runs commands with --json and compares their output with the recorded documents."""

    def __init__(self, workspace: Workspace, declared: set[str]) -> None:
        self.workspace, self.declared, self.called = workspace, declared, set[str]()

    def printed(self, *argv: str, code: int = 0) -> dict[str, Any]:
        """Run a command and return the single document that it prints."""
        command = command_of(argv)
        assert command in self.declared, f"{command} is missing from @covers"
        self.called.add(command)
        outcome = self.workspace.call(*argv, "--json")
        assert outcome.code == code, outcome.err
        found = json.loads(self.without_places(outcome.out))
        assert next(iter(found)) == "schema"
        return found

    def recorded(
        self,
        name: str,
        *argv: str,
        code: int = 0,
        hidden: Iterable[str] = (),
        nullable: Iterable[str] = (),
        shapes: Iterable[str] = (),
    ) -> dict[str, Any]:
        """Run a command and check its document, with `hidden` keys masked and `shapes` reduced to keys and types."""
        found = self.printed(*argv, code=code)
        known = masked(found, [*MACHINE, *hidden], nullable=nullable)
        reduced = {key: shape(value) if key in {*shapes} else value for key, value in known.items()}
        check(f"json_output/{name}.json", laid_out(reduced))
        return found

    def without_places(self, text: str) -> str:
        return substituted(
            text,
            {
                re.escape(str(self.workspace.root)): "<root>",
                re.escape(str(self.workspace.home)): "<home>",
                re.escape(str(Path(assay.__file__).parent)): "<package>",
                r'"code": "[0-9a-f]{16}"': '"code": "<digest>"',
                r"(path:|index/)(\w+)-[0-9a-f]{6,}": r"\1\2-<digest>",
            },
        )


@pytest.fixture
def documents(request, scratch):
    made, failures = Documents(scratch, COVERED[request.function.__name__]), request.session.testsfailed
    yield made
    if request.session.testsfailed == failures:
        assert made.called == made.declared


def test_every_command_that_accepts_json_has_a_contract():
    accepting = {name for name, parser in every_command(build_parser()) if accepts_json(parser)}
    contracts = set().union(*COVERED.values())
    assert contracts | {*WITHOUT_CONTRACT} == accepting
    assert not contracts & {*WITHOUT_CONTRACT}


@covers("search", "explain", "related", "index")
def test_search(documents):
    documents.recorded("index", "index", "shop", hidden=["bytes"])
    documents.recorded("search", "search", "total of all items", "shop", "-k", "3", hidden=["score"])
    spans = ["--per", "span", "--no-snippets", "--path", "shop/*"]
    documents.recorded("search-spans", "search", "total of all items", "shop", "-k", "3", *spans, hidden=["score"])
    documents.recorded("search-config", "search", "--show-config")
    documents.recorded("related", "related", "shop/cart.py:10", "shop")
    asked = ["total of all items", "shop", "--expect", "shop/retry.py", "-k", "3"]
    documents.recorded("explain", "explain", *asked, shapes=["candidates"], hidden=["score", "change"])
    documents.recorded("explain-run", "explain", "--run", "results", "--missed", shapes=["stages"])


@covers("engines", "engines list", "engines show", "engines check", "engines query")
def test_engines(documents):
    tool = ["about", "docs", "home", "install", "installed", "missing", "unset", "verified", "version"]
    found = documents.recorded("engines", "engines", hidden=tool)
    assert documents.printed("engines", "list") == found
    documents.recorded("engines-show", "engines", "show", "ripgrep-literal", hidden=["toml"])
    documents.recorded("engines-query", "engines", "query", "keywords", "cart total", "shop", "-k", "3")
    sizes = ["startup_seconds", "index_bytes"]
    documents.recorded("engines-check", "engines", "check", "keywords", "shop", hidden=sizes, nullable=["peak_bytes"])


@covers("init")
def test_init(documents):
    documents.recorded("init", "init", "shop")


@covers("run", "merge", "score", "report")
def test_run(documents, finished_run):
    """`run`, `merge` and `score` print the contents of results.json."""
    documents.recorded("run-dry", "run", "--dry-run", hidden=["about"])
    root = documents.workspace.root
    ran = documents.printed("run", "--out", "again")
    written = json.loads(documents.without_places((root / "again" / "results.json").read_text(encoding="utf-8")))
    assert ran == written
    scored = documents.printed("score", "again")
    assert without(scored, "conditions") == without(written, "conditions")
    for shard in ("1/2", "2/2"):
        assert documents.workspace.call("run", "--shard", shard, "--out", "parts", "--json").out == ""
    merged = documents.printed("merge", "parts", "--out", "merged")
    assert without(merged, "conditions") == without(written, "conditions")
    names = ["schema", "suite", "k", "measures", "leader", "challenger", "reading", "warnings", "skipped", "tables"]
    others = [key for key in scored if key not in names]
    documents.recorded("score", "score", "again", "--measure", "RR@5", "--primary", "RR@5", shapes=others)
    documents.recorded("report", "report", "again", hidden=["bytes"])


def without(document, key):
    return {name: value for name, value in document.items() if name != key}


@covers("run", "gate")
def test_repeats(documents):
    """One engine and the smaller gold set keep both runs small."""
    asked = ["--gold", "gold/library.yaml", "--engine", "keywords", "--no-references", "--baseline", "keywords"]
    documents.recorded("run-repeat", "run", "--repeat", "2", "--out", "repeats", *asked)
    documents.recorded("gate-repeats", "gate", "repeats", "--require", "nDCG@10>=0.1")


@covers("run")
def test_timed_run(documents):
    """Timings are recorded by key and type; an untimed run has null instead."""
    asked = ["--gold", "gold/library.yaml", "--engine", "keywords", "--engine", "flaky", "--no-references"]
    (documents.workspace.root / "timed.toml").write_text(CONFIG.replace("times = false\njobs = 1\n", "times = true\n"))
    found = documents.printed("run", "--config", "timed.toml", "--out", "timed", *asked)
    lines = (documents.workspace.root / "timed" / "engines" / "flaky.jsonl").read_text(encoding="utf-8").splitlines()
    header, *records = [json.loads(line) for line in lines]
    parts = {"spending": found["spending"], "conditions": found["conditions"], "header": header, "records": records}
    # Null if the system does not report it, or if a time is too short for a ratio.
    unsure = ["pinned", "peak_bytes", "index_ratio", "warm_ratio"]
    check("json_output/timed-run.json", laid_out(shape(masked(parts, ["environment"], nullable=unsure))))


@covers("compare", "show", "gate", "plan")
def test_comparing(documents):
    documents.recorded("compare", "compare", "results", shapes=["secondary", "means"])
    lexical = ["--set", 'engines.builtin.search.dense.model=""', "--engine", "builtin", "--baseline", "builtin"]
    assert documents.workspace.call("run", *lexical, "--no-references", "--out", "lexical", "--quiet").code == 0
    two = ["results", "lexical", "--engine", "builtin"]
    documents.recorded("compare-two-runs", "compare", *two, shapes=["secondary", "means"])
    csv = ["results/per-query.csv", "results/per-query.csv", "--engine", "flaky", "--primary", "RR@10"]
    documents.recorded("compare-csv", "compare", *csv, shapes=["means"])
    documents.recorded("show", "show", "results", "cart-total", "--engines", "keywords", "flaky")
    documents.recorded("plan", "plan", "--detect", "0.1", "--sd", "0.3")
    documents.recorded("plan-of-a-run", "plan", "results", "--detect", "0.1", "--baseline", "random")
    documents.recorded("gate", "gate", "results", code=4, shapes=["comparison"])
    steady = ["--engine", "keywords", "--engine", "builtin", "--no-references", "--gold", "gold/library.yaml"]
    assert documents.workspace.call("run", *steady, "--out", "steady", "--quiet").code == 0
    documents.recorded("gate-baseline-written", "gate", "steady", "--write-baseline", "baseline.json")
    documents.recorded("gate-against", "gate", "steady", "--against", "baseline.json", shapes=["comparison"])
    text = (documents.workspace.root / "baseline.json").read_text(encoding="utf-8")
    baseline = json.loads(documents.without_places(text))
    check("json_output/baseline-file.json", laid_out(masked(baseline, [*MACHINE, "answers"])))


@covers("ablate", "tune")
def test_tuning(documents):
    claimed = ["--gold", "gold/library.yaml", "--jobs", "1"]
    documents.recorded("ablate", "ablate", "builtin", *claimed, "--only", "names", "--out", "ablated", shapes=["rows"])
    documents.recorded(
        "tune", "tune", "builtin", "--param", "search.stem.files=0.0,0.5", "--out", "tuned", "--jobs", "1"
    )


@covers("ledger", "ledger list", "ledger add", "ledger show", "ledger verify")
def test_ledger(documents):
    added = ["results", "--engine", "flaky", "--title", "stems of files", "--by", "ada"]
    entry = documents.recorded("ledger-entry", "ledger", "add", *added)
    assert documents.printed("ledger", "show", "1") == entry
    listed = documents.printed("ledger")
    assert listed.pop("entries") == [without(entry, "schema")]
    check("json_output/ledger.json", laid_out(listed))
    assert documents.printed("ledger", "list") == documents.printed("ledger")
    documents.recorded("ledger-verify", "ledger", "verify")


@covers("audit")
def test_audit(documents):
    checks = ["--only", "answers,prefix,depth", "--queries", "2", "--repeats", "1"]
    documents.recorded("audit", "audit", "random", "shop", *checks)


@covers("cache", "cache show", "cache prune", "cache verify")
def test_cache(documents, tmp_path):
    """Use a separate cache, so that its numbers do not depend on other tests."""
    documents.workspace = Workspace(documents.workspace.root, tmp_path / "home")
    asked = ["--engine", "builtin", "--no-references", "--baseline", "builtin"]
    assert documents.workspace.call("run", "--quiet", "--out", "cached", *asked).code == 0
    sizes = ["bytes", "artifacts", "oldest", "newest", "share", "left"]
    documents.recorded("cache", "cache", hidden=sizes)
    documents.printed("cache", "show")
    documents.recorded("cache-verify", "cache", "verify")
    documents.recorded("cache-prune-dry", "cache", "prune", "--to", "0", "--dry-run", hidden=sizes)
    documents.recorded("cache-prune", "cache", "prune", "--to", "0", hidden=sizes)


@covers("model", "model list")
def test_models(documents):
    found = documents.recorded("models", "model")
    assert documents.printed("model", "list") == found


@covers("doctor")
def test_doctor(documents, tmp_path, monkeypatch):
    """Use a standard library of one file: checking the real one takes seconds."""
    library = write_tree(tmp_path / "stdlib", {"os.py": "name = 'posix'\n"})
    real = sysconfig.get_path
    monkeypatch.setattr(
        sysconfig, "get_path", lambda name, *more: str(library) if name == "stdlib" else real(name, *more)
    )
    documents.recorded("doctor", "doctor", hidden=["state", "detail", "hint"])


@covers("gold lint", "gold access-log", "gold convert", "gold split", "gold synth", "gold pool", "run")
def test_gold_sets(documents):
    documents.recorded("gold-lint", "gold", "lint", "gold/shop.yaml")
    documents.recorded("gold-convert", "gold", "convert", "gold/shop.yaml", "out/shop.csv", "--to", "octocode")
    documents.recorded("gold-synth", "gold", "synth", "shop", "--out", "synth", "--count", "5")
    pooled = documents.recorded("gold-pool", "gold", "pool", "gold/shop.yaml", "results", "--limit", "2")
    queued = documents.printed("gold", "pool", "gold/shop.yaml", "results", "--limit", "2", "--queue")
    assert without(queued, "queued") == without(pooled, "queued")
    check("json_output/gold-pool-queued.json", laid_out(queued["queued"]))
    documents.recorded("gold-split", "gold", "split", "gold/shop.yaml", "--by", "file", "--force", "--seed", "3")
    documents.recorded("gold-access-log-none", "gold", "access-log", "gold/shop.yaml")
    asked = ["--gold", "gold/shop.yaml", "--split", "sealed", "--engine", "keywords", "--no-references"]
    documents.printed("run", *asked, "--baseline", "keywords", "--out", "sealed")
    documents.recorded("gold-access-log", "gold", "access-log", "gold/shop.yaml", hidden=["when", "who"])


@covers("gold mine", "gold review", "gold agreement")
def test_review(documents):
    mined = documents.recorded(
        "gold-mine",
        *("gold", "mine", "shop", "--set", "gold/new.yaml", "--count", "3", "--from", "history,docs,comments"),
        hidden=["on"],
    )
    one, two, three = [item["id"] for item in mined["items"]]
    review = ["gold", "review", "gold/new.yaml", "--corpus", "shop"]
    documents.recorded("gold-review-list", *review, "--reviewer", "ada", "--list")
    votes = [f"--vote={one}=accept", f"--vote={two}=reject", f"--vote={three}=accept", "--reason", "read it"]
    documents.recorded("gold-review-vote", *review, "--reviewer", "ada", *votes)
    votes = [f"--vote={one}=accept", f"--vote={two}=reject", f"--vote={three}=reject", "--reason", "read it too"]
    documents.printed(*review, "--reviewer", "bob", *votes)
    documents.recorded("gold-review-status", *review, "--status")
    documents.recorded("gold-agreement", "gold", "agreement", "gold/new.yaml")
    documents.recorded("gold-review-disputed", *review, "--reviewer", "cy", "--adjudicate", hidden=["on"])
    documents.recorded(
        "gold-review-decide", *review, "--reviewer", "cy", f"--decide={three}=accept", "--reason", "two of three"
    )
    documents.recorded("gold-review-accept", *review, "--accept")
    documents.recorded("gold-review-queue", "gold", "review", "gold/shop.yaml", "--queue-labels")


def git(folder: Path, home: Path, *argv: str) -> str:
    """Run git with fixed names and dates, so that commit ids are reproducible."""
    who = {f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in WHO.items()}
    env = {**isolated_environment(home), **who, "GIT_CONFIG_NOSYSTEM": "1"}
    done = subprocess.run(["git", *argv], cwd=folder, env=env, check=True, capture_output=True, text=True)
    return done.stdout.strip()


WHO = {"NAME": "Ada", "EMAIL": "ada@example.org", "DATE": "2023-11-14T12:00:00Z"}


@covers("gold reanchor")
def test_reanchor(documents):
    root, home = documents.workspace.root, documents.workspace.home
    git(root / "library", home, "init", "-q", "-b", "main")
    git(root / "library", home, "add", ".")
    git(root / "library", home, "commit", "-q", "-m", "Lend books")
    rev = git(root / "library", home, "rev-parse", "HEAD")
    fines = root / "library" / "library" / "fines.py"
    fines.write_text('"""What a late book costs."""\n\nRATE = 0.2\n\n\n' + fines.read_text().partition("\n\n\n")[2])
    git(root / "library", home, "commit", "-q", "-a", "-m", "Name the rate")
    text = (root / "gold" / "library.yaml").read_text()
    at = text.replace("{path: ../library}", f"{{git: ../library, rev: {rev}}}").replace(
        "fines.py::fine", "fines.py:4-6"
    )
    (root / "gold" / "library.yaml").write_text(at)
    documents.recorded("gold-reanchor", "gold", "reanchor", "gold/library.yaml", "--to", "main", "--all")
    documents.recorded("gold-reanchor-digest", "gold", "reanchor", "gold/library.yaml", "--digest", "--in-place")


@covers("run", "gate")
def test_errors(documents):
    documents.recorded("error", "run", "--baseline", "nobody", code=2)
    documents.recorded("error-of-gate", "gate", "results", "--against", "nowhere.json", code=2)
    gold = documents.workspace.root / "gold" / "library.yaml"
    gold.write_text(gold.read_text().replace("fines.py::fine", "fines.py::fee"))
    documents.recorded("error-with-line", "run", "--gold", "gold/library.yaml", code=2)


@pytest.mark.skipif(RECORDING, reason="other workers are still writing the recorded files")
def test_every_documented_schema_has_a_contract():
    page = (Path(__file__).parents[2] / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `(assay/[a-z-]+/\d+)` \|", page, re.MULTILINE))
    found = set[str]()
    for path in (RECORDED / "json_output").glob("*.json"):
        found |= set(re.findall(r'"schema": "(assay/[a-z-]+/\d+)"', path.read_text(encoding="utf-8")))
    assert found | {*SCHEMAS_ELSEWHERE} == documented
