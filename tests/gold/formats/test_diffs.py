"""Unified diffs from the old side, held against difflib's own view of what changed."""

import difflib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold.build import GoldLocation
from assay.gold.formats.diffs import FileDiff, OldLines, read_diff
from tests.gold.formats.breaking import broken
from tests.gold.formats.data_sets import PATCH

HERE = GoldLocation("set.jsonl", 7)
#: Few words, so that texts share lines; among them lines that look like the marks of a diff.
TEXTS = st.lists(st.sampled_from(["a", "b", "", "-- a", "++ b", "@@ -1 +1 @@", " c", "\\ d"]), max_size=12)


def read_one(text: str) -> FileDiff:
    [file] = read_diff(text, HERE)
    return file


def changed(old: list[str], new: list[str]) -> set[int]:
    """Number the old lines that difflib says change; for lines only added, the one before, or the first."""
    found: set[int] = set()
    for tag, i, j, _, _ in difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag in ("replace", "delete"):
            found |= set(range(i + 1, j + 1))
        elif tag == "insert":
            found.add(max(i, 1))
    return found


@given(TEXTS, TEXTS, st.integers(0, 4))
def test_old_lines_are_those_difflib_changes(old, new, context):
    text = "\n".join(difflib.unified_diff(old, new, "a/x.py", "b/x.py", lineterm="", n=context)) + "\n"
    if old == new:
        return
    file = read_one(text)
    assert (file.old, file.new) == ("x.py", "x.py")
    if not old:
        assert file.lines == (OldLines(0, 0),)
        return
    found = {n for lines in file.lines for n in range(lines.start, lines.end + 1)}
    # Without context nothing shows that there is a first line, so an addition before it stands before the file.
    assert {max(n, 1) for n in found} == changed(old, new)
    assert all(one.end + 1 < two.start for one, two in zip(file.lines, file.lines[1:], strict=False))


def test_the_sample_has_its_changed_lines_and_its_new_file():
    assert read_diff(PATCH, HERE) == (
        FileDiff("shop/price.py", "shop/price.py", (OldLines(4, 5), OldLines(20, 20))),
        FileDiff(None, "shop/new.py", (OldLines(0, 0),)),
    )


WHOLE = {
    "a rename without a change": (
        "diff --git a/old name.py b/new.py\nsimilarity index 100%\nrename from old name.py\nrename to new.py\n",
        FileDiff("old name.py", "new.py"),
    ),
    "a rename of quoted names": (
        'diff --git "a/\\303\\244.py" "b/\\303\\266 \\".py"\nsimilarity index 100%\n'
        'rename from "\\303\\244.py"\nrename to "\\303\\266 \\".py"\r\n',
        FileDiff("ä.py", 'ö ".py'),
    ),
    "a copy of a quoted name": (
        'diff --git "a/\\303\\244.py" b/x.py\ncopy from "\\303\\244.py"\ncopy to x.py\n',
        FileDiff("ä.py", "x.py"),
    ),
    "a binary": (
        "diff --git a/x.png b/x.png\nindex 1..2 100644\nBinary files a/x.png and b/x.png differ\n",
        FileDiff("x.png", "x.png"),
    ),
    "a mode": ("diff --git a/x b/x\nold mode 100644\nnew mode 100755\n", FileDiff("x", "x")),
    "an empty new file": ("diff --git a/x b/x\nnew file mode 100644\nindex 0..1\n", FileDiff(None, "x")),
    "a deleted file": (
        "diff --git a/x b/x\ndeleted file mode 100644\n--- a/x\n+++ /dev/null\n@@ -1,2 +0,0 @@\n-a\n-b\n",
        FileDiff("x", None, (OldLines(1, 2),)),
    ),
    "a rename with a change": (
        "diff --git a/x b/y\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -2 +2 @@\n-a\n+b\n",
        FileDiff("x", "y", (OldLines(2, 2),)),
    ),
    "a quoted name": (
        'diff --git "a/\\303\\244.py" "b/\\303\\244.py"\n'
        '--- "a/\\303\\244.py"\n+++ "b/\\303\\244.py"\n@@ -1 +1 @@\n-a\n+b\n',
        FileDiff("ä.py", "ä.py", (OldLines(1, 1),)),
    ),
    "a quoted mode": ('diff --git "a/\\"x" "b/\\"x"\nold mode 1\nnew mode 2\n', FileDiff('"x', '"x')),
    "no git, a date": (
        "--- x.py\t2026-01-02\n+++ x.py\t2026-01-03\n@@ -1 +1 @@\n-a\n+b\n",
        FileDiff("x.py", "x.py", (OldLines(1, 1),)),
    ),
    "no newline at the end": (
        "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n",
        FileDiff("x", "x", (OldLines(2, 2),)),
    ),
    "blank context without its sign": (
        "--- a/x\n+++ b/x\n@@ -1,3 +1,2 @@\n\n-a\n\n",
        FileDiff("x", "x", (OldLines(2, 2),)),
    ),
    "blank context cut off the end": (
        "--- a/x\n+++ b/x\n@@ -1,4 +1,3 @@\n a\n-b",
        FileDiff("x", "x", (OldLines(2, 2),)),
    ),
    "a mail around it": (
        "From: a\nSubject: b\n---\n x | 2 +-\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-- \n2.40.0\n",
        FileDiff("x", "x", (OldLines(1, 1),)),
    ),
    "touching changes": (
        "--- a/x\n+++ b/x\n@@ -5,0 +6 @@\n+n\n@@ -6 +7 @@\n-a\n+b\n@@ -9 +10,0 @@\n-c\n",
        FileDiff("x", "x", (OldLines(5, 6), OldLines(9, 9))),
    ),
}


@pytest.mark.parametrize(("text", "file"), WHOLE.values(), ids=WHOLE)
def test_a_diff_of_every_kind_is_read(text, file):
    assert read_one(text) == file


BAD = {
    "nothing": ("", "no file"),
    "prose": ("fix it\n", "no file"),
    "a hunk of no file": ("@@ -1 +1 @@\n-a\n+b\n", "line 1 of the patch is a hunk without a file"),
    "cut off": (
        "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n a\n-b\n",
        "the hunk that starts on line 3 of the patch",
    ),
    "too much context cut off": (
        "--- a/x\n+++ b/x\n@@ -1,9 +1,8 @@\n a\n-b\n",
        "the hunk that starts on line 3 of the patch",
    ),
    "no sign": ("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\nb\n", "line 5 of the patch is not a hunk line"),
    "more than promised": ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n-c\n", "line 6 of the patch exceeds"),
    "more of one kind": ("--- a/x\n+++ b/x\n@@ -1 +1,2 @@\n-a\n-c\n+b\n", "line 5 of the patch exceeds"),
    "no UTF-8": ('--- "a/\\377"\n+++ "b/\\377"\n@@ -1 +1 @@\n-a\n+b\n', "not UTF-8"),
}


@pytest.mark.parametrize(("text", "message"), BAD.values(), ids=BAD)
def test_a_broken_diff_says_where(text, message):
    with pytest.raises(GoldError) as error:
        read_diff(text, HERE)
    assert message in error.value.message
    assert (error.value.file, error.value.line) == ("set.jsonl", 7)
    assert error.value.hint


@given(broken(PATCH) | st.text(st.sampled_from('diff --git a/x b+@,1\n"\\3'), max_size=80))
def test_any_text_gives_files_or_an_error(text):
    try:
        files = read_diff(text, HERE)
    except GoldError:
        return
    assert all(0 <= lines.start <= lines.end for file in files for lines in file.lines)
