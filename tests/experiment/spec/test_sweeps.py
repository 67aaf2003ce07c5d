"""The points of a sweep: as many as they should be, each once, always in one order."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.experiment.spec import Spec, check
from assay.experiment.spec.engine_entries import duplicate_notes
from assay.experiment.spec.variants import MOST_POINTS, Sweep, Variant, points, short_labels, value_text
from assay.settings import apply_overrides

KEYS = st.lists(st.from_regex(r"[a-z]{1,3}(\.[a-z]{1,3}){0,2}", fullmatch=True), min_size=1, max_size=4, unique=True)
VALUES = st.lists(
    st.one_of(st.integers(-5, 5), st.booleans(), st.sampled_from(["a", "b"])),
    min_size=1,
    max_size=4,
    unique_by=lambda value: str(value).lower(),
)


@st.composite
def params(draw) -> dict[str, list[Any]]:
    """Draw params that do not lie inside one another."""
    keys = draw(KEYS)
    apart = [k for k in keys if not any(o != k and (f"{k}.").startswith(f"{o}.") for o in keys)]
    return {key: draw(VALUES) for key in apart}


def made(sweep: Sweep, own: dict[str, Any] | None = None, *, template: bool = False) -> list:
    return points("s", sweep, centre=lambda key: (own or {}).get(key, "nothing like it"), template=template)


def settings(spec: Spec, name: str) -> object:
    return {entry.name: entry.settings for entry in spec.entries()}[name]


@given(params())
def test_grid_has_the_product_of_its_values(turned):
    found = made(Sweep("e", "grid", turned))
    assert len(found) == math.prod(len(values) for values in turned.values())
    assert len({point.name for point in found}) == len(found)
    assert [point.changes for point in found] == [point.changes for point in made(Sweep("e", "grid", turned))]
    assert all(set(point.changes) == set(turned) for point in found)


def test_grid_turns_the_last_knob_fastest():
    found = made(Sweep("e", "grid", {"a.x": (1, 2), "b": ("u", "v")}))
    assert [p.name for p in found] == ["s:x=1,b=u", "s:x=1,b=v", "s:x=2,b=u", "s:x=2,b=v"]


@given(params(), st.data(), st.booleans())
def test_one_at_a_time_is_the_engine_and_every_other_value(turned, data, template):
    own = {key: data.draw(st.sampled_from([*values, "elsewhere"])) for key, values in turned.items()}
    others = sum(value is not own[key] for key, values in turned.items() for value in values)
    found = made(Sweep("e", "one-at-a-time", turned), own, template=template)
    assert len(found) == others + template
    assert all(len(point.changes) == 1 for point in found[template:])
    assert not template or (found[0].name, found[0].changes) == ("s:centre", {})


@given(st.lists(st.from_regex(r"[a-z]{1,4}", fullmatch=True), min_size=1, max_size=6, unique=True))
def test_leave_one_out_has_one_point_a_part_and_nothing_else(names):
    off = {name: {"without": [name]} for name in names}
    found = made(Sweep("e", "leave-one-out", parts=off), template=True)
    assert [(point.name, point.changes) for point in found] == [(f"s:no-{name}", off[name]) for name in names]


def test_largest_grid_is_made_and_one_more_is_refused():
    knobs_of = {"a": tuple(range(100)), "b": tuple(range(100))}
    assert len(made(Sweep("e", "grid", knobs_of))) == MOST_POINTS
    with pytest.raises(ConfigError, match="10,100"):
        made(Sweep("e", "grid", knobs_of | {"a": tuple(range(101))}))


@pytest.mark.parametrize(
    ("sweep", "names"),
    [
        (Sweep("e", "grid", {"a.x": (1,), "b.x": (2,)}), ["s:a.x=1,b.x=2"]),
        (Sweep("e", "grid", {"a.x": (0.3, 0.5)}, name="w{a.x}"), ["w0.3", "w0.5"]),
        (Sweep("e", "grid", {"a.x": (0.3, 0.5)}, name="w{x}"), ["w0.3", "w0.5"]),
        (Sweep("e", "one-at-a-time", {"a.x": (1,)}, name="{param} is {value}"), ["x is 1"]),
        (Sweep("e", "leave-one-out", parts={"p": {"a": 1}}, name="ours, no {part}"), ["ours, no p"]),
        (Sweep("e", "grid", {"a": (True, ["x", "y"], [], {"k": 1})}), ["s:a=true", "s:a=x+y", "s:a=[]", "s:a={k=1}"]),
    ],
)
def test_points_are_named_as_told_or_after_their_settings(sweep, names):
    assert [point.name for point in made(sweep)] == names


@given(KEYS)
def test_short_labels_tell_keys_apart(keys):
    labels = short_labels(keys)
    assert len(set(labels.values())) == len(keys)
    assert all(key == label or key.endswith(f".{label}") for key, label in labels.items())


def test_applied_changes_leave_the_rest_and_the_original_alone():
    settings = {"kind": "x", "search": {"stem": {"files": 1, "spans": 2}}}
    assert apply_overrides(settings, {"search.stem.files": 3})["search"] == {"stem": {"files": 3, "spans": 2}}
    assert settings["search"] == {"stem": {"files": 1, "spans": 2}}


def test_value_text_is_plain():
    assert [value_text(v) for v in (0.3, 1, "a/b", False)] == ["0.3", "1", "a/b", "false"]


ENGINE = {"kind": "builtin", "search": {"stem": {"files": 0.2}}}


def test_subjects_stand_in_the_order_engines_variants_sweeps_references():
    spec = check(
        Spec(
            engines={"mine": ENGINE, "hidden": {"kind": "builtin", "template": True}},
            variants={"v": Variant("hidden", {"per": "span"})},
            sweeps={"s": Sweep("mine", "grid", {"search.stem.files": (0.1, 0.3)})},
        )
    )
    names = ["mine", "v", "s:files=0.1", "s:files=0.3", "random", "keywords", "oracle"]
    assert [subject.name for subject in spec.entries()] == names
    variation = spec.entries()[2].variation
    assert variation is not None
    assert (variation.base, variation.changes, variation.sweep) == ("mine", {"search.stem.files": 0.1}, "s")
    assert settings(spec, "s:files=0.1") == {
        "kind": "builtin",
        "search": {"stem": {"files": 0.1}},
    }


def test_value_that_the_engine_has_anyway_is_no_point_around_it():
    around = {"search.stem.files": (0.2, 0.3), "per": ("auto", "span")}  # auto is the default of the kind
    spec = check(Spec(engines={"mine": ENGINE}, sweeps={"s": Sweep("mine", "one-at-a-time", around)}))
    assert [s.name for s in spec.entries() if s.variation] == ["s:files=0.3", "s:per=span"]


def test_point_of_a_grid_that_is_the_engine_is_told_and_kept():
    spec = check(Spec(engines={"mine": ENGINE}, sweeps={"s": Sweep("mine", "grid", {"search.stem.files": (0.2, 0.3)})}))
    assert len(spec.entries()) == 6
    assert duplicate_notes(spec) == ["s:files=0.2 has the same settings as mine: its ranking will be the same"]


def test_variants_of_an_engine_that_is_named_by_a_text():
    spec = check(Spec(engines={"mine": "builtin:span"}, variants={"v": Variant("mine", {"search.without": ["stem"]})}))
    assert settings(spec, "v") == {
        "kind": "builtin",
        "per": "span",
        "search": {"without": ["stem"]},
    }


def test_two_sweeps_may_not_give_one_name():
    sweep = Sweep("builtin", "grid", {"per": ("span",)}, name="x")
    with pytest.raises(ConfigError, match="duplicate engine name 'x'"):
        check(Spec(sweeps={"a": sweep, "b": sweep}))


def test_short_names_mean_one_setting_in_the_whole_file():
    spans = {"a": "search.definition.spans", "b": "search.stem.spans", "c": "search.stem.files"}
    sweeps = {name: Sweep("builtin", "grid", {key: (0.1,)}) for name, key in spans.items()}
    sweeps["d"] = Sweep("builtin", "one-at-a-time", {"search.stem.spans": (0.7,)}, name="{param} {value}")
    sweeps["e"] = Sweep("builtin", "grid", {"search.stem.spans": (0.8,)}, name="{spans}, {stem.spans}")
    names = [subject.name for subject in check(Spec(sweeps=sweeps)).entries() if subject.variation]
    assert names == ["a:definition.spans=0.1", "b:stem.spans=0.1", "c:files=0.1", "stem.spans 0.7", "0.8, 0.8"]
