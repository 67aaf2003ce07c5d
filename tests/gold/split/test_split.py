"""Parts of a set: divided so that nothing hangs over, and sealed queries kept from those who tune."""

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.errors import ConfigError, GoldError
from assay.gold.split import (
    SPLITS,
    SplitMethod,
    SplitOptions,
    SplitShares,
    assign_splits,
    read_split_method,
    refuse_sealed,
    sealed_queries,
    select,
    split_of,
    store_split_method,
)
from assay.types import CorpusSpec, GoldSet, Query, Span, Suite, Target
from tests.properties import examples


def query(name, *anchors, part=None, **tags):
    """Make a query; an anchor is `path`, `path:1-9` or `path::symbol`, with `=1` for a secondary."""
    targets = []
    for text in anchors:
        where, _, grade = text.partition("=")
        path, _, symbol = where.partition("::")
        path, _, lines = path.partition(":")
        start, _, end = lines.partition("-")
        span = Span(path, int(start), int(end)) if lines else Span(path)
        targets.append(Target(span, int(grade or 2), symbol or None))
    return Query(name, {"human": f"{name}?"}, tuple(targets), tags=tags | ({"split": part} if part else {}))


def suite(*queries, name="gold", corpus="."):
    return Suite((GoldSet(name, CorpusSpec("path", corpus), queries, source="gold.yaml"),))


def parts(divided):
    return {q.id: split_of(q) for gold in divided.suite.golds for q in gold.queries}


modules = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 5), st.booleans()), min_size=20, max_size=60)


@examples(40)
@given(drawn=modules, seed=st.integers(0, 5))
def test_no_module_and_no_shared_target_is_in_two_parts(drawn, seed):
    queries = [
        query(f"q{n}", f"m{module}/f{file}.py:{n}-{n}", *([f"shared/s{file}.py=1"] if shared else []))
        for n, (module, file, shared) in enumerate(drawn)
    ]
    try:
        found = parts(assign_splits(suite(*queries), SplitOptions(seed=seed)))
    except GoldError:
        return  # everything hangs together
    homes: dict[str, set] = {}
    for one in queries:
        for target in one.targets:
            unit = target.span.path.partition("/")[0] if target.grade == 2 else target.span.path
            homes.setdefault(unit, set()).add(found[one.id])
    assert all(len(home) == 1 for home in homes.values())
    assert set(found.values()) == set(SPLITS)


@examples(20)
@given(seed=st.integers(0, 100))
def test_the_same_seed_gives_the_same_parts(seed):
    some = suite(*(query(f"q{n}", f"m{n % 9}/f.py:{n + 1}-{n + 1}") for n in range(30)))
    assert assign_splits(some, SplitOptions(seed=seed)) == assign_splits(some, SplitOptions(seed=seed))


def test_another_seed_gives_other_parts():
    some = suite(*(query(f"q{n}", f"m{n}/f.py") for n in range(40)))
    assert len({tuple(parts(assign_splits(some, SplitOptions(seed=seed))).values()) for seed in range(5)}) == 5


def test_parts_have_their_share_in_all_and_in_each_stratum():
    queries = [
        query(f"q{n}", f"m{n}/f.py", category="ab"[n % 2], difficulty="hard" if n % 3 == 0 else "standard")
        for n in range(120)
    ]
    found = assign_splits(suite(*queries), SplitOptions())
    assert found.sizes == {"dev": 60, "test": 30, "sealed": 30}
    assert set(found.strata) == {"category=a", "category=b", "difficulty=hard", "difficulty=standard"}
    for counts in found.strata.values():
        total = sum(counts.values())
        assert all(
            abs(counts[part] - share * total) <= 1 for part, share in zip(SPLITS, (0.5, 0.25, 0.25), strict=True)
        )


def test_shares_are_what_was_asked_for():
    some = suite(*(query(f"q{n}", f"m{n}/f.py") for n in range(50)))
    found = assign_splits(some, SplitOptions(shares=SplitShares(0.8, 0.2, 0.0)))
    assert found.sizes == {"dev": 40, "test": 10, "sealed": 0}


@pytest.mark.parametrize("shares", [(0.5, 0.5, 0.5), (1.5, -0.5, 0.0), (0.3, 0.3, 0.3)])
def test_shares_make_a_whole(shares):
    with pytest.raises(ConfigError, match="sum to 1"):
        SplitShares(*shares)


