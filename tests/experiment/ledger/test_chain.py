"""Any change to a single line is noticed, and named with its line; a crash costs no finished entry."""

import json
import multiprocessing
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import InputError, SetupError
from assay.experiment.ledger import add_entries, add_hash, as_mapping, find_entry, read_ledger, scan, write_head
from assay.experiment.own_files import ledger_head
from tests.experiment.ledger.entries import add_some, entry
from tests.properties import examples

MANY = 5


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write a ledger once; give its lines and its head."""
    path = tmp_path_factory.mktemp("written") / "ledger.jsonl"
    for number in range(1, MANY + 1):
        add_entries(path, [entry(number)])
    return path.read_bytes().split(b"\n")[:-1], ledger_head(path).read_bytes()


def lay(folder, lines, head):
    """Put lines and a head into a folder."""
    path = folder / "ledger.jsonl"
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    if head is not None:
        ledger_head(path).write_bytes(head)
    return path


def test_entries_read_back_as_they_were_added(tmp_path):
    path = tmp_path / "ledger.jsonl"
    added = [one for number in range(1, 4) for one in add_entries(path, [entry(number)])]
    book = read_ledger(path)
    assert book.entries == tuple(added)
    assert book.notes == ()
    assert [one.number for one in book.entries] == [1, 2, 3]
    assert [one.tried for one in book.entries] == [0, 1, 2]
    assert find_entry(book, 2).title == "change 2"
    with pytest.raises(InputError, match="got 4"):
        find_entry(book, 4)


def test_a_ledger_that_is_not_there_is_empty(tmp_path):
    assert read_ledger(tmp_path / "ledger.jsonl").entries == ()
    assert not (tmp_path / "ledger.jsonl").exists()


def test_a_day_can_be_fixed(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    assert add_entries(tmp_path / "ledger.jsonl", [entry(1)])[0].date == "1970-01-02"


@examples(100)
@given(data=st.data())
def test_any_single_line_that_is_edited_removed_swapped_or_doubled_is_noticed(written, tmp_path, data):
    lines, head = written
    at = data.draw(st.integers(0, MANY - 1))
    way = data.draw(st.sampled_from(("edit", "cut", "insert", "remove", "swap", "double", "move")))
    changed, first = list(lines), at + 1
    if way == "edit":
        place = data.draw(st.integers(0, len(lines[at]) - 1))
        other = data.draw(st.integers(0, 255).filter(lambda byte: byte not in (lines[at][place], 10)))
        changed[at] = lines[at][:place] + bytes([other]) + lines[at][place + 1 :]
    elif way == "cut":
        place = data.draw(st.integers(0, len(lines[at]) - 1))
        changed[at] = lines[at][:place] + lines[at][place + 1 :]
    elif way == "insert":
        place = data.draw(st.integers(0, len(lines[at])))
        changed[at] = lines[at][:place] + b" " + lines[at][place:]
    elif way == "remove":
        del changed[at]
    elif way == "double":
        changed.insert(at, lines[at])
        first = at + 2  # the first of the two stands where it should
    elif way == "move":
        changed.append(changed.pop(at))
        if at == MANY - 1:
            return
    else:
        other = data.draw(st.integers(0, MANY - 1).filter(lambda number: number != at))
        changed[at], changed[other] = changed[other], changed[at]
        first = min(at, other) + 1
    path = lay(tmp_path, changed, head)
    found = scan(path)
    assert found.problems, way
    assert found.problems[0].line == first, (way, found.problems)
    with pytest.raises(InputError) as error:
        read_ledger(path)
    assert error.value.line == first
    assert error.value.file == str(path)
    with pytest.raises(InputError):
        add_entries(path, [entry(99)])
    assert path.read_bytes() == b"".join(line + b"\n" for line in changed)


def test_an_edited_line_with_a_hash_made_anew_breaks_the_next_link(written, tmp_path):
    lines, head = written
    body = json.loads(lines[1])
    body.pop("hash")
    forged = json.dumps(add_hash({**body, "accepted": False}), ensure_ascii=False).encode()
    found = scan(lay(tmp_path, [lines[0], forged, *lines[2:]], head))
    assert [problem.line for problem in found.problems] == [3]
    last = json.loads(lines[-1])
    last.pop("hash")
    forged = json.dumps(add_hash({**last, "title": "another"}), ensure_ascii=False).encode()
    found = scan(lay(tmp_path, [*lines[:-1], forged], head))
    assert [problem.line for problem in found.problems] == [MANY]


def test_lines_that_are_gone_from_the_end_are_missed(written, tmp_path):
    lines, head = written
    found = scan(lay(tmp_path, lines[:2], head))
    assert [(problem.line, problem.text) for problem in found.problems] == [(3, "3 lines are missing at the end")]
    path = lay(tmp_path, lines, head)
    path.unlink()
    with pytest.raises(InputError, match="5 lines are missing"):
        read_ledger(path)
    assert not path.exists()


def test_every_problem_is_listed_and_only_those(written, tmp_path):
    lines, head = written
    spoilt = [lines[0], lines[1].replace(b"change 2", b"change X"), *lines[2:4], lines[4].replace(b"0.05", b"0.50")]
    assert [problem.line for problem in scan(lay(tmp_path, spoilt, head)).problems] == [2, 5]


def test_a_head_that_is_missing_is_told_and_one_that_is_damaged_refused(written, tmp_path):
    lines, _ = written
    path = lay(tmp_path, lines, None)
    assert "head file is missing" in read_ledger(path).notes[0]
    ledger_head(path).write_text("{")
    with pytest.raises(InputError, match="damaged"):
        read_ledger(path)


def test_a_kill_before_the_head_was_written_costs_nothing(written, tmp_path):
    lines, _ = written
    path = lay(tmp_path, lines[:2], None)
    add_entries(path, [entry(3)])
    older = ledger_head(path).read_bytes()
    add_entries(path, [entry(4)])
    ledger_head(path).write_bytes(older)
    assert len(read_ledger(path).entries) == 4
    add_entries(path, [entry(5)])
    assert len(read_ledger(path).entries) == 5
    assert json.loads(ledger_head(path).read_text())["entries"] == 5


@pytest.mark.parametrize("kept", [1, 40, -1])
def test_a_torn_last_line_is_told_and_the_next_entry_takes_its_place(written, tmp_path, kept):
    lines, _ = written
    path = tmp_path / "ledger.jsonl"
    for number in (1, 2):
        add_entries(path, [entry(number)])
    whole = path.read_bytes()
    path.write_bytes(whole + lines[2][:kept])
    book = read_ledger(path)
    assert len(book.entries) == 2
    assert "incomplete entry" in book.notes[0]
    assert ":3:" in book.notes[0]
    add_entries(path, [entry(3)])
    assert path.read_bytes().startswith(whole)
    assert [one.title for one in read_ledger(path).entries] == ["change 1", "change 2", "change 3"]


def test_a_finished_line_that_was_cut_off_is_no_torn_one(tmp_path):
    path = tmp_path / "ledger.jsonl"
    add_entries(path, [entry(1)])
    add_entries(path, [entry(2)])
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(InputError, match="cut off") as error:
        add_entries(path, [entry(3)])
    assert error.value.line == 2


def test_a_last_line_without_its_line_end_is_whole(tmp_path):
    path = tmp_path / "ledger.jsonl"
    add_entries(path, [entry(1)])
    path.write_bytes(path.read_bytes().rstrip(b"\n"))
    assert len(read_ledger(path).entries) == 1
    add_entries(path, [entry(2)])
    assert len(read_ledger(path).entries) == 2


def test_a_file_of_another_kind_is_refused(tmp_path):
    path = tmp_path / "ledger.jsonl"
    path.write_text('{"when": "2026"}\n')
    with pytest.raises(InputError, match="expected a ledger entry"):
        read_ledger(path)
    os.remove(path)
    os.mkfifo(path)
    with pytest.raises(InputError, match="pipe"):
        read_ledger(path)


def test_an_entry_that_does_not_fit_is_told_with_its_line(tmp_path):
    path = tmp_path / "ledger.jsonl"
    line = add_hash({**as_mapping(entry(1)), "number": 1, "accepted": "perhaps", "before": ""})
    path.write_text(json.dumps(line, ensure_ascii=False) + "\n")
    write_head(path, 1, line["hash"])
    with pytest.raises(InputError, match="accepted") as error:
        read_ledger(path)
    assert error.value.line == 1


def test_the_same_comparison_twice_is_refused_unless_again(tmp_path):
    path = tmp_path / "ledger.jsonl"
    add_entries(path, [entry(1), entry(2)])
    with pytest.raises(InputError, match="is already entry 2") as error:
        add_entries(path, [entry(2)])
    assert error.value.line == 2
    assert add_entries(path, [entry(2)], again=True)[0].number == 3


def test_tries_are_counted_by_the_name_of_the_gold_set(tmp_path):
    path = tmp_path / "ledger.jsonl"
    add_entries(path, [entry(1, gold="a"), entry(2, gold="b"), entry(3, gold="a")])
    assert [one.tried for one in read_ledger(path).entries] == [0, 0, 1]


def test_a_disk_that_is_full_is_told_and_no_entry_is_lost(tmp_path, monkeypatch):
    path = tmp_path / "ledger.jsonl"
    add_entries(path, [entry(1)])

    def full(handle, data):
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "write", full)
        with pytest.raises(SetupError, match="No space left"):
            add_entries(path, [entry(2)])
    assert len(read_ledger(path).entries) == 1


def test_a_place_that_is_no_folder_is_told(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="cannot read"):
        add_entries(tmp_path / "file" / "ledger.jsonl", [entry(1)])


def test_two_processes_that_add_at_once_keep_the_chain(tmp_path):
    path, many = tmp_path / "ledger.jsonl", 8
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=add_some, args=(path, who, many)) for who in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(600)
        assert worker.exitcode == 0
    book = read_ledger(path)
    assert [one.number for one in book.entries] == list(range(1, 2 * many + 1))
    for who in (1, 2):
        own = [one.title for one in book.entries if one.title.startswith(f"change {who}")]
        assert own == [f"change {1000 * who + number}" for number in range(many)]
