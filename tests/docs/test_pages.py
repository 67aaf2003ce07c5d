"""Nothing in the documentation is unchecked: every block of every page is run, read, or says why it is not."""

import json
import re
import shlex

import pytest
import yaml

from assay import load_gold
from assay.cli.main import build_parser
from assay.experiment.spec.assay_toml import load_spec
from assay.training.config import TrainConfig
from assay.training.pipeline import read_recipe
from tests.docs.running import DOCS, LANGUAGES, NOT_RUN, Block, blocks, pages, run_page, runnable

#: What the comment above a TOML block says when it is no assay.toml.
RECIPE = "a recipe of assay train"
ROOT = DOCS.parent
GROUPS = ("gold", "cache", "engines", "ledger", "model")  # commands with actions
LEAST_WORDS = 3  # of a reason
#: The pages that `make test` runs; `make nightly` runs the others.
IN_MAKE_TEST = ("quick-start.md", "guides/ci.md", *(page for page in pages() if page.startswith("coming-from/")))


def every(*languages: str) -> list[Block]:
    """List all blocks in some languages."""
    return [block for page in pages() for block in blocks(page) if block.language in languages]


def named(block: Block) -> str:
    return f"{block.page}:{block.line}"


@pytest.mark.parametrize(
    "page",
    [page if page in IN_MAKE_TEST else pytest.param(page, marks=pytest.mark.nightly) for page in runnable()],
)
def test_page_runs_as_it_stands(page, tmp_path_factory):
    run_page(page, tmp_path_factory)


def test_there_are_pages_to_run():
    assert len(runnable()) >= 8
    assert len(pages()) >= 20


@pytest.mark.parametrize("page", pages())
def test_every_block_has_a_language_and_every_fence_is_closed(page):
    text = (DOCS / page).read_text("utf-8")
    assert [block.line for block in blocks(page) if block.language not in LANGUAGES] == []
    assert len(re.findall(r"^ *```", text, flags=re.M)) == 2 * len(blocks(page)), "a block is indented or left open"


@pytest.mark.parametrize("block", every("sh", "python"), ids=named)
def test_block_is_run_or_says_why_not(block):
    reason = block.note.partition(NOT_RUN)[2]
    assert block.page in runnable() if block.runs else len(reason.split()) >= LEAST_WORDS


@pytest.mark.parametrize("block", [one for one in every("sh") if not one.runs], ids=named)
def test_commands_that_are_not_run_are_commands(block):
    for line in re.sub(r"\\\n", " ", block.text).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["assay"]:
            build_parser().parse_args(words[1:])


@pytest.mark.parametrize("block", [one for one in every("sh") if not one.runs], ids=named)
def test_commands_that_are_not_run_are_run_by_the_test_that_is_named(block):
    """Whoever says that a command is run elsewhere names the file, and the file has its words."""
    places = re.findall(r"tests/[\w/]+\.py|tutorials/[\w-]+\.md", block.note)
    assert places, "name the test that runs it"
    text = "\n".join((ROOT / ("" if one.startswith("tests/") else "docs") / one).read_text("utf-8") for one in places)
    for line in re.sub(r"\\\n", " ", block.text).splitlines():
        words = shlex.split(line, comments=True)
        if words[:1] == ["assay"]:
            said = [*words[1 : 3 if words[1] in GROUPS else 2], *(word for word in words if word.startswith("--"))]
            assert [word for word in said if not re.search(rf"[\s\"'`]{word}\b", text)] == [], places


@pytest.mark.parametrize("block", every("python"), ids=named)
def test_python_compiles(block):
    compile(block.text, named(block), "exec")


@pytest.mark.parametrize("block", every("toml"), ids=named)
def test_toml_is_an_assay_toml_or_says_what_it_is(block, tmp_path):
    file = tmp_path / "assay.toml"
    file.write_text(block.text, "utf-8")
    if block.note == RECIPE:
        read_recipe(file, TrainConfig)
    elif not block.note.startswith(NOT_RUN):
        assert load_spec(file).files


@pytest.mark.parametrize("block", every("yaml"), ids=named)
def test_yaml_reads_and_gold_is_gold(block, tmp_path):
    data = yaml.safe_load(block.text)
    assert data
    if isinstance(data, dict) and "assay" in data:
        (tmp_path / "gold.yaml").write_text(block.text, "utf-8")
        assert load_gold(tmp_path / "gold.yaml").golds[0].queries


@pytest.mark.parametrize("block", every("json"), ids=named)
def test_json_reads(block):
    json.loads(block.text)


def commands_named() -> list[tuple[str, str]]:
    """List the commands in running text: page, and the words after `assay`."""
    texts = {page: re.sub(r"^```.*?^```$", "", (DOCS / page).read_text("utf-8"), flags=re.M | re.S) for page in pages()}
    return sorted(
        {(page, said) for page, text in texts.items() for said in re.findall(r"`assay ([a-z][a-z -]*)", text)}
    )


def test_commands_in_sentences_exist():
    known = (DOCS / "reference/commands.md").read_text("utf-8")
    assert len(commands_named()) > 40
    for page, said in commands_named():
        words = said.split(" -")[0].split()
        name = " ".join(words[:2]) if words[0] in GROUPS and words[1:] else words[0]
        assert f"## assay {name}\n" in known or f"## assay {words[0]}\n" in known, f"{page}: assay {said}"
