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
from assay.corpus_changes import changed_since
from assay.engines.base import FullEngine
from assay.errors import AssayError, ConfigError, CorpusError, GoldError, did_you_mean
from assay.experiment.records.directory import MANIFEST
from assay.experiment.spec import FILE, Spec
from assay.experiment.spec.analysis_plan import check_suite
from assay.experiment.spec.assay_toml import EXTENDS, KEYS, PRESET
from assay.experiment.spec.experiment_spec import TABLES
from assay.gold.anchors import resolve
from assay.gold.load import SHIPPED, TagRule, join, load_gold, reload_set
from assay.gold.split import access_log_path
from assay.settings import iter_leaves
from assay.store.scratch import scratch
from assay.syntax.text import estimate_tokens, line_bytes, line_sizes
from assay.toml import read_toml
from assay.types import Corpus, CorpusInfo, CorpusSpec, GoldSet, Hit, Query, Run, Suite

#: Tables that identify a TOML file as an experiment; [search] or [tune] alone may belong to another tool.
_DEFINING = ("run", "engines", "variants", "sweeps", EXTENDS)
_TEMPLATE = "config.template"  # engine setting: a configuration file of the tool
LEDGER_FILE = "ledger.jsonl"
LEDGER_START = b'{"assay_ledger": '  # of every line
_GOLD = re.compile(rb"^assay: *\d", re.MULTILINE)  # at the start of a gold set in the native format, after comments


def find_experiments(directories: Iterable[Path]) -> list[Path]:
    """Return experiments in directories and their direct subdirectories, the files they extend and their templates."""
    experiments: dict[Path, Mapping[str, Any]] = {}
    patterns = ("*.toml", "*/*.toml")
    left = [file for directory in directories for pattern in patterns for file in sorted(directory.glob(pattern))]
    while left:
        file = left.pop(0).resolve()
        with suppress(OSError):
            status = file.stat()
            data = _read_experiment(file, (status.st_mtime_ns, status.st_size))
            if data is not None and file not in experiments:
                experiments[file] = data
                left += _extended(file, data)
    templates = []
    for file, data in experiments.items():
        directories = dict.fromkeys(path.parent for path in (file, *_extended(file, data)) if path in experiments)
        names = dict.fromkeys(_template_names(data))
        templates += [directory / name for name in names for directory in directories if (directory / name).is_file()]
    return [*experiments, *templates]


@cache
def _read_experiment(file: Path, _version: tuple[int, int]) -> Mapping[str, Any] | None:
    with suppress(ConfigError):
        data = read_toml(file).data
        return data if is_experiment(data) else None
    return None


def is_experiment(data: Mapping[str, Any]) -> bool:
    """Return whether a TOML document is an experiment: only tables of assay.toml, and only known keys in [run]."""
    tables = [value for key, value in data.items() if key != EXTENDS]
    known = set(data) <= {*TABLES, EXTENDS} and not set(data).isdisjoint(_DEFINING)
    return known and all(isinstance(table, Mapping) for table in tables) and set(data.get("run", {})) <= set(KEYS)


def _extended(file: Path, data: Mapping[str, Any]) -> list[Path]:
    value = data.get(EXTENDS, [])
    names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
    return [(file.parent / name).resolve() for name in names if isinstance(name, str) and not name.startswith(PRESET)]


def _template_names(data: Mapping[str, Any]) -> Iterator[str]:
    for table in ("engines", "variants", "sweeps"):
        for keys, value in iter_leaves(data.get(table, {})):
            if ".".join(keys).endswith(f".{_TEMPLATE}"):
                yield from (name for name in (value if isinstance(value, list) else [value]) if isinstance(name, str))


def own_files(spec: Spec) -> tuple[Path, ...]:
    """Return the gold sets, access logs, configuration, templates and ledgers; empty if all gold sets are shipped."""
    gold: list[Path] = []
    for source in (Path(source) for source in spec.gold if source not in SHIPPED):
        if not source.is_dir():
            gold.append(source)
            continue
        with suppress(AssayError):
            gold += sorted({Path(one.source) for one in load_gold(source).golds if one.source})
    if not gold:
        return ()
    logs = [access_log_path(file) for file in gold]
    experiments = find_experiments(dict.fromkeys((spec.directory, *(file.parent for file in gold))))
    return tuple(dict.fromkeys((*gold, *logs, *map(Path, spec.files), *experiments, *_ledgers_above(spec.directory))))


