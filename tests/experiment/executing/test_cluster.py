"""A real Dask cluster: scheduler and workers as processes of their own, on loopback."""

import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial
from logging import getLogger
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed: NOTHING of --cluster was tested")

from assay.errors import ConfigError, CorpusError, EngineError, EnvironmentFailure
from assay.experiment.executing.cluster import Cluster, Patience
from assay.experiment.executing.driving import gather
from assay.experiment.executing.remote import Kit, kit
from assay.experiment.executing.serial import Here
from benchmarks.experiments.loopback import loopback
from tests.clocked import clocked
from tests.experiment.executing.tasks import Job, begun, do, double, heavy, host_path, refuse, seat_or_die, unwell
from tests.experiment.executing.test_processes import eventually

QUICK = Patience(connect=2.0, workers=20.0, look=0.1)
IMPATIENT = Patience(connect=2.0, workers=0.5, look=0.1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    """A scheduler that gives a task to two workers at most; tests that kill workers start others."""
    lenient = {"DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}
    with loopback(tmp_path_factory.mktemp("cluster"), 2, lenient) as made:
        made.settle()
        yield made


@pytest.fixture
def fleet(cluster):
    cluster.staff(2)
    with closing(Cluster(cluster.address, QUICK)) as made:
        yield made


def test_cluster_gives_what_this_process_gives(fleet):
    local = sorted(gather(Here(), double, range(60)))
    assert sorted(gather(fleet, double, range(60))) == local
    assert (fleet.traffic.tasks, fleet.traffic.results) == (60, 60)
    assert fleet.traffic.sent < 60 * 1_000


def test_error_of_a_task_names_the_host_and_keeps_its_place(fleet):
    with pytest.raises(CorpusError, match=r"^gold\.yaml:3: on .+: no such corpus") as caught:
        list(gather(fleet, refuse, range(9)))
    error = caught.value
    assert (error.file, error.line) == ("gold.yaml", 3)
    assert error.hint is not None
    assert error.hint.startswith("look again; workers open corpora themselves")


def test_path_that_only_we_have_is_an_error_with_host_and_path(fleet, tmp_path):
    with pytest.raises(CorpusError, match="on .+: no such folder") as caught:
        list(gather(fleet, host_path, [str(tmp_path / "nowhere")]))
    assert caught.value.file == str(tmp_path / "nowhere")


def test_worker_killed_and_one_added_midway_loses_and_doubles_nothing(cluster, fleet, tmp_path):
    jobs = [Job(f"job{n:02}", str(tmp_path), seconds=0.05) for n in range(40)]
    seen: Counter[str] = Counter()
    victim = cluster.workers[0]
    for number, (task, result) in enumerate(gather(fleet, do, jobs)):
        assert result == task.name.upper()
        seen[task.name] += 1
        if number == 8:
            victim.kill()
            victim.wait()
            cluster.staff(2)
            added = cluster.workers[-1].pid
    assert seen == Counter({job.name: 1 for job in jobs})
    workers = {pid for job in jobs for pid in begun(tmp_path, job.name)}
    assert {victim.pid, added} <= workers  # the one had begun, the other took its place


def test_task_that_kills_its_worker_once_is_done_by_another(fleet, tmp_path):
    assert [r for _, r in gather(fleet, do, [Job("once", str(tmp_path), deaths=1)])] == ["ONCE"]
    assert len(begun(tmp_path, "once")) == 2


def test_large_task_is_told_and_a_huge_one_is_refused(cluster):
    limits = Patience(connect=2.0, workers=20.0, large=1_000, refused=100_000)
    with closing(Cluster(cluster.address, limits)) as fleet:
        assert fleet.submit(heavy, 5_000).result() == 5_000
        assert not fleet.troubles
        assert fleet.submit(len, _noise(5_000)).result() == 5_000
        assert "MB to send" in fleet.troubles[0]
        with pytest.raises(EnvironmentFailure, match="is the most"):
            fleet.submit(len, _noise(500_000))


def _noise(size):
    import random

    return random.Random(7).randbytes(size)


def test_worker_with_other_code_is_refused_before_anything_runs(cluster, monkeypatch):
    ours = kit()
    monkeypatch.setattr("assay.experiment.executing.cluster.kit", lambda: Kit(ours.assay, ours.python, "other"))
    with pytest.raises(EnvironmentFailure, match=r"the worker on .+ \(tcp://127.* has other code of Assay"):
        Cluster(cluster.address, QUICK)


def test_worker_with_other_code_that_joins_later_refuses_the_task(fleet, monkeypatch, tmp_path):
    ours = kit()
    monkeypatch.setattr("assay.experiment.executing.cluster.kit", lambda: Kit(ours.assay, "CPython 2.7", ours.code))
    with pytest.raises(EnvironmentFailure, match=r"the worker on .+ has Python CPython 3\.\d+, not CPython 2\.7"):
        list(gather(fleet, do, [Job("never", str(tmp_path))]))
    assert not begun(tmp_path, "never")


def test_kits_differ_by_version_too():
    ours = kit()
    assert ours.lacks(ours) == ""
    assert ours.lacks(Kit("0.0", ours.python, ours.code)) == f"has Assay {ours.assay}, not 0.0"


def test_task_that_a_worker_cannot_load_is_explained(fleet, tmp_path, monkeypatch):
    (tmp_path / "only_here.py").write_text("def mine(_):\n    return 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    import only_here  # type: ignore[import-not-found]

    with pytest.raises(EnvironmentFailure, match="cannot load the task: No module named 'only_here'"):
        list(gather(fleet, only_here.mine, [1]))
    del sys.modules["only_here"]


@clocked
def test_address_where_nobody_answers():
    begin = time.monotonic()
    with pytest.raises(EnvironmentFailure, match="no scheduler answers at tcp://127.0.0.1:9"):
        Cluster("tcp://127.0.0.1:9", Patience(connect=0.5))
    assert time.monotonic() - begin < 5


def test_address_that_is_none():
    with pytest.raises(ConfigError, match="is no address of a cluster"):
        Cluster("carrier-pigeon://host", QUICK)


def test_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(EnvironmentFailure, match="--cluster needs Dask") as caught:
        Cluster("tcp://127.0.0.1:9", QUICK)
    assert "[cluster]" in str(caught.value)


def test_what_nobody_wants_any_more_is_cancelled(fleet, tmp_path):
    results = gather(fleet, do, [Job(f"job{n:02}", str(tmp_path), seconds=0.1) for n in range(60)])
    next(results)
    results.close()
    time.sleep(0.5)
    assert len(list(tmp_path.iterdir())) < 20


def test_worker_that_dies_when_it_is_asked_what_it_has_is_not_missed(cluster, monkeypatch, tmp_path):
    cluster.staff(2)
    monkeypatch.setattr("assay.experiment.executing.cluster.seat", partial(seat_or_die, str(tmp_path)))
    with closing(Cluster(cluster.address, QUICK)) as fleet:
        assert (tmp_path / "dead").exists()
        assert sorted(gather(fleet, double, range(9))) == [(n, 2 * n) for n in range(9)]


def test_worker_that_is_there_and_never_answers_is_named(cluster, monkeypatch):
    cluster.staff(1)
    monkeypatch.setattr("assay.experiment.executing.cluster.seat", unwell)
    with pytest.raises(EnvironmentFailure, match=r"the worker at tcp://.* does not answer: no answer"):
        Cluster(cluster.address, Patience(connect=0.3))


def test_dask_is_quiet_while_we_speak_and_as_it_was_afterwards(cluster):
    cluster.staff(1)
    names = ("distributed", "distributed.client", "tornado.application")
    before = [getLogger(name).level for name in names]
    with closing(Cluster(cluster.address, QUICK)):
        assert not any(getLogger(name).isEnabledFor(50) for name in (*names, "distributed.comm.tcp"))
    assert [getLogger(name).level for name in names] == before


# From here on nobody can use the cluster any more without starting somebody anew; the last one kills the scheduler.


def test_task_that_kills_its_worker_each_time_is_named(cluster, fleet, tmp_path):
    with pytest.raises(EngineError, match=r"killer was sent once and lost its worker .* 2 workers"):
        list(gather(fleet, do, [Job("killer", str(tmp_path), deaths=99)]))
    assert len(begun(tmp_path, "killer")) == 2  # Dask's count, not ours times Dask's


def test_scheduler_without_workers_is_not_waited_for_for_ever(cluster):
    _dismiss(cluster)
    with pytest.raises(EnvironmentFailure, match="had no worker"):
        Cluster(cluster.address, IMPATIENT)


def test_workers_that_all_die_midway_end_the_run_with_a_sentence(cluster, tmp_path):
    cluster.staff(1)
    with closing(Cluster(cluster.address, IMPATIENT)) as fleet:
        with pytest.raises(EnvironmentFailure, match="had no worker") as caught:
            _gather_and(fleet, tmp_path, partial(_dismiss, cluster))
        assert f"dask worker {cluster.address}" in str(caught.value)


def test_scheduler_that_dies_midway_ends_the_run_with_a_sentence(cluster, tmp_path):
    cluster.staff(1)
    with closing(Cluster(cluster.address, QUICK)) as fleet:
        with pytest.raises(EnvironmentFailure, match="the scheduler at tcp://.* went away"):
            _gather_and(fleet, tmp_path, cluster.scheduler.kill)
        eventually(partial(_is_refused, fleet))  # Dask tries for a while


def _is_refused(fleet):
    """Whether a task is not even taken; until then it is, and comes to nothing."""
    try:
        return not isinstance(fleet.submit(double, 1).exception(), EnvironmentFailure)
    except EnvironmentFailure as problem:
        return "went away" in problem.message


def _dismiss(cluster):
    for worker in cluster.workers:
        worker.kill()
        worker.wait()


def _gather_and(fleet: Cluster, folder: Path, then: Callable[[], None]) -> None:
    """Do something after the second result."""
    for number, _ in enumerate(gather(fleet, do, _slow(folder))):
        if number == 1:
            then()


def _slow(folder: Path) -> list[Job]:
    return [Job(f"job{n}", str(folder), seconds=0.1) for n in range(40)]
