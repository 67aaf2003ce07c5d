"""A baseline file says what the run that it was made of says, and nothing that was spoiled is believed."""

import json
import math
import random
from dataclasses import replace

import pytest

from assay.errors import EngineError, InputError, NotComparableError
from assay.report.baseline_file import read_baseline, write_baseline
from assay.report.comparison import compare_sides
from assay.report.query_scores import gather
from assay.types import Run, VariantInfo
from tests.report.evidence.labs import FACTS, PLAN, hashed, run_of
from tests.report.labs import lab

OLD = [1, 2, 3, 1, 0, 1] * 8
NEW = [2, 2, 4, 1, 0, 0] * 8


def written(tmp_path, *runs: Run):
    """Write a baseline and read it back."""
    write_baseline(tmp_path / "baseline.json", gather(runs, PLAN.measures, "old"), PLAN)
    return read_baseline(tmp_path / "baseline.json")


def values_of(seen):
    return seen.scores.values.tolist(), seen.scores.units, seen.scores.measures


@pytest.mark.parametrize("repositories", [1, 8])
def test_baseline_file_gives_the_statistics_of_its_run_to_the_last_digit(tmp_path, repositories):
    old, new = run_of(OLD, repositories=repositories), run_of(NEW, repositories=repositories)
    read = replace(written(tmp_path, old), name="old")
    fresh = gather((new,), PLAN.measures, "new")
    assert compare_sides(read, fresh, PLAN) == compare_sides(gather((old,), PLAN.measures, "old"), fresh, PLAN)
    assert values_of(read) == values_of(gather((old,), PLAN.measures, "old"))


def test_baseline_of_an_older_version_is_read(tmp_path):
    read, path = written(tmp_path, run_of(OLD)), tmp_path / "baseline.json"
    path.write_text(path.read_text().replace('"analysis_plan":', '"claim":'))
    assert values_of(read_baseline(path)) == values_of(read)


def test_baseline_of_repeats_keeps_means_statuses_and_what_changed(tmp_path):
    runs = (run_of(OLD), run_of([2, *OLD[1:]], failed=[1]), run_of(OLD))
    made, read = gather(runs, PLAN.measures, "old"), written(tmp_path, *runs)
    assert replace(read, name="old", is_file=False) == replace(made, scores=read.scores)
    assert read.engine("mine").noise[0] > 0.0
    assert values_of(read) == values_of(made)
    assert [one.failed for one in read.engine("mine").wavering] == [1]


def test_baseline_has_one_line_a_query_and_a_changed_value_changes_that_line_alone(tmp_path):
    written(tmp_path, run_of(OLD))
    before = (tmp_path / "baseline.json").read_text()
    written(tmp_path, run_of([*OLD[:7], 9, *OLD[8:]]))
    after = (tmp_path / "baseline.json").read_text()
    changed = [b for a, b in zip(before.splitlines(), after.splitlines(), strict=True) if a != b]
    assert len(changed) == 2  # the query, and the engine with its mean
    assert '"query": "q7"' in changed[1]
    assert before.count('"query":') == len(OLD)


def test_baseline_holds_neither_source_nor_questions_nor_settings(tmp_path):
    made = run_of(OLD)
    (engine,) = made.engines
    told = replace(engine, config={"env": "sekrit"}, stderr={"gold0": "sekrit"}, notes=("sekrit",))
    written(tmp_path, replace(made, engines=(replace(told, variation=VariantInfo("base", {"key": "sekrit"})),)))
    text = (tmp_path / "baseline.json").read_text()
    for word in ("sekrit", "question", "right0.py", "wrong1.py"):
        assert word not in text


def test_measure_that_does_not_apply_is_null(tmp_path):
    plan = replace(PLAN, measures=("RR@10", "Displacement@10"))
    write_baseline(tmp_path / "b.json", gather((run_of(OLD),), plan.measures, "old"), plan)
    assert '"values": {"mine": [1, null]}' in (tmp_path / "b.json").read_text()
    assert math.isnan(read_baseline(tmp_path / "b.json").scores.values[0, 1, 0])


def test_failures_make_no_baseline(tmp_path):
    with pytest.raises(EngineError, match="3 of 48 queries failed"):
        written(tmp_path, run_of(OLD, failed=[1, 2, 3]))
    assert not (tmp_path / "baseline.json").exists()


