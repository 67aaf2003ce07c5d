import pytest

from tests.agent.calling import ask, call, refused, serve, text

QUERY = "how is the total of all items computed?"


def test_explanation_is_the_trace_of_the_index(served):
    index = served.index
    trace = index.explain(QUERY, expect="shop/tax.py")
    (steps,) = [one.steps for one in trace.candidates() if one.path == "shop/tax.py"]
    data = ask(served.server, "explain", query=QUERY, file="shop/tax.py")
    assert [(s["stage"], s["score"], s["change"], s["rank"], s["before"]) for s in data["stages"]] == [
        (s.stage, s.score, s.change, s.rank, s.before) for s in steps
    ]
    assert data["rank"] == steps[-1].rank
    assert [one["path"] for one in data["leaders"]] == [hit.path for hit in index.search(QUERY)]


def test_file_below_k_is_lost_at_a_stage(served):
    lost = served.index.lost(QUERY, "shop/tax.py", k=1)
    data = ask(served.server, "explain", query=QUERY, file="shop/tax.py", k=1)
    assert (data["lost_at"], data["reason"], data["rank"]) == (lost.stage, lost.reason, lost.final)
    assert data["lost_at"] is not None


def test_first_file_is_found(served):
    data = ask(served.server, "explain", query="tax_rate", file=str(served.root / "shop" / "tax.py"))
    assert (data["file"], data["rank"], data["lost_at"]) == ("shop/tax.py", 1, None)


def test_words_that_no_file_has_are_named(served):
    (result,) = call(served.server, ("explain", {"query": "cart zebra", "file": "shop/cart.py"}))
    assert "not in any file: zebra" in text(result)
    assert "best files:\n1. " in text(result)


def test_ignored_file_is_said_to_be_ignored(shop):
    (shop / ".assayignore").write_text("built/\n", encoding="utf-8")
    (shop / "built").mkdir()
    (shop / "built" / "cart.py").write_text("cart = 1\n", encoding="utf-8")
    data = ask(serve(shop), "explain", query="cart", file="built/cart.py")
    assert data["lost_at"] == "corpus"
    assert "(built/: assayignore" in data["reason"]


@pytest.mark.parametrize(
    ("file", "said"),
    [("shop/crat.py", "did you mean shop/cart.py?"), ("../x.py", "outside"), ("/etc/passwd", "outside")],
)
def test_wrong_file_is_refused(served, file, said):
    assert said in refused(served.server, "explain", query="cart", file=file)
