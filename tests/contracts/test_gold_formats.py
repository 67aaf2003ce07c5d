"""Gold set formats: what is read, which errors are raised, and what survives a conversion."""

import contextlib
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

import assay
from assay.types import CorpusSpec, Suite
from tests.contracts.gold import SAMPLES, described, failure, gold, isolate, transcripts
from tests.contracts.snapshot import check


@dataclass(frozen=True)
class Case:
    """A sample: its format, the file or directory to load, and the corpus to pass with it."""

    format: str
    source: str
    corpus: str | None = "code"

    def load(self, **options: Any) -> Suite:
        corpus = None if self.corpus is None else CorpusSpec("path", self.corpus)
        return assay.load_gold(self.source, **{"corpus": corpus, **options})

    @property
    def arguments(self) -> list[str]:
        return [self.source] if self.corpus is None else [self.source, "--corpus", self.corpus]


CASES = {
    "native": Case("native", "native/shop.yaml", corpus=None),
    "karta-0.1": Case("karta", "karta/v0.1/shop-core.yaml", corpus=None),
    "karta-2.1": Case("karta", "karta/v2.1/shop-layers.yaml"),
    "octocode": Case("octocode", "octocode/shop.csv"),
    "semble-folder": Case("semble", "semble", corpus=None),
    "semble-file": Case("semble", "semble/annotations/shop.json"),
    "sia-code": Case("sia-code", "sia-code/shop.json"),
    "pyckle-json": Case("pyckle", "pyckle/shop.json"),
    "pyckle-python": Case("pyckle", "pyckle/eval_set.py"),
    "pyckle-results": Case("pyckle", "pyckle/results.json"),
    "codesearchnet": Case("codesearchnet", "codesearchnet/annotations.csv", corpus=None),
    "repoeval": Case("repoeval", "repoeval/tasks.jsonl"),
    "crosscodeeval": Case("crosscodeeval", "crosscodeeval/tasks.jsonl"),
    "contextbench": Case("contextbench", "contextbench/tasks.jsonl", corpus=None),
    "swe-bench": Case("swe-bench", "swe-bench/tasks.jsonl", corpus=None),
    "swe-bench-parquet": Case("swe-bench", "swe-bench/tasks.parquet", corpus=None),
    "beir-on-code": Case("beir", "beir"),
    "beir-documents": Case("beir", "beir", corpus=None),
    "trec-tabbed": Case("trec", "trec/tabbed/shop.qrels"),
    "trec-classic": Case("trec", "trec/classic"),
    "plain-csv": Case("plain", "plain/shop.csv"),
    "plain-jsonl": Case("plain", "plain/shop.jsonl"),
}
WRITTEN = ("native", "octocode", "semble", "beir", "trec", "plain")

