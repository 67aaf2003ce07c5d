"""Prepare the corpus of a gold set: hide our own files, copy it for engines that write."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path, PurePosixPath
from typing import Any, Literal

from assay.corpus import open_corpus, read_text
from assay.corpus.opening import LocalCorpus, copy_corpus, find_local
from assay.corpus.spec import is_url
from assay.engines.base import FullEngine
from assay.errors import AssayError, ConfigError, CorpusError, GoldError, did_you_mean
from assay.experiment.records import MANIFEST
from assay.experiment.spec import FILE, KEYS, TABLES, Spec
from assay.experiment.spec.load import DROP, EXTENDS, PRESET
from assay.gold import resolve
from assay.gold.access_log import access_log_path
from assay.gold.load import SHIPPED, load_gold, reload_set
from assay.settings import iter_leaves
from assay.store import scratch
from assay.syntax.tokens import estimate_tokens, line_bytes, line_sizes
from assay.toml import read_toml
from assay.types import Corpus, CorpusInfo, CorpusSpec, GoldSet, Hit, Query, Run, Suite

#: What makes a file an experiment; [search] alone, or [tune], may be anybody's.
_TELLING = ("run", "engines", "variants", "sweeps", EXTENDS)
_TEMPLATE = "config.template"  # the setting of an engine that names a configuration file of its tool


def experiments_near(folders: Iterable[Path]) -> list[Path]:
    """List the experiments in folders and right below them, what they extend, and the templates their engines name."""
    found: dict[Path, Mapping[str, Any]] = {}
    left = [file for folder in folders for pattern in ("*.toml", "*/*.toml") for file in sorted(folder.glob(pattern))]
    while left:
        file = left.pop(0).resolve()
        data = None if file in found else _experiment(file)
        if data is not None:
            found[file] = data
            left += _extended(file, data)
    return [*found, *(template for file, data in found.items() for template in _templates(file, data, found))]


def _experiment(file: Path) -> Mapping[str, Any] | None:
    """Read an experiment; None when it is something else, or cannot be read."""
    try:
        seen = file.stat()
    except OSError:
        return None
    return _read(file, (seen.st_mtime_ns, seen.st_size))


@cache
def _read(file: Path, _state: tuple[int, int]) -> Mapping[str, Any] | None:
    try:
        data = read_toml(file).data
    except ConfigError:
        return None
    return data if is_experiment(data) else None


def is_experiment(data: Mapping[str, Any]) -> bool:
    """Tell an experiment by its content: our tables and no others, and keys of [run] that we know."""
    tables = [value for key, value in data.items() if key not in (EXTENDS, DROP)]
    known = set(data) <= {*TABLES, EXTENDS, DROP} and not set(data).isdisjoint(_TELLING)
    return known and all(isinstance(table, Mapping) for table in tables) and set(data.get("run", {})) <= set(KEYS)


def _extended(file: Path, data: Mapping[str, Any]) -> list[Path]:
    named = data.get(EXTENDS, [])
    names = [named] if isinstance(named, str) else named if isinstance(named, list) else []
    return [(file.parent / name).resolve() for name in names if isinstance(name, str) and not name.startswith(PRESET)]


def _templates(file: Path, data: Mapping[str, Any], known: Mapping[Path, Mapping[str, Any]]) -> Iterator[Path]:
    folders = dict.fromkeys(path.parent for path in (file, *_extended(file, data)) if path in known)
    for name in dict.fromkeys(_named(data)):
        yield from (folder / name for folder in folders if (folder / name).is_file())


def _named(data: Mapping[str, Any]) -> Iterator[str]:
    for table in ("engines", "variants", "sweeps"):
        for keys, value in iter_leaves(data.get(table, {})):
            if ".".join(keys).endswith(f".{_TEMPLATE}"):
                yield from (one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str))


def files_of(spec: Spec) -> tuple[Path, ...]:
    """List assay.toml, what it extends, its gold files and what lies beside them; nothing when it names none."""
    from assay.experiment.ledger import ledgers_above  # loads numpy, which a worker does without

    gold = [file for source in spec.gold if source not in SHIPPED for file in _gold_files(Path(source))]
    if not gold:
        return ()
    beside = [access_log_path(file) for file in gold]
    others = experiments_near(dict.fromkeys((spec.directory, *(file.parent for file in gold))))
    return tuple(dict.fromkeys((*gold, *beside, *map(Path, spec.files), *others, *ledgers_above(spec.directory))))


def _gold_files(source: Path) -> list[Path]:
    if not source.is_dir():
        return [source]
    with suppress(AssayError):
        return sorted({Path(gold.source) for gold in load_gold(source).golds if gold.source})
    return []


def changing_files(corpus: CorpusSpec, base: Path | None, source: str) -> list[str]:
    """List what of ours comes and goes in a corpus: ledgers and experiments, from its root down to the gold file.

    Which of them is in use makes no difference: the corpus is the same for all.
    """
    from assay.experiment.ledger import ledgers_above

    root, folder = _root(corpus, base), Path(source).parent.resolve()
    if root is None:
        return []
    way = [root, *(place for place in (folder, *folder.parents) if place != root and place.is_relative_to(root))]
    return inside(corpus, base, dict.fromkeys((*ledgers_above(folder), *experiments_near(way))))


def inside(corpus: CorpusSpec, base: Path | None, files: Iterable[Path]) -> list[str]:
    """List the files that lie inside a corpus, as its paths."""
    root = _root(corpus, base)
    if root is None:
        return []
    return [file.resolve().relative_to(root).as_posix() for file in files if file.resolve().is_relative_to(root)]


def _root(corpus: CorpusSpec, base: Path | None) -> Path | None:
    """Find the folder of a corpus; None where it is no folder here."""
    root = ((base or Path()) / corpus.value / (corpus.root or "")).resolve()
    return root if corpus.kind in ("path", "git") and root.is_dir() else None


def exclude_paths(corpus: CorpusSpec, paths: Sequence[str]) -> CorpusSpec:
    """Leave paths out of a corpus."""
    return replace(corpus, exclude=(*corpus.exclude, *("/" + _escaped(path) for path in paths)))


def _escaped(path: str) -> str:
    return re.sub(r"([\\*?\[\]!# ])", r"\\\1", path)


Missing = Literal["error", "report"]


class LineSizes:
    """Bytes of each line of the corpus files, each file read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._known = frozenset(f.path for f in corpus.files)
        self._lines: dict[str, tuple[int, ...]] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def lines(self, path: str) -> tuple[int, ...]:
        """Give the bytes of each line of a file; nothing for a file that is not in the corpus."""
        if path not in self._known:
            return ()
        if path not in self._lines:
            self._lines[path] = line_bytes(read_text(self._corpus, path))
        return self._lines[path]

    def tokens(self, hit: Hit) -> int:
        """Count the tokens of a hit's lines."""
        lines = self.lines(hit.path)
        return estimate_tokens(sum(lines if hit.start is None else lines[hit.start - 1 : hit.end]))


