"""Bash outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = """\
#!/bin/bash
source ./lib.sh
. ./more.sh

# Where things go.
TARGET=/tmp
export MODE=fast LEVEL=2
readonly LIST=(a b)
lower=1

# Copies one.
copy() {
  local FROM=$1
  INSIDE=2
  cp "$FROM" "$TARGET"
}
function clean { rm -r "$TARGET"; }
"""


def test_bash_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "bash") == [
        ("TARGET", "constant", 5, 6, -1),
        ("MODE", "constant", 7, 7, -1),
        ("LEVEL", "constant", 7, 7, -1),
        ("LIST", "constant", 8, 8, -1),
        ("copy", "function", 11, 16, -1),
        ("clean", "function", 17, 17, -1),
    ]


def test_bash_comments_and_signatures_are_read():
    assert docs(SOURCE, "bash") == {"TARGET": "Where things go.", "copy": "Copies one."}
    assert signatures(SOURCE, "bash")["copy"] == "copy()"


def test_bash_imports_and_references_are_listed():
    assert parse_outline(SOURCE, "bash").imports == ("source ./lib.sh", ". ./more.sh")
    assert {"cp", "rm"} <= references(SOURCE, "bash")


def test_bash_broken_source_keeps_what_can_be_read():
    source = "good() { :; }\nif true; then\n"
    assert parse_outline(source, "bash").broken
    assert ("good", "function", 1, 1, -1) in rows(source, "bash")
