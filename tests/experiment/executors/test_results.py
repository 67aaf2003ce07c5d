"""Every task exactly once, a window at a time, whatever the workers do."""

from concurrent.futures import BrokenExecutor, CancelledError, Future, ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import closing
from multiprocessing import get_context

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import CorpusError, EngineError
from assay.experiment.executors import FuturesAdapter, SerialExecutor, WorkerLost, iter_results
from tests.experiment.executors.tasks import Job, do, double, refuse
from tests.properties import examples


class Flaky:
    """An executor that settles a task when it is sent: lost as often as a plan says, or held for ever."""

    shares_disk = False

    def __init__(self, losses, width=1, held=()):
        self.width = width
        self.losses = dict(losses)
        self.held: dict[object, Future] = {task: Future() for task in held}
        self.sent = []

    def submit(self, function, *args):
        self.sent.append(args[0])
        if args[0] in self.held:
            return self.held[args[0]]
        return self.settled(function, *args)

    def settled(self, function, task):
        if self.losses.get(task, 0):
            self.losses[task] -= 1
            return failed(WorkerLost("the worker went away"))
        return SerialExecutor().submit(function, task)

    def close(self):
        """Nothing to close."""


def failed(problem):
    future: Future = Future()
    future.set_exception(problem)
    return future


@examples(60)
@given(st.integers(0, 30), st.dictionaries(st.integers(0, 29), st.integers(1, 2)), st.integers(1, 6))
def test_iter_results_yields_every_task_exactly_once_whatever_is_lost(count, losses, workers):
    with ThreadPoolExecutor(workers) as threads:
        left = dict(losses)

        def lossy(number):
            if left.get(number, 0):
                left[number] -= 1
                raise WorkerLost("gone")
            return double(number)

        executor = FuturesAdapter(threads)
        assert sorted(iter_results(executor, lossy, range(count))) == [(n, 2 * n) for n in range(count)]


def test_iter_results_draws_tasks_only_as_the_window_has_room():
    drawn = []

    def tasks():
        for number in range(100):
            drawn.append(number)
            yield number

    executor = Flaky({}, width=4, held=[0, 2])
    results = iter_results(executor, double, tasks())
    assert [next(results) for _ in range(10)] == [(n, 2 * n) for n in (1, 3, 4, 5, 6, 7, 8, 9, 10, 11)]
    assert len(drawn) <= 14  # two are held, two places are left
    for future in executor.held.values():
        future.set_result(None)
    assert len(list(results)) == 90


def test_iter_results_in_this_process_is_lazy_and_in_order():
    done = []

    def noted(number):
        done.append(number)
        return number

    results = iter_results(SerialExecutor(), noted, range(10))
    assert next(results) == (0, 0)
    assert done == [0]
    assert [task for task, _ in results] == list(range(1, 10))


def test_iter_results_sends_a_lost_task_three_times_and_then_names_it():
    executor = Flaky({5: 99})
    with pytest.raises(EngineError, match=r"^5 was lost 3 times because its worker died: the worker went away"):
        list(iter_results(executor, double, range(8)))
    assert executor.sent.count(5) == 3


def test_iter_results_does_not_send_again_what_is_not_worth_it():
    class Spent(Flaky):
        def settled(self, function, task):
            return failed(BrokenExecutor("all of them died"))

    executor = Spent({})
    with pytest.raises(EngineError, match=r"^5 was lost once because its worker died: all of them died"):
        list(iter_results(executor, double, [5]))
    assert executor.sent == [5]


def test_iter_results_takes_something_instead_of_a_task_that_is_lost_each_time():
    executor = Flaky({2: 99}, width=2)
    found = dict(iter_results(executor, str, range(4), on_lost=lambda task: f"lost {task}"))
    assert found == {0: "0", 1: "1", 2: "lost 2", 3: "3"}
    assert executor.sent.count(2) == 3


def test_iter_results_takes_nothing_instead_of_an_error():
    with pytest.raises(CorpusError):
        list(iter_results(Flaky({}), refuse, range(9), on_lost=lambda task: 0))


def test_iter_results_raises_what_a_task_raises_and_cancels_the_rest():
    executor = Flaky({}, width=3, held=[1, 2])
    with pytest.raises(CorpusError) as caught:
        list(iter_results(executor, refuse, range(9)))
    assert caught.value.hint == "look again"
    assert all(future.cancelled() for future in executor.held.values())


def test_iter_results_cancels_what_nobody_wants_any_more():
    executor = Flaky({}, width=3, held=[1, 2])
    with closing(iter_results(executor, double, range(9))) as results:
        next(results)
    assert all(future.cancelled() for future in executor.held.values())


def test_interrupt_goes_through():
    def interrupted(number):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(iter_results(SerialExecutor(), interrupted, range(3)))


def test_cancelled_task_is_an_error_that_names_it():
    class Cancelling(Flaky):
        def settled(self, function, task):
            future: Future = Future()
            future.cancel()
            return future

    with pytest.raises(EngineError, match="CancelledError") as caught:
        list(iter_results(Cancelling({}), double, [7]))
    assert isinstance(caught.value.__cause__, CancelledError)


def test_given_executor_of_processes_gives_the_same():
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        executor = FuturesAdapter(pool)
        assert executor.width == 2
        assert sorted(iter_results(executor, double, range(20))) == [(n, 2 * n) for n in range(20)]
        executor.close()
        assert pool.submit(double, 4).result() == 8  # it is not ours to close


def test_given_executor_that_breaks_is_an_error_that_names_a_task(tmp_path):
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        jobs = [Job("killer", str(tmp_path), deaths=9)]
        with pytest.raises(EngineError, match="killer was lost once because its worker died"):
            list(iter_results(FuturesAdapter(pool), do, jobs))
