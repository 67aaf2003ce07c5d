"""Who was shown what others said is written down where the votes are, so that what they say then is told apart."""

from assay.gold.review.votes import (
    UnblindedView,
    Vote,
    VoteLog,
    log_unblinding,
    mark_unblinded,
    read_all_votes,
    read_unblindings,
)
from tests.gold.review.conftest import cast, target_item


def said(item, value, day):
    return Vote(item, "ada", value, "why", f"2026-01-0{day}")


def test_votes_on_what_was_seen_are_marked_and_no_others():
    votes = [said("a", "2", 1), said("a", "1", 2), said("a", "0", 4), said("new", "2", 5), said("new", "1", 6)]
    votes += [said("shown", "2", 7)]
    looks = [UnblindedView("2026-01-03"), UnblindedView("2026-01-06T12", ("shown",))]
    assert [vote.after for vote in mark_unblinded(votes, looks)] == ["", "", "look", "", "", "look"]
    assert mark_unblinded(votes, []) == tuple(votes)


def test_a_look_is_written_once_until_there_is_more_to_see(queue):
    ballot, item = VoteLog(queue, "ada"), target_item(queue)
    log_unblinding(ballot)
    assert not queue.file("looks", "ada").exists(), "who has not voted has nothing to change"
    cast(queue, "ada", item, "2")
    for items in ((), (), ["x", item.id], ["x"]):
        log_unblinding(ballot, items)
    assert [look.items for look in read_unblindings(queue, "ada")] == [(), ("x",)]


def test_a_vote_from_a_machine_that_did_not_know_of_the_look_is_told_apart_after_the_merge(queue):
    item = target_item(queue)
    cast(queue, "ada", item, "2", on="2026-01-01")
    cast(queue, "ada", item, "0", on="2026-01-03")
    path = queue.file("looks", "ada")
    path.parent.mkdir()
    path.write_text('{"by": "ada", "on": "2026-01-02"}\n' * 2)
    assert [(vote.value, vote.after) for vote in read_all_votes(queue)] == [("2", ""), ("0", "look")]
