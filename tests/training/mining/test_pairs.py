import pytest

from assay.corpus.file_types import LANGUAGES
from assay.training.config import Caps, CommitSelection, FileRules, MiningConfig, PairRules
from assay.training.pairs import path_words
from assay.training.shards import KINDS
from tests.training.mining.samples import DOCS, FILES, PYTHON, RUST, asking, make, mined, pairs, shard_of
from tests.training.toy import MIT


@pytest.fixture(scope="module")
def shard(tmp_path_factory):
    return shard_of(make(tmp_path_factory.mktemp("mined") / "toy+house", FILES))


@pytest.mark.parametrize(
    ("asked", "held", "language"),
    [
        ({"fill", "cup", "hot", "water", "rim"}, {"amount", "level", "drip", "pour", "pourwat"}, "python"),
        ({"vessel", "water", "boil"}, {"kettl", "amount"}, "python"),
        ({"decid", "stove", "guest"}, {"fire", "hour", "cold", "heat"}, "python"),  # with its decorator
        ({"tie", "vessel", "berth", "gate"}, {"moor", "rope", "err"}, "go"),
        ({"count", "seed", "sprout", "day"}, {"filt", "inlin", "age"}, "rust"),
        ({"move", "loaf", "shelf", "heat"}, {"lower", "target", "accept"}, "java"),
        ({"trim", "hedg", "grown", "height"}, {"enum", "map"}, "elixir"),
        ({"keep", "hedg", "garden", "year"}, {"defmodul"}, "elixir"),
        ({"ring", "bell", "tower", "hour"}, {"strike", "loud"}, "bash"),
    ],
)
def test_doc_comment_asks_for_what_it_documents(shard, asked, held, language):
    code = asking(shard, "doc", *asked)
    assert held <= set(code)
    rows = [n for n, k in enumerate(shard.kind) if KINDS[k] == "doc"]
    number = next(n for n, (query, _, _) in zip(rows, pairs(shard, "doc"), strict=True) if asked <= query)
    assert LANGUAGES[shard.language[number]] == language


def test_a_comment_is_not_in_the_code_it_asks_for(shard):
    assert "rim" not in asking(shard, "doc", "fill", "cup")
    assert "berth" in asking(shard, "doc", "tie", "berth")  # said in the code too
    assert not {"nearest", "gate"} & set(asking(shard, "doc", "tie", "berth"))
    assert "sprout" in asking(shard, "doc", "count", "sprout")  # by the name, which stays
    assert "decid" not in asking(shard, "doc", "decid", "stove")


def test_a_leading_name_and_sections_of_arguments_are_not_asked_for(shard):
    queries = [query for query, _, _ in pairs(shard, "doc")]
    assert not any("moor" in query for query in queries)
    assert not any("arg" in query or "param" in query for query in queries)


def test_name_asks_for_its_body_in_which_it_does_not_occur(shard):
    code = asking(shard, "name", "pour", "water")
    assert "drip" in code
    assert not {"pour", "water", "pourwat"} & set(code)  # the name was called in the body too
    assert "rim" not in code  # nor is the comment there
    assert any({"moor", "vessel"} <= query for query, _, _ in pairs(shard, "name"))


def test_short_bodies_and_names_of_one_word_ask_for_nothing(shard):
    assert not any("tini" in query for query, _, _ in pairs(shard, "name"))
    assert not any(query == {"kettl"} for query, _, _ in pairs(shard, "name"))


def test_some_names_are_asked_with_their_class(tmp_path):
    body = "        total = self.start\n        for item in basket:\n            total += item.price * item.amount\n"
    methods = "".join(
        f"    def weigh_{n}_fruit(self, basket):\n{body}        return total * {n}\n\n" for n in range(40)
    )
    shard = shard_of(make(tmp_path / "r", {"LICENSE": MIT, "market.py": f"class MarketStall:\n{methods}"}))
    with_class = [{"market", "stall"} <= query for query, _, _ in pairs(shard, "name") if "fruit" in query]
    assert 0 < sum(with_class) < len(with_class)


