"""The Action: its steps, read from action.yml, run by bash on a repository against an API on loopback.

Nothing of Assay is replaced. The step that installs it runs with a Python that only notes what it is told, since tests
have no network; all other jobs use the Assay that is here, by `install: false`.
"""

import json
import re
import shutil
from pathlib import Path

import pytest

from assay.cli.main import main
from tests.action.forge import Forge, pull
from tests.action.runner import ROOT, TOKEN, action, job
from tests.serving import serving

QUERIES = 40
CONFIG = """\
[run]
gold = "gold.yaml"
references = false
baseline = "mine"
measures = ["nDCG@10", "Hit@5"]

[engines.mine]
kind = "command"
argv = ["sh", "{here}/search.sh", "{query}"]
format = "text"
"""
#: Finds the first RIGHT things, and fails on the last BROKEN ones.
ENGINE = """\
n="${1##*thing}"
read right broken < "$(dirname "$0")/skill"
if [ "$n" -ge "$((40 - broken))" ]; then echo "::error::down" >&2; exit 3; fi
if [ "$n" -lt "$right" ]; then echo "part$n.py:1"; else echo "part0.py:1"; fi
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory):
    """A repository that measures its search tool: forty files, forty questions, a baseline of the tool at its best."""
    root = tmp_path_factory.mktemp("action") / "shop"
    (root / "src").mkdir(parents=True)
    for i in range(QUERIES):
        (root / "src" / f"part{i}.py").write_text(f"def thing{i}():\n    return {i}\n")
    queries = "".join(
        f"  - id: q{i}\n    retrieval: {{primary: [part{i}.py]}}\n    cognitive: {{human: where is thing{i}}}\n"
        for i in range(QUERIES)
    )
    (root / "gold.yaml").write_text(f"assay: 1\nname: shop\ncorpus: {{path: src}}\nqueries:\n{queries}")
    (root / "assay.toml").write_text(CONFIG)
    (root / "search.sh").write_text(ENGINE)
    skill(root, 40)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(root)
        patch.setenv("ASSAY_CACHE_DIR", str(root.parent / "cache"))
        assert main(["run", "--quiet", "--out", "first"]) == 0
        assert main(["gate", "first", "--write-baseline", "baseline.json"]) == 0
    return root


def skill(root, right, broken=0):
    """Say what the search tool can do."""
    (root / "skill").write_text(f"{right} {broken}\n")


@pytest.fixture
def work(checkout, tmp_path):
    """The repository as another machine checks it out, in another place and without results."""
    return shutil.copytree(checkout, tmp_path / "elsewhere" / "shop", ignore=shutil.ignore_patterns("first", "cache"))


INPUTS = {"install": "false", "baseline": "baseline.json"}


def test_change_that_makes_search_worse_fails_with_annotations_and_a_comment(work, tmp_path):
    forge = Forge()
    with serving(forge) as server:
        skill(work, 20)
        done = job(work, INPUTS, api=server.url, temp=tmp_path / "one", event=pull())
    assert done.code == 1, done.log
    assert (done.outputs["verdict"], done.outputs["exit-code"]) == ("fail", "1")
    assert re.search(r"^::error title=assay gate::mine \(results\) against mine \(baseline.json\)", done.log, re.M)
    assert re.search(r"^::notice file=gold.yaml,line=\d+,title=assay gate::mine lost on shop/q\d\d", done.log, re.M)
    assert "worse, on this repository" in done.summary
    assert (work / "results" / "report.html").samefile(done.outputs["report"])
    (comment,) = forge.comments
    assert comment["body"].startswith("<!-- assay-gate:")
    assert server.asked[-1].token == f"Bearer {TOKEN}"
    assert not [told for told in (done.log, done.summary, comment["body"]) if TOKEN in told]


def test_change_that_moves_nothing_passes(work, checkout, tmp_path):
    given = {"comment": "false", "lint": "false", "run": "false", "results": str(checkout / "first")}
    done = job(work, INPUTS | given, temp=tmp_path / "one", event=pull())
    assert done.code == 0, done.log
    assert (done.outputs["verdict"], done.outputs["exit-code"]) == ("pass", "0")
    assert "::error" not in done.log


@pytest.mark.nightly
def test_proven_regression_fails_and_the_next_push_changes_the_same_comment(work, tmp_path):
    forge = Forge()
    forge.fill(130)
    with serving(forge) as server:
        skill(work, 20)
        first = job(work, INPUTS, api=server.url, temp=tmp_path / "one", event=pull())
        skill(work, 38)
        second = job(work, {**INPUTS, "lint": "false"}, api=server.url, temp=tmp_path / "two", event=pull())
        third = job(work, INPUTS | STRICT, api=server.url, temp=tmp_path / "three", event=pull())
    assert first.code == 1, first.log
    assert (first.outputs["verdict"], first.outputs["exit-code"]) == ("fail", "1")
    assert re.search(r"^::error title=assay gate::mine \(results\) against mine \(baseline.json\)", first.log, re.M)
    assert re.search(r"^::notice file=gold.yaml,line=\d+,title=assay gate::mine lost on shop/q\d\d", first.log, re.M)
    assert "worse, on this repository" in first.summary
    assert (work / "results" / "report.html").samefile(first.outputs["report"])
    # a small change may be chance: it passes, and says so
    assert second.code == 0, second.log
    assert (second.outputs["verdict"], second.outputs["exit-code"]) == ("inconclusive", "0")
    assert re.search(r"^::warning title=assay gate::mine .*inconclusive", second.log, re.M)
    assert "::error" not in second.log
    # one comment, on the second page, changed in place
    assert len(forge.comments) == 131
    body = forge.comments[-1]["body"]
    assert body.startswith("<!-- assay-gate:")
    assert "assay gate: inconclusive" in body
    assert [line.split()[0] for line in forge.asked].count("POST") == 1
    assert third.code == 3
    assert third.outputs["verdict"] == "inconclusive"
    for told in (first.log, second.log, first.summary, body, json.dumps(server.asked[0].payload)):
        assert TOKEN not in told
    assert server.asked[-1].token == f"Bearer {TOKEN}"


STRICT = {"run": "false", "lint": "false", "strict": "true"}


@pytest.mark.nightly
def test_engine_failure_is_four_and_a_run_that_failed_is_not_judged_by_old_results(work, tmp_path):
    forge = Forge()
    with serving(forge) as server:
        skill(work, 40, broken=5)
        given = {**INPUTS, "lint": "false"}
        failed = job(work, given, api=server.url, temp=tmp_path / "one", event=pull())
        (work / "assay.toml").write_text("[run]\ngold = 'nowhere.yaml'\n")
        unread = job(work, given, api=server.url, temp=tmp_path / "two", event=pull())
    assert failed.code == 4, failed.log
    assert (failed.outputs["verdict"], failed.outputs["exit-code"]) == ("engine failed", "4")
    assert "5 of 40 queries failed" in failed.summary
    assert unread.code == 2, unread.log
    assert unread.outputs["verdict"] == "bad input"
    assert "nowhere.yaml" in forge.comments[0]["body"]
    assert len(forge.comments) == 1


@pytest.mark.nightly
def test_fork_that_may_not_write_does_not_fail(work, tmp_path):
    forge = Forge(refuses=403)
    with serving(forge) as server:
        done = job(
            work,
            {**INPUTS, "lint": "false", "repeats": "2", "results": "out", "require": "Hit@5>=0.9\n\nnDCG@10>=0.5"},
            api=server.url,
            temp=tmp_path / "one",
            event=pull(fork=True),
        )
    assert done.code == 0, done.log
    assert done.outputs["verdict"] == "pass"
    assert "no comment:" in done.log
    assert "from a fork" in done.log
    assert "Hit@5 &gt;= 0.9" in done.summary
    assert "Between repeats" in done.summary
    assert done.outputs["report"].endswith("/out/1/report.html")
    assert TOKEN not in done.log
    assert forge.comments == []
    assert len(forge.asked) == 2  # looked for, refused, and not asked again


@pytest.mark.nightly
def test_two_gates_of_one_job_share_neither_comment_nor_files_and_name_what_is_there(checkout, tmp_path):
    repository, forge = tmp_path / "repository", Forge()
    for name in ("api", "web"):
        shutil.copytree(checkout, repository / name, ignore=shutil.ignore_patterns("results"))
        (repository / name / "first").rename(repository / name / "results")
    given = {**INPUTS, "run": "false", "lint": "false"}
    absolute = str(repository / "web" / "results")
    with serving(forge) as server:
        api, web, again = (
            job(repository, given | inputs, api=server.url, temp=tmp_path / "temp", event=pull())
            for inputs in (
                {"working-directory": "api"},
                {"working-directory": "web"},
                {"working-directory": "web", "results": absolute},
            )
        )
    assert [one.code for one in (api, web, again)] == [0, 0, 0], again.log
    assert len(forge.comments) == 2
    assert len({one.outputs["json"] for one in (api, web, again)}) == 3
    assert api.outputs["results"] == str(repository / "api" / "results")
    assert again.outputs["results"] == absolute
    for path in (again.outputs["report"], *(one.outputs["json"] for one in (api, web, again))):
        assert Path(path).is_file()


@pytest.mark.nightly
def test_hostile_inputs_are_words_and_no_commands(work, tmp_path):
    evil = f'"; touch {tmp_path}/evil; echo "$(touch {tmp_path}/evil)`touch {tmp_path}/evil`'
    inputs = dict.fromkeys(("config", "baseline", "results", "require", "engine", "repeats"), evil)
    done = job(work, INPUTS | inputs | {"lint": "false"}, temp=tmp_path / "one")
    assert done.code == 2, done.log
    assert not (tmp_path / "evil").exists()


HOSTILE = {
    "says all is well": "def load(*_): return {'exit_code': 0, 'verdict': 'pass'}\nloads = load\n",
    "raises": "raise SystemExit(0)\n",
}


@pytest.mark.nightly
@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_modules_of_the_repository_replace_none_of_ours(work, tmp_path, text):
    skill(work, 20)
    given = {**INPUTS, "run": "false", "lint": "false", "results": "poor"}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(work)
        patch.setenv("ASSAY_CACHE_DIR", str(work.parent / "cache"))
        assert main(["run", "--quiet", "--out", "poor"]) == 0
    noted = tmp_path / "token"
    spy = f"import os\nif os.environ.get('GITHUB_TOKEN'): open({str(noted)!r}, 'a').write('seen')\n"
    for name in ("json", "argparse", "assay"):
        (work / f"{name}.py").write_text(spy + text)
    for number, env in enumerate(({}, {"PYTHONPATH": "."})):
        done = job(work, given, temp=tmp_path / str(number), env=env)
        assert (done.code, done.outputs["verdict"], done.outputs["exit-code"]) == (1, "fail", "1"), done.log
    assert not noted.exists()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("said", "ended", "verdict", "code"),
    [
        ('{"verdict": "fail", "exit_code": 1}', 0, "fail", 1),
        ('{"verdict": "pass", "exit_code": 0}', 1, "pass", 0),
        ("", 0, "engine failed", 4),
        ('{"verdict": "pass"}', 0, "engine failed", 4),
    ],
)
def test_verdict_is_what_the_json_says_and_not_how_the_gate_ended(work, tmp_path, said, ended, verdict, code):
    stub = tmp_path / "bin"
    stub.mkdir()
    (stub / "assay").write_text(f"#!/bin/sh\necho '{said}'\nexit {ended}\n")
    (stub / "assay").chmod(0o755)
    path = f"{stub}:/usr/bin:/bin"
    done = job(work, {**INPUTS, "run": "false", "lint": "false"}, temp=tmp_path / "one", env={"PATH": path})
    assert (done.code, done.outputs["verdict"], done.outputs["exit-code"]) == (code, verdict, str(code))


def test_token_reaches_the_judging_step_alone():
    holders = [step["id"] for step in action()["runs"]["steps"] if "token" in json.dumps(step["env"])]
    assert holders == ["gate"]


def test_no_script_runs_python_that_imports_from_the_checkout():
    for step in action()["runs"]["steps"]:
        assert not re.search(r"python\"? (?!-I )", step["run"], re.I), step["id"]


def test_no_script_holds_an_expression():
    for step in action()["runs"]["steps"]:
        assert "${{" not in step["run"], step["id"]


@pytest.mark.nightly
def test_action_installs_itself_into_a_place_of_its_own(work, tmp_path):
    python = tmp_path / "python"
    noted = tmp_path / "noted"
    python.write_text(
        f'#!/bin/sh\necho "$@" >> {noted}\ncase "$3" in venv) mkdir -p "$4/bin"; cp "$0" "$4/bin/python";; esac\n'
    )
    python.chmod(0o755)
    temp = tmp_path / "one"
    job(work, {"python": str(python)}, temp=temp, last="install")
    first, second = noted.read_text().splitlines()
    assert first == f"-I -m venv {temp}/assay"
    assert second.startswith("-I -m pip install")
    assert second.endswith(f" {ROOT}")
    assert (temp / "path").read_text() == f"{temp}/assay/bin\n"
