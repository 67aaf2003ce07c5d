"""The model that ships: what it was learned from, and that the recipe in the repository is the one it was made by."""

import json
import tomllib
from dataclasses import asdict
from importlib import resources
from pathlib import Path

import pytest

from assay.search.static import open_static
from assay.training.config import TrainConfig
from assay.training.pipeline import read_recipe
from assay.training.repositories import PERMISSIVE
from assay.training.selection import read_exclusions
from benchmarks.quality.synthetic import PACKAGES, REPORTED

PROJECT = Path(__file__).resolve().parent.parent.parent
RECIPES = PROJECT / "recipes"
#: The languages that the issue names; a model that never saw one would be no help there.
LANGUAGES = {
    "bash", "c", "cpp", "csharp", "elixir", "go", "haskell", "java", "javascript", "kotlin", "lua", "php", "python",
    "ruby", "rust", "scala", "swift", "typescript", "zig",
}  # fmt: skip
MEGABYTE = 1_000_000
#: Settings that came after the model was mined: what they leave out was left out by repository (recipes/shipped.toml).
YOUNGER = {"mining.windows.share", "mining.windows.fewest", "mining.texts"}


@pytest.fixture(scope="module")
def folder():
    return Path(str(resources.files("assay.data").joinpath("model")))


@pytest.fixture(scope="module")
def manifest(folder):
    return json.loads((folder / "manifest.json").read_text(encoding="utf-8"))


def test_it_holds_at_least_two_hundred_repositories_in_nineteen_languages(manifest):
    assert len(manifest["repositories"]) >= 200
    assert {language for one in manifest["repositories"] for language in one["languages"]} >= LANGUAGES


def test_every_entry_names_its_address_its_commit_and_a_permissive_licence(manifest):
    for one in manifest["repositories"]:
        assert one["url"].startswith("https://"), one
        assert len(one["commit"]) == 40, one
        assert one["licence"], one
        assert {name for part in one["licence"].split(" AND ") for name in part.split(" OR ")} <= PERMISSIVE, one


def test_nothing_on_the_exclusion_list_is_in_the_manifest(manifest):
    never = read_exclusions(RECIPES / "never-train.txt").names
    names = {name.casefold() for name in never} | {name.rpartition("/")[2].casefold() for name in never}
    for one in manifest["repositories"]:
        assert one["repository"].casefold() not in names
        assert one["repository"].rpartition("/")[2].casefold() not in names
        assert "/".join(one["url"].removesuffix(".git").split("/")[-2:]).casefold() not in names


def test_the_exclusion_list_has_every_corpus_that_a_gold_set_of_the_project_names():
    never = {name.casefold() for name in read_exclusions(RECIPES / "never-train.txt").names}
    assert "python/cpython" in never  # the standard library's set
    homes = {name.rpartition("/")[2] for name in never}
    assert {pin.partition("==")[0].casefold() for pin in PACKAGES} <= homes
    assert set(REPORTED) <= homes
    shared = PROJECT.parent / "shared" / "gold" / "never-train.txt"
    if shared.is_file():
        assert {name.casefold() for name in read_exclusions(shared).names} <= never


def test_the_model_was_made_by_the_recipe_in_the_repository(folder):
    about = json.loads((folder / "model.json").read_text(encoding="utf-8"))
    recipe = read_recipe(RECIPES / "shipped.toml", TrainConfig)
    said = flat(asdict(recipe))
    made = flat(about["settings"])
    assert said.keys() - made.keys() <= YOUNGER
    assert {dotted: said[dotted] for dotted in made} == made
    written = flat(tomllib.loads((RECIPES / "shipped.toml").read_text(encoding="utf-8")))
    assert written.keys() <= flat(asdict(TrainConfig())).keys()


def flat(table, prefix=""):
    """Give nested settings by dotted name."""
    found: dict[str, object] = {}
    for name, value in table.items():
        found |= flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return found


def test_it_is_small_enough_for_a_wheel(folder):
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 12 * MEGABYTE


def test_it_knows_words_and_what_they_are_called_in_code():
    model = open_static()
    assert len(model.term) >= 20_000
    assert len(model.source) >= 2_000
    assert (model.term[1:] > model.term[:-1]).all()
