"""`assay gold mine` as a user meets it."""

import json

import pytest

from assay.cli.main import main
from assay.corpus import open_corpus
from assay.gold.anchors import AnchorIndex
from assay.gold.review.items import ReviewQueue
from assay.types import CorpusSpec, Target
from tests.gold.mining.conftest import FILES, commit, committed, repository, run_git, tree, write  # noqa: F401
from tests.gold.mining.test_privacy import SECRETS
from tests.gold.mining.test_proposing import GOOD, answer
from tests.serving import Reply, in_turn, serving

HUMAN = "how long does the client wait for another process before a failed download is tried?"
SET = f"""\
assay: 1
name: small
corpus: {{path: code}}
queries:
  - id: wait
    retrieval: {{primary: ["pkg/net.py::Backoff.next_wait"]}}
    cognitive: {{human: {HUMAN}}}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    """Work where the repository is called `code`."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def gold_set(here):
    """A set with one query."""
    (here / "gold.yaml").write_text(SET)
    return here / "gold.yaml"


def mine(capsys, *arguments, code=0):
    """Run the command and give what it printed."""
    assert main(["gold", "mine", "code", "--set", "gold.yaml", *arguments]) == code
    return capsys.readouterr()


def mine_json(capsys, *arguments):
    return json.loads(mine(capsys, *arguments, "--json").out)


def queued(here):
    return ReviewQueue(here / "gold.yaml").items()


def test_everything_that_is_queued_resolves_and_a_second_call_adds_nothing(here, repository, capsys):  # noqa: F811
    first = mine_json(capsys, "--from", "history,docs,comments,names")
    assert first["schema"] == "assay/gold-mine/1"
    assert {row["source"]: row["new"] > 0 for row in first["sources"]} == {
        "history": True,
        "docs": True,
        "comments": True,
        "names": False,
    }
    items = queued(here)
    assert len(items) == len(first["items"]) > 5
    library = AnchorIndex(open_corpus(CorpusSpec("path", "code")))
    assert all(isinstance(library.look_up(target), Target) for item in items for target in item.query.targets)
    assert all(item.commit and item.on for item in items)
    again = mine_json(capsys, "--from", "history,docs,comments,names")
    assert [row["new"] for row in again["sources"]] == [0, 0, 0, 0]
    assert [row["known"] for row in again["sources"]] == [row["new"] for row in first["sources"]]
    assert queued(here) == items


def test_nothing_is_accepted_by_itself(here, repository, capsys):  # noqa: F811
    printed = mine(capsys)
    assert not (here / "gold.yaml").exists()
    assert "assay gold review gold.yaml --corpus code" in printed.out
    assert "mining history" in printed.err


def test_source_date_epoch_fixes_the_day_of_proposals(here, repository, capsys, monkeypatch):  # noqa: F811
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    mine(capsys, "--from", "docs")
    assert {item.on for item in queued(here)} == {"1970-01-02"}


def test_a_dry_run_shows_and_writes_nothing(here, repository, capsys):  # noqa: F811
    printed = mine(capsys, "--dry-run", "--quiet")
    assert "Nothing was queued" in printed.out
    assert "pkg/net.py::Backoff.next_wait" in printed.out.replace("\n", "")
    assert not (here / "gold.review").exists()
    assert printed.err == ""


def test_texts_that_the_set_has_are_known(gold_set, here, repository, capsys):  # noqa: F811
    asked = "which code computes how long to wait before a failed download is tried again?"
    gold_set.write_text(SET.replace(HUMAN, f'"{asked}"'))
    (row,) = mine_json(capsys, "--from", "comments")["sources"]
    assert row["known"] == 1
    assert asked not in [item.query.forms["human"] for item in queued(here)]


