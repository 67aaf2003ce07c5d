"""A model that describes units, through the whole index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from assay.errors import AssayError, ConfigError, EngineError, SetupError
from assay.search import Index, SearchConfig
from assay.search.building import index_key
from assay.search.config import DescriptionSettings, IndexConfig
from assay.search.query import find_words, word_terms
from assay.store.store import Store
from assay.types import Hit
from tests.search.conftest import write_files
from tests.search.samples import BY_WORDS
from tests.serving import Asked, Reply, Server, in_turn, serving

TOKEN = "sk-Zq81-very+secret/42"
KEY = "query-key-5150"
FILES = {
    "cart.py": "class Cart:\n    def total(self):\n        return sum(self.items)\n",
    "tax.py": "def rate(country):\n    return RATES[country]\n",
    "empty.py": "",
    "blank.py": "\n\n",
}
#: What the model says of a unit that holds the word on the left.
SAID = {
    "Cart": "Adds up what a customer owes.",
    "rate": "Looks up the levy of a jurisdiction.",
    "ship": "Posts parcels.",
}


def piece_of(asked: Asked) -> str:
    return str(asked.payload["messages"][1]["content"])


def describe(asked: Asked) -> Reply:
    said = next((line for word, line in SAID.items() if word in piece_of(asked)), "Nothing in particular.")
    return Reply({"choices": [{"message": {"content": said}}]})


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path / "repo", FILES)


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(describe) as running:
        yield running


def config_of(url: str, *, model: str = "m", weight: float = 1.0) -> SearchConfig:
    described = DescriptionSettings(f"{url}/v1/chat/completions?key={KEY}", model, "SHOP_TOKEN", weight)
    return replace(BY_WORDS, index=IndexConfig(description=described))


def found(index: Index, query: str) -> list[str]:
    return [hit.path for hit in index.search(query, pad=False)]


def terms_of(text: str) -> list[str]:
    return [term for run in find_words(text) for term in word_terms(run)]


def answers(index: Index) -> list[tuple[Hit, ...]]:
    queries = ("what does a customer owe?", "levy", "cart total", "parcels", "particular")
    return [index.search(query, 99, per=per) for query in queries for per in ("file", "span")]


def test_words_of_a_description_find_its_unit(root: Path, server: Server) -> None:
    assert found(Index.build(root, BY_WORDS), "jurisdiction levies") == []
    for index in (Index.build(root, config_of(server.url)), Index.open(root, config_of(server.url))):
        assert found(index, "jurisdiction levies") == ["tax.py"]
        assert found(index, "customers owe") == ["cart.py"]
        assert found(index, "cart") == ["cart.py"], "its own words still count"
        assert index.search("levy", per="span")[0].snippet == FILES["tax.py"]
    assert {asked.token for asked in server.asked} == {f"Bearer {TOKEN}"}


def test_weight_of_a_description_counts(root: Path, server: Server) -> None:
    write_files(root, {"a.py": "x = 1  # customer\n"})
    light, heavy = (Index.build(root, config_of(server.url, weight=weight)) for weight in (0.01, 9.0))
    assert found(light, "customer") == ["a.py", "cart.py"]
    assert found(heavy, "customer") == ["cart.py", "a.py"]
    before = len(server.asked)
    assert answers(Index.build(root, config_of(server.url, weight=0.0))) == answers(Index.build(root, BY_WORDS))
    assert len(server.asked) == before, "what would not count is not asked"


def test_described_unit_is_as_long_as_its_words(root: Path, server: Server) -> None:
    plain, described = Index.build(root, BY_WORDS).table, Index.build(root, config_of(server.url, weight=2.5)).table
    cart = plain.files.paths.index("cart.py")
    said = described.chunks.length - plain.chunks.length
    assert said[plain.chunks.file == cart].tolist() == [2.5 * len(terms_of(SAID["Cart"]))]
    counted = np.bincount(described.postings.chunk, described.postings.count, len(described.chunks))
    np.testing.assert_allclose(described.chunks.length, counted)


def test_blank_units_are_not_described(root: Path, server: Server) -> None:
    index = Index.build(root, config_of(server.url))
    assert len(server.asked) == 2
    assert found(index, "particular") == []
    assert found(index, "blank") == ["blank.py"]


def test_open_equals_build_and_asks_only_about_what_is_new(root: Path, server: Server) -> None:
    config = config_of(server.url)
    Index.open(root, config)
    assert len(server.asked) == 2
    Index.open(root, config)
    assert len(server.asked) == 2, "nothing changed"
    edits: list[tuple[dict[str, str | None], int]] = [
        ({"ship.py": "def ship(order):\n    send(order)\n"}, 1),
        ({"tax.py": None, "levies/tax.py": FILES["tax.py"]}, 0),  # moved
        ({"copy.py": FILES["cart.py"]}, 0),
        ({"cart.py": FILES["cart.py"] + "\n# ship\n"}, 1),
        ({"cart.py": FILES["cart.py"]}, 0),  # and back
        ({"ship.py": None}, 0),
    ]
    for edit, asked in edits:
        for path, text in edit.items():
            if text is None:
                (root / path).unlink()
            else:
                write_files(root, {path: text})
        before = len(server.asked)
        opened = Index.open(root, config)
        assert len(server.asked) - before == asked
        assert answers(opened) == answers(Index.build(root, config))


def test_build_reads_and_writes_no_cache(root: Path, server: Server, tmp_path: Path) -> None:
    config = config_of(server.url)
    Index.build(root, config)
    places = (tmp_path / "cache", tmp_path / "index")
    assert [path for place in places for path in place.rglob("*")] == []
    Index.open(root, config)
    before = len(server.asked)
    Index.build(root, config)
    assert len(server.asked) == before + 2


def test_another_model_is_asked_anew_and_another_address_is_not(root: Path, server: Server) -> None:
    Index.open(root, config_of(server.url))
    with serving(describe) as other:
        assert answers(Index.open(root, config_of(other.url))) == answers(Index.open(root, config_of(server.url)))
        assert not other.asked
        Index.open(root, config_of(other.url, model="n"))
        assert len(other.asked) == 2
        Index.open(root, config_of(other.url, weight=2.0))
        assert len(other.asked) == 2, "an index of its own, from what is remembered"


def test_shape_follows_what_decides_the_words(monkeypatch: pytest.MonkeyPatch) -> None:
    plain, first = index_key(IndexConfig()), config_of("http://127.0.0.1:1").index
    assert index_key(first) != plain
    assert index_key(replace(first, description=replace(first.description, model="n"))) != index_key(first)
    assert index_key(replace(first, description=replace(first.description, weight=2.0))) != index_key(first)
    assert index_key(replace(first, description=replace(first.description, token_env=""))) == index_key(first)
    assert index_key(replace(first, description=replace(first.description, url="http://other/v1"))) == index_key(first)
    assert index_key(IndexConfig(description=DescriptionSettings(model="n"))) == plain
    before = index_key(first)
    monkeypatch.setattr("assay.search.describe.prompt_version", lambda prompt: "another prompt")
    index_key.cache_clear()
    assert index_key(first) not in (before, plain)
    assert index_key(IndexConfig()) == plain
    index_key.cache_clear()


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        (Reply({"error": f"no {TOKEN} and {KEY}"}, status=403), EngineError),
        (Reply({"choices": []}), EngineError),
        (Reply({"choices": [{"message": {"content": " "}}]}), EngineError),
    ],
)
def test_failing_model_is_an_error_and_leaves_the_old_index(
    root: Path, server: Server, reply: Reply, kind: type[AssayError]
) -> None:
    config = config_of(server.url)
    wanted = answers(Index.open(root, config))
    place = next(Store().kind_dir("index").rglob("index.assay"))
    before = place.read_bytes()
    write_files(root, {"ship.py": "def ship(order):\n    send(order)\n"})
    with serving(in_turn(reply)) as broken:
        for make in (Index.open, Index.build):
            with pytest.raises(kind) as caught:
                make(root, config_of(broken.url))
            assert caught.value.exit_code == 4
            assert TOKEN not in str(caught.value)
            assert KEY not in str(caught.value)
    assert place.read_bytes() == before
    (root / "ship.py").unlink()
    assert answers(Index.open(root, config)) == wanted


def test_unreachable_model_is_an_error(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(SetupError) as caught:
        Index.open(root, config_of("http://127.0.0.1:1"))
    assert caught.value.exit_code == 4
    assert not list(Store().kind_dir("index").rglob("index.assay"))


def test_settings_that_no_call_could_use_are_refused(root: Path) -> None:
    for settings in (
        DescriptionSettings("ftp://host", "m"),
        DescriptionSettings("http://127.0.0.1:1"),
        DescriptionSettings("http://user:password@127.0.0.1:1", "m"),
    ):
        config = SearchConfig(index=IndexConfig(description=settings))
        for make in (Index.open, Index.build):
            with pytest.raises(ConfigError) as caught:
                make(root, config)
            assert "password@" not in str(caught.value)


def test_no_secret_is_written(root: Path, server: Server, tmp_path: Path) -> None:
    Index.open(root, config_of(server.url))
    written = [path for place in ("cache", "index") for path in (tmp_path / place).rglob("*") if path.is_file()]
    assert len(written) > 3
    for path in written:
        for secret in (TOKEN, KEY, "SHOP_TOKEN"):
            assert secret not in str(path)
            assert secret.encode() not in path.read_bytes(), path
