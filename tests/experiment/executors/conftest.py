import subprocess

import pytest

from benchmarks.experiments.loopback import Loopback
from tests.experiment.sweeping import environment


class SharedCluster(Loopback):
    """A scheduler and workers as processes on loopback; what a test killed is started again for the next one."""

    @property
    def environment(self) -> dict[str, str]:
        # A task that loses two workers fails, instead of four as Dask has it: tests start fewer workers.
        return {**environment(self.folder), "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "1"}

    def ready(self, workers: int) -> None:
        """Have a scheduler and so many workers."""
        if self.scheduler is None or self.scheduler.poll() is not None:
            self.end()
            self.workers.clear()
            (self.folder / "scheduler.json").unlink(missing_ok=True)
            self.start(workers, self.environment)
        self.staff(workers, self.environment)

    @property
    def alive(self) -> list[subprocess.Popen[bytes]]:
        return [worker for worker in self.workers if worker.poll() is None]

    def kill(self, *workers: subprocess.Popen[bytes]) -> None:
        for worker in workers:
            worker.kill()
            worker.wait()


@pytest.fixture(scope="package")  # idle processes of Dask are not free: they end with the tests of this folder
def shared_cluster(tmp_path_factory):
    pytest.importorskip("distributed", reason="the extra `cluster` is not installed: NOTHING of --cluster was tested")
    cluster = SharedCluster(tmp_path_factory.mktemp("cluster"))
    try:
        yield cluster
    finally:
        cluster.end()


@pytest.fixture
def cluster(shared_cluster):
    """A cluster with two workers."""
    shared_cluster.ready(2)
    return shared_cluster
