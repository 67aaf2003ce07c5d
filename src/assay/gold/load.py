from __future__ import annotations

import codecs
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from assay.corpus import parse_spec
from assay.errors import AssayError, ConfigError, CorpusError, GoldError
from assay.files import relative_path, write_atomic
from assay.gold.build import GoldLocation, GoldSource, read_source, suggest
from assay.gold.formats import beir_trec, benchmarks, karta, octocode, plain, pyckle, semble, siacode
from assay.gold.formats.losses import WriterOutput, file_name, find_source, read_back, verify_output
from assay.gold.formats.native import read_native, rewrite, write_native
from assay.gold.formats.rows import open_source, yaml_has
from assay.gold.journal import ACCESS_LOG_SUFFIX, REVIEW_SUFFIX
from assay.gold.split import TAG
from assay.types import CorpusSpec, GoldSet, Query, Suite

_YAML = (".yaml", ".yml")
_DATA_SETS = (".jsonl", ".parquet", ".json")
#: Provenance keys for content that was omitted or changed when reading.
_IGNORED = ("left out", "not read", "assumed")


@dataclass(frozen=True, slots=True)
class GoldFormat:
    """A gold format; for formats that only read directories, `matches` returns False and `read` raises."""

    name: str
    summary: str  # one line for hints
    suffixes: tuple[str, ...]
    matches: Callable[[GoldSource], bool]
    # arguments: source, default name of the set, corpus; a file about several repositories becomes several sets
    read: Callable[[GoldSource, str, CorpusSpec | None], GoldSet | list[GoldSet]]
    matches_directory: Callable[[Path], bool] | None = None
    read_directory: Callable[[Path, CorpusSpec | None], list[GoldSet]] | None = None
    write: Callable[[Suite], WriterOutput] | None = None
    is_companion: Callable[[GoldSource], bool] | None = None  # whether a file belongs to a set but has no queries
    stores_name: bool = False  # whether files store the name of the set; otherwise the file name is used
    symbols: bool = True  # whether symbol anchors are supported; otherwise they are resolved to lines
    whole_files: bool = True  # whether whole files are supported; otherwise they are resolved to lines


def _matches_native(source: GoldSource) -> bool:
    # YAML files without the version key are native unless another format matches
    return yaml_has(source, "assay") or (source.path.suffix in _YAML and not yaml_has(source, "corpus_id"))


def _write_native(suite: Suite) -> WriterOutput:
    files = {file_name(gold, ".yaml"): write_native(gold) for gold in suite.golds}
    return verify_output(suite, files, read_back(suite, ".yaml", lambda source, _name, _corpus: read_native(source)))


#: The first format that matches is used, so specific formats come first.
FORMATS: tuple[GoldFormat, ...] = (
    GoldFormat(
        "native", "YAML that begins with assay: 1", _YAML,
        _matches_native, lambda source, _name, corpus: read_native(source, corpus),
        write=_write_native, stores_name=True,
    ),
    GoldFormat(
        "karta", "YAML with corpus_id and queries, each with query and expected, or in five layers", _YAML,
        karta.matches, karta.read_karta, is_companion=karta.is_corpus_file,
    ),
    GoldFormat(
        "octocode", "CSV with the header query,result1,result2,result3", (".csv",),
        octocode.matches, octocode.read_octocode,
        write=octocode.write_octocode, symbols=False, whole_files=False,
    ),
    GoldFormat(
        "semble",
        'JSON list of {"query", "relevant", "secondary"}, or a directory with repos.json and annotations/', (".json",),
        semble.matches, lambda source, _name, corpus: semble.read_semble(source, corpus),
        matches_directory=semble.is_semble_directory, read_directory=semble.read_semble_directory,
        write=semble.write_semble, symbols=False,
    ),
    GoldFormat(
        "sia-code", 'JSON {"name", "queries": [{"id", "query_text", "relevant_docs"}]}', (".json",),
        siacode.matches, siacode.read_siacode,
    ),
    GoldFormat(
        "pyckle", 'JSON list of {"query", "expected"}, or EVAL_SET = [...] in a Python file', (".json", ".py"),
        pyckle.matches, pyckle.read_pyckle,
    ),
    GoldFormat(
        "codesearchnet", "CSV with the header Language,Query,GitHubUrl,Relevance,Notes", (".csv",),
        benchmarks.is_codesearchnet, benchmarks.read_codesearchnet,
    ),
    GoldFormat(
        "repoeval",
        'JSON lines {"prompt", "metadata": {"task_id", "ground_truth", "fpath_tuple", "line_no"}}', _DATA_SETS,
        benchmarks.is_repoeval, benchmarks.read_repoeval,
    ),
    GoldFormat(
        "crosscodeeval",
        'JSON lines {"prompt", "groundtruth", "metadata": {"repository", "file", "groundtruth_start_lineno"}}',
        _DATA_SETS, benchmarks.is_crosscodeeval, benchmarks.read_crosscodeeval,
    ),
    GoldFormat(
        "contextbench",
        'JSON lines or Parquet {"instance_id", "repo", "base_commit", "problem_statement", "gold_context"}',
        _DATA_SETS, benchmarks.is_contextbench, benchmarks.read_contextbench,
    ),
    GoldFormat(
        "swe-bench",
        'JSON lines or Parquet {"instance_id", "repo", "base_commit", "problem_statement", "patch"}',
        _DATA_SETS, benchmarks.is_swebench, benchmarks.read_swebench,
    ),
    GoldFormat(
        "beir", "a directory with corpus.jsonl, queries.jsonl and qrels/*.tsv", (),
        lambda _source: False, beir_trec.read_beir,
        matches_directory=beir_trec.is_beir_directory, read_directory=beir_trec.read_beir_directory,
        write=beir_trec.write_beir,
    ),
    GoldFormat(
        "trec", "lines of QUERY 0 DOCUMENT RELEVANCE, with topics in NAME.topics or topics.tsv", (beir_trec.QRELS,),
        beir_trec.is_trec, beir_trec.read_trec,
        matches_directory=beir_trec.is_trec_directory, read_directory=beir_trec.read_trec_directory,
        write=beir_trec.write_trec,
    ),
    GoldFormat(
        "plain", 'CSV with the header query,path, or JSON lines {"query", "path"}', (".csv", ".jsonl"),
        plain.matches, plain.read_plain, write=plain.write_plain,
    ),
)  # fmt: skip