@dataclass(frozen=True, slots=True)
class PhrasedQuery:
    """One form of one query."""

    query: Query
    form: str

    @property
    def text(self) -> str:
        """What the engine is asked."""
        return self.query.forms[self.form]


@dataclass(frozen=True, slots=True)
class PreparedGold:
    """A gold set with its corpus, ready to be asked."""

    gold: GoldSet
    corpus: Corpus
    problems: tuple[str, ...]
    questions: tuple[PhrasedQuery, ...]
    own: frozenset[str]  # gold file and configuration, where they lie inside the corpus
    sizes: LineSizes
    changing: frozenset[str] = frozenset()  # ledgers and experiments there: more of them is no other corpus

    def is_ours(self, path: str) -> bool:
        """Whether a path is our own file or lies in a folder of results: nobody can be blamed for finding the gold."""
        if path in self.own or path in self.changing:
            return True
        if path in self.sizes:
            return False
        parts = PurePosixPath(path)
        return ".." not in parts.parts and any((self.corpus.root / up / MANIFEST).is_file() for up in parts.parents)


def prepare(gold: GoldSet, forms: Sequence[str] | None, cache: Path | None, missing: Missing | None) -> PreparedGold:
    """Open a gold set's corpus and resolve its anchors."""
    _check_measures(gold)
    _check_forms(gold, forms)
    place = reopen(gold, forms, cache)
    policy = missing or ("report" if gold.corpus.kind == "stdlib" else "error")
    resolution = resolve(gold, place.corpus, missing=policy)
    questions = questions_of(resolution.gold, forms)
    problems = tuple(p.message for p in resolution.problems)
    if not questions:
        line = resolution.problems[0].line if resolution.problems else None
        raise GoldError(
            f"none of its queries has its answer in this corpus: {'; '.join(problems[:3])}",
            file=gold.source,
            line=line,
            hint="is it the gold set of another corpus?",
        )
    return replace(place, gold=resolution.gold, problems=problems, questions=questions)


