"""Check that results name existing files and lines of the corpus."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from assay.audit.checks.base import AuditCheck
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import AuditSessions, ResultLocation
from assay.corpus import read_text
from assay.syntax.text import count_lines
from assay.types import Corpus, Hit

#: What can be wrong with a path, the severity, and how a sentence says it.
_LAWS: Mapping[str, tuple[Severity, str]] = {
    "outside": (Severity.BROKEN, "point outside the corpus"),
    "suffix": (Severity.BROKEN, "give only the end of a path, which may be that of several files"),
    "uncounted": (Severity.WEAKNESS, "name files that are there but do not count as source"),
    "unknown": (Severity.BROKEN, "name files that do not exist"),
    "absolute": (Severity.WEAKNESS, "are absolute; they are read as relative to the corpus root"),
}


@dataclass(frozen=True, slots=True)
class _Seen:
    """A result that breaks a law."""

    query: str
    shown: str


@dataclass(slots=True)
class _Tally:
    """Results by what is wrong with them."""

    total: int = 0
    ranged: int = 0
    paths: dict[str, list[_Seen]] = field(default_factory=dict)
    ranges: list[_Seen] = field(default_factory=list)


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Look at every result of every ordinary query."""
    tally = _count(bench)
    if not tally.total:
        yield bench.finding(CHECK.name, "paths", Severity.NOT_TRIED, "not tried: there were no results to look at")
        return
    for name, (severity, words) in _LAWS.items():
        if seen := tally.paths.get(name):
            said = f"{len(seen)} of {tally.total} results {words}, such as {seen[0].shown}"
            yield _told(bench, name, severity, said, seen, tally.total)
    if not tally.paths:
        said = f"all {tally.total} results name files of the corpus, written from its root"
        yield bench.finding(CHECK.name, "paths", Severity.FINE, said, share=share_of(0, tally.total))
    yield _ranges(bench, tally)


def _ranges(bench: AuditSessions, tally: _Tally) -> AuditFinding:
    if not tally.ranged:
        return bench.finding(CHECK.name, "lines", Severity.NOT_APPLICABLE, "the engine gives files without lines")
    if not tally.ranges:
        said = f"all {tally.ranged} ranges lie inside their files"
        return bench.finding(CHECK.name, "lines", Severity.FINE, said, share=share_of(0, tally.ranged))
    said = f"{len(tally.ranges)} of {tally.ranged} ranges are no lines of their file, such as {tally.ranges[0].shown}"
    return _told(bench, "lines", Severity.BROKEN, said, tally.ranges, tally.ranged)


def _told(bench: AuditSessions, law: str, severity: Severity, said: str, seen: list[_Seen], total: int) -> AuditFinding:
    first = seen[0]
    return bench.finding(
        CHECK.name, law, severity, said,
        share=share_of(len(seen), total), example=[f"query: {first.query}", first.shown],
        commands=[bench.ask_command(first.query, bench.config.k)],
    )  # fmt: skip


def _count(bench: AuditSessions) -> _Tally:
    corpus = bench.main.corpus
    known = {file.path for file in corpus.files}
    lines: dict[str, int] = {}
    tally = _Tally()
    for text in bench.texts:
        reading = bench.answer(text, bench.config.k)
        for hit, place in zip(reading.hits, reading.places, strict=True):
            tally.total += 1
            if problem := _path_problem(hit, place, corpus, known):
                tally.paths.setdefault(problem, []).append(_Seen(text, str(hit.path)))
            if hit.start is None and hit.end is None:
                continue
            tally.ranged += 1
            if place.path in known and place.path not in lines:
                lines[place.path] = count_lines(read_text(bench.subject.corpus, place.path))
            if place.path in known and not _inside(hit, lines[place.path]):
                tally.ranges.append(_Seen(text, f"{place} in a file of {lines[place.path]} lines"))
    return tally


def _path_problem(hit: Hit, place: ResultLocation, corpus: Corpus, known: set[str]) -> str:
    given = str(hit.path)
    if place.path in known:
        return "absolute" if given.startswith("/") else ""
    path = posixpath.normpath(place.path.replace("\\", "/")) if place.path else ""
    if path.startswith(("/", "../")) or path == "..":
        return "outside"
    if path and any(one.endswith("/" + path) for one in known):
        return "suffix"
    return "uncounted" if path and (corpus.root / path).is_file() else "unknown"


def _inside(hit: Hit, last: int) -> bool:
    start, end = hit.start, hit.start if hit.end is None else hit.end
    whole = all(isinstance(at, int) and not isinstance(at, bool) for at in (start, end))
    return whole and start is not None and end is not None and 1 <= start <= end <= max(last, 1)


CHECK = AuditCheck("paths", "do results exist in the corpus, written from its root?", check)