def _changing_files(corpus: CorpusSpec, base: Path | None, source: Path) -> list[str]:
    """Return the gold sets, ledgers and experiments in a corpus, from its root down to the gold file.

    All are excluded, used or not, so that every experiment has the same corpus.
    """
    root, directory = _root(corpus, base), source.parent.resolve()
    if root is None:
        return []
    inside = [root, *(path for path in (directory, *directory.parents) if path != root and path.is_relative_to(root))]
    yaml = (file for path in inside for pattern in ("*.y*ml", "*/*.y*ml") for file in path.glob(pattern))
    golds = [file for gold in sorted(yaml) if _GOLD.search(_read_start(gold)) for file in (gold, access_log_path(gold))]
    return paths_inside(corpus, base, dict.fromkeys((*_ledgers_above(directory), *find_experiments(inside), *golds)))


def paths_inside(corpus: CorpusSpec, base: Path | None, files: Iterable[Path]) -> list[str]:
    """Return the files that are inside a corpus, as paths relative to the root of the corpus."""
    root = _root(corpus, base)
    if root is None:
        return []
    return [file.resolve().relative_to(root).as_posix() for file in files if file.resolve().is_relative_to(root)]


def _root(corpus: CorpusSpec, base: Path | None) -> Path | None:
    root = ((base or Path()) / corpus.value / (corpus.root or "")).resolve()
    return root if corpus.kind in ("path", "git") and root.is_dir() else None


def exclude_paths(corpus: CorpusSpec, paths: Sequence[str]) -> CorpusSpec:
    escaped = (re.sub(r"([\\*?\[\]!# ])", r"\\\1", path) for path in paths)
    return replace(corpus, exclude=(*corpus.exclude, *(f"/{path}" for path in escaped)))


def ledger_head(path: Path) -> Path:
    """Return the head file of a ledger, which stores its number of entries and last hash."""
    return path.with_name(f"{path.stem}.head.json")


def _ledgers_above(directory: Path) -> list[Path]:
    """Return the ledgers and head files in a directory and its parents; they grow, so a corpus excludes them."""
    found = []
    for parent in (directory.resolve(), *directory.resolve().parents):
        for file in sorted(parent.glob(f"*{LEDGER_FILE}")):
            found += [file, ledger_head(file)] if _read_start(file).startswith(LEDGER_START) else []
    return found


