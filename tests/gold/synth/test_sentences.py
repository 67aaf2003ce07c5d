"""Sentences out of comments: markers, markup, where one ends, what is none."""

import pytest

from assay.gold.code_index import first_sentence
from assay.syntax.prose import content_words, mentions_name, strip_leading_name


@pytest.mark.parametrize(
    ("comment", "sentence"),
    [
        ("/** Parses a header into fields. Then more. */", "Parses a header into fields"),
        ("// Parses a header\n// into its fields.\n// Not this.", "Parses a header into its fields"),
        ("\n    Return the thing\n\n    Args:\n        x: y\n", "Return the thing"),
        ("/// Splits a path, e.g. on slashes. Fast.", "Splits a path, e.g. on slashes"),
        ("Uses :class:`~a.b.Pool` and {@link Foo} or [`Bar`](http://x.y).", "Uses a.b.Pool and Foo or Bar"),
        ('@doc """\nStarts the server.\n"""', "Starts the server"),
        ("-- | Folds a tree from the left.", "Folds a tree from the left"),
        ("Reads map[string]int from a reader.", "Reads map[string]int from a reader"),
        # A line that ends early before a capital is a sentence that lacks its full stop.
        ("Joins rows\nUseful when the rows of a table come in one by one", "Joins rows"),
        (
            "Finds the best match in\nEnglish and nothing else, ever",
            "Finds the best match in English and nothing else, ever",
        ),
    ],
)
def test_first_sentence_is_what_a_person_would_read(comment, sentence):
    assert first_sentence(comment) == sentence


@pytest.mark.parametrize(
    "comment",
    [
        "",
        "/* Copyright 2020 Somebody. */",
        "# SPDX-License-Identifier: MIT",
        "// TODO: make this work for everybody",
        "/** @param x the thing */",
        "# noqa: E501",
        "// -------------------------",
        "# x = y[1] + z(3) % {a: b} == 4",
        "See the other function for all details.",
        "word " * 60,
    ],
)
def test_comments_that_say_nothing_give_no_sentence(comment):
    assert first_sentence(comment) is None


def test_leading_name_of_go_goes_with_its_receiver():
    assert strip_leading_name("Render (JSON) writes data", "Render") == "writes data"
    assert strip_leading_name("The Render call writes data", "Render") == "call writes data"
    assert strip_leading_name("Renders data", "Render") == "Renders data"


@pytest.mark.parametrize("sentence", ["Calls parse_header twice", "calls parseHeader", "Parse header fields"])
def test_name_is_found_however_it_is_joined(sentence):
    assert mentions_name(sentence, "parse_header")


def test_name_is_not_found_in_parts_of_words():
    assert not mentions_name("Sender of mail", "send")
    assert not mentions_name("Header that was parsed", "parse_header")


def test_content_words_are_distinct_and_say_something():
    assert content_words("The pool of the Pool is a free 12 connection") == ("pool", "free", "connection")
