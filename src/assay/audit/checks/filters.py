from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.audit.engine_client import UNSTEADY, AuditRanking, AuditSessions, is_prefix, shuffle
from assay.audit.findings import AuditFinding, Severity, fine, make_finding, not_applicable, not_tried
from assay.corpus import read_text
from assay.corpus.file_types import LANGUAGES
from assay.corpus.ignore import select_paths
from assay.engines.base import SearchFilter
from assay.syntax.identifiers import split
from assay.types import Span

_NOWHERE = SearchFilter(paths=("no-such-folder-in-this-corpus/**",))


@dataclass(frozen=True, slots=True)
class _Case:
    query: str
    search_filter: SearchFilter
    ranking: AuditRanking
    expected: tuple[Span, ...]  # the unfiltered results that pass the filter
    complete: bool  # whether the unfiltered ranking has all results
    leaked: tuple[Span, ...]
    outside: int = 0  # unfiltered results that do not pass the filter

    @property
    def is_telling(self) -> bool:
        """Return whether the filter removed results and left others."""
        return self.outside > 0 and bool(self.ranking.locations)


def check_filters(sessions: AuditSessions) -> Iterator[AuditFinding]:
    for field in ("paths", "languages"):
        cases = _make_cases(sessions, field)
        if cases is None:
            yield not_applicable(field, f"the engine has no filter for {field}, or its adapter declares none")
            continue
        failed = [case for case in cases if not case.ranking.ok]
        if failed:
            sentence = f"{len(failed)} of {len(cases)} queries with a filter for {field} failed"
            last = failed[0].ranking.text(sessions.config.shown)
            yield _broken(sessions, f"{field}: answers", sentence, failed, len(cases), last)
        answered = [case for case in cases if case.ranking.ok]
        if answered:  # an engine that always fails would pass the other checks
            yield _check_leaks(sessions, field, answered)
            yield _check_order(sessions, field, [case for case in answered if not case.leaked])
            yield _check_empty(sessions, field)


def _make_cases(sessions: AuditSessions, field: str) -> list[_Case] | None:
    """Send every query with a filter; return None if the engine or the corpus has no filter for `field`."""
    languages = {file.path: file.language or "" for file in sessions.target.corpus.files}
    config, cases = sessions.config, []
    for number, query in enumerate(dict.fromkeys((*sessions.queries, *_namesakes(sessions)))):
        full = sessions.ranking(query, config.deep).locations
        search_filter = _choose_filter(sessions, field, full, languages, single=number % 2 == 1)
        if search_filter is None:
            return None
        ranking = sessions.main.query_filtered(query, config.k, search_filter)
        if ranking is None:
            return None
        passes = _passes(search_filter, languages)
        expected = tuple(location for location in full if passes(location.path))
        leaked = tuple(location for location in ranking.locations if not passes(location.path))
        complete, outside = len(full) < config.deep, len(full) - len(expected)
        cases.append(_Case(query, search_filter, ranking, expected, complete, leaked, outside))
    return cases


def _namesakes(sessions: AuditSessions) -> list[str]:
    """Draw names of files that also occur in the file; boosts of definitions may bypass a filter for them."""
    config, corpus = sessions.config, sessions.target.corpus
    files = [file.path for file in corpus.files if file.kind == "code" and file.size <= config.largest_edited]
    found: list[str] = []
    for path in shuffle(files, config.seed):
        if len(found) == config.namesakes:
            break
        text, parts = read_text(corpus, path), split(PurePosixPath(path).stem)
        names = ("".join(part.title() for part in parts), "_".join(parts))
        found += [name for name in names if name.isidentifier() and re.search(rf"\b{name}\b", text)][:1]
    return found


def _choose_filter(
    sessions: AuditSessions, field: str, ranking: Sequence[Span], languages: dict[str, str], *, single: bool
) -> SearchFilter | None:
    """Return a filter for a directory or file with results but not the best one, else for the largest.

    Path filters alternate between directories and single files: an engine may handle only one of them.
    """
    others = [location.path for location in ranking if location.path != ranking[0].path]
    if field == "paths" and single and others and not set("*?[") & set(others[0]):
        return SearchFilter(paths=(others[0],))

    def value_of(path: str) -> str:
        if field == "languages":
            return languages.get(path, "")
        parent = PurePosixPath(path).parent.as_posix()
        return "" if parent == "." else parent

    found = [value_of(location.path) for location in ranking]
    common = Counter(filter(None, (value_of(file.path) for file in sessions.target.corpus.files)))
    candidates = [value for value in found if value and value != found[0]]
    candidates += [value for value, _ in common.most_common() if not found or value != found[0]] or sorted(common)
    if not candidates:
        return None
    value = candidates[0]
    return SearchFilter(paths=(f"{value}/**",)) if field == "paths" else SearchFilter(languages=(value,))