def test_path_asks_for_the_file_and_is_no_path_then(shard):
    found = {frozenset(query): (code, path) for query, code, path in pairs(shard, "path")}
    code, path = found[frozenset({"kitchen", "hot", "kettl"})]
    assert {"drip", "stove", "boil"} <= set(code)
    assert not path
    assert "somebodi" not in code  # the licence at the top is left out
    assert all(path for _, _, path in pairs(shard, "doc"))


def test_path_words_leave_out_what_says_nothing():
    assert path_words("src/main/java/shop/CartTotal.java") == ("shop", "cart", "total")
    assert path_words("12-cache/app_store.ts") == ("cache", "app", "store")
    assert path_words("parser/__init__.py") == ("parser",)


def test_heading_asks_for_its_section(shard):
    ((query, code, path),) = pairs(shard, "heading")
    assert {"handbook", "kettl", "clean"} <= query
    assert {"vinegar", "salt", "sun"} <= set(code)
    assert path == {"readm"}


def test_subject_asks_for_what_a_commit_wrote(tmp_path):
    folder = make(tmp_path / "toy+house", FILES)
    changed = PYTHON.replace("return stove.cold", "return stove.cold and not stove.guarded(thermometer)")
    make(
        folder,
        {"kitchen/hot_kettle.py": changed, "README.md": DOCS + "\n"},
        "fix(stove): leave guarded stoves alone (#12)",
    )
    make(folder, {"kitchen/hot_kettle.py": PYTHON}, "Merge branch 'cold'")
    make(folder, {"seeds/spring_sprouts.rs": RUST + "\n\n"}, "Bump version to 1.2.3 of everything")
    shard = shard_of(folder)
    ((query, code, path),) = pairs(shard, "commit")
    assert query == {"leav", "guard", "stove", "alon"}
    assert {"thermomet", "cold"} <= set(code)
    assert "hour" in code  # a line around the change
    assert "drip" not in code  # far from it
    assert {"hot", "kettl", "kitchen"} <= path


def test_wide_commits_and_tests_are_not_paired(tmp_path):
    folder = make(tmp_path / "r", {"LICENSE": MIT})
    body = "def gather_wood(forest, axe):\n    for tree in forest:\n        axe.fell(tree)\n    return forest.logs\n"
    make(folder, {f"part{n}/wood{n}.py": body + f"\n# {n}\n" for n in range(4)}, "Gather wood in all the forests")
    make(folder, {"tests/test_wood.py": body}, "Check that wood is gathered in forests")
    assert not pairs(shard_of(folder), "commit")


def test_each_pair_lies_in_its_file(shard):
    documented = [n for n, k in enumerate(shard.kind) if KINDS[k] in ("doc", "name", "path")]
    assert len({int(shard.file[n]) for n in documented}) == 6
    assert len(set(shard.key.tolist())) == len(shard)


def test_bags_rise_and_queries_count_once(shard):
    for side in (shard.query, shard.code, shard.path):
        for begin, end in zip(side.offset[:-1], side.offset[1:], strict=True):
            assert (side.term[begin:end][1:] > side.term[begin:end][:-1]).all()
    assert (shard.query.count == 1).all()
    assert (shard.path.count == 1).all()
    assert shard.code.count.max() > 1
    assert shard.words == tuple(sorted(shard.words))


def test_caps_keep_a_draw_that_depends_on_the_seed(tmp_path):
    body = (
        "    for item in items:\n        if item.weight > limit:\n            items.drop(item)\n    return items.rest\n"
    )
    text = "".join(f"def sort_{a}_{b}(items, limit):\n{body}\n\n" for a in "abcdefgh" for b in ("apples", "pears"))
    text = text.replace("sort_", "sort_by_")
    folder = make(tmp_path / "r", {"LICENSE": MIT, "fruit_sorting.py": text})
    drawn = []
    for seed in (0, 0, 1):
        report = mined(folder, MiningConfig(seed=seed, caps=Caps(name=5), pairs=PairRules(same=99))).report
        shard = shard_of(folder, MiningConfig(seed=seed, caps=Caps(name=5), pairs=PairRules(same=99)))
        assert len(pairs(shard, "name")) == 5
        assert report.dropped["over the cap"] > 0
        drawn.append(shard.key.tolist())
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2]


