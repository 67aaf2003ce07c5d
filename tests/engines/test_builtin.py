"""The reference engine under test keeps its laws through the adapter: update equals rebuild, a filter only removes."""

from assay.corpus import open_corpus, parse_spec
from assay.engines import make_engine
from assay.engines.base import FilteringSession, UpdatingSession, Wanted
from assay.engines.calling import ask, ask_filtered, open_session, update_session

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
    return [ask(session, query, 10).hits for query in QUERIES]


def filtered(session, query, wanted):
    answer = ask_filtered(session, query, 10, wanted)
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
        full = ask(session, query, 10).hits
        python = filtered(session, query, Wanted(languages=("python",)))
        assert python == tuple(hit for hit in full if hit.path.endswith(".py"))
        web = filtered(session, query, Wanted(paths=("web/**",)))
        assert web == tuple(hit for hit in full if hit.path.startswith("web/"))


def test_session_tells_what_it_can(tmp_path):
    session = make_engine("builtin").open(written(tmp_path, FILES))
    assert isinstance(session, FilteringSession)
    assert isinstance(session, UpdatingSession)
