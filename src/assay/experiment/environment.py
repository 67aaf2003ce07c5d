"""Environment facts of a run. Only variables of a fixed list are read, so no secret is recorded."""

from __future__ import annotations

import os
import platform
import sys
from importlib import metadata

from assay.engines.resources import THREAD_VARIABLES

_RECORDED = (*THREAD_VARIABLES, "TOKENIZERS_PARALLELISM", "PYTHONHASHSEED")
PACKAGES = ("numpy", "pathspec", "PyYAML", "rich")


def environment() -> dict[str, object]:
    """Describe interpreter, machine, packages and thread settings."""
    return {
        "python": platform.python_version(),
        "implementation": sys.implementation.name,
        "os": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cpu": _cpu(),
        "cores": os.cpu_count() or 0,
        "packages": {name: _version(name) for name in PACKAGES},
        "threads": {name: os.environ[name] for name in _RECORDED if name in os.environ},
    }


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "missing"


def _cpu() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as stream:
            for line in stream:
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "unknown"
