"""Flags say what happens without them: their defaults are those of the configuration."""

import re

import pytest

from assay.cli.main import build_parser
from assay.gold.split import SPLIT_UNITS, SPLITS, SplitOptions, SplitShares
from assay.gold.synth import DRAW
from assay.scoring.pooling import PoolConfig
from assay.stats.config import DEFAULT


def flags(*argv: str) -> dict[str, object]:
    return vars(build_parser().parse_args(["gold", *argv]))


def described(capsys, action: str) -> str:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["gold", action, "--help"])
    return " ".join(capsys.readouterr().out.split())


def test_split_divides_as_its_configuration_says(capsys):
    given = flags("split", "gold.yaml")
    assert (given["by"], given["seed"], given["depth"]) == (None, SplitOptions().seed, SplitOptions().depth)
    assert "else module" in (help_ := described(capsys, "split"))
    assert SplitOptions().by == "module"
    assert [given[part] for part in SPLITS] == [None] * len(SPLITS)
    assert SplitShares.of() == SplitShares()
    shares = [f"{share:g}" for share in SplitShares().values()]
    assert re.findall(r"--(?:dev|test|sealed) X Set the share of \w+ queries \[default: ([.\d]+)\]", help_) == shares
    assert given["sd"] == DEFAULT.assumed_sd
    assert [flags("split", "gold.yaml", "--by", way)["by"] for way in SPLIT_UNITS] == list(SPLIT_UNITS)


def test_pool_review_and_synth_have_the_defaults_of_their_configurations():
    assert flags("pool", "gold.yaml", "results")["depth"] == PoolConfig().depth
    assert flags("review", "gold.yaml")["min_votes"] is None  # as the review rules allow
    synth = flags("synth", ".")
    assert (synth["count"], synth["max_per_file"], synth["seed"]) == (DRAW.count, DRAW.max_per_file, DRAW.seed)
