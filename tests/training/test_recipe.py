"""Recipes as people write them."""

import pytest

from assay.errors import ConfigError
from assay.training.config import TrainConfig
from assay.training.pipeline import read_recipe


def recipe(tmp_path, text: str) -> TrainConfig:
    (tmp_path / "recipe.toml").write_text(text)
    return read_recipe(tmp_path / "recipe.toml", TrainConfig)


def test_what_is_not_said_is_the_default(tmp_path):
    assert recipe(tmp_path, "") == TrainConfig()
    found = recipe(tmp_path, "seed = 3\n[vectors]\nsteps = 9\n[vectors.hard]\nshare = 0.5\n[mining.caps]\ndoc = 7\n")
    assert (found.seed, found.vectors.steps, found.vectors.hard.share, found.mining.caps.doc) == (3, 9, 0.5, 7)
    assert found.vectors.dimension == TrainConfig().vectors.dimension


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[vectors]\nstep = 9\n", r"recipe.toml:2: .*unknown setting 'step'\n.*did you mean 'steps'"),
        ("seed = 1\n\n[vectros]\nsteps = 9\n", r"recipe.toml:4: .*unknown setting 'vectros'"),
        ("[vectors]\nhard.shares = 0.5\n", r"recipe.toml:2: .*unknown setting 'shares'"),
        ("[vectors]\nsteps = 'many'\n", r"recipe.toml:2: .*steps: expected an integer, got 'many'"),
        ("[vectors]\n\nbatch = 1\n", r"recipe.toml:3: recipe: vectors.batch: expected at least 2, got 1"),
        ("[vectors]\nquery_dropout = 1.5\n", r"recipe.toml:2: .*query_dropout: expected .* from 0 to 1, got 1.5"),
        ("[mining.caps]\ndoc = 0\n", r"recipe.toml:2: .*doc: expected at least 1, got 0"),
        ("vectors = 3\n", r"recipe.toml:1: "),
        ("[vectors\n", r"recipe.toml:1: invalid TOML"),
    ],
)
def test_a_mistake_has_its_line(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        recipe(tmp_path, text)
