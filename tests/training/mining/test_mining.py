import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Generator
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from typing import cast

import pytest

from assay.errors import CorpusError
from assay.processes.forks import run_forked
from assay.training import mining
from assay.training.config import Caps, MiningConfig
from assay.training.mining import prepare
from assay.training.selection import Exclusions
from assay.training.shards import read_report, read_shard
from tests.training.mining.samples import FILES, PYTHON, make
from tests.training.toy import MIT
from tests.waiting import wait_until

NONE = Exclusions(())


@pytest.fixture(scope="module")
def repositories(tmp_path_factory):
    folder = tmp_path_factory.mktemp("repositories")
    for n in range(5):
        text = PYTHON.replace("kettle", f"kettle{n}").replace("Kettle", "Kettle" + "ABCDE"[n])
        files = {"LICENSE": MIT, "README.md": FILES["README.md"], f"kitchen/hot_kettle{n}.py": text}
        make(folder / f"toy+house{n}", files)
        make(
            folder / f"toy+house{n}",
            {f"kitchen/hot_kettle{n}.py": text.replace("drip", "drop")},
            "Let water drop into cups",
        )
    make(folder / "toy+closed", FILES | {"LICENSE": "All rights reserved."})
    return folder


def contents(out):
    return {path.relative_to(out).as_posix(): path.read_bytes() for path in sorted(out.rglob("*")) if path.is_file()}


def run(repositories, out, workers=1, config=None):
    return list(prepare(repositories, config or MiningConfig(), out, NONE, workers).mine())


def watch_mining(monkeypatch) -> list[str]:
    """Return a list that receives the name of every repository that is mined from now on."""
    mined: list[str] = []
    real = mining.mine_repository

    def watched(one, *rest):
        mined.append(one.name)
        return real(one, *rest)

    monkeypatch.setattr(mining, "mine_repository", watched)
    return mined


def test_every_repository_has_a_shard_and_a_report(repositories, tmp_path):
    events = run(repositories, tmp_path / "out")
    assert sorted(event.done for event in events) == [1, 2, 3, 4, 5, 6]
    assert {event.total for event in events} == {6}
    shards = tmp_path / "out" / "shards"
    report, closed = read_report(shards / "toy+house1.json"), read_report(shards / "toy+closed.json")
    assert report is not None
    assert closed is not None
    shard = read_shard(shards / "toy+house1.assay")
    assert shard.repository == report.repository == "toy/house1"
    assert len(shard) == sum(report.pairs.values()) > 0
    assert report.licence == "MIT"
    assert len(report.commit) == 40
    assert set(report.languages) == {"markdown", "python"}
    assert not (shards / "toy+closed.assay").exists()
    assert closed.reason.startswith("license:")
    summary = json.loads((tmp_path / "out" / "mining.json").read_text())
    assert [one["repository"] for one in summary["repositories"]] == [
        "toy/closed",
        *(f"toy/house{n}" for n in range(5)),
    ]
    assert summary["windows_not_checked"] == []


def test_shards_do_not_depend_on_the_number_of_workers(repositories, tmp_path):
    for workers in (1, 2, 5):
        run(repositories, tmp_path / str(workers), workers)
    assert contents(tmp_path / "1") == contents(tmp_path / "2") == contents(tmp_path / "5")


def test_second_run_mines_nothing(repositories, tmp_path, monkeypatch):
    first = run(repositories, tmp_path / "out")
    before = contents(tmp_path / "out")
    monkeypatch.setattr(mining, "mine_repository", pytest.fail)
    second = run(repositories, tmp_path / "out")
    assert {event.report.repository: event.report for event in first} == {e.report.repository: e.report for e in second}
    assert contents(tmp_path / "out") == before


@pytest.mark.parametrize("what", ["config", "commit", "exclusions", "code", "shard"])
def test_what_decides_a_shard_makes_it_anew(tmp_path, monkeypatch, what):
    folder = make(tmp_path / "repos" / "toy+house", FILES)
    out = tmp_path / "out"
    run(tmp_path / "repos", out)
    mined = watch_mining(monkeypatch)
    config, exclusions = MiningConfig(), NONE
    if what == "config":
        config = replace(config, caps=Caps(doc=5))
    elif what == "commit":
        make(folder, {"kitchen/hot_kettle.py": PYTHON + "\n"})
    elif what == "exclusions":
        exclusions = Exclusions(("a/b",))
    elif what == "code":
        monkeypatch.setattr("assay.training.mining._code_digest", lambda: "other")
    else:
        (out / "shards" / "toy+house.assay").unlink()
    list(prepare(tmp_path / "repos", config, out, exclusions, 1).mine())
    assert mined == ["toy/house"]


def group_lives(pgid: int) -> bool:
    try:
        os.killpg(pgid, 0)
    except ProcessLookupError:
        return False
    return True


