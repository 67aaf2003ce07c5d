"""`assay run --cluster`: the cells of a real sweep on a real Dask cluster are the bytes of a run on this machine."""

import json
import pickle
import subprocess
import time
import zlib
from pathlib import Path

import pytest

pytest.importorskip("distributed", reason="the extra `cluster` is not installed: NOTHING of --cluster was tested")

from assay.cli.main import main
from assay.experiment.cells.running import survey_all
from assay.experiment.cells.working import visit
from assay.experiment.executing.remote import Call, kit, packed_small
from assay.experiment.executing.serial import Here
from assay.experiment.running.loading import load_suite
from assay.experiment.running.matrix import plan_of
from assay.experiment.spec import load_spec
from benchmarks.experiments.loopback import loopback
from tests.experiment.sweeping import ENGINES, command, environment, lay_out, written

#: Engines of ours and of others, and one slow enough that something can happen meanwhile.
CONFIG = (
    """\
[run]
gold = ["one.yaml", "two.yaml"]
baseline = "mine"
forms = ["human"]
references = false
jobs = 1

"""
    + ENGINES
    + """\

[engines.slow]
kind = "command"
argv = ["sh", "-c", "sleep 0.5; echo shop/cart.py", "{query}"]

[variants.stem]
engine = "mine"
set = { "search.stem.files" = 0.7 }
"""
)


@pytest.fixture(scope="module")
def sweeping(tmp_path_factory):
    """The sweep, run here; and a cluster of two workers that share nothing with it but the files."""
    folder = lay_out(tmp_path_factory.mktemp("sweep"))
    (folder / "assay.toml").write_text(CONFIG)
    run_here(folder, "--out", "local", cache="cache")
    place = tmp_path_factory.mktemp("cluster")
    with loopback(place, 2, environment(folder, "cache-workers")) as cluster:
        cluster.settle()
        yield folder, cluster


def run_here(folder, *flags, cache):
    """Run the sweep in this process."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in environment(folder, cache).items():
            patch.setenv(name, value)
        assert main(["run", "--quiet", *flags]) == 0


class Running:
    """`assay run --cluster` as a process, of which nothing is kept but what it did not finish."""

    def __init__(self, folder, cluster, out):
        self.unfinished = folder / out / ".unfinished"
        flags = ("--fresh", "--out", out, "--cluster", cluster.address)
        self.process = subprocess.Popen(
            [flag for flag in command(*flags) if flag != "--json"],
            cwd=folder,
            env=environment(folder, f"cache-{out}"),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )

    def wait_for_a_cell(self):
        """Wait until something is kept: it is in the midst of it."""
        while self.process.poll() is None and not any(self.unfinished.rglob("*")):
            time.sleep(0.01)
        assert self.process.poll() is None, "it was over before anything could happen"

    def end(self):
        """Give the exit code and what it said."""
        with self.process:
            _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


@pytest.mark.soak  # the next one is stricter
def test_run_on_a_cluster_gives_the_same_bytes(sweeping):
    folder, cluster = sweeping
    run_here(folder, "--out", "clustered", "--cluster", cluster.address, cache="cache-other")
    assert written(folder / "clustered") == written(folder / "local")


def test_run_is_the_same_though_a_worker_is_killed_and_one_joins(sweeping):
    folder, cluster = sweeping
    running = Running(folder, cluster, "shaken")
    running.wait_for_a_cell()
    cluster.workers[0].kill()
    cluster.add(environment(folder, "cache-workers"))
    assert running.end() == (0, "")
    assert written(folder / "shaken") == written(folder / "local")


def test_scheduler_that_dies_is_told_in_a_sentence_and_what_is_done_is_kept(sweeping):
    folder, cluster = sweeping
    cluster.staff(2, environment(folder, "cache-workers"))
    running = Running(folder, cluster, "orphaned")
    running.wait_for_a_cell()
    cluster.scheduler.kill()
    code, said = running.end()
    assert code == 4
    assert said.startswith(f"assay: the scheduler at {cluster.address} went away")
    assert "Traceback" not in said
    run_here(folder, "--out", "orphaned", cache="cache-orphaned")
    assert written(folder / "orphaned") == written(folder / "local")
    cells = json.loads((folder / "orphaned" / "timings.json").read_text())["cells"]
    assert {"taken from earlier work"} < {cell["reason"] for cell in cells}


SECRET = "hunter2-hunter2"


def test_no_secret_of_ours_is_in_a_task(tmp_path, monkeypatch):
    folder = lay_out(tmp_path)
    argv = '["{python}", "-c", "print(1)", "{query}", "--token", "{env:TOKEN}"]'
    text = '[run]\ngold = ["one.yaml"]\nreferences = false\n[engines.tool]\nkind = "command"\n'
    (folder / "assay.toml").write_text(f'{text}argv = {argv}\nenv = {{ KEY = "{{env:TOKEN}}" }}\n')
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TOKEN", SECRET)
    spec = load_spec(Path("assay.toml"))
    plan = plan_of(spec, load_suite(spec))
    assert SECRET in plan.asked["tool"].engine.secrets  # it is known here, where the engine was made
    grounds = survey_all(plan, ["one"], Here(), lambda _: None)
    (task,) = plan.visits(plan.slots, grounds, 1)
    packed = packed_small((visit, (task,)))
    sent = pickle.dumps(Call(kit(), packed), protocol=5)
    assert b"{env:TOKEN}" in zlib.decompress(packed)
    assert SECRET.encode() not in zlib.decompress(packed) + sent
