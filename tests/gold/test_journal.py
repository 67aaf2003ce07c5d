"""A file that only grows is read line by line, and a torn end is no line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import GoldError
from assay.gold.journal import JournalLimits, Remembered, append, opened, read_rows, read_whole, torn

texts = st.text(st.characters(codec="utf-8"), min_size=1).filter(lambda text: text.strip())


@given(st.lists(st.dictionaries(texts, texts, min_size=1, max_size=3), max_size=4))
def test_what_is_appended_is_read(tmp_path_factory, values):
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    for value in values:
        append(path, [value])
    read = [{key: field.text() for key, field in row.mapping().items()} for row in read_rows(path)]
    assert read == values


@given(st.integers(0, 200))
def test_cut_anywhere_the_whole_lines_before_the_cut_are_there(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    append(path, [{"n": f"ü{n}"} for n in range(10)])
    whole = path.read_bytes()
    path.write_bytes(whole[:cut])
    left = whole[:cut].count(b"\n")
    assert len(read_rows(path)) == left
    with opened(path) as journal:
        assert journal.cut == len(whole[:cut]) - (whole[:cut].rfind(b"\n") + 1)
        journal.append([{"n": "last"}])
    assert [row.mapping()["n"].text() for row in read_rows(path)] == [*(f"ü{n}" for n in range(left)), "last"]


@given(st.integers(0, 200))
def test_a_log_that_was_cut_anywhere_is_told_and_keeps_all_it_held(tmp_path_factory, cut):
    path = tmp_path_factory.mktemp("journal") / "j.jsonl"
    append(path, [{"n": f"ü{n}"} for n in range(10)])
    left = path.read_bytes()[:cut]
    path.write_bytes(left)
    half = bool(left) and not left.endswith(b"\n")
    assert torn(path) == len(left) - (left.rfind(b"\n") + 1)
    if half:
        with pytest.raises(GoldError, match="the last line is cut off") as caught:
            read_whole(path)
        assert caught.value.line == left.count(b"\n") + 1
    append(path, [{"n": "last"}])
    assert path.read_bytes() == left + (b"\n" if half else b"") + b'{"n": "last"}\n'
    assert torn(path) == 0


def test_no_file_is_no_line(tmp_path):
    assert read_rows(tmp_path / "none.jsonl") == []


@pytest.mark.parametrize("line", [b"\xff\n", b"{'a': 1}\n", b"\n"])
def test_a_line_that_is_no_json_is_told(tmp_path, line):
    path = tmp_path / "j.jsonl"
    path.write_bytes(b'{"a": "b"}\n' + line)
    with pytest.raises(GoldError, match="not a line of JSON") as caught:
        read_rows(path)
    assert caught.value.line == 2


def test_a_file_that_is_too_large_is_not_read(tmp_path):
    append(tmp_path / "j.jsonl", [{"a": "b" * 100}])
    with pytest.raises(GoldError, match="at most 50 are read"):
        read_rows(tmp_path / "j.jsonl", JournalLimits(bytes=50))


def test_what_is_remembered_of_a_journal_is_what_is_in_it_now(tmp_path):
    path, reads = tmp_path / "a.jsonl", []

    def read():
        reads.append(len(read_rows(path)))
        return reads[-1]

    remembered = Remembered(path, read)
    assert [remembered(), remembered()] == [0, 0]
    for count in (1, 2):
        append(path, [{"a": "x"}])
        assert [remembered(), remembered()] == [count, count]
    path.unlink()
    append(path, [{"a": "another file"}])
    assert remembered() == 1
    assert len(reads) == 4, "read once for each state of the file"
