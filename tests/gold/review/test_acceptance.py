"""What is settled becomes gold once, with its provenance, and never makes the set unsound."""

import pytest

from assay.corpus import open_corpus
from assay.errors import GoldError
from assay.gold import load_gold, resolve
from assay.gold.review.acceptance import accept, read_statuses, read_written
from assay.gold.review.items import ReviewQueue
from assay.gold.review.reviewers import make_label_items
from assay.gold.review.votes import Adjudication, ReviewRules, record_decisions
from assay.types import CorpusSpec, LabelProvenance, Span, Target
from tests.gold.review.conftest import adversary_item, cast, phrasing_item, query_item, query_of, target_item

ON = "2026-03-04T05:06:07.000+00:00"


def load(queue):
    return load_gold(queue.gold_file).golds[0] if queue.gold_file.exists() else None


def accepted(queue, **more):
    def check(gold):
        corpus = open_corpus(gold.corpus, base=queue.gold_file.parent)
        return resolve(gold, corpus, missing="report").problems

    return accept(queue, lambda: load(queue), check, on=ON, **more)


def agree(queue, item, value, *names):
    queue.add([item])
    for name in names or ("ada", "bob"):
        cast(queue, name, item, value, commit="fff")


def test_a_target_that_reviewers_agree_on_is_added_with_its_provenance(queue):
    agree(queue, target_item(queue), "1")
    made = accepted(queue)
    query = query_of(queue, "tax-lookup")
    assert made.added == 1
    assert query.targets == (Target(Span("shop/tax.py"), 2, "tax_rate"), Target(Span("shop/tax.py", 11, 13), 1))
    assert query.labels == (LabelProvenance("shop/tax.py:11-13", ("ada", "bob"), "2026-02-03", "fff", ("mine",)),)


def test_accepting_twice_changes_nothing(queue):
    agree(queue, target_item(queue), "1")
    agree(queue, query_item(queue), "accept")
    accepted(queue)
    before = queue.gold_file.read_bytes()
    again = accepted(queue)
    assert (again.taken, queue.gold_file.read_bytes()) == ((), before)
    assert {standing.state for standing in read_statuses(queue)} == {"accepted"}


def test_what_was_written_but_not_written_down_is_not_written_twice(queue):
    items = [target_item(queue), query_item(queue), adversary_item(queue), phrasing_item(queue)]
    for item in items:
        agree(queue, item, "1" if item.kind == "target" else "accept")
    accepted(queue)
    before = queue.gold_file.read_bytes()
    (queue.directory / "accepted.jsonl").unlink()  # as if killed between the two writes
    again = accepted(queue)
    assert len(again.taken) == 4
    assert queue.gold_file.read_bytes() == before
    assert len(read_written(queue)) == 4


def test_only_what_is_settled_is_written(queue):
    agree(queue, target_item(queue), "2", "ada")  # one vote
    other = target_item(queue, Span("shop/cart.py", 1, 3))
    agree(queue, other, "2", "ada")
    cast(queue, "bob", other, "0")  # disputed
    before = queue.gold_file.read_bytes()
    assert accepted(queue).taken == ()
    assert queue.gold_file.read_bytes() == before
    assert accepted(queue, rules=ReviewRules(1)).added == 1


def test_a_decision_settles_and_names_the_one_who_decided(queue):
    item = target_item(queue)
    agree(queue, item, "2", "ada")
    cast(queue, "bob", item, "1")
    record_decisions(queue, [Adjudication(item.id, "cy", "1", "it helps", "2026-02-05T00:00:00+00:00", "eee")])
    accepted(queue)
    label = query_of(queue, "tax-lookup").labels[0]
    assert (label.by, label.on, label.commit) == (("bob", "cy"), "2026-02-05", "eee")


def test_a_later_decision_changes_what_was_accepted(queue):
    item = target_item(queue)
    agree(queue, item, "1")
    accepted(queue)
    record_decisions(queue, [Adjudication(item.id, "cy", "0", "it is wrong", "2026-02-05T00:00:00+00:00")])
    accepted(queue)
    query = query_of(queue, "tax-lookup")
    assert [target.anchor for target in query.targets] == ["shop/tax.py::tax_rate"]
    assert query.labels == ()
    assert read_statuses(queue)[0].state == "rejected"


def test_a_wrong_result_is_turned_down_and_the_set_stays(queue):
    agree(queue, target_item(queue), "0")
    before = queue.gold_file.read_bytes()
    made = accepted(queue)
    assert (len(made.taken), made.added) == (1, 0)
    assert queue.gold_file.read_bytes() == before
    assert read_statuses(queue)[0].state == "rejected"


def test_a_whole_query_is_appended_with_labels_for_every_anchor(queue):
    agree(queue, query_item(queue), "accept")
    accepted(queue)
    query = query_of(queue, "receipt-text")
    assert [label.target for label in query.labels] == ["shop/receipt.py"]
    assert query.labels[0].by == ("ada", "bob")
    assert [q.id for q in load(queue).queries] == ["cart-total", "tax-lookup", "retry-wait", "receipt-text"]


def test_an_id_that_is_taken_gets_a_number(queue):
    agree(queue, query_item(queue, "cart-total"), "accept")
    accepted(queue)
    assert [q.id for q in load(queue).queries][-1] == "cart-total-2"


