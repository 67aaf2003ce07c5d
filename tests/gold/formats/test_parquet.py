"""Parquet: row n is line n, and a file that cannot be read is told as one."""

import builtins
import datetime
import json
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError, SetupError
from assay.gold import load_gold
from assay.gold.formats.rows import ParquetLimits, is_parquet, parquet_to_json_lines
from tests.gold.formats.breaking import refused
from tests.gold.formats.data_sets import CONTEXTBENCH, SWEBENCH, lines
from tests.properties import examples


def write(path: Path, rows: list[dict]) -> Path:
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(rows), path, row_group_size=2)
    return path


def test_rows_are_lines_with_their_values(tmp_path):
    rows = [
        {"a": f"x\ny{n}", "b": n, "c": [{"d": None}], "e": b"bytes", "f": datetime.date(2026, 1, 2), "g": 0.5}
        for n in range(5)
    ]
    written = parquet_to_json_lines(write(tmp_path / "a.parquet", rows))
    assert [json.loads(line) for line in written.splitlines()] == [
        {**row, "e": "bytes", "f": "2026-01-02"} for row in rows
    ]


def test_parquet_is_told_by_its_bytes(tmp_path):
    path = write(tmp_path / "a.bin", SWEBENCH[:1])
    assert is_parquet(path)
    assert not is_parquet(tmp_path)
    (tmp_path / "text").write_text("PAR")
    assert not is_parquet(tmp_path / "text")


@pytest.mark.parametrize("entries", [SWEBENCH, CONTEXTBENCH[:1]], ids=["swe-bench", "contextbench"])
def test_a_parquet_file_gives_the_gold_of_its_json_lines(tmp_path, entries):
    (tmp_path / "lines").mkdir()
    (tmp_path / "lines" / "set.jsonl").write_text(lines(entries))
    from_lines = load_gold(tmp_path / "lines" / "set.jsonl").golds
    from_rows = load_gold(write(tmp_path / "set.parquet", entries)).golds
    assert [(gold.name, gold.corpus, gold.queries) for gold in from_rows] == [
        (gold.name, gold.corpus, gold.queries) for gold in from_lines
    ]


def test_an_error_names_the_row(tmp_path):
    rows = [*SWEBENCH[:2], {**SWEBENCH[0], "base_commit": "main", "instance_id": "x"}]
    with pytest.raises(GoldError, match="invalid commit 'main'") as error:
        load_gold(write(tmp_path / "set.parquet", rows))
    assert error.value.line == 3


def test_pyarrow_that_is_missing_says_what_to_install(tmp_path, monkeypatch):
    path = write(tmp_path / "a.parquet", SWEBENCH)
    real = builtins.__import__

    def without(name, *rest, **named):
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return real(name, *rest, **named)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(SetupError) as error:
        load_gold(path)
    assert error.value.hint == "pip install '.[parquet]' in your checkout of Assay"
    assert error.value.file == str(path)


@pytest.mark.parametrize("limits", [ParquetLimits(rows=2), ParquetLimits(bytes=10)])
def test_a_file_that_unpacks_to_too_much_is_refused(tmp_path, limits):
    path = write(tmp_path / "a.parquet", SWEBENCH)
    with pytest.raises(GoldError, match="expected at most"):
        parquet_to_json_lines(path, limits)


def test_a_column_that_stands_twice_is_refused(tmp_path):
    table = pyarrow.Table.from_arrays([pyarrow.array([1]), pyarrow.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(GoldError, match="duplicate column 'a'"):
        parquet_to_json_lines(tmp_path / "a.parquet")


def test_bytes_that_are_no_text_name_the_row(tmp_path):
    path = write(tmp_path / "a.parquet", [{"a": b"x"}, {"a": b"\xff"}])
    with pytest.raises(GoldError, match="row 2") as error:
        parquet_to_json_lines(path)
    assert error.value.line == 2


@examples(80)
@given(data=st.data())
def test_a_corrupt_file_gives_gold_or_an_error_with_its_name(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("corrupt", numbered=True)
    path = write(folder / "set.parquet", SWEBENCH)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(4, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(raw[: data.draw(st.just(len(raw)) | st.integers(4, len(raw)))])
    error = refused(lambda: load_gold(path))
    assert error is None or error.file == str(path)