def test_no_secret_reaches_the_queue_or_the_output(here, tree, capsys):  # noqa: F811
    shell = [f"grep '{secret}'\nvim pkg/net.py" for secret in SECRETS]
    said = [{"role": "user", "content": f"where is {secret} used in the failed download?"} for secret in SECRETS]
    calls = {"name": "Read", "input": {"file_path": "/home/adalove/code/pkg/net.py"}}
    (here / "history").write_text(
        "\n".join([*shell, "rg 'failed download by adalove'", "vim /home/adalove/code/pkg/net.py"])
    )
    (here / "log.jsonl").write_text("\n".join(json.dumps(line) for one in said for line in (one, calls)))
    planted = [*SECRETS, "8f14e45fceea167a", "hunter2", "correcthorse", "adalove", "lovelace"]
    for flags in ((), ("--json",)):
        printed = mine(capsys, "--shell", "history", "--transcript", "log.jsonl", *flags)
        text = printed.out + printed.err
        assert not [secret for secret in planted if secret in text]
    kept = (here / "gold.review" / "items.jsonl").read_text() if (here / "gold.review").exists() else ""
    assert not [secret for secret in planted if secret in kept]


def test_what_was_asked_without_a_location_is_listed_and_not_queued(here, tree, capsys):  # noqa: F811
    (here / "history").write_text("rg 'failed download'\nvim code/pkg/net.py\nrg somewhere_else\n")
    data = mine_json(capsys, "--shell", "history")
    assert data["sources"][0]["asked_without_location"] == [{"text": "somewhere_else", "source": "line 3 of history"}]
    assert [item.query.forms for item in queued(here)] == [{"keyword": "failed download"}]
    assert "Without a location" in mine(capsys, "--shell", "history").out


def test_proposals_are_linted_as_the_set_is(gold_set, here, tree, capsys):  # noqa: F811
    gold_set.write_text(SET.replace("{path: code}", "{path: code, include: ['pkg/**', 'tests/**']}"))
    body = "    def keep(self):\n        return self\n"
    net = f"{FILES['pkg/net.py']}\n\ndef use(one: BigStore, two: NetFixture):\n    return one, two\n"
    write(tree, {"tests/a.py": f"class NetFixture:\n{body}", "b/b.py": f"class BigStore:\n{body}", "pkg/net.py": net})
    opened = f"vim +{net.count(chr(10))} code/pkg/net.py"
    (here / "history").write_text(f"rg NetFixture\n{opened}\nrg BigStore\n{opened}\n")
    mine(capsys, "--shell", "history")
    notes = {item.query.headline: [note[:4] for note in item.notes if note.startswith("G")] for item in queued(here)}
    assert notes == {"NetFixture": [], "BigStore": ["G202"]}


def test_what_a_model_did_not_see_is_told(here, tree, capsys):  # noqa: F811
    write(tree, {"pkg/huge.py": "".join(f"def function_number_{n}(x):\n    return x\n" for n in range(900))})
    with serving(in_turn(answer(GOOD))) as server:
        flags = ("--propose", "--endpoint", server.url, "--model", "m", "--dry-run")
        (note,) = mine_json(capsys, *flags)["sources"][0]["notes"]
        assert note.endswith("definitions did not fit into the prompt")
        assert "did not fit" in mine(capsys, *flags).out


def test_adversaries_and_phrasings_are_for_the_queries_of_the_set(gold_set, here, tree, capsys):  # noqa: F811
    data = mine_json(capsys, "--adversaries", "--phrasings")
    kinds = {item.kind for item in queued(here)}
    assert kinds == {"adversary", "phrasing"}
    assert [row["source"] for row in data["sources"]] == ["adversaries", "phrasings"]
    again = mine_json(capsys, "--adversaries", "--phrasings")
    assert [row["new"] for row in again["sources"]] == [0, 0]


def test_a_run_shows_what_engines_confuse(gold_set, here, tree, capsys):  # noqa: F811
    run = [
        "run",
        "--gold",
        "gold.yaml",
        "--engine",
        "a=builtin",
        "--engine",
        "b=keywords",
        "--baseline",
        "b",
        "--no-references",
        "--out",
        "results",
        "--quiet",
    ]
    assert main(run) == 0
    capsys.readouterr()
    items = mine_json(capsys, "--adversaries", "--run", "results")["items"]
    assert all(item["origin"]["how"] in ("names", "confusion") for item in items)


