"""The schema for editors, the reader and the file that `assay init` writes know the same keys."""

import json
import re
import tomllib
from dataclasses import fields
from importlib import resources
from pathlib import Path

import jsonschema
import pytest
import referencing

from assay.cli.init import starter_config
from assay.experiment.spec import Spec, load_spec
from assay.experiment.spec.assay_toml import KEYS, SWEEP_KEYS, VARIANT_KEYS, shipped_experiments
from assay.experiment.spec.engine_entries import ENGINE_KEYS
from assay.experiment.spec.experiment_spec import TABLE_NAMES, TABLES
from assay.experiment.tuning import TuneSettings
from tests.experiment.spec.files import BASE, schema, written


def validator() -> jsonschema.Draft202012Validator:
    text = resources.files("assay.data").joinpath("schemas/search.schema.json").read_text(encoding="utf-8")
    search = referencing.Resource.from_contents(json.loads(text))
    return jsonschema.Draft202012Validator(
        schema(), registry=referencing.Registry().with_resource("search.schema.json", search)
    )


def inner(table: str) -> dict:
    return schema()["properties"][table]["additionalProperties"]["properties"]


def test_schema_and_reader_know_the_same_keys():
    assert set(schema()["properties"]) == {*TABLES, "extends"}
    assert set(schema()["properties"]["run"]["properties"]) == set(KEYS)
    assert set(inner("variants")) == set(VARIANT_KEYS)
    assert set(inner("sweeps")) == set(SWEEP_KEYS)
    assert set(inner("engines")) == {"kind", "preset", *ENGINE_KEYS}
    assert schema()["$defs"]["table"]["enum"] == list(TABLE_NAMES)


def test_schema_says_of_every_key_what_it_means():
    tables = {name: schema()["properties"][name] for name in ("variants", "sweeps", "extends", "tune", "ledger")}
    keys = schema()["properties"]["run"]["properties"] | tables
    keys |= {f"{table}.{key}": value for table in ("variants", "sweeps") for key, value in inner(table).items()}
    shared = {f"#/$defs/{name}": "description" in value for name, value in schema()["$defs"].items()}
    assert [k for k, v in keys.items() if "description" not in v and not shared.get(v.get("$ref"), False)] == []


def test_schema_defaults_are_the_readers():
    for key, value in schema()["properties"]["run"]["properties"].items():
        if "default" in value and key != "baseline":
            assert value["default"] == getattr(Spec(), key), key


FINE = {
    "extends": 'extends = ["a.toml", "preset:x"]\n',
    "variant": '[variants.x]\nengine = "mine"\nset = { "a.b" = 1 }\nrequires = "env:HOME"\n',
    "part of a variant that another file declares": '[variants.x.set]\n"a.b" = 2\n',
    "grid": '[sweeps.w]\nengine = "mine"\nparams = { "a.b" = [1, 2] }\nname = "w{b}"\n',
    "left out": '[sweeps.w]\nengine = "mine"\nstrategy = "leave-one-out"\nparts = { s = { "a.b" = 1 } }\n',
    "the run": '[run]\nfamily = "w*"\ncluster = "tag:team"\ntimes = false\njobs = 0\ntables = ["matrix"]\n',
}
WRONG = {
    "unit": '[run]\ncluster = "team"\n',
    "table": '[run]\ntables = ["matrices"]\n',
    "need": '[engines.mine]\nkind = "builtin"\nrequires = ["rg"]\n',
    "strategy": '[sweeps.w]\nengine = "mine"\nstrategy = "random"\n',
    "key of a variant": "[variants.x]\nsets = {}\n",
    "expected --set KEY=VALUE": '[sweeps.w]\nengine = "mine"\nparams = { a = [] }\n',
}


@pytest.mark.parametrize("case", FINE)
def test_schema_takes_what_the_reader_takes(case):
    validator().validate(tomllib.loads(FINE[case]))


@pytest.mark.parametrize("case", WRONG)
def test_schema_refuses_what_the_reader_refuses(case):
    assert not validator().is_valid(tomllib.loads(WRONG[case]))


@pytest.mark.parametrize("name", shipped_experiments())
def test_shipped_experiment_fits_schema_and_reader(name):
    validator().validate(tomllib.loads(shipped_experiments()[name].read_text(encoding="utf-8")))
    assert load_spec(preset=name).entries()


def uncommented(text: str) -> str:
    """Take the marks off every line that is TOML."""
    code = re.compile(r"# (?=\[|[\w\"]+ = |\s+\")")
    return "\n".join(code.sub("", line, count=1) if code.match(line) else line for line in text.splitlines()) + "\n"


def test_starter_file_fits_schema_and_reader(tmp_path):
    text = starter_config()
    validator().validate(tomllib.loads(text))
    assert load_spec(written(tmp_path, text)).gold == (str(tmp_path / "gold.yaml"),)


def test_starter_file_fits_schema_and_reader_without_comment_marks(tmp_path, monkeypatch):
    monkeypatch.setattr("assay.cli.init.which", lambda program: program)  # every tool is installed
    text = uncommented(starter_config())
    validator().validate(tomllib.loads(text))
    names = [subject.name for subject in load_spec(written(tmp_path, text)).entries()]
    tools = ["ripgrep-literal", "semble-cli", "probe", "ck", "colgrep", "octocode"]
    assert names[:9] == ["builtin", "mine", "ours", *tools]


def test_starter_file_lists_only_installed_tools(monkeypatch):
    monkeypatch.setattr("assay.cli.init.which", lambda program: program if program == "ck" else None)
    assert set(tomllib.loads(uncommented(starter_config()))["engines"]) == {"builtin", "mine", "ours", "ck"}


def test_starter_file_is_short():
    assert len(starter_config().splitlines()) <= 40


def test_reference_page_names_every_key():
    page = (Path(__file__).parents[3] / "docs" / "reference" / "settings.md").read_text("utf-8")
    keys = {*KEYS, *VARIANT_KEYS, *SWEEP_KEYS, *ENGINE_KEYS, *(field.name for field in fields(TuneSettings))}
    assert [key for key in keys if f"| `{key}` |" not in page] == []


def test_schema_takes_the_engine_of_the_tests(tmp_path: Path):
    validator().validate(tomllib.loads(BASE))
    assert load_spec(written(tmp_path, BASE)).engines == {"mine": {"kind": "builtin", "per": "file"}}
