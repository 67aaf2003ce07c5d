"""What an engine needs of the machine, and what is said when it is not there."""

from importlib import metadata

import pytest

from assay.errors import ConfigError
from assay.experiment.spec import Spec, check
from assay.experiment.spec import engine_entries as needs
from assay.experiment.spec.engine_entries import missing_requirement
from assay.experiment.spec.variants import Sweep, Variant


@pytest.fixture
def machine(monkeypatch):
    monkeypatch.setenv("ASSAY_TEST_SET", "yes")
    monkeypatch.setenv("ASSAY_TEST_EMPTY", "")
    monkeypatch.delenv("ASSAY_TEST_GONE", raising=False)

    def distributions(*, name):
        return [] if name == "tokenizers" else [name]  # everything is installed but that

    monkeypatch.setattr(metadata, "distributions", distributions)


@pytest.mark.parametrize("need", ["env:ASSAY_TEST_SET", "tool:sh", "extra:train", "extra:cluster"])
def test_need_that_is_met_says_nothing(machine, need):
    assert missing_requirement([need]) is None


@pytest.mark.parametrize(
    ("need", "word"),
    [
        ("env:ASSAY_TEST_GONE", "ASSAY_TEST_GONE is not set"),
        ("env:ASSAY_TEST_EMPTY", "ASSAY_TEST_EMPTY is not set"),
        ("tool:no-such-tool", "no-such-tool is not on the PATH"),
        ("extra:onnx", "tokenizers not installed"),
    ],
)
def test_need_that_is_unmet_says_why(machine, need, word):
    assert word in str(missing_requirement(["tool:sh", need]))


def test_all_that_is_missing_is_said_at_once(machine):
    said = str(missing_requirement(["env:ASSAY_TEST_GONE", "tool:no-such-tool"]))
    assert said == "the environment variable ASSAY_TEST_GONE is not set; no-such-tool is not on the PATH"


@pytest.mark.parametrize("need", ["rg", "tools:rg", "env:", "extra:trian", ":x"])
def test_need_that_nobody_can_look_up_is_refused(machine, need):
    with pytest.raises(ConfigError, match="requires") as caught:
        missing_requirement([need])
    assert caught.value.hint


def test_unknown_extra_names_the_nearest(machine):
    with pytest.raises(ConfigError) as caught:
        missing_requirement(["extra:trian"])
    assert "train" in str(caught.value.hint)


def test_extras_are_those_of_the_package():
    assert needs.extras()["onnx"] == ("onnxruntime", "tokenizers")


def test_variant_inherits_what_its_engine_requires(machine):
    engine = {"kind": "builtin", "requires": ["tool:sh", "env:A"]}
    spec = check(
        Spec(
            engines={"mine": engine},
            variants={"v": Variant("mine", {"per": "span"}, ("env:B", "tool:sh"))},
            sweeps={"s": Sweep("mine", "grid", {"per": ("span",)}, requires=("env:C",))},
        )
    )
    wanted = {subject.name: subject.requires for subject in spec.entries()}
    assert wanted["mine"] == ("tool:sh", "env:A")
    assert wanted["v"] == ("tool:sh", "env:A", "env:B")
    assert wanted["s:per=span"] == ("tool:sh", "env:A", "env:C")
    assert wanted["keywords"] == ()
    assert "requires" not in {entry.name: entry.settings for entry in spec.entries()}["v"]


def test_value_of_a_variable_is_never_said(machine, monkeypatch):
    monkeypatch.setenv("ASSAY_TEST_SET", "hush-hush-hush")
    assert "hush" not in str(missing_requirement(["env:ASSAY_TEST_SET", "tool:no-such-tool"]))