KILLED = """\
import sys
from pathlib import Path
from assay.training.config import MiningConfig
from assay.training.selection import Exclusions
from assay.training.mining import prepare
for event in prepare(Path(sys.argv[1]), MiningConfig(), Path(sys.argv[2]), Exclusions(()), 2).mine():
    print(event.done, flush=True)
"""


def test_interrupted_run_goes_on_where_it_stopped(repositories, tmp_path, monkeypatch):
    run(repositories, tmp_path / "whole")
    running = cast(Generator[object], prepare(repositories, MiningConfig(), tmp_path / "out", NONE, 1).mine())
    next(running)
    next(running)
    running.close()
    assert not (tmp_path / "out" / "mining.json").exists()
    kept = {path.stem for path in (tmp_path / "out" / "shards").glob("*.json")}
    assert len(kept) == 2
    mined = watch_mining(monkeypatch)
    run(repositories, tmp_path / "out")
    assert len(mined) == 4
    assert not kept & {name.replace("/", "+") for name in mined}
    assert contents(tmp_path / "out") == contents(tmp_path / "whole")


@pytest.mark.nightly  # a new process loads every grammar, which takes seconds
def test_killed_run_goes_on_where_it_stopped(repositories, tmp_path):
    run(repositories, tmp_path / "whole")
    argv = [sys.executable, "-c", KILLED, str(repositories), str(tmp_path / "out")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True, start_new_session=True) as process:
        for line in process.stdout or ():
            if line.strip() == "2":
                process.send_signal(signal.SIGKILL)
                break
    assert process.returncode == -signal.SIGKILL
    assert not (tmp_path / "out" / "mining.json").exists()
    wait_until(lambda: not group_lives(process.pid), "its workers to end")
    kept = contents(tmp_path / "out" / "shards")
    run(repositories, tmp_path / "out")
    made = contents(tmp_path / "out")
    assert {name: data for name, data in made.items() if not name.rpartition("/")[2].startswith(".")} == contents(
        tmp_path / "whole"
    )
    assert any(name.endswith(".json") for name in kept)


def test_folder_without_a_repository_is_an_error(tmp_path):
    with pytest.raises(CorpusError, match="no git repository"):
        run(tmp_path, tmp_path / "out")


@pytest.mark.parametrize("workers", [1, 2])
def test_repository_that_fails_is_reported_and_tried_again(repositories, tmp_path, monkeypatch, workers):
    real = mining.mine_repository

    def fragile(repository, *rest):
        if repository.name == "toy/house2":
            raise ValueError("a bad day")
        return real(repository, *rest)

    with monkeypatch.context() as patched:
        patched.setattr(mining, "mine_repository", fragile)
        reports = {event.report.repository: event.report for event in run(repositories, tmp_path / "out", workers)}
    assert reports["toy/house2"].reason == "failed: a bad day"
    assert sum(reports["toy/house3"].pairs.values()) > 0
    again = {event.report.repository: event.report for event in run(repositories, tmp_path / "out", workers)}
    assert sum(again["toy/house2"].pairs.values()) > 0


@pytest.fixture
def forks(monkeypatch):
    """Fork though other tests may have left idle threads here; else tasks run, and crash, in this very process."""
    monkeypatch.setattr("threading.enumerate", lambda: [threading.current_thread()])


@pytest.mark.usefixtures("forks")
def test_tasks_run_so_many_at_a_time_and_give_what_they_give():
    tasks = {f"task{n}": partial(pow, n, 2) for n in range(7)}
    for workers in (1, 3):
        assert sorted((name, done.result()) for name, done in run_forked(tasks, workers)) == [
            (f"task{n}", n * n) for n in range(7)
        ]


@pytest.mark.usefixtures("forks")
def test_task_that_crashes_or_fails_leaves_the_others_alone():
    def crash() -> int:
        os.kill(os.getpid(), signal.SIGKILL)
        return 0

    def fail() -> int:
        raise ValueError("no")

    large = list(range(200_000))
    tasks: dict[str, Callable[[], object]] = {
        "crash": crash, "fail": fail, "large": lambda: large, "fine": lambda: 1,
    }  # fmt: skip
    done = dict(run_forked(tasks, 2))
    assert "ended without a result" in str(done["crash"].exception())
    assert isinstance(done["fail"].exception(), ValueError)
    assert done["large"].result() == large
    assert done["fine"].result() == 1
    with pytest.raises(ValueError, match="no"):
        done["fail"].result()


@pytest.mark.usefixtures("forks")
def test_tasks_that_nobody_waits_for_are_ended(tmp_path):
    def forever(name: str) -> None:
        (tmp_path / name).write_text(str(os.getpid()))
        time.sleep(600)

    def quick() -> None:
        while not (tmp_path / "slow").exists() or not (tmp_path / "slow").read_text():
            time.sleep(0.01)

    tasks: dict[str, Callable[[], None]] = {"quick": quick, "slow": partial(forever, "slow")}
    running = cast(Generator[tuple[str, Future[None]]], run_forked(tasks, 2))
    assert next(running)[0] == "quick"
    running.close()
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "slow").read_text()), 0)
