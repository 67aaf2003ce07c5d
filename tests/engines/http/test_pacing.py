import time
from concurrent.futures import ThreadPoolExecutor

from assay.engines.http.pacing import Pacer
from tests.clocked import clocked


def test_pacer_without_a_rate_never_waits():
    pacer = Pacer(None)
    assert sum(pacer.turn() for _ in range(100)) < 0.05


def test_pacer_keeps_the_distance_between_threads():
    pacer, times = Pacer(50.0), list[float]()

    def go(_: int) -> float:
        waited = pacer.turn()
        times.append(time.monotonic())
        return waited

    begin = time.monotonic()
    with ThreadPoolExecutor(5) as pool:
        waits = list(pool.map(go, range(10)))
    assert max(times) - begin >= 9 * 0.02
    assert max(waits) > 0


@clocked
def test_pacer_saves_nothing_up():
    pacer = Pacer(20.0)
    pacer.turn()
    time.sleep(0.12)
    assert pacer.turn() < 0.02
    assert pacer.turn() > 0.03
