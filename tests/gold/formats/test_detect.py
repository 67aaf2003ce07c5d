"""Which format is it? The content says so; what fits none gets an error that lists them."""

from pathlib import Path

import pytest

from assay.errors import ConfigError, GoldError
from assay.gold import load_gold
from assay.gold.build import GoldSource
from assay.gold.load import FORMATS, detect, find_format
from tests.gold.formats.files import HERE, caught, write
from tests.gold.formats.samples import SAMPLES


@pytest.mark.parametrize(("kind", "name", "text", "_held"), SAMPLES.values(), ids=SAMPLES)
def test_detect_goes_by_content_not_by_name(kind, name, text, _held):
    suffix = ".py" if name.endswith(".py") else ".txt"
    assert detect(GoldSource(Path(f"gold{suffix}"), text)).name == kind
    assert detect(GoldSource(Path(name), text)).name == kind


def test_detect_tells_native_files_in_yaml_and_json():
    for name, text in (("gold.txt", "# hello\nassay: 1\n"), ("x.json", '{"assay": 1}'), ("x.json", "{assay: 1}")):
        assert detect(GoldSource(Path(name), text)).name == "native"
    assert detect(GoldSource(Path("x.yaml"), "queries: []\n")).name == "native"  # and says that the version is missing


BROKEN = {
    "semble": '[{"query": "a", "relevant": [',
    "sia-code": '{"queries": [{"query_text": "a", "relevant_docs": ]',
    "karta": "corpus_id: a\nqueries: [[",
    "octocode": 'query,result1\n"a',
    "plain": 'query,path\n"a',
}


@pytest.mark.parametrize(("kind", "text"), BROKEN.items(), ids=BROKEN)
def test_detect_knows_a_broken_file_so_that_its_error_has_a_line(kind, text):
    source = GoldSource(Path("gold"), text)
    assert detect(source).name == kind
    with pytest.raises(GoldError) as error:
        detect(source).read(source, "gold", HERE)
    assert error.value.line


def test_detect_lists_the_formats_when_none_fits(tmp_path):
    error = caught(tmp_path, "gold.csv", "question,file\nq,a.py\n")
    assert all(known.name in (error.hint or "") for known in FORMATS)
    assert all((known.summary in (error.hint or "")) is (".csv" in known.suffixes) for known in FORMATS)


@pytest.mark.parametrize("text", ["", "\n \n"])
def test_detect_says_of_an_empty_file_that_it_is_empty(tmp_path, text):
    error = caught(tmp_path, "gold.csv", text)
    assert (error.message, error.line) == ("the file is empty", 1)
    assert len(error.hint or "") < 100


def test_format_overrides_and_must_be_known(tmp_path):
    path = write(tmp_path, "gold.csv", "question,file\nq,a.py\n")
    with pytest.raises(GoldError, match="unknown column 'question'"):
        load_gold(path, format="plain", corpus=HERE)
    with pytest.raises(ConfigError, match="did you mean 'octocode'"):
        load_gold(path, format="octcode")
    assert find_format("native").name == "native"


def test_load_gold_takes_no_program_notes_or_review_for_gold_unless_asked(tmp_path):
    _, _, python, _ = SAMPLES["pyckle python"]
    write(tmp_path, "set.csv", "query,path\nq,a.py\n")
    write(tmp_path, "eval_set.py", python)
    write(tmp_path, "notes.txt", "to do")
    write(tmp_path, "set.review/items.jsonl", "{}")
    write(tmp_path, "set.looks.jsonl", "{}")
    assert load_gold(tmp_path, corpus=HERE).name == "set"
    assert load_gold(tmp_path, format="pyckle", corpus=HERE).name == "eval_set"
