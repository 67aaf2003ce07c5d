"""Tags given from outside, for formats that have no column for them: `difficulty=hard:101-127`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from assay.errors import ConfigError
from assay.gold.place import Place
from assay.gold.split.parts import TAG
from assay.types import Gold

_RULE = re.compile(
    r"(?P<key>[^=:\s]+)=(?P<value>[^=:\s]+):(?P<rows>[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*)"
)


@dataclass(frozen=True, slots=True)
class RowRange:
    """Queries `first` to `last` of a gold file, counted from 1, both included."""

    first: int
    last: int


@dataclass(frozen=True, slots=True)
class TagRule:
    """Say that some queries of a gold file carry a tag."""

    key: str
    value: str
    rows: tuple[RowRange, ...]

    @classmethod
    def parse(cls, text: str) -> TagRule:
        """Read `key=value:101-127` or `key=value:3,7-9`."""
        match = _RULE.fullmatch(text)
        if match is None:
            raise ConfigError(f"'{text}' is not a tag rule", hint="write it like difficulty=hard:101-127")
        if match["key"] == TAG:
            raise ConfigError(
                f"'{text}' would move queries to another part", hint="parts are given by `assay gold split`, in the set"
            )
        return cls(match["key"], match["value"], tuple(_row_range(part, text) for part in match["rows"].split(",")))

    def covers(self, row: int) -> bool:
        """Tell whether a query, counted from 1, carries the tag."""
        return any(rows.first <= row <= rows.last for rows in self.rows)


def apply_tags(gold: Gold, rules: Sequence[TagRule]) -> Gold:
    """Add the tags of the rules; a later rule wins over an earlier one and over the file."""
    for rule in rules:
        last = max(rows.last for rows in rule.rows)
        if last > len(gold.queries):
            raise Place(gold.source or gold.name).error(
                f"the tag rule {rule.key}={rule.value} goes to row {last}, but there are {len(gold.queries)} queries",
                "rows are counted from 1, the header left out",
            )
    queries = [
        replace(query, tags={**query.tags, **{rule.key: rule.value for rule in rules if rule.covers(row)}})
        for row, query in enumerate(gold.queries, 1)
    ]
    return replace(gold, queries=tuple(queries))


def _row_range(part: str, text: str) -> RowRange:
    """Read `7` or `101-127`."""
    first, _, last = part.partition("-")
    rows = RowRange(int(first), int(last or first))
    if not 1 <= rows.first <= rows.last:
        raise ConfigError(f"'{text}' has the empty row range {part}", hint="rows are counted from 1, smallest first")
    return rows
