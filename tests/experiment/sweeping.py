"""A sweep over two small repositories, run as a user would: whole, killed, in shards, on a cluster, on a full disk."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from assay.cli.main import main
from tests.conftest import FILES
from tests.waiting import wait_until

GOLD = """\
assay: 1
name: {name}
corpus: {{path: {name}}}
queries:
  - id: total
    retrieval: {{primary: ["shop/cart.py::Cart.total"]}}
    cognitive: {{human: sum the prices of all items, keyword: cart total price}}
  - id: rate
    retrieval: {{primary: ["shop/tax.py::tax_rate"]}}
    cognitive: {{human: which value added tax does a country have, keyword: tax rate country}}
"""
NAMES = ("one", "two")
TOOL = '''\
"""A small search tool that stops in the middle of a query while the file `hold` names its repository and weight."""
import json, pathlib, sys, time

store, root = map(pathlib.Path, sys.argv[2:4])
if sys.argv[1] == "index":
    (store / "index.json").write_text(json.dumps(sorted(str(p.relative_to(root)) for p in root.rglob("*.py"))))
else:
    words, weight = sys.argv[4].lower().split(), float(sys.argv[5])
    hold = pathlib.Path(__file__).with_name("hold")
    try:
        while hold.read_text() == f"{root.name} {sys.argv[5]}":
            hold.with_name("held").touch()
            time.sleep(0.01)
    except FileNotFoundError:
        pass
    names = json.loads((store / "index.json").read_text())
    texts = {name: (root / name).read_text().lower() for name in names}
    score = {n: sum(t.count(w) for w in words) + weight * sum(w in n for w in words) for n, t in texts.items()}
    for name in sorted((n for n in names if score[n]), key=lambda n: (-score[n], n))[:10]:
        print(name)
'''
#: Two indexes of Assay's own, one of a tool that is not kept across runs, and variants that share each of them.
CONFIG = """\
[run]
gold = ["one.yaml", "two.yaml"]
baseline = "mine"
jobs = 2

[engines.mine]
kind = "builtin"

[engines.tool]
kind = "command"
argv = ["{python}", "{here}/tool.py", "search", "{store}", "{root}", "{query}", "1"]
index = ["{python}", "{here}/tool.py", "index", "{store}", "{root}"]
index_keys = []

[variants.heavy]
engine = "tool"
set = { argv = ["{python}", "{here}/tool.py", "search", "{store}", "{root}", "{query}", "9"] }

[variants.lines]
engine = "mine"
set = { "search.index.chunks.kind" = "lines" }

[sweeps.w]
engine = "mine"
params = { "search.stem.files" = [0.1, 0.7] }
"""
CELLS = len(NAMES) * 9  # mine, tool, heavy, lines, two points of w, three references
HELD = "one 1"  # the cell of `tool` on the repository one


@dataclass(frozen=True)
class Swept:
    """The folder of the sweep and what an undisturbed run wrote into its folder `results`."""

    folder: Path
    results: dict[str, bytes]


def lay_out(folder: Path) -> Path:
    """Write the repositories, their gold sets and the experiment."""
    for number, name in enumerate(NAMES):
        for path, text in FILES.items():
            target = folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text + f"# {name}\n" * (number + 1) if text else "")
        (folder / f"{name}.yaml").write_text(GOLD.format(name=name))
    (folder / "tool.py").write_text(TOOL)
    (folder / "assay.toml").write_text(CONFIG)
    return folder


def environment(folder: Path, cache: str = "cache") -> dict[str, str]:
    """Return an environment with a cache of its own and a fixed date."""
    return {**os.environ, "ASSAY_CACHE_DIR": str(folder / cache), "SOURCE_DATE_EPOCH": "1700000000"}


def run_here(folder: Path, *flags: str, cache: str = "cache") -> int:
    """Run the experiment in this process and return its exit code."""
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        for name, value in environment(folder, cache).items():
            patch.setenv(name, value)
        return main(["run", "--quiet", *flags])


def start(folder: Path, *flags: str, cache: str = "cache") -> subprocess.Popen[str]:
    """Start the experiment as a process in a session of its own."""
    return subprocess.Popen(
        [sys.executable, "-m", "assay", "run", "--quiet", *flags],
        cwd=folder,
        env=environment(folder, cache),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for a process and return its exit code and stderr."""
    with process:
        _, said = process.communicate(timeout=600)
    return process.returncode, said


@contextmanager
def held_midway(folder: Path, *flags: str, cache: str = "cache") -> Iterator[subprocess.Popen[str]]:
    """Start the experiment and hold it inside one cell, with at least one other cell finished."""
    out = folder / flags[flags.index("--out") + 1]
    hold, held = folder / "hold", folder / "held"
    hold.write_text(HELD)
    process = start(folder, *flags, cache=cache)

    def is_midway() -> bool:
        kept = [*(folder / cache).glob("artefacts/cells/*/*"), *out.glob(".unfinished/cells/*/*")]
        return process.poll() is not None or (held.exists() and bool(kept))

    try:
        wait_until(is_midway, "a finished cell and one that is held")
        assert process.poll() is None, finish(process)
        yield process
    finally:
        if process.poll() is None:
            process.kill()
            process.communicate()
        for note in (hold, held):
            note.unlink(missing_ok=True)


def kill_midway(folder: Path, *flags: str, cache: str = "cache") -> None:
    """Kill the process of the experiment inside a cell; its workers must end by themselves."""
    with held_midway(folder, *flags, cache=cache) as process:
        process.send_signal(signal.SIGKILL)
        process.communicate()


def kill_after(folder: Path, seconds: float, *flags: str, cache: str = "cache") -> bool:
    """Kill the experiment after some time; return whether it was still running."""
    process = start(folder, *flags, cache=cache)
    try:
        process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
        process.communicate()
        return True
    return False


def written(folder: Path) -> dict[str, bytes]:
    """Read every file of a folder of results but the lock and the timings, which differ from run to run."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("timings.json", ".lock")
    }
