"""Run a page of the documentation: its commands as they stand, in an empty folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def run_page(page: Path, work: Path, cache: Path) -> str:
    """Run the shell blocks of a page one after the other in a folder, and give what they said."""
    commands = work.parent / "bin"
    commands.mkdir()
    for name, arguments in {"assay": " -m assay", "python3": ""}.items():
        command = commands / name
        command.write_text(f'#!/bin/sh\nexec "{sys.executable}"{arguments} "$@"\n')
        command.chmod(0o755)
    blocks = re.findall(r"```sh\n(.*?)```", page.read_text("utf-8"), flags=re.DOTALL)
    environment = {**os.environ, "PATH": f"{commands}:{os.environ['PATH']}", "ASSAY_CACHE_DIR": str(cache)}
    done = subprocess.run(
        ["sh", "-e", "-c", "\n".join(blocks)], cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
