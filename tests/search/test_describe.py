import multiprocessing
import threading
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.chat import Endpoint, prompt_version
from assay.errors import ConfigError, EngineError, SetupError
from assay.search.config import DescriptionSettings
from assay.search.describe import DescribeConfig, DescribedText, Describer, description_identity
from assay.store.store import Store
from tests.properties import examples
from tests.serving import Reply, serving
from tests.waiting import WATCHDOG

TOKEN = "sk-Zq81-very+secret/42"
UNITS = (DescribedText("def total(self): ...", "Cart"), DescribedText("RATES = {}"), DescribedText("import time"))


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)


def piece_of(asked):
    return asked.payload["messages"][1]["content"].splitlines()[1]


def said(content):
    return Reply({"choices": [{"message": {"content": content}}]})


def echo(asked):
    return said(f"About {piece_of(asked)}")


@pytest.fixture
def server():
    with serving(echo) as running:
        yield running


def describer_at(url, folder, model="m", **config):
    endpoint = Endpoint(f"{url}/v1/chat/completions", model, "SHOP_TOKEN")
    return Describer(endpoint, Store(folder), DescribeConfig(**config))


def files_of(folder):
    return sorted(folder.glob("descriptions/*/*"))


def test_describe_gives_a_line_for_each_unit_in_order(server, tmp_path):
    lines = describer_at(server.url, tmp_path).describe(UNITS)
    assert lines == tuple(f"About {chunk.text}" for chunk in UNITS)
    assert {asked.token for asked in server.asked} == {f"Bearer {TOKEN}"}
    assert {asked.payload["temperature"] for asked in server.asked} == {0}


def test_describe_asks_nothing_that_is_cached(server, tmp_path, monkeypatch):
    before = describer_at(server.url, tmp_path).describe(UNITS)
    assert len(server.asked) == 3
    monkeypatch.delenv("SHOP_TOKEN")
    assert describer_at("http://127.0.0.1:1", tmp_path).describe(UNITS[::-1]) == before[::-1]
    assert len(server.asked) == 3


def test_describe_asks_only_what_is_new(server, tmp_path):
    describer = describer_at(server.url, tmp_path)
    describer.describe(UNITS[:2])
    describer.describe(UNITS)
    assert sorted(map(piece_of, server.asked)) == sorted(chunk.text for chunk in UNITS)


def test_describe_asks_the_same_text_once(server, tmp_path):
    assert len(set(describer_at(server.url, tmp_path).describe([UNITS[1]] * 5))) == 1
    assert len(server.asked) == 1


def test_describe_of_nothing_asks_nothing(server, tmp_path):
    assert describer_at(server.url, tmp_path).describe(()) == ()
    assert not server.asked
    assert not files_of(tmp_path)


def test_describe_asks_again_for_another_model_scope_or_size(server, tmp_path):
    chunk = UNITS[0]
    describer_at(server.url, tmp_path).describe([chunk])
    describer_at(server.url, tmp_path, model="other").describe([chunk])
    describer_at(server.url, tmp_path, answer_chars=10).describe([chunk])
    describer_at(server.url, tmp_path).describe([DescribedText(chunk.text, "Basket"), DescribedText(chunk.text)])
    assert len(server.asked) == 5
    assert len(files_of(tmp_path)) == 5


def test_describe_asks_again_for_another_prompt(server, tmp_path, monkeypatch):
    describer = describer_at(server.url, tmp_path)
    describer.describe(UNITS[:1])
    sent = server.asked[0].payload["messages"][0]["content"]
    assert f"prompt={prompt_version(sent)}" in describer.identity
    monkeypatch.setattr("assay.search.describe.prompt_version", lambda prompt: "another prompt")
    describer_at(server.url, tmp_path).describe(UNITS[:1])
    assert len(server.asked) == 2


def test_describe_sends_a_bounded_fenced_part(server, tmp_path):
    describer_at(server.url, tmp_path, text_chars=50).describe([DescribedText("y" * 900, "Cart.total")])
    first, body, last = server.asked[0].payload["messages"][1]["content"].splitlines()
    mark = last.removeprefix("</piece ").removesuffix(">")
    assert first == f"<piece in Cart.total {mark}>"
    assert body == "y" * 50
    assert len(mark) == 16


def test_describe_keeps_one_clean_short_line(tmp_path):
    loud = "It\x1b[31m adds\r\n\n up\x00 \u202ethe   prices\ud800. " + "more words " * 100
    with serving(lambda _: said(loud)) as server:
        (line,) = describer_at(server.url, tmp_path).describe(UNITS[:1])
    assert line.startswith("It[31m adds up the prices. more words")
    assert 280 < len(line) <= 300
    assert line.endswith((" more", " words"))
    assert [path.read_text("utf-8").partition("\n")[2] for path in files_of(tmp_path)] == [line]