#: Ways to break a sample: text to replace, its replacement, and the file if it is not the source of the sample.
#: Errors of the Python and YAML parsers are omitted: their wording changes between versions.
BROKEN: dict[str, dict[str, tuple[str, ...]]] = {
    "native": {
        "version": ("assay: 1", "assay: 2"),
        "unknown key": ("retrieval: {primary: [shop/tax.py]}", "retreival: {primary: [shop/tax.py]}"),
        "corpus of two kinds": ("{path: ../code,", "{path: ../code, git: x,"),
        "no such corpus kind": ("{path: ../code,", "{paht: ../code,"),
        "no primary": ("primary: [shop/tax.py]", "primary: []"),
        "target twice": ("[shop/tax.py]", "[shop/tax.py, shop/tax.py]"),
        "absolute path": ("[shop/tax.py]", "[/shop/tax.py]"),
        "path that climbs": ("[shop/tax.py]", "[../tax.py]"),
        "range backwards": ("11-13#0123456789ab", "13-11"),
        "short digest": ("#0123456789ab", "#0123"),
        "unknown form": ("keyword: value", "keywords: value"),
        "no form": ("{keyword: value added tax}", "{}"),
        "unknown relationship": ("relationship: config", "relationship: cousin"),
        "unknown strength": ("strength: weak", "strength: feeble"),
        "adversary is a target": ('"shop/price.py::Basket.add"', '"shop/price.py::Basket.total"'),
        "no measure": ("RR@10", "RR@0"),
        "no day": ("2026-01-05", "2026-13-05"),
        "label of nothing": ('{target: "shop/tax.py:3-3", by', '{target: "shop/x.py", by'),
        "id twice": ("id: whole-file", "id: rates"),
        "id with a blank": ("id: whole-file", "id: whole file"),
    },
    "karta-0.1": {
        "unknown key": ("type: behavioural", "kind: behavioural"),
        "flag without adversaries": ("has_adversarial: false", "has_adversarial: true"),
        "flag that is none": ("has_adversarial: false", "has_adversarial: maybe"),
        "no expected": ("[shop/tax.py, shop/price.py]", "null"),
        "unknown relationship": ("type: sibling", "type: cousin"),
        "corpus of another id": ("id: shop-core", "id: shop-edge", "karta/v0.1/corpus.yaml"),
        "corpus in a variable": ("../../code", "${env:SHOP}", "karta/v0.1/corpus.yaml"),
    },
    "karta-2.1": {
        "unknown grade": ("secondary:", "tertiary:"),
        "adversary without file": ("file: till", "place: till"),
        "unknown strength": ("strength: high", "strength: huge"),
        "no id": ("id: Q01\n    category", "category"),
        "adversary is a target": ("till/drawer.py", "shop/price.py"),
    },
    "octocode": {
        "grade": ("11-13:1", "11-13:3"),
        "no range": ("shop/tax.py:3-3:1", "shop/tax.py"),
        "range backwards": ("6-8", "8-6"),
        "no result": ("shop/tax.py:3-3:1,shop/tax.py:6-8:2", ",,"),
        "header": ("result2", "second"),
        "open quote": ('"rates"', '"rates'),
        "no primary": ("6-8:2", "6-8:1"),
    },
    "semble-folder": {
        "repository twice": (
            "\n  }\n",
            '\n  },\n  {"name": "shop", "url": "x", "revision": "y"}\n',
            "semble/repos.json",
        ),
        "command as url": ("https://git.example.org/shop.git", "ext::sh -c true", "semble/repos.json"),
        "repository without url": ('"url"', '"address"', "semble/repos.json"),
        "repository of no name": ('"name": "shop"', '"name": "till"', "semble/repos.json"),
    },
    "semble-file": {
        "unknown key": ('"seed"', '"sead"'),
        "no query": ('{"query": "rates", ', "{"),
        "range without end": (', "end_line": 8', ""),
        "relevant is no list": ('["shop/tax.py"]', '"shop/tax.py"'),
        "torn": ('"category": "architecture"', '"category": '),
    },
    "sia-code": {
        "unknown key": ('"relevant_docs": ["shop/tax.py:6-8"]', '"docs": []'),
        "no documents": ('["shop/tax.py:6-8"]', "[]"),
        "query is no text": ('"query_text": "rates"', '"query_text": 7'),
        "id twice": ('"id": 2', '"id": "q 1"'),
        "absolute path": ('["shop/tax.py:6-8"]', '["/shop/tax.py"]'),
    },
    "pyckle-json": {
        "no expected": ('"expected": "shop/price.py"', '"wanted": "shop/price.py"'),
        "expected is a number": ('"expected": "shop/price.py"', '"expected": 3'),
        "key twice": ('"note": "x"', '"note": "x", "note": "y"'),
        "path that climbs": ("shop/tax.py:3-3", "../tax.py"),
    },
    "pyckle-python": {
        "computed value": ('"shop/price.py"', 'os.sep + "price.py"'),
        "changed later": ("print(len(EVAL_SET), os.sep)", "EVAL_SET.append({})"),
        "entry is no dict": ("# the second", '"the second",'),
        "not a list": ("EVAL_SET = [", "EVAL_SET = list(os.environ)\nOTHER = ["),
        "two lists": ("\nif __name__", "\nEVAL_SET = [{}]\n\nif __name__"),
    },
    "pyckle-results": {
        "no results": ('"results"', '"outcome"'),
        "no query": ('"query": "where is the basket priced", ', ""),
    },
    "codesearchnet": {
        "relevance": ("#L7,2,", "#L7,4,"),
        "no lines": ("till.go#L7", "till.go"),
        "no commit": ("fedcba9876543210fedcba9876543210fedcba98/till.go#L7", "main/till.go#L7"),
        "header": ("Notes", "Remarks"),
    },
    "repoeval": {
        "no path": ('["till", "drawer.py"]', '["till"]'),
        "no line": ('"line_no": 5', '"line": 5'),
        "no task": ('"task_id": "till/0", ', ""),
        "metadata is no object": ('"metadata": {"task_id": "till/0"', '"metadata": 1, "x": {"y": "till/0"'),
        "path that climbs": ('["till", "drawer.py"]', '["till", "..", "drawer.py"]'),
    },
    "crosscodeeval": {
        "no line": ('"groundtruth_start_lineno": 5', '"groundtruth_start_lineno": "5"'),
        "no repository": ('"repository": "till", ', ""),
        "torn": (', "right_context_start_lineno": 7}}', ', "right_context_start_lineno": 7}'),
    },
    "contextbench": {
        "no repository": ('"original_inst_id": "owner__till-77"', '"original_inst_id": "x"'),
        "no commit": ('"base_commit": "fedcba9876543210fedcba9876543210fedcba98"', '"base_commit": "main"'),
        "context is no list": (
            '"gold_context": [{"file": "/workspace/owner',
            '"gold_context": 1, "x": [{"file": "/workspace/owner',
        ),
        "lost block": ("context1：", "context2："),
        "range backwards": ('"start_line": 2, "end_line": 4', '"start_line": 4, "end_line": 2'),
    },
    "swe-bench": {
        "no commit": ('"base_commit": "fedcba9876543210fedcba9876543210fedcba98"', '"base_commit": "main"'),
        "no repository": (
            '"instance_id": "shop/shop 2", "repo": "shop/shop"',
            '"instance_id": "shop/shop 2", "repo": "shop"',
        ),
        "hunk too short": ("@@ -20,2 +20,3 @@", "@@ -20,9 +20,10 @@"),
        "patch is no diff": (
            "diff --git a/shop/rates.py b/shop/rates.py\\nnew file mode 100644\\n"
            "--- /dev/null\\n+++ b/shop/rates.py\\n",
            "just words\\n",
        ),
        "no issue": ('"problem_statement": "No check of the basket", ', '"problem_statement": " ", '),
    },
    "beir-on-code": {
        "score": ("shop/price.py\t3", "shop/price.py\t0.5", "beir/qrels/test.tsv"),
        "cells": ("q1\tshop/price.py\t3", "q1 0 shop/price.py 3", "beir/qrels/test.tsv"),
        "judged twice": ("q 2\tshop/tax.py\t1", "q1\tshop/price.py\t1", "beir/qrels/test.tsv"),
        "query twice": ('"q3"', '"q1"', "beir/queries.jsonl"),
        "no text": ('"text": "who asks?"', '"title": "who asks?"', "beir/queries.jsonl"),
    },
    "beir-documents": {
        "document that is not there": ('"_id": "shop/tax.py"', '"_id": "shop/levy.py"', "beir/corpus.jsonl"),
        "document twice": ('"_id": "shop/tax.py"', '"_id": "shop/price.py"', "beir/corpus.jsonl"),
    },
    "trec-tabbed": {
        "score": ("shop/tax.py 1", "shop/tax.py x"),
        "words": ("2 0 shop/tax.py 1", "2 0 my file.py 1"),
        "no tab": ("3\twhere", "3 where", "trec/tabbed/shop.topics"),
        "topic twice": ("4\twho", "1\twho", "trec/tabbed/shop.topics"),
    },
    "trec-classic": {
        "open topic": ("</top>\n<top>", "<top>", "trec/classic/topics.txt"),
        "no number": ("001", "", "trec/classic/topics.txt"),
        "text outside": ("<top>\n<head>", "<head>", "trec/classic/topics.txt"),
    },
    "plain-csv": {
        "unknown column": ("cluster\n", "group\n"),
        "no path column": ("query,path", "query,place"),
        "grade": ("6-8,human,1", "6-8,human,high"),
        "form": ("keyword", "keywords"),
        "texts that differ": ("priced?,shop/tax.py", "made?,shop/tax.py"),
        "grades that differ": ("keyword,2", "keyword,1"),
        "no query": ('"where, in all the code, are rates?"', ""),
    },
    "plain-jsonl": {
        "path and targets": ('"cluster"', '"targets": ["a.py"], "cluster"'),
        "no targets": ('["shop/price.py::Basket.total", "shop/tax.py:6-8"]', "[]"),
        "unknown key": ('"cluster"', '"group"'),
        "not an object": ('{"id": 7, "query": "rates", "path": "shop/tax.py", "cluster": "tax"}', "[7]"),
    },
}