#: Suffixes of gold files in a directory that is read without `format=`.
SUFFIXES: frozenset[str] = frozenset(s for known in FORMATS for s in known.suffixes) - {".py", ".txt", ".tsv"}


def find_format(name: str, *, write: bool = False) -> GoldFormat:
    """Return a format by name; raise if it is unknown. With `write`, the hint suggests only writable formats."""
    for known in FORMATS:
        if known.name == name:
            return known
    fit = [known for known in FORMATS if not write or known.write is not None]
    suffix = f".{name.lower().removeprefix('.')}"
    matching = [known for known in reversed(fit) if suffix in known.suffixes]  # simplest first
    hint = f"formats in {suffix} files: {_summarize(matching)}" if matching else suggest(name, [f.name for f in fit])
    raise ConfigError(f"unknown gold format '{name}'", hint=hint)


def _summarize(formats: Sequence[GoldFormat]) -> str:
    return "; ".join(f"{known.name}: {known.summary}" for known in formats)


def detect(source: GoldSource) -> GoldFormat:
    for known in FORMATS:
        if known.matches(source):
            return known
    if not source.text.strip():
        raise source.at(1).error("the file is empty", "add queries, or use another file")
    likely = [known for known in FORMATS if source.path.suffix in known.suffixes] or FORMATS
    others = ", ".join(known.name for known in FORMATS if known not in likely)
    hint = _summarize(likely) + (f"; formats of other file types: {others}" if others else "")
    raise source.at(1).error("the file is not a gold set in any known format", hint)


def ignored_notes(golds: Sequence[GoldSet]) -> tuple[str, ...]:
    """Return a note per file and kind of content left out, not read or assumed; native files get none."""
    notes: dict[str, None] = {}  # sets of one file share their notes
    for gold in golds:
        named_yaml = gold.source is not None and Path(gold.source).suffix in _YAML
        texts = {key: gold.provenance[key] for key in _IGNORED if gold.provenance.get(key)}
        if texts and not (named_yaml and find_source(gold, _matches_native) is not None):
            notes |= {f"{gold.source or gold.name}: {key}: {text}": None for key, text in texts.items()}
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class SaveResult:
    path: Path
    whole: bool = False  # whether a native file was rewritten completely, without its comments
    lost: tuple[str, ...] = ()  # content that the format cannot represent

    @property
    def notes(self) -> tuple[str, ...]:
        anew = f"{self.path} was rewritten completely; its comments are lost"
        return ((anew,) if self.whole else ()) + tuple(f"lost in {self.path}: {lost}" for lost in self.lost)


