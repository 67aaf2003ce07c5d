"""Check that a filter only removes results."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from assay.audit.checks.base import UNSTEADY, AuditCheck
from assay.audit.records import AuditConfig, AuditFinding, Severity, share_of
from assay.audit.sessions import AuditRanking, AuditSessions, ResultLocation, is_prefix
from assay.corpus import read_text
from assay.corpus.ignore import select_paths
from assay.corpus.languages import LANGUAGES
from assay.engines.base import SearchFilter
from assay.syntax.identifiers import split
from assay.types import Corpus

FIELDS = ("paths", "languages")
_NOWHERE = SearchFilter(paths=("no-such-folder-in-this-corpus/**",))


@dataclass(frozen=True, slots=True)
class _Case:
    """One filtered question beside the same one unfiltered."""

    query: str
    wanted: SearchFilter
    answer: AuditRanking
    expected: tuple[ResultLocation, ...]  # the unfiltered ranking with the others struck out
    whole: bool  # whether the unfiltered ranking was all there is
    leaked: tuple[ResultLocation, ...]
    outside: int = 0  # results of the unfiltered ranking that do not pass: what could leak, and is struck out


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Try the filters that the engine has."""
    for field in FIELDS:
        cases = _cases(bench, field)
        if cases is None:
            said = f"the engine has no filter for {field}, or its adapter declares none"
            yield bench.finding(CHECK.name, field, Severity.NOT_APPLICABLE, said)
            continue
        yield from _failures(bench, field, cases)
        answered = [case for case in cases if case.answer.ok]
        if not answered:
            continue  # what fails every time keeps every other law by saying nothing
        yield _leaks(bench, field, answered)
        yield _struck(bench, field, [case for case in answered if not case.leaked])
        yield _nothing(bench, field)


def _cases(bench: AuditSessions, field: str) -> list[_Case] | None:
    """Ask every query under a filter that its best result does not pass; None when there is no such filter."""
    cases = []
    for number, text in enumerate(
        dict.fromkeys((*bench.texts, *same_name_queries(bench.subject.corpus, bench.config)))
    ):
        full = bench.answer(text, bench.config.deep)
        wanted = _choose(bench, field, full.places, single=number % 2 == 1)
        answer = None if wanted is None else bench.main.ask_filtered(text, bench.config.k, wanted)
        if wanted is None or answer is None:
            return None
        passes = _passes(bench, wanted)
        expected = tuple(place for place in full.places if passes(place.path))
        leaked = tuple(place for place in answer.places if not passes(place.path))
        whole, outside = len(full.places) < bench.config.deep, len(full.places) - len(expected)
        cases.append(_Case(text, wanted, answer, expected, whole, leaked, outside))
    return cases


def same_name_queries(corpus: Corpus, config: AuditConfig) -> list[str]:
    """Draw names that stand in the file that is called by them: what lifts definitions may lift these past a filter."""
    import numpy as np

    files = [file.path for file in corpus.files if file.kind == "code" and file.size <= config.largest_edited]
    found: list[str] = []
    for at in np.random.default_rng(config.seed).permutation(len(files)).tolist():
        if len(found) == config.namesakes:
            break
        text = read_text(corpus, files[at])
        parts = split(PurePosixPath(files[at]).stem)
        names = ("".join(part.title() for part in parts), "_".join(parts))
        found += [name for name in names if name.isidentifier() and re.search(rf"\b{name}\b", text)][:1]
    return found


def _choose(
    bench: AuditSessions, field: str, ranking: Sequence[ResultLocation], *, single: bool
) -> SearchFilter | None:
    """Choose the part of the corpus that has results but not the best one; the largest part where there is none.

    Folders and single files take turns as filters for paths: what keeps to one may well let the other through.
    """
    rivals = [place.path for place in ranking if place.path != ranking[0].path]
    if field == "paths" and single and rivals and not set("*?[") & set(rivals[0]):
        return SearchFilter(paths=(rivals[0],))
    trait = _folder_of if field == "paths" else _language_of(bench)
    named = [trait(place.path) for place in ranking]
    others = [name for name in named if name and name != named[0]]
    common = Counter(filter(None, (trait(file.path) for file in bench.subject.corpus.files)))
    usual = [name for name, _ in common.most_common() if not named or name != named[0]] or sorted(common)
    if not others and not usual:
        return None
    value = (others or usual)[0]
    return SearchFilter(paths=(f"{value}/**",)) if field == "paths" else SearchFilter(languages=(value,))


def _folder_of(path: str) -> str:
    parent = PurePosixPath(path).parent.as_posix()
    return "" if parent == "." else parent


def _language_of(bench: AuditSessions) -> Callable[[str], str]:
    languages = {file.path: file.language or "" for file in bench.subject.corpus.files}
    return lambda path: languages.get(path, "")


def _passes(bench: AuditSessions, wanted: SearchFilter) -> Callable[[str], bool]:
    if wanted.languages:
        language = _language_of(bench)
        return lambda path: language(path) in wanted.languages
    globs = select_paths(wanted.paths)
    return globs.selects


def _failures(bench: AuditSessions, field: str, cases: Sequence[_Case]) -> Iterator[AuditFinding]:
    failed = [case for case in cases if not case.answer.ok]
    if failed:
        said = f"{len(failed)} of {len(cases)} questions with a filter for {field} failed"
        shown = failed[0].answer.show(bench.config.shown)
        yield _told(bench, f"{field}: answers", Severity.BROKEN, said, failed, len(cases), shown)