@pytest.fixture
def samples(tmp_path, monkeypatch) -> Path:
    """A copy of the samples in the current directory, with the SWE-bench sample in Parquet next to its JSON Lines."""
    folder = isolate(monkeypatch, tmp_path)
    shutil.copytree(SAMPLES, folder, dirs_exist_ok=True)
    write_parquet()
    return folder


def write_parquet(**changes: str) -> None:
    rows = [json.loads(line) for line in Path("swe-bench/tasks.jsonl").read_text("utf-8").splitlines()]
    rows[1].update(changes)
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), "swe-bench/tasks.parquet")


def known_formats() -> list[str]:
    """Return all format names, as listed in the hint for an unknown format."""
    with pytest.raises(assay.AssayError) as error:
        assay.load_gold("native/shop.yaml", format="?")
    return (error.value.hint or "").removeprefix("use one of ").split(", ")


def refusal(case: Case) -> str:
    """Return the error that loading a sample raises, as displayed."""
    with pytest.raises(assay.AssayError) as error:
        case.load()
    assert error.value.exit_code == 2
    return str(error.value)


def test_every_format_has_samples_and_broken_samples(samples):
    assert sorted({case.format for case in CASES.values()}) == sorted(known_formats())
    for case in CASES.values():
        assert Path(case.source).parts[0] == case.format
        assert Path(case.source).exists()
    # Parquet rows use the JSON Lines reader; test_errors_of_parquet_name_the_row covers the rest.
    assert [name for name in CASES if name not in BROKEN] == ["swe-bench-parquet"]