def test_adversaries_and_phrasings_are_added(queue):
    agree(queue, adversary_item(queue), "accept")
    agree(queue, phrasing_item(queue), "accept")
    accepted(queue)
    query = query_of(queue, "tax-lookup")
    assert [adversary.target.anchor for adversary in query.adversaries] == ["shop/cart.py"]
    assert query.forms["ai_optimized"] == "RATES lookup by country"
    assert [(label.target, label.shown_by) for label in query.labels] == [("shop/cart.py", ("mine",))]


def test_a_phrasing_does_not_overwrite_another(queue):
    agree(queue, phrasing_item(queue, "keyword", "other words"), "accept")
    made = accepted(queue)
    assert [refusal.reason for refusal in made.refused] == ["query 'tax-lookup' already has another keyword phrasing"]
    assert query_of(queue, "tax-lookup").forms["keyword"] == "tax rate country"


def test_what_lint_refuses_is_left_out_and_the_rest_goes_in(queue):
    agree(queue, target_item(queue, Span("shop/gone.py", 1, 2)), "2")
    agree(queue, target_item(queue), "1")
    agree(queue, query_item(queue, path="shop/nowhere.py"), "accept")
    made = accepted(queue)
    assert made.added == 1
    assert [refusal.query for refusal in made.refused] == ["tax-lookup", "receipt-text"]
    assert "shop/gone.py is not in the corpus" in made.refused[0].reason
    assert len(load(queue).queries) == 3
    assert [s.state for s in read_statuses(queue)] == ["agreed", "accepted", "agreed"]


def test_errors_that_the_set_had_before_do_not_keep_new_labels_out(queue):
    text = queue.gold_file.read_text().replace("shop/retry.py:6-13", "shop/retry.py:6-999")
    queue.gold_file.write_text(text)
    agree(queue, target_item(queue), "1")
    assert accepted(queue).added == 1


def test_an_adversary_that_is_a_target_is_refused(queue):
    agree(queue, adversary_item(queue, "shop/cart.py"), "accept")
    agree(queue, target_item(queue, Span("shop/cart.py")), "2")
    made = accepted(queue)
    assert made.added == 1
    assert "overlaps target" in made.refused[0].reason


def test_an_item_for_a_query_that_is_gone_is_refused(queue):
    agree(queue, target_item(queue, query="retry-wait", span=Span("shop/cart.py", 1, 2)), "2")
    text = queue.gold_file.read_text()
    queue.gold_file.write_text(text[: text.index("  - id: retry-wait")])
    assert accepted(queue).refused[0].reason == "the set has no query 'retry-wait'"


def test_an_audit_takes_out_grades_anew_and_keeps_the_mark_of_older_labels(queue):
    agree(queue, target_item(queue), "1")
    accepted(queue)
    gold = load(queue)
    items = {(item.query.id, item.target.anchor): item for item in make_label_items(gold)}
    pooled = items["tax-lookup", "shop/tax.py:11-13"]
    agree(queue, pooled, "2", "cy", "dee")  # the same item: ada and bob said 1
    agree(queue, items["cart-total", "shop/receipt.py"], "0")
    agree(queue, items["cart-total", "shop/cart.py::Cart.total"], "2")
    accepted(queue)
    total = query_of(queue, "cart-total")
    assert [target.anchor for target in total.targets] == ["shop/cart.py::Cart.total"]
    assert [(label.target, label.by, label.shown_by) for label in total.labels] == [
        ("shop/cart.py::Cart.total", ("ada", "bob"), ())
    ]
    assert query_of(queue, "tax-lookup").labels[0].shown_by == ("mine",)


def test_a_target_that_was_there_before_is_not_marked_as_brought_up(queue):
    agree(queue, target_item(queue, Span("shop/receipt.py"), "cart-total", engines=("mine",)), "1")
    accepted(queue)
    assert query_of(queue, "cart-total").labels[0].shown_by == ()


def test_the_last_primary_cannot_be_voted_away(queue):
    gold = load(queue)
    item = next(item for item in make_label_items(gold) if item.query.id == "tax-lookup")
    agree(queue, item, "0")
    made = accepted(queue)
    assert "has no primary target" in made.refused[0].reason
    assert len(query_of(queue, "tax-lookup").targets) == 1


def test_a_set_that_is_not_there_is_made_with_the_first_accepted_query(tmp_path, queue):
    new = ReviewQueue(queue.gold_file.with_name("fresh set.yaml"))
    agree(new, query_item(queue), "accept")
    with pytest.raises(GoldError, match="the gold set does not exist"):
        accepted(new)
    assert not new.gold_file.exists()
    made = accepted(new, corpus=CorpusSpec("path", "."))
    gold = load(new)
    assert (gold.name, gold.corpus, len(gold.queries)) == ("fresh-set", CorpusSpec("path", "."), 1)
    assert made.added == 1


def test_nothing_accepted_makes_no_set(queue):
    new = ReviewQueue(queue.gold_file.with_name("fresh.yaml"))
    agree(new, query_item(queue), "reject")
    assert accepted(new, corpus=CorpusSpec("path", ".")).gold is None
    assert not new.gold_file.exists()
    assert read_statuses(new)[0].state == "rejected"


def test_comments_of_the_set_stay(queue):
    queue.gold_file.write_text(queue.gold_file.read_text().replace("queries:", "queries:  # asked by people"))
    agree(queue, target_item(queue), "1")
    accepted(queue)
    assert "# asked by people" in queue.gold_file.read_text()