def _leaks(bench: AuditSessions, field: str, cases: Sequence[_Case]) -> AuditFinding:
    law, leaking = f"{field}: nothing outside", [case for case in cases if case.leaked]
    if not leaking:
        telling = [case for case in cases if case.outside and case.answer.places]
        if not telling:
            return bench.finding(CHECK.name, law, Severity.NOT_TRIED, _nothing_to_strike(field))
        said = f"a filter for {field} lets nothing else through in all {len(telling)} queries that could"
        return bench.finding(CHECK.name, law, Severity.FINE, said, share=share_of(0, len(telling)))
    first = leaking[0]
    results, outside = sum(len(c.answer.places) for c in cases), sum(len(c.leaked) for c in leaking)
    said = f"a filter for {field} lets other results through in {len(leaking)} of {len(cases)} queries "
    said += f"({outside} of {results} results)"
    shown = f"outside it: {', '.join(map(str, first.leaked[: bench.config.shown]))}"
    return _told(bench, law, Severity.BROKEN, said, leaking, len(cases), shown)


def _struck(bench: AuditSessions, field: str, cases: Sequence[_Case]) -> AuditFinding:
    law, k = f"{field}: only strikes out", bench.config.k
    if not cases:
        said = "not tried: results from outside the filter came in every query"
        return bench.finding(CHECK.name, law, Severity.NOT_TRIED, said)
    changed = [case for case in cases if not _is_struck(case, k)]
    broken = [case for case in changed if bench.is_steady(case.query, bench.config.deep)]
    if changed and not broken:
        return bench.finding(CHECK.name, law, Severity.NOT_TRIED, UNSTEADY)
    if not broken:
        telling = [case for case in cases if case.outside and case.answer.places]
        if not telling:
            return bench.finding(CHECK.name, law, Severity.NOT_TRIED, _nothing_to_strike(field))
        said = f"a ranking filtered for {field} is the full one with the others struck out "
        said += f"in all {len(telling)} queries that have both"
        return bench.finding(CHECK.name, law, Severity.FINE, said, share=share_of(0, len(telling)))
    first = broken[0]
    said = f"a ranking filtered for {field} is not the full one with the others struck out "
    said += f"in {len(broken)} of {len(cases)} queries"
    if not all(_is_steady(bench, case.query) for case in broken):
        said += "; its full ranking depends on k, which is part of it"
    shown = ", ".join(map(str, first.expected[:k])) or "nothing"
    return _told(bench, law, Severity.BROKEN, said, broken, len(cases), f"struck out: {shown}")


def _nothing_to_strike(field: str) -> str:
    return f"not tried: no query has results on both sides of a filter for {field}"


def _is_steady(bench: AuditSessions, query: str) -> bool:
    return is_prefix(bench.answer(query, bench.config.k).places, bench.answer(query, bench.config.deep).places)


def _is_struck(case: _Case, k: int) -> bool:
    got, expected = case.answer.places[:k], case.expected[:k]
    return got == expected if case.whole else is_prefix(expected, got)


def _nothing(bench: AuditSessions, field: str) -> AuditFinding:
    law = f"{field}: nothing passes"
    texts = [text for text in bench.texts if bench.answer(text, bench.config.k).places][: bench.config.nothing]
    if not texts:
        said = "not tried: no query gives results without a filter either"
        return bench.finding(CHECK.name, law, Severity.NOT_TRIED, said)
    present = {file.language for file in bench.subject.corpus.files}
    absent = next((name for name in LANGUAGES if name not in present), "")
    wanted = _NOWHERE if field == "paths" else SearchFilter(languages=(absent,))
    answers = [(text, bench.main.ask_filtered(text, bench.config.k, wanted)) for text in texts]
    full = [(text, answer) for text, answer in answers if answer is not None and answer.places]
    refused = [text for text, answer in answers if answer is not None and not answer.ok]
    if full:
        said = f"a filter for {field} that no file passes still gives results in {len(full)} of {len(texts)} queries"
        case = _Case(full[0][0], wanted, full[0][1], (), True, full[0][1].places)
        shown = f"it should give nothing; it gives {len(full[0][1].places)} results"
        return _told(bench, law, Severity.BROKEN, said, [case] * len(full), len(texts), shown)
    said = f"a filter for {field} that no file passes gives nothing in all {len(texts)} queries"
    said += f"; {len(refused)} are refused with an error" if refused else ""
    return bench.finding(CHECK.name, law, Severity.FINE, said, share=share_of(0, len(texts)))


def _told(
    bench: AuditSessions, law: str, severity: Severity, said: str, cases: Sequence[_Case], total: int, shown: str
) -> AuditFinding:
    first, k = cases[0], bench.config.k
    example = [
        f"query: {first.query}",
        f"filter: {', '.join((*first.wanted.paths, *first.wanted.languages))}",
        f"answer: {first.answer.show(k)}",
        shown,
    ]
    commands = [bench.ask_command(first.query, k, first.wanted), bench.ask_command(first.query, bench.config.deep)]
    return bench.finding(
        CHECK.name, law, severity, said, share=share_of(len(cases), total), example=example, commands=commands
    )


CHECK = AuditCheck("filters", "does a filter only strike results out?", check)
