"""`assay audit` and `assay engines query` as a user meets them."""

import json
import shlex
import sys
from pathlib import Path

import pytest

from assay.cli.main import main
from tests.audit.conftest import HERE

QUICK = ["--queries", "3", "--repeats", "1", "--quiet"]

#: A tool that takes whatever begins with a dash for an option, as most do that are called without `--`.
TOOL = """
import argparse, os, sys
parser = argparse.ArgumentParser()
parser.add_argument("-k", type=int, default=10)
parser.add_argument("query")
args = parser.parse_args()
words = set(args.query.lower().split())
paths = sorted(os.path.join(place, name)[2:] for place, _, names in os.walk(".") for name in names)
ranked = sorted(paths, key=lambda path: (-len(words & set(open(path).read().lower().split())), path))
print("\\n".join(ranked[: args.k]))
"""


def call(capsys, *arguments: str) -> tuple[int, str, str]:
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def specimen_table(shop: Path) -> Path:
    """Name specimens in the shop's assay.toml."""
    names = ("Clean", "Failing", "Shallow")
    tables = [f'[engines.{name.lower()}]\nkind = "python"\ntarget = "specimens:{name}"\n' for name in names]
    folder = json.dumps(str(HERE))
    (shop / "assay.toml").write_text("\n".join(f"{table}folder = {folder}\n" for table in tables))
    return shop


def test_audit_command_writes_its_files_and_prints_the_table(specimen_table, capsys):
    code, out, _ = call(capsys, "audit", "shallow", ".", "--only", "prefix,depth", "--out", "found", *QUICK)
    assert code == 0
    assert "not a prefix of top-10" in out
    assert {path.name for path in Path("found").iterdir()} == {".assayignore", "audit.json", "audit.md"}


def test_audit_command_with_a_gold_set_asks_its_queries_and_looks_for_its_targets(specimen_table, capsys):
    code, out, _ = call(capsys, "audit", "builtin", "--gold", "gold.yaml", "--only", "reachability", "--json", *QUICK)
    data = json.loads(out)
    assert code == 0
    assert [finding["severity"] for finding in data["findings"]] == ["fine"]
    assert "all chunks of the engine are known" in data["findings"][0]["sentence"]
    assert all(question["origin"].startswith("query ") for question in data["questions"])


def test_audit_command_uses_the_gold_set_of_the_configuration_unless_a_corpus_is_named(specimen_table, capsys):
    file = specimen_table / "assay.toml"
    file.write_text('[run]\ngold = "gold.yaml"\n' + file.read_text())
    arguments = ("audit", "clean", "--only", "answers,reachability", "--json", *QUICK)
    _, out, _ = call(capsys, *arguments)
    data = json.loads(out)
    assert all(question["origin"].startswith("query ") for question in data["questions"])
    assert "targets of" in data["findings"][-1]["sentence"]
    assert "--gold gold.yaml" in data["findings"][-1]["commands"][-1]
    _, out, _ = call(capsys, arguments[0], arguments[1], ".", *arguments[2:])
    assert not any(question["origin"].startswith("query ") for question in json.loads(out)["questions"])


@pytest.mark.parametrize(
    "only", [("--only", "determinism,update,filters"), pytest.param((), marks=pytest.mark.nightly, id="all")]
)
def test_audit_of_builtin_on_a_small_repository_finds_nothing_amiss(shop, capsys, only):
    code, out, _ = call(capsys, "audit", "builtin", ".", "--gold", "gold.yaml", *only, "--json", *QUICK)
    found = {f"{f['check']}/{f['law']}": f["severity"] for f in json.loads(out)["findings"]}
    assert code == 0
    assert set(found.values()) <= {"fine", "not applicable"}, found
    assert found["determinism/hash seed"] == found["update/delete"] == found["filters/paths: nothing passes"] == "fine"


def test_audit_of_an_engine_that_fails_on_everything_exits_4(specimen_table, capsys):
    code, out, _ = call(capsys, "audit", "failing", ".", "--only", "answers", "--json", *QUICK)
    assert code == 4
    assert json.loads(out)["findings"][0]["sentence"] == "3 of 3 ordinary queries failed"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["builtin", "--only", "prefixes"], "did you mean 'prefix'?"),
        (["builtin", "--queries", "0"], "queries: expected 1 or more, got 0"),
        (["builtin", "--seed", "-1"], "seed: expected 0 or more, got -1"),
        (["builtin", "nowhere"], "does not exist"),
        (["bultin"], "bultin"),
        (["builtin", "--out", "gold.yaml"], "expected a directory, got a file"),
    ],
)
def test_audit_refuses_bad_input_with_2(arguments, said, shop, capsys):
    code, _, err = call(capsys, "audit", *arguments)
    assert code == 2
    assert said in err


def test_audit_of_a_tool_finds_queries_taken_for_options(shop, tmp_path, capsys):
    tool = tmp_path / "tool.py"
    tool.write_text(TOOL)
    spec = f"command:{shlex.quote(sys.executable)} -IS {shlex.quote(str(tool))} -k {{k}} {{query}}"
    code, out, _ = call(capsys, "audit", spec, ".", "--only", "odd", "--queries", "1", "--json", "--quiet")
    found = {f["law"]: f["sentence"] for f in json.loads(out)["findings"] if f["severity"] == "broken law"}
    assert code == 0
    assert {"--help", "--version", "-rf", "two dashes"} <= set(found)
    assert found["--help"].endswith("was parsed as an option")


@pytest.mark.nightly
def test_audit_of_the_same_tool_called_with_two_dashes_is_fine(shop, tmp_path, capsys):
    tool = tmp_path / "tool.py"
    tool.write_text(TOOL)
    spec = f"command:{shlex.quote(sys.executable)} -IS {shlex.quote(str(tool))} -k {{k}} -- {{query}}"
    code, out, _ = call(capsys, "audit", spec, ".", "--only", "odd,paths", "--queries", "1", "--json", "--quiet")
    assert code == 0
    assert {f["severity"] for f in json.loads(out)["findings"]} <= {"fine", "not applicable"}


def test_command_of_a_finding_shows_it_again(specimen_table, capsys):
    _, out, _ = call(capsys, "audit", "shallow", ".", "--only", "prefix", "--json", *QUICK)
    finding = next(f for f in json.loads(out)["findings"] if f["severity"] == "broken law")
    asked = [shlex.split(command)[1:] for command in finding["commands"]]
    short, long = (json.loads(call(capsys, *words, "--json")[1])["hits"] for words in asked[:2])
    assert [hit["path"] for hit in short] != [hit["path"] for hit in long[: len(short)]]
    assert call(capsys, *asked[2], "--quiet")[0] == 0


def test_ask_prints_the_ranking_and_takes_filters(shop, capsys):
    code, out, _ = call(capsys, "engines", "query", "builtin", "tax rate", ".", "-k", "2")
    assert code == 0
    assert "shop/tax.py" in out
    code, out, _ = call(capsys, "engines", "query", "builtin", "tax rate", "--paths=shop/cart.py", "--json")
    assert {hit["path"] for hit in json.loads(out)["hits"]} <= {"shop/cart.py"}
    code, _, err = call(capsys, "engines", "query", "keywords", "tax", "--language", "python")
    assert code == 2
    assert "cannot filter by languages" in err


def test_ask_takes_a_query_that_looks_like_an_option(shop, capsys):
    code, out, _ = call(capsys, "engines", "query", "-k", "1", "--json", "--", "builtin", "--help", ".")
    assert code == 0
    assert json.loads(out)["query"] == "--help"


def test_ask_tells_a_failure_with_4(specimen_table, capsys):
    code, _, err = call(capsys, "engines", "query", "failing", "anything")
    assert code == 4
    assert "no answer today" in err