def reopen(gold: GoldSet, forms: Sequence[str] | None, cache: Path | None = None) -> PreparedGold:
    """Open the corpus of a gold set as it is now; its anchors are resolved already, or will be."""
    base = Path(gold.source).parent if gold.source else None
    own = _own_files(gold.corpus, base, gold.source)
    changing = changing_files(gold.corpus, base, gold.source) if gold.source else []
    corpus = _open(gold, base, [*own, *changing], cache)
    return PreparedGold(
        gold, corpus, (), questions_of(gold, forms), frozenset(own), LineSizes(corpus), frozenset(changing)
    )


def is_corpus_here(gold: GoldSet) -> bool:
    """Tell whether the corpus of a set that a run asked is found: one beside the gold file only where that set is."""
    return not _beside(gold.corpus) or reload_set(gold) is not None


def check_home(gold: GoldSet) -> None:
    """Refuse to look for the corpus of a run in a folder that merely has files of the same names."""
    if not is_corpus_here(gold):
        named = f": {gold.source} is not there, or holds another set" if gold.source else ""
        hint = "go where the run was made, bring its gold set back, or run it again"
        raise CorpusError(f"the gold set {gold.name} that this run asked is not here{named}", hint=hint)


def _beside(corpus: CorpusSpec) -> bool:
    here = corpus.kind in ("path", "git") and not is_url(corpus.value)
    return here and not Path(corpus.value).expanduser().is_absolute()


def questions_of(gold: GoldSet, forms: Sequence[str] | None) -> tuple[PhrasedQuery, ...]:
    """List what a gold set asks: every form of every query, or those that are wanted."""
    return tuple(PhrasedQuery(q, form) for q in gold.queries for form in q.ordered_forms if not forms or form in forms)


def _open(gold: GoldSet, base: Path | None, own: Sequence[str], cache: Path | None) -> Corpus:
    try:
        return replace(open_corpus(exclude_paths(gold.corpus, own), base=base, cache=cache), spec=gold.corpus)
    except CorpusError as error:
        line = error.line or _corpus_line(gold.source)
        message = f"{error.message}: {error.file}" if error.file else error.message
        raise CorpusError(message, file=gold.source, line=line, hint=error.hint) from error


def _corpus_line(source: str | None) -> int | None:
    if source is None or not source.endswith((".yaml", ".yml")) or not Path(source).is_file():
        return None
    lines = Path(source).read_text(encoding="utf-8", errors="replace").split("\n")
    return next((number for number, text in enumerate(lines, start=1) if text.startswith("corpus:")), None)


def _check_forms(gold: GoldSet, forms: Sequence[str] | None) -> None:
    """Refuse a form that no query has: a typo must not shrink the set in silence."""
    known = sorted({form for query in gold.queries for form in query.forms})
    for form in forms or ():
        if form not in known:
            hint = did_you_mean(form, known) or f"the gold set has the forms {', '.join(known)}"
            raise GoldError(f"no query has the form {form!r}", file=gold.source, hint=hint)


def _check_measures(gold: GoldSet) -> None:
    if not any(query.measures for query in gold.queries):
        return
    from assay.scoring import evaluation_measures  # brings numpy, which a worker may do without

    try:
        evaluation_measures(Suite((gold,)))
    except ConfigError as error:
        hint = error.hint or "see docs/reference/measures.md"
        raise GoldError(error.message, file=gold.source, line=error.line, hint=hint) from error


def _own_files(spec: CorpusSpec, base: Path | None, source: str | None) -> list[str]:
    if source is None:
        return []
    folder = Path(source).parent
    return inside(spec, base, [Path(source), access_log_path(Path(source)), folder / FILE])


