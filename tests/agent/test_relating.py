import pytest

from tests.agent.calling import ask, call, refused, text


def test_relatives_are_those_of_the_index(served):
    found = served.index.related("shop/cart.py", 15, 3)
    answer = ask(served.server, "related", place="shop/cart.py:15", k=3)
    titles = {"it uses": found.uses, "used by": found.used_by, "similar": found.alike}
    for title, relations in titles.items():
        part = next((part for part in answer.split("\n\n") if part.startswith(f"{title}:\n")), "")
        assert [line.split(" ")[0] for line in part.split("\n")[1:]] == [str(one.hit.span) for one in relations]
    assert found.used_by
    assert answer.endswith("\n".join(["files:", *(hit.path for hit in found.files)]))
    assert answer.startswith(f"{found.chunk.span} defines {', '.join(found.names)}\n")


def test_place_may_be_a_span_and_absolute(served):
    one = ask(served.server, "related", place="shop/tax.py:7-9")
    assert one == ask(served.server, "related", place=f"{served.root}/shop/tax.py:7")
    assert one.startswith("shop/tax.py:")


def test_text_lists_relatives_by_kind(served):
    (result,) = call(served.server, ("related", {"place": "shop/cart.py:15"}))
    assert "used by:\ntests/test_cart.py:1-7 test_total_sums_prices_of_items uses " in text(result)
    (result,) = call(served.server, ("related", {"place": "tests/test_cart.py:4"}))
    assert "it uses:\nshop/cart.py:1-16 defines add, total, Cart" in text(result)


@pytest.mark.parametrize(
    ("place", "said"),
    [
        ("shop/cart.py", "expected FILE:LINE, got"),
        ("shop/cart.py:0", "expected FILE:LINE, got"),
        ("shop/cart.py:999", "has no line 999"),
        ("shop/crat.py:1", "did you mean 'shop/cart.py'?"),
        ("../../etc/passwd:1", "outside"),
        ("shop/cart.py:" + "9" * 500, "expected FILE:LINE, got"),
    ],
)
def test_wrong_place_is_refused(served, place, said):
    assert said in refused(served.server, "related", place=place)
