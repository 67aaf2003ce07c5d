"""`assay run --cluster`: the cells of a sweep on a Dask cluster are the bytes of a run on this machine."""

import json
import pickle
import sys
import zlib
from dataclasses import replace
from pathlib import Path

import pytest

from assay.errors import ConfigError, SetupError
from assay.experiment.cluster import DaskExecutor, DaskTimeouts, RemoteCall, pack, worker_environment
from assay.experiment.corpora import load_suite
from assay.experiment.run_plan import make_plan
from assay.experiment.spec import load_spec
from assay.experiment.worker import measure, survey
from tests.experiment.sweeping import finish, held_midway, lay_out, run_here, written

pytest.importorskip("distributed", reason="the extra `cluster` is not installed: NOTHING of --cluster was tested")


@pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.nightly)])
def test_run_on_a_cluster_gives_the_same_bytes(swept, shared_cluster, workers):
    shared_cluster.ready(workers)
    out, cache = f"clustered-{workers}", f"cache-clustered-{workers}"
    assert run_here(swept.folder, "--out", out, "--cluster", shared_cluster.address, cache=cache) == 0
    assert written(swept.folder / out) == swept.results


@pytest.mark.nightly
def test_run_is_the_same_though_a_worker_is_killed_and_one_joins(swept, cluster):
    flags = ("--no-cache", "--out", "shaken", "--cluster", cluster.address)
    with held_midway(swept.folder, *flags, cache="cache-shaken") as process:
        cluster.kill(cluster.alive[0])
        cluster.add(cluster.environment)
        (swept.folder / "hold").unlink()
        assert finish(process) == (0, "")
    assert written(swept.folder / "shaken") == swept.results


@pytest.mark.nightly
def test_scheduler_that_dies_is_reported_and_what_is_done_is_kept(swept, cluster):
    flags = ("--no-cache", "--out", "orphaned", "--cluster", cluster.address)
    with held_midway(swept.folder, *flags, cache="cache-orphaned") as process:
        cluster.scheduler.kill()
        code, said = finish(process)
    assert code == 4
    assert said.startswith(f"error: the scheduler at {cluster.address} is gone")
    assert "Traceback" not in said
    assert run_here(swept.folder, "--jobs", "1", "--out", "orphaned", cache="cache-orphaned") == 0
    assert written(swept.folder / "orphaned") == swept.results
    cells = json.loads((swept.folder / "orphaned" / "timings.json").read_text())["cells"]
    assert {"taken from the cache of an earlier run"} < {cell["reason"] for cell in cells}


def test_address_where_nobody_answers():
    with pytest.raises(SetupError, match="cannot connect to a scheduler at tcp://127.0.0.1:9"):
        DaskExecutor("tcp://127.0.0.1:9", DaskTimeouts(connect=0.1))


def test_address_that_is_none():
    with pytest.raises(ConfigError, match="invalid cluster address"):
        DaskExecutor("carrier-pigeon://host")


def test_missing_package_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(SetupError, match="cannot use --cluster: Dask is not installed") as caught:
        DaskExecutor("tcp://127.0.0.1:9")
    assert "[cluster]" in str(caught.value)


def test_worker_says_how_its_installation_differs():
    ours = worker_environment()
    assert ours.difference(ours) == ""
    assert ours.difference(replace(ours, host="other")) == ""
    assert ours.difference(replace(ours, assay="0.0")) == f"has Assay {ours.assay}, not 0.0"
    assert ours.difference(replace(ours, python="CPython 2.7")) == f"has Python {ours.python}, not CPython 2.7"
    assert ours.difference(replace(ours, code="other")) == f"has Assay {ours.assay} with different code"


SECRET = "hunter2-hunter2"


def test_no_secret_of_ours_is_in_a_task(tmp_path, monkeypatch):
    folder = lay_out(tmp_path)
    argv = '["{python}", "-c", "print(1)", "{query}", "--token", "{env:TOKEN}"]'
    text = '[run]\ngold = ["one.yaml"]\nreferences = false\n[engines.tool]\nkind = "command"\n'
    (folder / "assay.toml").write_text(f'{text}argv = {argv}\nenv = {{ KEY = "{{env:TOKEN}}" }}\n')
    monkeypatch.chdir(folder)
    monkeypatch.setenv("TOKEN", SECRET)
    spec = load_spec(Path("assay.toml"))
    plan = make_plan(spec, load_suite(spec), timed=False)
    assert SECRET in plan.engines["tool"].engine.secrets  # it is known here, where the engine was made
    snapshots = {gold.name: survey(plan.access(gold)) for gold in plan.suite.golds}
    (task,) = plan.tasks(plan.cells, snapshots, 1)
    packed = pack((measure, (task,)))
    sent = pickle.dumps(RemoteCall(worker_environment(), packed), protocol=5)
    assert b"{env:TOKEN}" in zlib.decompress(packed)
    assert SECRET.encode() not in zlib.decompress(packed) + sent
