"""Ids of other tools become sound ones, always the same, and no two become one."""

from hypothesis import given
from hypothesis import strategies as st

from assay.gold.build import GoldLocation, describe_renames, safe_ids

IDS = st.lists(st.text(st.sampled_from("ab-/ \t2"), min_size=1, max_size=5).filter(str.strip), max_size=8)


@given(IDS)
def test_sound_ids_are_sound_distinct_and_keep_what_was_sound(originals):
    ids = safe_ids(originals)
    assert set(ids) == set(originals)
    assert len(set(ids.values())) == len(ids)
    for original, sound in ids.items():
        assert GoldLocation("f", 1).name(sound, "the id") == sound
        if "/" not in original and not any(character.isspace() for character in original):
            assert sound == original
    assert safe_ids(originals) == ids


def test_sound_ids_step_aside_for_those_that_were_there():
    assert safe_ids(["a b", "a/b", "a-b", "/", " "]) == {
        "a-b": "a-b",
        "a b": "a-b-2",
        "a/b": "a-b-3",
        "/": "id",
        " ": "id-2",
    }


def test_describe_renames_lists_the_first_and_counts_the_rest():
    assert describe_renames(safe_ids(["a", "b"])) == {}
    told = describe_renames(safe_ids([f"a {number}" for number in range(30)]))["ids"]
    assert "'a 0' → a-0" in told
    assert told.endswith("and 10 more")
