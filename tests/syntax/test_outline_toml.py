"""TOML outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, rows

SOURCE = """\
title = "shop"
[build.steps]
# How many.
count = 1
nested.deep = 2
[[plugins]]
name = "a"
[ "quoted key" ]
options = {x = 1}
"""


def test_toml_tables_and_keys_of_the_file_are_definitions():
    assert rows(SOURCE, "toml") == [
        ("title", "key", 1, 1, -1),
        ("build.steps", "key", 2, 5, -1),
        ("plugins", "key", 6, 7, -1),
        ('"quoted key"', "key", 8, 9, -1),
    ]


def test_toml_comments_above_a_table_are_documentation():
    assert docs("a = 1\n\n# About b.\n[b]\n", "toml") == {"b": "About b."}


def test_toml_broken_source_keeps_what_can_be_read():
    source = "[good]\na = 1\n[bad\n"
    assert parse_outline(source, "toml").broken
    assert ("good", "key", 1, 2, -1) in rows(source, "toml")