class CorpusTexts:
    """Texts of files by gold name and path: those of corpora that are what they were.

    A revision or a version fixes what a corpus holds, and every line must be as long as in the records. A folder is
    fixed by nothing, and an edit may keep the length of every line: it must have the digest that the run recorded.

    Only files that the records know are read, so no result of an engine can name another one into a page: what git
    ignores is no part of a corpus, and may be secret.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._golds = {gold.name: gold for gold in run.suite.golds}
        self._corpora: dict[str, LocalCorpus | None] = {}
        self._files: dict[tuple[str, str], tuple[list[str], tuple[int, ...]] | None] = {}
        self._reasons: dict[str, list[str]] = {}  # why a corpus is not here -> gold names
        self._changed: dict[str, set[str]] = {}  # gold name -> files that are others now

    def __call__(self, gold: str, path: str) -> str | None:
        """Give the text of a file as the run saw it; None where it is not here or is another one now."""
        lines = self.lines(gold, path)
        return None if lines is None else "\n".join(lines)

    def lines(self, gold: str, path: str) -> Sequence[str] | None:
        r"""Give the text of a file, split at `\n`."""
        sizes = self._run.lines.get(gold, {}).get(path)
        corpus = self._corpus(gold) if sizes is not None else None
        if corpus is None:
            return None
        found = self._read(corpus, path)
        if found is None or found[1] != sizes:
            self._changed.setdefault(gold, set()).add(path)
            return None
        return found[0]

    @property
    def notes(self) -> Sequence[str]:
        """Say what was asked for and could not be given."""
        absent = [f"No source of {', '.join(golds)}: {reason}." for reason, golds in self._reasons.items()]
        changed = [
            f"No source of {_files(paths)} of {gold}: not here, or no longer as in the run."
            for gold, paths in self._changed.items()
        ]
        return [*absent, *changed]

    def _corpus(self, gold: str) -> LocalCorpus | None:
        if gold not in self._corpora:
            self._corpora[gold] = self._find(self._golds[gold]) if gold in self._golds else None
        return self._corpora[gold]

    def _find(self, gold: GoldSet) -> LocalCorpus | None:
        facts = self._run.header.corpora.get(gold.name)
        base = Path(gold.source).parent if gold.source else None
        try:
            found = find_local(gold.corpus, base=base, revision=facts.revision if facts else None)
            reason = _doubt(gold, facts)
        except (AssayError, OSError) as error:
            reason = error.message if isinstance(error, AssayError) else str(error.strerror)
        if reason is None:
            return found
        self._reasons.setdefault(reason, []).append(gold.name)
        return None

    def _read(self, corpus: LocalCorpus, path: str) -> tuple[list[str], tuple[int, ...]] | None:
        key = (corpus.root, path)
        if key not in self._files:
            try:
                text = corpus.text(path)
            except (AssayError, OSError, ValueError):
                self._files[key] = None
            else:
                lines = text.split("\n")
                self._files[key] = (lines, line_sizes(lines) if text.isascii() else line_bytes(text))
        return self._files[key]


def _doubt(gold: GoldSet, facts: CorpusInfo | None) -> str | None:
    """Say why the folder of a corpus may not be what the run saw; None where it is, or where its revision fixes it."""
    if gold.corpus.kind != "path":
        return None
    if facts is None or not facts.digest:
        return "the records do not say which files the corpus had"
    if reopen(gold, None).corpus.digest == facts.digest:
        return None
    return "the corpus changed since the run" if is_corpus_here(gold) else "its gold set is not here"


def _files(paths: set[str]) -> str:
    first = min(paths)
    return first if len(paths) == 1 else f"{len(paths):,} files such as {first}"


def corpus_texts(run: Run) -> CorpusTexts:
    """Reopen the corpora of a run for their source."""
    return CorpusTexts(run)


@contextmanager
def workplace(engine: FullEngine, corpus: Corpus, *, own: bool = False) -> Iterator[Corpus]:
    """Give a private engine a fresh copy of the corpus, where no cache has been; `own` gives one to any engine."""
    if not (engine.private or own):
        yield corpus
        return
    with scratch() as folder:
        yield copy_corpus(corpus, folder, commit=engine.git)
