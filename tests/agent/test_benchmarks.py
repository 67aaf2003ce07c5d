import json
import re

import anyio
import pytest
from mcp import Client

from assay.agent.context import Roots
from assay.agent.mcp_server import make_server
from assay.experiment.spec import load_spec
from assay.types import GoldSet
from tests.agent.calling import ask, call, locations, refused, serve, text
from tests.conftest import FILES, write_tree
from tests.waiting import WATCHDOG

CONFIG = """\
[run]
gold = "gold.yaml"

[engines.shell]
kind = "command"
argv = ["sh", "-c", "echo shop/cart.py", "{query}"]
format = "text"
"""
#: Engines that answer once a file is there: one says when it was asked, one answers its first query at once.
HELD = CONFIG.replace("echo", "touch ../asked; until [ -e ../go ]; do sleep 0.02; done; echo")
HELD_LATER = CONFIG.replace("echo", "while [ -e ../asked -a ! -e ../go ]; do sleep 0.02; done; touch ../asked; echo")

GOLD = """\
assay: 1
name: shop
corpus: {path: .}
queries:
  - id: cart-total
    retrieval: {primary: ["shop/cart.py"]}
    cognitive: {human: how is the total of all items computed?, keyword: cart total sum}
"""


@pytest.fixture
def shop(shop):
    (shop / "gold.yaml").write_text(GOLD, encoding="utf-8")
    return shop


def configured(shop, config=CONFIG):
    (shop / "assay.toml").write_text(config.replace("..", str(shop.parent)), encoding="utf-8")
    return make_server(Roots.of([str(shop)]), load_spec(shop / "assay.toml"))


def records(shop):
    return sorted(path.parent.relative_to(shop).as_posix() for path in shop.rglob("run.json"))


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """A server that has carried out a run into the folder `mine`, and what the call came back with."""
    place = tmp_path_factory.mktemp("measured")
    root = write_tree(place / "repo", FILES | {"gold.yaml": GOLD})
    server = serve(root)
    order = {"gold": str(root / "gold.yaml"), "engines": ["builtin"], "out": "mine", "k": 5}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ASSAY_CACHE_DIR", str(place / "cache"))
        (made,) = call(server, ("run_benchmark", order))
    assert not made.is_error, text(made)
    return root, server, made


def test_a_run_is_written_and_read_again(measured):
    root, server, made = measured
    answer = text(made)
    assert re.search(r"^. builtin and keywords have the same scores on shop", answer, re.MULTILINE)
    assert set(engines(answer)) == {"builtin", "random", "keywords", "oracle"}
    assert "| Same scores |" in answer
    assert f"\nRecords: {root / 'mine'}\n" in answer
    assert ask(server, "read_report", folder="mine") == answer
    assert len(answer) < 4 * 2_000


def test_report_is_cut_at_its_budget_and_says_how_to_get_more(measured):
    _, server, made = measured
    short = ask(server, "read_report", folder="mine", section="results", max_tokens=200)
    assert len(short) < 1_000
    assert re.search(r"\d+ of \d+ lines left out at max_tokens = 200: raise max_tokens$", short)
    summary = ask(server, "read_report", folder="mine", max_tokens=200)
    assert re.search(r"lines left out at max_tokens = 200: raise max_tokens, or read one section", summary)
    assert text(made).startswith(summary.rpartition("\n")[0])


def engines(answer):
    """Return the means of the table of engines, by name."""
    return {name: float(mean) for name, mean in re.findall(r"^\| (\w+) \| ([\d.]+) ", answer, re.MULTILINE)}


def records_of(answer):
    return answer.partition("Records: ")[2].split("\n")[0]


def test_run_equals_that_of_the_command_line(shop, capsys):
    from assay.cli.main import main

    assert main(["run", "--gold", "gold.yaml", "--out", "theirs", "--quiet"]) == 0
    server = serve(shop)
    mine = ask(server, "run_benchmark", gold="gold.yaml")
    theirs = ask(server, "read_report", folder="theirs")
    assert engines(mine) == engines(theirs)
    assert len(engines(mine)) == 4
    hits = [_hits(shop / "theirs"), _hits(shop / records(shop)[0])]
    assert hits[0] == hits[1]


def _hits(folder):
    lines = (line for path in sorted(folder.glob("engines/builtin*")) for line in path.read_text().splitlines())
    return [row["hits"] for line in lines if "hits" in (row := json.loads(line))]


def test_sections_are_read_by_name(measured):
    _, server, made = measured
    part = ask(server, "read_report", folder="mine", section="results")
    assert part.count("\n## ") == 1
    assert "\n## Results\n" in part
    assert "\n- Results\n" in text(made)
    assert "did you mean 'Results'?" in refused(server, "read_report", folder="mine", section="Resluts")


