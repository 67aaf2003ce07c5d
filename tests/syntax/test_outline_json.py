"""JSON outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, rows

SOURCE = """\
{
  // How it is built.
  "build": {
    "steps": ["one", {"deep": 1}],
    "env": {"DEEPER": 2}
  },
  "name": "shop"
}
"""


def test_json_keys_of_two_levels_are_definitions():
    assert rows(SOURCE, "json") == [
        ("build", "key", 2, 6, -1),
        ("steps", "key", 4, 4, 0),
        ("env", "key", 5, 5, 0),
        ("name", "key", 7, 7, -1),
    ]


def test_json_comments_are_documentation():
    assert docs(SOURCE, "json") == {"build": "How it is built."}


def test_json_without_an_object_defines_nothing():
    assert rows("[1, 2]\n", "json") == []


def test_json_broken_source_keeps_what_can_be_read():
    source = '{"good": 1, "bad": }\n'
    assert parse_outline(source, "json").broken
    assert ("good", "key", 1, 1, -1) in rows(source, "json")
