"""GitHub is told; what does not work is a sentence, and the token is nowhere."""

import json

import pytest

from assay.report.gate_checks import Gate, GateCheck
from assay.report.github import Annotation, JobOutput, gate_page, place_in_checkout, read_context, write_job_output
from tests.action.forge import Forge, pull
from tests.serving import serving

SECRET = "ghs_0123456789abcdefghij"


@pytest.fixture
def environ(tmp_path, monkeypatch):
    """The variables of a job for a pull request."""
    monkeypatch.setenv("GITHUB_TOKEN", SECRET)
    (tmp_path / "event.json").write_text(json.dumps(pull()))
    return {
        "GITHUB_TOKEN": SECRET,
        "GITHUB_REPOSITORY": "octo/shop",
        "GITHUB_EVENT_PATH": str(tmp_path / "event.json"),
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "GITHUB_SERVER_URL": "https://github.com",
        "GITHUB_RUN_ID": "42",
    }


def told(environ, detail="fine"):
    """Publish a gate, and give what was said in the log."""
    said: list[str] = []
    gate = Gate((GateCheck("failures", "mine answers", True, 4, detail),), None, strict=False)
    stage = JobOutput(read_context(environ, "results"), said.append)
    write_job_output(stage, gate_page(gate), [Annotation("warning", "t", detail)])
    return said


def test_summary_comment_and_annotations_say_the_same_and_none_of_them_the_token(environ, tmp_path):
    forge = Forge()
    with serving(forge) as server:
        said = told(environ | {"GITHUB_API_URL": f"{server.url}/"}, f"the engine said {SECRET}")
    summary = (tmp_path / "summary.md").read_text()
    assert said[0] == "::warning title=t::the engine said ***"
    assert said[-1] == "comment on pull request 7 created"
    body = forge.comments[0]["body"]
    assert "[the run](https://github.com/octo/shop/actions/runs/42)" in body
    for text in (*said, summary, body):
        assert "the engine said \\*\\*\\*" in text or "the engine said ***" in text or text == said[-1]
        assert SECRET.removeprefix("ghs_") not in text  # escaped or not
    assert summary.strip() in body


def test_two_steps_share_one_summary(environ, tmp_path):
    without = {**environ, "GITHUB_REPOSITORY": ""}
    told(without)
    told(without)
    assert (tmp_path / "summary.md").read_text().count("### ") == 2


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"GITHUB_EVENT_PATH": ""}, "does not belong to a pull request"),
        ({"GITHUB_EVENT_PATH": "/nowhere"}, "does not belong to a pull request"),
        ({"GITHUB_REPOSITORY": "octo/shop/../../x?"}, "does not belong to a pull request"),
        ({"GITHUB_TOKEN": ""}, "GITHUB_TOKEN is not set"),
        ({"GITHUB_API_URL": "no address"}, "no comment: "),
    ],
)
def test_what_is_missing_is_a_sentence(environ, change, said):
    assert said in told(environ | change)[-1]


def test_summary_that_cannot_be_written_is_named(environ, tmp_path):
    said = told(environ | {"GITHUB_STEP_SUMMARY": str(tmp_path / "none" / "summary.md"), "GITHUB_REPOSITORY": ""})
    assert f"no job summary: {tmp_path}/none/summary.md: No such file or directory" in said


def test_sentences_command_nothing():
    said: list[str] = []
    JobOutput(read_context({}, ""), said.append).tell("no comment: ##[add-mask]x\n::error::y")
    assert said == ["no comment: ##\u2060[add-mask]x\n:\u2060:error::y"]


def test_place_is_that_in_the_checkout_from_wherever_it_is_named(tmp_path, monkeypatch):
    (tmp_path / "api").mkdir()
    environ = {"GITHUB_WORKSPACE": str(tmp_path)}
    assert place_in_checkout(environ, str(tmp_path / "results")) == "results"
    monkeypatch.chdir(tmp_path / "api")
    assert place_in_checkout(environ, "results") == "api/results"
    assert place_in_checkout(environ, "../../elsewhere") == "../../elsewhere"
    assert place_in_checkout({}, "results") == "results"


def test_outside_of_a_job_nothing_fails(monkeypatch):
    monkeypatch.delenv("GITHUB_TOKEN", raising=False)
    assert told({}) == [
        "::warning title=t::fine",
        "no job summary: GITHUB_STEP_SUMMARY is not set",
        "no comment: this job does not belong to a pull request",
    ]


@pytest.mark.parametrize(("fork", "said"), [(True, "from a fork"), (False, "pull-requests: write")])
def test_right_that_is_missing_is_named(environ, tmp_path, fork, said):
    (tmp_path / "event.json").write_text(json.dumps(pull(fork)))
    with serving(Forge(refuses=403)) as server:
        last = told(environ | {"GITHUB_API_URL": server.url})[-1]
    assert last.startswith("no comment:")
    assert "403" in last
    assert said in last


@pytest.mark.parametrize(
    ("event", "number"),
    [
        ({"pull_request": {"number": 3}}, 3),
        ({"issue": {"number": 4, "pull_request": {}}}, 4),
        ({"issue": {"number": 4}}, None),
        ({"workflow_run": {"pull_requests": [{"number": 5}]}}, 5),
        ({"workflow_run": {"pull_requests": []}}, None),
        ({"pull_request": {"number": True}}, None),
        ({"pull_request": {"number": "3"}}, None),
        ({"pull_request": None}, None),
        ([], None),
        ({}, None),
    ],
)
def test_number_comes_from_the_event(tmp_path, event, number):
    (tmp_path / "event.json").write_text(json.dumps(event))
    assert read_context({"GITHUB_EVENT_PATH": str(tmp_path / "event.json")}, "").pull == number


def test_two_gates_of_a_workflow_have_comments_of_their_own():
    marks = {
        read_context({"GITHUB_WORKFLOW": flow, "GITHUB_JOB": job}, subject).marker
        for flow, job, subject in (("a", "b", "c"), ("a", "b", "d"), ("a", "bc", ""), ("ab", "", "c"))
    }
    assert len(marks) == 4


def test_server_that_cannot_be_reached_is_told_once_and_no_right_is_blamed(environ, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda seconds: None)  # between attempts
    last = told(environ | {"GITHUB_API_URL": "http://127.0.0.1:9"})[-1]
    assert last.startswith("no comment: ")
    assert last.count("refused") == 1
    assert "permissions" not in last
    with serving(Forge(refuses=500)) as server:
        assert "permissions" not in told(environ | {"GITHUB_API_URL": server.url})[-1]
    with serving(Forge(refuses=404)) as server:
        assert "permissions" in told(environ | {"GITHUB_API_URL": server.url})[-1]
