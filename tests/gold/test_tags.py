"""Tags from outside, for formats without a column for them."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.gold import TagRule
from tests.gold.formats.files import OCTOCODE, caught, load_one
from tests.properties import examples


def test_tag_rules_mark_rows(tmp_path):
    text = OCTOCODE + "".join(f"q{n},a.rs:{n}-{n}:2,,\n" for n in range(1, 6))
    gold = load_one(tmp_path, "code.csv", text, tags=[TagRule.parse("difficulty=hard:2-3,5")])
    assert [q.tags.get("difficulty") for q in gold.queries] == [None, "hard", "hard", None, "hard"]
    assert "expected rows from 1 to" in caught(tmp_path, "code.csv", text, tags=[TagRule.parse("a=b:6")]).message


@pytest.mark.parametrize("text", ["", "a", "a=b", "a=b:", "a=b:0-2", "a=b:3-2", "a=b:x", "=b:1", "a=:1", "a=b:1-2-3"])
def test_tag_rules_refuse_what_they_are_not(text):
    with pytest.raises(ConfigError):
        TagRule.parse(text)


@examples(100)
@given(st.text(max_size=40))
def test_tag_rules_of_any_text_parse_or_are_refused(text):
    with contextlib.suppress(ConfigError):
        assert TagRule.parse(text).rows
