"""Scoring without pooled labels."""

from dataclasses import replace

from assay.scoring import parse_measure, score
from assay.scoring.score import without_pooled
from assay.types import LabelProvenance, Query, Span, Target

nDCG = parse_measure("nDCG@10")


def run_of(make_run, hits, targets, adversaries, *labels):
    queries = [
        Query("q", {"human": "q?"}, targets("a.py", "b.py=1"), adversaries("c.py"), labels=labels),
        Query("r", {"human": "r?"}, targets("d.py")),
    ]
    return make_run(queries, {"one": {"q": {"human": hits("b.py", "a.py")}, "r": {"human": hits("d.py")}}})


def test_a_run_without_marked_labels_stays_as_it_is(make_run, hits, targets, adversaries):
    run = run_of(make_run, hits, targets, adversaries, LabelProvenance("b.py", ("ada",)))
    own = without_pooled(run)
    assert (own.labels, own.queries, own.run) == (0, (), run)


def test_marked_targets_and_adversaries_go(make_run, hits, targets, adversaries):
    marked = (LabelProvenance("b.py", shown_by=("one",)), LabelProvenance("c.py", shown_by=("two", "one")))
    own = without_pooled(run_of(make_run, hits, targets, adversaries, *marked))
    query = own.run.suite.golds[0].queries[0]
    assert [target.anchor for target in query.targets] == ["a.py"]
    assert (query.adversaries, own.labels, own.queries, own.engines) == ((), 2, (), ("one", "two"))
    full = run_of(make_run, hits, targets, adversaries)
    assert score(own.run, [nDCG]).values[0, 0, 0] < score(full, [nDCG]).values[0, 0, 0]


def test_a_query_whose_primaries_all_go_is_left_out_with_its_answers(make_run, hits, targets, adversaries):
    own = without_pooled(run_of(make_run, hits, targets, adversaries, LabelProvenance("a.py", shown_by=("one",))))
    assert own.queries == ("gold/q",)
    assert [query.id for query in own.run.suite.golds[0].queries] == ["r"]
    assert score(own.run, [nDCG]).values.shape == (1, 1, 1)


def test_a_marked_label_whose_lines_moved_goes_and_its_copy_stays(make_run, hits, targets, adversaries):
    run = run_of(make_run, hits, targets, adversaries, LabelProvenance("b.py:1-2#0123456789ab", shown_by=("one",)))
    gold = run.suite.golds[0]
    moved = Target(Span("b.py", 5, 6), 1, digest="0123456789ab")

    def left(*places):
        query = replace(gold.queries[0], targets=(gold.queries[0].targets[0], *places))
        changed = replace(run, suite=replace(run.suite, golds=(replace(gold, queries=(query,)),)))
        return [target.anchor for target in without_pooled(changed).run.suite.golds[0].queries[0].targets]

    assert left(moved) == ["a.py"]
    assert left(moved, replace(moved, span=Span("b.py", 1, 2))) == ["a.py", "b.py:5-6#0123456789ab"]


def test_a_set_that_engines_made_has_nothing_left(make_run, hits, targets, adversaries):
    run = run_of(make_run, hits, targets, adversaries, LabelProvenance("a.py", shown_by=("one",)))
    gold = run.suite.golds[0]
    marked = replace(gold.queries[1], labels=(LabelProvenance("d.py", shown_by=("one",)),))
    run = replace(run, suite=replace(run.suite, golds=(replace(gold, queries=(gold.queries[0], marked)),)))
    assert without_pooled(run).run.suite.golds == ()
