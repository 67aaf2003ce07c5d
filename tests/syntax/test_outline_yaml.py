"""YAML outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, rows

SOURCE = """\
# When it runs.
on:
  push: [main]
  # By hand.
  manual: true
jobs:
  test:
    steps:
      - run: make
---
second: {a: 1}
"""


def test_yaml_keys_of_two_levels_are_definitions():
    assert rows(SOURCE, "yaml") == [
        ("on", "key", 1, 5, -1),
        ("push", "key", 3, 3, 0),
        ("manual", "key", 4, 5, 0),
        ("jobs", "key", 6, 9, -1),
        ("test", "key", 7, 9, 3),
        ("second", "key", 11, 11, -1),
    ]


def test_yaml_comments_are_documentation():
    assert docs(SOURCE, "yaml") == {"on": "When it runs.", "manual": "By hand."}


def test_yaml_broken_source_keeps_what_can_be_read():
    source = "good:\n  part: 1\nbad: }\n"
    assert parse_outline(source, "yaml").broken
    assert rows(source, "yaml")[:2] == [("good", "key", 1, 2, -1), ("part", "key", 2, 2, 0)]