def test_duplicates_and_questions_asked_too_often_are_dropped(tmp_path):
    body = '    """Weigh the basket on the scale near the door."""\n    scale.load(basket)\n    settle(scale)\n'
    same = f"def weigh_basket(scale, basket):\n{body}    return scale.shown\n"
    files = {"LICENSE": MIT, "one.py": same, "two.py": same}
    files |= {f"other_{word}.py": same.replace("return", f"log(step_{word})\n    return") for word in "abcde"}
    report = mined(make(tmp_path / "r", files)).report
    assert report.dropped["duplicate"] >= 1
    assert report.dropped["repeated query"] >= 2
    assert report.pairs["doc"] == 4


def test_files_that_nobody_wrote_here_are_not_read(tmp_path):
    long = "x = [" + ", ".join(["alpha"] * 300) + "]\n"
    files: dict[str, str | bytes] = {
        "vendor/hot_kettle.py": PYTHON,
        "include/bundled/kettle_lid.py": PYTHON,
        "node_modules/kettle/hot_kettle.py": PYTHON,
        "proto/kettle_pb2.py": PYTHON,
        "made_kettle.py": "# This file was generated by a tool. Do not edit.\n" + PYTHON,
        "gpl_kettle.py": "# under the terms of the GNU General Public License\n" + PYTHON,
        "flat_kettle.py": long * 3,
        "numbers_kettle.py": "row = [1234567890, 1234567890]\n" * 20,
        "big_kettle.py": PYTHON * 600,
        "broken_kettle.py": b"def pour_water():\0\n",
    }
    report = mined(make(tmp_path / "r", {"LICENSE": MIT, **files})).report
    assert report.files == 0
    assert sum(report.pairs.values()) == 0
    assert {name: count for name, count in report.dropped.items() if count} == {
        "vendored file": 3,
        "generated file": 2,
        "file under another license": 1,
        "minified file": 1,
        "data file": 1,
        "large file": 1,
        "binary file": 1,
        "license file": 1,
        "uninformative subject": 1,
    }


def test_tests_are_at_most_their_share(tmp_path):
    files = {f"plain/thing{n}.py": f"{PYTHON}\n# {n}\n" for n in range(6)}
    files |= {f"tests/test_thing{n}.py": f"{PYTHON}\n# test {n}\n" for n in range(12)}
    folder = make(tmp_path / "r", {"LICENSE": MIT, **files})
    assert mined(folder).report.files == 6 + 2
    assert mined(folder, MiningConfig(files=FileRules(code=4))).report.files == 3 + 1


def test_rules_of_commits_are_obeyed(tmp_path):
    folder = make(tmp_path / "r", {"LICENSE": MIT, "kitchen/kettle.py": PYTHON})
    for n in range(6):
        text = f"{PYTHON}\n\ndef polish_{n}(pan):\n    pan.rub({n})\n    pan.rinse()\n    return pan.shine\n"
        make(folder, {"kitchen/kettle.py": text}, f"Polish pans with method {'abcdef'[n] * 3} from now on")
    few = MiningConfig(commits=CommitSelection(read=2))
    assert len(pairs(shard_of(folder), "commit")) == 6
    assert len(pairs(shard_of(folder, few), "commit")) == 2
    assert not pairs(shard_of(folder, MiningConfig(commits=CommitSelection(bytes=1))), "commit")


def test_text_that_is_not_english_or_says_little_is_not_asked(tmp_path):
    body = "    stove.light()\n    pan.heat(stove)\n    return pan.ready(stove.flame)\n\n\n"
    docs = [
        "Готовит кастрюлю на плите до готовности",
        "Does it.",
        "TODO find out what it is for",
        "@param pan is heated",
    ]
    text = "".join(f'def cook{n}(pan, stove):\n    """{doc}"""\n{body}' for n, doc in enumerate(docs))
    report = mined(make(tmp_path / "r", {"LICENSE": MIT, "cook.py": text})).report
    assert report.pairs["doc"] == 0
    assert report.dropped["uninformative comment"] == len(docs)
