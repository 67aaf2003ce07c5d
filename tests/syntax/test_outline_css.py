"""CSS outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, rows

SOURCE = """\
@import url("base.css");
/* The cart. */
.cart,
#total > p {
  color: red;
}
@media screen and (min-width: 1px) {
  .wide { color: blue; }
}
@keyframes spin {
  from { top: 0; }
}
@font-face { font-family: Shop; }
@supports (display: grid) { a { top: 0; } }
@layer base { b { top: 0; } }
.outer {
  &:hover { top: 0; }
}
"""


def test_css_rules_are_named_by_their_selectors_or_conditions():
    assert rows(SOURCE, "css") == [
        (".cart, #total > p", "key", 2, 6, -1),
        ("screen and (min-width: 1px)", "key", 7, 9, -1),
        (".wide", "key", 8, 8, 1),
        ("spin", "key", 10, 12, -1),
        ("@font-face", "key", 13, 13, -1),
        ("(display: grid)", "key", 14, 14, -1),
        ("a", "key", 14, 14, 5),
        ("base", "key", 15, 15, -1),
        ("b", "key", 15, 15, 7),
        (".outer", "key", 16, 18, -1),
        ("&:hover", "key", 17, 17, 9),
    ]


def test_css_comments_and_imports_are_read():
    assert docs(SOURCE, "css") == {".cart, #total > p": "The cart."}
    assert parse_outline(SOURCE, "css").imports == ('@import url("base.css");',)


def test_css_broken_source_keeps_what_can_be_read():
    source = ".good { top: 0; }\n.bad { top: \n"
    assert parse_outline(source, "css").broken
    assert (".good", "key", 1, 1, -1) in rows(source, "css")
