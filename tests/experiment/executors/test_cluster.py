"""Executor of a real Dask cluster: scheduler and workers as processes of their own, on loopback."""

import shutil
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from logging import getLogger
from pathlib import Path

import pytest

import assay
from assay.errors import CorpusError, EngineError, SetupError
from assay.experiment.cluster import DaskExecutor, DaskTimeouts
from assay.experiment.executors import SerialExecutor, iter_results
from tests.experiment.executors.tasks import Job, begun, do, double, host_path, refuse
from tests.waiting import wait_until

distributed = pytest.importorskip("distributed", reason="the extra `cluster` is not installed")
pytestmark = pytest.mark.nightly

PATIENT = DaskTimeouts(connect=300.0, workers=300.0, look=0.1)
IMPATIENT = DaskTimeouts(connect=300.0, workers=0.5, look=0.1)


@pytest.fixture
def executor(cluster):
    with closing(DaskExecutor(cluster.address, PATIENT)) as made:
        yield made


def test_cluster_gives_what_this_process_gives(executor):
    local = sorted(iter_results(SerialExecutor(), double, range(60)))
    assert sorted(iter_results(executor, double, range(60))) == local


def test_error_of_a_task_names_the_host_and_keeps_its_place(executor):
    with pytest.raises(CorpusError, match=r"^gold\.yaml:3: on .+: no such corpus") as caught:
        list(iter_results(executor, refuse, range(9)))
    error = caught.value
    assert (error.file, error.line) == ("gold.yaml", 3)
    assert error.hint is not None
    assert error.hint.startswith("look again; workers open corpora themselves")


def test_path_that_only_we_have_is_an_error_with_host_and_path(executor, tmp_path):
    with pytest.raises(CorpusError, match="on .+: no such folder") as caught:
        list(iter_results(executor, host_path, [str(tmp_path / "nowhere")]))
    assert caught.value.file == str(tmp_path / "nowhere")


def test_worker_killed_and_one_added_midway_loses_and_doubles_nothing(cluster, executor, tmp_path):
    (tmp_path / "jobs").mkdir()
    jobs = [Job(f"job{n:02}", str(tmp_path / "jobs")) for n in range(40)]
    seen: Counter[str] = Counter()
    victim = cluster.alive[0]
    for number, (task, result) in enumerate(iter_results(executor, do, jobs)):
        assert result == task.name.upper()
        seen[task.name] += 1
        if number == 8:
            cluster.kill(victim)
            cluster.ready(2)
            added = cluster.alive[-1].pid
    assert seen == Counter({job.name: 1 for job in jobs})
    workers = {pid for job in jobs for pid in begun(tmp_path / "jobs", job.name)}
    assert {victim.pid, added} <= workers  # the one had begun, the other took its place


def test_task_that_kills_its_worker_once_is_done_by_another(executor, tmp_path):
    assert [r for _, r in iter_results(executor, do, [Job("once", str(tmp_path), deaths=1)])] == ["ONCE"]
    assert len(begun(tmp_path, "once")) == 2


@pytest.fixture
def stranger(cluster, tmp_path, monkeypatch):
    """Start a worker that has another Assay, in the place of those that are there."""
    other = tmp_path / "src" / "assay"
    shutil.copytree(Path(assay.__file__).parent, other, ignore=shutil.ignore_patterns("__pycache__"))
    (other / "one_more_module.py").write_text("")
    started = []

    def replace() -> None:
        cluster.kill(*cluster.alive)
        with monkeypatch.context() as patch:
            patch.setenv("PYTHONPATH", str(other.parent))
            started.append(cluster.add(cluster.environment))
        cluster.settle()

    yield replace
    cluster.kill(*started)


def test_worker_with_other_code_is_refused_before_anything_runs(cluster, stranger):
    stranger()
    with pytest.raises(SetupError, match=r"the worker on .+ \(tcp://127.* has Assay .+ with different code"):
        DaskExecutor(cluster.address, PATIENT)


def test_worker_with_other_code_that_joins_later_refuses_the_task(executor, stranger, tmp_path):
    stranger()
    with pytest.raises(SetupError, match=r"the worker on .+ has Assay .+ with different code"):
        list(iter_results(executor, do, [Job("never", str(tmp_path))]))
    assert not begun(tmp_path, "never")


def test_task_that_a_worker_cannot_load_is_explained(executor, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def mine(_):\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]

    with pytest.raises(SetupError, match="cannot load the task: No module named 'only_here'"):
        list(iter_results(executor, only_here.mine, [1]))
    del sys.modules["only_here"]