def run_on(capsys, *more):
    """Run two engines on the set."""
    engines = ("--engine", "a=random", "--engine", "b=keywords", "--baseline", "b", "--no-references")
    assert main(["run", "--gold", "gold.yaml", *engines, "--out", "results", "--quiet", *more]) == 0
    capsys.readouterr()


@pytest.mark.parametrize(("then", "now"), [("dev", "sealed"), ("sealed", "dev"), ("sealed", "sealed")])
def test_a_run_with_sealed_queries_is_refused(gold_set, here, tree, capsys, then, now):  # noqa: F811
    marked = SET.replace("    cognitive:", "    tags: {split: PART}\n    cognitive:")
    gold_set.write_text(marked.replace("PART", then))
    run_on(capsys, *(["--split", "sealed"] if then == "sealed" else []))
    gold_set.write_text(marked.replace("PART", now))
    printed = mine(capsys, "--from", "comments", "--adversaries", "--run", "results", "--dry-run", code=2)
    assert "mining would access 1 sealed query" in printed.err
    assert "engines rank it" not in printed.out
    mine(capsys, "--from", "comments", "--adversaries", "--run", "results", code=2)
    assert not (here / "gold.review").exists()


def test_source_date_epoch_dates_proposals(here, tree, capsys, monkeypatch):  # noqa: F811
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert {item["on"] for item in mine_json(capsys, "--from", "comments")["items"]} == {"1970-01-02"}


def test_histories_alone_turn_the_other_sources_off_and_that_is_said(here, tree, capsys):  # noqa: F811
    (here / "history").write_text("rg 'failed download'\nvim code/pkg/net.py\n")
    said = "add --from history,docs to mine the code and its history as well"
    assert said in mine(capsys, "--shell", "history").err
    assert said not in mine(capsys, "--shell", "history", "--from", "docs").err
    assert said not in mine(capsys).err


@pytest.mark.parametrize("part", ["pkg", "elsewhere"])
def test_code_that_is_not_the_sets_is_refused_before_anything_is_queued(gold_set, here, tree, capsys, part):  # noqa: F811
    write(tree, {"elsewhere/a.py": FILES["pkg/store.py"]})
    assert main(["gold", "mine", f"code/{part}", "--set", "gold.yaml", "--from", "comments"]) == 2
    error = capsys.readouterr().err
    assert "is not the corpus of this set: 1 of 1 target files are missing" in error
    assert "use the corpus of the set, code," in error
    assert not (here / "gold.review").exists()


def test_another_copy_of_the_code_is_told_and_the_same_folder_is_not(gold_set, here, tree, capsys):  # noqa: F811
    write(here / "copy", FILES)
    warning = "is not the corpus of the set"
    assert warning not in mine(capsys, "--from", "comments").err
    (here / "deep").mkdir()
    (here / "deep" / "gold.yaml").write_text(SET.replace("path: code", "path: ../code"))
    assert main(["gold", "mine", str(here / "code"), "--set", "deep/gold.yaml", "--from", "comments"]) == 0
    assert warning not in capsys.readouterr().err
    assert main(["gold", "mine", "copy", "--set", "gold.yaml", "--from", "comments"]) == 0
    assert warning in capsys.readouterr().err


@pytest.mark.parametrize("name", ["gold.csv", "gold.jsonl", "gold"])
def test_a_new_set_is_native(here, tree, capsys, name):  # noqa: F811
    assert main(["gold", "mine", "code", "--set", name, "--from", "comments"]) == 2
    error = capsys.readouterr().err
    assert "expected a .yaml file for a new set" in error
    assert "--set gold.yaml" in error
    assert not (here / "gold.review").exists()


