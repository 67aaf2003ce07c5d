"""Titles and sentences become questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.gold.mining.questions import (
    VERBS,
    base_form,
    change_question,
    describes_behavior,
    make_question,
    stands_alone,
    third_person,
    topic_question,
)


@pytest.mark.parametrize(
    ("text", "asked"),
    [
        ("Parse the header.", "which code parses the header?"),
        ("Parses the header", "which code parses the header?"),
        ("Apply all rules", "which code applies all rules?"),
        ("A queue that drops old entries", "where is the queue that drops old entries?"),
        ("Align should reset the height", "Align should reset the height"),
        ("Where is it?", "Where is it?"),
        ("HTTP status of a failure", "HTTP status of a failure"),
        ("", ""),
    ],
)
def test_sentences_become_questions(text, asked):
    assert make_question(text) == asked


@pytest.mark.parametrize(
    ("subject", "asked"),
    [
        ("Add support for bullet lists", "where do we support bullet lists?"),
        ("Add an Allow header to the default handler", "where do we add Allow header to the default handler?"),
        ("Fix a crash when the title is too long", "what prevents crash when the title is too long?"),
        ("fixes issue with wrapping of links if it is long", "how do we handle wrapping of links if it is long?"),
        ("Ignore cookies that cannot be read", "where do we ignore cookies that cannot be read?"),
        ("svg files should keep their size", "what makes svg files keep their size?"),
        ("Don't close a stream that the caller opened", "where do we avoid closing a stream that the caller opened?"),
        ("Fix prompts not working with readline", "what makes prompts work with readline?"),
        ("svg files should be compressed", None),
        ("fix links that do not open", None),
        ("Fix a crash, add a cache", None),
        ("Keep the change entry concise", None),
    ],
)
def test_changes_become_questions(subject, asked):
    assert change_question(subject) == asked
    assert describes_behavior(subject) == (asked is not None)


@pytest.mark.parametrize(
    "subject",
    ["Render height fix", "Fix and support display", "Missed some types", "Change keywords to a list", "Add it…"],
)
def test_subjects_that_tell_no_behaviour_are_known(subject):
    assert not describes_behavior(subject)


@pytest.mark.parametrize(
    ("subject", "question"),
    [
        ("Shift the float field closer to other numbers", None),
        ("Restore inheritance of number fields", None),
        ("Add caveat about passing a schema twice", None),
        ("Close the file using existing conventions", None),
        ("Include with dynamic variables", None),
        ("Include the thread flag in the report", "where do we include the thread flag in the report?"),
        ("Add configure stderr output color", "where do we configure stderr output color?"),
    ],
)
def test_subjects_about_the_change_are_no_questions(subject, question):
    assert change_question(subject) == question


def test_second_verb_is_conjugated():
    assert make_question("Validate and store input data") == "which code validates and stores input data?"


def test_headings_become_questions():
    assert topic_question("Retrying failed requests") == "how does retrying failed requests work?"
    assert topic_question("The retry policy") == "where is the retry policy?"


def test_what_points_outside_does_not_stand_alone():
    assert not stands_alone("which code disables this behaviour?")
    assert stands_alone("which code disables the cache?")


@pytest.mark.parametrize(
    ("verb", "third"), [("parse", "parses"), ("match", "matches"), ("apply", "applies"), ("display", "displays")]
)
def test_verbs_have_a_third_person(verb, third):
    assert third_person(verb) == third
    assert base_form(third) == verb


@given(st.sampled_from(sorted(VERBS)))
def test_third_person_is_read_back_as_a_verb(verb):
    assert base_form(third_person(verb)) in VERBS


@given(st.text(max_size=200))
def test_no_text_is_an_exception(text):
    make_question(text)
    change_question(text)
    topic_question(text)
    describes_behavior(text)
