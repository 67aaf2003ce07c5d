import re
import shutil
import threading

import anyio
import pytest
from mcp import Client

from assay.search import Index, Per
from tests.agent.calling import ask, call, locations, refused, serve, text
from tests.waiting import WATCHDOG

QUERIES = ("how is the total of all items computed?", "tax_rate", "payment provider retry", "Cart", "größe", "--help")


def expected(hits):
    return [(hit.path, hit.start, hit.end) for hit in hits]


@pytest.mark.parametrize("per", ["file", "span"])
def test_ranking_equals_the_index(served, per):
    server, index = served.server, served.index
    for query in QUERIES:
        answer = ask(server, "search", query=query, per=per, k=5)
        assert locations(answer) == expected(index.search(query, 5, per=per, pad=False))
        assert str(served.root.resolve()) in answer.split("\n")[0]


@pytest.mark.parametrize(
    "filters",
    [
        {"paths": ["shop/**"]},
        {"paths": ["*.md"]},
        {"languages": ["python"]},
        {"languages": ["py"]},
        {"kinds": ["docs"]},
        {"kinds": ["function"]},
        {"regex": r"def \w+\(cart"},
        {"paths": ["shop/**", "tests/**"], "kinds": ["code"], "regex": "total"},
    ],
)
@pytest.mark.parametrize("per", ["file", "span"])
def test_filters_are_those_of_the_index(served, filters, per):
    found = locations(ask(served.server, "search", query="cart total tax", per=per, **filters))
    assert found == expected(served.index.search("cart total tax", per=per, pad=False, **filters))
    assert found


def test_path_strikes_out_what_lies_elsewhere(served):
    whole = served.index.search("cart total", 50, pad=False)
    for path in ("shop", "shop/cart.py", str(served.root / "tests")):
        below = path.removeprefix(f"{served.root}/")
        inside = [hit for hit in whole if hit.path == below or hit.path.startswith(f"{below}/")]
        assert locations(ask(served.server, "search", query="cart total", path=path, k=50)) == expected(inside)
        assert inside


def test_text_names_places_with_their_code(served):
    (result,) = call(served.server, ("search", {"query": "Cart.total", "per": "span", "k": 2}))
    places = re.findall(r"^(\S+):(\d+)-(\d+)\n```(\w*)\n", text(result), flags=re.MULTILINE)
    assert [(path, int(start), int(end)) for path, start, end, _ in places] == locations(text(result))
    assert places[0][3] == "python"


def test_snippet_stays_within_the_lines_asked_for(served):
    for lines in (1, 3):
        answer = ask(served.server, "search", query="cart total", lines=lines)
        shown = re.findall(r"^(\S+?):\d+-\d+\n```\w*\n(.*?)\n```$", answer, flags=re.MULTILINE | re.DOTALL)
        assert shown
        for path, code in shown:
            assert code.count("\n") < lines
            assert code in (served.root / path).read_text(encoding="utf-8")
    assert "```" not in ask(served.server, "search", query="cart", lines=0)


def test_code_with_fences_stays_inside_its_fence(shop):
    (shop / "fences.md").write_text("# Fences\n\n````\n```python\nzebra = 1\n```\n````\n", encoding="utf-8")
    (result,) = call(serve(shop), ("search", {"query": "zebra", "k": 1}))
    assert "`````markdown\n" in text(result)


def test_long_lines_and_many_results_are_bounded(shop):
    (shop / "data.js").write_text("var zebra = '" + "x" * 100_000 + "';\n", encoding="utf-8")
    for number in range(60):
        code = "".join(f"zebra_{number}_{line} = '{'y' * 180}'\n" for line in range(60))
        (shop / f"big{number}.py").write_text(code, encoding="utf-8")
    server = serve(shop)
    whole = ask(server, "search", query="zebra", k=60, lines=60)
    assert len(whole) <= 4 * 4_000
    assert len(locations(whole)) == 60
    assert re.search(r"^\d+ results are without their code at max_tokens = 4000: raise max_tokens", whole, re.MULTILINE)
    few = ask(server, "search", query="zebra", k=60, lines=60, max_tokens=300)
    assert len(few) <= 4 * 300
    shown = len(locations(few))
    assert 0 < shown < 60
    assert f"{60 - shown} more results are left out at max_tokens = 300: raise max_tokens" in few
    assert len(ask(server, "search", query="zebra", k=60, lines=60, max_tokens=20_000)) > 4 * 4_000


def test_no_match_says_so(served):
    (result,) = call(served.server, ("search", {"query": "cart", "regex": "no such text anywhere"}))
    assert not result.is_error
    assert text(result).startswith("No match in 8 files")


def test_an_edit_between_two_searches_is_seen(shop):
    server = serve(shop)
    (shop / "shop" / "new.py").write_text("def zebra_crossing():\n    pass\n", encoding="utf-8")
    assert locations(ask(server, "search", query="zebra crossing"))[0][0] == "shop/new.py"
    (shop / "shop" / "cart.py").write_text("def giraffe_house():\n    pass\n", encoding="utf-8")
    (shop / "shop" / "new.py").unlink()
    for query in ("giraffe house", "zebra crossing", *QUERIES):
        assert locations(ask(server, "search", query=query)) == expected(Index.build(shop).search(query, pad=False))


