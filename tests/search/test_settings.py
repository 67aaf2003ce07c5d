"""The search configuration: where it comes from, what wins, what is refused and where."""

import json
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import referencing
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.search.chunking import ChunkConfig
from assay.search.config import (
    STAGES,
    IndexConfig,
    SearchConfig,
    config_schema,
    config_text,
    find_config,
    flatten_config,
    load_search_config,
    setting_hints,
)
from assay.search.signals import Bm25, FileStem
from assay.toml import find_line

NUMBERS = sorted(key for key, hint in setting_hints().items() if hint in (int, float))


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "assay.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(overrides: list[str], file: Path | None = None, environ: dict[str, str] | None = None) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        load_search_config(overrides, file, environ or {})
    assert caught.value.hint
    return caught.value


def test_nothing_given_is_the_default():
    assert load_search_config() == SearchConfig()


def test_each_source_overrides_the_one_before_it(tmp_path):
    file = written(tmp_path, "[search.stem]\nfiles = 0.1\nspans = 0.1\nprefix = 0.1\n")
    environ = {"ASSAY_SEARCH__STEM__SPANS": "0.2", "ASSAY_SEARCH__STEM__PREFIX": "0.2", "PATH": "/bin"}
    made = load_search_config(["stem.prefix=0.3"], file, environ)
    assert made.stem == FileStem(files=0.1, spans=0.2, prefix=0.3)


def test_later_flags_win():
    assert load_search_config(["stem.files=0.1", "stem.files=0.2"]).stem.files == 0.2


@pytest.mark.parametrize(
    "text",
    [
        '[search.index.chunks]\nkind = "lines"\nsize = 30\n',
        '[search]\nindex.chunks.kind = "lines"\nindex.chunks.size = 30\n',
        '[search.index]\nchunks = {kind = "lines", size = 30}\n',
        '[run]\nk = 3\n[search.index.chunks]\nkind = "lines"\nsize = 30\n[search.stem]\n',
    ],
)
def test_file_may_nest_as_toml_does(tmp_path, text):
    assert load_search_config((), written(tmp_path, text)).index.chunks == ChunkConfig(kind="lines", size=30)


@pytest.mark.parametrize(
    ("text", "value"),
    [("without=stem,noise", ("stem", "noise")), ('without=["stem"]', ("stem",)), ("without=", ()), ("without=[]", ())],
)
def test_lists_need_no_brackets(text, value):
    assert load_search_config([text]).without == value


@pytest.mark.parametrize(("text", "value"), [("a b ", "a b "), ('"a "', "a "), ("12", "12"), ("true", "true")])
def test_text_is_taken_as_it_stands(text, value):
    assert load_search_config([f"dense.query_prefix={text}"]).dense.query_prefix == value


def test_names_in_variables_keep_their_single_underscores():
    assert load_search_config((), None, {"ASSAY_SEARCH__INDEX__LONGEST_WORD": "50"}).index.longest_word == 50


BAD_FILES = {
    "unknown key": ("[search.stem]\n\nfils = 1\n", 3, "stem.files"),
    "unknown table": ("[search.stm]\nfiles = 1\n", 2, "stem"),
    "unknown empty table": ("[run]\n[search.nonsense]\n", 2, "nonsense"),
    "wrong type": ('[search.stem]\nfiles = "many"\n', 2, "a number"),
    "truth is no number": ("[search.stem]\nfiles = true\n", 2, "a number"),
    "half a count": ("[search.coherence]\nchunks = 1.5\n", 2, "an integer"),
    "out of range": ("[search]\nlexical.b = 1.5\n", 2, "from 0 to 1"),
    "inside an inline table": ("[search]\n\nlexical = {k1 = 1, b = 1.5}\n", 3, "from 0 to 1"),
    "overlap": ("[search.index.chunks]\nsize = 10\noverlap = 10\n", 3, "expected less than"),
    "unknown stage": ('[search]\nwithout = ["stm"]\n', 2, "stem"),
    "unknown choice": ('[search.index.chunks]\nkind = "astt"\n', 2, "ast"),
    "value for a table": ("[search]\nstem = 3\n", 2, "stem.files"),
    "unknown fusion": ('[search.dense]\nfusion = "rff"\n', 2, "rrf"),
    "search is no table": ("search = 3\n", 1, "table"),
    "broken TOML": ("[search]\nstem = = 3\n", 2, "TOML"),
}


@pytest.mark.parametrize("case", BAD_FILES)
def test_mistake_in_a_file_has_its_line_and_the_next_step(tmp_path, case):
    text, line, word = BAD_FILES[case]
    error = refused([], written(tmp_path, text))
    assert error.file == str(tmp_path / "assay.toml")
    assert error.line == line
    assert word in str(error)


