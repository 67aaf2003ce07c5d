"""What did a format not hold? What was written is read back and compared, so nothing is lost without being named."""

from __future__ import annotations

import csv
import io
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from assay.corpus import read_text
from assay.corpus.spec import spec_text
from assay.errors import GoldError
from assay.gold.anchors import AnchorIndex, UnresolvedTarget
from assay.gold.building import GoldLocation, GoldSource, read_source, row_id
from assay.gold.formats.rows import CsvRow, read_table, render_table
from assay.gold.split import SEALED, TAG
from assay.syntax.text import count_lines
from assay.types import Corpus, GoldSet, Query, Span, Suite, Target

_LONGEST_NAME = 200  # bytes; file systems take 255, and a name that is being written takes some more


@dataclass(frozen=True, slots=True)
class WriterOutput:
    """Files by relative POSIX name, and what is not in them, counted and named; nothing lost is an empty tuple."""

    files: Mapping[str, str | bytes] = field(default_factory=dict)
    lost: tuple[str, ...] = ()


def file_name(gold: GoldSet, suffix: str) -> str:
    """Call the file of a set after the set."""
    name = gold.name + suffix
    hidden = name.startswith(".")  # and with it `.` and `..`
    if hidden or "\0" in name or "\\" in name or len(name.encode("utf-8", "surrogatepass")) > _LONGEST_NAME:
        raise GoldError(
            f"'{gold.name}' cannot be the name of a file", file=gold.source, hint="give the set another name"
        )
    return name


@dataclass(frozen=True, slots=True)
class FieldLoss:
    """One thing that did not come back: its kind, and what it is called where there are names for it."""

    kind: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class LossText:
    """How losses of a kind are told."""

    one: str
    many: str
    become: str = ""  # what is there instead


#: The kinds of losses in the order they are told.
KINDS: Mapping[str, LossText] = {
    "seal": LossText(
        "sealed query loses its seal", "sealed queries lose their seal", "nothing keeps them from being tuned on"
    ),
    "name": LossText("name of a set", "names of sets", "it is called after its file"),
    "corpus": LossText("corpus", "corpora", "say where the code is when the set is read: --corpus"),
    "provenance": LossText("note on the origin of a set", "notes on the origin of sets"),
    "order": LossText("order of queries or sets", "orders of queries or sets"),
    "id": LossText("id", "ids", "queries are named anew"),
    "form": LossText("phrasing", "phrasings"),
    "blank": LossText("phrasing with blanks at its ends", "phrasings with blanks at their ends", "they are trimmed"),
    "text": LossText("phrasing", "phrasings", "the text is not the same"),
    "symbol": LossText("symbol anchor", "symbol anchors", "what is written is a line range"),
    "whole": LossText("whole file", "whole files", "what is written is the range of all its lines"),
    "same": LossText("target", "targets", "another target has the same lines"),
    "digest": LossText("content hash of a line range", "content hashes of line ranges"),
    "grade": LossText("grade of a target", "grades of targets"),
    "target": LossText("target", "targets", "the anchor is not the same"),
    "irrelevant": LossText("judged irrelevant target", "judged irrelevant targets", "counted as unjudged"),
    "adversary": LossText("adversary", "adversaries"),
    "rationale": LossText("rationale", "rationales"),
    "measure": LossText("measure of an evaluation layer", "measures of evaluation layers"),
    "tag": LossText("tag", "tags"),
    "label": LossText("origin of a label", "origins of labels"),
}


