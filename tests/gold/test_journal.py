"""A file that only grows is read line by line, and a torn end is no line."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold.journal import JournalCache, append, open_journal, read_rows, read_whole, truncated_bytes
from tests.waiting import WATCHDOG

texts = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text.strip())


@given(st.lists(st.dictionaries(texts, texts, min_size=1, max_size=3), max_size=4))
def test_what_is_appended_is_read(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    for value in values:
        append(path, [value])
    read = [{key: field.text() for key, field in row.mapping().items()} for row in read_rows(path)]
    assert read == values


def half_a_line(data):
    """Count the bytes behind the last whole line."""
    return 0 if data.endswith(b"}") else len(data) - (data.rfind(b"\n") + 1)


@given(st.integers(0, 200))
def test_cut_anywhere_the_whole_lines_before_the_cut_are_there(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    append(path, [{"n": f"ü{n}"} for n in range(10)])
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    left = whole[:cut].count(b"}")  # a line that lacks only its end is whole
    assert len(read_rows(path)) == left
    with open_journal(path) as journal:
        assert journal.cut == half_a_line(whole[:cut])
        journal.append([{"n": "last"}])
    assert [row.mapping()["n"].text() for row in read_rows(path)] == [*(f"ü{n}" for n in range(left)), "last"]


@given(st.integers(0, 200))
def test_a_log_that_was_cut_anywhere_is_told_and_keeps_all_it_held(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    append(path, [{"n": f"ü{n}"} for n in range(10)])
    left = path.read_bytes()[:cut]
    path.write_bytes(left)
    assert truncated_bytes(path) == half_a_line(left)
    if half_a_line(left):
        with pytest.raises(GoldError, match="the last line is incomplete") as caught:
            read_whole(path)
        assert caught.value.line == left.count(b"\n") + 1
    else:
        assert len(read_whole(path)) == left.count(b"}")
    append(path, [{"n": "last"}])
    unended = bool(left) and not left.endswith(b"\n")
    assert path.read_bytes() == left + (b"\n" if unended else b"") + b'{"n": "last"}\n'
    assert truncated_bytes(path) == 0


@pytest.mark.parametrize("keep", [False, True])
def test_a_whole_line_without_its_end_is_read_and_ended_never_cut(tmp_path, keep):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"n": "first"}\n{"n": "no line end"}')
    assert (truncated_bytes(path), len(read_whole(path))) == (0, 2)
    with open_journal(path, keep=keep) as journal:
        assert journal.cut == 0
        journal.append([{"n": "last"}])
    assert path.read_bytes() == b'{"n": "first"}\n{"n": "no line end"}\n{"n": "last"}\n'


COUNTER = """\
import sys
from pathlib import Path
from assay.gold.journal import open_journal
for _ in range(100):
    with open_journal(Path(sys.argv[1])) as journal:
        journal.append([{"n": str(len(journal.rows()))}])
"""


def test_processes_wait_for_each_other_between_reading_and_appending(tmp_path):
    path = tmp_path / "j.jsonl"
    writers = [subprocess.Popen([sys.executable, "-c", COUNTER, str(path)]) for _ in range(2)]
    assert [writer.wait(WATCHDOG) for writer in writers] == [0, 0]
    assert [row.mapping()["n"].text() for row in read_rows(path)] == [str(n) for n in range(200)]


def test_what_is_appended_is_on_the_disk_before_it_is_called_so(tmp_path, monkeypatch):
    done = []
    monkeypatch.setattr(os, "fsync", lambda handle: done.append(os.fstat(handle).st_size))
    append(tmp_path / "j.jsonl", [{"a": "b"}])
    assert done[-1] == (tmp_path / "j.jsonl").stat().st_size == 11


def test_no_file_is_no_line(tmp_path):
    assert read_rows(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("line", [b"\xff\n", b"{'a': 1}\n", b"\n"])
def test_a_line_that_is_no_json_is_told(tmp_path, line):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a": "b"}\n' + line)
    with pytest.raises(GoldError, match="invalid JSON") as caught:
        read_rows(path)
    assert caught.value.line == 2


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    append(tmp_path / "j.jsonl", [{"a": "b" * 100}])
    with pytest.raises(GoldError, match="the limit is 50"):
        read_rows(tmp_path / "j.jsonl", 50)


def test_what_is_remembered_of_a_journal_is_what_is_in_it_now(tmp_path):
    path, reads = tmp_path / "a.jsonl", []

    def read():
        reads.append(len(read_rows(path)))
        return reads[-1]

    remembered = JournalCache(path, read)
    assert [remembered(), remembered()] == [0, 0]
    for count in (1, 2):
        append(path, [{"a": "x"}])
        assert [remembered(), remembered()] == [count, count]
    path.unlink()
    append(path, [{"a": "another file"}])
    assert remembered() == 1
    assert len(reads) == 4, "read once for each state of the file"
