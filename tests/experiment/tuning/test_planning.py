"""What an ablation and a grid run: parts, steps, points, and which queries they may see."""

from dataclasses import replace

import pytest

from assay.engines.base import EngineContext
from assay.engines.builtin import BuiltinEngine, ablations, make
from assay.engines.kinds import Component, list_components
from assay.errors import ConfigError, GoldError
from assay.experiment.ablation import find_parts, plan_ablation, select_queries, switched_off
from assay.experiment.spec import Spec
from assay.experiment.spec.variants import Sweep
from assay.experiment.tuning import TuneSettings, find_base, grid_points, parse_param, spec_with
from assay.search.config import STAGES
from assay.settings import apply_overrides
from assay.types import CorpusSpec, GoldSet, Query, Span, Suite, Target

PARTS = (
    Component("a", {"search.without": ["stem"]}),
    Component("b", {"x.b": 0}),
    Component("c", {"search.without": ["noise"]}),
)


def test_each_part_is_left_out_and_added_and_nothing_is_run_twice():
    variants, steps = plan_ablation(PARTS, "mine")
    changes = {variant.name: dict(variant.changes) for variant in variants}
    assert changes == {
        "without a": {"search.without": ["stem"]},
        "without b": {"x.b": 0},
        "without c": {"search.without": ["noise"]},
        "bare": {"search.without": ["stem", "noise"], "x.b": 0},
        "up to a": {"x.b": 0, "search.without": ["noise"]},
    }
    assert [(step.part, step.strategy, step.variant, step.against) for step in steps] == [
        ("a", "left out", "without a", "mine"),
        ("b", "left out", "without b", "mine"),
        ("c", "left out", "without c", "mine"),
        ("a", "added", "up to a", "bare"),
        ("b", "added", "without c", "up to a"),
        ("c", "added", "mine", "without c"),
    ]
    assert len(plan_ablation(PARTS, "mine", ("left out",))[0]) == 3
    assert len(plan_ablation(PARTS[:1], "mine")[0]) == 1  # without the only part it is bare


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ((), "no part"),
        ((Component("a"),), "no setting switches off"),
        ((PARTS[0], PARTS[0]), "duplicate part name 'a'"),
        ((Component("a", {"x": 1}), Component("b", {"x": 2})), "cannot switch off all parts"),
    ],
)
def test_parts_that_make_no_sense_are_refused(parts, said):
    with pytest.raises(ConfigError, match=said):
        plan_ablation(parts, "mine")


@pytest.mark.parametrize("per", ["file", "span"])
def test_every_part_of_the_reference_engine_can_be_switched_off(per):
    whole = make({"per": per}, EngineContext())
    parts = ablations({"per": per})
    assert len({part.name for part in parts}) == len(parts)
    for part in parts:
        changed = make(apply_overrides({"per": per}, part.off), EngineContext())
        assert changed.config != whole.config, part.name
    bare = make(apply_overrides({"per": per}, switched_off(parts)), EngineContext())
    assert isinstance(bare, BuiltinEngine)
    assert ablations({**apply_overrides({"per": per}, switched_off(parts))}) == ()


def test_signals_are_all_parts_but_those_that_never_speak():
    for per, silent in (("file", {"neighbours", "scope"}), ("span", {"references"})):
        names = {part.name for part in ablations({"per": per})}
        assert set(STAGES) - names == silent


def test_other_engines_name_no_parts_of_their_own():
    assert list_components({"kind": "command", "argv": ["x"]}) == ()
    assert list_components({"kind": "builtin"})


def test_a_sweep_names_the_parts_of_any_engine():
    sweep = Sweep("mine", "leave-one-out", parts={"one": {"env.A": "0"}, "two": {"env.B": "0"}})
    spec = Spec(engines={"mine": {"kind": "command", "argv": ["x", "{query}"]}}, sweeps={"parts": sweep})
    for name in ("parts", "mine", None):
        base, parts = find_parts(spec, name)
        assert base.name == "mine"
        assert [part.name for part in parts] == ["one", "two"]
    with pytest.raises(ConfigError, match="mine declares no parts"):
        find_parts(replace(spec, sweeps={}), "mine")
    with pytest.raises(ConfigError, match="grid"):
        find_parts(replace(spec, sweeps={"w": Sweep("mine", "grid", params={"a": (1,)})}), "w")


def test_the_engine_that_is_meant_is_found():
    assert find_base(Spec(), None).name == "builtin"
    assert find_base(Spec(), "builtin:span").settings == {"kind": "builtin", "per": "span"}
    two = Spec(engines={"a": {"kind": "builtin"}, "b": {"kind": "builtin", "per": "span"}})
    assert find_base(two, "b").settings["per"] == "span"
    with pytest.raises(ConfigError, match="expected one engine, got a, b"):
        find_base(two, None)


def test_variants_are_run_beside_the_engine_alone():
    base = find_base(Spec(baseline="keywords", sweeps={}), None)
    spec = spec_with(base, plan_ablation(list_components(base.settings), base.name)[0])
    assert spec.analysis_plan().baseline == "builtin"
    names = [subject.name for subject in spec.entries()]
    assert names[0] == "builtin"
    assert "keywords" not in names
    assert all(s.variation and s.variation.base == "builtin" for s in spec.entries()[1:])
    assert spec.timed is False


