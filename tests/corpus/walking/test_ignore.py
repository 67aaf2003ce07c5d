"""The rules, against git itself."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pathspec.patterns.gitignore.spec import GitIgnoreSpecPattern

from assay.corpus import open_corpus
from assay.corpus.ignore import Sieve, read_level, select_paths, translate_plain
from assay.errors import CorpusError
from assay.types import CorpusSpec
from tests.corpus.conftest import Opener, git, paths, reasons, repository, write
from tests.properties import examples

_FILES = [
    "a.py", "b.txt", "foo", "x/a.py", "x/b.txt", "x/foo/a.py", "x/foo/b.txt", "x/y/a.py", "x/y/foo", "x/y/z/b.txt",
    "foo.d/a.py", "foo.d/x/b.txt", "[a]/a.py", "sp ace/a.py", "x/#c", "!d", "ü/é.py",
]  # fmt: skip


def _seen_by_git(root: Path) -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=root,
        check=True,
        capture_output=True,
    ).stdout.decode()
    return sorted(set(listed.split("\0")) - {""})


def _seen_by_us(root: Path) -> list[str]:
    try:
        return paths(open_corpus(CorpusSpec("path", str(root)), cache=root / ".git" / "cache"))
    except CorpusError:
        return []  # the rules leave nothing


_atoms = ["foo", "a.py", "*.py", "*.txt", "x", "y", "z", "*", "**", "?", "f*", "[a-x]", "[!a]", "[[]a]", "foo.d", "*.d"]
_segment = st.sampled_from(_atoms)
_pattern = st.builds(
    lambda bang, lead, parts, tail: bang + lead + "/".join(parts) + tail,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/", "**/"]),
    st.lists(_segment, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", "/**", "/*"]),
)
# Not here: `x**/a.py`. git 2.39 compares pointers of two buffers there (wildmatch.c) and answers by chance.
_odd = st.sampled_from(
    [
        "# c",
        "",
        "\\#c",
        "\\!d",
        "!",
        "/",
        "//",
        "x/ ",
        "sp\\ ace",
        "foo\\ ",
        "a.py  ",
        "é.py",
        "[a",
        "[]a]",
        "\\",
        "x/\\foo",
        "*.py\r",
        "x/**/",
        "**/x/",
        "[[:alpha:]].py",
        "a**",
        "**.py",
        "[^a].py",
        "[a-]",
        "\\*",
        "***",
        "\t",
        "x/**/**/b.txt",
        "!x/",
        "!**/",
    ]
)
_lines = st.lists(_pattern | _odd, max_size=5)


@examples(60)
@given(top=_lines, x=_lines, y=_lines, exclude=_lines, tracked=st.lists(st.sampled_from(_FILES), max_size=3))
def test_ignore_agrees_with_git_on_every_tree(
    tmp_path_factory: pytest.TempPathFactory,
    top: list[str], x: list[str], y: list[str], exclude: list[str], tracked: list[str],
) -> None:  # fmt: skip
    root = write(tmp_path_factory.mktemp("tree"), dict.fromkeys(_FILES, "text\n"))
    git(root, "init", "--quiet")
    rules = {".gitignore": top, "x/.gitignore": x, "x/y/.gitignore": y, ".git/info/exclude": exclude}
    write(root, {name: "\n".join(lines) + "\n" for name, lines in rules.items()})
    git(root, "add", "--force", "--", *tracked) if tracked else None
    assert _seen_by_us(root) == _seen_by_git(root)


@pytest.mark.parametrize(
    ("rules", "kept"),
    [
        ({".gitignore": "*\n!*/\n!*.py\n"}, {"a.py", "x/a.py"}),
        ({".gitignore": "x/\n!x/a.py\n"}, {"a.py", "b.txt"}),
        ({".gitignore": "x/*\n!x/a.py\n"}, {"a.py", "b.txt", "x/a.py"}),
        ({".gitignore": "/a.py\n"}, {"b.txt", "x/a.py", "x/b.txt"}),
        ({".gitignore": "\ufeffb.txt\r\n"}, {"a.py", "x/a.py"}),
        ({".gitignore": "b.txt\n", "x/.gitignore": "!b.txt\n"}, {"a.py", "x/a.py", "x/b.txt"}),
    ],
)
def test_ignore_holds_outside_git_too(rules: dict[str, str], kept: set[str], tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path / "r", dict.fromkeys(["a.py", "b.txt", "x/a.py", "x/b.txt"], "1") | rules)
    assert {path for path in paths(opened(root)) if not path.endswith(".gitignore")} == kept


def test_ignore_rule_of_an_inner_file_does_not_speak_for_all_below(tmp_path: Path, opened: Opener) -> None:
    """The case pathspec's own matcher gets wrong: `!sub/` below says nothing about sub/x.txt."""
    root = write(
        tmp_path / "r", {".gitignore": "*.txt\n", "a/.gitignore": "!sub/\n", "a/sub/x.txt": "1", "a/b.py": "1"}
    )
    git(root, "init", "--quiet")
    assert paths(opened(root)) == _seen_by_git(root) == [".gitignore", "a/.gitignore", "a/b.py"]


