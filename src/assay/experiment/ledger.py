"""The append-only ledger of changes: evidence, rule and decision."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from assay._version import __version__
from assay.clock import today
from assay.digests import text_digest
from assay.errors import ConfigError, InputError
from assay.experiment.records import config_hash
from assay.experiment.spec import Spec
from assay.experiment.spec.model import locate_error, read_table
from assay.files import check_regular, write_atomic
from assay.gold.journal import open_journal
from assay.gold.split import DEV, split_of
from assay.scoring import identical_rankings
from assay.settings import iter_leaves, read_settings, unknown_name
from assay.stats.compare import RepositoryChange
from assay.stats.config import DEFAULT
from assay.stats.records import ComparisonRow, Verdict
from assay.toml import write_key
from assay.types import AnalysisPlan, EngineRun, Run

if TYPE_CHECKING:
    from assay.stats.compare import RepositoryChange
    from assay.stats.records import ComparisonRow


FILE = "ledger.jsonl"
FORMAT = 1
#: What every line of a ledger begins with.
MARK = b'{"assay_ledger": '


def is_ledger(path: Path) -> bool:
    """Tell a ledger of ours from another file of that name."""
    try:
        with open(path, "rb") as file:
            return file.read(len(MARK)) == MARK
    except OSError:
        return False


def head_file(path: Path) -> Path:
    """Give the file that names the last line of a ledger."""
    return path.with_name(f"{path.stem}.head.json")


def ledgers_above(folder: Path) -> list[Path]:
    """List the ledgers in a folder and above it: they grow, and a corpus that holds one would be another each time."""
    found = []
    for place in (folder.resolve(), *folder.resolve().parents):
        for file in sorted(place.glob(f"*{FILE}")):
            found += [file, head_file(file)] if is_ledger(file) else []
    return found


_SEALED = re.compile(rb'(\{.*), "hash": "([0-9a-f]{64})"\}', re.DOTALL)


@dataclass(frozen=True, slots=True)
class ChainError:
    """What is wrong with a line."""

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class ChainLine:
    """A line that holds together by itself."""

    line: int
    hash: str
    data: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Scan:
    """What a file holds, and all that is wrong with it."""

    links: tuple[ChainLine, ...] = ()
    problems: tuple[ChainError, ...] = ()
    torn: int = 0  # bytes behind the last whole line: a write that was cut off before it was finished
    unended: bool = False  # the last line is whole, but its line end is missing
    headless: bool = False  # nothing says how many lines there should be

    @property
    def last(self) -> str:
        """The hash that the next line goes on from; empty for the first one."""
        return self.links[-1].hash if self.links else ""


@dataclass(frozen=True, slots=True)
class _Head:
    """What the head says: how many entries there are, and the hash of the last."""

    entries: int
    hash: str


def add_hash(body: dict[str, Any]) -> dict[str, Any]:
    """Add to the keys of a line the hash of all that is before it."""
    text = json.dumps(body, ensure_ascii=False, allow_nan=False)[:-1]
    return {**body, "hash": text_digest(text)}


def write_head(path: Path, entries: int, last: str) -> None:
    """Write down how many lines there are."""
    write_atomic(head_file(path), json.dumps({"entries": entries, "hash": last}) + "\n")


def scan(path: Path) -> Scan:
    """Read a file and check every link; the head first, so that lines added meanwhile are none too many."""
    check_regular(path, InputError)
    head, damage = _read_head(path)
    raw = _read(path)
    whole, _, tail = raw.rpartition(b"\n")
    lines = whole.split(b"\n") if raw.count(b"\n") else []
    unended = bool(tail) and _own_hash(tail) is not None
    lines = [*lines, tail] if unended else lines
    torn = 0 if unended else len(tail)
    links, problems = _follow(lines)
    problems = [*problems, *damage, *_against_head(head, lines, links, torn)]
    return Scan(tuple(links), tuple(problems), torn, unended, headless=head is None and not damage and bool(lines))


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        return b""
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", file=path, hint="check its rights") from error


def _read_head(path: Path) -> tuple[_Head | None, list[ChainError]]:
    raw = _read(head_file(path))
    if not raw:
        return None, []
    try:
        data = json.loads(raw)
        return _Head(int(data["entries"]), str(data["hash"])), []
    except (ValueError, TypeError, KeyError):
        return None, [
            ChainError(1, f"{head_file(path).name} beside it is damaged, so missing lines could not be noticed")
        ]


def _own_hash(line: bytes) -> str | None:
    found = _SEALED.fullmatch(line)
    good = found is not None and hashlib.sha256(found[1]).hexdigest() == found[2].decode()
    return found[2].decode() if found is not None and good else None


def _follow(lines: Sequence[bytes]) -> tuple[list[ChainLine], list[ChainError]]:
    links: list[ChainLine] = []
    problems: list[ChainError] = []
    last: str | None = ""  # None: a line is broken so that nothing can be said of the link behind it
    for number, line in enumerate(lines, 1):
        own = _own_hash(line)
        if own is None:
            problems.append(ChainError(number, _changed(line)))
            said = _SEALED.fullmatch(line)
            last = said[2].decode() if said else None
            continue
        data = json.loads(line)
        problems += _misplaced(data, number, last)
        links.append(ChainLine(number, own, data))
        last = own
    return links, problems


def _changed(line: bytes) -> str:
    if not line.startswith(MARK):
        return "is no entry of a ledger: it was put in, or changed beyond recognition"
    return "was changed after it was written"


def _misplaced(data: dict[str, Any], number: int, last: str | None) -> Iterator[ChainError]:
    if data.get("assay_ledger") != FORMAT:
        yield ChainError(number, f"has format {data.get('assay_ledger')}, this Assay reads {FORMAT}")
    elif last is not None and data.get("before") != last:
        yield ChainError(
            number, f"entry {data.get('number')} does not follow the line before: one was removed or moved"
        )
    elif data.get("number") != number:
        yield ChainError(number, f"entry {data.get('number')} stands here: a line was removed or put in above it")


def _against_head(
    head: _Head | None, lines: Sequence[bytes], links: Sequence[ChainLine], torn: int
) -> Iterator[ChainError]:
    if head is None:
        return
    if torn and head.entries > len(lines):
        yield ChainError(len(lines) + 1, "is cut off, though it was whole once")
    elif head.entries > len(lines):
        missing = head.entries - len(lines)
        yield ChainError(len(lines) + 1, f"{missing} {'line is' if missing == 1 else 'lines are'} missing at the end")
    elif head.entries:
        named = next((link for link in links if link.line == head.entries), None)
        if named is not None and named.hash != head.hash:
            yield ChainError(named.line, "is not the line that was written there: it, or one before it, was replaced")


@dataclass(frozen=True, slots=True)
class AcceptanceRule:
    """What a change must do to be accepted; gains are in the measure's good direction."""

    preset: str = field(default="significant", metadata={"about": "the named rule that the rest changes"})
    verdict: tuple[str, ...] = field(
        # Net positive is what half of all changes are that do nothing; the verdict keeps such luck below alpha.
        default=("better",),
        metadata={"about": "verdicts that are accepted; empty for any"},
    )
    least: float = field(default=0.0, metadata={"about": "the gain must be more than this"})
    worst_repository: float = field(
        default=-0.02,  # the usual margin: what nobody would act on may be lost
        metadata={"about": "a repository vetoes the change when its gain is this or less; -1 for no veto"},
    )
    repository_queries: int = field(
        # One query of 30 that falls from rank 1 to 2 moves its repository by 0.012, one of ten by 0.037: below 30 a
        # single query would veto.
        default=DEFAULT.small_set,
        metadata={"about": "queries that a repository needs to veto"},
    )

    def __post_init__(self) -> None:
        """Refuse what could never be meant."""
        known = [str(verdict) for verdict in Verdict]
        for name in self.verdict:
            if name not in known:
                raise unknown_name("rule: verdict: unknown verdict", name, known, "verdicts")
        if self.repository_queries < 1:
            raise ConfigError(f"rule: repository_queries = {self.repository_queries}", hint="it must be 1 or more")

    def __str__(self) -> str:
        """Say the whole rule in a sentence."""
        parts = [f"the verdict is {' or '.join(self.verdict)}"] if self.verdict else []
        parts.append(f"the gain is more than {self.least:g}")
        if self.worst_repository > -1.0:
            size = f" with {self.repository_queries} queries or more" if self.repository_queries > 1 else ""
            parts.append(f"no repository{size} loses {-self.worst_repository:g} or more")
        return (
            f"accepted when {', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else f"accepted when {parts[0]}"
        )


