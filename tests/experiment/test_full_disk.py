"""A disk that is full and one that cannot be written: a clear error, nothing lost, nothing half-written."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.experiment.sweeping import environment

#: A file system that only the child sees; user namespaces give one to everybody where they are allowed.
_NAMESPACES = (["unshare", "--mount"], ["unshare", "--map-root-user", "--mount"])
#: One interpreter for all the commands of a test. `codes` is printed in the end.
_PRELUDE = """
import contextlib, hashlib, io, json, os, subprocess, sys
from pathlib import Path
from assay.cli.main import main

codes = []

def run(*flags):
    with contextlib.redirect_stdout(io.StringIO()):
        codes.append(main(["run", "--jobs", "1", *flags]))

def scores():
    with contextlib.redirect_stdout(io.StringIO()) as said:
        assert main(["score", "small/out", "--json"]) == 0
    return said.getvalue()

def fill():
    with contextlib.suppress(OSError), open("small/fill", "wb", buffering=0) as stream:
        while True:
            stream.write(bytes(1024))

def digests():
    files = sorted(path for path in Path("small").rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}
"""


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
def mounted(swept, tmp_path):
    """Run a script in the folder of the sweep, with a small disk mounted at `small`."""
    (swept.folder / "small").mkdir(exist_ok=True)
    way = _namespace(swept.folder / "small")

    def run(size: str, script: str) -> tuple[list[int], str]:
        mount = f'mount -t tmpfs -o size={size} none small && exec "$0" -c "$1"'
        code = f"{_PRELUDE}\n{script}\nprint(json.dumps(codes))"
        done = subprocess.run(
            [*way, "sh", "-c", mount, sys.executable, code],
            cwd=swept.folder,
            env={**environment(tmp_path), "NO_COLOR": "1", "COLUMNS": "300"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        return json.loads(done.stdout), done.stderr

    return run


def test_results_on_a_disk_that_fills_up_are_the_old_ones(mounted):
    codes, said = mounted(
        "4m",
        """
run("--quiet", "--out", "small/out", "--only", "mine")
before = scores()
fill()
run("--quiet", "--out", "small/out")
os.unlink("small/fill")
assert scores() == before
run("--quiet", "--out", "small/out")
""",
    )
    assert codes == [0, 4, 0]
    assert "No space left on device" in said
    assert "\nhint: " in said  # the next step


@pytest.mark.nightly
def test_full_disk_for_the_cache_costs_only_what_it_would_have_saved(mounted, swept):
    codes, said = mounted(
        "200k",
        """
fill()
os.environ["ASSAY_CACHE_DIR"] = os.path.abspath("small/cache")
run("--out", "full")
""",
    )
    assert codes == [0]
    assert "No space left on device" in said
    for name in ("RESULTS.md", "per-query.csv"):
        assert (swept.folder / "full" / name).read_bytes() == swept.results[name]


def test_results_on_a_read_only_mount_are_refused_before_anything_runs(mounted):
    codes, said = mounted(
        "4m",
        """
run("--quiet", "--out", "small/out", "--only", "mine")
before = digests()
subprocess.run(["mount", "-o", "remount,ro", "small"], check=True)
run("--quiet", "--out", "small/out")
assert digests() == before
""",
    )
    assert codes[0] == 0
    assert codes[1] in (2, 4)
    assert "small/out" in said
    assert "\nhint: " in said


def test_read_only_cache_costs_only_what_it_would_have_saved(mounted, swept):
    codes, said = mounted(
        "4m",
        """
subprocess.run(["mount", "-o", "remount,ro", "small"], check=True)
os.environ["ASSAY_CACHE_DIR"] = os.path.abspath("small")
run("--out", "readonly")
""",
    )
    assert codes == [0]
    assert "ead-only file system" in said
    assert (swept.folder / "readonly" / "RESULTS.md").read_bytes() == swept.results["RESULTS.md"]
