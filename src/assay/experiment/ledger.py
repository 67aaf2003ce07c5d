"""The append-only ledger of tried changes, a JSON Lines file whose lines form a hash chain.

Each line has the hash of its content and the hash of the line before; a head file stores the number of lines, so that
an edited, moved or missing line is detected.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal

from assay._version import __version__
from assay.clock import today
from assay.digests import text_digest
from assay.errors import ConfigError, InputError
from assay.experiment.own_files import LEDGER_FILE, LEDGER_START, ledger_head
from assay.experiment.records import config_hash
from assay.experiment.spec import Spec
from assay.experiment.spec.assay_toml import locate_error, read_table
from assay.files import check_regular, write_atomic
from assay.gold.journal import open_journal
from assay.gold.split import DEV, split_of
from assay.scoring import identical_rankings
from assay.settings import iter_leaves, read_settings, setting, setting_errors, unknown_name
from assay.stats.compare import RepositoryChange
from assay.stats.config import DEFAULT
from assay.stats.records import ComparisonRow, Verdict
from assay.toml import write_key
from assay.types import AnalysisPlan, EngineRun, Run

_FORMAT = 1
_HASHED = re.compile(rb'(\{.*), "hash": "([0-9a-f]{64})"\}', re.DOTALL)
#: Keys of a line that belong to the chain and not to the entry.
_CHAIN_KEYS = ("assay_ledger", "before", "hash")

How = Literal["run", "ablate", "tune"]


@dataclass(frozen=True, slots=True)
class AcceptanceRule:
    """Conditions for accepting a change; a positive gain is an improvement."""

    preset: str = setting("significant", "named rule that provides the defaults of the other keys")
    # Half of all ineffective changes have a positive difference; the verdict keeps their share below alpha.
    verdict: tuple[str, ...] = setting(("better",), "accepted verdicts; empty: any")
    least: float = setting(0.0, "the gain must be more than this")
    # The default margin: a loss that is too small to matter.
    worst_repository: float = setting(-0.02, "reject if the gain of a repository is this or less; -1: no limit")
    # One query of 30 that falls from rank 1 to 2 changes its repository by 0.012, one of ten by 0.037: below 30, a
    # single query could reject a change.
    repository_queries: int = setting(
        DEFAULT.small_set, "minimum number of queries for a repository to reject a change"
    )

    def __post_init__(self) -> None:
        known = [str(verdict) for verdict in Verdict]
        for name in self.verdict:
            if name not in known:
                raise unknown_name("rule: verdict: unknown verdict", name, known, "verdicts", keys=["verdict"])
        if self.repository_queries < 1:
            message = f"rule: repository_queries: expected 1 or more, got {self.repository_queries}"
            raise ConfigError(message, hint=f"the default is {DEFAULT.small_set}", keys=["repository_queries"])

    def __str__(self) -> str:
        parts = [f"the verdict is {' or '.join(self.verdict)}"] if self.verdict else []
        parts.append(f"the gain is more than {self.least:g}")
        if self.worst_repository > -1.0:
            size = f" with {self.repository_queries} queries or more" if self.repository_queries > 1 else ""
            parts.append(f"no repository{size} loses {-self.worst_repository:g} or more")
        *first, last = parts
        return f"accepted when {', '.join(first)} and {last}" if first else f"accepted when {last}"


#: Rules by name. seed-001 is the rule of ColGREP's ledger: net positive, and no dataset regresses by 0.02 or more.
PRESETS: Mapping[str, AcceptanceRule] = {
    "significant": AcceptanceRule(),
    "seed-001": AcceptanceRule("seed-001", verdict=(), least=0.0, worst_repository=-0.02, repository_queries=1),
}


def read_rule(values: object, where: str = "rule") -> AcceptanceRule:
    """Read a rule from the name of a preset, or from a table of conditions that may name a preset to change."""
    table = {"preset": values} if isinstance(values, str) else values
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where}: expected a table or a name, got {values!r}", hint="name " + " or ".join(PRESETS))
    name = table.get("preset", "significant")
    if name not in PRESETS:
        raise unknown_name(f"{where}: unknown rule", str(name), sorted(PRESETS), "rules")
    return read_settings(AcceptanceRule, {**asdict(PRESETS[name]), **table}, where)


@dataclass(frozen=True, slots=True)
class ConditionResult:
    text: str
    held: bool


def apply_rule(
    rule: AcceptanceRule, row: ComparisonRow, repositories: Sequence[RepositoryChange]
) -> tuple[ConditionResult, ...]:
    """Return the conditions of a rule; a change is accepted if all held."""
    results = []
    if rule.verdict:
        verdict = str(row.verdict or "none")
        results.append(ConditionResult(f"the verdict is {verdict}", verdict in rule.verdict))
    gain = row.difference if row.higher_is_better else -row.difference
    results.append(ConditionResult(f"the gain is {gain:+.4f}", gain > rule.least + DEFAULT.tie))
    if rule.worst_repository > -1.0:
        large = [change for change in repositories if change.queries >= rule.repository_queries]
        lost = sorted((c for c in large if c.gain <= rule.worst_repository + DEFAULT.tie), key=lambda c: c.gain)
        if lost:
            text = f"too large a loss on {', '.join(f'{c.repository} {c.gain:+.3f} (n={c.queries})' for c in lost)}"
        elif large:
            text = f"none of {len(large)} repositories loses {-rule.worst_repository:g}"
        else:
            text = f"no repository has the {rule.repository_queries} queries that a veto needs"
        results.append(ConditionResult(text, not lost))
    return tuple(results)


@dataclass(frozen=True, slots=True)
class Tuning:
    points: int
    partitions: int
    apparent: float
    honest: float


@dataclass(frozen=True, slots=True)
class LedgerEngine:
    engine: str
    config: str  # hash of the settings that determine its rankings
    mean: float
    version: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEvidence:
    """Comparison of two engines on the queries that both have; `difference` is in units of the measure."""

    measure: str
    higher_is_better: bool
    k: int
    difference: float
    low: float | None  # None: unbounded
    high: float | None
    level: float
    p: float | None  # adjusted for the family
    family: int  # number of comparisons in the family
    verdict: str | None
    margin: float
    alpha: float
    queries: int
    clusters: int
    label: str  # scope of the result
    repositories: tuple[RepositoryChange, ...] = ()
    identical: bool = False  # both engines gave the same rankings

    @property
    def gain(self) -> float:
        """The difference, positive if the new engine is better."""
        return self.difference if self.higher_is_better else -self.difference


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A change that was tried; number, date and tried are set when the entry is added."""

    title: str
    how: How
    new: LedgerEngine
    old: LedgerEngine
    changes: Mapping[str, tuple[object, ...]]  # dotted setting -> before, after; None: not set
    gold: tuple[str, ...]
    gold_hash: str
    parts: tuple[str, ...]  # splits of the queries; empty if the gold sets are not split
    corpora: Mapping[str, str]  # gold set -> digest of its corpus
    evidence: LedgerEvidence
    rule: AcceptanceRule
    accepted: bool
    reasons: tuple[ConditionResult, ...]
    assay: str
    by: str = ""
    tuning: Tuning | None = None
    number: int = 0
    date: str = ""
    tried: int = 0  # earlier entries on a gold set of the same name

    @property
    def spent(self) -> tuple[str, ...]:
        """Splits other than dev; their queries can no longer confirm the change."""
        return tuple(part for part in self.parts if part != DEV)

    def identity(self) -> tuple[object, ...]:
        """Return a key that is equal for entries with the same comparison."""
        sides = ((side.engine, side.config, side.version) for side in (self.new, self.old))
        corpora = tuple(sorted(self.corpora.items()))
        return (self.how, *sides, self.gold_hash, corpora, self.evidence.measure, self.evidence.k, self.parts)


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    run: Run
    new: EngineRun
    old: EngineRun
    row: ComparisonRow
    repositories: tuple[RepositoryChange, ...]
    family: int = 1  # number of comparisons in the family


