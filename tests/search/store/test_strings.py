from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.store.array_file import StringColumn, pack_strings

_text = st.text(st.characters(exclude_categories=())) | st.text("ab", max_size=3)


@given(st.lists(_text, max_size=20))
def test_strings_come_back_one_by_one_and_together(texts) -> None:
    blob, offsets = pack_strings(texts)
    assert (blob.dtype.str, offsets.dtype.str) == ("|u1", "<i8")
    strings = StringColumn(blob, offsets)
    assert len(strings) == len(texts)
    assert strings.all() == texts
    assert [strings[index] for index in range(len(texts))] == texts
    assert [strings[index] for index in range(-len(texts), 0)] == texts
    assert list(iter(strings)) == texts


@pytest.mark.parametrize("index", [2, -3])
def test_strings_outside_the_list_are_an_index_error(index) -> None:
    with pytest.raises(IndexError):
        StringColumn(*pack_strings(["a", "b"]))[index]