def verified(
    suite: Suite,
    files: Mapping[str, str | bytes],
    read: Callable[[Path], Sequence[GoldSet]],
    *,
    lost: Sequence[FieldLoss] = (),
) -> WriterOutput:
    """Read the files of a writer back and name what did not come back; `lost` is what a look at them cannot show."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
        try:
            back = read(Path(folder))
        except GoldError as error:
            raise _unwritable(suite, error) from error
    return WriterOutput(files, describe_losses([*lost, *_missing(suite, back)]))


def corpus_losses(suite: Suite, matches: Callable[[GoldSource], bool] | None = None) -> list[FieldLoss]:
    """Name the corpus of each set, for a format that has no place for it.

    A set that comes from a file of the format, which `matches` tells, had none to lose: its reader was told.
    """
    golds = [gold for gold in suite.golds if matches is None or not comes_from(gold, matches)]
    return [FieldLoss("corpus", spec_text(gold.corpus)) for gold in golds]


def comes_from(gold: GoldSet, matches: Callable[[GoldSource], bool]) -> GoldSource | None:
    """Give the file that a set was read from, if it is there and in the format that is told."""
    path = Path(gold.source) if gold.source else None
    try:
        source = read_source(path) if path is not None and path.is_file() else None
    except GoldError:  # Parquet, or too large: no file of somebody's own
        return None
    return source if source is not None and matches(source) else None


def unseals(sentence: str) -> bool:
    """Tell the sentence that must not be overlooked: what was kept from tuning is not any more."""
    return any(words in sentence for words in (KINDS["seal"].one, KINDS["seal"].many))


def describe_losses(losses: Sequence[FieldLoss]) -> tuple[str, ...]:
    """Make a sentence of each kind of loss, with its count and the names involved."""
    counts = Counter(loss.kind for loss in losses)
    return tuple(_sentence(kind, counts[kind], losses) for kind in KINDS if counts[kind])


def _sentence(kind: str, count: int, losses: Sequence[FieldLoss]) -> str:
    words = KINDS[kind]
    details = sorted({loss.detail for loss in losses if loss.kind == kind and loss.detail})
    names = f" ({', '.join(details)})" if details else ""
    return f"{count} {words.one if count == 1 else words.many}{names}" + (f": {words.become}" if words.become else "")


def _unwritable(suite: Suite, error: GoldError) -> GoldError:
    written = Path(error.file).stem if error.file else ""
    gold = next((gold for gold in suite.golds if gold.name == written), suite.golds[0])
    return GoldError(
        f"this format cannot hold the set '{gold.name}': {error.message}", file=gold.source, hint=error.hint
    )


def _missing(suite: Suite, back: Sequence[GoldSet]) -> Iterator[FieldLoss]:
    named = {gold.name: gold for gold in back}
    if len(back) != len(suite.golds):
        raise GoldError(
            f"of {len(suite.golds)} gold sets {len(back)} would come back",
            file=suite.golds[0].source,
            hint="write them one by one, or in the native format",
        )
    if sorted(named) == sorted(gold.name for gold in suite.golds) and list(named) != [g.name for g in suite.golds]:
        yield FieldLoss("order")
    for gold, other in zip(suite.golds, back, strict=True):
        yield from _of_set(gold, named.get(gold.name, other))


def _of_set(gold: GoldSet, back: GoldSet) -> Iterator[FieldLoss]:
    if gold.name != back.name:
        yield FieldLoss("name", gold.name)
    if gold.corpus != back.corpus:
        yield FieldLoss("corpus", spec_text(gold.corpus))
    yield from (FieldLoss("provenance", key) for key in _unequal(gold.provenance, back.provenance))
    if len(gold.queries) != len(back.queries):
        raise GoldError(
            f"of the {len(gold.queries)} queries of '{gold.name}' {len(back.queries)} would come back",
            file=gold.source,
            hint="queries that this format cannot tell apart must differ in their words; or write the native format",
        )
    ids = {query.id: query for query in back.queries}
    same = sorted(ids) == sorted(query.id for query in gold.queries)
    if same and list(ids) != [query.id for query in gold.queries]:
        yield FieldLoss("order")
    for query, other in zip(gold.queries, back.queries, strict=True):
        yield from _of_query(query, ids[query.id] if same else other)


def _of_query(query: Query, back: Query) -> Iterator[FieldLoss]:
    if query.id != back.id:
        yield FieldLoss("id")
    if query.tags.get(TAG) == SEALED != back.tags.get(TAG):
        yield FieldLoss("seal")
    yield from _of_forms(query, back)
    yield from _of_targets(query, back)
    if query.irrelevant != back.irrelevant:
        yield from (FieldLoss("irrelevant") for _ in range(max(len(query.irrelevant) - len(back.irrelevant), 1)))
    if query.adversaries != back.adversaries:
        yield from (FieldLoss("adversary") for _ in range(max(len(query.adversaries), 1)))
    if query.rationale != back.rationale:
        yield FieldLoss("rationale")
    if query.measures != back.measures:
        yield from (FieldLoss("measure", measure) for measure in query.measures)
    yield from (FieldLoss("tag", key) for key in _unequal(query.tags, back.tags))
    if query.labels != back.labels:
        yield from (FieldLoss("label") for _ in range(max(len(query.labels), 1)))


def _of_forms(query: Query, back: Query) -> Iterator[FieldLoss]:
    for form in _unequal(query.forms, back.forms):
        if form not in back.forms:
            yield FieldLoss("form", form)
        elif form in query.forms:
            yield FieldLoss("blank" if query.forms[form].strip() == back.forms[form] else "text", form)


def _of_targets(query: Query, back: Query) -> Iterator[FieldLoss]:
    if len(query.targets) != len(back.targets):
        yield from (FieldLoss("target") for _ in range(abs(len(query.targets) - len(back.targets))))
        return
    for target, other in zip(query.targets, back.targets, strict=True):
        if target.grade != other.grade:
            yield FieldLoss("grade", f"{target.grade} becomes {other.grade}")
        if target.digest != other.digest:
            yield FieldLoss("digest")
        if target.symbol != other.symbol:
            yield FieldLoss("symbol" if target.span == other.span else "target")
        elif _place(target) != _place(other):
            yield FieldLoss("target")


def _place(target: Target) -> Target:
    span = target.span if target.symbol is None else replace(target.span, start=None, end=None)
    return Target(span, symbol=target.symbol)


def _unequal(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    return sorted(key for key in {*before, *after} if before.get(key) != after.get(key))


def restyled(source: GoldSource, columns: Sequence[str], rows: Mapping[str, Sequence[str]]) -> str:
    """Write rows by their ids; quotes, blank lines and line ends are those of the file, where it has the row."""
    table = read_table(source)
    end = "\r\n" if source.text.partition("\n")[0].endswith("\r") else "\n"
    raw = _raw(source, table.rows)
    before = {row_id(number): row for number, row in enumerate(table.rows, 1)}
    written = [_written(cells, before.get(name), raw.get(name, ""), end) for name, cells in rows.items()]
    head = raw[""] if list(table.columns) == list(columns) else _line(columns, end)
    return "".join(part if part.endswith("\n") else part + end for part in (head, *written))


def _raw(source: GoldSource, rows: Sequence[CsvRow]) -> dict[str, str]:
    lines = [f"{line}\n" for line in source.text.removesuffix("\n").split("\n")]
    starts = [1, *(row.place.line or 1 for row in rows), len(lines) + 1]
    names = ["", *(row_id(number) for number in range(1, len(rows) + 1))]
    spans = zip(names, starts[:-1], starts[1:], strict=True)
    return {name: "".join(lines[start - 1 : end - 1]) for name, start, end in spans}


def _written(cells: Sequence[str], row: CsvRow | None, raw: str, end: str) -> str:
    if row is not None and _says(cells) == _says(list(row.cells.values())):
        return raw
    return _line(cells, end, quoted=raw.startswith('"')) + raw[len(raw.rstrip("\r\n")) :].partition("\n")[2]


def _says(cells: Sequence[str]) -> tuple[str, list[str]]:
    return cells[0], sorted(cell for cell in cells[1:] if cell)


def _line(cells: Sequence[str], end: str, *, quoted: bool = False) -> str:
    text = render_table(cells, ())
    if not quoted or text.startswith('"'):
        return text.removesuffix("\n") + end
    stream = io.StringIO(newline="")
    csv.writer(stream, lineterminator="", quoting=csv.QUOTE_ALL).writerow(cells[:1])
    return f"{stream.getvalue()},{render_table(cells[1:], ())}".removesuffix("\n") + end


_UNSOUND = re.compile(r"[\s/]+")
_TOLD = 20  # renamed ids that are listed; more are counted, since the rule is the same


def safe_ids(originals: Iterable[str]) -> dict[str, str]:
    """Give each id a sound one: blanks and slashes become `-`, and what would meet another id takes `-2`, `-3`."""
    given = list(dict.fromkeys(originals))
    ids = {original: original for original in given if not _UNSOUND.search(original)}
    taken = set(ids)
    for original in given:
        if original not in ids:
            ids[original] = _free(_UNSOUND.sub("-", original).strip("-") or "id", taken)
            taken.add(ids[original])
    return ids


def renamed(ids: Mapping[str, str]) -> dict[str, str]:
    """Tell the renamed ids, as an entry of a set's provenance; none when all were sound."""
    changed = [f"'{old}' is {new}" for old, new in ids.items() if old != new]
    if not changed:
        return {}
    more = f" and {len(changed) - _TOLD} more" if len(changed) > _TOLD else ""
    return {"ids": f"blanks and slashes became '-': {', '.join(changed[:_TOLD])}{more}"}


