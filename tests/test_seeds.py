"""The commands for every feature of the five documents that Assay started from."""

import pytest

from benchmarks.pages import Unavailable
from benchmarks.seeds import COUNTS, Outcome, Row, Workspace, rows

ROWS = [row for document in COUNTS for row in rows(document)]


def test_every_feature_has_a_command_and_an_expected_output():
    assert {document: len(rows(document)) for document in COUNTS} == COUNTS
    assert [row for row in ROWS if not (row.feature and row.seed and row.run.strip() and row.prints)] == []


@pytest.mark.parametrize(
    ("code", "output", "works"), [(0, "one\ntwo", True), (1, "one\ntwo", False), (0, "one", False)]
)
def test_row_works_if_exit_code_and_output_are_as_expected(code, output, works):
    row = Row("octocode", 1, "a feature", "a sentence", "true", ("^one", "^two$"))
    assert Outcome(row, code, output).works == works


def test_evidence_is_the_lines_that_match():
    row = Row("octocode", 1, "a feature", "a sentence", "true", ("tw",))
    assert Outcome(row, 0, "one\n  two  2\nthree\n").evidence() == ["two 2"]


@pytest.fixture(scope="session")
def workspace(tmp_path_factory):
    return Workspace(tmp_path_factory.mktemp("seeds") / "work")


@pytest.mark.nightly
@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.document}-{row.number}")
def test_command_prints_what_the_page_says(row, workspace):
    try:
        outcome = workspace.run(row)
    except Unavailable as reason:
        pytest.skip(str(reason))
    assert outcome.works, f"exit code {outcome.code}, not printed: {outcome.missing}\n{outcome.output}"
