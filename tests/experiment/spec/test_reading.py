"""assay.toml: every key does something, every mistake has a line."""

from pathlib import Path
from typing import Any

import pytest

from assay.errors import ConfigError
from assay.experiment.run_plan import select_engines
from assay.experiment.spec import Spec, check, load_spec, override, with_engines
from assay.experiment.spec.engine_entries import engine_factory, parse_engine_flags
from tests.experiment.spec.files import BASE, written


def test_spec_of_a_full_file(tmp_path):
    path = written(
        tmp_path,
        '[run]\ngold = ["g.yaml", "stdlib"]\nk = 20\nprimary = "RR@20"\nbaseline = "mine"\nmargin = 0.05\nout = "r"\n'
        '[engines.mine]\nkind = "command"\nargv = ["x", "{query}"]\n',
    )
    spec = load_spec(path)
    assert spec.gold == (str(tmp_path / "g.yaml"), "stdlib")
    assert spec.out == str(tmp_path / "r")
    assert (spec.k, spec.analysis_plan().primary, spec.margin) == (20, "RR@20", 0.05)
    assert spec.names() == ["mine", "random", "keywords", "oracle"]


def test_single_string_stands_for_a_list_of_one(tmp_path):
    assert load_spec(written(tmp_path, '[run]\ngold = "g.yaml"\n')).gold == (str(tmp_path / "g.yaml"),)


BAD = {
    "broken TOML": ("[run]\nk = = 3\n", 2, "invalid TOML"),
    "unknown key": ('[run]\ngold = "g"\nmarginn = 0.1\n', 3, "marginn"),
    "unknown table": ("[runs]\nk = 3\n", 1, "runs"),
    "wrong type": ('[run]\nk = "ten"\n', 2, "k: expected an integer, got 'ten'"),
    "k of zero": ("[run]\n\nk = 0\n", 3, "k: expected a positive number, got 0"),
    "margin out of range": ("[run]\nmargin = -1\n", 2, "margin"),
    "alpha no test can have": ("[run]\nalpha = 0.6\n", 2, "alpha"),
    "truth is no number": ("[run]\nk = true\n", 2, "k: expected an integer, got True"),
    "unknown measure": ('[run]\nmeasures = ["NDGC@10"]\n', None, "NDGC"),
    "cut-off beyond k": ('[run]\nk = 5\nprimary = "nDCG@10"\n', 2, "k = 5"),
    "unknown baseline": ('[run]\nbaseline = "nobody"\n', 2, "nobody"),
    "engine without kind": ("[engines.mine]\nargv = []\n", 1, "mine"),
    "family of nobody": ('[run]\nfamily = ["mine"]\n', 2, "mine"),
    "family with the baseline": ('[run]\nbaseline = "builtin"\nfamily = ["builtin"]\n', 3, "baseline"),
    "unit that nobody knows": ('[run]\ncluster = "repo"\n', 2, "got 'repo'"),
    "tag without a name": ('[run]\ncluster = "tag:"\n', 2, "cluster"),
    "table that nobody makes": ('[run]\n\ntables = ["matrices"]\n', 3, "matrices"),
    "fewer than no jobs": ("[run]\njobs = -1\n", 2, "jobs"),
    "times of what runs side by side": (
        "[run]\njobs = 2\ntimes = true\n",
        3,
        "times = true cannot be combined with jobs",
    ),
    "run is no table": ("run = 3\n", 1, "table"),
    "variant is no table": ("[variants]\nx = 3\n", 2, "variants.x"),
    "variant without an engine": ("[variants.x]\nset = { a = 1 }\n", 1, "missing key 'engine'"),
    "variant without changes": ('[variants.x]\nengine = "builtin"\n', 1, "missing key 'set'"),
    "variant with no change in it": ('[variants.x]\nengine = "builtin"\nset = {}\n', 1, "set is empty"),
    "unknown key of a variant": ('[variants.x]\nengine = "builtin"\nsets = {}\n', 3, "sets"),
    "variant of nobody": ('\n[variants.x]\nengine = "bultin"\nset = { per = "span" }\n', 2, "bultin"),
    "variant with the name of a reference": ('[variants.oracle]\nengine="builtin"\nset={per="span"}\n', 1, "reference"),
    "variant with the name of an engine": (BASE + '[variants.mine]\nengine="mine"\nset={per="span"}\n', 5, "mine"),
    "variant as its base": (
        BASE + '[variants.x]\nengine = "mine"\nset = { per = "file" }\n',
        5,
        "x has the same settings as mine",
    ),
    "two variants alike": (
        BASE + '[variants.x]\nengine="mine"\nset={a=1}\n[variants.y]\nengine="mine"\nset={a=1}\n',
        8,
        "y has the same settings as x",
    ),
    "setting said twice": (
        '[variants.x]\nengine="builtin"\n[variants.x.set]\n"a.b" = 1\na = { b = 2 }\n',
        3,
        "a.b is set twice",
    ),
    "key that is none": ('[variants.x]\nengine="builtin"\nset={"a..b" = 1}\n', 3, "dotted"),
    "unknown key of a sweep": ('[sweeps.w]\nengine = "builtin"\nknob = {}\n', 3, "param"),
    "unknown way": ('[sweeps.w]\nengine = "builtin"\nstrategy = "random"\n', 3, "strategy"),
    "grid without params": ('[sweeps.w]\nengine = "builtin"\n', 1, "needs params"),
    "grid with parts": ('[sweeps.w]\nengine="builtin"\nparts={a={b=1}}\n', 1, "grid takes params, not parts"),
    "variant of a variant": (
        BASE + '[variants.a]\nengine="mine"\nset={per="span"}\n[variants.b]\nengine="a"\nset={per="span"}\n',
        8,
        "expected an engine, got a variant",
    ),
    "param that is no list": ('[sweeps.w]\nengine = "builtin"\nparams = { a = 1 }\n', 3, "params"),
    "param without a value": ('[sweeps.w]\nengine="builtin"\nparams={a=[]}\n', 1, "no value"),
    "value twice": ('[sweeps.w]\nengine="builtin"\nparams={a=[1, 1.0]}\n', 1, "twice"),
    "part that nothing switches off": (
        '[sweeps.w]\nengine="builtin"\nstrategy="leave-one-out"\nparts={a={}}\n',
        1,
        "no setting switches off",
    ),
    "name with an unknown field": ('[sweeps.w]\nengine="builtin"\nparams={a=[1]}\nname="{b}"\n', 1, "{b}"),
    "name that is the same for all": (
        '[sweeps.w]\nengine="builtin"\nparams={a=[1,2]}\nname="x"\n',
        1,
        "duplicate engine name",
    ),
    "more points than can be meant": (
        f'[sweeps.w]\nengine="builtin"\nparams={{a={list(range(101))},b={list(range(100))}}}\n',
        1,
        "got 10,100",
    ),
    "nothing but templates": ('\n[engines.mine]\nkind = "builtin"\ntemplate = true\n', 2, "template"),
    "template is a switch": ('[engines.mine]\nkind = "builtin"\ntemplate = "yes"\n', 3, "template"),
    "need of no kind": ('[engines.mine]\nkind = "builtin"\nrequires = ["rg"]\n', 1, "got 'rg'"),
    "need that is no text": ('[engines.mine]\nkind = "builtin"\nrequires = [1]\n', 3, "requires"),
    "unknown extra": ('[variants.x]\nengine="builtin"\nset={a=1}\nrequires=["extra:nope"]\n', 1, "unknown extra"),
    "references are a switch": ('[run]\nreferences = "yes"\n', 2, "references"),
}


