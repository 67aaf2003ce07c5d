"""The peers, each in an environment of its own, installed by name from PyPI.

ASSAY_BENCH_PEERS     the folder with one environment a peer           default bench-peers in Assay's cache folder
"""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.store.kinds import cache_dir
from benchmarks.pages import Unavailable


@dataclass(frozen=True, slots=True)
class Peer:
    """A tool by the versions that are measured."""

    name: str  # of its program and its environment
    requires: tuple[str, ...]
    seconds: float = 1800.0  # for pip; torch is 200 MB and more


SEMBLE: Final = Peer("semble", ("semble[mcp]==0.7.0",))
#: DuckDB downloads its vector index when it is first used; the same file is on PyPI.
CHUNKHOUND: Final = Peer("chunkhound", ("chunkhound==6.1.0", "duckdb==1.5.4", "duckdb-extension-vss==1.5.4"))
SIA: Final = Peer("sia-code", ("sia-code==0.8.2",))
#: Written when everything is there: a half-made environment is made again.
_STAMP: Final = "assay-bench.txt"


def folder() -> Path:
    """Find the environments."""
    own = os.environ.get("ASSAY_BENCH_PEERS")
    return Path(own).absolute() if own else cache_dir() / "bench-peers"


def programs(peer: Peer) -> Path:
    """Install a peer where it is not, and give the folder with its programs."""
    home = folder() / peer.name
    stamp, wanted = home / _STAMP, "\n".join(peer.requires)
    if not stamp.is_file() or stamp.read_text("utf-8") != wanted:
        if not (home / "bin" / "python").exists():
            _run([sys.executable, "-m", "venv", "--without-pip", str(home)], peer)
        pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(home / "bin" / "python")]
        _run([*pip, "install", "--quiet", *peer.requires], peer)
        stamp.write_text(wanted, encoding="utf-8")
    if not (home / "bin" / peer.name).exists():
        raise Unavailable(f"{peer.name} brought no program of its name")
    return home / "bin"


def give_vectors(home: Path) -> Path:
    """Put DuckDB's vector index, as PyPI has it, where ChunkHound's DuckDB looks for it below a home folder."""
    home.mkdir(parents=True, exist_ok=True)
    code = "from duckdb_extensions import import_extension; import_extension('vss')"
    _run([str(programs(CHUNKHOUND) / "python"), "-c", code], CHUNKHOUND, {**os.environ, "HOME": str(home)})
    return home


def _run(command: list[str], peer: Peer, environment: dict[str, str] | None = None) -> None:
    """Run a step of an installation; what it says is the reason when it fails."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=environment, timeout=peer.seconds, check=False
        )
    except subprocess.TimeoutExpired as problem:
        raise Unavailable(f"{peer.name} was not installed within {peer.seconds:g} s") from problem
    if done.returncode:
        said = [line for line in done.stderr.splitlines() if line.strip()]
        raise Unavailable(f"{peer.name} cannot be installed: {said[-1] if said else 'no reason given'}")