def test_a_grid_has_every_combination_but_the_engine_itself():
    params = {"search.stem.files": (0.0, 0.4), "search.dense.files": (0.5, 1)}
    points = grid_points(params, {"kind": "builtin"}, 100)
    assert [point.change.name for point in points] == [
        "stem.files=0.0,dense.files=0.5",
        "stem.files=0.0,dense.files=1",
        "stem.files=0.4,dense.files=0.5",
        "stem.files=0.4,dense.files=1",
    ]
    assert [len(point.moved) for point in points] == [1, 2, 1, 2]
    here = {"kind": "builtin", "search": {"stem": {"files": 0.4}}}
    assert len(grid_points(params, here, 100)) == 3


@pytest.mark.parametrize(
    ("params", "most", "said"),
    [
        ({}, 9, "no param"),
        ({"a": (1, 2), "b": (1, 2)}, 3, "got 4"),
        ({"search.dense.files": (0.5,)}, 9, "equals the engine's settings"),
        ({"a": ()}, 9, "a has no value"),
        ({"a": (1, 1.0)}, 9, "a has a value twice"),
    ],
)
def test_a_grid_that_makes_no_sense_is_refused(params, most, said):
    with pytest.raises(ConfigError, match=said):
        grid_points(params, {"kind": "builtin"}, most)


def test_knobs_are_read_from_flags():
    assert parse_param("a.b=0.1, 2,true") == ("a.b", (0.1, 2, True))
    assert parse_param("search.dense.fusion=max,rrf")[1] == ("max", "rrf")
    assert parse_param('w=["stem"],[]')[1] == (["stem"], [])
    for wrong in ("a.b", "=1", "a="):
        with pytest.raises(ConfigError, match="--param"):
            parse_param(wrong)


@pytest.mark.parametrize("wrong", [{"partitions": 0}, {"most": 0}])
def test_settings_of_tuning_are_checked(wrong):
    with pytest.raises(ConfigError):
        TuneSettings(**wrong)


def tuning_queries(suite, splits=()):
    return select_queries(suite, splits, "tuning", allow_test=False)


def ablation_queries(suite, splits=()):
    return select_queries(suite, splits, "ablations", allow_test=True)


def gold(name, *parts):
    queries = [
        Query(f"q{at}", {"human": "x"}, (Target(Span("f.py")),), tags={"split": part} if part else {})
        for at, part in enumerate(parts)
    ]
    return GoldSet(name, CorpusSpec("path", "."), tuple(queries))


def test_only_dev_queries_of_a_divided_set_are_given():
    selected, notes = tuning_queries(Suite((gold("a", "dev", "test", "sealed", "dev", None),)))
    assert [query.id for query in selected.golds[0].queries] == ["q0", "q3"]
    assert [note.kind for note in notes] == ["used"]
    assert "2 dev queries were used; 3 queries of other splits" in notes[0].text


def test_a_set_that_nobody_divided_is_used_whole_and_said_aloud():
    selected, notes = tuning_queries(Suite((gold("a", None, None),)))
    assert len(selected.golds[0].queries) == 2
    assert [note.kind for note in notes] == ["undivided"]
    assert "none are left to confirm the result" in notes[0].text
    assert "assay gold split" in notes[0].text


def test_a_set_of_test_queries_beside_one_with_dev_queries_is_left_alone():
    selected, notes = tuning_queries(Suite((gold("a", "test", "test"), gold("b", "dev"), gold("c", None))))
    assert [one.name for one in selected.golds] == ["b", "c"]


@pytest.mark.parametrize("parts", [("test",), ("sealed",), ("test", "sealed"), ("holdout", "holdout")])
def test_a_part_that_is_not_dev_is_refused_with_the_reason(parts):
    with pytest.raises(GoldError, match="no query in split 'dev'") as error:
        tuning_queries(Suite((gold("a", *parts),)))
    assert "assay gold split" in str(error.value)


@pytest.mark.parametrize("asked", ["test", "sealed", "Dev", "all"])
def test_no_flag_opens_another_part(asked):
    with pytest.raises(ConfigError, match="cannot be used for tuning"):
        tuning_queries(Suite((gold("a", "dev", "test"),)), (asked,))


@pytest.mark.parametrize("part", ["Dev", "tst", "seald"])
def test_a_misspelt_part_is_an_error_and_no_way_in(part):
    with pytest.raises(GoldError, match="did you mean"):
        tuning_queries(Suite((gold("a", "dev", part),)))


def test_an_ablation_opens_test_queries_where_asked_and_sealed_ones_never():
    suite = Suite((gold("a", "dev", "test", "sealed"),))
    assert [q.id for q in ablation_queries(suite)[0].golds[0].queries] == ["q0"]
    selected, notes = ablation_queries(suite, ("test",))
    assert [query.id for query in selected.golds[0].queries] == ["q1"]
    assert [note.kind for note in notes] == ["used up"]
    for asked in (("sealed",), ("dev", "sealed")):
        with pytest.raises(ConfigError, match="cannot be used for ablations"):
            ablation_queries(suite, asked)
    with pytest.raises(ConfigError, match="no query in split"):
        ablation_queries(Suite((gold("a", None),)), ("test",))


def test_some_parts_are_taken_by_name_or_glob():
    _, parts = find_parts(Spec(), "builtin", ["st*", "dense"])
    assert [part.name for part in parts] == ["dense", "stem"]
    with pytest.raises(ConfigError, match="matches no part"):
        find_parts(Spec(), "builtin", ["nothing"])
