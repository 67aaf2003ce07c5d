"""sia-code's dataset."""

import pytest

from assay.types import Span, Target
from tests.gold.formats.files import caught, load_one
from tests.gold.formats.samples import SIACODE


def test_siacode_reads_documents_as_files_symbols_and_lines(tmp_path):
    gold = load_one(tmp_path, "set.json", SIACODE)
    first, second = gold.queries
    assert first.targets == (Target(Span("shop/price.py"), symbol="Basket.total"), Target(Span("shop/tax.py")))
    assert second.targets == (Target(Span("shop/tax.py", 3, 9)),)
    assert first.tags == {"category": "lookup", "difficulty": "easy"}
    assert (gold.name, first.id, second.id) == ("shop", "q-1", "2")
    assert gold.provenance == {
        "not read": "corpus, metadata expected_symbols of queries",
        "ids": "whitespace and slashes replaced by '-': 'q 1' → q-1",
    }
    assert (first.line, second.line) == (4, 6)


def test_siacode_is_called_after_its_file_when_it_has_no_name(tmp_path):
    text = '{"queries": [{"id": "a", "query_text": "q", "relevant_docs": ["x.py"]}]}'
    assert load_one(tmp_path, "my set.json", text).name == "my-set"
    assert load_one(tmp_path, "x.json", text.replace("{", '{"name": "two words/x", ', 1)).name == "two-words-x"


BAD = {
    "no documents": ('"relevant_docs": ["shop/tax.py:3-9"]', '"relevant_docs": []', 6, "no primary"),
    "a line": ('"shop/tax.py:3-9"', '"shop/tax.py:3"', 6, "contains ':'"),
    "two colons": ('"shop/tax.py:3-9"', '"shop/tax.py:a:b"', 6, "':'"),
    "a text": ('["shop/tax.py:3-9"]', '"shop/tax.py"', 6, "expected a list"),
    "unknown key": ('"query_text": "rates"', '"query_txt": "rates"', 6, "unknown key 'query_txt'"),
    "unknown key above": ('"name": "shop"', '"nam": "shop"', 1, "unknown key 'nam'"),
    "metadata": ('"metadata": {"category": "lookup", "difficulty": "easy", "expected_symbols": ["total"]}',
                 '"metadata": []', 4, "expected an object"),
    "category": ('"category": "lookup"', '"category": 3', 4, "expected a string"),
    "no queries": (SIACODE[SIACODE.index('"queries"') : SIACODE.index('"corpus"')],
                   '"queries": [], "x": "query_text relevant_docs",', 1, "no entry"),
    "more": ('"RATES = {}"}\n}', '"RATES = {}"}\n}\n{}', 10, "unexpected text after"),
    "name twice": ('"name": "shop"', '"name": "shop",\n"name": "shop"', 3, "duplicate"),
    "number key": ('"name": "shop"', '3: "shop"', 2, "expected a string"),
}  # fmt: skip


@pytest.mark.parametrize(("old", "new", "line", "message"), BAD.values(), ids=BAD)
def test_siacode_says_what_is_wrong_and_where(tmp_path, old, new, line, message):
    assert old in SIACODE
    error = caught(tmp_path, "set.json", SIACODE.replace(old, new, 1), format="sia-code")
    assert (error.line, message in error.message) == (line, True), str(error)
