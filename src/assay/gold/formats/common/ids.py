"""Ids of other tools: what has a blank or a slash in it gets an id that can be a key, a file name and a TREC word."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_UNSOUND = re.compile(r"[\s/]+")
_TOLD = 20  # renamed ids that are listed; more are counted, since the rule is the same


def sound_ids(originals: Iterable[str]) -> dict[str, str]:
    """Give each id a sound one: blanks and slashes become `-`, and what would meet another id takes `-2`, `-3`."""
    given = list(dict.fromkeys(originals))
    ids = {original: original for original in given if not _UNSOUND.search(original)}
    taken = set(ids)
    for original in given:
        if original not in ids:
            ids[original] = _free(_UNSOUND.sub("-", original).strip("-") or "id", taken)
            taken.add(ids[original])
    return ids


def renamed(ids: Mapping[str, str]) -> dict[str, str]:
    """Tell the renamed ids, as an entry of a set's provenance; none when all were sound."""
    changed = [f"'{old}' is {new}" for old, new in ids.items() if old != new]
    if not changed:
        return {}
    more = f" and {len(changed) - _TOLD} more" if len(changed) > _TOLD else ""
    return {"ids": f"blanks and slashes became '-': {', '.join(changed[:_TOLD])}{more}"}


def _free(wanted: str, taken: set[str]) -> str:
    """Find an id that no other query has."""
    number, free = 1, wanted
    while free in taken:
        number += 1
        free = f"{wanted}-{number}"
    return free