@pytest.mark.parametrize(("text", "line", "message"), BAD.values(), ids=BAD.keys())
def test_mistake_in_the_file_is_an_error_with_its_line(tmp_path, text, line, message):
    with pytest.raises(ConfigError, match=message) as caught:
        load_spec(written(tmp_path, text))
    assert caught.value.exit_code == 2
    assert caught.value.hint or "expected" in caught.value.message
    if line is not None:
        assert caught.value.line == line
        assert "assay.toml" in str(caught.value)


def test_unknown_key_names_the_nearest_one(tmp_path):
    with pytest.raises(ConfigError) as caught:
        load_spec(written(tmp_path, "[run]\nmesures = []\n"))
    assert "measures" in str(caught.value.hint)


def test_file_that_is_not_utf8_is_an_error_with_its_line(tmp_path):
    path = tmp_path / "assay.toml"
    path.write_bytes(b'[run]\nout = "\xff"\n')
    with pytest.raises(ConfigError, match="UTF-8") as caught:
        load_spec(path)
    assert caught.value.line == 2


def test_flags_override_the_file_and_none_changes_nothing():
    spec = override(Spec(), k=20, margin=None)
    assert (spec.k, spec.margin, spec.analysis_plan().primary) == (20, 0.02, "nDCG@20")


def test_engine_flags_take_a_name_or_are_named_after_their_kind():
    table = parse_engine_flags(["builtin", "mine=command:x {query} a=b", "python:m:f"])
    assert table == {"builtin": "builtin", "mine": "command:x {query} a=b", "python": "python:m:f"}


def test_two_engines_of_one_name_are_refused():
    with pytest.raises(ConfigError, match="builtin"):
        parse_engine_flags(["builtin", "builtin"])


def test_names_of_the_references_are_reserved():
    with pytest.raises(ConfigError, match="reference"):
        check(Spec(engines={"keywords": "builtin"}))


