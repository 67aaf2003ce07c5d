import time
from concurrent.futures import ThreadPoolExecutor

from assay.engines.http import RateLimiter
from tests.waiting import WATCHDOG


def test_pacer_without_a_rate_never_waits():
    pacer = RateLimiter(None)
    assert [pacer.wait() for _ in range(100)] == [0.0] * 100


def test_pacer_keeps_the_distance_between_threads():
    pacer, times = RateLimiter(100.0), list[float]()

    def go(_: int) -> float:
        waited = pacer.wait()
        times.append(time.monotonic())
        return waited

    begin = time.monotonic()
    with ThreadPoolExecutor(5) as pool:
        waits = list(pool.map(go, range(10)))
    assert max(times) - begin >= 9 * 0.01
    assert max(waits) > 0


def test_pacer_saves_nothing_up(naps):
    pacer = RateLimiter(0.001)
    pacer.wait()
    time.sleep(5000)
    assert pacer.wait() == 0.0
    assert 1000 - WATCHDOG < pacer.wait() <= 1000 + WATCHDOG