#: Rules by name. seed-001 is how ColGREP's ledger was kept: net positive, and no dataset regresses by 0.02 or more.
PRESETS: Mapping[str, AcceptanceRule] = {
    "significant": AcceptanceRule(),
    "seed-001": AcceptanceRule("seed-001", verdict=(), least=0.0, worst_repository=-0.02, repository_queries=1),
}


def read_rule(values: object, where: str = "rule") -> AcceptanceRule:
    """Read a rule: the name of a preset, or a table that may name one and change it."""
    table: Mapping[str, Any] = {"preset": values} if isinstance(values, str) else values  # type: ignore[assignment]  # checked next
    if not isinstance(table, Mapping):
        raise ConfigError(f"{where} = {values!r}", hint="a table, or the name of a rule: " + ", ".join(PRESETS))
    name = table.get("preset", AcceptanceRule.__dataclass_fields__["preset"].default)
    if name not in PRESETS:
        raise unknown_name(f"{where}: unknown rule", str(name), sorted(PRESETS), "rules")
    return read_settings(AcceptanceRule, {**asdict(PRESETS[name]), **table}, where)


@dataclass(frozen=True, slots=True)
class ConditionResult:
    """One condition of a rule, and whether it held."""

    text: str
    held: bool


@dataclass(frozen=True, slots=True)
class RuleOutcome:
    """What a rule says of a change, and why."""

    accepted: bool
    reasons: tuple[ConditionResult, ...]


