"""What people write about code: sentences and subjects."""

import pytest

from assay.syntax.commit_subjects import is_trivial, strip_subject
from assay.syntax.prose import is_idle, is_prose, split_sentences, strip_leading_name


@pytest.mark.parametrize(
    ("comment", "found"),
    [
        ("/** Parses mail, e.g. a header. Gives fields! */", ["Parses mail, e.g. a header", "Gives fields"]),
        ("// One.\n// Two\n// goes on.\n//\n// Another paragraph.", ["One", "Two goes on"]),
        ("Joins rows. See {@link Table}.\n\n@param rows them", ["Joins rows", "See Table"]),
        ("-- | Folds a tree.", ["Folds a tree"]),
        ("", []),
        ("/* ---- */", []),
        ("Joins rows\nUseful when the rows of a table come one by one. Slow.", ["Joins rows"]),
    ],
)
def test_sentences_are_those_of_the_first_paragraph(comment, found):
    assert list(split_sentences(comment)) == found


@pytest.mark.parametrize(
    ("subject", "plain"),
    [
        ("feat(parser)!: read nested lists (#12)", "read nested lists"),
        ("net/http: close idle connections", "close idle connections"),
        ("[core] Keep `order` of keys, fixes #7", "Keep order of keys,"),
    ],
)
def test_subject_is_freed_of_what_only_the_project_reads(subject, plain):
    assert strip_subject(subject) == plain


@pytest.mark.parametrize("subject", ["Merge branch 'x'", "chore: bump tokio to 1.2", "v1.2.3", "fix: typo in a name"])
def test_subjects_about_no_behaviour_are_trivial(subject):
    assert is_trivial(subject)


def test_prose_is_told_from_code_and_paragraphs():
    assert is_prose("Reads the next line", 40)
    assert not is_prose("x = y[1] + z(3) % {a: b}", 40)
    assert not is_prose("word " * 41, 40)
    assert is_idle("TODO find out why")
    assert not is_idle("Finds out why")


def test_leading_name_goes_and_other_names_stay():
    assert strip_leading_name("The Foo (T) returns a bar", "Foo") == "returns a bar"
    assert strip_leading_name("Foobar returns a bar", "Foo") == "Foobar returns a bar"
    assert strip_leading_name("It calls Foo", "Foo") == "It calls Foo"
