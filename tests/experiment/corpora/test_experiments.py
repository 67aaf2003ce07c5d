"""Experiments beside assay.toml: one more of them, or a ledger, is no other corpus."""

from pathlib import Path

import pytest

from assay.experiment.corpora import prepare, reopen
from assay.experiment.ledger import add_entries
from assay.experiment.own_files import is_experiment, own_files
from assay.experiment.spec import load_spec
from assay.experiment.worker import take_snapshot
from assay.gold import load_gold
from assay.toml import read_toml
from tests.experiment.ledger.entries import ENTRY

GOLD = """\
assay: 1
name: shop
corpus: {path: CORPUS}
queries:
  - id: total
    retrieval: {primary: ["shop/cart.py::Cart.total"]}
    cognitive: {human: sum the prices of all items}
"""


def laid_out(shop: Path, gold: str = "gold.yaml", up: str = ".") -> Path:
    path = shop / gold
    path.parent.mkdir(exist_ok=True)
    path.write_text(GOLD.replace("CORPUS", up))
    (shop / "assay.toml").write_text(f'[run]\ngold = "{gold}"\n')
    return path


def seen(gold: Path):
    """What a run knows of the corpus, and the paths that it hides."""
    place = prepare(load_gold(str(gold)).golds[0], None, None, None)
    return take_snapshot(place), place


@pytest.mark.parametrize(("gold", "up"), [("gold.yaml", "."), ("eval/gold.yaml", "..")])
@pytest.mark.parametrize("name", ["closer.toml", "experiments/closer.toml"])
def test_another_experiment_is_no_other_corpus(shop, gold, up, name):
    path = laid_out(shop, gold, up)
    before, _ = seen(path)
    (shop / name).parent.mkdir(exist_ok=True)
    above = "../" * name.count("/")
    (shop / name).write_text(f'extends = "{above}lib/deep/base.toml"\n[run]\nout = "closer"\n')
    (shop / "lib/deep").mkdir(parents=True)
    (shop / "lib/deep/base.toml").write_text('[engines.a]\nkind = "builtin"\n')
    after, place = seen(path)
    assert after == before  # the digest, and all that names a cell
    assert place.is_own(name)
    assert not {name, "assay.toml", "lib/deep/base.toml"} & {file.path for file in place.corpus.files}


def test_templates_that_engines_name_are_hidden_too(shop):
    path = laid_out(shop)
    before, _ = seen(path)
    (shop / "tools").mkdir()
    for name in ("a.toml", "tools/b.yaml", "tools/c.json"):
        (shop / name).write_text("[other]\nx = 1\n")
    _, place = seen(path)
    assert "tools/b.yaml" in {file.path for file in place.corpus.files}
    (shop / "tool.toml").write_text(
        '[engines.t]\nkind = "command"\nargv = ["x"]\n[engines.t.config]\ntemplate = "a.toml"\n'
        '[variants.v]\nengine = "t"\nset = { "config.template" = "tools/b.yaml" }\n'
        '[sweeps.s]\nengine = "t"\nparams = { config.template = ["tools/c.json", "tools/gone.json"] }\n'
    )
    after, _ = seen(path)
    assert after.facts.digest == before.facts.digest


def test_ledger_that_is_begun_is_no_other_corpus(shop):
    path = laid_out(shop)
    before, _ = seen(path)
    add_entries(shop / "ledger.jsonl", [ENTRY])
    assert (shop / "ledger.jsonl").is_file()
    assert seen(path)[0] == before


@pytest.mark.parametrize(
    "text",
    [
        "[tool.ruff]\n[run]\nk = 1\n",  # tables of somebody else
        "[search]\nx = 1\n",  # nothing that says experiment
        '[run]\ncommand = "serve"\n',  # keys of somebody else
        'run = "serve"\n',
        "",
    ],
)
def test_what_is_no_experiment_stays_in_the_corpus(shop, text):
    path = laid_out(shop)
    (shop / "other.toml").write_text(text)
    (shop / "broken.toml").write_text("[run\n")
    assert not is_experiment(read_toml(shop / "other.toml").data)
    assert {"other.toml", "broken.toml"} <= {file.path for file in seen(path)[1].corpus.files}


def test_file_that_becomes_something_else_is_looked_at_again(shop):
    path = laid_out(shop)
    (shop / "other.toml").write_text("[run]\nk = 1\n")
    assert "other.toml" in seen(path)[1].changing
    (shop / "other.toml").write_text("[tool.x]\nk = 1\n")
    assert "other.toml" not in seen(path)[1].changing


def test_search_in_the_folder_does_not_find_other_experiments_either(shop):
    laid_out(shop)
    (shop / "closer.toml").write_text('extends = "assay.toml"\n')
    names = {path.name for path in own_files(load_spec(shop / "assay.toml"))}
    assert {"assay.toml", "closer.toml", "gold.yaml"} <= names


def test_gold_sets_beside_the_one_in_use_are_no_part_of_its_corpus(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("def alpha():\n    return 1\n")
    (tmp_path / "values.yaml").write_text("assayed: true\n")
    text = (
        "# comment\nassay: 1\nname: {}\ncorpus: {{path: ..}}\nqueries:\n"
        "- {{id: q1, cognitive: {{human: where is alpha}}, retrieval: {{primary: [a.py]}}}}\n"
    )
    (tmp_path / "gold").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"gold/{name}.yaml").write_text(text.format(name))
    for name in ("one", "two"):
        gold = load_gold(tmp_path / f"gold/{name}.yaml").golds[0]
        assert [file.path for file in reopen(gold, None).corpus.files] == ["a.py", "values.yaml"]
