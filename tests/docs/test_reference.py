"""Docs cannot rot: pages made from the program equal the program, and the README's commands exist."""

import json
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from assay.cli.main import build_parser, main
from assay.experiment import read_run
from docs.generate import DIR, PAGES
from tests.docs.running import pages

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PAGES)
def test_reference_page_equals_the_program(name):
    assert (DIR / name).read_text(encoding="utf-8") == PAGES[name](), "run `make docs`"


def readme_commands() -> list[str]:
    blocks = re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL)
    lines = [line.partition("  #")[0].strip() for block in blocks for line in block.splitlines()]
    return [line for line in lines if line.startswith("assay ")]


def test_readme_shows_commands_to_check():
    assert len(readme_commands()) >= 8


@pytest.mark.parametrize("command", readme_commands())
def test_readme_command_parses(command):
    build_parser().parse_args(shlex.split(command)[1:])


@pytest.mark.nightly
def test_readme_python_example_runs(shop):
    example = re.search(r"```python\n(.*?)```", README, flags=re.DOTALL)
    assert example is not None
    done = subprocess.run([sys.executable, "-c", example.group(1)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.nightly
def test_first_five_minutes_run_as_written(shop, capsys):
    (shop / "gold.yaml").unlink()
    after = ("compare results --all-pairs", "gate results --require Hit@5>=0.1")
    for command in ("init", "run", *after):
        assert main([*command.split(), "--quiet"]) == 0, capsys.readouterr().err


@pytest.mark.nightly
def test_readme_comparisons_run_as_written(shop, capsys):
    (block,) = [one for one in re.findall(r"```bash\n(.*?)```", README, flags=re.DOTALL) if "compare before.csv" in one]
    commands = [shlex.split(line, comments=True) for line in block.splitlines()]
    for name, values in {"before": (0.2, 0.4, 0.1), "after": (0.3, 0.5, 0.4)}.items():
        rows = "".join(f"q{at},{value}\n" for at, value in enumerate(values))
        (shop / f"{name}.csv").write_text(f"query,value\n{rows}")
    (shop / "gold.yaml").unlink()
    assert main(["init", "--quiet"]) == 0
    assert main(["run", "--quiet"]) == 0
    for words in commands:
        code = main([*words[1:], "--quiet"])
        said = capsys.readouterr().err
        assert code in ((0, 1) if "--require" in words else (0,)), (words, said)
    assert len(commands) >= 6


def test_readme_shows_the_demo_of_the_set_that_ships():
    from assay import load_gold

    assert f"{len(load_gold('stdlib').golds[0].queries)} queries: " in README


def test_readme_targets_exist_in_the_makefile():
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in set(re.findall(r"^make (\w+)", README, flags=re.MULTILINE)):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_readme_gold_example_is_a_gold_file(tmp_path):
    from assay import load_gold

    example = re.search(r"```yaml\n(.*?)```", README, flags=re.DOTALL)
    assert example is not None
    (tmp_path / "gold.yaml").write_text(example.group(1), encoding="utf-8")
    gold = load_gold(tmp_path / "gold.yaml").golds[0]
    assert gold.queries[0].adversaries[0].confusion == "retries jobs, never requests"


ENGINES = (DIR / "reference" / "engines.md").read_text(encoding="utf-8")


def test_page_of_engines_names_every_placeholder_there_is():
    names = re.findall(r"^\| `\{(\w+(?::[A-Z]+)?)\}` \|", ENGINES, flags=re.MULTILINE)
    known = {"query", "k", "root", "here", "store", "config", "preset", "id", "path", "language", "env:NAME"}
    known |= {"python", "python:PROGRAM"}
    assert set(names) == known
    assert len(names) == len(known)


def test_page_of_engines_names_settings_that_there_are():
    (sentence,) = re.findall(r"^Templates are (.*?)\. They are filled", ENGINES, flags=re.MULTILINE | re.DOTALL)
    kinds = re.findall(
        r"^## (\w+)\n(.*?)(?=^## |\Z)", ENGINES.partition("\n# Kinds\n")[2], flags=re.MULTILINE | re.DOTALL
    )
    settings = {kind: set(re.findall(r"^\| `(\w+)` \|", text, flags=re.MULTILINE)) for kind, text in kinds}
    for kind, part in zip(("command", "http", "mcp"), sentence.split(";"), strict=True):
        named = set(re.findall(r"`(\w+)`", part))
        assert named
        assert named <= settings[kind]


def test_relative_paths_of_programs_start_where_the_page_of_engines_says(shop):
    from assay import load_gold, run
    from assay.engines import make_engine

    tools = shop.parent / "tools"
    tools.mkdir()
    tool = tools / "tool.sh"
    tool.write_text('#!/bin/sh\ntest -f "$1" && test ! -e tool.sh && test -f shop/cart.py && echo shop/cart.py\n')
    tool.chmod(0o755)
    for argument, status in (("{here}/tool.sh", "ok"), ("./tool.sh", "ok"), ("./other.sh", "error")):
        table = {"kind": "command", "argv": ["./tool.sh", argument, "{query}"], "ok_codes": [0]}
        made = run({"mine": make_engine(table, directory=tools)}, load_gold(shop / "gold.yaml"), failed="report")
        assert {str(ranking.status) for ranking in made.engines[0].rankings} == {status}


def test_python_engine_of_the_page_is_asked_filtered_updated_and_measured(shop, monkeypatch, capsys):
    (example,) = re.findall(r"```python\n(.*?)```", ENGINES, flags=re.DOTALL)
    tools = shop.parent / "tools"
    tools.mkdir()
    (tools / "page_engine.py").write_text(example, "utf-8")
    monkeypatch.syspath_prepend(str(tools))
    mine = "python:page_engine:Mine"

    def said(*words):
        capsys.readouterr()
        code = main([*words, "--json", "--quiet"])
        out = capsys.readouterr().out
        return code, json.loads(out)

    code, results = said(
        "run", "--gold", "gold.yaml", "--engine", f"mine={mine}", "--no-references", "--out", "results"
    )
    assert (code, results["failed_queries"]) == (0, [])
    assert [engine.version for engine in read_run(shop / "results").engines] == ["1.0"]
    code, answer = said("engines", "query", mine, "total", str(shop), "--paths", "shop/*")
    assert (code, {hit["path"].split("/")[0] for hit in answer["hits"]}) == (0, {"shop"})
    code, refusal = said("engines", "query", mine, "total", str(shop), "--language", "python")
    assert (code, "cannot filter by languages" in refusal["error"]) == (2, True)
    code, audit = said("audit", mine, str(shop), "--only", "update", "--queries", "3")
    assert code == 0
    assert {finding["severity"] for finding in audit["findings"]} <= {"fine", "not applicable"}
    assert "fine" in {finding["severity"] for finding in audit["findings"]}


ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
SOURCE = ROOT / "src" / "assay"
#: Folders that a run or a gold set leaves, and that lie nowhere in the source.
LEFT_BY_RUNS = {"runs/", "qrels/", "gold.review/"}


def architecture_paths() -> list[str]:
    """List modules, folders and other files of ours that the page names."""
    named = re.findall(r"`([\w./-]+(?:\.py|\.toml|\.txt|\.scm|\.schema\.json|/))`", ARCHITECTURE)
    documents = re.findall(r"\bdocs/[\w/-]+\.md", ARCHITECTURE)
    return sorted({*named, *documents} - LEFT_BY_RUNS)


def is_there(named: str, places: set[str]) -> bool:
    """Find a path from the root, or by its last parts anywhere in the source."""
    return (ROOT / named).exists() or any(place.endswith(f"/{named.rstrip('/')}") for place in places)


def test_paths_of_the_architecture_exist():
    places = {path.as_posix() for path in SOURCE.rglob("*") if "__pycache__" not in path.parts}
    assert len(architecture_paths()) > 60
    assert [path for path in architecture_paths() if not is_there(path, places)] == []


def test_packages_of_the_architecture_are_those_on_disk():
    order = re.search(r"^errors < .*$", ARCHITECTURE, flags=re.MULTILINE)
    assert order is not None
    rooms = {path.name.removesuffix(".py") for path in SOURCE.iterdir() if not path.name.startswith("_")}
    assert set(re.findall(r"\w+", order.group())) == rooms - {"data", "measures", "py.typed"}


@pytest.mark.parametrize("page", ["README.md", "ARCHITECTURE.md", *(f"docs/{page}" for page in pages())])
def test_links_lead_somewhere(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|mailto:|#)([^)\s#]+)", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []
