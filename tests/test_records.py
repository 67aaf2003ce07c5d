"""The dataclasses of `assay.records` behave as those of the standard library."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from typing import ClassVar

import pytest

from assay import records

MAKERS = {"standard": dataclasses.dataclass, "lazy": records.dataclass}


@records.dataclass(frozen=True, slots=True)
class Pickled:
    name: str
    places: tuple[int, ...] = ()


def make_classes(dataclass):
    @dataclass(frozen=True, slots=True, order=True)
    class Place:
        path: str
        line: int = 1
        seen: list[str] = field(default_factory=list, compare=False, repr=False)
        label: str = field(default="", kw_only=True)
        count: ClassVar[int] = 3

        def __post_init__(self):
            object.__setattr__(self, "line", max(self.line, 1))

    @dataclass(frozen=True)
    class Wide(Place):
        end: int = 9

    @dataclass(slots=True)
    class Box:
        value: int
        total: int = field(init=False, default=5)

    return Place, Wide, Box


def behavior(dataclass):
    place_class, wide_class, box_class = make_classes(dataclass)
    place = place_class("a.py", 0, label="x")
    later = place_class("b.py", line=3)
    box = box_class(2)
    box.value = 4
    return {
        "repr": [repr(place), repr(wide_class("w", 2)), repr(box)],
        "eq": [place == place_class("a.py", 1, ["other"], label="x"), place == later, place == 1],
        "order": [place < later, sorted([later, place])[0] == place, place >= later],
        "hash": [hash(place) == hash(place_class("a.py", 1, label="x")), box_class.__hash__],
        "fields": [
            [(each.name, each.kw_only, each.init) for each in fields(made)] for made in (place_class, wide_class)
        ],
        "replace": [replace(place, path="c").path, replace(box, value=1).total],
        "asdict": [asdict(place), asdict(wide_class("w"))],
        "separate": place_class("a").seen is not place_class("a").seen,
        "match": [place_class.__match_args__, wide_class.__match_args__],
        "slots": [hasattr(place, "__dict__"), hasattr(box, "__dict__")],
        "constant": [place_class.count, wide_class.end],
        "copy": copy.deepcopy(place) == place,
    }


def test_classes_behave_as_those_of_the_standard_library() -> None:
    assert behavior(records.dataclass) == behavior(dataclasses.dataclass)


@pytest.mark.parametrize("maker", MAKERS)
def test_frozen_instances_refuse_changes_and_wrong_arguments_are_errors(maker) -> None:
    place_class, _, _ = make_classes(MAKERS[maker])
    place = place_class("a")
    with pytest.raises(FrozenInstanceError):
        place.path = "b"
    with pytest.raises(FrozenInstanceError):
        del place.path
    with pytest.raises(TypeError):
        place_class()
    with pytest.raises(TypeError):
        place_class("a", 1, [], "label")


def test_instances_survive_a_pickle() -> None:
    assert pickle.loads(pickle.dumps(Pickled("a", (1, 2)))) == Pickled("a", (1, 2))


def test_signature_has_names_types_and_defaults_before_the_first_call():
    @records.dataclass(frozen=True)
    class Point:
        x: int
        y: int = 2

    assert str(inspect.signature(Point)) == "(x: 'int', y: 'int' = 2) -> None"
    Point(1)
    assert str(inspect.signature(Point)) == "(x: 'int', y: 'int' = 2) -> None"
    with pytest.raises(AttributeError):
        _ = Point(1).__signature__  # type: ignore[attr-defined]
