"""The table of gold formats; detect the format of a file, and save a gold set in the format of its file."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError, GoldError
from assay.files import write_atomic
from assay.gold.build import GoldSource, read_source, suggest
from assay.gold.formats import beir_trec, benchmarks, karta, octocode, plain, pyckle, semble, siacode
from assay.gold.formats.losses import WriterOutput, file_name, find_source, read_back, verify_output
from assay.gold.formats.native import read_native, rewrite, write_native
from assay.gold.formats.rows import yaml_has
from assay.types import CorpusSpec, GoldSet, Suite

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
