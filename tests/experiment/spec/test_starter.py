"""The drafts of a first gold set: places worth a question, so none of them a test."""

import pytest

from assay.corpus import open_corpus
from assay.experiment.spec.starter import starter_gold
from assay.types import CorpusSpec

STEPS = "".join(f"    step({number});\n" for number in range(20))
RUST = f"""\
pub fn price(basket: u32) {{
    {STEPS[:120]}
}}

/// What a rate is.
#[cfg(test)]
mod checks {{
    fn rates() {{
{STEPS}
    }}
}}

mod tests {{
    fn is_filter_applicable() {{
{STEPS}
    }}
}}

#[tokio::test]
async fn serves() {{
{STEPS}
}}
"""
PYTHON_TESTS = "def total():\n" + "    step()\n" * 9 + "\n\ndef test_total():\n" + "    step()\n" * 20
JAVA = f"class Shop {{\n  void pay() {{\n{STEPS[:160]}}}\n  @Test\n  void pays() {{\n{STEPS}}}\n}}\n"


def drafts(folder, **files):
    """Draft a gold set of these files; `__` in a name is its last dot."""
    for name, text in files.items():
        (folder / ".".join(name.rsplit("__", 1))).write_text(text)
    return starter_gold(open_corpus(CorpusSpec("path", str(folder))))[1]


@pytest.mark.parametrize(
    ("name", "text", "anchor"),
    [
        ("lib__rs", RUST, "lib.rs::price"),
        ("shop__py", PYTHON_TESTS, "shop.py::total"),
        ("shop__java", JAVA, "shop.java::Shop.pay"),
        ("contest__py", "def testament():\n" + "    step()\n" * 9, "contest.py::testament"),
    ],
)
def test_starter_drafts_no_test(tmp_path, name, text, anchor):
    assert drafts(tmp_path, **{name: text}) == (anchor,)


@pytest.mark.parametrize("name", ["tests__rs", "shop_test__go", "shop.spec__ts", "test_shop__py"])
def test_starter_drafts_no_file_of_tests(tmp_path, name):
    body = "package main\n\nfunc Serve() {\n" + "\tstep()\n" * 9 + "}\n"
    assert drafts(tmp_path, main__go=body, **{name: "x = 1\n" * 20}) == ("main.go::Serve",)


LONG = "    step()\n" * 20


def test_starter_drafts_nothing_that_is_defined_more_than_once(tmp_path):
    text = f"def main():\n{LONG}\n\ndef main(x):\n{LONG}{LONG}\n\ndef price():\n" + "    step()\n" * 9
    assert drafts(tmp_path, shop__py=text) == ("shop.py::price",)


def test_no_two_drafts_ask_the_same_words(tmp_path):
    body = "    step()\n" * 9
    files = {f"part{n}__py": f"def add_rule():\n{body}\n\ndef other{n}():\n    step()\n" for n in range(2)}
    assert drafts(tmp_path, **files, last__py=f"def run():\n{body}") == ("last.py::run", "part0.py::add_rule")
