from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.audit.engine_client import AuditRanking, AuditSessions
from assay.audit.findings import AuditFinding, Severity, fine, make_finding, not_tried
from assay.types import Status

#: Messages of programs that parsed a query as an option.
_USAGE = re.compile(
    r"\busage\b|\boptions?:|requires an argument"
    r"|(?:unknown|unrecogni[sz]ed|unexpected|invalid|illegal|no such) (?:\w+ )?(?:option|argument|flag)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EdgeCase:
    name: str
    text: str
    refused: Severity = Severity.BROKEN
    option: bool = False  # looks like an option of a command


def _fill(words: str, size: int) -> str:
    return (words * (size // len(words) + 1))[:size]


#: Queries that people, editors and agents send. Meaningless ones may be refused; very long ones should not be.
EDGE_CASES: tuple[EdgeCase, ...] = (
    EdgeCase("empty", "", Severity.FINE),
    EdgeCase("blank", " \t ", Severity.FINE),
    EdgeCase("one character", "x", Severity.WEAKNESS),
    EdgeCase("punctuation only", "?!.,;:", Severity.WEAKNESS),
    EdgeCase("500 bytes", _fill("how is the configuration read and checked ", 500)),
    EdgeCase("2,000 bytes", _fill("how is the configuration read and checked ", 2000), Severity.WEAKNESS),
    EdgeCase("a word of 1,000 letters", "a" * 1000, Severity.WEAKNESS),
    EdgeCase("emoji", "parse 🚀 config 👩‍💻"),
    EdgeCase("right to left", "قراءة ملف الإعدادات"),
    EdgeCase("Chinese", "读取配置文件"),
    EdgeCase("composed (NFC)", unicodedata.normalize("NFC", "café naïve Ångström")),
    EdgeCase("decomposed (NFD)", unicodedata.normalize("NFD", "café naïve Ångström")),
    EdgeCase("stacked marks", "e\u0301\u0323\u0308 z\u0335\u0327"),
    EdgeCase("single quote", "it's read"),
    EdgeCase("double quotes", 'the "read" function'),
    EdgeCase("one double quote", 'read "config'),
    EdgeCase("back quotes", "`read` config"),
    EdgeCase("typographic quotes", "«read» “config” ‘file’"),
    EdgeCase("shell", "read; echo $(id) | cat > /dev/null && $HOME `id` * ~"),
    EdgeCase("--help", "--help", option=True),
    EdgeCase("--version", "--version", option=True),
    EdgeCase("-rf", "-rf", option=True),
    EdgeCase("a dash", "-", option=True),
    EdgeCase("two dashes", "--", option=True),
    EdgeCase("newline", "read config\nwrite config"),
    EdgeCase("Windows newline and tab", "read\tconfig\r\nwrite"),
    EdgeCase("control characters", "read\x01\x07\x1b[31mconfig\x7f", Severity.WEAKNESS),
    EdgeCase("SQL", "'; DROP TABLE files; -- "),
    EdgeCase("SQL wildcard", "% OR 1=1"),
    EdgeCase("full-text operators", 'AND OR NOT NEAR( "a* ^b'),
    EdgeCase("regular expression", "(unclosed [a-z+ *?"),
    EdgeCase("backslashes", "C:\\temp\\new \\"),
    EdgeCase("braces", "{k} {query} {root} %s %d {0}"),
    EdgeCase("markup", "<script>alert(1)</script> &amp; ]]>"),
    EdgeCase("JSON", '{"query": "read", "k": null}'),
    EdgeCase("path", "../../etc/passwd"),
)

_PROBLEMS = {Status.TIMEOUT: "timed out", Status.CRASH: "crashed the engine", Status.ERROR: "failed"}


@dataclass(frozen=True, slots=True)
class _Outcome:
    case: EdgeCase
    ranking: AuditRanking
    as_option: bool  # whether the engine parsed it as an option

    @property
    def severity(self) -> Severity:
        if self.as_option:
            return Severity.BROKEN
        if self.ranking.ok:
            return Severity.FINE
        return self.case.refused if self.ranking.status == Status.ERROR else Severity.BROKEN


def check_edge_cases(sessions: AuditSessions) -> Iterator[AuditFinding]:
    """Send the edge cases in a new session, with an ordinary query after each."""
    k, max_timeouts = sessions.config.k, sessions.config.max_timeouts
    control = next((query for query in sessions.queries if sessions.ranking(query, k).ok), None)
    if control is None:
        yield not_tried("odd queries", "no ordinary query succeeds, so edge cases show nothing")
        return
    outcomes: list[_Outcome] = []
    changed: tuple[EdgeCase, AuditRanking] | None = None  # the first case after which the ordinary query changed
    with sessions.session() as session:
        before, again = session.query(control, k), session.query(control, k)
        for case in EDGE_CASES:
            ranking = session.query(case.text, k)
            outcomes.append(_Outcome(case, ranking, case.option and _is_option(sessions, ranking)))
            if changed is None and (after := session.query(control, k)).outcome != before.outcome:
                changed = case, after
            if [outcome.ranking.status for outcome in outcomes[-max_timeouts:]] == [Status.TIMEOUT] * max_timeouts:
                break
    yield from _report_outcomes(sessions, outcomes)
    if untried := len(EDGE_CASES) - len(outcomes):
        yield not_tried("the rest", f"{untried} skipped after {max_timeouts} consecutive timeouts")
    law = "query afterwards"
    if again.outcome != before.outcome:
        yield not_tried(law, "the ordinary query changes even without an edge case before it")
    elif changed is None:
        yield fine(law, "after each edge case, an ordinary query gives the same ranking as before")
    else:
        case, after = changed
        sentence = f"after “{case.name}” an ordinary query no longer gives the same ranking"
        example = [f"query: {control}", f"before: {before.text(k)}", f"after: {after.text(k)}"]
        commands = [sessions.target.repro.query(query, k) for query in (case.text, control)]
        yield make_finding(law, Severity.BROKEN, sentence, example=example, commands=commands)


def _is_option(sessions: AuditSessions, ranking: AuditRanking) -> bool:
    if not ranking.ok:
        return bool(_USAGE.search(ranking.error))
    known = {file.path for file in sessions.target.corpus.files}
    return bool(ranking.locations) and not any(location.path in known for location in ranking.locations)


def _report_outcomes(sessions: AuditSessions, outcomes: Sequence[_Outcome]) -> Iterator[AuditFinding]:
    config = sessions.config
    bad = [outcome for outcome in outcomes if outcome.severity != Severity.FINE]
    for outcome in bad:
        case, ranking = outcome.case, outcome.ranking
        problem = "was parsed as an option" if outcome.as_option else _PROBLEMS.get(ranking.status, "failed")
        sentence = f"a query of the kind “{case.name}” {problem}"
        shown = case.text if len(case.text) <= config.passage else case.text[:60] + "…"
        example = [f"query: {shown!r}", ranking.text(config.shown)]
        commands = [sessions.target.repro.query(case.text, config.k)]
        yield make_finding(case.name, outcome.severity, sentence, example=example, commands=commands)
    if len(bad) == len(outcomes):
        return
    refused = [outcome.case.name for outcome in outcomes if not outcome.ranking.ok and outcome not in bad]
    sentence = f"{len(outcomes) - len(bad)} of {len(outcomes)} edge cases pass"
    sentence += f"; rejected with an error, which is allowed: {', '.join(refused)}" if refused else ""
    example = [f"{o.case.name}: {o.ranking.status}, {len(o.ranking.locations)} results" for o in outcomes]
    yield make_finding("edge cases", Severity.FINE, sentence, len(bad), len(outcomes), example=example)
