"""The drafts of a first gold set: places worth a question, so none of them a test."""

import pytest

from assay.cli.init import starter_gold
from assay.corpus import open_corpus
from assay.gold import load_gold
from assay.gold.code_index import CodeIndex
from assay.gold.query_properties import is_copied
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


def test_names_of_two_definitions_are_not_drafted(tmp_path):
    body = "    step()\n" * 9
    files = {f"part{n}__py": f"def add_rule():\n{body}\n\ndef other{n}():\n    step()\n" for n in range(2)}
    assert drafts(tmp_path, **files, last__py=f"def run():\n{body}") == ("last.py::run", "part0.py", "part1.py")


SHOP = """\
class Basket:
    def total(self, rates, shipping):
        \"\"\"Compute the sum of all lines including the duty of each country.\"\"\"
        if not self.lines:
            raise ValueError("the basket has no lines")
        duty = sum(rates[line.country] for line in self.lines)
        return duty + shipping

    def merge(self, other):
        \"\"\"Combine two baskets of one customer after a login.\"\"\"
        self.lines += other.lines
        self.customer = other.customer
        return self
"""


def test_drafts_are_marked_questions_that_do_not_copy_comments(tmp_path):
    (tmp_path / "shop.py").write_text(SHOP)
    text, anchors, sources = starter_gold(open_corpus(CorpusSpec("path", str(tmp_path))))
    assert text.count("tags: {status: draft}") == len(anchors) == sum(sources.values())
    gold = tmp_path / "gold.yaml"
    gold.write_text(text)
    queries = load_gold(gold).golds[0].queries
    assert 'where does the error "the basket has no lines" come from?' in {query.headline for query in queries}
    assert all(query.headline.endswith("?") for query in queries)
    assert not any(is_copied(query.headline, SHOP) for query in queries)


SERVER = """\
var app = exports = module.exports = {};
defineGetter(req, 'host', function host(){
  var trust = this.app.get('trust proxy fn');
  var value = this.get('X-Forwarded-Host');
  if (!value || !trust(this.connection.remoteAddress)) value = this.get('Host');
  return value;
});
"""
TITLES = """\
describe('req', function(){
  describe('.host', function(){
    it('should ignore X-Forwarded-Host if proxy not trusted', function(){})
    it('should work', function(){})
  })
})
"""


def test_title_of_a_test_is_a_question_about_the_function_that_its_groups_name(tmp_path):
    (tmp_path / "test").mkdir()
    (tmp_path / "test/req.js").write_text(TITLES)
    text = drafts_text(tmp_path, request__js=SERVER)
    assert "where do we ignore X-Forwarded-Host if proxy not trusted?" in text
    assert "work" not in text.replace("working", "")


def test_values_in_a_message_are_left_out(tmp_path):
    steps = "".join(f"\tstep({number})\n" for number in range(9))
    body = 'return fmt.Errorf("cli: accepts at most %d arg(s), received %d", n, len(args))\n'
    text = drafts_text(tmp_path, main__go=f"package main\n\nfunc Check(n int) error {{\n{steps}\t{body}}}\n")
    assert 'accepts at most … arg(s), received …\\" come from?' in text


def test_comment_apart_from_its_function_is_its_documentation(tmp_path):
    text = "/**\n * Send a cookie with the given name.\n */\n\nres.cookie = function (name) {\n  return name;\n};\n"
    (tmp_path / "response.js").write_text(text)
    code = CodeIndex(open_corpus(CorpusSpec("path", str(tmp_path))))
    (ref,) = code.definitions
    assert "Send a cookie with the given name." in code.documentation(ref)


def drafts_text(folder, **files):
    drafts(folder, **files)
    return starter_gold(open_corpus(CorpusSpec("path", str(folder))))[0]
