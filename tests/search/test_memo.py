"""What is remembered of a question is what was made for it, and never more than there is room for."""

import threading
from functools import partial

import numpy as np
import pytest

from assay.search.view import QueryMemo


def counting(calls, value):
    def make():
        calls.append(value)
        return value

    return make


def test_value_is_made_once_for_each_question_and_key():
    memo = QueryMemo()
    calls: list[object] = []
    for question in ("a", "b"):
        for key in (1, 2):
            for _ in range(3):
                assert memo.get(question, key, counting(calls, (question, key))) == (question, key)
    assert calls == [("a", 1), ("a", 2), ("b", 1), ("b", 2)]


def test_question_that_was_asked_longest_ago_is_forgotten():
    memo = QueryMemo(queries=2)
    calls: list[object] = []
    for question in ("a", "b", "a", "c", "a", "b"):
        memo.get(question, 1, counting(calls, question))
    assert calls == ["a", "b", "c", "b"]


def test_what_has_no_room_is_made_every_time():
    memo = QueryMemo(most_bytes=2_000)
    calls: list[object] = []
    for _ in range(2):
        memo.get("a", "small", counting(calls, np.zeros(100)))
        memo.get("a", "large", counting(calls, (np.zeros(200), "text")))
    assert [type(value) for value in calls] == [np.ndarray, tuple, tuple]


def test_nobody_can_change_what_is_remembered():
    found = QueryMemo().get("a", 1, lambda: np.zeros(3))
    with pytest.raises(ValueError, match="read-only"):
        found[0] = 1.0


def test_maker_that_fails_leaves_nothing():
    memo = QueryMemo()
    with pytest.raises(ZeroDivisionError):
        memo.get("a", 1, lambda: 1 // 0)
    assert memo.get("a", 1, lambda: 2) == 2


def test_threads_may_ask_at_once():
    memo = QueryMemo(queries=1)
    wrong = []

    def ask(name):
        for number in range(300):
            if memo.get(f"{name} {number % 3}", number % 2, partial(tuple, (name, number % 2))) != (name, number % 2):
                wrong.append(name)

    threads = [threading.Thread(target=ask, args=(name,)) for name in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