def test_ignore_of_folders_above_the_root_holds(tmp_path: Path, opened: Opener) -> None:
    repository(tmp_path / "r", {".gitignore": "*.log\n/pkg/gen/\n", "pkg/a.py": "1"})
    write(tmp_path / "r", {"pkg/x.log": "1", "pkg/gen/b.py": "1"})
    assert paths(opened(tmp_path / "r" / "pkg")) == ["a.py"]
    assert paths(opened(tmp_path / "r", root="pkg")) == ["a.py"]


def test_ignore_of_the_root_itself_is_overruled_and_said(tmp_path: Path, opened: Opener) -> None:
    repository(tmp_path / "r", {".gitignore": "/generated/\n*.log\n", "a.py": "1"})
    corpus = opened(write(tmp_path / "r" / "generated", {"b.py": "1", "c/d.py": "1"}))
    assert paths(corpus) == ["b.py", "c/d.py"]
    assert any("generated/" in note for note in corpus.notes)


def test_assayignore_leaves_out_even_what_git_tracks(tmp_path: Path, opened: Opener) -> None:
    files = {
        ".assayignore": "fixtures/\n*.snap\n!keep.snap\n",
        "a.py": "1",
        "fixtures/b.py": "1",
        "c.snap": "1",
        "keep.snap": "1",
    }
    repository(tmp_path / "r", files)
    corpus = opened(tmp_path / "r")
    assert paths(corpus) == [".assayignore", "a.py", "keep.snap"]
    assert reasons(corpus) == {"c.snap": "assayignore", "fixtures/": "assayignore"}


def test_assayignore_takes_back_files_and_folders(tmp_path: Path, opened: Opener) -> None:
    root = tmp_path / "r"
    repository(root, {".gitignore": "*.gen.py\nout/\nlogs/\n", "a.py": "1"})
    write(root, {"b.gen.py": "1", "out/c.py": "1", "out/d/e.gen.py": "1", "logs/f.py": "1", "logs/g.py": "1"})
    write(root, {"node_modules/m/i.js": "1", "node_modules/n/i.js": "1", "x/logs/f.py": "1"})
    assert [path for path in paths(opened(root)) if not path.startswith(".")] == ["a.py"]
    write(root, {".assayignore": "!b.gen.py\n!out/\n!logs/f.py\n!node_modules/m/**\n"})
    assert [path for path in paths(opened(root)) if not path.startswith(".")] == [
        "a.py", "b.gen.py", "logs/f.py", "node_modules/m/i.js", "out/c.py", "out/d/e.gen.py",
    ]  # fmt: skip


def test_assayignore_at_a_deeper_level_wins(tmp_path: Path, opened: Opener) -> None:
    files = {
        ".assayignore": "*.txt\n",
        "x/.assayignore": "!b.txt\nc.py\n",
        "b.txt": "1",
        "x/b.txt": "1",
        "x/c.py": "1",
        "c.py": "1",
    }
    root = write(tmp_path / "r", files)
    assert [path for path in paths(opened(root)) if not path.endswith("ignore")] == ["c.py", "x/b.txt"]