def test_section_is_found_by_how_only_its_title_begins(measured):
    _, server, made = measured
    titles = re.findall(r"^- (.+)$", text(made).partition("Sections for read_report:\n")[2], re.MULTILINE)
    (time,) = [title for title in titles if title.startswith("Time")]
    assert f"\n## {time}\n" in ask(server, "read_report", folder="mine", section="tim")
    first = {title[0] for title in titles if sum(other[0] == title[0] for other in titles) > 1}
    message = refused(server, "read_report", folder="mine", section=min(first).lower())
    assert "several sections begin with" in message
    assert all(f"\n- {title}" in message for title in titles if title[0] == min(first))
    assert "unknown section" in refused(server, "read_report", folder="mine", section=" ")


def test_runs_without_a_place_get_new_folders_out_of_git_and_out_of_the_corpus(shop):
    server = serve(shop)
    ask(server, "run_benchmark", gold="gold.yaml", engines=["keywords"], out="kept/mine")
    assert not (shop / "kept" / ".gitignore").exists()
    first = (
        ask(server, "run_benchmark", gold="gold.yaml", engines=["keywords"]).partition("Records: ")[2].split("\n")[0]
    )
    ignore = shop / "assay-runs" / ".gitignore"
    assert ignore.read_text(encoding="utf-8").endswith("\n*\n")
    ignore.write_text("!*\n", encoding="utf-8")
    second = (
        ask(server, "run_benchmark", gold="gold.yaml", engines=["keywords"]).partition("Records: ")[2].split("\n")[0]
    )
    assert ignore.read_text(encoding="utf-8") == "!*\n"
    assert first != second
    assert all(folder.startswith(f"{shop}/assay-runs/") for folder in (first, second))
    assert not any("assay-runs" in path for path, *_ in locations(ask(server, "search", query="total", k=50)))


def test_engines_of_the_configuration_are_run_by_name(shop):
    server = configured(shop)
    means = engines(ask(server, "run_benchmark", engines=["shell", "builtin"]))
    assert {"shell", "builtin"} <= set(means)
    assert means["shell"] > 0


def test_configuration_is_that_of_the_start(shop):
    server = configured(shop)
    planted = shop / "planted"
    evil = CONFIG.replace("echo", f"touch {planted}; echo")
    (shop / "assay.toml").write_text(evil + '[engines.more]\nkind = "random"\n', encoding="utf-8")
    assert "unknown engine 'more'" in refused(server, "run_benchmark", engines=["more"])
    ask(server, "run_benchmark", engines=["shell"])
    assert not planted.exists()


def test_tool_names_the_engines_there_are(shop):
    server = configured(shop)

    async def talk():
        async with Client(server) as client:
            return await client.list_tools()

    (tool,) = [tool for tool in anyio.run(talk).tools if tool.name == "run_benchmark"]
    assert tool.description is not None
    assert "Engines: builtin, keywords, shell." in tool.description


@pytest.mark.parametrize(
    "engine",
    ["command:touch planted", "python:os:system", "builtin:span", "mcp:x", "./mine.toml", "semble", "runfile:x"],
)
def test_a_call_executes_nothing_of_its_own(shop, engine):
    (shop / "mine.toml").write_text('[engine]\nkind = "command"\nargv = ["touch", "planted"]\n', encoding="utf-8")
    message = refused(serve(shop), "run_benchmark", gold="gold.yaml", engines=[engine])
    assert "declare others in the server's --config" in message
    assert not (shop / "planted").exists()
    assert records(shop) == []


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "missing gold set"),
        ({"gold": "../gold.yaml"}, "outside"),
        ({"gold": "nowhere.yaml"}, "no such gold set"),
        ({"gold": "shop/cart.py"}, "→"),
        ({"gold": "gold.yaml", "out": "../elsewhere"}, "outside"),
        ({"gold": "gold.yaml", "out": "/tmp"}, "outside"),
        ({"gold": "gold.yaml", "out": "shop"}, "name a new directory"),
        ({"gold": "gold.yaml", "out": "README.md"}, "name a new directory"),
        ({"gold": "gold.yaml", "k": 0}, "greater than or equal to 1"),
        ({"gold": "gold.yaml", "engines": "builtin"}, "engines: Input should be a valid list"),
    ],
)
def test_wrong_orders_are_refused(shop, arguments, said):
    assert said in refused(serve(shop), "run_benchmark", **arguments)
    assert records(shop) == []


@pytest.mark.parametrize(
    "corpus",
    ["{path: ..}", "{path: /}", "{path: link}", '{git: "https://example.invalid/x"}', '{pypi: "flask==3.1.0"}'],
)
def test_gold_set_of_a_call_leads_nowhere_outside(shop, corpus):
    (shop / "link").symlink_to(shop.parent)
    gold = (shop / "gold.yaml").read_text(encoding="utf-8").replace("{path: .}", corpus)
    (shop / "other.yaml").write_text(gold, encoding="utf-8")
    assert "which is not served" in refused(serve(shop), "run_benchmark", gold="other.yaml")


