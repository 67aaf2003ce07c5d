"""Two processes at once, and processes that are killed."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from assay.corpus import open_corpus, parse_spec
from tests.corpus.conftest import repository
from tests.corpus.serving import Site, publish_html, sdist, serve
from tests.waiting import WATCHDOG

_OPEN = """
import sys
from pathlib import Path
from assay.corpus import open_corpus, parse_spec
print(open_corpus(parse_spec(sys.argv[1]), cache=Path(sys.argv[2])).digest)
"""


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Site]:
    """Serve an index with one big sdist, and point pip at it alone."""
    with serve() as served:
        for name in ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "HTTP_PROXY", "http_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
        monkeypatch.setenv("PIP_INDEX_URL", f"{served.url}/simple")
        files = [(f"big-1.0/src/m{number}.py", f"x = {number}\n".encode() * 200) for number in range(200)]
        publish_html(served, "big", [sdist(tmp_path, "big", "1.0", tmp_path / "ran", files)])
        yield served


def _start(spec: str, cache: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", _OPEN, spec, str(cache)], stdout=subprocess.PIPE, text=True, start_new_session=True
    )


def _finish(process: subprocess.Popen[str]) -> str:
    out, _ = process.communicate(timeout=WATCHDOG)
    assert process.returncode == 0
    return out.strip()


def test_processes_that_open_the_same_package_agree(site: Site, tmp_path: Path) -> None:
    running = [_start("pypi:big==1.0#sdist", tmp_path / "cache") for _ in range(3)]
    digests = {_finish(process) for process in running}
    assert len(digests) == 1
    assert sum(path.startswith("/files/") for path in site.asked) == 1, "one fetched, the others waited"
    assert not list((tmp_path / "cache" / ".tmp").iterdir())


def _killed_at_random(spec: str, tmp_path: Path, times: int, seed: int) -> None:
    """Kill an opening at random instants; each time the next one gives the same digest."""
    draw = random.Random(seed)
    begun = time.monotonic()
    whole = _finish(_start(spec, tmp_path / "whole"))
    length = time.monotonic() - begun
    for number in range(times):
        cache = tmp_path / f"cache{number % 3}"
        process = _start(spec, cache)
        time.sleep(draw.uniform(0.25, 1.0) * length)
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        assert open_corpus(parse_spec(spec), cache=cache).digest == whole
        if number % 3 == 2:
            for used in range(3):
                (tmp_path / f"cache{used}").rename(tmp_path / f"used{number}-{used}")


def test_processes_killed_while_fetching_leave_nothing_that_is_trusted(site: Site, tmp_path: Path) -> None:
    _killed_at_random("pypi:big==1.0#sdist", tmp_path, 2, 1)


@pytest.mark.nightly
def test_processes_killed_while_reading_a_commit_leave_nothing_that_is_trusted(tmp_path: Path) -> None:
    repository(tmp_path / "r", {f"d{number % 30}/m{number}.py": f"x = {number}\n" * 50 for number in range(400)})
    _killed_at_random(f"git:file://{tmp_path}/r@main", tmp_path, 2, 2)


@pytest.mark.soak
def test_processes_killed_twenty_times_leave_nothing_that_is_trusted(site: Site, tmp_path: Path) -> None:
    repository(tmp_path / "r", {f"d{number % 30}/m{number}.py": f"x = {number}\n" * 50 for number in range(400)})
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    _killed_at_random("pypi:big==1.0#sdist", tmp_path / "a", 10, 3)
    _killed_at_random(f"git:file://{tmp_path}/r@main", tmp_path / "b", 10, 4)
