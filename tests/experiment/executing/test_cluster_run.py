"""`assay run --cluster`: the cells of a real sweep on a real Dask cluster are the bytes of a run on this machine."""

import subprocess
import time

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed: NOTHING of --cluster was tested")

from benchmarks.experiments.loopback import loopback
from tests.experiment.sweeping import command, environment, lay_out, sweep, written

SLOW = """
[engines.slow]
kind = "command"
argv = ["{python}", "-c", "import time; time.sleep(0.15); print('shop/cart.py')", "{query}"]
"""


@pytest.fixture(scope="module")
def sweeping(tmp_path_factory):
    """The sweep, run here; and a cluster of three workers that share nothing with it but the files."""
    folder = lay_out(tmp_path_factory.mktemp("sweep"))
    with open(folder / "assay.toml", "a") as stream:
        stream.write(SLOW)
    done = sweep(folder, "--out", "local", "--jobs", "2")
    assert done.returncode == 0, done.stderr
    place = tmp_path_factory.mktemp("cluster")
    with loopback(place, 3, environment(folder, "cache-workers")) as cluster:
        yield folder, cluster


def test_run_on_a_cluster_gives_the_same_bytes(sweeping):
    folder, cluster = sweeping
    done = sweep(folder, "--out", "clustered", "--cluster", cluster.address, cache="cache-other")
    assert done.returncode == 0, done.stderr
    assert written(folder / "clustered") == written(folder / "local")


def test_run_is_the_same_though_a_worker_is_killed_and_one_joins(sweeping):
    folder, cluster = sweeping
    flags = ("--fresh", "--out", "shaken", "--cluster", cluster.address)
    process = subprocess.Popen(
        command(*flags),
        cwd=folder,
        env=environment(folder, "cache-third"),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    with process:
        unfinished = folder / "shaken" / ".unfinished"
        while process.poll() is None and not any(unfinished.rglob("*")):
            time.sleep(0.01)
        assert process.poll() is None, "it was over before anything could happen"
        cluster.workers[0].kill()
        cluster.add(environment(folder, "cache-workers"))
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert written(folder / "shaken") == written(folder / "local")