def _passes(search_filter: SearchFilter, languages: dict[str, str]) -> Callable[[str], bool]:
    if search_filter.languages:
        return lambda path: languages.get(path, "") in search_filter.languages
    return select_paths(search_filter.paths).selects


def _check_leaks(sessions: AuditSessions, field: str, cases: Sequence[_Case]) -> AuditFinding:
    law, leaking = f"{field}: nothing outside", [case for case in cases if case.leaked]
    if not leaking:
        telling = sum(case.is_telling for case in cases)
        sentence = f"no result is outside the filter for {field} in {telling} queries with results on both sides"
        return fine(law, sentence, telling) if telling else _one_sided(law, field)
    results, outside = sum(len(c.ranking.locations) for c in cases), sum(len(c.leaked) for c in leaking)
    sentence = f"results are outside the filter for {field} in {len(leaking)} of {len(cases)} queries "
    sentence += f"({outside} of {results} results)"
    last = f"outside it: {', '.join(map(str, leaking[0].leaked[: sessions.config.shown]))}"
    return _broken(sessions, law, sentence, leaking, len(cases), last)


def _check_order(sessions: AuditSessions, field: str, cases: Sequence[_Case]) -> AuditFinding:
    law, k, deep = f"{field}: only removes results", sessions.config.k, sessions.config.deep
    if not cases:
        return not_tried(law, "every query returned results outside the filter")

    def is_changed(case: _Case) -> bool:
        got, expected = case.ranking.locations[:k], case.expected[:k]
        return got != expected if case.complete else not is_prefix(expected, got)

    changed = [case for case in cases if is_changed(case)]
    broken = [case for case in changed if sessions.is_steady(case.query, deep)]
    if changed and not broken:
        return not_tried(law, UNSTEADY)
    if not broken:
        telling = sum(case.is_telling for case in cases)
        sentence = f"a filter for {field} only removes results in {telling} queries with results on both sides"
        return fine(law, sentence, telling) if telling else _one_sided(law, field)
    sentence = f"a filter for {field} changes the order or choice of the remaining results "
    sentence += f"in {len(broken)} of {len(cases)} queries"
    pairs = [(sessions.ranking(case.query, k), sessions.ranking(case.query, deep)) for case in broken]
    if not all(is_prefix(one.locations, other.locations) for one, other in pairs):
        sentence += "; one reason is that the unfiltered ranking depends on k"
    expected = ", ".join(map(str, broken[0].expected[:k])) or "nothing"
    return _broken(sessions, law, sentence, broken, len(cases), f"expected: {expected}")


def _one_sided(law: str, field: str) -> AuditFinding:
    return not_tried(law, f"no query has results on both sides of a filter for {field}")


def _check_empty(sessions: AuditSessions, field: str) -> AuditFinding:
    law, k = f"{field}: nothing passes", sessions.config.k
    queries = [query for query in sessions.queries if sessions.ranking(query, k).locations][: sessions.config.nothing]
    if not queries:
        return not_tried(law, "no query returns results without a filter either")
    present = {file.language for file in sessions.target.corpus.files}
    absent = next((name for name in LANGUAGES if name not in present), "")
    search_filter = _NOWHERE if field == "paths" else SearchFilter(languages=(absent,))
    rankings = {query: sessions.main.query_filtered(query, k, search_filter) for query in queries}
    full = {query: ranking for query, ranking in rankings.items() if ranking is not None and ranking.locations}
    if full:
        query, ranking = next(iter(full.items()))
        sentence = (
            f"a filter for {field} that no file passes still returns results in {len(full)} of {len(queries)} queries"
        )
        case = _Case(query, search_filter, ranking, (), True, ranking.locations)
        last = f"expected nothing, got {len(ranking.locations)} results"
        return _broken(sessions, law, sentence, [case] * len(full), len(queries), last)
    refused = sum(ranking is not None and not ranking.ok for ranking in rankings.values())
    sentence = f"a filter for {field} that no file passes returns nothing in all {len(queries)} queries"
    sentence += f"; {refused} end with an error" if refused else ""
    return fine(law, sentence, len(queries))


def _broken(
    sessions: AuditSessions, law: str, sentence: str, cases: Sequence[_Case], total: int, last: str
) -> AuditFinding:
    config, repro, query, chosen = sessions.config, sessions.target.repro, cases[0].query, cases[0].search_filter
    example = [f"query: {query}", f"filter: {', '.join((*chosen.paths, *chosen.languages))}"]
    example += [f"results: {cases[0].ranking.text(config.k)}", last]
    commands = [repro.query(query, config.k, chosen), repro.query(query, config.deep)]
    return make_finding(law, Severity.BROKEN, sentence, len(cases), total, example=example, commands=commands)