def save(old: GoldSet, new: GoldSet, to: Path | None = None) -> SaveResult:
    """Write a changed gold set atomically, in the format of its source, to the source or to another file."""
    if old.source is None:
        hint = "write the gold set to a file with `write_native`, and load it"
        raise GoldError(f"gold set '{old.name}' was not read from a file", hint=hint)
    source = read_source(Path(old.source))
    known, path = detect(source), to or source.path
    if known.name == "native":
        text = rewrite(source.text, old, new)
        whole = text is None
        if text is None:
            text = write_native(new)
            read_native(GoldSource(source.path, text))
        raw = source.path.read_bytes()
        text = text.replace("\r\n", "\n").replace("\n", "\r\n" if b"\r\n" in raw else "\n")
        mark = codecs.BOM_UTF8 if raw.startswith(codecs.BOM_UTF8) else b""
        write_atomic(path.resolve(), mark + text.encode("utf-8"))
        return SaveResult(path, whole=whole)
    hint = "convert the set to native with `assay gold convert`"
    if known.write is None:
        raise source.at().error(f"cannot write the format {known.name}", hint)
    written = known.write(Suite((new,)))
    if len(written.files) != 1:
        raise source.at().error(f"cannot edit the format {known.name} in place: a set is several files", hint)
    write_atomic(path.resolve(), next(iter(written.files.values())))
    return SaveResult(path, lost=written.lost)


#: Shipped sets: code and docstrings of the standard library; click from PyPI and p-queue from npm, which are fetched.
SHIPPED = ("stdlib", "stdlib-docs", "click", "pqueue")
_SHIPPED_DIRECTORY = Path(__file__).parent.parent / "data" / "gold"
#: A file that marks a directory of synthetic gold sets; its subdirectories contain their corpus, not gold sets.
SYNTHETIC_MARK = ".assay-synth"


def load_gold(
    source: str | Path,
    *,
    format: str | None = None,  # noqa: A002  # the public name; nothing here formats
    corpus: str | Path | CorpusSpec | None = None,
    tags: Sequence[TagRule] = (),
) -> Suite:
    """Load a gold file, every gold file below a directory, or a shipped set: stdlib, stdlib-docs, click, pqueue.

    `corpus` replaces the corpus named in the file, and is required if the format cannot name one. Pass a directory, or
    a string as for `--corpus`, such as `git:URL@REV` or `pypi:NAME==VERSION`. Directories are relative to the working
    directory, except in a `CorpusSpec`, where they are relative to the gold file.
    """
    known = find_format(format) if format is not None else None
    path = _SHIPPED_DIRECTORY / f"{source}.yaml" if source in SHIPPED else Path(source)
    spec = _corpus_spec(corpus)
    if path.is_dir():
        golds = list(_read_directory(path, known, spec))
    elif path.exists():
        golds = _read_file(path, known, spec)
    else:
        hint = f"check the path, or use one of {', '.join(SHIPPED)}"
        raise GoldError("no such file or directory", file=path, hint=hint)
    if not golds:
        hint = f"add a file that ends in one of {', '.join(sorted(SUFFIXES))}"
        raise GoldError("no gold set in the directory", file=path, hint=hint)
    if spec is not None and spec is not corpus:
        golds = [
            replace(gold, corpus=relative_corpus(gold.corpus, gold.source))
            if gold.source is not None and (gold.corpus.kind, gold.corpus.value) == (spec.kind, spec.value)
            else gold
            for gold in golds
        ]
    return _suite([_apply_tags(gold, tags) for gold in golds])


def _corpus_spec(corpus: str | Path | CorpusSpec | None) -> CorpusSpec | None:
    if corpus is None or isinstance(corpus, CorpusSpec):
        return corpus
    if isinstance(corpus, os.PathLike):
        return CorpusSpec("path", os.fspath(corpus))
    if isinstance(corpus, str):
        return parse_spec(corpus)
    hint = 'pass a directory, such as corpus="src", or an assay.CorpusSpec'
    raise CorpusError(f"expected a path or a CorpusSpec as corpus, got {corpus!r}", hint=hint)


def relative_corpus(corpus: CorpusSpec, source: str) -> CorpusSpec:
    if corpus.kind not in ("path", "git") or "://" in corpus.value or not Path(corpus.value).exists():
        return corpus
    directory = Path(source) if Path(source).is_dir() else Path(source).parent
    return replace(corpus, value=relative_path(corpus.value, directory))