def apply_rule(rule: AcceptanceRule, row: ComparisonRow, repositories: Sequence[RepositoryChange]) -> RuleOutcome:
    """Put a comparison to a rule."""
    reasons = tuple(_reasons(rule, row, repositories))
    return RuleOutcome(all(reason.held for reason in reasons), reasons)


def _reasons(
    rule: AcceptanceRule, row: ComparisonRow, repositories: Sequence[RepositoryChange]
) -> Iterator[ConditionResult]:
    if rule.verdict:
        named = str(row.verdict or "none")
        yield ConditionResult(f"the verdict is {named}", named in rule.verdict)
    gain = row.difference if row.higher_is_better else -row.difference
    yield ConditionResult(f"the gain is {gain:+.4f}", gain > rule.least + DEFAULT.tie)
    if rule.worst_repository > -1.0:
        yield _veto(rule, repositories)


def _veto(rule: AcceptanceRule, repositories: Sequence[RepositoryChange]) -> ConditionResult:
    heard = [change for change in repositories if change.queries >= rule.repository_queries]
    lost = sorted((c for c in heard if c.gain <= rule.worst_repository + DEFAULT.tie), key=lambda c: c.gain)
    if lost:
        named = ", ".join(f"{c.repository} {c.gain:+.3f} (n={c.queries})" for c in lost)
        return ConditionResult(f"too much is lost on {named}", False)
    if not heard:
        return ConditionResult(f"no repository has the {rule.repository_queries} queries that a veto needs", True)
    return ConditionResult(f"none of {len(heard)} repositories loses {-rule.worst_repository:g}", True)


#: Keys of a line that belong to the chain and not to the entry.
LINKS = ("assay_ledger", "before", "hash")
How = Literal["run", "ablate", "tune"]


@dataclass(frozen=True, slots=True)
class Tuning:
    """What a change that was chosen by tuning has beside its honest difference."""

    points: int
    partitions: int
    apparent: float
    honest: float


@dataclass(frozen=True, slots=True)
class LedgerEngine:
    """One of the two engines of an entry."""

    engine: str
    config: str  # hash of the settings that shape its ranking
    mean: float
    version: str = ""


@dataclass(frozen=True, slots=True)
class LedgerEvidence:
    """What was measured. `difference` is in the measure's own units, on the queries both engines were asked."""

    measure: str
    higher_is_better: bool
    k: int
    difference: float
    low: float | None  # None where nothing bounds it
    high: float | None
    level: float
    p: float | None  # adjusted inside the family
    family: int  # comparisons that were judged together
    verdict: str | None
    margin: float
    alpha: float
    queries: int
    clusters: int
    label: str  # how far it reaches
    repositories: tuple[RepositoryChange, ...] = ()
    identical: bool = False  # the two engines gave the same rankings throughout

    @property
    def gain(self) -> float:
        """The difference with the good end up."""
        return self.difference if self.higher_is_better else -self.difference


@dataclass(frozen=True, slots=True)
class LedgerEntry:
    """A change that was tried. Number, date and what links the lines come from the ledger when it is added."""

    title: str
    how: How
    new: LedgerEngine
    old: LedgerEngine
    changes: Mapping[str, tuple[object, ...]]  # dotted setting -> before, after; None where it was not set
    gold: tuple[str, ...]
    gold_hash: str
    parts: tuple[str, ...]  # of the divided sets that the queries are of; empty where none is divided
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
    tried: int = 0  # entries on a gold set of the same name before it

    @property
    def spent(self) -> tuple[str, ...]:
        """The parts that it used up: queries of all but dev are there to make claims on, not to decide on changes."""
        return tuple(part for part in self.parts if part != DEV)

    def identity(self) -> tuple[object, ...]:
        """Give what two entries on one comparison share."""
        seen = self.evidence
        sides = ((s.engine, s.config, s.version) for s in (self.new, self.old))
        return (self.how, *sides, self.gold_hash, tuple(sorted(self.corpora.items())), seen.measure, seen.k, self.parts)


