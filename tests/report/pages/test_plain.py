"""Values as JSON can hold them, and written as the standard library would."""

from __future__ import annotations

import json
from dataclasses import asdict

from hypothesis import given
from hypothesis import strategies as st

from assay.report.render.formatting import format_json, plain
from assay.types import Adversary, Span, Target

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)


@given(VALUES)
def test_indented_writes_what_the_standard_library_writes(value):
    shown = plain(value)
    assert format_json(shown) == json.dumps(shown, indent=1, ensure_ascii=False, allow_nan=False)


def test_plain_takes_records_apart_by_field_however_deep():
    record = Adversary(Target(Span("a", 1, 2), symbol="f"), "caller", "strong", "half \ud800")
    assert plain([record]) == plain([asdict(record)])
    assert plain(Span) is Span  # a class is no record
