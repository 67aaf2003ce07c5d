"""Check that results name existing files and lines of the corpus."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping

from assay.audit.records import AuditFinding, Severity, fine, not_applicable, not_tried
from assay.audit.sessions import AuditSessions, ResultLocation
from assay.corpus import read_text
from assay.syntax.text import count_lines
from assay.types import Corpus, Hit

#: Problems of paths, with their severity and the predicate of the sentence.
_PROBLEMS: Mapping[str, tuple[Severity, str]] = {
    "outside": (Severity.BROKEN, "point outside the corpus"),
    "suffix": (Severity.BROKEN, "give only the end of a path, which can match several files"),
    "uncounted": (Severity.WEAKNESS, "name existing files that are not part of the corpus"),
    "unknown": (Severity.BROKEN, "name files that do not exist"),
    "absolute": (Severity.WEAKNESS, "are absolute paths"),
}


_BadResults = list[tuple[str, str]]  # queries, and what is wrong


def check_paths(sessions: AuditSessions) -> Iterator[AuditFinding]:
    corpus = sessions.main.corpus
    known = {file.path for file in corpus.files}
    bad_paths: dict[str, _BadResults] = {}
    bad_ranges: _BadResults = []
    lines: dict[str, int] = {}
    total = ranged = 0
    for query in sessions.queries:
        ranking = sessions.ranking(query, sessions.config.k)
        for hit, location in zip(ranking.hits, ranking.locations, strict=True):
            total += 1
            if problem := _path_problem(hit, location, corpus, known):
                bad_paths.setdefault(problem, []).append((query, str(hit.path)))
            if hit.start is None and hit.end is None:
                continue
            ranged += 1
            path = location.path
            if path in known and path not in lines:
                lines[path] = count_lines(read_text(sessions.target.corpus, path))
            if path in known and not _is_inside(hit, lines[path]):
                bad_ranges.append((query, f"{location} in a file of {lines[path]} lines"))
    if not total:
        yield not_tried("paths", "there were no results")
        return
    for name, (severity, predicate) in _PROBLEMS.items():
        if bad := bad_paths.get(name):
            sentence = f"{len(bad)} of {total} results {predicate}, such as {bad[0][1]}"
            yield sessions.problem(name, severity, sentence, *bad[0], share=(len(bad), total))
    if not bad_paths:
        yield fine("paths", f"all {total} results name files of the corpus, relative to its root", total)
    if not ranged:
        yield not_applicable("lines", "the engine returns files without lines")
    elif not bad_ranges:
        yield fine("lines", f"all {ranged} ranges are inside their files", ranged)
    else:
        sentence = f"{len(bad_ranges)} of {ranged} ranges are outside their file, such as {bad_ranges[0][1]}"
        share = (len(bad_ranges), ranged)
        yield sessions.problem("lines", Severity.BROKEN, sentence, *bad_ranges[0], share=share)


def _path_problem(hit: Hit, location: ResultLocation, corpus: Corpus, known: set[str]) -> str:
    if location.path in known:
        return "absolute" if str(hit.path).startswith("/") else ""
    path = posixpath.normpath(location.path.replace("\\", "/")) if location.path else ""
    if path.startswith(("/", "../")) or path == "..":
        return "outside"
    if path and any(other.endswith("/" + path) for other in known):
        return "suffix"
    return "uncounted" if path and (corpus.root / path).is_file() else "unknown"


def _is_inside(hit: Hit, lines: int) -> bool:
    start, end = hit.start, hit.start if hit.end is None else hit.end
    whole = all(isinstance(line, int) and not isinstance(line, bool) for line in (start, end))
    return whole and start is not None and end is not None and 1 <= start <= end <= max(lines, 1)
