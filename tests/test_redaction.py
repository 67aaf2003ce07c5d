"""No form of a secret that programs write gets through; words that are none stay."""

import base64
import json
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import AssayError, ConfigError, EngineTimeoutError
from assay.redaction import MARK, Redactor, environment_secrets, is_secret_name

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


@pytest.mark.parametrize(
    "name",
    [
        "AWS_SECRET_ACCESS_KEY",
        "AZURE_SUBSCRIPTION_KEY",
        "SESSION_COOKIE",
        "DB_PWD",
        "PGPASSWORD",
        "HF_TOKEN_2",
        "X_AUTH",
    ],
)
def test_environment_of_every_kind_of_secret_is_hidden(monkeypatch, name):
    monkeypatch.setenv(name, "value-of-it")
    assert "value-of-it" in environment_secrets()
    monkeypatch.setenv(name, "/home/joe/value-of-it")  # as PWD has it
    assert "/home/joe/value-of-it" not in environment_secrets()


def test_passwords_in_addresses_of_the_environment_are_hidden(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://me:p%40ss-word-1@host/simple")
    monkeypatch.setenv(
        "PIP_EXTRA_INDEX_URL", "https://one.org/a https://me:pass-word-2@host/a https://token-word-3@host/b"
    )
    monkeypatch.setenv("GIT_REMOTE", "ssh://runner@host/a")
    found = set(environment_secrets())
    assert {"p%40ss-word-1", "p@ss-word-1", "pass-word-2", "token-word-3"} <= found
    assert "runner" not in found


def test_names_of_secrets_end_with_the_word():
    for name in (
        "apiKey",
        "X-Api-Key",
        "access_token",
        "MY_TOKEN_2",
        "Authorization",
        "Cookie",
        "pwd",
        "client_secret",
    ):
        assert is_secret_name(name), name
    for name in ("max_tokens", "tokenizer", "token_limit", "author", "sort_key", "cookie_policy", "cwd", "secretary"):
        assert not is_secret_name(name), name


def test_errors_are_cleaned_and_keep_their_place_and_their_kind():
    hide = Redactor(["hunter22hunter22"])
    with pytest.raises(ConfigError) as caught, hide.cleaning():
        raise ConfigError("no hunter22hunter22", file="a.toml", line=3, hint="not hunter22hunter22")
    problem = caught.value
    assert (problem.message, problem.hint) == (f"no {MARK}", f"not {MARK}")
    assert (problem.file, problem.line, problem.__suppress_context__) == ("a.toml", 3, True)
    error = EngineTimeoutError("x")
    error.waited = 2.5
    with pytest.raises(EngineTimeoutError) as late, hide.cleaning():
        raise error
    assert late.value.waited == 2.5
    with pytest.raises(AssayError) as bare, hide.cleaning():
        raise AssayError("x")
    assert bare.value.hint is None