def make_entry(
    change: MeasuredChange,
    plan: AnalysisPlan,
    rule: AcceptanceRule,
    *,
    title: str,
    how: How = "run",
    by: str = "",
    tuning: Tuning | None = None,
) -> LedgerEntry:
    """Apply the rule to a change and return the entry with its evidence."""
    run, row = change.run, change.row
    reasons = apply_rule(rule, row, change.repositories)
    sides = (replace(change.old, name="old"), replace(change.new, name="new"))
    evidence = LedgerEvidence(
        measure=row.measure,
        higher_is_better=row.higher_is_better,
        k=run.k,
        difference=row.difference,
        low=row.interval.low if math.isfinite(row.interval.low) else None,
        high=row.interval.high if math.isfinite(row.interval.high) else None,
        level=row.interval.level,
        p=row.p_adjusted if row.p_adjusted is not None else row.p,
        family=change.family,
        verdict=None if row.verdict is None else str(row.verdict),
        margin=plan.margin,
        alpha=plan.alpha,
        queries=row.queries,
        clusters=row.clusters,
        label=row.label,
        repositories=change.repositories,
        identical=bool(identical_rankings(replace(run, engines=sides))),
    )
    return LedgerEntry(
        title=title,
        how=how,
        new=LedgerEngine(change.new.name, config_hash(change.new.config), row.mean, change.new.version),
        old=LedgerEngine(change.old.name, config_hash(change.old.config), row.baseline_mean, change.old.version),
        changes=dict(_differences(change.old.config, change.new.config)),
        gold=tuple(gold.name for gold in run.suite.golds),
        gold_hash=run.header.gold_hash,
        parts=tuple(sorted({part for gold in run.suite.golds for query in gold.queries if (part := split_of(query))})),
        corpora={name: facts.digest for name, facts in run.header.corpora.items()},
        evidence=evidence,
        rule=rule,
        accepted=all(reason.held for reason in reasons),
        reasons=reasons,
        assay=__version__,
        by=by,
        tuning=tuning,
    )


