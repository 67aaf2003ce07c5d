"""The log of accesses to sealed queries, a file beside the gold set.

A sealed query confirms a result only as long as no engine was chosen by it, so every command that shows results on
sealed queries adds an entry.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from assay.clock import timestamp
from assay.gold.build import gold_hash
from assay.gold.git_history import user_name
from assay.gold.journal import append, read_whole
from assay.gold.load import reload_set
from assay.gold.split import access_log_path, sealed_queries
from assay.gold.yaml_nodes import MappingKeys
from assay.types import GoldSet, Suite

_TEXTS = ("when", "who", "command", "gold")
_ACCESS = MappingKeys((*_TEXTS, "sealed"), ("engines", "divided"))
_HASH_DIGITS = 16  # as in the metadata of a run


@dataclass(frozen=True, slots=True)
class SealedAccess:
    """An entry of the access log: an access to sealed queries, or a later change of which queries are sealed."""

    when: str
    who: str
    command: str
    gold: str  # first digits of the hash of the set
    sealed: int  # count of sealed queries
    engines: tuple[str, ...] = ()
    divided: str = ""  # changes by a new split; empty for an access


def read_access_log(gold_file: Path) -> tuple[SealedAccess, ...]:
    accesses = []
    for row in read_whole(access_log_path(gold_file)):
        fields = row.mapping(_ACCESS)
        sealed = fields["sealed"].text()
        accesses.append(
            SealedAccess(
                **{name: fields[name].text() for name in _TEXTS},
                sealed=int(sealed) if sealed.isdecimal() else 0,
                engines=fields["engines"].texts() if "engines" in fields else (),
                divided=fields["divided"].text() if "divided" in fields else "",
            )
        )
    return tuple(accesses)


def log_access(suite: Suite, command: str, engines: Sequence[str]) -> tuple[Path, ...]:
    """Log an access to each gold set that has sealed queries and whose file exists; return the paths of the logs."""
    sets = [(gold, Path(gold.source)) for gold in suite.golds if gold.source is not None and sealed_queries(gold)]
    return tuple(_append(file, gold, command, engines) for gold, file in sets if file.is_file())


def log_saved_access(suite: Suite, command: str, engines: Sequence[str]) -> tuple[Path, ...]:
    """Log an access to saved results on sealed queries of sets that can be reloaded; return the paths of the logs."""
    here = [gold for gold in suite.golds if sealed_queries(gold) and reload_set(gold) is not None]
    return log_access(Suite(tuple(here)), command, engines)


def log_division(old: GoldSet, new: GoldSet, command: str) -> str:
    """Log a new split that changes which queries of an accessed set are sealed; return a summary, or "" if unlogged."""
    if old.source is None or all(access.divided for access in read_access_log(Path(old.source))):
        return ""
    now_sealed, was_sealed = ({query.id for query in sealed_queries(gold)} for gold in (new, old))
    if now_sealed == was_sealed:
        return ""
    changed = f"{len(was_sealed - now_sealed)} unsealed, {len(now_sealed - was_sealed)} newly sealed"
    _append(Path(old.source), new if now_sealed else old, command, divided=changed)
    return changed


def _append(gold_file: Path, gold: GoldSet, command: str, engines: Sequence[str] = (), divided: str = "") -> Path:
    path, user, digest = access_log_path(gold_file), user_name(gold_file.parent), gold_hash(gold)[:_HASH_DIGITS]
    access = SealedAccess(timestamp(), user, command, digest, len(sealed_queries(gold)), tuple(engines), divided)
    append(path, [{key: value for key, value in asdict(access).items() if value or key in _ACCESS.required}])
    return path
