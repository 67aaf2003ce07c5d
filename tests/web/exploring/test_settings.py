"""The settings that a page may change."""

from assay.experiment import read_run
from assay.web.exploring.settings import changed_config, described, values_of


def test_settings_have_help_and_present_values(runs):
    named = {one["name"]: one for one in described()}
    assert named["search.stem.files"]["about"]
    assert named["search.stem.files"]["type"] == "a number"
    assert named["per"]["choices"] == ["file", "span"]
    assert named["search.index.chunks.size"]["index"]
    assert not named["search.stem.files"]["index"]
    assert not [name for name in named if name.endswith(("url", "token_env"))]
    mine = next(engine for engine in read_run(runs / "before").engines if engine.name == "mine")
    assert values_of(mine) == {"search.stem.files": 0.0, "search.dense.model": ""}
    assert changed_config(mine, {"search.stem.files": 2})["search"]["stem"]["files"] == 2