def test_assayignore_pattern_without_a_folder_does_not_open_excluded_folders(tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path / "r", {".assayignore": "!*.js\n!**/m.js\n", "node_modules/m.js": "1", "a.js": "1"})
    assert paths(opened(root)) == [".assayignore", "a.js"]


_PASSES_ALL = Sieve(frozenset(), (), re.compile(""))


@examples(200)
@given(lines=st.lists(_pattern | _odd, max_size=6), path=st.sampled_from(_FILES), folder=st.booleans())
def test_rules_joined_into_one_answer_as_they_do_one_by_one(tmp_path_factory, lines, path, folder) -> None:
    file = tmp_path_factory.getbasetemp() / "rules"
    file.write_text("\n".join(lines))
    level = read_level(file, "")
    if level is not None:
        assert level.verdict(path, folder) == replace(level, sieve=_PASSES_ALL).verdict(path, folder)


def test_rules_of_a_usual_file_are_joined_and_let_little_through(tmp_path) -> None:
    lines = ["*.py[cod]", "build/", "/dist", "docs/_build/", "!keep.log", "*.log", "[[:alpha:]]~", "a/**", "a/**/b"]
    (tmp_path / "rules").write_text("\n".join(lines))
    level = read_level(tmp_path / "rules", "")
    assert level is not None
    assert [path for path in _FILES if level.sieve.may_match(path)] == []
    assert level.sieve.may_match("x/y/build")


_PLAIN_PATTERNS = "* name *.py *.py[cod] /top a/b.c /a*/b .env *~ a+b x[12].* lib*.so a@2-b a/* /a/*/b"


@pytest.mark.parametrize("pattern", _PLAIN_PATTERNS.split())
def test_plain_patterns_are_translated_as_pathspec_does(pattern) -> None:
    assert (translate_plain(pattern), True) == GitIgnoreSpecPattern.pattern_to_regex(pattern)


def test_rules_that_are_no_expression_are_passed_over(tmp_path, opened) -> None:
    root = write(tmp_path / "r", {".gitignore": "[z-a]\n*.log\n", "a.py": "1", "b.log": "1"})
    assert paths(opened(root)) == [".gitignore", "a.py"]


@pytest.mark.parametrize("rule", ["*" + "a*" * 30 + "b", "/x/" + "*[a-c]" * 30 + "*b", "?*" * 40 + "b"])
def test_rule_with_many_stars_takes_no_longer_than_one(rule: str, tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path, {"x/" + "a" * 200: "", "x/" + "a" * 200 + "b": "", ".gitignore": rule + "\n"})
    (tmp_path / ".git").mkdir()
    assert [file.path for file in opened(root).files] == [".gitignore", "x/" + "a" * 200]
    assert not select_paths((rule,)).selects("x/" + "a" * 200)
    assert select_paths((rule,)).selects("x/" + "a" * 200 + "b")


@given(st.text("ab*?[]/.", max_size=12).filter(bool), st.text("ab/.", min_size=1, max_size=10))
def test_stars_match_as_pathspec_says(pattern: str, path: str) -> None:
    from pathspec import GitIgnoreSpec
    from pathspec.patterns.gitignore import GitIgnorePatternError

    try:
        expected = GitIgnoreSpec.from_lines([pattern]).match_file(path)
    except GitIgnorePatternError:
        return
    assert select_paths((pattern,)).selects(path) == expected


@pytest.mark.parametrize("name", [".gitignore", ".assayignore"])
def test_ignore_file_that_is_a_fifo_does_not_block_the_walk(name: str, tmp_path: Path, opened: Opener) -> None:
    root = write(tmp_path, {"a.py": "x = 1\n"})
    (tmp_path / ".git").mkdir()
    os.mkfifo(root / name)
    assert [file.path for file in opened(root).files] == ["a.py"]