def _read_start(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(4096)
    except OSError:
        return b""


Missing = Literal["error", "report"]


def load_suite(spec: Spec) -> Suite:
    if not spec.gold:
        raise ConfigError("no --gold given and no assay.toml names a gold set", hint="assay init, or add --gold PATH")
    rules = [TagRule.parse(text) for text in spec.tags]
    suite = join([load_gold(source, corpus=spec.corpus or None, tags=rules) for source in spec.gold])
    check_suite(spec.cluster, suite)
    return suite


class LineSizes:
    """Line sizes in bytes of the corpus files; each file is read once."""

    def __init__(self, corpus: Corpus) -> None:
        self._corpus = corpus
        self._known = frozenset(f.path for f in corpus.files)
        self._lines: dict[str, tuple[int, ...]] = {}
        self._tokens: dict[tuple[str, int | None, int | None], int] = {}

    def __contains__(self, path: str) -> bool:
        return path in self._known

    def lines(self, path: str) -> tuple[int, ...]:
        """Return the size of each line in bytes; empty if the file is not in the corpus."""
        if path not in self._known:
            return ()
        if path not in self._lines:
            self._lines[path] = line_bytes(read_text(self._corpus, path))
        return self._lines[path]

    def tokens(self, hit: Hit) -> int:
        place = hit[:3]
        known = self._tokens.get(place)
        if known is None:  # the engines of a sweep return many equal places
            lines = self.lines(hit.path)
            known = estimate_tokens(sum(lines if hit.start is None else lines[hit.start - 1 : hit.end]))
            self._tokens[place] = known
        return known


@dataclass(frozen=True, slots=True)
class PhrasedQuery:
    query: Query
    form: str

    @property
    def text(self) -> str:
        return self.query.forms[self.form]


@dataclass(frozen=True, slots=True)
class PreparedGold:
    gold: GoldSet
    corpus: Corpus
    problems: tuple[str, ...]
    queries: tuple[PhrasedQuery, ...]
    own: frozenset[str]  # gold file, access log and configuration, if inside the corpus
    sizes: LineSizes
    changing: frozenset[str] = frozenset()  # ledgers and experiments inside the corpus

    def is_own(self, path: str) -> bool:
        """Return whether a path is one of Assay's own files or in a results directory; such hits are dropped."""
        if path in self.own or path in self.changing:
            return True
        if path in self.sizes:
            return False
        parts = PurePosixPath(path)
        return ".." not in parts.parts and any((self.corpus.root / up / MANIFEST).is_file() for up in parts.parents)


def prepare(gold: GoldSet, forms: Sequence[str] | None, cache: Path | None, missing: Missing | None) -> PreparedGold:
    """Open the corpus of a gold set and resolve its anchors; raise GoldError if no query is left."""
    _check_measures(gold)
    known = sorted({form for query in gold.queries for form in query.forms})
    for form in forms or ():
        if form not in known:
            hint = did_you_mean(form, known) or f"the gold set has {', '.join(known)}"
            raise GoldError(f"unknown phrasing {form!r}", file=gold.source, hint=hint)
    opened = reopen(gold, forms, cache)
    policy = missing or ("report" if gold.corpus.kind == "stdlib" else "error")
    resolution = resolve(gold, opened.corpus, missing=policy)
    queries = phrased_queries(resolution.gold, forms)
    problems = tuple(problem.message for problem in resolution.problems)
    if not queries:
        line = resolution.problems[0].line if resolution.problems else None
        message = f"no query has a target in this corpus: {'; '.join(problems[:3])}"
        raise GoldError(message, file=gold.source, line=line, hint="check that the gold set belongs to this corpus")
    return replace(opened, gold=resolution.gold, problems=problems, queries=queries)


def reopen(gold: GoldSet, forms: Sequence[str] | None, cache: Path | None = None) -> PreparedGold:
    """Open the corpus of a gold set without resolving anchors."""
    base = Path(gold.source).parent if gold.source else None
    own, changing = list[str](), list[str]()
    if gold.source:
        source = Path(gold.source)
        own = paths_inside(gold.corpus, base, [source, access_log_path(source), source.parent / FILE])
        changing = _changing_files(gold.corpus, base, source)
    try:
        spec = exclude_paths(gold.corpus, [*own, *changing])
        corpus = replace(open_corpus(spec, base=base, cache=cache), spec=gold.corpus)
    except CorpusError as error:
        line = error.line or _corpus_line(gold.source)
        message = f"{error.message}: {error.file}" if error.file else error.message
        raise CorpusError(message, file=gold.source, line=line, hint=error.hint) from error
    queries = phrased_queries(gold, forms)
    return PreparedGold(gold, corpus, (), queries, frozenset(own), LineSizes(corpus), frozenset(changing))


def is_corpus_here(gold: GoldSet) -> bool:
    """Return whether the corpus of a recorded gold set can be located; a relative path requires the gold file."""
    corpus = gold.corpus
    local = corpus.kind in ("path", "git") and not is_url(corpus.value)
    return not local or Path(corpus.value).expanduser().is_absolute() or reload_set(gold) is not None


def check_corpus_here(gold: GoldSet) -> None:
    """Raise CorpusError if the corpus of a recorded gold set cannot be located."""
    if not is_corpus_here(gold):
        file = f": {gold.source} is missing or holds another set" if gold.source else ""
        hint = "change to the directory of the run, restore its gold set, or repeat the run"
        raise CorpusError(f"cannot find the gold set {gold.name} of this run{file}", hint=hint)


def phrased_queries(gold: GoldSet, forms: Sequence[str] | None) -> tuple[PhrasedQuery, ...]:
    """Return every phrasing of every query, or those in `forms`."""
    return tuple(PhrasedQuery(q, form) for q in gold.queries for form in q.ordered_forms if not forms or form in forms)


def _corpus_line(source: str | None) -> int | None:
    if source is None or not source.endswith((".yaml", ".yml")) or not Path(source).is_file():
        return None
    lines = Path(source).read_text(encoding="utf-8", errors="replace").split("\n")
    return next((number for number, text in enumerate(lines, start=1) if text.startswith("corpus:")), None)


def _check_measures(gold: GoldSet) -> None:
    if not any(query.measures for query in gold.queries):
        return
    from assay.scoring import evaluation_measures  # loads numpy, which workers do not need

    try:
        evaluation_measures(Suite((gold,)))
    except ConfigError as error:
        hint = error.hint or "see docs/reference/measures.md"
        raise GoldError(error.message, file=gold.source, line=error.line, hint=hint) from error


class CorpusTexts:
    """Source texts of a run by gold set and path, from corpora that have not changed since the run.

    A corpus with a revision or version is fixed; its lines must have the recorded lengths. A directory must have the
    recorded digest, because an edit may keep the length of every line.

    Only recorded files are read, so that a path in an engine's results cannot expose another file, such as a secret
    that Git ignores.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._golds = {gold.name: gold for gold in run.suite.golds}
        self._corpora: dict[str, LocalCorpus | None] = {}
        self._files: dict[tuple[str, str], tuple[list[str], tuple[int, ...]] | None] = {}
        self._reasons: dict[str, list[str]] = {}  # why a corpus is unavailable -> gold names
        self._changed: dict[str, set[str]] = {}  # gold name -> changed files

    def __call__(self, gold: str, path: str) -> str | None:
        """Return the text of a file at the time of the run; None if it is missing or changed."""
        lines = self.lines(gold, path)
        return None if lines is None else "\n".join(lines)

    def lines(self, gold: str, path: str) -> Sequence[str] | None:
        """Return the lines of a file at the time of the run; None if the file is missing or changed."""
        sizes = self._run.lines.get(gold, {}).get(path)
        if sizes is None or gold not in self._golds:
            return None
        if gold not in self._corpora:
            self._corpora[gold] = self._find(self._golds[gold])
        corpus = self._corpora[gold]
        if corpus is None:
            return None
        content = self._read(corpus, path)
        if content is None or content[1] != sizes:
            self._changed.setdefault(gold, set()).add(path)
            return None
        return content[0]

    @property
    def notes(self) -> Sequence[str]:
        """Return sentences on the requested files that were unavailable."""
        absent = [f"No source of {', '.join(golds)}: {reason}." for reason, golds in self._reasons.items()]
        changed = []
        for gold, paths in self._changed.items():
            files = min(paths) if len(paths) == 1 else f"{len(paths):,} files such as {min(paths)}"
            changed.append(f"No source of {files} of {gold}: missing, or changed since the run.")
        return [*absent, *changed]

    def _find(self, gold: GoldSet) -> LocalCorpus | None:
        facts = self._run.header.corpora.get(gold.name)
        base = Path(gold.source).parent if gold.source else None
        try:
            corpus = find_local(gold.corpus, base=base, revision=facts.revision if facts else None)
            reason = _difference(gold, facts)
        except (AssayError, OSError) as error:
            reason = error.message if isinstance(error, AssayError) else str(error.strerror)
        if reason is None:
            return corpus
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


def _difference(gold: GoldSet, facts: CorpusInfo | None) -> str | None:
    """Return why a directory may differ from the corpus of the run; None if it does not, or if a revision fixes it."""
    if gold.corpus.kind != "path":
        return None
    if facts is None or not facts.digest:
        return "the run records no corpus digest"
    if not changed_since(facts, reopen(gold, None).corpus.digest):
        return None
    return "the corpus changed since the run" if is_corpus_here(gold) else "its gold set was not found"


@contextmanager
def private_copy(engine: FullEngine, corpus: Corpus, *, always: bool = False) -> Iterator[Corpus]:
    """Yield a copy of the corpus if `engine.private` or `always` is true, otherwise the corpus itself."""
    if not (engine.private or always):
        yield corpus
        return
    with scratch() as directory:
        yield copy_corpus(corpus, directory, commit=engine.git)