def as_mapping(entry: LedgerEntry) -> dict[str, Any]:
    """Give an entry as the keys of its line."""
    line: dict[str, Any] = {"assay_ledger": FORMAT, "number": entry.number, "date": entry.date}
    return line | {key: value for key, value in asdict(entry).items() if key not in line}


def from_mapping(line: Mapping[str, Any], where: str) -> LedgerEntry:
    """Read the keys of a line; what does not fit is a ConfigError that begins with `where`."""
    return read_settings(LedgerEntry, {key: value for key, value in line.items() if key not in LINKS}, where)


_MEND = (
    "take the file and its head as version control has them, and add what is missing again; "
    "`assay ledger verify` lists all that is wrong"
)


@dataclass(frozen=True, slots=True)
class Ledger:
    """The entries in the order they were made, and what a reader should know of the file."""

    path: Path
    entries: tuple[LedgerEntry, ...] = ()
    notes: tuple[str, ...] = ()


def read_ledger(path: Path) -> Ledger:
    """Read all entries; a chain that is broken anywhere is an error with its line, never fewer entries."""
    return _ledger(path, _checked(path))


def _checked(path: Path) -> Scan:
    found = scan(path)
    if found.problems:
        first = found.problems[0]
        raise InputError(first.text, file=path, line=first.line, hint=_MEND)
    return found


def _ledger(path: Path, found: Scan) -> Ledger:
    entries = []
    for link in found.links:
        try:
            entries.append(from_mapping(link.data, "entry"))
        except ConfigError as error:
            hint = "was it written by another version of Assay?"
            raise InputError(error.message, file=path, line=link.line, hint=hint) from error
    return Ledger(path, tuple(entries), notes_on(path, found))


def notes_on(path: Path, found: Scan) -> tuple[str, ...]:
    """Say what does no harm but should be known."""
    notes = []
    if found.torn:
        notes.append(
            f"{path}:{len(found.links) + 1}: {found.torn} bytes of an entry that was never finished; it does not "
            "count, and the next entry takes its place"
        )
    if found.headless:
        notes.append(f"{path}: its head file is missing, so lines cut off from the end would not be noticed")
    return tuple(notes)


def add_entries(path: Path, entries: Sequence[LedgerEntry], *, again: bool = False) -> tuple[LedgerEntry, ...]:
    """Add entries behind the last one, numbered and dated; writers wait for each other, and a kill tears no chain.

    The same comparison twice is refused unless `again`: to ask until the answer pleases is best-of-many too.
    """
    before = _checked(path)  # before the file is touched, or made
    with open_journal(path, keep=before.unended) as journal:
        found = _checked(path)
        book = _ledger(path, found)
        if not again:
            _refuse_known(book, entries)
        last = found.last
        added: list[LedgerEntry] = []
        for entry in entries:
            placed = _placed(entry, (*book.entries, *added))
            line = add_hash({**as_mapping(placed), "before": last})
            journal.append([line])
            last = line["hash"]
            added.append(placed)
        write_head(path, len(book.entries) + len(added), last)
    return tuple(added)


def _placed(entry: LedgerEntry, earlier: Sequence[LedgerEntry]) -> LedgerEntry:
    """Give an entry its number, its day, and how many were tried on the same gold before it.

    By the names of the sets: one whose queries were edited, or a part of it, is no fresh set.
    """
    tried = sum(bool({*one.gold} & {*entry.gold}) for one in earlier)
    return replace(entry, number=len(earlier) + 1, date=today(), tried=tried)


def _refuse_known(book: Ledger, entries: Sequence[LedgerEntry]) -> None:
    known = {entry.identity(): entry for entry in book.entries}
    for entry in entries:
        old = known.get(entry.identity())
        if old is not None:
            raise InputError(
                f"{entry.new.engine} against {entry.old.engine} is entry {old.number} already: the same settings on "
                "the same gold and corpora",
                file=book.path,
                line=old.number,
                hint="--again adds it once more, if the program behind the settings changed",
            )


def find_entry(book: Ledger, number: int) -> LedgerEntry:
    """Find an entry by its number."""
    if not 1 <= number <= len(book.entries):
        there = f"there are 1 to {len(book.entries)}" if book.entries else "it is empty"
        raise InputError(f"there is no entry {number}", file=book.path, hint=there)
    return book.entries[number - 1]