def test_unknown_and_unwritable_formats_are_refused(samples):
    calls = [
        ("lint", "native/shop.yaml", "--format", "?"),
        ("lint", "native/shop.yaml", "--format", "nativ"),
        ("lint", "native/shop.yaml", "--format", "csv"),
        ("convert", "native/shop.yaml", "out", "--to", "?"),
        ("convert", "native/shop.yaml", "out", "--to", "karta"),
    ]
    check("gold_formats/names.txt", transcripts(calls))


@pytest.mark.parametrize("name", CASES)
def test_what_is_read(samples, name):
    check(f"gold_formats/read/{name}.json", described(CASES[name].load()))


@pytest.mark.parametrize("name", CASES)
def test_format_is_detected(samples, name):
    """Only the sample's own format gives the same result as auto-detection."""
    case = CASES[name]
    expected = described(case.load())
    same = []
    for format_name in known_formats():
        with contextlib.suppress(assay.AssayError):
            if described(case.load(format=format_name)) == expected:
                same.append(format_name)
    assert same == [case.format]


@pytest.mark.parametrize("name", BROKEN)
def test_errors_name_file_and_line(samples, name):
    errors = []
    for label, (old, new, *elsewhere) in BROKEN[name].items():
        path = Path(*elsewhere or [CASES[name].source])
        sound = path.read_text("utf-8")
        assert old in sound, label
        path.write_text(sound.replace(old, new, 1), "utf-8")
        errors.append(f"# {label}\n{refusal(CASES[name])}\n")
        path.write_text(sound, "utf-8")
    check(f"gold_formats/errors/{name}.txt", "\n".join(errors))


def test_errors_of_files_in_no_format(samples):
    files = {
        "empty.yaml": "",
        "other.yaml": "a: 1\n",
        "other.csv": "a,b\n1,2\n",
        "other.json": '{"a": 1}\n',
        "other.txt": "words\n",
    }
    errors = []
    for file, text in files.items():
        Path(file).write_text(text)
        errors.append(refusal(Case("", file)))
    Path("nothing").mkdir()
    errors += [refusal(Case("", "none.yaml")), refusal(Case("", "nothing")), refusal(Case("", "plain", corpus=None))]
    check("gold_formats/errors/no-format.txt", "\n".join(errors))


def test_errors_on_the_command_line(samples):
    sound = Path("octocode/shop.csv").read_text("utf-8")
    Path("octocode/shop.csv").write_text(sound.replace("11-13:1", "11-13:3"), "utf-8")
    call = ("convert", "octocode/shop.csv", "out.yaml", "--to", "native", "--corpus", "code")
    check("gold_formats/errors/command-line.txt", transcripts([call, (*call, "--json")]))
    assert not Path("out.yaml").exists()


def test_errors_of_parquet_name_the_row(samples):
    case = CASES["swe-bench-parquet"]
    write_parquet(base_commit="main")
    assert refusal(case).startswith("swe-bench/tasks.parquet:2: invalid commit 'main'\n")
    Path(case.source).write_bytes(b"PAR1 and nothing else")
    assert refusal(case).startswith("swe-bench/tasks.parquet: cannot read the Parquet file: ")


def written_files(folder: Path) -> dict[str, str]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in paths}


