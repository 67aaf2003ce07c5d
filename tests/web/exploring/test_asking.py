"""A query asked again, over the corpus of the run and no other."""

import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from assay.experiment import read_run, write_run
from assay.search.building import build_table
from assay.web.exploring.asking import Asker
from assay.web.exploring.library import Library
from assay.web.exploring.limits import ExploringLimits
from assay.web.exploring.routes import explorer_routes
from assay.web.server import serve
from tests.web.asking import Client
from tests.web.exploring.serving import OLD, ask, listed, make_run, source


def test_asking_again_gives_what_the_run_has(client, runs):
    answer = ask(client, query="cart", form="human").json
    recorded = next(
        r
        for e in read_run(runs / "before").engines
        if e.name == "mine"
        for r in e.rankings
        if (r.query, r.form) == ("cart", "human")
    )
    assert [hit["path"] for hit in answer["hits"]] == [hit.path for hit in recorded.hits]
    assert all(hit["rank"] == hit["before"] for hit in answer["hits"])
    assert (answer["gone"], answer["notes"]) == ([], [])
    assert answer["value"]["before"] == answer["value"]["after"]
    assert answer["trace"]["stages"]
    assert answer["trace"]["candidates"]


def test_other_settings_move_ranks(client):
    plain = ask(client, query="tax", form="human").json
    answer = ask(client, query="tax", form="human", changes={"search.dense.model": "static"}).json
    came = [hit for hit in answer["hits"] if hit["before"] is None]
    assert len(answer["hits"]) == len(plain["hits"]) + len(came)
    assert came, "meaning finds files without a word of the query"
    back = ask(client, "deep/after", query="tax", form="human", changes={"search.dense.model": ""}).json
    assert [hit["path"] for hit in back["gone"] if hit["rank"] is None], "and without it they are gone"
    assert all(hit["before"] is not None for hit in back["gone"])


def test_words_of_ones_own_are_asked_and_nothing_is_claimed_of_them(client):
    answer = ask(client, text="payment provider again").json
    assert answer["hits"][0]["path"] in ("retry.py", "test_retry.py")
    assert answer["value"] is None
    assert all(hit["target"] is None and hit["adversary"] is None for hit in answer["hits"])


def test_models_are_turned_on_and_off(client):
    assert ask(client, text="cart", changes={"search.dense.model": "static"}).status == 200
    assert (
        ask(
            client, name="deep/after", text="cart", changes={"search.dense.model": "", "search.translation.model": ""}
        ).status
        == 200
    )


def test_changed_corpus_is_told(repository, tmp_path, tmp_path_factory):
    root = tmp_path / "shop"
    shutil.copytree(repository, root)
    make_run(root / "gold.yaml", tmp_path / "results", OLD, cache=tmp_path_factory.mktemp("cache"))
    (root / "tax.py").write_text("nothing = 1\n", encoding="utf-8")
    with serve(explorer_routes([tmp_path / "results"])) as server:
        client = Client(server.start())
        answer = ask(client, name="results", query="tax", form="human").json
        assert "changed since the run" in answer["notes"][0]
        source = f"/api/run/{listed(client)['results']['id']}/source?gold=shop&path=tax.py"
        assert client.get(source).status == 404
        shutil.rmtree(root)
        gone = client.get(source)
        assert gone.status == 404
        assert "error" in gone.json


def test_run_is_asked_again_where_it_was_made_or_not_at_all(repository, runs, tmp_path, monkeypatch):
    one = read_run(runs / "before")
    monkeypatch.chdir(repository)
    gold = replace(one.suite.golds[0], source="gold.yaml")
    write_run(replace(one, suite=replace(one.suite, golds=(gold,))), tmp_path / "results/a")
    other = tmp_path / "other"  # has a set of this name too, which asks the same of other files
    other.mkdir()
    text = (repository / "gold.yaml").read_text(encoding="utf-8")
    (other / "gold.yaml").write_text(re.sub(r"(\w+)\.py", r"src/\1.js", text), encoding="utf-8")
    (other / "elsewhere.py").write_text("how = 'do we put items into the cart'\n", encoding="utf-8")
    monkeypatch.chdir(other)
    with serve(explorer_routes([tmp_path])) as server:
        client = Client(server.start())
        answer = ask(client, name="results/a", query="cart", form="human").json
        assert (answer["notes"], answer["hits"][0]["path"]) == ([], "cart.py")
        shutil.move(tmp_path / "results/a", tmp_path / "a")
        reply = ask(client, name="a", query="cart", form="human")
        assert reply.status == 400
        assert reply.error.startswith("the gold set shop that this run asked is not here: gold.yaml")
        assert "not here" in source(client, "cart.py", name="a").error


def test_index_is_made_once_for_settings_of_the_query(runs, monkeypatch):
    built: list[object] = []

    def build(corpus, *rest, **given):
        built.append(corpus)
        return build_table(corpus, *rest, **given)

    monkeypatch.setattr("assay.search.sharing.build_table", build)
    monkeypatch.setattr("assay.artefacts.Artefacts.obtain", lambda self, kind, key, fill: _filled(fill))
    with serve(explorer_routes([runs], limits=ExploringLimits(indexes=2))) as server:
        client = Client(server.start())
        for weight in (0.1, 0.2, 0.3):
            assert ask(client, text="cart", changes={"search.stem.files": weight}).status == 200
        assert len(built) == 1
        for size in (10, 20, 30):
            changes = {"search.index.chunks.kind": "lines", "search.index.chunks.size": size}
            assert ask(client, text="cart", changes=changes).status == 200
        assert len(built) == 4


def _filled(fill):
    """Make an artefact anew, as if none were kept."""
    import tempfile

    folder = Path(tempfile.mkdtemp())
    fill(folder)
    return folder


def test_many_ask_at_once_and_get_the_same(client):
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(6) as pool:
        answers = list(
            pool.map(
                lambda n: ask(client, query="retry", form="keyword", changes={"search.stem.files": n % 2}).json,
                range(12),
            )
        )
    hits = [[hit["path"] for hit in one["hits"]] for one in answers]
    assert hits[::2] == [hits[0]] * 6
    assert hits[1::2] == [hits[1]] * 6


def test_corpora_that_are_not_here_are_not_fetched(runs, tmp_path, monkeypatch):
    from assay.types import CorpusSpec
    from assay.web.exploring.opening import Runs

    one = read_run(runs / "before")
    gold = replace(one.suite.golds[0], corpus=CorpusSpec("git", "https://example.invalid/x.git", "main"))
    write_run(replace(one, suite=replace(one.suite, golds=(gold,))), tmp_path / "run")
    monkeypatch.setattr("assay.web.exploring.asking.reopen", lambda *_: pytest.fail("it was opened, and so fetched"))
    library = Library([tmp_path])
    opened = Runs(library).open(library.scan()[0].id)
    with pytest.raises(Exception, match="cache"):
        Asker(library.limits).place(opened, opened.run.suite.golds[0])