@dataclass(frozen=True, slots=True)
class MeasuredChange:
    """Two engines that were compared, and on what; the run is that of the new one."""

    run: Run
    new: EngineRun
    old: EngineRun
    row: ComparisonRow
    repositories: tuple[RepositoryChange, ...]
    family: int = 1  # comparisons that were judged together


@dataclass(frozen=True, slots=True)
class ChangeInfo:
    """What people say of a change."""

    title: str
    how: How = "run"
    by: str = ""


def make_entry(
    heading: ChangeInfo, found: MeasuredChange, claim: AnalysisPlan, rule: AcceptanceRule, tuning: Tuning | None = None
) -> LedgerEntry:
    """Put a change to the rule and write down all that it rests on."""
    run, row = found.run, found.row
    decision = apply_rule(rule, row, found.repositories)
    return LedgerEntry(
        title=heading.title,
        how=heading.how,
        new=_side(found.new, row.mean),
        old=_side(found.old, row.baseline_mean),
        changes=dict(differences(found.old.config, found.new.config)),
        gold=tuple(gold.name for gold in run.suite.golds),
        gold_hash=run.header.gold_hash,
        parts=tuple(sorted({part for g in run.suite.golds for q in g.queries if (part := split_of(q))})),
        corpora={name: facts.digest for name, facts in run.header.corpora.items()},
        evidence=_evidence(found, claim),
        rule=rule,
        accepted=decision.accepted,
        reasons=decision.reasons,
        assay=__version__,
        by=heading.by,
        tuning=tuning,
    )


def _side(engine: EngineRun, mean: float) -> LedgerEngine:
    return LedgerEngine(engine.name, config_hash(engine.config), mean, engine.version)


def _evidence(found: MeasuredChange, claim: AnalysisPlan) -> LedgerEvidence:
    row = found.row
    return LedgerEvidence(
        measure=row.measure,
        higher_is_better=row.higher_is_better,
        k=found.run.k,
        difference=row.difference,
        low=_finite(row.interval.low),
        high=_finite(row.interval.high),
        level=row.interval.level,
        p=row.p_adjusted if row.p_adjusted is not None else row.p,
        family=found.family,
        verdict=None if row.verdict is None else str(row.verdict),
        margin=claim.margin,
        alpha=claim.alpha,
        queries=row.queries,
        clusters=row.clusters,
        label=row.label,
        repositories=found.repositories,
        identical=_identical(found),
    )


def _identical(found: MeasuredChange) -> bool:
    sides = (replace(found.old, name="old"), replace(found.new, name="new"))
    return bool(identical_rankings(replace(found.run, engines=sides)))


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def differences(old: Mapping[str, object], new: Mapping[str, object]) -> Iterator[tuple[str, tuple[object, object]]]:
    """List the settings in which two engines differ, before and after; None where one has no such setting."""
    before, after = (_settings(json.loads(json.dumps(config, default=str))) for config in (old, new))
    for key in sorted({*before, *after}):
        if before.get(key) != after.get(key):
            yield key, (before.get(key), after.get(key))


def _settings(table: Mapping[str, Any]) -> dict[str, object]:
    return {write_key(names): value for names, value in iter_leaves(table)} if table else {}


@dataclass(frozen=True, slots=True)
class LedgerSettings:
    """The keys of [ledger]."""

    file: str = field(default=FILE, metadata={"about": "the ledger, relative to assay.toml"})
    rule: object = field(default="significant", metadata={"about": "a rule's name, or a table of what it asks for"})


@dataclass(frozen=True, slots=True)
class LedgerPlan:
    """Where entries go, and by which rule."""

    path: Path
    rule: AcceptanceRule


def ledger_plan(spec: Spec, file: str | None = None, rule: str | None = None) -> LedgerPlan:
    """Read [ledger]; flags go before it."""
    settings = read_table(LedgerSettings, spec, "ledger", spec.ledger)
    try:
        in_force = read_rule(settings.rule) if rule is None else read_rule(rule, "--rule")
    except ConfigError as error:
        raise (error if rule is not None else locate_error(error, spec, "ledger", spec.ledger)) from error
    path = Path(file) if file else spec.directory / settings.file
    if not path.name.endswith(FILE):
        problem = ConfigError(f"file = {str(path)!r}", hint=f"its name ends in {FILE}, so that no engine finds it")
        raise problem if file else locate_error(problem, spec, "ledger", spec.ledger)
    return LedgerPlan(path, in_force)
