"""`assay run` stays a short path: the number of source files whose functions it executes is bounded."""

import json
import subprocess
import sys
from pathlib import Path

#: Runs a command and prints the files of Assay in which it executes a function; module and class bodies do not count.
PROGRAM = """
import json, sys, threading
seen = set()
def note(frame, event, _argument):
    code = frame.f_code
    if event == "call" and code.co_flags & 1 and not code.co_name.startswith("<"):
        seen.add(code.co_filename)
threading.setprofile(note)
sys.setprofile(note)
import assay
from assay.cli.main import main
status = main(sys.argv[1:])
sys.setprofile(None)
root = assay.__file__.rpartition("/")[0]
print(json.dumps(sorted(file[len(root) + 1:] for file in seen if file.startswith(root))))
sys.exit(status)
"""

GOLD = """\
assay: 1
name: shop
corpus: {path: repo}
queries:
  - id: add
    retrieval: {primary: ["cart.py::add"]}
    cognitive: {human: "put something in the basket"}
  - id: vat
    retrieval: {primary: ["tax.py::vat"]}
    cognitive: {human: "compute value added tax"}
  - id: total
    retrieval: {primary: ["cart.py::total"]}
    cognitive: {human: "sum of all prices"}
"""


def test_run_on_three_queries_executes_at_most_110_files(tmp_path: Path) -> None:
    repo = tmp_path / "repo"
    repo.mkdir()
    (repo / "cart.py").write_text("def add(item):\n    return item\n\n\ndef total(items):\n    return sum(items)\n")
    (repo / "tax.py").write_text('def vat(price):\n    """Compute value added tax."""\n    return price * 0.2\n')
    (tmp_path / "gold.yaml").write_text(GOLD)
    argv = [sys.executable, "-c", PROGRAM, "run", "--gold", "gold.yaml", "--out", "out", "--quiet"]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    files = json.loads(done.stdout.splitlines()[-1])
    assert "experiment/execution.py" in files
    assert len(files) <= 110, files
