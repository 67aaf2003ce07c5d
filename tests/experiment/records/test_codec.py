"""What an engine did, as JSON: one pair of functions, whatever it is written into."""

from dataclasses import fields, replace

from hypothesis import given
from hypothesis import strategies as st

from assay.experiment.cell_cache import CellResult, decode_cell, encode_cell
from assay.experiment.records.codec import decoder, engine_json, gold_json, ranking_json, read_engine
from assay.types import CorpusSpec, EngineRun, GoldSet, Hit, Query, Ranking, Resources, Span, Target, VariantInfo
from tests.properties import examples

FULL = EngineRun(
    name="mine",
    rankings=(Ranking("g", "q", "human", (Hit("a.py", 1, 2, 0.5),), (7,)),),
    role="reference",
    oversample=3,
    config={"kind": "builtin", "search": {"b": 1, "a": [2]}},
    index_seconds={"g": 1.5},
    notes=("a note",),
    resources={"g": Resources(index_bytes=9)},
    version="2.0",
    stderr={"g": "hm"},
    parallel=4,
    variation=VariantInfo("base", {"x": 1}, "sweep"),
    date="2026-01-01",
    fingerprint="tool",
    code="code",
)


def back(engine: EngineRun) -> EngineRun:
    """Write and read."""
    return read_engine(engine_json(engine), map(ranking_json, engine.rankings))


def test_gold_sets_with_irrelevant_targets_read_back_and_others_are_written_as_before():
    plain = Query("q", {"human": "?"}, (Target(Span("a.py"), 4),))
    judged = replace(plain, irrelevant=(Target(Span("b.py", 1, 2), 0),))
    for query in (plain, judged):
        gold = GoldSet("g", CorpusSpec("path", "."), (query,))
        assert decoder(GoldSet)(gold_json(gold)) == gold
        assert ("irrelevant" in gold_json(gold)["queries"][0]) == (query is judged)


def test_every_field_reads_back_but_those_that_the_run_says():
    said_by_the_run = {"assay", "environment"}
    plain = EngineRun("mine", ())
    assert back(FULL) == FULL
    assert back(plain) == plain
    # A field that somebody adds must be in FULL, and so in the pair.
    same = {field.name for field in fields(EngineRun) if getattr(FULL, field.name) == getattr(plain, field.name)}
    assert same == said_by_the_run | {"name"}


def test_roles_of_older_records_read_as_the_present_ones():
    assert read_engine({**engine_json(FULL), "role": "yardstick"}, ()).role == "reference"


@examples(50)
@given(st.sampled_from(["fingerprint", "code", "date", "version"]), st.text(max_size=5))
def test_texts_read_back(name, text):
    engine = replace(FULL, **{name: text})
    assert back(engine) == engine


def test_a_cell_keeps_all_but_what_it_is_a_variant_of():
    cell = CellResult(FULL, {"a.py": (1, 2)})
    assert decode_cell(encode_cell(cell)) == replace(cell, engine=replace(FULL, variation=None))


def test_settings_are_written_in_order():
    assert list(engine_json(FULL)["config"]["search"]) == ["a", "b"]
