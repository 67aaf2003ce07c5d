"""Which index or registry would be asked? A hash of the user's settings, without starting pip or npm.

A cached package is found again offline and in a moment, and another index never answers with the files of this one.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_PIP_VARIABLES: Final = (
    "PIP_CONFIG_FILE",
    "PIP_EXTRA_INDEX_URL",
    "PIP_FIND_LINKS",
    "PIP_INDEX_URL",
    "PIP_NO_INDEX",
    "XDG_CONFIG_DIRS",
)


def pip_fingerprint() -> str:
    """Hash pip's index variables and configuration files (their places: `pip config debug`)."""
    home = Path.home()
    config = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config")
    shared = (os.environ.get("XDG_CONFIG_DIRS") or "/etc/xdg").split(":")
    files = [
        *(Path(folder) / "pip" / "pip.conf" for folder in shared),
        Path("/etc/pip.conf"),
        home / ".pip" / "pip.conf",
        config / "pip" / "pip.conf",
        home / "Library" / "Application Support" / "pip" / "pip.conf",
        Path(sys.prefix) / "pip.conf",
        *(Path(name) for name in (os.environ.get("PIP_CONFIG_FILE"),) if name),
    ]
    return _hash((f"{name}={os.environ.get(name)}" for name in _PIP_VARIABLES), files)


def npm_fingerprint() -> str:
    """Hash npm's registry variables, the user's .npmrc and those of the folders above."""
    variables = sorted(item for item in os.environ.items() if _is_npm_registry(item[0]))
    here = Path.cwd()
    named = [value for name, value in variables if name.lower() == "npm_config_userconfig"]
    files = [Path.home() / ".npmrc", *(folder / ".npmrc" for folder in (here, *here.parents)), *map(Path, named)]
    return _hash((f"{name}={value}" for name, value in variables), files)


def _is_npm_registry(name: str) -> bool:
    """Tell the variables that choose a registry."""
    lowered = name.lower()
    return lowered.startswith("npm_config_") and lowered.endswith(("registry", "userconfig", "globalconfig"))


def _hash(values: Iterable[str], files: Iterable[Path]) -> str:
    """Hash settings and the contents of files; credentials in them are not to be read from the hash."""
    sha = hashlib.sha256("\n".join(values).encode("utf-8", "surrogateescape"))
    for file in files:
        try:
            sha.update(b"\0" + file.read_bytes())
        except OSError:
            sha.update(b"\0\0")
    return sha.hexdigest()[:16]
