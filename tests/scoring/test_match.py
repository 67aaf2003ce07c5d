"""Rule 1: one-to-one, in rank order, at three levels."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from assay.scoring import LEVELS, Level, match, nDCG
from assay.scoring.match import Match, assign_targets, overlap_of, project
from assay.scoring.measures import R
from assay.types import Hit as Result
from assay.types import Span, Target

SPANS = st.builds(
    lambda path, start, length: Span(path) if start == 0 else Span(path, start, start + length),
    st.sampled_from("abc"),
    st.integers(0, 12),
    st.integers(0, 8) | st.sampled_from([40, 99, 100, 150]),
)
HITS = st.lists(SPANS.map(lambda s: Result(s.path, s.start, s.end)), max_size=12)
TARGETS = st.lists(st.builds(Target, SPANS, st.sampled_from([1, 2]), unit=st.none() | SPANS), max_size=6)


def grades(found: Match) -> tuple[int, ...]:
    return tuple(0 if claim is None else found.targets[claim].grade for claim in found.claims)


def test_match_three_results_on_one_target_count_once(hits, targets, value):
    found, right = hits("a:1-20", "a:21-40", "a:41-60"), targets("a:10-50")
    assert value(nDCG(level="lines") @ 10, found, right) == 1.0  # octocode's score.py says 2.13
    assert match(found, right, "lines").claims == (0, None, None)


def test_match_one_big_hit_claims_one_target(hits, targets, value):
    right = targets("a:10-50", "a:60-70=1")
    assert value(R(level="lines") @ 5, hits("a:1-100"), right) == 0.5  # octocode's score.py says 1.0


def test_match_a_long_hit_must_fit_the_target(hits, targets):
    right = targets("a:10-50")
    for level in ("lines", "symbol"):
        assert match(hits("a:1-100"), right, level).claims == (0,)
        assert match(hits("a:1-5000"), right, level).claims == (None,)
        assert match(hits("a:10-146", "a:10-145"), right, level).claims == (None, 0)  # IoU 41/137 and 41/136
    assert match(hits("a:1-5000"), targets("a:200-2000"), "lines").claims == (0,)  # IoU 0.36
    assert match(hits("a:1-5000"), right, "file").claims == (0,)
    assert match(hits("a:1-5000"), targets("a"), "lines").claims == (0,)


def test_match_takes_the_highest_grade_then_overlap_then_gold_order(hits, targets):
    assert match(hits("a:1-30"), targets("a:1-20=1", "a:25-26=2"), "lines").claims == (1,)
    assert match(hits("a:1-30"), targets("a:1-3", "a:5-20", "a:25-26"), "lines").claims == (1,)
    assert match(hits("a:1-30"), targets("a:5-6", "a:25-26"), "lines").claims == (0,)


def test_match_never_reassigns_a_claimed_target(hits, targets):
    found = match(hits("a:1-30", "a:1-31", "a:1-32"), targets("a:1-20=1", "a:25-26=2"), "lines")
    assert found.claims == (1, 0, None)
    assert grades(found) == (2, 1, 0)
    assert found.ranks == (2, 1)


def test_match_at_file_level_makes_a_files_targets_one_with_the_highest_grade(hits, targets):
    found = match(hits("b:1-2", "a:90-99"), targets("a:1-3=1", "a:5-9=2", "b=1"), "file")
    assert [(t.span, t.grade) for t in found.targets] == [(Span("a"), 2), (Span("b"), 1)]
    assert grades(found) == (1, 2)


def test_match_at_symbol_level_widens_targets_to_their_definition_and_merges_them(hits):
    unit = Span("a", 10, 40)
    right = [
        Target(Span("a", 12, 13), 1, unit=unit),
        Target(Span("a", 30, 31), 2, unit=unit),
        Target(Span("a", 50, 51)),
    ]
    found = match(hits("a:38-44", "a:45-50"), right, "symbol")
    assert [(t.span, t.grade) for t in found.targets] == [(unit, 2), (Span("a", 50, 51), 2)]
    assert found.claims == (0, 1)
    assert match(hits("a:38-44"), right, "lines").claims == (None,)


def test_match_removes_repeated_hits_without_refilling(hits, targets):
    found = match(hits("a:1-2", "a:3-4", "a:1-2", "b"), targets("b"), "file")
    assert (found.positions, found.distinct, found.ranks) == ((0, 3), 2, (2,))
    assert match(hits("a:1-2", "a:3-4", "a:1-2", "b"), targets("b"), "lines").positions == (0, 1, 3)


def test_match_needs_one_common_line(hits, targets):
    assert match(hits("a:1-9"), targets("a:10-20"), "lines").claims == (None,)
    assert match(hits("a:1-10"), targets("a:10-20"), "lines").claims == (0,)


def test_match_takes_files_without_a_range_as_whole(hits, targets):
    assert match(hits("a:700-701"), targets("a"), "lines").claims == (0,)
    assert match(hits("a"), targets("a:700-701"), "lines").claims == (None,)  # a file is not an answer about two lines
    assert match(hits("a"), targets("a"), "lines").claims == (0,)


def test_match_compares_paths_exactly(hits, targets):
    found = hits("./src/gin.go", "/src/gin.go", "lib/src/gin.go", "gin.go", "SRC/gin.go", "src/gin.go")
    assert match(found, targets("src/gin.go"), "file").ranks == (6,)


def _reference(hits: list[Result], targets: list[Target], level: Level) -> tuple[int | None, ...]:
    """Claim by the text of rule 1, as plainly as it can be written."""
    at = {t: {"file": Span(t.span.path), "symbol": t.unit or t.span, "lines": t.span}[level] for t in targets}
    spans = list(dict.fromkeys(at[t] for t in targets))
    grade = {span: max(t.grade for t in targets if at[t] == span) for span in spans}
    seen: list[Span] = []
    claims: list[int | None] = []
    free = list(spans)
    for hit in hits:
        span = Span(hit.path) if level == "file" else hit.span
        if span in seen:
            continue
        seen.append(span)
        ordered = sorted(free, key=lambda t: (-grade[t], -_lines(span, t), spans.index(t)))
        chosen = next((t for t in ordered if _lines(span, t)), None)
        claims.append(None if chosen is None else spans.index(chosen))
        free = [t for t in free if t != chosen]
    return tuple(claims)


def _lines(hit: Span, target: Span) -> int:
    """Count common lines with sets; two whole files share everything, however long they are."""
    if hit.path != target.path:
        return 0
    if target.start is None:
        return 10_000 if hit.start is None else len(_numbers(hit))
    if hit.start is None:
        return 0
    common, either = _numbers(hit) & _numbers(target), _numbers(hit) | _numbers(target)
    return len(common) if len(_numbers(hit)) <= 100 or 10 * len(common) >= 3 * len(either) else 0


def _numbers(span: Span) -> set[int]:
    return set(range(span.start or 0, (span.end or 0) + 1))


@given(HITS, TARGETS, st.sampled_from(LEVELS))
def test_match_equals_the_rule_written_plainly(found, right, level):
    assert match(found, right, level).claims == _reference(found, right, level)


@given(HITS, TARGETS, st.sampled_from(LEVELS))
def test_match_is_one_to_one_and_a_prefix_of_itself(found, right, level):
    whole = match(found, right, level)
    claimed = [claim for claim in whole.claims if claim is not None]
    assert len(claimed) == len(set(claimed))
    half = match(found[: len(found) // 2], right, level)
    assert whole.claims[: half.distinct] == half.claims


@given(HITS, TARGETS)
def test_match_of_whole_files_is_the_same_by_file_and_by_line(found, right):
    whole = [Result(hit.path) for hit in found]
    files = [Target(Span(target.span.path), target.grade) for target in right]
    by_file, by_line = match(whole, files, "file"), match(whole, files, "lines")
    assert (by_file.claims, by_file.positions, grades(by_file)) == (by_line.claims, by_line.positions, grades(by_line))


@given(HITS, TARGETS, st.sampled_from(LEVELS))
def test_match_primary_claims_do_not_depend_on_secondary_targets(found, right, level):
    both = match(found, right, level)
    alone = match(found, [target for target in right if target.grade == 2], level)
    assert [grade == 2 for grade in grades(both)] == [grade == 2 for grade in grades(alone)]


def test_whole_file_hit_prefers_the_whole_file_target_of_equal_grade():
    targets = [Target(Span("a.py", 1, 3)), Target(Span("a.py"))]
    assert match([Result("a.py")], targets, "lines").claims == (1,)


@given(HITS, TARGETS)
def test_files_are_claimed_on_the_short_way_as_on_the_long_one(hits, targets):
    seen = project(targets, "file")
    assert assign_targets(hits, seen) == assign_targets(hits, seen, lambda hit, target: overlap_of(hit, target))
