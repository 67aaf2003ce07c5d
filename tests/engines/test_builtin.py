"""The reference engine under test keeps its laws through the adapter: update equals rebuild, a filter only removes."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

import assay.data
from assay.corpus import open_corpus, parse_spec
from assay.engines import make_engine
from assay.engines.base import FilteringSession, SearchFilter, SharedCache, UpdatingSession, cached_steps
from assay.engines.builtin import BuiltinEngine, BuiltinSession
from assay.engines.calls import open_session, query_filtered, query_session, update_session
from assay.errors import ConfigError, SetupError
from assay.search import Index
from assay.search.config import STAGES, setting_hints
from assay.search.dense import embed_table
from assay.search.view import CorpusView, make_translator
from assay.store.store import Store
from tests.search.samples import SAMPLES
from tests.serving import talking

FILES = {
    "shop/cart.py": "class Cart:\n    def total(self):\n        return sum(self.prices)\n",
    "shop/tax.py": "def tax(total):\n    return total * 0.19\n",
    "web/cart.js": "function total(prices) { return prices.reduce((a, b) => a + b) }\n",
}
QUERIES = ("cart total", "tax", "prices")


def written(root, files):
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)
    return open_corpus(parse_spec(str(root)))


def rankings(session):
    return [query_session(session, query, 10).hits for query in QUERIES]


def filtered(session, query, wanted):
    answer = query_filtered(session, query, 10, wanted)
    assert answer is not None
    return answer.hits


def test_updated_session_answers_as_one_built_anew(tmp_path):
    engine = make_engine("builtin")
    session = open_session(engine, written(tmp_path, FILES)).session
    before = rankings(session)
    (tmp_path / "shop/tax.py").unlink()
    changed = written(tmp_path, {"shop/price.py": "def prices(cart):\n    return cart.total()\n"})
    updated = update_session(session, changed)
    assert updated is not None
    assert updated.status == "ok"
    assert rankings(session) == rankings(open_session(engine, changed).session) != before


def test_filtered_ranking_is_the_full_one_with_the_others_struck_out(tmp_path):
    session = open_session(make_engine("builtin"), written(tmp_path, FILES)).session
    for query in QUERIES:
        full = query_session(session, query, 10).hits
        python = filtered(session, query, SearchFilter(languages=("python",)))
        assert python == tuple(hit for hit in full if hit.path.endswith(".py"))
        web = filtered(session, query, SearchFilter(paths=("web/**",)))
        assert web == tuple(hit for hit in full if hit.path.startswith("web/"))


def test_session_tells_what_it_can(tmp_path):
    session = make_engine("builtin").open(written(tmp_path, FILES))
    assert isinstance(session, FilteringSession)
    assert isinstance(session, UpdatingSession)


def test_search_settings_never_index_again_and_a_chunking_costs_only_its_own(tmp_path):
    corpus = written(tmp_path / "corpus", FILES)
    kept = Store(tmp_path / "artefacts")
    shelf = SharedCache(corpus, kept)
    opened(shelf, {}, {"dense": {"language": 0.1}}, {"stem": {"files": 0.1}}, {"without": ["gaps"]})
    opened(shelf, {"lexical": {"k1": 2.0}}, {"translation": {"model": ""}}, {"dense": {"reach": 3, "path": 2.0}})
    assert shelf.made == {"chunks": 1, "vectors": 1}
    opened(shelf, {"dense": {"model": ""}})
    assert shelf.made == {"chunks": 1, "vectors": 1}
    opened(shelf, {"dense": {"vectors": "int8"}})
    assert shelf.made == {"chunks": 1, "vectors": 2}
    opened(
        shelf, {"index": {"chunks": {"kind": "lines"}}}, {"index": {"chunks": {"kind": "lines"}}, "without": ["stem"]}
    )
    assert shelf.made == {"chunks": 2, "vectors": 3}


def made(**settings: object) -> BuiltinEngine:
    engine = make_engine({"kind": "builtin", **settings})
    assert isinstance(engine, BuiltinEngine)
    return engine


def opened(shelf, *searches):
    for search in searches:
        made(search=search).open_shared(shelf.corpus, shelf, None).search("cart", 10)


def test_what_was_kept_is_not_made_again(tmp_path):
    corpus = written(tmp_path / "corpus", FILES)
    engine = made()
    assert cached_steps(engine, corpus.digest, Store(tmp_path / "artefacts")) == frozenset()
    opened(SharedCache(corpus, Store(tmp_path / "artefacts")), {})
    later = SharedCache(corpus, Store(tmp_path / "artefacts"))
    assert cached_steps(engine, corpus.digest, Store(tmp_path / "artefacts")) == {"chunks", "vectors"}
    opened(later, {"stem": {"files": 0.1}})
    assert later.made == {}
    (tmp_path / "corpus" / "new.py").write_text("def new(): pass\n")
    changed = SharedCache(open_corpus(parse_spec(str(tmp_path / "corpus"))), Store(tmp_path / "artefacts"))
    opened(changed, {})
    assert changed.made == {"chunks": 1, "vectors": 1}


def test_broken_artefact_is_made_anew_with_the_same_answers(tmp_path):
    corpus = written(tmp_path / "corpus", FILES)
    wanted = rankings(make_engine("builtin").open(corpus))
    opened(SharedCache(corpus, Store(tmp_path / "artefacts")), {})
    for file in (tmp_path / "artefacts").rglob("*.assay"):
        file.write_bytes(file.read_bytes()[:-1])
    kept = Store(tmp_path / "artefacts")
    shelf = SharedCache(corpus, kept)
    assert rankings(made().open_shared(corpus, shelf, None)) == wanted
    assert shelf.made == {"chunks": 1, "vectors": 1}
    assert len(kept.troubles) == 2


def test_cache_that_cannot_be_written_only_costs_time(tmp_path):
    corpus = written(tmp_path / "corpus", FILES)
    (tmp_path / "file").write_text("no folder")
    kept = Store(tmp_path / "file" / "artefacts")
    shelf = SharedCache(corpus, kept)
    session = made().open_shared(corpus, shelf, None)
    assert rankings(session) == rankings(make_engine("builtin").open(corpus))
    assert [trouble.rpartition("; ")[2] for trouble in kept.troubles] == [
        "the chunks are not cached",
        "the vectors are not cached",
    ]


def test_failure_of_the_making_itself_is_told_once(tmp_path, naps):
    corpus = written(tmp_path / "corpus", {"one.py": "def one(): pass\n"})
    kept = Store(tmp_path / "artefacts")
    with talking(lambda visitor: None) as server:  # it hangs up, whoever comes
        described = made(search={"index": {"description": {"url": server.url.split("?")[0], "model": "m"}}})
        with pytest.raises(SetupError, match="cannot be reached"):
            described.open(corpus)
        once = len(server.visits)
        with pytest.raises(SetupError, match="cannot be reached"):
            described.open_shared(corpus, SharedCache(corpus, kept), None)
    assert len(server.visits) == 2 * once
    assert kept.troubles == []


def test_table_of_files_that_changed_meanwhile_is_not_kept(tmp_path):
    corpus = written(tmp_path / "corpus", FILES)
    (tmp_path / "corpus" / "shop" / "tax.py").write_text("def other(): pass\n")
    kept = Store(tmp_path / "artefacts")
    shelf = SharedCache(corpus, kept)
    assert query_session(made().open_shared(corpus, shelf, None), "other", 1).hits[0].path == "shop/tax.py"
    assert not any(kind.kind == "tables" for kind in kept.usage())


def test_shared_session_follows_its_files_and_leaves_the_others_alone(tmp_path):
    corpus = written(tmp_path, FILES)
    shelf = SharedCache(corpus)
    one, other = (made().open_shared(corpus, shelf, None) for _ in range(2))
    before = rankings(other)
    changed = written(tmp_path, {"shop/price.py": "def prices(cart):\n    return cart.total()\n"})
    update_session(one, changed)
    assert rankings(one) == rankings(make_engine("builtin").open(changed)) != before
    assert rankings(other) == before


def test_steps_tell_which_settings_decide_what():
    plain = made().steps()
    assert [step.name for step in plain] == ["chunks", "vectors", "candidates", "ranking"]
    first_changed: dict[str, list[dict[str, object]]] = {
        "chunks": [{"index": {"chunks": {"kind": "file"}}}, {"index": {"fields": {"doc": 1.0}}}],
        "vectors": [{"dense": {"vectors": "int8"}}, {"dense": {"model": ""}}, {"dense": {"docs_model": "static"}}],
        "candidates": [{"dense": {"language": 0.1}}, {"lexical": {"b": 0.1}}, {"translation": {"most": 2}}],
        "ranking": [
            {"stem": {"files": 0.1}},
            {"without": ["stem"]},
            {"growth": {"lines": 9}},
            {"graph": {"definers": 9}},
        ],
    }
    for name, searches in first_changed.items():
        for search in searches:
            steps = made(search=search).steps()
            assert next(a.name for a, b in zip(plain, steps, strict=True) if a.digest != b.digest) == name
    spans = made(per="span").steps()
    assert [a.digest == b.digest for a, b in zip(plain, spans, strict=True)] == [True, True, False, False]


def test_identity_follows_settings_and_models(tmp_path):
    plain = made().identity
    assert plain == made().identity is not None
    assert made(per="span").identity != plain
    assert made(search={"stem": {"files": 0.1}}).identity != plain
    model = tmp_path / "model"
    shutil.copytree(Path(assay.data.__path__[0]) / "model", model)
    own = {"dense": {"model": f"static:{model}"}}
    first = made(search=own).identity
    assert first not in (None, plain)
    (model / "vocabulary.txt").write_text("other\n")
    assert made(search=own).identity not in (None, first)


@pytest.mark.parametrize(
    "search",
    [
        {"dense": {"model": "openai:http://127.0.0.1:9/v1#m"}},
        {"dense": {"docs_model": "fastembed:a-published-name"}},
        {"rerank": {"model": "rerank:http://127.0.0.1:9#m"}},
        {"index": {"description": {"url": "http://127.0.0.1:9/v1", "model": "m"}}},
    ],
)
def test_identity_of_what_may_change_unseen_is_not_known(search):
    engine = made(search=search)
    assert engine.identity is None
    assert len(engine.steps()) == 4, "and nobody was asked for that"


NUMBERS = sorted(key for key, hint in setting_hints().items() if hint in (int, float))
CHOICES = {
    "index.chunks.kind": ("ast", "lines", "file"),
    "dense.vectors": ("float32", "int8", "binary"),
    "dense.model": ("static", ""),
    "dense.docs_model": ("static", ""),
    "dense.fusion": ("relative", "max", "zscore", "rrf"),
    "translation.model": ("static", ""),
    "without": tuple((stage,) for stage in STAGES),
}
CROWD = {
    f"{folder}/order_{n}.py": "".join(
        f"class Cart{n}{m}(Order):\n    LIMIT = {m}\n\n    def {verb}_item(self, price):\n"
        f"        # {verb} what is put in the cart, {'again ' * m}\n        return delete(price_of(self)) * {m}\n\n\n"
        for m, verb in enumerate(("put", "take", "order", "deliver"))
    )
    for n, folder in enumerate(("shop", "shop", "tests", "examples"))
}
CROWD["shop/ledger.py"] = "def settle_up(account):\n    return account.balance\n"  # found by who uses it alone
CROWD["shop/cart_total.py"] = "def cart_total(cart):\n    return settle_up(cart.account)\n"
ASKED = ("cart total", "Cart", "where is an item put in?", "delete the order", "tax", "price_of", "", "日本", "the of")


def drawn(draw):
    """Draw settings: a few that differ from the default, whatever they may be."""
    while True:
        numbers = draw.sample(NUMBERS, draw.randint(0, 5))
        changes = {key: draw.choice((0, 1, 2, 3, 0.2, 0.5, 0.9, 1.5)) for key in numbers}
        changes |= {key: draw.choice(CHOICES[key]) for key in draw.sample(sorted(CHOICES), draw.randint(0, 3))}
        try:
            return made(per=draw.choice(("file", "span")), search=nested(changes))
        except ConfigError:
            continue


def nested(changes):
    tables: dict[str, Any] = {}
    for key, value in changes.items():
        *folders, last = key.split(".")
        table = tables
        for folder in folders:
            table = table.setdefault(folder, {})
        table[last] = value
    return tables


def alone(corpus, table, settings):
    """Open as `open` does, on a table that need not be made again."""
    config = settings.search
    dense, translator = embed_table(table, config.dense, None), make_translator(config.translation)
    return BuiltinSession(
        Index.around(corpus, CorpusView(table, config.graph, dense, translator), config), settings.per
    )


def every_setting_has_its_say(per, folder, queries, values):
    """Ask each variant beside one that shares nothing, and count answers that a setting changed."""
    corpus = written(folder, {name: SAMPLES[name] for name in ("cart.py", "README.md")} | FILES | CROWD)
    shelf = SharedCache(corpus)
    session = made(per=per).open_shared(corpus, shelf, None)
    table = Index.build(corpus).table
    said = 0
    for key in (key for key in setting_hints() if not key.startswith("index.")):
        for value in CHOICES.get(key, values):
            try:
                variant = made(per=per, search=nested({key: value}))
            except ConfigError:
                continue
            pair = [variant.open_shared(corpus, shelf, None), alone(corpus, table, variant)]
            for query in queries:
                session.search(query, 20)
                shared, own = (one.search(query, 20) for one in pair)
                assert shared == own, f"{key} = {value!r}"
                said += shared != session.search(query, 20)
    return said


def test_every_setting_of_a_search_has_its_say_beside_one_that_differs_in_nothing_else(tmp_path):
    assert every_setting_has_its_say("span", tmp_path, ("where is an item put in?", "cart total"), (3,)) > 10


@pytest.mark.nightly
@pytest.mark.parametrize("per", ["file", "span"])
def test_every_value_of_a_setting_has_its_say_beside_one_that_differs_in_nothing_else(per, tmp_path):
    assert every_setting_has_its_say(per, tmp_path, ASKED, (0, 1, 3, 0.25)) > 100


@pytest.mark.parametrize("seed", [pytest.param(0, marks=pytest.mark.nightly), 3])
def test_shared_answers_are_those_of_an_engine_that_shares_nothing(seed, tmp_path):
    same_whatever_was_shared(seed, tmp_path, engines=4)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(44))
def test_shared_answers_are_those_of_an_engine_that_shares_nothing_many(seed, tmp_path):
    same_whatever_was_shared(seed, tmp_path, engines=40)


def same_whatever_was_shared(seed, tmp_path, engines):
    draw = random.Random(seed)
    files = {path: SAMPLES[path] for path in draw.sample(sorted(SAMPLES), draw.randint(1, 4))}
    files |= {f"src/{n}.py": "\n".join(draw.choices(SAMPLES["cart.py"].split("\n"), k=80)) for n in range(3)}
    corpus = written(tmp_path / "corpus", files)
    variants = [drawn(draw) for _ in range(engines)]
    wanted = [[session.search(query, 20) for query in ASKED] for session in (each.open(corpus) for each in variants)]
    for _ in range(2):  # the second time all is found
        shelf = SharedCache(corpus, Store(tmp_path / "artefacts") if seed % 2 else None)
        sessions = [variant.open_shared(corpus, shelf, None) for variant in variants]
        order = [(v, q) for q in range(len(ASKED)) for v in range(engines)] * 2
        if seed % 4 > 1:
            draw.shuffle(order)
        for v, q in order:
            assert sessions[v].search(ASKED[q], 20) == wanted[v][q]
