"""HTML outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, rows

SOURCE = """\
<!DOCTYPE html>
<html>
<head>
<link rel="stylesheet" href="shop.css">
<script src="shop.js"></script>
<style>
.cart { color: red; }
</style>
</head>
<body>
<!-- The cart. -->
<main id="cart">
  <h1 id="title"><a href="#">Your cart</a></h1>
  <input id=amount>

  <h2 class="sub">Items</h2>
  <p>text</p>
  <img id="logo"/>
</main>
<h4>Small</h4>
<script>
start();
</script>
</body>
</html>
"""


def test_html_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "html") == [
        ("style", "key", 6, 8, -1),
        ("cart", "key", 11, 19, -1),
        ("Your cart", "heading", 13, 13, 1),
        ("amount", "key", 14, 14, 1),
        ("Items", "heading", 16, 16, 1),
        ("logo", "key", 18, 18, 1),
        ("script", "key", 21, 23, -1),
    ]


def test_html_comments_and_imports_are_read():
    assert docs(SOURCE, "html") == {"cart": "The cart."}
    assert parse_outline(SOURCE, "html").imports == (
        '<link rel="stylesheet" href="shop.css">',
        '<script src="shop.js">',
    )


def test_html_broken_source_keeps_what_can_be_read():
    source = '<div id="good">x</div>\n<div id="bad"\n'
    assert parse_outline(source, "html").broken
    assert ("good", "key", 1, 1, -1) in rows(source, "html")