def test_unchanged_folder_is_not_indexed_again(shop, tmp_path):
    server = serve(shop)
    ask(server, "search", query="cart")
    assert (tmp_path / "cache").is_dir()
    shutil.rmtree(tmp_path / "cache")
    ask(server, "search", query="cart")
    assert not (tmp_path / "cache").exists()
    (shop / "shop" / "new.py").write_text("cart = 1\n", encoding="utf-8")
    ask(server, "search", query="cart")
    assert (tmp_path / "cache").is_dir()


def test_settings_of_the_folder_are_those_of_the_start(shop):
    (shop / "assay.toml").write_text("[search]\nstem.files = 0.9\n", encoding="utf-8")
    server = serve(shop)
    (shop / "assay.toml").write_text('[search]\ndescription.url = "http://example.invalid/"\n', encoding="utf-8")
    from assay.search.config import load_search_config

    index = Index.build(shop, load_search_config(["stem.files=0.9"]))
    assert locations(ask(server, "search", query="cart total")) == expected(index.search("cart total", pad=False))


def test_calls_side_by_side_answer_as_alone(served):
    server, index = served.server, served.index
    ways: tuple[Per, ...] = ("file", "span")
    wanted = [(query, per) for query in QUERIES for per in ways] * 2

    async def talk():
        found = {}

        async def one(client, number, query, per):
            result = await client.call_tool("search", {"query": query, "per": per})
            found[number] = locations(text(result))

        async with Client(server) as client, anyio.create_task_group() as group:
            for number, (query, per) in enumerate(wanted):
                group.start_soon(one, client, number, query, per)
        return found

    found = anyio.run(talk)
    for number, (query, per) in enumerate(wanted):
        assert found[number] == expected(index.search(query, per=per, pad=False))


def test_a_slow_call_does_not_hold_up_others(shop, tmp_path, monkeypatch):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("giraffe = 1\n", encoding="utf-8")
    server, entered, gate = serve(shop, other), threading.Event(), threading.Event()
    real = Index.open

    def slow(path, *args, **more):
        if path == shop.resolve():
            entered.set()
            assert gate.wait(WATCHDOG)
        return real(path, *args, **more)

    monkeypatch.setattr(Index, "open", slow)

    async def talk():
        async with Client(server) as client, anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "search", {"query": "cart", "path": str(shop)})
            with anyio.fail_after(WATCHDOG):
                while not entered.is_set():
                    await anyio.sleep(0.01)
                quick = await client.call_tool("search", {"query": "giraffe", "path": str(other)})
            assert not gate.is_set()
            gate.set()
            return quick

    assert locations(text(anyio.run(talk)))[0][0] == "a.py"


@pytest.mark.parametrize("path", ["..", "/etc", "../repo/../..", "link", "link/x.py"])
def test_path_outside_is_refused(shop, path):
    (shop / "link").symlink_to(shop.parent)
    assert "outside the served directories" in refused(serve(shop), "search", query="x", path=path)


def test_linked_file_outside_is_never_a_result(shop):
    secret = shop.parent / "secret.py"
    secret.write_text("zebra_secret = 1\n", encoding="utf-8")
    (shop / "shop" / "link.py").symlink_to(secret)
    assert "link.py" not in ask(serve(shop), "search", query="zebra_secret", k=50)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"query": " "}, "the query is empty"),
        ({"query": "x", "path": "nowhere"}, "no such directory or file"),
        ({"query": "x", "k": 0}, "k: Input should be greater"),
        ({"query": "x", "per": "page"}, "per: Input should be"),
        ({"query": "x", "lines": -1}, "lines: Input should be greater"),
        ({"query": "x", "regex": "("}, "invalid regular expression"),
        ({"query": "x", "languages": ["pyton"]}, "did you mean 'python'?"),
        ({"query": "x", "kinds": ["prose"]}, "unknown kind"),
        ({"query": "x", "language": ["python"]}, "did you mean 'languages'?"),
        ({"query": 5}, "query: Input should be a valid string"),
        ({}, "query: Field required"),
    ],
)
def test_wrong_arguments_are_refused_with_the_next_step(served, arguments, said):
    message = refused(served.server, "search", **arguments)
    assert said in message
    assert "→" in message


def test_empty_folder_is_refused_with_the_next_step(tmp_path, monkeypatch):
    monkeypatch.setenv("ASSAY_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "empty").mkdir()
    assert "→" in refused(serve(tmp_path / "empty"), "search", query="x")


def test_several_folders_are_named_by_path(shop, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.py").write_text("giraffe = 1\n", encoding="utf-8")
    server = serve(shop, other)
    assert "name a directory as path" in refused(server, "search", query="giraffe")
    assert locations(ask(server, "search", query="giraffe", path=str(other)))[0][0] == "a.py"


def test_regex_that_would_hold_up_all_calls_is_refused(shop):
    (shop / "long.py").write_text("name = '" + "a" * 40 + "!'\n", encoding="utf-8")
    (shop / "long.py").write_text("x = '" + "a" * 5_000 + "'\nname = 1\n")
    pytest.importorskip("regex")
    assert "takes more than 2 s" in refused(serve(shop), "search", query="name", regex="(a+)+$")
