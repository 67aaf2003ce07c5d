"""`ASSAY_SEARCH__…` applies to the built-in engine wherever it runs, and is part of what is recorded."""

from __future__ import annotations

from pathlib import Path

import pytest

import assay
from assay.cli.main import main
from assay.errors import ConfigError
from assay.experiment import read_run
from assay.experiment.corpora import load_suite
from assay.experiment.spec import Spec, load_spec, make_engines, override, with_engines
from assay.experiment.spec.engine_entries import retained_engines
from assay.experiment.tuning import find_base, spec_with
from assay.types import Suite

FILES, SPANS = "ASSAY_SEARCH__STEM__FILES", "ASSAY_SEARCH__STEM__SPANS"
TOML = """
[run]
gold = "gold.yaml"
references = false
jobs = 1

[engines.mine]
kind = "builtin"
search.stem.files = 0.3
search.stem.spans = 0.3

[engines.other]
kind = "keywords"

[variants.strong]
engine = "mine"
set = { "search.stem.files" = 0.9 }
"""


def stem(engine: object) -> tuple[float, float]:
    search = engine.config["search"]  # type: ignore[attr-defined]  # of the built-in engine
    return search["stem"]["files"], search["stem"]["spans"]


def stems(spec: Spec) -> dict[str, tuple[float, float]]:
    made = make_engines(spec, Suite(()))
    return {name: stem(engine) for name, engine in made.items() if engine.config["kind"] == "builtin"}


@pytest.fixture
def declared(shop: Path) -> Path:
    (shop / "assay.toml").write_text(TOML)
    return shop / "assay.toml"


def test_precedence_is_file_environment_variant_flag(declared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert stems(load_spec(declared)) == {"mine": (0.3, 0.3), "strong": (0.9, 0.3)}
    monkeypatch.setenv(FILES, "0.5")
    assert stems(load_spec(declared)) == {"mine": (0.5, 0.3), "strong": (0.9, 0.3)}
    monkeypatch.setenv(SPANS, "0.6")
    assert stems(load_spec(declared)) == {"mine": (0.5, 0.6), "strong": (0.9, 0.6)}
    for flag in ("engines.mine.search.stem.files=0.7", "engines.mine={search={stem={files=0.7}}}"):
        assert stems(load_spec(declared, sets=[flag])) == {"mine": (0.7, 0.6), "strong": (0.9, 0.6)}


def test_engines_named_by_flags_and_presets(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (shop / "ours.toml").write_text(
        '[preset]\nabout = "ours"\n[engine]\nkind = "builtin"\nper = "span"\nsearch.stem.spans = 0.2\n'
    )
    monkeypatch.setenv(FILES, "0.5")
    usual = assay.Index.build(".").config.stem.spans
    assert stems(load_spec()) == {"builtin": (0.5, usual)}
    flags = ["builtin:span", "two=builtin", "ours.toml", "keywords"]
    found = stems(with_engines(load_spec(), flags))
    assert found == {"builtin": (0.5, usual), "two": (0.5, usual), "ours": (0.5, 0.2)}


def test_flags_need_no_file(shop: Path) -> None:
    assert stems(load_spec(sets=["engines.builtin.search.stem.files=0.7"]))["builtin"][0] == 0.7


@pytest.mark.parametrize(
    ("name", "value"), [("ASSAY_SEARCH__STEM__FILS", "1"), ("ASSAY_SEARCH_STEM_FILES", "1"), (FILES, "many")]
)
def test_unusable_variables_are_errors(declared: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=name):
        load_spec(declared)


def test_tuning_starts_from_what_the_environment_says(declared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILES, "0.5")
    base = find_base(load_spec(declared), "mine")
    assert base.settings["search"]["stem"]["files"] == 0.5
    assert stems(spec_with(base, [])) == {"mine": (0.5, 0.3)}


def test_a_variant_that_the_environment_makes_equal_is_refused(declared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(FILES, "0.9")
    with pytest.raises(ConfigError, match="strong has the same settings as mine"):
        load_spec(declared)


@pytest.mark.parametrize("way", [("--times",), ("--no-times",)])
def test_a_run_records_it(declared: Path, monkeypatch: pytest.MonkeyPatch, way: tuple[str, ...]) -> None:
    declared.write_text(TOML.replace("jobs = 1\n", ""))

    def recorded(out: str) -> dict[str, tuple[object, str]]:
        assert main(["run", "--quiet", "--only", "mine", "--only", "other", "--out", out, *way]) == 0
        return {engine.name: (engine.config, engine.fingerprint) for engine in read_run(Path(out)).engines}

    before = recorded("before")
    monkeypatch.setenv(FILES, "0.5")
    after = recorded("after")
    assert before["other"] == after["other"]
    assert before["mine"][0] != after["mine"][0]
    assert before["mine"][1] != after["mine"][1]
    monkeypatch.delenv(FILES)
    declared.write_text(TOML.replace("jobs = 1\n", "").replace("stem.files = 0.3", "stem.files = 0.5"))
    assert recorded("written") == after, "the file says the same: the same engine"


def test_rows_of_other_settings_are_stale(declared: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hashes() -> object:
        spec = override(load_spec(declared), only=("other",))
        return retained_engines(spec, load_suite(spec))["mine"]

    before = hashes()
    monkeypatch.setenv(FILES, "0.5")
    assert hashes() != before


def test_a_run_names_the_variables(
    declared: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    note = f"{FILES} from the environment applied to mine, strong"
    monkeypatch.setenv(FILES, "0.5")
    assert main(["run", "--dry-run"]) == 0
    assert note in capsys.readouterr().err.splitlines()
    assert main(["run", "--dry-run", "--engine", "keywords", "--baseline", "keywords"]) == 0
    assert FILES not in capsys.readouterr().err
