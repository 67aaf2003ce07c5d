"""How targets are written."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold.anchors import parse_target
from assay.gold.build import GoldLocation
from assay.types import Span, Target

HERE = GoldLocation("gold.yaml", 7)

GOOD = {
    "a.py": Target(Span("a.py")),
    "a/b c.py": Target(Span("a/b c.py")),
    ".github/x.yml": Target(Span(".github/x.yml")),
    "a..b/c.py": Target(Span("a..b/c.py")),
    "a.py:10-42": Target(Span("a.py", 10, 42)),
    "a.py:7-7": Target(Span("a.py", 7, 7)),
    "a.py:10-42#0123456789ab": Target(Span("a.py", 10, 42), digest="0123456789ab"),
    "a#b.py": Target(Span("a#b.py")),
    "a.js::A.#owner": Target(Span("a.js"), symbol="A.#owner"),
    "a.py::f": Target(Span("a.py"), symbol="f"),
    "a.py::A.b~2": Target(Span("a.py"), symbol="A.b~2"),
    "a.cpp::A.~A": Target(Span("a.cpp"), symbol="A.~A"),
    "a.hs::A.x'": Target(Span("a.hs"), symbol="A.x'"),
}


@pytest.mark.parametrize(("text", "target"), GOOD.items())
def test_parse_target_reads_what_is_written(text, target):
    assert parse_target(text, HERE) == target
    assert target.anchor == text


@pytest.mark.parametrize(
    "text",
    [
        "", " ", "/a.py", "../a.py", "a/../b.py", "a/..", "./a.py", "a//b.py", "a/", "a\\b.py", "C:\\x.py", "c:/x.py",
        " a.py", "a.py ", "a\n.py", "a\0.py", "a.py:10", "a.py:1-", "a.py:0-3", "a.py:5-4", "a.py:1-9999999999",
        "a.py:x-y", "a.py::", "a.py::.f", "a.py::f.", "a.py::a..b", "a.py::f g", "a.py::A::b", "a.py::f~1", "a.py::f~0",
        "a.py::f~02", "::f", "a.py:1-2#", "a.py:1-2#0123456789a", "a.py:1-2#0123456789AB", "a.py:1-2#0123456789abc",
        "a.py:1-2::f", "a.py:::f", "\ud800.py",
    ],
)  # fmt: skip
def test_parse_target_refuses_with_file_line_and_hint(text):
    with pytest.raises(GoldError) as caught:
        parse_target(text, HERE)
    assert (caught.value.file, caught.value.line) == ("gold.yaml", 7)
    assert caught.value.hint


@given(st.text(alphabet=st.sampled_from("ab./:~-123 \\é_#"), max_size=20))
def test_parse_target_round_trips_or_refuses(text):
    try:
        target = parse_target(text, HERE)
    except GoldError:
        return
    assert parse_target(target.anchor, HERE) == target
    assert not target.span.path.startswith("/")
    assert ".." not in target.span.path.split("/")