def test_without_references_the_first_engine_is_the_baseline():
    spec = check(Spec(engines={"mine": "builtin", "other": "builtin:span"}, references=False))
    assert spec.analysis_plan().baseline == "mine"


def test_paths_of_the_file_are_relative_to_its_folder(tmp_path, monkeypatch):
    (tmp_path / "sub" / "src").mkdir(parents=True)
    (tmp_path / "sub" / "assay.toml").write_text('[run]\ngold = "g.csv"\ncorpus = "src"\n')
    monkeypatch.chdir(tmp_path)
    spec = load_spec(Path("sub/assay.toml"))
    assert (spec.gold, spec.corpus, spec.directory) == (("sub/g.csv",), "sub/src", Path("sub"))


def test_engine_flags_name_engines_of_the_file_before_anything_else():
    declared: dict[str, dict[str, Any] | str] = {
        "builtin": {"kind": "builtin", "per": "span"},
        "mine": {"kind": "command", "argv": ["x", "{query}"]},
    }
    table = with_engines(Spec(engines=declared), ["builtin", "other=mine", "keywords"]).engines
    assert table == {"builtin": declared["builtin"], "other": declared["mine"], "keywords": "keywords"}


def test_engine_flags_run_instead_of_all_that_the_file_declares(tmp_path):
    text = (
        BASE
        + '[variants.x]\nengine = "mine"\nset = { per = "span" }\n[engines.other]\nkind = "builtin"\ntemplate = true\n'
    )
    spec = with_engines(load_spec(written(tmp_path, text)), ["again=mine", "other"])
    assert [subject.name for subject in spec.entries()][:2] == ["again", "other"]
    assert (spec.variants, spec.entries()[0].location.line) == ({}, 2)


def test_times_are_measured_unless_something_asks_for_cells(tmp_path):
    variant = '[variants.x]\nengine = "builtin"\nset = { per = "span" }\n'
    cases = {"": True, "[run]\njobs = 0\n": False, "[run]\ntimes = false\n": False, variant: False}
    cases |= {f"[run]\ntimes = true\n{variant}": True}
    assert {text: load_spec(written(tmp_path, text)).timed for text in cases} == cases


SETS = {
    "run.k=20": lambda spec: spec.k == 20,
    "run.baseline=mine": lambda spec: spec.baseline == "mine",
    'run.measures=["RR@10", "P@5"]': lambda spec: spec.measures == ("RR@10", "P@5"),
    "run.gold=stdlib": lambda spec: spec.gold == ("stdlib",),
    "run.references=false": lambda spec: not spec.references,
    "engines.mine.search.stem.files=0.4": lambda spec: spec.entry("mine").settings["search"]["stem"]["files"] == 0.4,
    "engines.new.kind=builtin": lambda spec: spec.entry("new").settings == {"kind": "builtin"},
    "variants.x.set.search.without=[]": lambda spec: spec.entry("x").variation.changes == {"search.without": []},
    'variants.x.set."search.without"=[]': lambda spec: spec.entry("x").variation.changes == {"search.without": []},
    'sweeps.w.params.per=["span"]': lambda spec: spec.entry("w:per=span") is not None,
    "tune.seed=3": lambda spec: spec.tune == {"seed": 3},
}
SET_IN = (
    BASE
    + """\
[variants.x]
engine = "mine"
set = { "search.without" = ["stem"] }
[sweeps.w]
engine = "mine"
params = { per = ["file", "span"] }
"""
)


@pytest.mark.parametrize("text", SETS)
def test_set_changes_any_key_of_the_file(tmp_path, text):
    assert SETS[text](load_spec(written(tmp_path, SET_IN), sets=[text]))


def test_later_set_wins(tmp_path):
    assert load_spec(written(tmp_path, SET_IN), sets=["run.k=20", "run.k=30"]).k == 30


def test_set_needs_no_file():
    assert load_spec(sets=["run.k=20", "engines.mine.kind=builtin"]).entries()[0].name == "mine"


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("run.kk=3", "unknown key"),
        ("k=3", "unknown key"),
        ("run=3", "table"),
        ("run.k", "expected KEY=VALUE"),
        ("run.k=ten", "k: expected an integer, got 'ten'"),
        ("run.k=0", "k: expected a positive number, got 0"),
        ("run k=3", "invalid key"),
        ("run.baseline=nobody", "nobody"),
        ("extends=base.toml", "extends"),
        ("variants.y.set.per=span", "missing key 'engine'"),
        ("variants.x.engin=mine", "engin"),
    ],
)
def test_mistake_in_a_flag_names_the_flag(tmp_path, text, word):
    with pytest.raises(ConfigError, match=word) as caught:
        load_spec(written(tmp_path, SET_IN), sets=[text])
    assert caught.value.message.startswith(f"--set {text}: ")
    assert (caught.value.file, caught.value.exit_code) == (None, 2)


