"""Worker processes: killed ones are replaced, none outlives us."""

import os
import signal
import subprocess
import sys
from concurrent.futures import BrokenExecutor
from contextlib import closing, suppress
from pathlib import Path

import pytest

from assay.errors import ConfigError, CorpusError, EngineError
from assay.experiment.executors import ProcessExecutor, iter_results
from benchmarks.experiments.loopback import our_path
from tests.experiment.executors.tasks import Job, begun, circumstances, crash, do, double, fail_oddly, linger, refuse
from tests.waiting import wait_until


def alive(pid):
    """Return whether a process runs; one that waits to be reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


@pytest.fixture(scope="module")
def executor():
    with closing(ProcessExecutor(2)) as made:
        yield made


def test_processes_give_what_this_process_gives(executor):
    assert sorted(iter_results(executor, double, range(50))) == [(n, 2 * n) for n in range(50)]


def test_worker_has_one_thread_and_leaves_interrupts_to_us(executor):
    before = os.environ.get("OPENBLAS_NUM_THREADS")
    told = executor.submit(circumstances, None).result()
    assert (told["threads"], told["interrupt"]) == ("1", True)
    assert told["pid"] in executor.pids
    assert os.environ.get("OPENBLAS_NUM_THREADS") == before


def test_error_of_a_task_keeps_its_hint_and_costs_no_worker(executor):
    executor.submit(double, 1).result()
    pids = executor.pids
    with pytest.raises(CorpusError) as caught:
        list(iter_results(executor, refuse, range(9)))
    assert (caught.value.file, caught.value.line, caught.value.hint) == ("gold.yaml", 3, "look again")
    assert set(pids) <= set(executor.pids)


def test_unexpected_error_tells_where_it_was(executor):
    with pytest.raises(ZeroDivisionError) as caught:
        executor.submit(crash, None).result()
    assert "tasks.py" in str(caught.value.__cause__)


def test_error_that_cannot_travel_is_told_in_words(executor):
    with pytest.raises(RuntimeError, match="Odd: something"):
        executor.submit(fail_oddly, None).result()


def test_task_that_kills_its_worker_once_is_done_again(executor, tmp_path):
    jobs = [Job(f"job{n}", str(tmp_path), deaths=n % 3 == 1) for n in range(6)]
    assert sorted(r for _, r in iter_results(executor, do, jobs)) == [f"JOB{n}" for n in range(6)]
    assert [len(begun(tmp_path, job.name)) for job in jobs] == [1, 2, 1, 1, 2, 1]  # nobody else's task was lost


def test_task_that_kills_every_worker_is_named_and_others_are_not_blamed(executor, tmp_path):
    jobs = [Job("killer", str(tmp_path), deaths=99), *(Job(f"job{n}", str(tmp_path)) for n in range(8))]
    with pytest.raises(EngineError, match=r"killer was lost 3 times .* was killed by SIGKILL"):
        list(iter_results(executor, do, jobs))
    assert len(begun(tmp_path, "killer")) == 3
    assert all(len(begun(tmp_path, f"job{n}")) <= 1 for n in range(8))
    assert executor.submit(double, 4).result() == 8  # it goes on


def test_idle_worker_that_was_killed_is_replaced(executor):
    executor.submit(double, 1).result()
    for pid in executor.pids:
        os.kill(pid, signal.SIGKILL)
    assert sorted(iter_results(executor, double, range(9))) == [(n, 2 * n) for n in range(9)]


def test_closing_ends_workers_that_are_busy_and_they_tidy_up(tmp_path):
    executor = ProcessExecutor(1)
    future = executor.submit(linger, str(tmp_path))
    wait_until(lambda: list(tmp_path.glob("pid-*")), "the task to begin")
    pids = executor.pids
    executor.close()
    executor.close()
    assert (tmp_path / "tidied").exists()
    assert not any(map(alive, pids))
    assert isinstance(future.exception(), BrokenExecutor)


def test_number_of_processes_is_checked():
    with pytest.raises(ConfigError):
        ProcessExecutor(-1)


PROGRAM = """
import sys
from assay.experiment.executors import ProcessExecutor, iter_results
from tests.experiment.executors.tasks import linger

if __name__ == "__main__":
    executor = ProcessExecutor(2)
    try:
        list(iter_results(executor, linger, [sys.argv[1]] * 2))
    finally:
        executor.close()
"""


def started(tmp_path):
    (tmp_path / "program.py").write_text(PROGRAM)
    command = [sys.executable, str(tmp_path / "program.py"), str(tmp_path)]
    process = subprocess.Popen(
        command, env={**os.environ, "PYTHONPATH": our_path()}, stderr=subprocess.PIPE, start_new_session=True
    )
    wait_until(lambda: len(list(tmp_path.glob("pid-*"))) == 2, "both tasks to begin")
    return process, [int(path.name.partition("-")[2]) for path in tmp_path.glob("pid-*")]


def test_workers_end_when_their_parent_is_killed(tmp_path):
    process, pids = started(tmp_path)
    with process:
        process.kill()
    try:
        wait_until(lambda: not any(map(alive, pids)), "the workers to end")
    finally:
        for pid in pids:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)


def test_interrupt_ends_everything_once_and_in_good_order(tmp_path):
    process, pids = started(tmp_path)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to all of them
    _, said = process.communicate(timeout=300)
    assert process.returncode == -signal.SIGINT
    assert said.count(b"KeyboardInterrupt") == 1
    assert (tmp_path / "tidied").exists()
    assert not any(map(alive, pids))