def test_tasks_that_nobody_waits_for_are_cancelled(executor, tmp_path):
    jobs, gate = tmp_path / "jobs", tmp_path / "gate"
    jobs.mkdir()
    futures = [executor.submit(do, Job(f"job{n:02}", str(jobs), gate=str(gate))) for n in range(30)]
    wait_until(lambda: len(list(jobs.iterdir())) == 2, "both workers to begin a task")
    assert all(future.cancel() for future in futures)
    with distributed.Client(executor.address, set_as_default=False) as client:
        count = partial(client.run_on_scheduler, lambda dask_scheduler: len(dask_scheduler.tasks))
        wait_until(lambda: count() == 0, "the scheduler to forget the tasks")
    gate.touch()
    later = [executor.submit(double, number) for number in range(10)]  # Dask does earlier tasks first
    assert [future.result() for future in later] == [2 * number for number in range(10)]
    assert len(list(jobs.iterdir())) < 10  # a worker may begin one more before it hears of it


#: What a worker does when it is asked directly, for `dask worker --preload`: lose the connection, or die.
SICK = """
from distributed.core import error_message

async def run(*args, **kwargs):
    return error_message(ConnectionResetError("no answer"))

def dask_setup(worker):
    worker.handlers["run"] = run
"""
DYING = """
import os, signal

async def run(*args, **kwargs):
    os.kill(os.getpid(), signal.SIGKILL)

def dask_setup(worker):
    worker.handlers["run"] = run
"""


@pytest.fixture
def odd_worker(cluster, tmp_path):
    """Add a worker that runs some code first, and wait until the scheduler knows it."""
    started = []

    def add(code: str) -> None:
        (tmp_path / "preload.py").write_text(code)
        started.append(cluster.add(cluster.environment, "--preload", str(tmp_path / "preload.py")))
        with distributed.Client(cluster.address, set_as_default=False) as client:
            client.wait_for_workers(3, timeout=300)

    yield add
    cluster.kill(*started)


def test_worker_that_dies_when_it_is_asked_what_it_has_is_not_missed(cluster, odd_worker):
    odd_worker(DYING)
    with closing(DaskExecutor(cluster.address, PATIENT)) as executor:
        assert cluster.workers[-1].wait(300) != 0
        assert sorted(iter_results(executor, double, range(9))) == [(n, 2 * n) for n in range(9)]


def test_worker_that_is_there_and_never_answers_is_named(cluster, odd_worker):
    odd_worker(SICK)
    with pytest.raises(SetupError, match=r"the worker at tcp://.* does not answer: no answer"):
        DaskExecutor(cluster.address, DaskTimeouts(connect=5.0))


def test_dask_is_quiet_while_we_speak_and_as_it_was_afterwards(cluster):
    names = ("distributed", "distributed.client", "tornado.application")
    before = [getLogger(name).level for name in names]
    with closing(DaskExecutor(cluster.address, PATIENT)):
        assert not any(getLogger(name).isEnabledFor(50) for name in (*names, "distributed.comm.tcp"))
    assert [getLogger(name).level for name in names] == before


def test_task_that_kills_its_worker_each_time_is_named(executor, tmp_path):
    with pytest.raises(EngineError, match=r"killer was lost once .* 2 workers"):
        list(iter_results(executor, do, [Job("killer", str(tmp_path), deaths=99)]))
    assert len(begun(tmp_path, "killer")) == 2  # Dask's count, not ours times Dask's


def test_scheduler_without_workers_is_not_waited_for_for_ever(cluster):
    cluster.kill(*cluster.alive)
    cluster.settle()
    with pytest.raises(SetupError, match="had no worker"):
        DaskExecutor(cluster.address, IMPATIENT)


def test_workers_that_all_die_midway_end_the_run_with_a_sentence(cluster, tmp_path):
    cluster.kill(*cluster.alive[1:])  # of two, the second could die over the task of the first
    cluster.settle()
    with closing(DaskExecutor(cluster.address, IMPATIENT)) as executor:
        with pytest.raises(SetupError, match="had no worker") as caught:
            _gather_and(executor, tmp_path, lambda: cluster.kill(*cluster.alive))
        assert f"dask worker {cluster.address}" in str(caught.value)


def test_scheduler_that_dies_midway_ends_the_run_with_a_sentence(cluster, tmp_path):
    # Dask tries for `connect` seconds to reach the scheduler again.
    with closing(DaskExecutor(cluster.address, DaskTimeouts(connect=5.0, look=600.0))) as executor:
        with pytest.raises(SetupError, match="the scheduler at tcp://.* is gone"):
            _gather_and(executor, tmp_path, cluster.scheduler.kill)
        wait_until(partial(_is_refused, executor), "a task to be refused")


def _is_refused(executor):
    """Return whether a task is not even taken; until Dask gives up it is, and nothing comes of it."""
    try:
        executor.submit(double, 1).cancel()
    except SetupError as problem:
        return "is gone" in problem.message
    return False


def _gather_and(executor: DaskExecutor, folder: Path, then: Callable[[], None]) -> None:
    """Do something after the second result; the other tasks wait for a gate that nobody opens."""
    tasks = [Job(f"job{n}", str(folder), gate="" if n < 2 else str(folder / "never")) for n in range(40)]
    for number, _ in enumerate(iter_results(executor, do, tasks)):
        if number == 1:
            then()
