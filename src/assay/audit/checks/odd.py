"""Check edge-case queries, and ordinary queries after them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from assay.audit.checks.base import UNSTEADY, AuditCheck
from assay.audit.records import AuditFinding, Severity, share_of
from assay.audit.sessions import AuditRanking, AuditSessions, EngineClient
from assay.types import Status

#: What a program says that took a query for an option.
_USAGE = re.compile(
    r"\busage\b|\boptions?:|requires an argument"
    r"|(?:unknown|unrecogni[sz]ed|unexpected|invalid|illegal|no such) (?:\w+ )?(?:option|argument|flag)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class EdgeCase:
    """A query, and how bad it is to refuse it with an error."""

    name: str
    text: str
    refused: Severity = Severity.BROKEN
    option: bool = False  # it looks like an option of a command


def _filled(words: str, size: int) -> str:
    return (words * (size // len(words) + 1))[:size]


#: Texts that people, editors and agents do send. What says nothing may be refused; what is very long had better not be.
ODD: tuple[EdgeCase, ...] = (
    EdgeCase("empty", "", Severity.FINE),
    EdgeCase("blank", " \t ", Severity.FINE),
    EdgeCase("one character", "x", Severity.WEAKNESS),
    EdgeCase("punctuation only", "?!.,;:", Severity.WEAKNESS),
    EdgeCase("500 bytes", _filled("how is the configuration read and checked ", 500)),
    EdgeCase("2,000 bytes", _filled("how is the configuration read and checked ", 2000), Severity.WEAKNESS),
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
    """How one odd query ended."""

    odd: EdgeCase
    reading: AuditRanking
    option: bool  # whether it was taken for an option


@dataclass(frozen=True, slots=True)
class _Sitting:
    """A session of odd queries: how each ended, and what an ordinary one got before and after."""

    outcomes: tuple[_Outcome, ...]
    before: AuditRanking
    again: AuditRanking  # the same before any odd query: an engine that differs here proves nothing later
    after: AuditRanking
    culprit: EdgeCase | None  # the first after which the ordinary query was answered otherwise
    untried: tuple[EdgeCase, ...]


def check(bench: AuditSessions) -> Iterator[AuditFinding]:
    """Ask the odd queries in a session of their own, with an ordinary one after each that did not end well."""
    control = next((text for text in bench.texts if bench.answer(text, bench.config.k).ok), None)
    if control is None:
        said = "not tried: no ordinary query is answered, so nothing can be told of odd ones"
        yield bench.finding(CHECK.name, "odd queries", Severity.NOT_TRIED, said)
        return
    sitting = _sit(bench, control, always=False)
    yield from _outcomes(bench, sitting.outcomes)
    if sitting.untried:
        said = f"not tried: {len(sitting.untried)} more, after {bench.config.give_up} time-outs in a row"
        yield bench.finding(CHECK.name, "the rest", Severity.NOT_TRIED, said)
    if not _same(sitting.again, sitting.before):
        said = "not tried: the same ordinary query already gets other answers without an odd one before it"
        yield bench.finding(CHECK.name, "afterwards", Severity.NOT_TRIED, said)
    else:
        yield _aftermath(bench, control, sitting)
    yield from _forms(bench, sitting.outcomes)


def _sit(bench: AuditSessions, control: str, *, always: bool) -> _Sitting:
    k, outcomes, culprit = bench.config.k, list[_Outcome](), None
    with bench.session() as session:
        before, again = session.ask(control, k), session.ask(control, k)
        for odd in ODD:
            outcomes.append(_asked(bench, session, odd))
            looked = always or not outcomes[-1].reading.ok
            if looked and culprit is None and not _same(session.ask(control, k), before):
                culprit = odd
            last = [one.reading.status for one in outcomes[-bench.config.give_up :]]
            if last == [Status.TIMEOUT] * bench.config.give_up:
                break
        after = session.ask(control, k)
    return _Sitting(tuple(outcomes), before, again, after, culprit, ODD[len(outcomes) :])


def _asked(bench: AuditSessions, session: EngineClient, odd: EdgeCase) -> _Outcome:
    reading = session.ask(odd.text, bench.config.k)
    return _Outcome(odd, reading, odd.option and _is_option(bench, reading))


def _is_option(bench: AuditSessions, reading: AuditRanking) -> bool:
    if not reading.ok:
        return bool(_USAGE.search(reading.error))
    known = {file.path for file in bench.subject.corpus.files}
    return bool(reading.places) and not any(place.path in known for place in reading.places)


def _outcomes(bench: AuditSessions, outcomes: Sequence[_Outcome]) -> Iterator[AuditFinding]:
    bad = [one for one in outcomes if _severity(one) != Severity.FINE]
    for one in bad:
        problem = "was taken for an option" if one.option else _PROBLEMS.get(one.reading.status, "failed")
        shown = one.odd.text if len(one.odd.text) <= bench.config.passage else one.odd.text[:60] + "…"
        yield bench.finding(
            CHECK.name, one.odd.name, _severity(one), f"a query of the kind “{one.odd.name}” {problem}",
            example=[f"query: {shown!r}", one.reading.show(bench.config.shown)],
            commands=[bench.ask_command(one.odd.text, bench.config.k)],
        )  # fmt: skip
    refused = [one.odd.name for one in outcomes if not one.reading.ok and one not in bad]
    said = f"{len(outcomes) - len(bad)} of {len(outcomes)} odd queries end well"
    said += f"; refused with an error, as they may be: {', '.join(refused)}" if refused else ""
    if len(bad) < len(outcomes):
        share = share_of(len(bad), len(outcomes))
        example = [f"{one.odd.name}: {one.reading.status}, {len(one.reading.places)} results" for one in outcomes]
        yield bench.finding(CHECK.name, "the others", Severity.FINE, said, share=share, example=example)


def _severity(one: _Outcome) -> Severity:
    if one.option:
        return Severity.BROKEN
    if one.reading.ok:
        return Severity.FINE
    return one.odd.refused if one.reading.status == Status.ERROR else Severity.BROKEN


def _aftermath(bench: AuditSessions, control: str, sitting: _Sitting) -> AuditFinding:
    law, k, before, after = "afterwards", bench.config.k, sitting.before, sitting.after
    if sitting.culprit is None and _same(after, before):
        said = "after the odd queries an ordinary one is answered as before"
        return bench.finding(CHECK.name, law, Severity.FINE, said)
    culprit = sitting.culprit or _sit(bench, control, always=True).culprit
    named = f"“{culprit.name}”" if culprit else "all the odd queries together"
    said = f"after {named} an ordinary query is no longer answered as before"
    example = [f"query: {control}", f"before: {before.show(k)}", f"in the end: {after.show(k)}"]
    commands = [bench.ask_command(culprit.text, k)] if culprit else []
    commands += [bench.ask_command(control, k)]
    return bench.finding(CHECK.name, law, Severity.BROKEN, said, example=example, commands=commands)


def _same(one: AuditRanking, other: AuditRanking) -> bool:
    return one.outcome == other.outcome


def _forms(bench: AuditSessions, outcomes: Sequence[_Outcome]) -> Iterator[AuditFinding]:
    read = {one.odd.name: one for one in outcomes}
    composed, apart = read.get("composed (NFC)"), read.get("decomposed (NFD)")
    if composed is None or apart is None or not (composed.reading.ok and apart.reading.ok):
        return
    same, law = _same(composed.reading, apart.reading), "normal forms"
    if not same and not all(bench.is_steady(one.odd.text, bench.config.k) for one in (composed, apart)):
        yield bench.finding(CHECK.name, law, Severity.NOT_TRIED, UNSTEADY)
        return
    said = "the same text composed (NFC) and decomposed (NFD) gets " + ("the same answer" if same else "other answers")
    k, severity = bench.config.k, Severity.FINE if same else Severity.WEAKNESS
    example = [] if same else [f"{one.odd.name}: {one.reading.show(bench.config.shown)}" for one in (composed, apart)]
    commands = [] if same else [bench.ask_command(one.odd.text, k) for one in (composed, apart)]
    yield bench.finding(CHECK.name, law, severity, said, example=example, commands=commands)


CHECK = AuditCheck("odd", "what becomes of odd queries, and of ordinary ones after them?", check)
