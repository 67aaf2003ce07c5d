"""What engines give back, in the shapes they like, as `Hit`s."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import islice

from assay.engines.base import Reply
from assay.errors import EngineError
from assay.types import Hit

_LOCATION = re.compile(r"(?P<path>.+?):(?P<start>\d{1,9})(?:-(?P<end>\d{1,9}))?(?::.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class HitLimits:
    """What is read of an answer at most."""

    hits: int = 100_000  # an endless generator ends here; nobody is asked for so many


HIT_LIMITS = HitLimits()


def parse_location(text: str) -> Hit:
    """Read `path`, `path:line`, `path:start-end`; what follows a further colon (grep's column and text) is left out."""
    match = _LOCATION.fullmatch(text)
    if match is None:
        return Hit(text)
    start = int(match["start"])
    return Hit(match["path"], start, int(match["end"] or start))


def read_reply(answer: object) -> Reply:
    """Read a whole answer: a Reply, or an iterable as `read_hits` takes it."""
    if isinstance(answer, Reply):
        return replace(answer, hits=read_hits(answer.hits))
    return Reply(read_hits(answer))


def read_hits(answer: object) -> tuple[Hit, ...]:
    """Read a whole answer: an iterable of Hit, location text, path object or mapping; raise EngineError otherwise."""
    if isinstance(answer, str | bytes | Mapping | Hit) or not isinstance(answer, Iterable):
        raise EngineError(
            f"the engine returned {type(answer).__name__}, not a list of results",
            hint="return a list of Hit, of paths or of 'path:10-20'",
        )
    return tuple(map(read_hit, islice(answer, HIT_LIMITS.hits)))


def read_hit(result: object) -> Hit:
    """Read one result."""
    if isinstance(result, Hit):
        return result
    if isinstance(result, str):
        return parse_location(result)
    if isinstance(result, os.PathLike):
        return Hit(str(os.fspath(result)))
    if isinstance(result, Mapping) and isinstance(result.get("path"), str):
        known = {name: result[name] for name in Hit._fields if name in result}
        return Hit(**known)  # the values are checked by `normalise`, as those of any Hit
    raise EngineError(
        f"the engine returned a result of type {type(result).__name__}: {result!r:.80}",
        hint="a result is a Hit, a path, 'path:10-20' or a mapping with path, start, end, score",
    )
