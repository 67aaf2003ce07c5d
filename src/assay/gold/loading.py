"""Find and read gold sets: a file, a folder, or the name of a shipped set."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus import parse_spec
from assay.errors import AssayError, ConfigError, CorpusError, GoldError
from assay.gold.building import GoldLocation
from assay.gold.formats.registry import FORMATS, SUFFIXES, Format, detect, detect_folder, is_aside, named
from assay.gold.formats.rows import open_source
from assay.gold.looks import SUFFIX as LOOKS
from assay.gold.looks import log_access
from assay.gold.review.items import SUFFIX as REVIEW
from assay.gold.split import TAG, sealed_queries
from assay.types import CorpusSpec, GoldSet, Query, Suite

#: Known by name: questions about the code, and about what its docstrings say.
SHIPPED = ("stdlib", "stdlib-docs")


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


def apply_tags(gold: GoldSet, rules: Sequence[TagRule]) -> GoldSet:
    """Add the tags of the rules; a later rule wins over an earlier one and over the file."""
    for rule in rules:
        last = max(rows.last for rows in rule.rows)
        if last > len(gold.queries):
            raise GoldLocation(gold.source or gold.name).error(
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


#: Lies in a folder of synthetic gold: what is below it is the corpus of the sets, no gold.
SYNTHETIC_MARK = ".assay-synth"
_SHIPPED_FOLDER = Path(__file__).parent.parent / "data" / "gold"


def load_gold(
    source: str | Path,
    *,
    format: str | None = None,  # noqa: A002  # the public name; nothing here formats
    corpus: str | Path | CorpusSpec | None = None,
    tags: Sequence[TagRule] = (),
) -> Suite:
    """Read a file, every gold file below a folder, or a shipped set by its name: `stdlib`, `stdlib-docs`.

    `corpus` is where the code is, for formats that do not name it or instead of what a set names: a folder, or what
    `--corpus` takes (`git:URL@REV`, `pypi:NAME==VERSION`). A folder is relative to the current directory; that of a
    `CorpusSpec` is relative to the gold file, as in the file itself.
    """
    known = named(format) if format is not None else None
    path = _SHIPPED_FOLDER / f"{source}.yaml" if source in SHIPPED else Path(source)
    given = _spec(corpus)
    if path.is_dir():
        golds = [gold for part in _parts(path, known) for gold in _read(part, given)]
    elif path.exists():
        golds = _read(_Part(path, known), given)
    else:
        raise GoldError(
            "there is no such file or folder", file=path, hint=f"check the path, or use one of {', '.join(SHIPPED)}"
        )
    if not golds:
        raise GoldError(
            "the folder holds no gold set", file=path, hint=f"gold files end in {', '.join(sorted(SUFFIXES))}"
        )
    if given is not None and given is not corpus:
        golds = [replace(gold, corpus=_seen_from(gold, given)) for gold in golds]
    return _suite([apply_tags(gold, tags) for gold in golds])


def beside(corpus: CorpusSpec, source: str) -> CorpusSpec:
    """Return a corpus whose folder is relative to a gold file, as the file would write it, the same on any machine."""
    if corpus.kind not in ("path", "git") or "://" in corpus.value or not Path(corpus.value).exists():
        return corpus
    folder = Path(source) if Path(source).is_dir() else Path(source).parent
    return replace(corpus, value=os.path.relpath(corpus.value, folder))


def _spec(corpus: str | Path | CorpusSpec | None) -> CorpusSpec | None:
    if corpus is None or isinstance(corpus, CorpusSpec):
        return corpus
    if isinstance(corpus, os.PathLike):
        return CorpusSpec("path", os.fspath(corpus))
    if isinstance(corpus, str):
        return parse_spec(corpus)
    raise CorpusError(f"corpus = {corpus!r}", hint='pass a folder, such as corpus="src", or an assay.CorpusSpec')


def _seen_from(gold: GoldSet, given: CorpusSpec) -> CorpusSpec:
    own = gold.corpus
    same = gold.source is not None and (own.kind, own.value) == (given.kind, given.value)
    return beside(own, str(gold.source)) if same else own


@dataclass(frozen=True, slots=True)
class _Part:
    """A file, or a folder that is one set or several as a whole; a file may still have to be told its format."""

    path: Path
    format: Format | None
    walked: bool = False  # found below a folder, so it may be no set at all


def _parts(folder: Path, known: Format | None) -> Iterator[_Part]:
    """Yield the gold files below a folder in path order, folders of a folder format whole.

    Hidden files are left out, and what lies beside a set: its review queue, and the log of looks at its sealed part.
    """
    suffixes = known.suffixes if known else SUFFIXES
    for base, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and not name.endswith(REVIEW))
        whole = detect_folder(Path(base), (known,) if known else FORMATS)
        if whole is not None:
            folders.clear()
            yield _Part(Path(base), whole)
            continue
        if SYNTHETIC_MARK in files:
            folders.clear()
        visible = sorted(name for name in files if not name.startswith(".") and not name.endswith(LOOKS))
        yield from (_Part(Path(base, name), known, walked=True) for name in visible if Path(name).suffix in suffixes)


def _read(part: _Part, corpus: CorpusSpec | None) -> list[GoldSet]:
    if part.format is not None and part.format.read_folder is not None and part.path.is_dir():
        return part.format.read_folder(part.path, corpus)
    source = open_source(part.path)
    if part.walked and is_aside(source):
        return []
    name = "-".join(part.path.stem.split())
    found = (part.format or detect(source)).read(source, name, corpus)
    return found if isinstance(found, list) else [found]


def join(suites: Sequence[Suite]) -> Suite:
    """Put suites together; names stay unique."""
    return _suite([gold for suite in suites for gold in suite.golds])


def _suite(golds: Sequence[GoldSet]) -> Suite:
    first: dict[str, GoldSet] = {}
    for gold in golds:
        if gold.name in first:
            raise GoldError(
                f"two gold sets are called '{gold.name}', the other is {first[gold.name].source}",
                file=gold.source,
                hint="give each its own name; a set without a name key is called after its file",
            )
        first[gold.name] = gold
    return Suite(tuple(golds))


#: Of the queries that a run asked, how many its set must still have: sets that share a template of questions differ in
#: where the answers lie, while one that is tended keeps most of its queries.
SHARE = 0.5


def reload_set(gold: GoldSet) -> GoldSet | None:
    """Read a set that a run asked as it is now; None where its file is not here, is no gold or holds another set."""
    if gold.source is None or not Path(gold.source).exists():
        return None
    try:
        golds = load_gold(gold.source, corpus=gold.corpus).golds
    except AssayError:  # a file that is being edited says nothing of the run
        return None
    return next((now for now in golds if now.name == gold.name and _is_same(now, gold)), None)


def _is_same(now: GoldSet, ran: GoldSet) -> bool:
    today = {query.id: query for query in now.queries}
    kept = sum(query.id in today and _asks_the_same(today[query.id], query) for query in ran.queries)
    return kept >= SHARE * len(ran.queries)


def _asks_the_same(now: Query, ran: Query) -> bool:
    files, before = ({target.link or target.span.path for target in query.targets} for query in (now, ran))
    return all(now.forms.get(form) == text for form, text in ran.forms.items()) and not before.isdisjoint(files)


def log_reaccess(suite: Suite, command: str, engines: Sequence[str]) -> tuple[Path, ...]:
    """Write down a look at a run that was made before: in the log of the very sets it asked, and in no other."""
    here = [gold for gold in suite.golds if sealed_queries(gold) and reload_set(gold) is not None]
    return log_access(Suite(tuple(here)), command, engines)
