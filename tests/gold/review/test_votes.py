"""Votes are kept apart, in full, and say what they must."""

import threading

import pytest

from assay.errors import ConfigError, GoldError
from assay.gold.review.votes import StaleVoteError, Vote, VoteLog, check_vote, find_item, list_reviewers, read_all_votes
from tests.gold.review.conftest import cast, query_item, target_item

ON = "2026-02-03T04:05:06.000+00:00"


def test_a_later_vote_replaces_an_earlier_one_and_both_stay_on_disk(queue):
    item = target_item(queue)
    first, second = cast(queue, "ada", item, "2"), cast(queue, "ada", item, "0")
    ballot = VoteLog(queue, "ada")
    assert ballot.votes() == {item.id: second}
    assert ballot.history() == (first, second)


def test_a_vote_keeps_all_that_is_known_of_it(queue):
    item = target_item(queue)
    vote = Vote(
        item.id, "qwen", "1", 'a "reason"\nin two lines ', ON, "model", "host#m prompt 12", "abc", ("mine", "b")
    )
    VoteLog(queue, "qwen").cast([vote])
    assert VoteLog(queue, "qwen").history() == (vote,)


def test_a_merge_may_mix_and_double_lines(queue):
    item = target_item(queue)
    votes = [Vote(item.id, "ada", value, "why", f"2026-01-0{value}") for value in "012"]
    VoteLog(queue, "ada").cast(votes)
    path = VoteLog(queue, "ada").path
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[2], lines[0], lines[1], lines[2], lines[0]]))
    assert VoteLog(queue, "ada").history() == tuple(votes)


def test_a_clock_that_was_set_back_puts_no_vote_before_an_earlier_one(queue):
    item = target_item(queue)
    cast(queue, "ada", item, "2", on="2026-02-03")
    cast(queue, "ada", item, "0", on="2026-02-02")
    assert VoteLog(queue, "ada").votes()[item.id].value == "0"


def test_a_vote_that_is_sent_again_is_the_one_there_is_whatever_came_since(queue):
    item, ballot = target_item(queue), VoteLog(queue, "ada")
    first = Vote(item.id, "ada", "2", "first", "2026-01-01")
    second = Vote(item.id, "ada", "0", "second", "2026-01-02")
    assert ballot.cast_once(first, None) == first
    assert ballot.cast_once(Vote(item.id, "ada", "2", "first", "2026-01-03"), None) == first
    assert ballot.cast_once(second, first.on) == second
    assert ballot.cast_once(Vote(item.id, "ada", "2", "first", "2026-01-04"), None) == second
    assert ballot.cast_once(Vote(item.id, "ada", "0", "second", "2026-01-05"), first.on) == second
    with pytest.raises(StaleVoteError, match="you already voted 0 on this item in another tab or terminal: second"):
        ballot.cast_once(Vote(item.id, "ada", "1", "third", "2026-01-06"), first.on)
    third = Vote(item.id, "ada", "2", "first", "2026-01-07")
    assert ballot.cast_once(third, second.on) == third, "to go back to what one said first is a vote of its own"
    assert ballot.history() == (first, second, third)


def test_of_two_servers_the_second_sees_the_vote_of_the_first(queue):
    refused: list[str] = []

    def work(value):
        ballot = VoteLog(queue, "ada")
        for number in range(20):
            try:
                ballot.cast_once(Vote(f"item {number}", "ada", value, "at once", ON), None)
            except StaleVoteError as error:
                refused.append(error.message)

    threads = [threading.Thread(target=work, args=(value,)) for value in "21"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(vote.item for vote in VoteLog(queue, "ada").history()) == sorted(f"item {n}" for n in range(20))
    assert len(refused) == 20


def test_reviewers_write_into_files_of_their_own(queue):
    item = target_item(queue)
    cast(queue, "bob", item, "2")
    cast(queue, "ada", item, "0")
    assert list_reviewers(queue) == ("ada", "bob")
    assert [vote.reviewer for vote in read_all_votes(queue)] == ["ada", "bob"]
    assert VoteLog(queue, "ada").path != VoteLog(queue, "bob").path


def test_a_reviewer_never_reads_another_ones_votes(queue):
    item = target_item(queue)
    cast(queue, "ada", item, "2")
    VoteLog(queue, "ada").path.write_text("no JSON at all\n")
    cast(queue, "bob", item, "0")
    assert VoteLog(queue, "bob").votes()[item.id].value == "0"
    with pytest.raises(GoldError, match="invalid JSON"):
        read_all_votes(queue)


@pytest.mark.parametrize("name", ["", "../ada", "a b", "a/b", ".hidden", "ä", "x" * 65, "a\n"])
def test_a_name_that_is_no_file_name_is_refused(queue, name):
    with pytest.raises(ConfigError, match="invalid reviewer name"):
        VoteLog(queue, name)


def test_names_that_differ_by_case_alone_are_refused(queue):
    item = target_item(queue)
    cast(queue, "ada", item, "2")
    with pytest.raises(ConfigError, match="differs only in case from the existing 'ada'"):
        cast(queue, "Ada", item, "2")


def test_a_vote_in_the_wrong_file_is_told(queue):
    cast(queue, "ada", target_item(queue), "2")
    VoteLog(queue, "ada").path.rename(VoteLog(queue, "bob").path)
    with pytest.raises(GoldError, match="expected a vote of 'bob', got one of 'ada'") as caught:
        VoteLog(queue, "bob").votes()
    assert caught.value.line == 1


@pytest.mark.parametrize(
    ("value", "good"), [("2", True), ("0", True), ("unsure", True), ("3", False), ("accept", False)]
)
def test_a_target_takes_grades(queue, value, good):
    item = target_item(queue)
    if good:
        check_vote(item, value, "why")
    else:
        with pytest.raises(ConfigError, match="use one of 2, 1, 0, unsure"):
            check_vote(item, value, "why")


def test_a_query_is_accepted_or_rejected_and_a_reason_is_needed(queue):
    item = query_item(queue)
    check_vote(item, "reject", "why")
    with pytest.raises(ConfigError, match="use one of accept, reject, unsure"):
        check_vote(item, "1", "why")
    with pytest.raises(ConfigError, match="has no reason"):
        check_vote(item, "accept", "  ")


def test_an_item_is_found_by_a_beginning_that_is_its_own(queue):
    items = [target_item(queue), query_item(queue)]
    assert find_item(items, items[0].id[:6]) == items[0]
    for given in ("", "zz"):
        with pytest.raises(GoldError, match="no item id in the queue begins with"):
            find_item(items, given)