def test_gold_file_that_is_a_link_to_outside_is_refused(shop, tmp_path):
    (shop / "sets").mkdir()
    outside = tmp_path / "outside.yaml"
    outside.write_text((shop / "gold.yaml").read_text(encoding="utf-8").replace("{path: .}", f"{{path: {shop}}}"))
    (shop / "sets" / "gold.yaml").symlink_to(outside)
    assert "which is not served" in refused(serve(shop), "run_benchmark", gold="sets")


def test_sealed_results_are_not_read(shop):
    from dataclasses import replace

    from assay import load_gold, run
    from assay.experiment import write_run
    from assay.gold.split import SEALED, TAG

    gold = load_gold(shop / "gold.yaml").golds[0]
    sealed: GoldSet = replace(gold, queries=tuple(replace(q, tags={**q.tags, TAG: SEALED}) for q in gold.queries))
    write_run(run({"mine": lambda query, k: ["shop/cart.py"]}, sealed, split=[SEALED]), shop / "sealed")
    assert "sealed queries" in refused(serve(shop), "read_report", folder="sealed")


@pytest.mark.parametrize(("folder", "said"), [("..", "outside"), ("shop", "no run found"), ("no", "no such run")])
def test_report_of_no_run_is_refused(shop, folder, said):
    assert said in refused(serve(shop), "read_report", folder=folder)


async def appears(path):
    """Wait until a file is there."""
    with anyio.fail_after(WATCHDOG):
        while not path.exists():
            await anyio.sleep(0.01)


def test_progress_is_told_and_grows(shop):
    server = configured(shop, HELD_LATER)
    told = []

    async def note(progress, total, message):
        told.append((progress, message))
        if "searches on shop" in message:
            (shop.parent / "go").touch()

    async def talk():
        async with Client(server) as client:
            await client.call_tool("run_benchmark", {"engines": ["shell"]}, progress_callback=note)

    anyio.run(talk)
    assert [number for number, _ in told] == sorted({number for number, _ in told})
    assert any("searches on shop" in message for _, message in told)


def test_cancelled_run_stops_and_writes_nothing(shop):
    server = configured(shop, HELD)

    async def talk():
        async with Client(server) as client:
            with anyio.CancelScope() as scope:
                async with anyio.create_task_group() as group:
                    group.start_soon(client.call_tool, "run_benchmark", {"engines": ["shell"], "out": "mine"})
                    await appears(shop.parent / "asked")
                    scope.cancel()
            assert not (await client.call_tool("search", {"query": "cart"})).is_error
            (shop.parent / "go").touch()
            with anyio.fail_after(WATCHDOG):  # the next run begins when the cancelled one has ended
                while (await client.call_tool("run_benchmark", {"engines": ["builtin"], "out": "next"})).is_error:
                    await anyio.sleep(0.05)

    anyio.run(talk)
    assert records(shop) == ["next"]
    assert not (shop / "mine").exists()


def test_one_run_at_a_time(shop):
    server = configured(shop, HELD)

    async def talk():
        found = []

        async def one(client):
            found.append(await client.call_tool("run_benchmark", {"engines": ["shell"]}))

        async with Client(server) as client, anyio.create_task_group() as group:
            group.start_soon(one, client)
            await appears(shop.parent / "asked")
            await one(client)
            (shop.parent / "go").touch()
        return found

    first, second = anyio.run(talk)
    assert "a benchmark is already running" in text(first)
    assert first.is_error
    assert not second.is_error


def test_run_that_is_under_way_ends_with_the_server(shop):
    server = configured(shop, HELD)

    async def talk():
        found = []

        async def one(client):
            found.append(await client.call_tool("run_benchmark", {"engines": ["shell"]}))

        async with Client(server) as client, anyio.create_task_group() as group:
            group.start_soon(one, client)
            await appears(shop.parent / "asked")
            await anyio.to_thread.run_sync(server.benchmarks.stop)
        return found

    (ended,) = anyio.run(talk)
    assert ended.is_error
    assert "the run was stopped" in text(ended)
    assert records(shop) == []


def test_call_runs_a_template_by_its_name_and_none_of_its_variants(shop):
    text_of = (
        '[engines.mine]\nkind = "builtin"\ntemplate = true\n[variants.v]\nengine = "mine"\nset = { per = "span" }\n'
    )
    (shop / "assay.toml").write_text(f'[run]\nfamily = ["v"]\ncluster = "tag:team"\n{text_of}')
    made = make_server(Roots.of([str(shop)]), load_spec(shop / "assay.toml"))
    (ran,) = call(made, ("run_benchmark", {"gold": "gold.yaml", "engines": ["mine"], "out": "there", "k": 5}))
    assert not ran.is_error, text(ran)
    run = json.loads((shop / "there" / "run.json").read_text())
    assert run["engines"] == ["mine", "random", "keywords", "oracle"]
