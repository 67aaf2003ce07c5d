"""Python package names and versions as the index writes them (PEP 503, PEP 440)."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

#: The pattern of PEP 440, appendix B.
_VERSION: Final = re.compile(
    r"""v?(?:(?P<epoch>[0-9]+)!)?(?P<release>[0-9]+(?:\.[0-9]+)*)
    (?:[-_.]?(?P<pre>alpha|beta|preview|pre|a|b|c|rc)[-_.]?(?P<pre_n>[0-9]+)?)?
    (?P<post>-(?P<post_n1>[0-9]+)|[-_.]?(?:post|rev|r)[-_.]?(?P<post_n2>[0-9]+)?)?
    (?P<dev>[-_.]?dev[-_.]?(?P<dev_n>[0-9]+)?)?
    (?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?""",
    re.VERBOSE | re.IGNORECASE,
)
_PRE: Final = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}
_NAME: Final = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True, slots=True)
class Version:
    """A version so that two spellings of one are equal: 1.0 and v1.0.0, 2.0rc1 and 2.0.C.1."""

    epoch: int
    release: tuple[int, ...]
    suffix: str
    local: str


def parse_version(text: str) -> Version | None:
    """Read a version; None when it is none."""
    match = _VERSION.fullmatch(text.strip())
    if match is None:
        return None
    release = [int(part) for part in match["release"].split(".")]
    while len(release) > 1 and release[-1] == 0:
        release.pop()
    local = re.sub(r"[-_]", ".", (match["local"] or "").lower())
    return Version(int(match["epoch"] or 0), tuple(release), _suffix(match), local)


def canonical_name(name: str) -> str | None:
    """Fold a package name as PEP 503 does; None when it is none."""
    return re.sub(r"[-_.]+", "-", name).lower() if _NAME.fullmatch(name) else None


def _suffix(match: re.Match[str]) -> str:
    """Write pre-, post- and development release in their one spelling."""
    suffix = ""
    if match["pre"]:
        pre = match["pre"].lower()
        suffix += f"{_PRE.get(pre, pre)}{int(match['pre_n'] or 0)}"
    if match["post"]:
        suffix += f".post{int(match['post_n1'] or match['post_n2'] or 0)}"
    return suffix + f".dev{int(match['dev_n'] or 0)}" if match["dev"] else suffix
