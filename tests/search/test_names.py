"""How well names fit words, by hand-computed cases."""

from __future__ import annotations

from math import isclose

import numpy as np
import pytest

from assay.search.query import directory_names, stem_name, whole_hash
from assay.search.table import NameRow, names_table
from assay.search.view import NameIndex, NameMatches, PrefixRules

_NAMES = ["parseArgs", "parse", "configuration", "read_config_file", "x"]
_EXACT = PrefixRules(weight=0.0)


def match(words: list[str], weights: list[float], prefixes: PrefixRules = _EXACT) -> dict[str, tuple[float, float]]:
    index = NameIndex(names_table([NameRow(n, name) for n, name in enumerate(_NAMES)]))
    found: NameMatches = index.match(words, prefixes)
    pairs = zip(found.precision.tolist(), found.recall(np.array(weights)).tolist(), strict=True)
    return {_NAMES[owner]: pair for owner, pair in zip(found.owner.tolist(), pairs, strict=True)}


def test_precision_is_the_share_of_the_name_and_recall_the_share_of_the_query() -> None:
    # The parts of parseArgs are the roots pars and arg: seven characters, four of them matched by one word of two.
    found = match(["pars", "file"], [3.0, 1.0])
    assert found == {"parseArgs": (4 / 7, 0.75), "parse": (1.0, 0.75), "read_config_file": (4 / 14, 0.25)}


def test_both_words_of_a_name_match_it_whole() -> None:
    assert match(["arg", "pars"], [1.0, 1.0])["parseArgs"] == (1.0, 1.0)


def test_words_without_weight_share_recall_evenly_and_nothing_is_found_for_nothing() -> None:
    assert match(["pars"], [0.0])["parse"] == (1.0, 1.0)
    assert match([], []) == {}
    assert match(["absent"], [1.0]) == {}


def test_prefix_counts_by_the_share_in_common() -> None:
    # The root of configuration is configur: six of its eight letters, times the weight.
    found = match(["config"], [2.0], PrefixRules(inside=4, apart=5, weight=0.5))
    share = 0.5 * 6 / 8
    assert found["configuration"] == pytest.approx((share, share))
    assert found["read_config_file"] == pytest.approx((6 / 14, 1.0))
    assert "parse" not in found


def test_words_that_go_different_ways_need_more_in_common() -> None:
    assert match(["configx"], [1.0], PrefixRules(4, 5, 1.0))["configuration"][1] == pytest.approx(6 / 8)
    assert "configuration" not in match(["confer"], [1.0], PrefixRules(4, 5, 1.0))


def test_part_matched_by_two_words_counts_once_by_the_better_one() -> None:
    found = match(["config", "configur"], [1.0, 1.0], PrefixRules(4, 5, 1.0))
    precision, recall = found["configuration"]
    assert precision == 1.0
    assert isclose(recall, (6 / 8 + 1) / 2)


@pytest.mark.parametrize(
    ("path", "stem", "folders"),
    [
        ("a/b/cart.py", "cart", "a b"), ("src/shop/mod.rs", "shop", "src shop"), ("web/index.ts", "web", "web"),
        ("pkg/__init__.py", "pkg", "pkg"), ("index.js", "index", ""), (".eslintrc.json", "eslintrc", ""),
        ("a/cart.test.ts", "cart", "a"), ("Makefile", "Makefile", ""),
    ],
)  # fmt: skip
def test_file_is_called_by_its_stem_or_its_folder(path: str, stem: str, folders: str) -> None:
    assert (stem_name(path), directory_names(path)) == (stem, folders)


def test_whole_hash_joins_the_parts_whatever_their_case() -> None:
    assert whole_hash("parseArgs") == whole_hash("parse_args") == whole_hash("ParseARGS") != whole_hash("parse")