def _differences(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[tuple[str, tuple[object, object]]]:
    plain = (json.loads(json.dumps(config, default=str)) for config in (old, new))
    before, after = ({write_key(names): value for names, value in iter_leaves(config) if names} for config in plain)
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield key, (before.get(key), after.get(key))


@dataclass(frozen=True, slots=True)
class Ledger:
    """All entries in order, and notes on the state of the file."""

    path: Path
    entries: tuple[LedgerEntry, ...] = ()
    notes: tuple[str, ...] = ()
    last_hash: str = ""
    unended: bool = False  # the last line is complete but has no newline


def read_ledger(path: Path) -> Ledger:
    """Read all entries; raise InputError with the line number if the hash chain is broken."""
    scanned = scan(path)
    if scanned.problems:
        first = scanned.problems[0]
        hint = "restore the file and its head from version control, then add missing entries again; "
        raise InputError(first.text, file=path, line=first.line, hint=hint + "`assay ledger verify` lists all problems")
    entries = []
    for number, line in enumerate(scanned.lines, 1):
        try:
            values = {key: value for key, value in line.items() if key not in _CHAIN_KEYS}
            entries.append(read_settings(LedgerEntry, values, "entry"))
        except ConfigError as error:
            hint = "use the version of Assay that wrote the ledger"
            raise InputError(error.message, file=path, line=number, hint=hint) from error
    last = scanned.lines[-1]["hash"] if scanned.lines else ""
    return Ledger(path, tuple(entries), scanned.notes, last, scanned.unended)


def add_entries(path: Path, entries: Sequence[LedgerEntry], *, again: bool = False) -> tuple[LedgerEntry, ...]:
    """Append entries with number and date; safe for concurrent writers and kills.

    Raise InputError for a comparison that is already in the ledger, unless `again`: repetition would be selection.
    """
    before = read_ledger(path)  # before the file is created or changed
    with open_journal(path, keep=before.unended) as journal:
        ledger = read_ledger(path)
        earlier = {entry.identity(): entry for entry in ledger.entries}
        for entry in entries:
            if (other := earlier.get(entry.identity())) and not again:
                raise InputError(
                    f"{entry.new.engine} against {entry.old.engine} is already entry {other.number}, "
                    "with the same settings, gold sets and corpora",
                    file=path,
                    line=other.number,
                    hint="use --allow-duplicate if the program changed but its settings did not",
                )
        known, last = list(ledger.entries), ledger.last_hash
        for entry in entries:
            # Matched by name: a gold set with edited queries, or one split of it, is not a fresh set.
            tried = sum(bool({*other.gold} & {*entry.gold}) for other in known)
            known.append(replace(entry, number=len(known) + 1, date=today(), tried=tried))
            line = add_hash({**as_mapping(known[-1]), "before": last})
            journal.append([line])
            last = line["hash"]
        write_head(path, len(known), last)
    return tuple(known[len(ledger.entries) :])


def find_entry(ledger: Ledger, number: int) -> LedgerEntry:
    if not 1 <= number <= len(ledger.entries):
        last = len(ledger.entries)
        problem = f"expected an entry from 1 to {last}, got {number}" if last else "the ledger is empty"
        raise InputError(problem, file=ledger.path, hint="`assay ledger list` lists the entries")
    return ledger.entries[number - 1]


def as_mapping(entry: LedgerEntry) -> dict[str, Any]:
    """Return an entry as the keys of its line."""
    line: dict[str, Any] = {"assay_ledger": _FORMAT, "number": entry.number, "date": entry.date}
    return line | {key: value for key, value in asdict(entry).items() if key not in line}


@dataclass(frozen=True, slots=True)
class ChainError:
    line: int
    text: str


@dataclass(frozen=True, slots=True)
class LedgerScan:
    """Lines with valid hashes, problems, and notes on harmless irregularities of a ledger file."""

    lines: tuple[dict[str, Any], ...]
    problems: tuple[ChainError, ...]
    notes: tuple[str, ...]
    unended: bool


def scan(path: Path) -> LedgerScan:
    """Read a ledger and verify every line."""
    check_regular(path, InputError)
    head = _read(ledger_head(path))  # first, because other writers may add lines meanwhile
    *lines, tail = _read(path).split(b"\n")
    unended = _has_valid_hash(tail)
    lines += [tail] if unended else []
    valid: dict[int, dict[str, Any]] = {}
    problems = []
    last: str | None = ""  # hash of the line before; None: unknown, because that line is broken
    for number, line in enumerate(lines, 1):
        if _has_valid_hash(line):
            valid[number] = json.loads(line)
            problem = _misplacement(valid[number], number, last)
            last = valid[number]["hash"]
        else:
            ours = line.startswith(LEDGER_START)
            problem = "the line was changed after it was written" if ours else "expected a ledger entry"
            last = found[2].decode() if (found := _HASHED.fullmatch(line)) else None
        problems += [ChainError(number, problem)] if problem else []
    notes = []
    if tail and not unended:
        line_number = len(lines) + 1
        notes.append(f"{path}:{line_number}: {len(tail)} bytes of an incomplete entry; the next entry replaces them")
    if head:
        problems += _compare_head(path, head, len(lines), valid, torn=bool(notes))
    elif lines:
        notes.append(f"{path}: the head file is missing, so lines removed from the end cannot be detected")
    return LedgerScan(tuple(valid.values()), tuple(problems), tuple(notes), unended)


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        message = f"cannot read the file: {error.strerror or error}"
        raise InputError(message, file=path, hint="check its permissions") from error


def _has_valid_hash(line: bytes) -> bool:
    found = _HASHED.fullmatch(line)
    return found is not None and hashlib.sha256(found[1]).hexdigest() == found[2].decode()


def _misplacement(line: Mapping[str, Any], number: int, last: str | None) -> str:
    if line.get("assay_ledger") != _FORMAT:
        return f"expected ledger format {_FORMAT}, got {line.get('assay_ledger')}"
    if last is not None and line.get("before") != last:
        return f"entry {line.get('number')} does not follow the line before: a line was removed or moved"
    if line.get("number") != number:
        return f"entry {line.get('number')} is out of place: a line above was removed or inserted"
    return ""


def _compare_head(
    path: Path, head: bytes, count: int, valid: Mapping[int, Mapping[str, Any]], *, torn: bool
) -> list[ChainError]:
    try:
        data = json.loads(head)
        entries, last_hash = int(data["entries"]), data["hash"]
    except (ValueError, TypeError, KeyError):
        name = ledger_head(path).name
        return [ChainError(1, f"the head file {name} is damaged, so missing lines cannot be detected")]
    missing = entries - count
    if missing > 0:
        lines = f"{missing} {'line is' if missing == 1 else 'lines are'} missing at the end"
        return [ChainError(count + 1, "the line is cut off, but was complete before" if torn else lines)]
    if entries in valid and valid[entries]["hash"] != last_hash:
        return [ChainError(entries, "the line, or one before it, was replaced")]
    return []


def add_hash(body: dict[str, Any]) -> dict[str, Any]:
    """Return a copy of a line with the hash of its keys."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)[:-1]
    return {**body, "hash": text_digest(text)}


def write_head(path: Path, entries: int, last: str) -> None:
    write_atomic(ledger_head(path), json.dumps({"entries": entries, "hash": last}) + "\n")


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    file: str = setting(LEDGER_FILE, "path of the ledger, relative to assay.toml")
    rule: object = setting("significant", "the name of a rule, or a table of its conditions")


@dataclass(frozen=True, slots=True)
class LedgerPlan:
    path: Path
    rule: AcceptanceRule


def ledger_plan(spec: Spec, file: str | None = None, rule: str | None = None) -> LedgerPlan:
    """Read [ledger]; `file` and `rule` from flags take precedence."""
    settings = read_table(LedgerSettings, spec, "ledger", spec.ledger)
    try:
        with setting_errors("rule"):
            chosen = read_rule(settings.rule) if rule is None else read_rule(rule, "--rule")
    except ConfigError as error:
        raise (error if rule is not None else locate_error(error, spec, "ledger")) from error
    path = Path(file) if file else spec.directory / settings.file
    if not path.name.endswith(LEDGER_FILE):
        hint = f"rename it, for example to my-{LEDGER_FILE}: corpora exclude such files"
        message = f"file = {str(path)!r}: expected a name that ends in {LEDGER_FILE}"
        problem = ConfigError(message, hint=hint, keys=["file"])
        raise problem if file else locate_error(problem, spec, "ledger")
    return LedgerPlan(path, chosen)
