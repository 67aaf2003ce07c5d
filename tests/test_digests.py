"""Digests that records and files hold: the same value for ever."""

import json
from pathlib import PurePosixPath

from assay.digests import digest_of, text_digest
from assay.experiment.records import config_hash
from assay.gold.build import gold_hash
from assay.types import CorpusSpec, GoldSet, Query


def test_a_digest_is_that_of_sorted_json():
    plain = json.dumps({"a": [1, "é"], "b": "c/d"}, sort_keys=True)
    assert digest_of({"b": PurePosixPath("c/d"), "a": (1, "é")}) == text_digest(plain)
    assert text_digest("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert text_digest("\udc80") != text_digest("\udc81")


def test_recorded_hashes_keep_their_values():
    assert config_hash({"b": [1, 2.5], "a": {"ü": None}}) == "47d5a2a1108a077d"
    gold = GoldSet("g", CorpusSpec("path", "."), (Query("q", {"text": "where ü"}, ()),))
    assert gold_hash(gold) == "e1aaa5353a37aaea94a7aa17ee0cc49aab399c8c2c8aa2b44380ebb8705d2bcc"
