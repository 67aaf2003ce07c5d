"""Every cell in exactly one part."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError
from assay.experiment.shards import ShardId, choose, parse_shard


@given(st.integers(0, 300), st.integers(1, 40))
def test_parts_are_the_plan_in_its_order_and_of_one_size(cells, of):
    parts = [choose(range(cells), ShardId(index, of)) for index in range(1, of + 1)]
    assert [cell for part in parts for cell in part] == list(range(cells))
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_shard_is_written_as_it_is_read():
    assert str(parse_shard(" 2/4 ")) == "2/4"


@pytest.mark.parametrize("text", ["0/4", "5/4", "1", "1/0", "-1/4", "a/b", "1/4/2", "", "١/٤"])
def test_shard_that_is_none_is_refused(text):
    with pytest.raises(ConfigError, match="--shard"):
        parse_shard(text)


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("5/4", "5 is more than 4"),
        ("0/3", "numbered from 1"),
        ("1/0", "numbered from 1"),
        ("a/b", "expected I/N, got 'a/b'"),
    ],
)
def test_what_is_wrong_with_a_shard_is_said(text, wrong):
    with pytest.raises(ConfigError, match=f"--shard.*: .*{wrong}"):
        parse_shard(text)
