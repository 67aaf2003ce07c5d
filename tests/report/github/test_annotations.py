"""Annotations: one command a line, whatever the words are, and no more than GitHub shows."""

from pathlib import Path

import pytest

from assay.gold.lint.rules import LintFinding
from assay.report.github import Annotation, AnnotationLine, commands, of_findings


def written(*annotations, workspace=None):
    return commands(annotations, workspace, "see below")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("100% sure", "100%25 sure"),
        ("two\nlines", "two lines"),
        ("a\r\n::error::b", "a ::error::b"),
        ("%0A::error::b", "%250A::error::b"),
        ("x ##[add-mask]y", "x ##\u2060[add-mask]y"),
        ("\x1b[31mred\x1b[0m", "red"),
    ],
)
def test_text_cannot_begin_another_command(text, shown):
    (line,) = written(Annotation("warning", "assay", text))
    assert line == f"::warning title=assay::{shown}"


def test_properties_cannot_set_others(tmp_path):
    file = tmp_path / "a,line=1::x\n.yaml"
    (line,) = written(Annotation("error", "t,col=3:", "text", AnnotationLine(str(file), 7)), workspace=tmp_path)
    assert line == "::error file=a%2Cline=1%3A%3Ax .yaml,line=7,title=t%2Ccol=3%3A::text"


def test_paths_are_those_of_the_checkout_and_others_have_none(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    inside = Annotation("error", "t", "x", AnnotationLine("gold/a.yaml", 3))
    assert written(inside, workspace=tmp_path) == ["::error file=gold/a.yaml,line=3,title=t::x"]
    outside = Annotation("error", "t", "x", AnnotationLine("/etc/passwd", 3))
    assert written(outside, workspace=tmp_path) == ["::error title=t::x"]
    assert written(Annotation("error", "t", "x", AnnotationLine("../a.yaml", 3)), workspace=Path()) == [
        "::error title=t::x"
    ]


def test_more_than_github_shows_are_counted():
    many = [Annotation("warning", "t", str(number)) for number in range(12)]
    lines = written(*many, Annotation("error", "t", "the one error"))
    assert lines[0] == "::error title=t::the one error"
    assert lines[-1] == "::warning title=assay::and 3 more: see below"
    assert len(lines) == 11
    assert len(written(*many[:10])) == 10


def test_findings_of_lint_stand_beside_their_lines(tmp_path):
    finding = LintFinding(
        "G101", "info", "shop", "q1", "a.py", "a.py is gone", "name it", str(tmp_path / "gold.yaml"), 12
    )
    (line,) = commands(of_findings([finding]), tmp_path, "")
    assert line == "::notice file=gold.yaml,line=12,title=assay gold lint G101::a.py is gone → name it"
