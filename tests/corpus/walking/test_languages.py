from __future__ import annotations

import pytest

from assay.corpus.file_types import LANGUAGES, detect_type, language_extensions, language_name

_SEMBLE = (
    "bash c cpp csharp elixir go haskell java javascript kotlin lua php python ruby rust scala swift typescript zig"
)


@pytest.mark.parametrize(
    ("path", "head", "language", "kind"),
    [
        ("a/b.py", b"", "python", "code"),
        ("a.JS", b"", "javascript", "code"),
        ("a.jsx", b"", "javascript", "code"),
        ("a.tsx", b"", "typescript", "code"),
        ("a.d.ts", b"", "typescript", "code"),
        ("a.h", b"", "c", "code"),
        ("a.md", b"", "markdown", "docs"),
        ("a.rst", b"", "rst", "docs"),
        ("a.json", b"", "json", "config"),
        ("a.yml", b"", "yaml", "config"),
        ("README", b"", "text", "docs"),
        ("x/Makefile", b"", "makefile", "code"),
        ("Dockerfile.dev", b"", "dockerfile", "config"),
        ("requirements-dev.txt", b"", "text", "config"),
        ("requirements.md", b"", "markdown", "docs"),
        ("CMakeLists.txt", b"", "cmake", "code"),
        ("go.mod", b"", "go", "config"),
        (".gitignore", b"", "gitignore", "config"),
        (".eslintrc", b"", None, "config"),
        ("tool", b"#!/usr/bin/env python3\n", "python", "code"),
        ("tool", b"#! /usr/bin/env -S FOO=1 node --x\n", "javascript", "code"),
        ("tool.cgi", b"#!/usr/bin/perl5.30 -w\r\n", "perl", "code"),
        ("tool", b"#!/bin/sh", "bash", "code"),
        ("tool", b"#!/opt/strange\n", None, "code"),
        ("data.xyz", b"hello", None, "other"),
        ("noext", b"", None, "other"),
        ("noext", b"#!", None, "other"),
    ],
)
def test_language_by_name_extension_and_shebang(path: str, head: bytes, language: str | None, kind: str) -> None:
    found = detect_type(path, head)
    assert (found.language, found.kind) == (language, kind)


def test_language_table_covers_semble() -> None:
    for language in _SEMBLE.split():
        assert language_extensions(language), language


@pytest.mark.parametrize(
    ("name", "language"),
    [
        ("bazel", "starlark"),
        ("docker", "dockerfile"),
        ("emacs-lisp", "elisp"),
        ("F#", "fsharp"),
        ("make", "makefile"),
        ("nodejs", "javascript"),
        ("objc++", "objective-cpp"),
        ("objectpascal", "pascal"),
        ("protobuf", "proto"),
        ("python3", "python"),
        ("restructuredtext", "rst"),
        ("viml", "vim"),
        ("vimscript", "vim"),
        ("vb.net", "visualbasic"),
        ("golang", "go"),
        ("js", "javascript"),
        (".JS", "javascript"),
        ("node", "javascript"),
        ("ts", "typescript"),
        ("py", "python"),
        ("c++", "cpp"),
        ("C#", "csharp"),
        ("rs", "rust"),
        ("rb", "ruby"),
        ("sh", "bash"),
        ("Shell", "bash"),
        ("d", "d"),
        ("dockerfile", "dockerfile"),
        (" Go ", "go"),
        ("klingon", "klingon"),
    ],
)
def test_language_is_known_by_name_alias_and_extension(name, language):
    assert language_name(name) == language


def test_no_alias_hides_a_language_or_an_extension():
    for language in LANGUAGES:
        assert language_name(language) == language
        assert {language_name(extension) for extension in language_extensions(language)} <= {
            language,
            *language_extensions(language),
        }
