"""Which format is a gold file or folder in? Its content says so; `format=` overrides.

A format is a line of `FORMATS`. The first that matches is taken, so the more specific one stands first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from assay.errors import ConfigError
from assay.gold.building import GoldSource
from assay.gold.formats import (
    beir,
    codesearchnet,
    contextbench,
    crosscodeeval,
    karta,
    native,
    octocode,
    plain,
    pyckle,
    repoeval,
    semble,
    siacode,
    swebench,
    trec,
)
from assay.gold.formats.export import WriterOutput
from assay.gold.native.layers import read_native
from assay.gold.native.nodes import suggest
from assay.types import CorpusSpec, GoldSet, Suite


@dataclass(frozen=True, slots=True)
class Format:
    """A format: how a file or folder of it looks, how it is told, how it is read, and how it is written if it can be.

    A format whose sets are folders only has `matches=never` and a `read` that says so.
    """

    name: str
    looks: str
    suffixes: tuple[str, ...]
    matches: Callable[[GoldSource], bool]
    # source, name for formats without one, corpus; a file that asks about several repositories is several sets
    read: Callable[[GoldSource, str, CorpusSpec | None], GoldSet | list[GoldSet]]
    folder: Callable[[Path], bool] | None = None
    read_folder: Callable[[Path, CorpusSpec | None], list[GoldSet]] | None = None
    write: Callable[[Suite], WriterOutput] | None = None
    aside: Callable[[GoldSource], bool] | None = None  # a file that lies beside sets and holds no queries
    says_name: bool = False  # whether a file says its set's name; otherwise the set is called after the file
    symbols: bool = True  # whether it can hold a symbol anchor; if not, the lines are looked up before it is written
    whole_files: bool = True  # whether it can hold a target without lines; if not, likewise


def never(_source: GoldSource) -> bool:
    """Tell no single file for this format: its sets are folders."""
    return False


_DATA_SETS = (".jsonl", ".parquet", ".json")

FORMATS: tuple[Format, ...] = (
    Format(
        "native",
        "YAML that begins with assay: 1",
        native.SUFFIXES,
        native.matches,
        lambda source, _name, corpus: read_native(source, corpus),
        write=native.write_suite,
        says_name=True,
    ),
    Format(
        "karta",
        "YAML with corpus_id and queries, each with query and expected, or in five layers",
        native.SUFFIXES,
        karta.matches,
        karta.read_karta,
        aside=karta.is_corpus_file,
    ),
    Format(
        "octocode",
        "CSV with the header query,result1,result2,result3",
        (".csv",),
        octocode.matches,
        octocode.read_octocode,
        write=octocode.write_octocode,
        symbols=False,
        whole_files=False,
    ),
    Format(
        "semble",
        'JSON list of {"query", "relevant", "secondary"}, or a folder with repos.json and annotations/',
        (".json",),
        semble.matches,
        lambda source, _name, corpus: semble.read_semble(source, corpus),
        folder=semble.is_semble_folder,
        read_folder=semble.read_semble_folder,
        write=semble.write_semble,
        symbols=False,
    ),
    Format(
        "sia-code",
        'JSON {"name", "queries": [{"id", "query_text", "relevant_docs"}]}',
        (".json",),
        siacode.matches,
        siacode.read_siacode,
    ),
    Format(
        "pyckle",
        'JSON list of {"query", "expected"}, or EVAL_SET = [...] in a Python file',
        (".json", ".py"),
        pyckle.matches,
        pyckle.read_pyckle,
    ),
    Format(
        "codesearchnet",
        "CSV with the header Language,Query,GitHubUrl,Relevance,Notes",
        (".csv",),
        codesearchnet.matches,
        codesearchnet.read_codesearchnet,
    ),
    Format(
        "repoeval",
        'JSON lines {"prompt", "metadata": {"task_id", "ground_truth", "fpath_tuple", "line_no"}}',
        _DATA_SETS,
        repoeval.matches,
        repoeval.read_repoeval,
    ),
    Format(
        "crosscodeeval",
        'JSON lines {"prompt", "groundtruth", "metadata": {"repository", "file", "groundtruth_start_lineno"}}',
        _DATA_SETS,
        crosscodeeval.matches,
        crosscodeeval.read_crosscodeeval,
    ),
    Format(
        "contextbench",
        'JSON lines or Parquet {"instance_id", "repo", "base_commit", "problem_statement", "gold_context"}',
        _DATA_SETS,
        contextbench.matches,
        contextbench.read_contextbench,
    ),
    Format(
        "swe-bench",
        'JSON lines or Parquet {"instance_id", "repo", "base_commit", "problem_statement", "patch"}',
        _DATA_SETS,
        swebench.matches,
        swebench.read_swebench,
    ),
    Format(
        "beir",
        "a folder with corpus.jsonl, queries.jsonl and qrels/*.tsv",
        (),
        never,
        beir.read_beir,
        folder=beir.is_beir_folder,
        read_folder=beir.read_beir_folder,
        write=beir.write_beir,
    ),
    Format(
        "trec",
        "lines of: query 0 document relevance, with the topics beside them in NAME.topics or topics.tsv",
        (trec.QRELS,),
        trec.matches,
        trec.read_trec,
        folder=trec.is_trec_folder,
        read_folder=trec.read_trec_folder,
        write=trec.write_trec,
    ),
    Format(
        "plain",
        'CSV with the header query,path, or JSON lines {"query", "path"}',
        (".csv", ".jsonl"),
        plain.matches,
        plain.read_plain,
        write=plain.write_plain,
    ),
)

#: Files of a folder that are gold of some format when nobody says which. A folder's programs and notes are not.
SUFFIXES: frozenset[str] = frozenset(s for known in FORMATS for s in known.suffixes) - {".py", ".txt", ".tsv"}


def named(name: str, *, write: bool = False) -> Format:
    """Find a format by its name; for one that is not known, a hint names those that are read, or written."""
    for known in FORMATS:
        if known.name == name:
            return known
    fit = [known for known in FORMATS if not write or known.write is not None]
    raise ConfigError(f"there is no gold format '{name}'", hint=_meant(name, fit))


def _meant(name: str, formats: Sequence[Format]) -> str:
    suffix = f".{name.lower().removeprefix('.')}"
    found = [known for known in reversed(formats) if suffix in known.suffixes]  # from the plainest on
    if found:
        return f"formats in {suffix} files: {_looks(found)}"
    return suggest(name, [known.name for known in formats])


def _looks(formats: Sequence[Format]) -> str:
    return "; ".join(f"{known.name}: {known.looks}" for known in formats)


def detect_folder(path: Path, formats: Sequence[Format] = FORMATS) -> Format | None:
    """Find the format that a folder as a whole is in, if it is in one."""
    return next((known for known in formats if known.folder is not None and known.folder(path)), None)


def is_aside(source: GoldSource) -> bool:
    """Tell a file that lies beside the sets of some format and holds no queries."""
    return any(known.aside is not None and known.aside(source) for known in FORMATS)


def detect(source: GoldSource) -> Format:
    """Find the format whose look a file has."""
    for known in FORMATS:
        if known.matches(source):
            return known
    if not source.text.strip():
        raise source.at(1).error("the file is empty", "write queries into it, or name another file")
    likely = [known for known in FORMATS if source.path.suffix in known.suffixes] or FORMATS
    others = ", ".join(known.name for known in FORMATS if known not in likely)
    hint = _looks(likely) + (f"; in other files: {others}" if others else "")
    raise source.at(1).error("not a gold set in any format that is read here", hint)
