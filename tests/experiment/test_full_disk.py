"""A disk that is full and one that cannot be written: a clear error, nothing lost, nothing half-written."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiment.sweeping import environment, lay_out

#: A file system of its own that only these processes see; user namespaces let anybody have one, where they are allowed.
_NAMESPACES = (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"])
_ASSAY = f"{sys.executable} -m assay"


def _namespace(folder: Path) -> list[str]:
    """Find a way to mount something here, or say loudly why there is none."""
    if shutil.which("unshare") is None:
        pytest.skip("NOT TESTED: a full disk and a read-only mount; there is no unshare on this machine")
    probe = f"mount -t tmpfs -o size=64k none {folder}"
    for way in _NAMESPACES:
        tried = subprocess.run([*way, "sh", "-c", probe], capture_output=True, check=False)
        if tried.returncode == 0:
            return way
    pytest.skip(f"NOT TESTED: a full disk and a read-only mount; mounting is refused here: {tried.stderr.decode()!r}")


@pytest.fixture
def mounted(tmp_path):
    """Run a script in the folder of the experiment, where `small` can be mounted."""
    folder = lay_out(tmp_path)
    (folder / "small").mkdir()
    way = _namespace(folder / "small")

    def run(script: str) -> subprocess.CompletedProcess[str]:
        env = {**environment(folder), "NO_COLOR": "1"}
        return subprocess.run(
            [*way, "sh", "-c", f"set -u\n{script}"], cwd=folder, env=env, capture_output=True, text=True, check=False
        )

    return run


def test_results_on_a_disk_that_fills_up_are_the_old_ones(mounted):
    done = mounted(f"""
        mount -t tmpfs -o size=4m none small
        {_ASSAY} run --quiet --jobs 1 --out small/out --only mine > /dev/null || exit 90
        {_ASSAY} score small/out --json > before.json || exit 91
        dd if=/dev/zero of=small/fill bs=1k count=100000 2> /dev/null
        {_ASSAY} run --quiet --jobs 1 --out small/out > /dev/null
        echo "code $?"
        rm small/fill
        {_ASSAY} score small/out --json > after.json || exit 92
        cmp before.json after.json || exit 93
        {_ASSAY} run --quiet --jobs 1 --out small/out > /dev/null || exit 94
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "code 4\n"
    assert "No space left on device" in done.stderr
    assert "→" in done.stderr  # the next step
    assert "Traceback" not in done.stderr


def test_a_cache_on_a_disk_that_is_full_costs_only_what_it_would_have_saved(mounted):
    done = mounted(f"""
        mount -t tmpfs -o size=200k none small
        dd if=/dev/zero of=small/fill bs=1k count=100000 2> /dev/null
        ASSAY_CACHE_DIR=$PWD/small/cache {_ASSAY} run --jobs 1 --out full > /dev/null || exit 90
        {_ASSAY} run --quiet --jobs 1 --out usual > /dev/null || exit 91
        cmp full/RESULTS.md usual/RESULTS.md && cmp full/per-query.csv usual/per-query.csv || exit 92
    """)
    assert done.returncode == 0, done.stderr
    assert "No space left on device" in done.stderr


def test_results_on_a_read_only_mount_are_refused_before_anything_runs(mounted):
    done = mounted(f"""
        mount -t tmpfs -o size=4m none small
        {_ASSAY} run --quiet --jobs 1 --out small/out --only mine > /dev/null || exit 90
        find small -type f | sort | xargs sha256sum > before
        mount -o remount,ro small
        {_ASSAY} run --quiet --jobs 1 --out small/out > /dev/null
        echo "code $?"
        find small -type f | sort | xargs sha256sum > after
        cmp before after || exit 91
    """)
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("code 2\n", "code 4\n")
    assert "small/out" in done.stderr
    assert "→" in done.stderr


def test_a_read_only_cache_costs_only_what_it_would_have_saved(mounted):
    done = mounted(f"""
        mount -t tmpfs -o size=4m none small
        mount -o remount,ro small
        ASSAY_CACHE_DIR=$PWD/small {_ASSAY} run --jobs 1 --out readonly > /dev/null || exit 90
        {_ASSAY} run --quiet --jobs 1 --out usual > /dev/null || exit 91
        cmp readonly/RESULTS.md usual/RESULTS.md || exit 92
    """)
    assert done.returncode == 0, done.stderr
    assert "ead-only file system" in done.stderr
    assert not os.path.exists("small/out")