@pytest.mark.parametrize(
    ("flag", "word"),
    [("stem.fils=1", "stem.files"), ("stem=1", "table"), ("stem.files", "stem.files=0.4"), ("stem.files=a", "number")],
)
def test_mistake_on_the_command_line_names_the_flag(flag, word):
    error = refused([flag])
    assert f"--set {flag.partition('=')[0]}" in error.message
    assert word in str(error)


def test_mistake_in_the_environment_names_the_variable():
    assert "ASSAY_SEARCH__STEM__FILS" in refused([], None, {"ASSAY_SEARCH__STEM__FILS": "1"}).message
    assert "ASSAY_SEARCH__STEM__FILES" in str(refused([], None, {"ASSAY_SEARCH_STEM_FILES": "1"}))


def test_culprit_is_the_setting_that_was_given(tmp_path):
    error = refused([], written(tmp_path, "[search.index.chunks]\n\noverlap = 50\n"))
    assert (error.line, "size (50)" in error.message) == (3, True)


@pytest.mark.parametrize("key", NUMBERS)
@pytest.mark.parametrize("value", ["-1", "nan", "inf", "-inf"])
def test_every_number_has_a_law(key, value):
    if (key, value) == ("dense.alpha", "-1"):
        pytest.skip("-1 leaves alpha unset")
    assert refused([f"{key}={value}"]).message


def test_laws_hold_for_configurations_made_in_python():
    with pytest.raises(ConfigError, match=r"lexical\.b"):
        SearchConfig(lexical=Bm25(b=2.0))
    with pytest.raises(ConfigError, match="overlap"):
        SearchConfig(index=IndexConfig(chunks=ChunkConfig(kind="lines", size=5, overlap=5)))
    with pytest.raises(ConfigError, match="kind"):
        SearchConfig(index=IndexConfig(chunks=ChunkConfig(kind="astt")))  # type: ignore[arg-type]
    with pytest.raises(ConfigError, match=r"stem\.files"):
        SearchConfig(stem=FileStem(files="1"))  # type: ignore[arg-type]


def test_stages_are_those_of_the_pipeline():
    from assay.search.index import enabled_signals

    assert tuple(enabled_signals(SearchConfig())) == STAGES


def test_shown_configuration_has_every_setting_and_reads_back(tmp_path):
    made = load_search_config(["stem.files=0.25", "without=noise", "index.chunks.kind=lines"])
    text = config_text(made)
    assert load_search_config((), written(tmp_path, text)) == made
    for key in setting_hints():
        assert find_line(text, f"search.{key}") is not None, key


@given(st.dictionaries(st.sampled_from([key for key in NUMBERS if "overlap" not in key]), st.just(1), min_size=1))
def test_settings_given_in_any_way_are_the_same(values):
    flags = load_search_config([f"{key}={value}" for key, value in values.items()])
    variables = {f"ASSAY_SEARCH__{key.upper().replace('.', '__')}": str(value) for key, value in values.items()}
    assert flags == load_search_config((), None, variables)
    assert {key: flatten_config(flags)[key] for key in values} == values


def schemas() -> referencing.Registry[Any]:
    names = ("assay.schema.json", "search.schema.json")
    texts = {name: resources.files("assay.data").joinpath(f"schemas/{name}").read_text("utf-8") for name in names}
    return referencing.Registry().with_resources(
        [(name, referencing.Resource.from_contents(json.loads(text))) for name, text in texts.items()]
    )


@pytest.mark.parametrize(
    ("table", "fine"),
    [({"stem": {"files": 0.4}, "without": ["noise"]}, True), ({"stem": {"fils": 0.4}}, False), ({"stem": 1}, False)],
)
def test_schema_for_editors_knows_the_table(table, fine):
    registry = schemas()
    schema = registry.contents("assay.schema.json")
    assert jsonschema.Draft202012Validator(schema, registry=registry).is_valid({"search": table}) == fine


def test_schema_takes_the_defaults():
    shown = json.loads(json.dumps(SearchConfig().as_dict()))
    jsonschema.Draft202012Validator(config_schema()).validate(shown)


def test_table_is_legal_beside_an_experiment(tmp_path):
    from assay.experiment.spec import load_spec

    assert load_spec(written(tmp_path, "[run]\nk = 3\n[search.stem]\nfiles = 0.1\n")).k == 3


def test_file_of_a_folder_is_found(tmp_path):
    assert find_config(tmp_path) is None
    assert find_config(written(tmp_path, "").parent) == tmp_path / "assay.toml"


def test_one_strength_leaves_the_others_of_its_table_as_they_were() -> None:
    config = load_search_config(["noise.spans.test=0.4"], None, {})
    assert config.noise.spans == replace(SearchConfig().noise.spans, test=0.4)