def test_a_revision_of_a_local_repository_has_its_history(here, repository, capsys):  # noqa: F811
    folder = mine_json(capsys, "--from", "history", "--dry-run")["items"]
    ids = []
    for revision in ("HEAD", "HEAD~1"):  # before the merge
        arguments = ["gold", "mine", f"git:code@{revision}", "--set", "gold.yaml", "--from", "history", "--dry-run"]
        assert main([*arguments, "--json"]) == 0
        ids.append([item["id"] for item in json.loads(capsys.readouterr().out)["items"]])
    assert ids[0] == [item["id"] for item in folder]
    assert len(ids[1]) == len(ids[0]) - 1 > 0


def test_a_bare_repository_says_what_to_do_for_its_history(here, repository, capsys):  # noqa: F811
    run_git(here, "clone", "-q", "--bare", "code", "bare.git")
    assert main(["gold", "mine", "git:bare.git@main", "--set", "gold.yaml"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "git:bare.git has no work tree; clone it and use the clone as the corpus" in printed


def test_an_endpoint_proposes_and_lint_looks_at_it(here, tree, capsys):  # noqa: F811
    with serving(in_turn(answer(GOOD, {**GOOD, "targets": ["pkg/net.py::nothing"]}))) as server:
        data = mine_json(capsys, "--propose", "--endpoint", server.url, "--model", "m")
    (row,) = data["sources"]
    assert row["new"] == 1
    assert row["refused"][0]["reason"] == "pkg/net.py::nothing is not in the corpus"
    assert len(queued(here)) == 1


def test_a_failing_endpoint_ends_with_4_and_keeps_what_was_queued(here, tree, capsys):  # noqa: F811
    write(tree, {"a/m.py": "def one(x):\n    return x\n\n\ndef two(x):\n    return x\n"})
    with serving(in_turn(answer(GOOD), Reply(b"", status=401))) as server:
        printed = mine(capsys, "--propose", "--endpoint", server.url, "--model", "m", code=4)
    assert "1 proposal queued before that" in printed.err
    assert len(queued(here)) == 1


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--from", "hystory"], "did you mean 'history'?"),
        (["--from", "commits"], "did you mean 'history'?"),
        (["--from", "everything"], "sources: history, docs, comments, names"),
        (["--from", ","], "unknown source ''"),
        (["--count", "0"], "--count: expected 1 or more, got 0"),
        (["--seed", "-1"], "--seed: expected 0 or more, got -1"),
        (["--run", "x"], "--run requires --adversaries"),
        (["--propose"], "--propose requires --endpoint"),
        (["--endpoint", "http://x/v1", "--model", "m"], "--endpoint requires --propose"),
        (["--propose", "--endpoint", "http://x/v1"], "--endpoint requires --model"),
        (["--propose", "--endpoint", "nowhere", "--model", "m"], "the address is not a valid HTTP or HTTPS URL"),
        (["--token-env", "X"], "--token-env requires --endpoint"),
        (["--adversaries"], "no such file"),
        (["--shell", "nothing"], "cannot read"),
    ],
)
def test_bad_input_is_told_before_anything_is_written(here, tree, capsys, arguments, why):  # noqa: F811
    assert why in mine(capsys, *arguments, code=2).err
    assert not (here / "gold.review").exists()


def test_a_repository_without_git_still_has_documents(here, tree, capsys):  # noqa: F811
    printed = mine(capsys)
    assert "not in a Git work tree" in printed.out.replace("\n", " ")
    assert queued(here)


def test_a_history_below_the_top_of_a_work_tree_has_the_paths_of_the_corpus(here, repository, capsys):  # noqa: F811
    commit(repository, "Compute the growing pause of a failed download by its number of failures", {
        "pkg/net.py": FILES["pkg/net.py"].replace("2**self.failures", "3**self.failures")
    })  # fmt: skip
    run_git(repository, "status")
    assert main(["gold", "mine", "code/pkg", "--set", "gold.yaml", "--from", "history"]) == 0
    assert {target.span.path for item in queued(here) for target in item.query.targets} == {"net.py", "store.py"}
