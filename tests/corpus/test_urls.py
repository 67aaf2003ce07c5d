from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.redaction import strip_credentials


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://host/a/b.git", "https://host/a/b.git"),
        ("https://user:pass@host:8443/a", "https://host:8443/a"),
        ("https://token@host/a", "https://host/a"),
        ("https://user:p@ss@host/a", "https://host/a"),
        ("https://user:it's@host/a", "https://host/a"),
        ("https://user:s%40cret@[::1]:80/a", "https://[::1]:80/a"),
        ("HTTPS://user:pass@host", "HTTPS://host"),
        ("git+ssh://git@host/a", "git+ssh://host/a"),
        ("//user:pass@host/a", "//host/a"),
        ("https://host/a?token=secret", "https://host/a"),
        ("https://user:pass@host?token=secret", "https://host"),
        ("https://host/a#secret", "https://host/a"),
        ("https://host/a?next=https://u:p@other/#x", "https://host/a"),
        ("https://host/@scope/x@1.0", "https://host/@scope/x@1.0"),
        ("file:///srv/a@b", "file:///srv/a@b"),
        ("git@github.com:o/r.git", "git@github.com:o/r.git"),
        ("../repo#1", "../repo#1"),
        ("", ""),
    ],
)
def test_url_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert strip_credentials(url) == shown


def test_url_in_a_message_is_shown_without_its_secrets() -> None:
    said = "fatal: 'https://u:p@host/r' not found; see http://h/x?key=1 or write to me@example.org"
    assert strip_credentials(said) == "fatal: 'https://host/r' not found; see http://h/x or write to me@example.org"


_secret = st.text("abcXYZ019-._~%!$&'()*+,;=:@", min_size=1, max_size=12).map(lambda text: f"S3CRET{text}")


@given(
    _secret,
    _secret,
    _secret,
    st.sampled_from(["", ":8080"]),
    st.sampled_from(["", "/", "/a/b.git", "/@s/x@1", "/it's"]),
)
def test_url_never_shows_a_secret(user: str, query: str, fragment: str, port: str, path: str) -> None:
    url = f"https://{user}@example.org{port}{path}?{query}#{fragment}"
    assert strip_credentials(url) == f"https://example.org{port}{path}"
    assert "S3CRET" not in strip_credentials(f"error: cannot reach '{url}' today")