@pytest.mark.parametrize(
    ("given", "shares"),
    [
        ({}, (0.5, 0.25, 0.25)),
        ({"sealed": 0.0}, (2 / 3, 1 / 3, 0)),
        ({"dev": 0.6}, (0.6, 0.2, 0.2)),
        ({"dev": 0.6, "test": 0.4}, (0.6, 0.4, 0)),
        ({"dev": 1.0}, (1, 0, 0)),
    ],
)
def test_shares_that_are_not_given_divide_the_rest(given, shares):
    assert SplitShares.of(**given).values() == pytest.approx(shares)


def test_shares_that_are_all_given_make_a_whole():
    with pytest.raises(ConfigError, match="sum to 1"):
        SplitShares.of(dev=0.5, test=0.2, sealed=0.2)
    with pytest.raises(ConfigError, match="sum to 1"):
        SplitShares.of(dev=0.9, test=0.2)


@pytest.mark.parametrize(
    ("division", "said"),
    [
        (SplitOptions(), "by module, seed 0"),
        (SplitOptions(by="module", depth=1, seed=4), "by module of 1 folder, seed 4"),
        (SplitOptions(by="module", depth=12), "by module of 12 folders, seed 0"),
        (SplitOptions(by="repository"), "by repository, seed 0"),
    ],
)
def test_a_set_remembers_how_it_was_divided(division, said):
    gold = store_split_method(suite(query("a", "a.py")).golds[0], division)
    assert gold.provenance["split"] == said
    assert read_split_method(Suite((gold,))) == SplitMethod(division.by, division.depth)
    other = store_split_method(gold, replace(division, by="file", depth=None))
    assert read_split_method(Suite((gold, other))) is None
    assert read_split_method(suite(query("a", "a.py"))) is None


def test_a_module_is_the_folder_to_a_depth():
    some = suite(*(query(f"q{n}", f"src/{'abc'[n % 3]}/sub{n}/f.py") for n in range(12)))
    assert assign_splits(some, SplitOptions()).groups == 12
    assert assign_splits(some, SplitOptions(depth=2)).groups == 3
    with pytest.raises(GoldError, match="1 group of queries cannot form"):
        assign_splits(some, SplitOptions(depth=1))


def test_by_file_a_folder_may_be_torn_and_a_file_not():
    some = suite(*(query(f"q{n}", f"m/f{n % 5}.py") for n in range(10)))
    divided = assign_splits(some, SplitOptions(by="file"))
    assert divided.groups == 5


def test_by_query_only_shared_targets_tie():
    queries = [query(f"q{n}", f"m/f{n}.py") for n in range(8)]
    assert assign_splits(suite(*queries), SplitOptions(by="query")).groups == 8
    with pytest.raises(GoldError, match="use --by file for more groups") as caught:
        assign_splits(suite(*queries), SplitOptions(by="module"))
    assert caught.value.file == "gold.yaml"


@pytest.mark.parametrize(
    ("one", "other", "together"),
    [
        ("m/a.py:1-9", "m/a.py:9-12", True),
        ("m/a.py:1-9", "m/a.py:10-12", False),
        ("m/a.py", "m/a.py:10-12", True),
        ("m/a.py::C", "m/a.py::C.run", True),
        ("m/a.py::C", "m/a.py::Cart", False),
        ("m/a.py::C", "m/a.py:1-9", True),  # without the code nobody can tell
        ("m/a.py", "m/b.py", False),
    ],
)
def test_queries_that_may_share_a_line_stay_together(one, other, together):
    some = [query("one", one), query("other", other), *(query(f"q{n}", f"n{n}/f.py") for n in range(6))]
    assert assign_splits(suite(*some), SplitOptions(by="query")).groups == (7 if together else 8)


def test_a_query_with_primaries_in_two_modules_ties_them():
    some = [query("both", "a/f.py", "b/f.py"), query("a", "a/g.py"), query("b", "b/g.py")]
    found = parts(assign_splits(suite(*some, *(query(f"q{n}", f"m{n}/f.py") for n in range(6))), SplitOptions()))
    assert found["both"] == found["a"] == found["b"]


