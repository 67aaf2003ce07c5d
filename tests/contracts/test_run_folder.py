"""The directory that `assay run` writes: files, records, tables and exports."""

import csv
import io
import json
from typing import Any

import pytest

from tests.contracts.layout import laid_out
from tests.contracts.snapshot import check, mask, masked, rounded, substituted

ENGINES = ["builtin", "flaky", "keywords", "oracle", "random"]
# `environment` is this machine, `code` and `fingerprint` are digests of the source and of an engine's components,
# `members` are digests of files that contain the environment, `assay` is the version.
MACHINE = ["assay", "environment", "code", "fingerprint", "members", "machine", "cores"]
# A directory that is not a Git repository is identified by its name and a digest of its absolute path.
TEXT = {r"path:(\w+)-[0-9a-f]{6}": r"path:\1-<digest>"}
# Dense scores depend on the last bits of the machine's matrix product; ranks do not.
INEXACT = {"builtin"}


def read(path):
    return substituted(path.read_text(encoding="utf-8"), TEXT)


def read_json(path) -> Any:
    return masked(json.loads(read(path)), MACHINE)


def lines_of(path) -> list[Any]:
    return [masked(json.loads(line), MACHINE) for line in read(path).splitlines()]


def test_files_of_the_folder(finished_run):
    files = sorted(path.relative_to(finished_run).as_posix() for path in finished_run.rglob("*") if path.is_file())
    check("run_folder/files.txt", "\n".join(files))


@pytest.mark.parametrize("name", [".gitignore", ".assayignore"])
def test_ignore_files(finished_run, name):
    check(f"run_folder/{name.removeprefix('.')}.txt", read(finished_run / name))


@pytest.mark.parametrize("name", ["run.json", "rows.json"])
def test_json_files(finished_run, name):
    check(f"run_folder/{name}", laid_out(read_json(finished_run / name)))


def test_timings_say_that_cells_of_an_untimed_run_are_not_comparable(finished_run):
    hidden = [*MACHINE, "index_seconds", "query_seconds", "worker"]
    timings = masked(json.loads(read(finished_run / "timings.json")), hidden)
    check("run_folder/timings.json", laid_out(timings, width=240))


@pytest.mark.parametrize("name", ["gold.jsonl", "lines.jsonl"])
def test_gold_and_line_lengths(finished_run, name):
    check(f"run_folder/{name}", "\n".join(laid_out(line) for line in lines_of(finished_run / name)))


@pytest.mark.parametrize("engine", ENGINES)
def test_header_of_the_records(finished_run, engine):
    header = lines_of(finished_run / "engines" / f"{engine}.jsonl")[0]
    check(f"run_folder/engines/{engine}.header.json", laid_out(header))


@pytest.mark.parametrize("engine", ENGINES)
def test_records(finished_run, engine):
    """One line per query, followed by one per hit; every key of the record is included."""
    lines = []
    for record in lines_of(finished_run / "engines" / f"{engine}.jsonl")[1:]:
        hits = record.pop("hits")
        lines.append(laid_out(record, width=10_000))
        lines += [hit_line(hit, engine) for hit in hits]
    check(f"run_folder/engines/{engine}.txt", "\n".join(lines))


def hit_line(hit: dict[str, Any], engine: str) -> str:
    shown = hit | {"score": mask(hit["score"])} if engine in INEXACT else hit
    return " ".join(["  hit", *(f"{key}={rounded(value)}" for key, value in shown.items())])


def test_results_markdown(finished_run):
    text = substituted(read(finished_run / "RESULTS.md"), {r"\b0\.\d+\.\d+\b": "<version>"})
    check("run_folder/RESULTS.md", text)


def test_results_json(finished_run):
    """One file per large key, and one for the others."""
    results = read_json(finished_run / "results.json")
    rows = read_json(finished_run / "rows.json")["rows"]
    assert results.pop("rows") == [without(row, "corpora_hash") for row in rows]
    text = {key: laid_out(value) for key, value in results.items()}
    large = sorted(key for key, value in text.items() if "\n" in value)
    for key in large:
        check(f"run_folder/results/{key}.json", text[key])
    rest = {key: value for key, value in results.items() if key not in large}
    check("run_folder/results/rest.json", laid_out({**rest, "files beside this": large}))


def without(row, key):
    return {name: value for name, value in row.items() if name != key}


def test_per_query_csv(finished_run):
    rows = list(csv.reader(io.StringIO(read(finished_run / "per-query.csv"))))
    values = rows[0].index("text") + 1
    lines = [rows[0], *([*row[:values], *(f"{float(value):.6g}" for value in row[values:])] for row in rows[1:])]
    check("run_folder/per-query.csv", "\n".join(",".join(line) for line in lines))


@pytest.mark.parametrize("name", ["shop", "library"])
def test_qrels(finished_run, name):
    check(f"run_folder/qrels/{name}.qrels", read(finished_run / "qrels" / f"{name}.qrels"))


@pytest.mark.parametrize("folder", ["runs", "runs/lines"])
def test_trec_run(finished_run, folder):
    check(f"run_folder/{folder}/keywords.trec", read(finished_run / folder / "keywords.trec"))


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("folder", ["runs", "runs/lines"])
def test_every_trec_run_ranks_what_the_records_hold(finished_run, folder, engine):
    expected: dict[str, list[str]] = {}
    for record in lines_of(finished_run / "engines" / f"{engine}.jsonl")[1:]:
        places = [place_of(hit, lines=folder == "runs/lines") for hit in record["hits"]]
        if places:
            expected[f"{record['gold']}/{record['query']}/{record['form']}"] = list(dict.fromkeys(places))
    found: dict[str, list[str]] = {}
    scores: dict[str, list[float]] = {}
    for line in read(finished_run / folder / f"{engine}.trec").splitlines():
        topic, iteration, place, rank, score, tag = line.split()
        assert (iteration, tag) == ("Q0", f"assay:{engine}")
        found.setdefault(topic, []).append(place)
        scores.setdefault(topic, []).append(float(score))
        assert int(rank) == len(found[topic])
    assert found == expected
    assert all(values == sorted(values, reverse=True) for values in scores.values())


def place_of(hit, *, lines):
    return f"{hit['path']}:{hit['start']}-{hit['end']}" if lines and "start" in hit else hit["path"]
