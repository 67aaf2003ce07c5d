"""What an engine needs of the machine: `env:NAME`, `tool:x`, `extra:y`. Unmet, it is skipped and says why."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from functools import cache
from importlib import metadata

from assay.errors import ConfigError, install_hint, meant

KINDS = ("env", "tool", "extra")
_DISTRIBUTION = "assay"
_EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
_PACKAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def check_needs(requires: Sequence[str]) -> None:
    """Refuse a need that nobody can look up."""
    for need in requires:
        kind, colon, name = need.partition(":")
        if not colon or not name.strip() or kind not in KINDS:
            raise ConfigError(f"requires = {need!r}", hint="env:NAME, tool:NAME or extra:NAME")
        if kind == "extra" and name not in extras():
            known = ", ".join(extras()) or "none that this installation knows"
            raise ConfigError(
                f"requires = {need!r}: no such extra", hint=meant(name, extras()) or f"extras of Assay: {known}"
            )


def unmet(requires: Sequence[str]) -> str | None:
    """Say what is missing of some needs; None when nothing is."""
    check_needs(requires)
    missing = [said for said in map(_missing, requires) if said]
    return "; ".join(missing) or None


def _missing(need: str) -> str | None:
    """Say why one need is not met."""
    kind, _, name = need.partition(":")
    if kind == "env":
        return None if os.environ.get(name) else f"the variable {name} is not set"
    if kind == "tool":
        return None if shutil.which(name) else f"{name} is not on the PATH"
    absent = [package for package in extras()[name] if not _installed(package)]
    return f"{', '.join(absent)} not installed ({install_hint(name)})" if absent else None


@cache
def extras() -> dict[str, tuple[str, ...]]:
    """List the extras of Assay with their packages, as its metadata has them."""
    try:
        about = metadata.metadata(_DISTRIBUTION)
        wanted = metadata.requires(_DISTRIBUTION) or []
    except metadata.PackageNotFoundError:
        return {}
    packages: dict[str, list[str]] = {name: [] for name in about.get_all("Provides-Extra") or ()}
    for line in wanted:
        name, extra = _PACKAGE.match(line), _EXTRA.search(line)
        if name and extra:
            packages.setdefault(extra.group(1), []).append(name.group())
    return {extra: tuple(names) for extra, names in sorted(packages.items())}


def _installed(package: str) -> bool:
    """Tell whether a package is there, by its metadata: importing it would cost seconds."""
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True
