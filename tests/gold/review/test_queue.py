"""Proposals wait in a file that only grows, each once, whoever adds them and whatever is killed."""

import json
import os
import subprocess
import sys
from dataclasses import replace

import pytest

from assay.corpus import open_corpus
from assay.errors import GoldError, SetupError
from assay.gold import load_gold
from assay.gold.review.items import AddedItems, ReviewQueue
from assay.gold.review.reviewers import make_label_items
from assay.types import CorpusSpec
from tests.gold.review.conftest import adversary_item, phrasing_item, query_item, target_item
from tests.waiting import WATCHDOG


def some_items(queue):
    return [target_item(queue), query_item(queue), adversary_item(queue), phrasing_item(queue)]


def test_items_come_back_in_the_order_they_were_added(queue):
    items = some_items(queue)
    assert queue.items() == ()
    assert queue.add(items[:2]) == AddedItems(2, 0)
    assert queue.add(items) == AddedItems(2, 2)
    assert queue.items() == tuple(items)


def test_an_item_twice_in_one_call_is_one(queue):
    item = target_item(queue)
    assert queue.add([item, item]) == AddedItems(1, 1)
    assert queue.items() == (item,)


def test_a_torn_line_is_ignored_by_readers_and_cut_by_the_next_writer(queue):
    first, second, *_ = some_items(queue)
    queue.add([first])
    with open(queue.path, "ab") as stream:
        stream.write(b'{"id": "12')
    assert queue.items() == (first,)
    assert queue.add([second]) == AddedItems(1, 0, cut=10)
    assert queue.items() == (first, second)


def test_an_item_that_nobody_could_read_back_is_refused_and_nothing_is_written(queue):
    item = target_item(queue)
    broken = replace(item, id="f" * 12, query=replace(item.query, forms={"human": "\ud800"}))
    with pytest.raises(GoldError):
        queue.add([item, broken])
    assert queue.items() == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "invalid JSON"),
        ("[1, 2]", "expected a mapping of keys and values, got a list"),
        ('{"id": "0"}', "missing key 'kind'"),
        ('{"id": "0", "id": "1"}', "duplicate key"),
        ('{"id": "0", "kind": "tagret", "query": {}, "origin": {}}', "unknown value 'tagret'"),
        ("[" * 100_000, "invalid JSON"),
    ],
)
def test_a_damaged_line_is_told_with_its_number(queue, line, message):
    queue.add([target_item(queue)])
    with open(queue.path, "a", encoding="utf-8") as stream:
        stream.write(f"{line}\n")
    with pytest.raises(GoldError, match=message) as caught:
        queue.items()
    assert (caught.value.file, caught.value.line) == (str(queue.path), 2)


def test_the_queue_is_part_of_no_corpus_and_no_suite(queue):
    queue.add([target_item(queue)])
    corpus = open_corpus(CorpusSpec("path", "."), base=queue.gold_file.parent)
    assert not [file.path for file in corpus.files if ".review" in file.path]
    assert len(load_gold(queue.gold_file.parent / "gold.yaml").golds) == 1


def test_a_queue_that_cannot_be_written_says_so(queue):
    queue.directory.write_text("in the way")
    with pytest.raises(SetupError):
        queue.add([target_item(queue)])


WRITER = """\
import sys
from pathlib import Path
from assay.gold.review.items import ReviewQueue, ItemOrigin, make_item
from assay.types import Query, Span, Target
queue = ReviewQueue(Path(sys.argv[1]))
for n in range(20):
    query = Query("q", {"human": "a?"}, (Target(Span(f"f{n}.py")),))
    queue.add([make_item("target", query, ItemOrigin(sys.argv[2]))])
"""


def test_processes_that_add_at_once_add_each_proposal_once(tmp_path):
    path = tmp_path / "gold.yaml"
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(path), name]) for name in ("docs", "pool", "rules")]
    assert [writer.wait(WATCHDOG) for writer in writers] == [0, 0, 0]
    items = ReviewQueue(path).items()
    lines = ReviewQueue(path).path.read_text().splitlines()
    assert sorted(item.target.span.path for item in items) == sorted(f"f{n}.py" for n in range(20))
    assert len(lines) == 20
    assert all(json.loads(line) for line in lines)


def test_an_audit_queues_every_target_without_its_grade(queue):
    gold = load_gold(queue.gold_file).golds[0]
    items = list(make_label_items(gold, on="2026-01-02", commit="abc"))
    assert queue.add(items) == AddedItems(4, 0)
    assert [item.target.anchor for item in items] == [t.anchor for q in gold.queries for t in q.targets]
    assert {item.target.grade for item in items} == {2}
    assert {item.origin.how for item in items} == {"set"}
    assert queue.add(make_label_items(gold)) == AddedItems(0, 4)


def test_the_folder_is_named_after_the_file(tmp_path):
    assert ReviewQueue(tmp_path / "a.b.yaml").directory == tmp_path / "a.b.review"
    assert os.listdir(tmp_path) == []  # nothing is made before something is added
