"""Looks at the sealed part of a set, written down beside it: a set that was looked at often is sealed no more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.gold.building import gold_hash
from assay.gold.history import now, user_name
from assay.gold.journal import append, read_whole
from assay.gold.native.nodes import MappingKeys
from assay.gold.split import sealed_queries
from assay.types import GoldSet, Suite

SUFFIX = ".looks.jsonl"
_LOOK = MappingKeys(("when", "who", "command", "gold", "sealed"), ("engines", "divided"))
_HASH_DIGITS = 16  # as in the header of a run


@dataclass(frozen=True, slots=True)
class SealedAccess:
    """Somebody saw results on sealed queries, or divided the set anew after that."""

    when: str
    who: str
    command: str
    gold: str  # hash of the set that was asked
    sealed: int  # queries of it that were
    engines: tuple[str, ...] = ()
    divided: str = ""  # what a new division changed; such a line is no look at results


def looks_file(gold_file: Path) -> Path:
    """Give the file beside a gold file that its looks are in."""
    return gold_file.with_name(gold_file.stem + SUFFIX)


def read_looks(gold_file: Path) -> tuple[SealedAccess, ...]:
    """Give all looks in the order they were taken; a log that is damaged is an error, never fewer looks."""
    looks = []
    for row in read_whole(looks_file(gold_file)):
        fields = row.mapping(_LOOK)
        engines = fields["engines"].texts() if "engines" in fields else ()
        texts = {name: fields[name].text() for name in ("when", "who", "command", "gold")}
        divided = fields["divided"].text() if "divided" in fields else ""
        looks.append(SealedAccess(**texts, sealed=_count(fields["sealed"].text()), engines=engines, divided=divided))
    return tuple(looks)


def log_access(suite: Suite, command: str, engines: Sequence[str]) -> tuple[Path, ...]:
    """Write down a look at each set that has sealed queries, before anything of them is shown.

    A set that lies in no file on this machine has nowhere to write it; it gives no file back.
    """
    files = []
    for gold in suite.golds:
        look = _look(gold, command, engines)
        if look is not None and gold.source is not None and Path(gold.source).is_file():
            files.append(looks_file(Path(gold.source)))
            append(files[-1], [_mapping(look)])
    return tuple(files)


def log_division(old: GoldSet, new: GoldSet, command: str) -> str:
    """Write down that a set whose sealed part was seen is divided anew; give what changed, nothing if unseen.

    Queries that were seen sealed may be open now, and open ones sealed: earlier looks say less than they seem to.
    """
    if old.source is None:
        return ""
    seen = [look for look in read_looks(Path(old.source)) if not look.divided]
    now_sealed, was_sealed = ({query.id for query in sealed_queries(gold)} for gold in (new, old))
    if not seen or now_sealed == was_sealed:
        return ""
    changed = f"{len(was_sealed - now_sealed)} left the sealed part, {len(now_sealed - was_sealed)} came in"
    look = _look(new, command, ()) or _look(old, command, ())
    if look is not None:
        append(looks_file(Path(old.source)), [_mapping(replace(look, divided=changed))])
    return changed


def _look(gold: GoldSet, command: str, engines: Sequence[str]) -> SealedAccess | None:
    sealed = sealed_queries(gold)
    if not sealed:
        return None
    folder = Path(gold.source).parent if gold.source else Path()
    digest = gold_hash(gold)[:_HASH_DIGITS]
    return SealedAccess(now(), user_name(folder), command, digest, len(sealed), tuple(engines))


def _mapping(look: SealedAccess) -> dict[str, object]:
    line: dict[str, object] = {
        "when": look.when,
        "who": look.who,
        "command": look.command,
        "gold": look.gold,
        "sealed": look.sealed,
    }
    extra = {"engines": list(look.engines), "divided": look.divided}
    return line | {key: value for key, value in extra.items() if value}


def _count(text: str) -> int:
    return int(text) if text.isdecimal() else 0