@pytest.mark.parametrize(
    ("old", "new", "line", "said"),
    [
        ('"queries": [', "<<<<<<< ours", 18, "invalid JSON"),
        ('"query": "q1"', '"query": "q0"', 20, "duplicate query gold0/q0"),
        ('{"mine": [0.5, 1]}', '{"mine": [1.5, 1]}', 20, "expected RR@10 from 0 to 1, got 1.5"),
        ('{"mine": [0.5, 1]}', '{"mine": [NaN, 1]}', None, "expected a finite number, got NaN"),
        ('{"mine": [0.5, 1]}', '{"mine": [0.5]}', 20, "query 2: expected 2 values, got 1"),
        ('{"mine": [0.5, 1]}', '{"mine": [null, 1]}', 20, "query 2: missing value of RR@10"),
        (
            '{"mine": [0.5, 1]}',
            '{"mine": [true, 1]}',
            20,
            "query 2: entry: values.mine[0]: expected a number, got True",
        ),
        (
            '{"mine": [0.5, 1]}',
            '{"mine": ["0.5", 1]}',
            20,
            "query 2: entry: values.mine[0]: expected a number, got '0.5'",
        ),
        ('{"mine": [0.5, 1]}', '{"mine": [0.25, 1]}', None, "the means of 'mine' do not match its queries"),
        ('{"mine": [0.5, 1]}', '{"mine": [1e400, 1]}', None, "expected a finite number, got 1e400"),
        ('{"mine": [0.5, 1]}', '{"yours": [0.5, 1]}', 20, "query 2: unknown engine yours"),
        ('{"mine": [0.5, 1]}', "{}", 20, "query 2: missing 'mine'"),
        ('"hash": "hash of q1"', '"hash": 1', 20, "hash: expected a string, got 1"),
        ('"role": "candidate"', '"role": "winner"', None, "role: expected one of"),
        ('"repeats": 1', '"repeats": 2', None, "expected one mean and one digest per repeat"),
        ('"repeats": 1', '"repeats": "1"', None, "repeats: expected an integer, got '1'"),
        ('"failed": 0', '"failed": 99', None, "expected 'failed' from 0 to 48, got 99"),
        ('"failed": 0', '"failed": 48', None, "has 48 failures, its queries have 0"),
        ('"k": 10,', "", None, "missing setting 'k'"),
        ('"k": 10,', '"k": 10,\n"k": 5,', None, "duplicate key 'k'"),
        ('"k": 10,', '"k": 1e400,', None, "expected a finite number, got 1e400"),
        ('"k": 10,', f'"k": {"9" * 5000},', None, "invalid JSON: Exceeds the limit"),
        ('"k": 10,', '"k": 0,', None, "k: expected at least 1, got 0"),
        ('"RR@10"', '"RR@ten"', None, "RR@ten"),
    ],
)
def test_spoiled_baseline_is_told_with_its_line(tmp_path, old, new, line, said):
    written(tmp_path, run_of(OLD))
    file = tmp_path / "baseline.json"
    text = file.read_text()
    assert old in text
    file.write_text(text.replace(old, new, 1))
    with pytest.raises(InputError) as raised:
        read_baseline(file)
    assert said in str(raised.value)
    assert raised.value.line == line
    assert raised.value.exit_code == 2


JUNK: tuple[object, ...] = (None, True, -1, 0, 2, 10**400, 0.5, "", "x", [], [None], {}, {"x": 1})


