"""A sweep over three small repositories, run as a user would, for the tests that break it off."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from tests.conftest import FILES

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
  - id: again
    retrieval: {{primary: ["shop/retry.py::retry"]}}
    cognitive: {{human: repeat a call until it works, keyword: retry attempts}}
"""
TOOL = '''\
"""A little search tool that counts its index runs."""
import json, pathlib, sys

store, root = map(pathlib.Path, sys.argv[2:4])
if sys.argv[1] == "index":
    (store / "index.json").write_text(json.dumps(sorted(str(p.relative_to(root)) for p in root.rglob("*.py"))))
else:
    words, weight = sys.argv[4].lower().split(), float(sys.argv[5])
    names = json.loads((store / "index.json").read_text())
    texts = {name: (root / name).read_text().lower() for name in names}
    score = {n: sum(t.count(w) for w in words) + weight * sum(w in n for w in words) for n, t in texts.items()}
    for name in sorted((n for n in names if score[n]), key=lambda n: (-score[n], n))[:10]:
        print(name)
'''
#: An engine of ours, and the tool.
ENGINES = """\
[engines.mine]
kind = "builtin"

[engines.tool]
kind = "command"
argv = ["{python}", "{here}/tool.py", "search", "{store}", "{root}", "{query}", "1"]
index = ["{python}", "{here}/tool.py", "index", "{store}", "{root}"]
"""
CONFIG = (
    """\
[run]
gold = ["one.yaml", "two.yaml", "three.yaml"]
baseline = "mine"
jobs = 2

"""
    + ENGINES
    + """\
index_keys = []

[variants.heavy]
engine = "tool"
set = { argv = ["{python}", "{here}/tool.py", "search", "{store}", "{root}", "{query}", "9"] }

[sweeps.w]
engine = "mine"
knobs = { "search.stem.files" = [0.1, 0.7], "search.index.chunks.kind" = ["ast", "lines"] }
"""
)


def lay_out(folder: Path) -> Path:
    """Write three repositories, their gold sets and the experiment."""
    for number, name in enumerate(("one", "two", "three")):
        for path, text in FILES.items():
            target = folder / name / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text + f"# {name}\n" * (number + 1) if text else "")
        (folder / f"{name}.yaml").write_text(GOLD.format(name=name))
    (folder / "tool.py").write_text(TOOL)
    (folder / "assay.toml").write_text(CONFIG)
    return folder


def environment(folder: Path, cache: str = "cache") -> dict[str, str]:
    """Give the environment of a run: a cache of its own, and a day that does not end."""
    return {**os.environ, "ASSAY_CACHE_DIR": str(folder / cache), "SOURCE_DATE_EPOCH": "1700000000"}


def command(*flags: str) -> list[str]:
    """Write the command."""
    return [sys.executable, "-m", "assay", "run", "--quiet", "--json", *flags]


def sweep(folder: Path, *flags: str, cache: str = "cache") -> subprocess.CompletedProcess[str]:
    """Run the experiment to its end."""
    return subprocess.run(
        command(*flags), cwd=folder, env=environment(folder, cache), capture_output=True, text=True, check=False
    )


def broken_off(folder: Path, seconds: float, *flags: str, cache: str = "cache") -> bool:
    """Run the experiment and kill it after some time; tell whether it was still at it."""
    process = subprocess.Popen(
        command(*flags),
        cwd=folder,
        env=environment(folder, cache),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)  # the process alone: its workers must end by themselves
        process.wait()
        return True
    return False


def written(folder: Path) -> dict[str, bytes]:
    """Read all that is a result: every file but what cells took and the lock."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name not in ("timings.json", ".lock")
    }
