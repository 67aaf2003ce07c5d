"""No form of a secret that programs write gets through; words that are none stay."""

import base64
import json
from urllib.parse import quote, quote_plus

from hypothesis import given
from hypothesis import strategies as st

from assay.redaction import MARK, Redactor, environment_secrets

secrets = st.text(st.characters(codec="utf-8", exclude_categories=["Cs", "Cc"]), min_size=8, max_size=40).filter(
    lambda text: len(text.strip()) >= 8 and text.strip() == text
)
around = st.text(st.sampled_from("ab =:/{}\"'"), max_size=12)


@given(secrets, around, around)
def test_no_form_of_a_secret_is_left(secret, before, after):
    hide = Redactor([secret])
    for form in (secret, quote(secret), quote_plus(secret), quote(secret, safe=""), json.dumps(secret)[1:-1]):
        assert form not in hide.text(before + form + after)


@given(secrets.filter(str.isascii), st.binary(max_size=5), st.binary(max_size=5))
def test_base64_of_a_secret_is_struck_out_wherever_it_stands(secret, before, after):
    encoded = base64.b64encode(before + secret.encode() + after).decode()
    hidden = Redactor([secret]).text(encoded)
    assert MARK in hidden
    characters = len(secret) * 8 // 6 - 2  # the first and the last one share bits with what stands beside
    assert len(encoded) - len(hidden.replace(MARK, "")) >= characters


def test_longer_secret_goes_before_its_part():
    assert Redactor(["abcdef", "abcdefghij"]).text("x abcdefghij y") == f"x {MARK} y"


def test_short_values_and_other_words_stay():
    assert Redactor(["true", ""]).text("true enough") == "true enough"
    assert Redactor([]).text("anything") == "anything"


def test_values_inside_tables_are_struck_out_and_names_stay():
    hide = Redactor(["abcdefgh"])
    assert hide.value({"abcdefgh": ["x abcdefgh", 3, None, ("abcdefgh",)]}) == {
        "abcdefgh": [f"x {MARK}", 3, None, [MARK]]
    }


def test_environment_is_looked_through_by_name(monkeypatch):
    monkeypatch.setenv("MY_API_KEY", "key-value-1")
    monkeypatch.setenv("MY_PASSWORD", "pass-value-1")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Somebody Else")
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false-ish")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/ssh-agent")
    found = environment_secrets()
    assert {"key-value-1", "pass-value-1"} <= set(found)
    assert not {"Somebody Else", "false-ish", "/tmp/ssh-agent"} & set(found)