def listing(folder: Path) -> str:
    """Return the files of a directory as one text, each name followed by its contents."""
    return "\n".join(f"=== {name}\n{text}" for name, text in written_files(folder).items())


PARTS = ("id", "forms", "targets", "adversaries", "rationale", "measures", "tags", "labels")


def kept(before: Suite, after: Suite) -> str:
    """Count the unchanged queries per field; sets are matched by name because they load in file order."""
    sets = {one.name: one for one in after.golds}
    assert len(sets) == len(before.golds)
    pairs = [pair for one in before.golds for pair in zip(one.queries, sets[one.name].queries, strict=True)]
    counts = [f"{part} {sum(getattr(one, part) == getattr(other, part) for one, other in pairs)}" for part in PARTS]
    return f"of {len(pairs)} queries: {', '.join(counts)}"


def converted(case: Case, format_name: str) -> str:
    """Convert a sample, load it back, and return the reported losses next to what was preserved."""
    out = Path("out", format_name)
    called = gold("convert", *case.arguments, f"{out}/", "--to", format_name, "--json", "--quiet")
    if called.code:
        return f"refused: {failure(called)['message']}"
    data = called.data
    assert data["to"] == format_name
    names_corpus = format_name == "native" or (out / "repos.json").exists()
    after = assay.load_gold(out, format=format_name, corpus=None if names_corpus else CorpusSpec("path", "code"))
    assert data["sets"] == [{"name": one.name, "queries": len(one.queries)} for one in case.load().golds]
    reported = [f"{key}: {sentence}" for key in ("lost", "not_read", "notes") for sentence in data[key]]
    return "\n  ".join([", ".join(data["files"]), *reported, f"came back: {kept(case.load(), after)}"])


#: Samples whose losses another sample covers.
ALIKE = {
    "karta-0.1",
    "semble-file",
    "pyckle-python",
    "pyckle-results",
    "crosscodeeval",
    "swe-bench",
    "swe-bench-parquet",
}
ALIKE |= {"beir-on-code", "trec-tabbed", "plain-jsonl"}


@pytest.mark.parametrize("name", CASES)
def test_conversion(samples, name):
    formats = ["native"] if name in ALIKE else WRITTEN
    outcomes = [f"{format_name} -> {converted(CASES[name], format_name)}\n" for format_name in formats]
    check(f"gold_formats/converted/{name}.txt", "\n".join(outcomes))
    check(f"gold_formats/native/{name}.txt", listing(Path("out/native")))


@pytest.mark.parametrize("format_name", WRITTEN)
def test_files_of_every_format_that_is_written(samples, format_name):
    called = gold("convert", "native/shop.yaml", "out/", "--to", format_name)
    check(f"gold_formats/written/{format_name}.txt", f"{called.transcript}\n{listing(Path('out'))}")


WITHIN = [name for name, case in CASES.items() if case.format in WRITTEN and name != "beir-documents"]


@pytest.mark.parametrize("name", WITHIN)
def test_second_conversion_within_a_format_changes_nothing(samples, name):
    case = CASES[name]
    corpus = [] if case.corpus is None else ["--corpus", case.corpus]
    assert gold("convert", *case.arguments, "once/", "--to", case.format, "--quiet").code == 0
    assert gold("convert", "once", "twice/", "--to", case.format, "--format", case.format, *corpus, "--quiet").code == 0
    assert written_files(Path("twice")) == written_files(Path("once"))


def test_conversion_refuses_to_overwrite(samples):
    assert gold("convert", "native/shop.yaml", "out.csv", "--to", "plain", "--quiet").code == 0
    Path("taken/shop.yaml").mkdir(parents=True)
    calls = [
        ("convert", "native/shop.yaml", "out.csv", "--to", "plain"),
        ("convert", "native/shop.yaml", "plain", "--to", "beir"),
        ("convert", "native/shop.yaml", "taken/", "--to", "native"),
    ]
    check("gold_formats/overwriting.txt", transcripts(calls))
    assert gold("convert", "native/shop.yaml", "out.csv", "--to", "plain", "--quiet", "--force").code == 0


def test_run_records_the_hashes_of_its_queries(samples):
    """The hashes recorded above decide which runs are comparable; sealed queries are not run."""
    suite = assay.load_gold("native/shop.yaml")
    run = assay.run({"nothing": lambda query, k: []}, suite, k=1)
    [one] = described(suite)
    hashes = {f"{one['name']}/{query['id']}": query["hash"] for query in one["queries"]}
    del hashes["shop/basket-total"]
    assert dict(run.hashes) == hashes