def test_unknown_setting_of_a_flag_names_the_flag_when_the_engine_is_made(tmp_path):
    text = "engines.mine.search.stem.fils=0.4"
    spec = load_spec(written(tmp_path, SET_IN), sets=[text])
    with pytest.raises(ConfigError, match="fils") as caught:
        engine_factory(spec, "mine").make()
    assert caught.value.message.startswith(f"--set {text}: ")


def test_unknown_setting_of_a_variant_is_told_with_its_line_when_it_is_made(tmp_path):
    text = BASE + '\n[variants.x]\nengine = "mine"\nset = { "search.stem.fils" = 0.1 }\n'
    path = written(tmp_path, text)
    with pytest.raises(ConfigError, match="x: .*fils") as caught:
        engine_factory(load_spec(path), "x").make()
    assert (caught.value.file, caught.value.line) == (str(path), 6)


@pytest.mark.parametrize("name", ["mine", "x", "w:per=span", "keywords"])
def test_everything_that_runs_can_be_made(tmp_path, name):
    assert engine_factory(load_spec(written(tmp_path, SET_IN)), name).make().role in ("candidate", "reference")


def test_only_names_what_runs():
    with pytest.raises(ConfigError, match="only = 'buildin'") as caught:
        check(Spec(only=("buildin",)))
    assert "builtin" in str(caught.value.hint)


def test_flag_is_not_blamed_for_what_the_file_says(tmp_path):
    text = BASE + "[engines.mine.search.noise]\nfiles = 3\n"
    spec = load_spec(written(tmp_path, text), sets=["engines.mine.search.stem.files=0.4"])
    with pytest.raises(ConfigError, match="noise") as caught:
        engine_factory(spec, "mine").make()
    assert (Path(str(caught.value.file)).name, caught.value.line) == ("assay.toml", 2)


def test_variant_of_a_variant_is_told_which_engine_to_name(tmp_path):
    text = (
        BASE + '[variants.a]\nengine = "mine"\nset = { per = "span" }\n[sweeps.s]\nengine = "a"\nparams = { x = [1] }\n'
    )
    with pytest.raises(ConfigError, match="expected an engine, got a variant") as caught:
        load_spec(written(tmp_path, text))
    assert caught.value.hint == "name the engine of that variant: 'mine'"


@pytest.mark.parametrize(("value", "shown"), [("0.1", "[0.1]"), ('"span"', '["span"]'), ("true", "[true]")])
def test_knob_with_a_single_value_is_told_how_a_list_is_written(tmp_path, value, shown):
    path = written(tmp_path, f"[sweeps.w]\nengine = 'builtin'\nparams = {{ x = {value} }}\n")
    with pytest.raises(ConfigError, match="params: expected a list for x") as caught:
        load_spec(path)
    assert caught.value.hint == f"write a list of values to try, such as {shown}"
    assert caught.value.line == 3


NEEDY = 'requires = ["env:ASSAY_TEST_GONE"]\n'


@pytest.mark.parametrize(
    ("text", "line", "word"),
    [
        ('[variants.x]\nengine = "mine"\nset = { "search.stm.files" = 1 }\n' + NEEDY, 5, "x: .*'stm'"),
        (
            '[sweeps.s]\nengine = "mine"\nparams = { per = ["fil"] }\n' + NEEDY,
            5,
            "per: expected one of auto, file, span, got 'fil'",
        ),
        ('[engines.y]\nkind = "command"\nargs = []\n' + NEEDY, 5, "'args'"),
        ('[engines.y]\nkind = "commnd"\n' + NEEDY, 5, "unknown kind"),
        ('[engines.y]\npreset = "semble"\nargs = []\n' + NEEDY, 5, "'args'"),
    ],
)
def test_what_is_skipped_is_checked_too(tmp_path, monkeypatch, text, line, word):
    monkeypatch.delenv("ASSAY_TEST_GONE", raising=False)
    path = written(tmp_path, BASE + text)
    with pytest.raises(ConfigError, match=word) as caught:
        select_engines(load_spec(path))
    assert (caught.value.file, caught.value.line) == (str(path), line)


def test_what_is_skipped_and_well_is_not_made(tmp_path, monkeypatch):
    monkeypatch.delenv("ASSAY_TEST_GONE", raising=False)
    text = BASE + '[engines.y]\nkind = "http"\nurl = "http://x/{query}"\ntoken_env = "ASSAY_TEST_GONE"\n' + NEEDY
    assert list(select_engines(load_spec(written(tmp_path, text)))[1]) == ["y"]
