"""What became of a repository, kept beside its shard."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from assay.files import write_atomic


@dataclass(frozen=True, slots=True)
class Report:
    """Where pairs are from, how many there are, and what was left out and why; with a reason there are none."""

    repository: str
    url: str
    commit: str
    licence: str = ""
    pairs: Mapping[str, int] = field(default_factory=dict)
    languages: Mapping[str, int] = field(default_factory=dict)
    dropped: Mapping[str, int] = field(default_factory=dict)
    files: int = 0
    reason: str = ""  # why the repository is left out: `excluded: ...`, `licence: ...`, `failed: ...`

    @property
    def left_out(self) -> str:
        """Why the repository is left out, in a word."""
        return self.reason.partition(":")[0]

    def to_json(self) -> dict[str, object]:
        """Give the facts by name."""
        return asdict(self)


def write_report(path: Path, report: Report, identity: str) -> None:
    """Write a report; `identity` is of all that decided what is in the shard."""
    write_atomic(path, json.dumps({"identity": identity, **report.to_json()}, indent=1, ensure_ascii=False) + "\n")


def read_report(path: Path, identity: str | None = None) -> Report | None:
    """Read a report; None when there is none that can be read, or none of that identity."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        if identity is not None and data["identity"] != identity:
            return None
        return Report(**{each.name: data[each.name] for each in fields(Report)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
