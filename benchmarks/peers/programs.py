"""The peers, each in an environment of its own, installed by name from PyPI or npm.

ASSAY_BENCH_PEERS     the folder with one environment a peer           default bench-peers in Assay's cache folder
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
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
    binary: str = ""  # of an npm package: the archive with the program for this platform, as a glob


SEMBLE: Final = Peer("semble", ("semble[mcp]==0.7.0",))
#: DuckDB downloads its vector index when it is first used; the same file is on PyPI.
CHUNKHOUND: Final = Peer(
    "chunkhound", ("chunkhound==6.1.0", "duckdb==1.5.4", "duckdb-extensions==1.5.4", "duckdb-extension-vss==1.5.4")
)
SIA: Final = Peer("sia-code", ("sia-code==0.8.2",))
PROBE: Final = Peer(
    "probe", ("@probelabs/probe@0.6.0-rc325",), binary="package/bin/binaries/*-x86_64-unknown-linux-musl.tar.gz"
)
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
        if peer.binary:
            _unpack(peer, home)
        else:
            if not (home / "bin" / "python").exists():
                _run([sys.executable, "-m", "venv", "--without-pip", str(home)], peer)
            pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", str(home / "bin" / "python")]
            _run([*pip, "install", "--quiet", *peer.requires], peer)
        stamp.write_text(wanted, encoding="utf-8")
    if not (home / "bin" / peer.name).exists():
        raise Unavailable(f"{peer.name} brought no program of its name")
    return home / "bin"


def _unpack(peer: Peer, home: Path) -> None:
    """Take a program out of its npm package, without the dependencies that only the JavaScript around it needs."""
    if shutil.which("npm") is None:
        raise Unavailable(f"{peer.name} is an npm package, and npm is not installed")
    (home / "bin").mkdir(parents=True, exist_ok=True)
    _run(["npm", "pack", "--silent", "--pack-destination", str(home), *peer.requires], peer)
    for pattern in ("*.tgz", peer.binary):
        for archive in home.glob(pattern):
            with tarfile.open(archive) as packed:
                packed.extractall(home, filter="data")
    for program in home.glob(f"*/{peer.name}"):
        if program.parent.name != "bin":
            program.replace(home / "bin" / peer.name)


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