def _free(wanted: str, taken: set[str]) -> str:
    number, free = 1, wanted
    while free in taken:
        number += 1
        free = f"{wanted}-{number}"
    return free


@dataclass(frozen=True, slots=True)
class LineAnchored:
    """A gold set whose targets have lines, and in sentences what they were before."""

    gold: GoldSet
    lost: tuple[str, ...] = ()


def lined(gold: GoldSet, corpus: Corpus, *, whole_files: bool) -> LineAnchored:
    """Give symbol anchors their lines, and whole files too unless the format holds them as they are."""
    library = AnchorIndex(corpus)
    losses: list[FieldLoss] = []
    queries = []
    for query in gold.queries:
        targets = [_lined(target, library, corpus, _place_lining(gold, query), whole_files) for target in query.targets]
        kept = list(_distinct(targets))
        queries.append(replace(query, targets=tuple(kept)))
        losses += [FieldLoss("whole")] * sum(_is_whole(t) for t in query.targets if not whole_files)
        losses += [FieldLoss("same")] * (len(targets) - len(kept))
    return LineAnchored(replace(gold, queries=tuple(queries)), describe_losses(losses))


def lacks_lines(gold: GoldSet, *, symbols: bool, whole_files: bool) -> bool:
    """Tell whether a set has targets that a format cannot hold before their lines are known."""
    targets = [target for query in gold.queries for target in query.targets if target.span.start is None]
    return any(not whole_files if _is_whole(target) else not symbols for target in targets)


def _place_lining(gold: GoldSet, query: Query) -> GoldLocation:
    return GoldLocation(gold.source or gold.name, query.line)


def _is_whole(target: Target) -> bool:
    return target.symbol is None and target.span.start is None


def _lined(target: Target, library: AnchorIndex, corpus: Corpus, place: GoldLocation, whole_files: bool) -> Target:
    if target.span.start is not None or (_is_whole(target) and whole_files):
        return target
    found = library.look_up(target)
    if isinstance(found, UnresolvedTarget):
        raise place.error(found.message, found.hint)
    if not _is_whole(target):
        return found
    lines = count_lines(read_text(corpus, target.span.path))
    if not lines:
        raise place.error(f"{target.span.path} has no lines", "an empty file answers nothing: choose another target")
    return replace(target, span=Span(target.span.path, 1, lines))


def _distinct(targets: list[Target]) -> Iterator[Target]:
    seen: set[Span] = set()
    for target in targets:
        if target.span not in seen:
            yield target
        seen.add(target.span)
