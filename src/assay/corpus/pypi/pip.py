"""The user's pip: its configuration, and wheels through it."""

from __future__ import annotations

import ast
import importlib.util
import re
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from assay.corpus.config import Limits
from assay.corpus.tools import Answer, missing, run
from assay.errors import CorpusError, EnvironmentFailure

_DEFAULT_INDEX: Final = "https://pypi.org/simple"
_LINE: Final = re.compile(r"(?P<section>[^.=]+)\.(?P<key>[\w-]+)=(?P<value>.*)")
#: `pip download` reads [global], then [download], then the environment; the later one wins.
_SECTIONS: Final = ("global", "download", ":env:")
_TRUE: Final = frozenset({"1", "true", "yes", "on", "y", "t"})


@dataclass(frozen=True, slots=True)
class PipSettings:
    """Where the user's pip looks, and how."""

    indexes: tuple[str, ...]
    find_links: tuple[str, ...]
    trusted_hosts: tuple[str, ...]
    cert: str | None
    proxy: str | None


def pip_settings(limits: Limits) -> PipSettings:
    """Ask pip for its configuration."""
    listed = run([*_pip(), "config", "list"], tool="pip", seconds=limits.tool_seconds)
    if listed.code:
        raise EnvironmentFailure(f"`pip config list` failed: {listed.last_words}", hint="run it by hand and mend it")
    return settings_from(parse_config(listed.out.decode("utf-8", "replace")))


def parse_config(text: str) -> dict[str, str]:
    """Read what `pip config list` prints, as `pip download` would take it."""
    by_section: dict[str, dict[str, str]] = {section: {} for section in _SECTIONS}
    for line in text.splitlines():
        if (match := _LINE.fullmatch(line)) and match["section"] in by_section:
            value = match["value"]
            by_section[match["section"]][match["key"]] = str(ast.literal_eval(value)) if value[:1] in "'\"" else value
    merged: dict[str, str] = {}
    for section in _SECTIONS:
        merged |= by_section[section]
    return merged


def settings_from(config: Mapping[str, str]) -> PipSettings:
    """Pick what concerns the index."""
    indexes = (config.get("index-url", _DEFAULT_INDEX), *config.get("extra-index-url", "").split())
    no_index = config.get("no-index", "").lower() in _TRUE
    return PipSettings(
        () if no_index else tuple(url.strip() for url in indexes if url.strip()),
        tuple(config.get("find-links", "").split()),
        tuple(config.get("trusted-host", "").split()),
        config.get("cert") or None,
        config.get("proxy") or None,
    )


def download_wheel(name: str, version: str, into: Path, limits: Limits) -> Path | None:
    """Download the wheel of a version; None when pip finds none. Never an sdist: that would run its setup.py."""
    into.mkdir()
    # --only-binary comes last and names everything, so it also beats a `no-binary` of the user's configuration.
    options = ("--no-deps", "--no-input", "--progress-bar=off", "--dest", str(into), "--only-binary=:all:")
    done = run([*_pip(), "download", *options, "--", f"{name}=={version}"], tool="pip", seconds=limits.tool_seconds)
    wheels = sorted(into.glob("*.whl"))
    if done.code == 0 and wheels:
        return wheels[0]
    _check_hash(done, f"{name}=={version}")
    return None


def _check_hash(done: Answer, what: str) -> None:
    """Raise when pip refused a wheel for its hash."""
    if "DO NOT MATCH THE HASHES" in done.err or re.search(r"Expected sha\d+", done.err):
        raise CorpusError(
            f"the wheel of {what} does not have the hash its index gives; it was not used",
            hint="the file or the index was tampered with or damaged: run `pip cache purge`, try again, else report it",
        )


def _pip() -> tuple[str, ...]:
    """Find the running interpreter's pip, else one on PATH; they read the same user configuration."""
    if importlib.util.find_spec("pip") is not None:
        return (sys.executable, "-P", "-m", "pip", "--disable-pip-version-check")
    found = shutil.which("pip") or shutil.which("pip3")
    if found is None:
        raise missing("pip")
    return (found, "--disable-pip-version-check")