def _read_directory(directory: Path, known: GoldFormat | None, corpus: CorpusSpec | None) -> Iterator[GoldSet]:
    suffixes = known.suffixes if known else SUFFIXES
    formats = (known,) if known else FORMATS
    for base, below, files in os.walk(directory):
        below[:] = sorted(name for name in below if not name.startswith(".") and not name.endswith(REVIEW_SUFFIX))
        whole = next((f for f in formats if f.matches_directory and f.matches_directory(Path(base))), None)
        if whole is not None and whole.read_directory is not None:
            below.clear()
            yield from whole.read_directory(Path(base), corpus)
            continue
        if SYNTHETIC_MARK in files:
            below.clear()
        for name in sorted(files):
            if not name.startswith(".") and not name.endswith(ACCESS_LOG_SUFFIX) and Path(name).suffix in suffixes:
                yield from _read_file(Path(base, name), known, corpus, walked=True)


def _read_file(
    path: Path, known: GoldFormat | None, corpus: CorpusSpec | None, *, walked: bool = False
) -> list[GoldSet]:
    source = open_source(path)
    if walked and any(other.is_companion is not None and other.is_companion(source) for other in FORMATS):
        return []
    golds = (known or detect(source)).read(source, "-".join(path.stem.split()), corpus)
    return golds if isinstance(golds, list) else [golds]


def join(suites: Sequence[Suite]) -> Suite:
    """Join suites into one; raise if two gold sets have the same name."""
    return _suite([gold for suite in suites for gold in suite.golds])


def _suite(golds: Sequence[GoldSet]) -> Suite:
    first: dict[str, GoldSet] = {}
    for gold in golds:
        if gold.name in first:
            message = f"duplicate gold set name '{gold.name}', also used by {first[gold.name].source}"
            hint = "use unique names; a set without a name is named after its file"
            raise GoldError(message, file=gold.source, hint=hint)
        first[gold.name] = gold
    return Suite(tuple(golds))


_RULE = re.compile(
    r"(?P<key>[^=:\s]+)=(?P<value>[^=:\s]+):(?P<rows>[0-9]{1,9}(-[0-9]{1,9})?(,[0-9]{1,9}(-[0-9]{1,9})?)*)"
)


@dataclass(frozen=True, slots=True)
class TagRule:
    key: str
    value: str
    rows: tuple[tuple[int, int], ...]  # first and last row, counted from 1, both included

    @classmethod
    def parse(cls, text: str) -> TagRule:
        """Parse a tag rule such as `key=value:101-127` or `key=value:3,7-9`."""
        match = _RULE.fullmatch(text)
        if match is None:
            raise ConfigError(f"invalid tag rule '{text}'", hint="use KEY=VALUE:ROWS, such as difficulty=hard:101-127")
        if match["key"] == TAG:
            raise ConfigError(f"tag rule '{text}' would change the split of queries", hint="use `assay gold split`")
        ranges = []
        for part in match["rows"].split(","):
            first, _, last = part.partition("-")
            ranges.append((int(first), int(last or first)))
            if not 1 <= ranges[-1][0] <= ranges[-1][1]:
                hint = "count rows from 1 and write the smaller number first"
                raise ConfigError(f"invalid row range {part} in tag rule '{text}'", hint=hint)
        return cls(match["key"], match["value"], tuple(ranges))


def _apply_tags(gold: GoldSet, rules: Sequence[TagRule]) -> GoldSet:
    for rule in rules:
        last = max(last for _, last in rule.rows)
        if last > len(gold.queries):
            raise GoldLocation(gold.source or gold.name).error(
                f"tag rule {rule.key}={rule.value}: expected rows from 1 to {len(gold.queries)}, got {last}",
                "count rows from 1, without the header",
            )
    queries = []
    for row, query in enumerate(gold.queries, 1):
        fitting = (rule for rule in rules if any(first <= row <= last for first, last in rule.rows))
        queries.append(replace(query, tags={**query.tags, **{rule.key: rule.value for rule in fitting}}))
    return replace(gold, queries=tuple(queries))


#: Share of the queries that a reloaded set must still contain. Edited sets retain most queries; another set made from
#: the same template has other targets.
SHARE = 0.5


def reload_set(gold: GoldSet) -> GoldSet | None:
    """Load a gold set again; return None if the file is missing or invalid, or has less than half of its queries."""
    if gold.source is None or not Path(gold.source).exists():
        return None
    try:
        golds = load_gold(gold.source, corpus=gold.corpus).golds
    except AssayError:  # the user may be editing the file
        return None
    for now in golds:
        current = {query.id: query for query in now.queries}
        same = sum(query.id in current and _is_same(current[query.id], query) for query in gold.queries)
        if now.name == gold.name and same >= SHARE * len(gold.queries):
            return now
    return None


def _is_same(now: Query, before: Query) -> bool:
    files, old = ({target.link or target.span.path for target in query.targets} for query in (now, before))
    return all(now.forms.get(form) == text for form, text in before.forms.items()) and not old.isdisjoint(files)
