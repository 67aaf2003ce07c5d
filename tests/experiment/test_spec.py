"""assay.toml: every key does something, every mistake has a line."""

import json
import re
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from assay.errors import ConfigError
from assay.experiment.spec import KEYS, Spec, check, engine_table, override, read_spec
from assay.experiment.starter import starter_config


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "assay.toml"
    path.write_text(text, encoding="utf-8")
    return path


def schema() -> dict:
    return json.loads(resources.files("assay.data").joinpath("schemas/assay.schema.json").read_text(encoding="utf-8"))


def test_spec_of_a_full_file(tmp_path):
    path = written(
        tmp_path,
        '[run]\ngold = ["g.yaml", "stdlib"]\nk = 20\nprimary = "RR@20"\nbaseline = "mine"\nmargin = 0.05\nout = "r"\n'
        '[engines.mine]\nkind = "command"\nargv = ["x", "{query}"]\n',
    )
    spec = read_spec(path)
    assert spec.gold == (str(tmp_path / "g.yaml"), "stdlib")
    assert spec.out == str(tmp_path / "r")
    assert (spec.k, spec.claim().primary, spec.margin) == (20, "RR@20", 0.05)
    assert list(spec.all_engines()) == ["mine", "random", "keywords", "oracle"]


def test_single_string_stands_for_a_list_of_one(tmp_path):
    assert read_spec(written(tmp_path, '[run]\ngold = "g.yaml"\n')).gold == (str(tmp_path / "g.yaml"),)


BAD = {
    "broken TOML": ("[run]\nk = = 3\n", 2, "not TOML"),
    "unknown key": ('[run]\ngold = "g"\nmarginn = 0.1\n', 3, "marginn"),
    "unknown table": ("[runs]\nk = 3\n", 1, "runs"),
    "wrong type": ('[run]\nk = "ten"\n', 2, "k = 'ten'"),
    "k of zero": ("[run]\n\nk = 0\n", 3, "k = 0"),
    "margin out of range": ("[run]\nmargin = -1\n", 2, "margin"),
    "alpha no test can have": ("[run]\nalpha = 0.6\n", 2, "alpha"),
    "truth is no number": ("[run]\nk = true\n", 2, "k = True"),
    "unknown measure": ('[run]\nmeasures = ["NDGC@10"]\n', None, "NDGC"),
    "cut-off beyond k": ('[run]\nk = 5\nprimary = "nDCG@10"\n', 2, "k = 5"),
    "unknown baseline": ('[run]\nbaseline = "nobody"\n', 2, "nobody"),
    "engine without kind": ("[engines.mine]\nargv = []\n", 1, "mine"),
    "references are a switch": ('[run]\nreferences = "yes"\n', 2, "references"),
}


@pytest.mark.parametrize(("text", "line", "message"), BAD.values(), ids=BAD.keys())
def test_mistake_in_the_file_is_an_error_with_its_line(tmp_path, text, line, message):
    with pytest.raises(ConfigError, match=message) as caught:
        read_spec(written(tmp_path, text))
    assert caught.value.exit_code == 2
    assert caught.value.hint
    if line is not None:
        assert caught.value.line == line
        assert "assay.toml" in str(caught.value)


def test_unknown_key_names_the_nearest_one(tmp_path):
    with pytest.raises(ConfigError) as caught:
        read_spec(written(tmp_path, "[run]\nmesures = []\n"))
    assert "measures" in str(caught.value.hint)


def test_file_that_is_not_utf8_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "assay.toml"
    path.write_bytes(b'[run]\nout = "\xff"\n')
    with pytest.raises(ConfigError, match="UTF-8") as caught:
        read_spec(path)
    assert caught.value.line == 2


def test_schema_and_reader_know_the_same_keys():
    assert set(schema()["properties"]["run"]["properties"]) == set(KEYS)


def test_starter_file_fits_schema_and_reader(tmp_path):
    text = starter_config()
    jsonschema.validate(tomllib.loads(text), schema())
    assert read_spec(written(tmp_path, text)).gold == (str(tmp_path / "gold.yaml"),)


def test_starter_file_names_every_key_with_its_default(tmp_path):
    keys = re.compile(r"# (?=\w+ = |\s+\")")
    head = starter_config().partition("# Any command line")[0]
    uncommented = "\n".join(keys.sub("", line, count=1) if keys.match(line) else line for line in head.splitlines())
    given = tomllib.loads(uncommented)["run"]
    defaults = Spec(gold=("gold.yaml",))
    assert set(given) == set(KEYS) - {"tags", "references"}
    for key in ("k", "margin", "alpha", "seed", "timeout", "index_timeout", "out"):
        assert given[key] == getattr(defaults, key), key
    assert tuple(given["measures"]) == defaults.claim().measures
    assert (given["primary"], given["baseline"]) == (defaults.claim().primary, defaults.claim().baseline)


def test_flags_override_the_file_and_none_changes_nothing():
    spec = override(Spec(), k=20, margin=None)
    assert (spec.k, spec.margin, spec.claim().primary) == (20, 0.02, "nDCG@20")


def test_engine_flags_take_a_name_or_are_named_after_their_kind():
    table = engine_table(["builtin", "mine=command:x {query} a=b", "python:m:f"])
    assert table == {"builtin": "builtin", "mine": "command:x {query} a=b", "python": "python:m:f"}


def test_two_engines_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="builtin"):
        engine_table(["builtin", "builtin"])


def test_names_of_the_references_are_reserved():
    with pytest.raises(ConfigError, match="reference"):
        check(Spec(engines={"keywords": "builtin"}))


def test_without_references_the_first_engine_is_the_baseline():
    spec = check(Spec(engines={"mine": "builtin", "other": "builtin:span"}, references=False))
    assert spec.claim().baseline == "mine"


def test_paths_of_the_file_are_relative_to_its_folder(tmp_path, monkeypatch):
    (tmp_path / "sub" / "src").mkdir(parents=True)
    (tmp_path / "sub" / "assay.toml").write_text('[run]\ngold = "g.csv"\ncorpus = "src"\n')
    monkeypatch.chdir(tmp_path)
    spec = read_spec(Path("sub/assay.toml"))
    assert (spec.gold, spec.corpus, spec.folder) == (("sub/g.csv",), "sub/src", Path("sub"))


def test_engine_flags_name_engines_of_the_file_before_anything_else():
    declared: dict[str, dict[str, Any] | str] = {
        "builtin": {"kind": "builtin", "per": "span"},
        "mine": {"kind": "command", "argv": ["x", "{query}"]},
    }
    table = engine_table(["builtin", "other=mine", "keywords"], declared)
    assert table == {"builtin": declared["builtin"], "other": declared["mine"], "keywords": "keywords"}
