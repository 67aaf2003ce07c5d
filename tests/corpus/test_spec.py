from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.corpus import parse_spec, spec_text
from assay.errors import CorpusError
from assay.types import CorpusKind, CorpusSpec


@pytest.mark.parametrize(
    ("text", "kind", "value", "rev"),
    [
        ("stdlib", "stdlib", "", None),
        ("pypi:flask==3.1.0", "pypi", "flask==3.1.0", None),
        ("pypi:flask==3.1.0#sdist", "pypi", "flask==3.1.0#sdist", None),
        ("npm:express@5.1.0", "npm", "express@5.1.0", None),
        ("npm:@scope/x@1", "npm", "@scope/x@1", None),
        ("git:https://example.org/a/b.git@v1.0", "git", "https://example.org/a/b.git", "v1.0"),
        ("git:https://example.org/a/b.git", "git", "https://example.org/a/b.git", None),
        ("git:https://user:pw@example.org/a/b", "git", "https://user:pw@example.org/a/b", None),
        ("git:https://user@example.org/a/b@feature/x", "git", "https://user@example.org/a/b", "feature/x"),
        ("git:git@github.com:o/r.git", "git", "git@github.com:o/r.git", None),
        ("git:git@github.com:o/r.git@abc123", "git", "git@github.com:o/r.git", "abc123"),
        ("git:../repo@HEAD~2", "git", "../repo", "HEAD~2"),
        ("git:../re@po@", "git", "../re@po", None),
        (".", "path", ".", None),
        ("./stdlib", "path", "stdlib", None),
        ("/a/b c", "path", "/a/b c", None),
        ("./pypi:x", "path", "pypi:x", None),
    ],
)
def test_spec_text_is_read(text: str, kind: CorpusKind, value: str, rev: str | None) -> None:
    spec = parse_spec(text)
    assert (spec.kind, spec.value, spec.rev) == (kind, value, rev)
    assert parse_spec(spec_text(spec)) == spec


def test_spec_options_follow_a_question_mark() -> None:
    spec = parse_spec("git:../r@v1?root=src&include=*.py&include=*.pyi&exclude=tests/")
    assert (spec.root, spec.include, spec.exclude) == ("src", ("*.py", "*.pyi"), ("tests/",))
    assert spec.value == "../r"
    assert parse_spec("what?ever").value == "what?ever"


@pytest.mark.parametrize(
    "text", ["", "svn:x", "https://example.org/x", "git:", "pypi:", "git://host/x", "a\0b", "hg+x:y"]
)
def test_spec_unknown_kind_is_refused_with_a_next_step(text: str) -> None:
    with pytest.raises(CorpusError) as caught:
        parse_spec(text)
    assert caught.value.hint


_words = st.text(st.characters(exclude_categories=("Cs", "Cc", "Zs", "Zl", "Zp")), min_size=1, max_size=12)
_paths = st.lists(_words, min_size=1, max_size=3).map("/".join)
_kinds = st.one_of(
    st.builds(lambda value: ("path", value, None), _paths),
    st.just(("stdlib", "", None)),
    st.builds(lambda value: ("npm", value, None), _words),
    st.builds(lambda value: ("pypi", value, None), _words),
    st.builds(
        lambda value, rev: ("git", value, rev), _paths, st.none() | _words.filter(lambda rev: not set("@:") & set(rev))
    ),  # git allows no colon in a name
)


@given(_kinds, st.none() | _paths, st.lists(_words, max_size=2), st.lists(_words, max_size=2))
def test_spec_text_inverts_parse_spec(
    kind: tuple[CorpusKind, str, str | None], root: str | None, include: list[str], exclude: list[str]
) -> None:
    spec = CorpusSpec(kind[0], kind[1], kind[2], root, tuple(include), tuple(exclude))
    try:
        once = parse_spec(spec_text(spec))
    except CorpusError:
        return  # no spec that parse_spec would give, such as git:// without its kind
    assert parse_spec(spec_text(once)) == once
    plain = not kind[1].startswith(("./", "@", "/")) and "//" not in kind[1] and ":" not in kind[1]
    if plain:
        assert once == spec