@examples(40)
@given(st.text(max_size=60), st.integers(1, 30))
def test_description_is_one_printable_bounded_line(text, most):
    with serving(lambda _: said(f"x{text}")) as server, TemporaryDirectory() as folder:
        (line,) = describer_at(server.url, Path(folder), answer_chars=most).describe(UNITS[:1])
    assert 0 < len(line) <= most
    assert line.isprintable()
    assert line == line.strip()


@pytest.mark.parametrize("content", ["", " \n\t", "\x00\x1b"])
def test_describe_refuses_an_empty_answer(tmp_path, content):
    with serving(lambda _: said(content)) as server, pytest.raises(EngineError, match="empty"):
        describer_at(server.url, tmp_path).describe(UNITS[:1])
    assert not files_of(tmp_path)


def test_describe_that_fails_keeps_what_was_answered(tmp_path):
    down = Reply("down", 500, {"Retry-After": "0"})
    with serving(lambda asked: down if "RATES" in piece_of(asked) else echo(asked)) as server:
        describer = describer_at(server.url, tmp_path, workers=1)
        with pytest.raises(EngineError, match="answered 500"):
            describer.describe(UNITS)
        assert [piece_of(asked) for asked in server.asked[:4]] == [UNITS[0].text, *[UNITS[1].text] * 3]
    with serving(echo) as server:
        describer_at(server.url, tmp_path).describe(UNITS[:1])
    assert not server.asked


def test_describe_that_fails_asks_no_further(tmp_path):
    refusing = threading.Event()

    def refuse(_):
        refusing.set()
        return Reply("no", 400)

    with serving(refuse) as server, pytest.raises(EngineError, match="answered 400"):
        describer_at(server.url, tmp_path, workers=2).describe([DescribedText(str(n)) for n in range(200)])
    assert refusing.is_set()
    assert len(server.asked) < 100


def test_describe_of_an_unreachable_model_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("time.sleep", lambda _: None)
    with pytest.raises(SetupError, match="cannot be reached"):
        describer_at("http://127.0.0.1:1", tmp_path).describe(UNITS)


@pytest.mark.parametrize("damage", [b"", b"\xff\xfe", b"two\nlines", b"bell\x07", b"x" * 301])
def test_describe_asks_again_for_a_damaged_answer(server, tmp_path, damage):
    describer = describer_at(server.url, tmp_path)
    before = describer.describe(UNITS[:1])
    (path,) = files_of(tmp_path)
    path.write_bytes(damage)
    assert describer.describe(UNITS[:1]) == before
    assert len(server.asked) == 2
    assert path.read_text().partition("\n")[2] == before[0]


def test_describe_keeps_no_secret(tmp_path):
    with serving(echo) as server:
        describer = Describer(Endpoint(f"{server.url}/?key=query-secret", "m", "SHOP_TOKEN"), Store(tmp_path))
        describer.describe(UNITS)
    kept = "".join(f"{path} {path.read_text()}" for path in files_of(tmp_path))
    for text in (kept, repr(describer), describer.identity):
        assert TOKEN not in text
        assert "query-secret" not in text


def test_wrong_endpoint_is_refused_before_indexing():
    with pytest.raises(ConfigError, match="the address is not a valid HTTP or HTTPS URL"):
        description_identity(DescriptionSettings("h", "m"))
    with pytest.raises(ConfigError, match="missing model name"):
        description_identity(DescriptionSettings("http://h/"))


def test_describe_into_what_is_no_folder_says_so(server, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SetupError, match="cannot write the cache"):
        describer_at(server.url, tmp_path / "file").describe(UNITS[:1])


def test_describe_goes_on_with_the_answer_that_was_kept_first(tmp_path):
    """Another process describes the same text while this one waits for its answer."""

    def slow(asked):
        if len(running.asked) == 1:
            describer_at(running.url, tmp_path).describe(UNITS[:1])
            return said("second")
        return said("first")

    with serving(slow) as running:
        assert describer_at(running.url, tmp_path).describe(UNITS[:1]) == ("first",)
    assert [path.read_text().partition("\n")[2] for path in files_of(tmp_path)] == ["first"]


def _describe_many(url, folder, lines):
    lines.put(describer_at(url, folder).describe([DescribedText(f"text {n}") for n in range(40)]))


def test_describe_in_several_processes_loses_nothing(server, tmp_path):
    context = multiprocessing.get_context("spawn")
    lines = context.Queue()
    workers = [context.Process(target=_describe_many, args=(server.url, tmp_path, lines)) for _ in range(2)]
    for worker in workers:
        worker.start()
    answers = {lines.get(timeout=WATCHDOG) for _ in workers}
    for worker in workers:
        worker.join()
    assert answers == {tuple(f"About text {n}" for n in range(40))}
    assert len(files_of(tmp_path)) == 40
    count = len(server.asked)
    assert describer_at(server.url, tmp_path).describe([DescribedText("text 7")]) == ("About text 7",)
    assert len(server.asked) == count