def places_in(value):
    """List every place of a JSON value, as the container and its key."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [place for key, item in inside for place in ((value, key), *places_in(item))]


@pytest.mark.parametrize("edits", [100, pytest.param(400, marks=pytest.mark.nightly)])
def test_no_edit_of_a_baseline_is_a_bug_of_ours(tmp_path, edits):
    """Whatever is put in the place of a value, taken out or cut off: it is refused, or compared as what it says."""
    written(tmp_path, run_of(OLD[:12]))
    file, new = tmp_path / "baseline.json", gather((run_of(NEW[:12]),), PLAN.measures, "new")
    text, chance, refused = file.read_text(), random.Random(1), 0
    for _ in range(edits):
        data = json.loads(text)
        holder, key = chance.choice(places_in(data))
        if chance.random() < 0.2:
            del holder[key]
        else:
            holder[key] = chance.choice(JUNK)
        edited = json.dumps(data)
        file.write_text(edited if chance.random() < 0.9 else edited[: chance.randrange(len(edited))])
        try:
            compare_sides(read_baseline(file), new, PLAN)
        except (InputError, NotComparableError):
            refused += 1
    assert refused > 0.75 * edits


def test_measure_that_lost_its_values_is_compared_on_what_is_left_or_not_at_all(tmp_path):
    plan = replace(PLAN, measures=("Displacement@10",))
    new = gather((run_of(OLD),), plan.measures, "new")
    values = new.scores.values.copy()
    values[:, :, :] = 0.5
    whole = replace(new, scores=replace(new.scores, values=values))
    for left, comparable in ((40, True), (20, False)):
        fewer = values.copy()
        fewer[:, :, left:] = math.nan
        old = replace(whole, name="old", scores=replace(new.scores, values=fewer))
        if comparable:
            said = compare_sides(old, whole, plan).notes
            assert "Compared on the 40 of 48 queries with a value of Displacement@10 that are the same" in " ".join(
                said
            )
        else:
            with pytest.raises(NotComparableError, match="only 20 of 48 queries with a value of Displacement@10"):
                compare_sides(old, whole, plan)


def test_other_files_are_no_baseline_and_other_versions_are_not_comparable(tmp_path):
    file = tmp_path / "baseline.json"
    for text in ("[]", "{}", '{"schema": "assay/gate/1"}'):
        file.write_text(text)
        with pytest.raises(InputError, match="not a baseline file"):
            read_baseline(file)
    file.write_text('{"schema": "assay/baseline/1"}')
    with pytest.raises(NotComparableError, match="assay/baseline/1"):
        read_baseline(file)
    file.write_text('{"schema": "assay/baseline/3", "matching": 1}')
    with pytest.raises(NotComparableError, match="recorded under matching rule 1") as caught:
        read_baseline(file)
    assert caught.value.hint == f"record it again: assay gate RESULTS --write-baseline {file}"
    with pytest.raises(InputError, match="cannot read the file"):
        read_baseline(tmp_path / "none.json")


def test_baseline_refuses_what_two_runs_refuse(tmp_path):
    old, new = written(tmp_path, run_of(OLD)), gather((run_of(NEW),), PLAN.measures, "new")
    moved = gather((hashed(lab({"mine": NEW}), replace(FACTS, digest="other")),), PLAN.measures, "new")
    assert "corpus of gold0 changed" in compare_sides(old, moved, PLAN).notes[0]
    foreign = replace(moved, corpora={"gold0": replace(FACTS, digest="other", repository="elsewhere")})
    with pytest.raises(NotComparableError, match="corpus of gold0 is another repository: expected .*, got elsewhere"):
        compare_sides(old, foreign, PLAN)
    with pytest.raises(NotComparableError, match="5 results"):
        compare_sides(replace(old, k=5), new, PLAN)
    with pytest.raises(NotComparableError, match="has no nDCG@10 scores"):
        compare_sides(old, new, replace(PLAN, measures=("nDCG@10",)))
    fewer = replace(old, scores=replace(old.scores, units=tuple(replace(u, hash="x") for u in old.scores.units)))
    with pytest.raises(NotComparableError, match="only 0 of 48 queries"):
        compare_sides(fewer, new, PLAN)


def test_loosened_plan_is_told(tmp_path):
    old, new = written(tmp_path, run_of(OLD)), gather((run_of(NEW),), PLAN.measures, "new")
    notes = " ".join(compare_sides(old, new, replace(PLAN, margin=0.5)).notes)
    assert "margin 0.02 → 0.5" in notes
    assert "The analysis plan" not in " ".join(compare_sides(old, new, PLAN).notes)


def test_baseline_is_one_json_value(tmp_path):
    written(tmp_path, run_of(OLD))
    data = json.loads((tmp_path / "baseline.json").read_text())
    assert data["schema"] == "assay/baseline/3"
    assert data["analysis_plan"]["measures"] == list(PLAN.measures)
    assert len(data["queries"]) == len(OLD)
