"""GitHub output of gate and lint: comment, job summary, annotations, and the outputs of the action."""

import json
import os

import pytest

from tests.action.forge import Forge, pull
from tests.action.runner import job
from tests.contracts.calling import Outcome, Workspace
from tests.contracts.seen import gated_workspace, see, settled_workspace, transcript, without_place
from tests.contracts.snapshot import check, substituted
from tests.serving import serving

TOKEN = "ghs_0123456789abcdefghij"

GATES = {
    "pass": ("gate", "all_right", "--against", "all_right", "--require", "Hit(level=file)@1>=0.9"),
    "regression": ("gate", "mostly_wrong", "--against", "all_right", "--require", "Hit(level=file)@1>=0.9"),
    "inconclusive": ("gate", "mostly_wrong", "--against", "all_right"),
    "inconclusive_strict": ("gate", "mostly_wrong", "--against", "all_right", "--strict"),
    "engine_failed": ("gate", "often_broken", "--against", "all_right"),
    "not_comparable": ("gate", "asked_otherwise", "--against", "all_right"),
    "no_results": ("gate", "nowhere", "--against", "all_right"),
    "hostile_name": ("gate", "no ``` @octocat <b>\n::error::x ##[add-mask]y", "--against", "all_right"),
}

LINTED_GOLD = """\
assay: 1
name: linted
corpus: {path: shop}
queries:
  - id: gone
    retrieval: {primary: ["shop/gone.py"]}
    cognitive: {human: "where did it go, 100%?"}
"""


@pytest.fixture(scope="module")
def place(workspace) -> Workspace:
    return gated_workspace(settled_workspace(workspace))


@pytest.fixture
def runner(place, tmp_path) -> dict[str, str]:
    """Return the environment variables of a pull request job."""
    (tmp_path / "event.json").write_text(json.dumps(pull()))
    return {
        "GITHUB_TOKEN": TOKEN,
        "GITHUB_REPOSITORY": "octo/shop",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_RUN_ID": "42",
        "GITHUB_SHA": "0123456789abcdef",
        "GITHUB_WORKFLOW": "search",
        "GITHUB_JOB": "gate",
        "GITHUB_WORKSPACE": str(place.root),
    }


def gate(place: Workspace, runner: dict[str, str], forge: Forge, *argv: str) -> Outcome:
    with serving(forge) as server:
        return see(place, *argv, "--github", env={**runner, "GITHUB_API_URL": server.url})


@pytest.mark.parametrize("name", GATES)
def test_comment_and_annotations(place, runner, tmp_path, name):
    forge = Forge()
    outcome = gate(place, runner, forge, *GATES[name])
    (comment,) = forge.comments
    marker, _, body = comment["body"].partition("\n")
    assert (tmp_path / "summary.md").read_text() == f"{body}\n"
    assert TOKEN not in body + outcome.out + outcome.err
    check(f"pull_request/{name}.md", f"{marker}\n{body}")
    log = transcript((*GATES[name], "--github"), outcome._replace(out=""))
    check(f"pull_request/{name}.log", without_place(log, place))


def test_the_comment_of_a_gate_is_updated_in_place(place, runner):
    forge = Forge()
    forge.fill(2)
    messages = [gate(place, runner, forge, *GATES["pass"]).err.splitlines()[-1] for _ in range(2)]
    messages.append(gate(place, runner, forge, *GATES["regression"]).err.splitlines()[-1])
    assert messages == [f"comment on pull request 7 {done}" for done in ("created", "updated", "created")]
    assert len(forge.comments) == 4


def test_output_without_a_pull_request(place, tmp_path):
    outcome = see(place, *GATES["regression"], "--github")
    check("pull_request/outside_a_job.log", transcript((*GATES["regression"], "--github"), outcome._replace(out="")))


def test_what_is_printed_with_github_is_what_is_printed_without(place, runner):
    assert gate(place, runner, Forge(), *GATES["regression"]).out == see(place, *GATES["regression"]).out


def test_lint_annotations_and_summary(place, runner, tmp_path):
    (place.root / "linted.yaml").write_text(LINTED_GOLD)
    argv = ("gold", "lint", "linted.yaml", "--github", "--quiet")
    outcome = see(place, *argv, env=runner)
    check("pull_request/lint.log", without_place(transcript(argv, outcome._replace(out="")), place))
    check("pull_request/lint.md", (tmp_path / "summary.md").read_text())


def test_outputs_of_the_action(place, tmp_path):
    inputs = {"results": "mostly_wrong", "baseline": "all_right", "install": "false", "run": "false", "lint": "false"}
    outcome = job(place.root, inputs | {"comment": "false"}, temp=tmp_path / "runner")
    hidden = {
        str(place.root): "<checkout>",
        str(tmp_path / "runner") + os.sep: "<temp>/",
        r"assay-\w{6}": "assay-######",
    }
    outputs = {key: substituted(text, hidden) for key, text in outcome.outputs.items()}
    check("pull_request/outputs.json", {"outputs": outputs, "exit_code": outcome.code})
    check("pull_request/outputs.log", substituted(outcome.log, hidden))
