"""The gold set of a run as it is now, told from a file of the same name that holds another one."""

from dataclasses import replace

import pytest

from assay.gold import load_gold
from assay.gold.access_log import log_saved_access, read_access_log
from assay.gold.load import reload_set
from assay.gold.split import access_log_path
from assay.types import Suite

QUERY = (
    "  - id: {0}\n    retrieval: {{primary: [{1}]}}\n"
    "    cognitive: {{human: where is {2}?}}\n    tags: {{split: sealed}}\n"
)


def written(*queries, name="shop"):
    return f"assay: 1\nname: {name}\ncorpus: {{path: .}}\nqueries:\n" + "".join(QUERY.format(*q) for q in queries)


CART, TAX = ("cart", "cart.py:1-3", "the cart"), ("tax", "tax.py", "the tax")


@pytest.fixture
def file(tmp_path):
    (tmp_path / "gold.yaml").write_text(written(CART, TAX), encoding="utf-8")
    return tmp_path / "gold.yaml"


@pytest.fixture
def ran(file):
    return load_gold(file).golds[0]


@pytest.mark.parametrize(
    ("now", "same"),
    [
        (written(CART, TAX), True),
        (written(CART, ("tax", "tax.py", "the rate")), True),  # one was worded anew
        (written(("cart", "cart.py:7-9", "the cart"), ("new", "new.py", "it")), True),  # one moved, one went, one came
        (written(("cart", "a/main.py", "the cart"), ("tax", "a/tax.py", "the tax")), False),  # asked of another code
        (written(("cart", "cart.py", "a cart"), ("tax", "tax.py", "a tax")), False),
        (written(CART, TAX, name="other"), False),
        ("assay: 1\nqueries: [", False),
    ],
)
def test_set_is_known_by_what_it_asks_and_of_which_files(file, ran, now, same):
    file.write_text(now, encoding="utf-8")
    assert (reload_set(ran) is not None) == same


def test_no_file_no_set(ran, file):
    file.unlink()
    assert reload_set(ran) is None
    assert reload_set(replace(ran, source=None)) is None


def test_look_goes_into_the_log_of_the_very_set_alone(ran, file):
    assert log_saved_access(Suite((ran,)), "score", ["mine"]) == (access_log_path(file),)
    file.write_text(written(("cart", "other.py", "carts"), name="shop"), encoding="utf-8")
    assert log_saved_access(Suite((ran,)), "score", ["mine"]) == ()
    assert len(read_access_log(file)) == 1
