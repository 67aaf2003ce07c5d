"""Values that are made once and kept, the last ones used."""

import threading
import time
from functools import partial

import pytest

from assay.web.keeping import Kept


def test_kept_makes_each_value_once_and_lets_the_oldest_go():
    dropped: list[str] = []
    made: list[str] = []
    kept: Kept[str, str] = Kept(2, dropped.append)

    def make(key):
        made.append(key)
        return key

    for key in ("a", "b", "a", "c", "a"):
        kept.get(key, partial(make, key))
    assert (made, dropped) == (["a", "b", "c"], ["b"])


def test_kept_makes_once_though_many_ask_and_fails_for_all_of_them():
    kept: Kept[str, str] = Kept(2)
    made: list[int] = []
    gate = threading.Event()

    def slow():
        gate.wait(5)
        made.append(1)
        raise OSError("no")

    def attempt():
        with pytest.raises(OSError):
            kept.get("a", slow)

    threads = [threading.Thread(target=attempt) for _ in range(5)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    gate.set()
    for thread in threads:
        thread.join(5)
    assert made == [1]
    assert kept.get("a", lambda: "made now") == "made now"
