"""Hashes of what lines say."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from assay.gold.anchors import DIGEST_LENGTH, content_digest, find_digest

LINES = st.lists(st.text(alphabet="ab \t", max_size=3), min_size=1, max_size=8)


def test_content_digest_is_sha256_over_lines_without_trailing_blanks():
    wanted = hashlib.sha256(b"  a\n\nb").hexdigest()[:DIGEST_LENGTH]
    assert content_digest(["  a \t\r", "", "b"]) == wanted
    assert content_digest([" a", "", "b"]) != wanted


@given(LINES, st.data())
def test_places_are_exactly_where_the_lines_say_the_same(lines, data):
    start = data.draw(st.integers(1, len(lines)))
    end = data.draw(st.integers(start, len(lines)))
    bare = [line.rstrip() for line in lines]
    length = end - start + 1
    wanted = [at + 1 for at in range(len(lines) - length + 1) if bare[at : at + length] == bare[start - 1 : end]]
    assert list(find_digest(lines, content_digest(lines[start - 1 : end]), length)) == wanted