def test_whole_repositories_stay_together():
    golds = tuple(
        GoldSet(
            f"g{n}", CorpusSpec("git", f"https://host/r{n % 4}"), tuple(query(f"q{i}", f"m{i}/f.py") for i in range(5))
        )
        for n in range(8)
    )
    found = assign_splits(Suite(golds), SplitOptions(by="repository"))
    homes: dict[str, set] = {}
    for gold in found.suite.golds:
        homes.setdefault(gold.corpus.repository, set()).update(split_of(q) for q in gold.queries)
    assert found.groups == 4
    assert all(len(home) == 1 for home in homes.values())


def test_queries_that_have_a_part_keep_it_and_new_ones_join_their_module():
    some = [query(f"q{n}", f"m{n}/f.py") for n in range(20)]
    first = assign_splits(suite(*some), SplitOptions(seed=3))
    grown = [*first.suite.golds[0].queries, *(query(f"new{n}", f"m{n}/g.py") for n in range(20)), query("x", "z/f.py")]
    second = assign_splits(suite(*grown), SplitOptions(seed=4))
    found = parts(second)
    assert all(found[f"q{n}"] == found[f"new{n}"] == parts(first)[f"q{n}"] for n in range(20))
    assert second.already_split == 20
    assert assign_splits(suite(*grown), SplitOptions(seed=4, reassign=True)).already_split == 0


def test_a_new_query_that_ties_two_parts_together_is_refused():
    some = [query("a", "a/f.py", part="dev"), query("b", "b/f.py", part="sealed"), query("c", "c/f.py", part="test")]
    with pytest.raises(GoldError, match="queries 'a' .dev. and 'b' .sealed. must be in the same split"):
        assign_splits(suite(*some, query("ab", "a/g.py", "b/g.py")), SplitOptions())


def test_a_part_that_nobody_knows_is_refused():
    with pytest.raises(GoldError, match="unknown split 'train'"):
        assign_splits(
            suite(query("a", "a/f.py", part="train"), *(query(f"q{n}", f"m{n}/f") for n in range(4))), SplitOptions()
        )


def test_sealed_queries_are_left_out_unless_asked_for():
    some = suite(query("a", "a.py", part="dev"), query("b", "b.py", part="sealed"), query("c", "c.py"))
    usual = select(some)
    assert [q.id for q in usual.suite.golds[0].queries] == ["a", "c"]
    assert (usual.left_out, usual.sealed) == (1, 1)
    sealed = select(some, ("sealed",))
    assert [q.id for q in sealed.suite.golds[0].queries] == ["b"]
    assert (sealed.left_out, sealed.sealed) == (2, 0)
    both = select(some, ("dev", "sealed"))
    assert [q.id for q in both.suite.golds[0].queries] == ["a", "b"]
    assert select(suite(query("a", "a.py"))).left_out == 0


def test_a_misspelt_part_is_an_error_and_not_an_empty_run():
    some = suite(query("a", "a.py", part="dev"), query("b", "b.py", part="sealed"))
    with pytest.raises(ConfigError, match="no query in split") as caught:
        select(some, ("seald",))
    assert caught.value.hint == "did you mean sealed?"
    with pytest.raises(ConfigError) as caught:
        select(suite(query("a", "a.py")), ("dev",))
    assert "assay gold split" in (caught.value.hint or "")


def test_a_set_that_is_sealed_whole_is_not_asked_by_accident():
    with pytest.raises(GoldError, match="all queries are sealed"):
        select(suite(query("b", "b.py", part="sealed")))


def test_tuning_commands_are_refused_sealed_queries():
    some = suite(query("a", "a.py", part="dev"), query("b", "b.py", part="sealed"))
    with pytest.raises(GoldError, match="ablation would access 1 sealed query") as caught:
        refuse_sealed(some, "ablation")
    assert caught.value.exit_code == 2
    assert "--split dev" in (caught.value.hint or "")
    refuse_sealed(select(some).suite, "ablation")
    assert [q.id for q in sealed_queries(some.golds[0])] == ["b"]


def test_dividing_changes_tags_and_nothing_else():
    some = suite(*(query(f"q{n}", f"m{n}/f.py", category="x") for n in range(12)))
    found = assign_splits(some, SplitOptions())
    bare = [replace(q, tags={k: v for k, v in q.tags.items() if k != "split"}) for q in found.suite.golds[0].queries]
    assert tuple(bare) == some.golds[0].queries
    assert Counter(parts(found).values()) == Counter(found.sizes)
