import pytest

from tests.agent.calling import ask, call, refused, text


def places(relatives):
    return [(one["path"], one["start"], one["end"], one["score"], tuple(one["shared"])) for one in relatives]


def test_relatives_are_those_of_the_index(served):
    found = served.index.related("shop/cart.py", 15, 3)
    data = ask(served.server, "related", place="shop/cart.py:15", k=3)
    for kind in ("uses", "used_by", "alike"):
        own = [(one.hit.path, one.hit.start, one.hit.end, one.hit.score, one.shared) for one in getattr(found, kind)]
        assert places(data[kind]) == own
    assert data["used_by"]
    assert data["used_by"][0]["names"] == list(found.used_by[0].names) == ["test_total_sums_prices_of_items"]
    assert [file["path"] for file in data["files"]] == [hit.path for hit in found.files]
    assert tuple(data["names"]) == found.names


def test_place_may_be_a_span_and_absolute(served):
    one = ask(served.server, "related", place="shop/tax.py:7-9")
    assert one == ask(served.server, "related", place=f"{served.root}/shop/tax.py:7")
    assert one["unit"]["path"] == "shop/tax.py"


def test_text_lists_relatives_by_kind(served):
    (result,) = call(served.server, ("related", {"place": "shop/cart.py:15"}))
    assert "used by:\ntests/test_cart.py:1-7 test_total_sums_prices_of_items uses " in text(result)
    (result,) = call(served.server, ("related", {"place": "tests/test_cart.py:4"}))
    assert "it uses:\nshop/cart.py:1-16 defines add, total, Cart" in text(result)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("shop/cart.py", "write FILE:LINE"),
        ("shop/cart.py:0", "write FILE:LINE"),
        ("shop/cart.py:999", "has no line 999"),
        ("shop/crat.py:1", "did you mean 'shop/cart.py'?"),
        ("../../etc/passwd:1", "outside"),
        ("shop/cart.py:" + "9" * 500, "not FILE:LINE"),
    ],
)
def test_wrong_place_is_refused(served, place, said):
    assert said in refused(served.server, "related", place=place)
