import re

import pytest

from tests.agent.calling import ask, call, refused, serve, text

QUERY = "how is the total of all items computed?"


def test_explanation_is_the_trace_of_the_index(served):
    index = served.index
    trace = index.explain(QUERY, expect="shop/tax.py")
    (steps,) = [one.steps for one in trace.candidates() if one.path == "shop/tax.py"]
    answer = ask(served.server, "explain", query=QUERY, file="shop/tax.py")
    moved = [step for step in steps if abs(step.change) > 1e-9 or step.rank != step.before]
    assert moved
    for step in moved:
        assert (
            f"\n{step.stage} | {step.score:.3f} | {step.change:+.3f} | {step.before or '–'} → {step.rank}\n" in answer
        )
    leaders = [f"{rank}. {hit.path}" for rank, hit in enumerate(index.search(QUERY), start=1)]
    assert answer.endswith("\n".join(["best files:", *leaders]))


def test_file_below_k_is_lost_at_a_stage(served):
    lost = served.index.lost(QUERY, "shop/tax.py", k=1)
    assert lost.stage is not None
    answer = ask(served.server, "explain", query=QUERY, file="shop/tax.py", k=1)
    assert answer.startswith(f"shop/tax.py: lost at {lost.stage}: {lost.reason}\n")


def test_first_file_is_found(served):
    answer = ask(served.server, "explain", query="tax_rate", file=str(served.root / "shop" / "tax.py"))
    assert answer.startswith("shop/tax.py: ")
    assert "lost at" not in answer
    assert "best files:\n1. shop/tax.py" in answer


def test_explanation_is_cut_at_its_budget(served):
    answer = ask(served.server, "explain", query="cart " * 400, file="shop/cart.py", max_tokens=200)
    assert len(answer) < 1_000
    assert re.search(r"\d+ of \d+ lines left out at max_tokens = 200: raise max_tokens", answer)


def test_words_that_no_file_has_are_named(served):
    (result,) = call(served.server, ("explain", {"query": "cart zebra", "file": "shop/cart.py"}))
    assert "not in any file: zebra" in text(result)
    assert "best files:\n1. " in text(result)


def test_ignored_file_is_said_to_be_ignored(shop):
    (shop / ".assayignore").write_text("built/\n", encoding="utf-8")
    (shop / "built").mkdir()
    (shop / "built" / "cart.py").write_text("cart = 1\n", encoding="utf-8")
    answer = ask(serve(shop), "explain", query="cart", file="built/cart.py")
    assert "lost at corpus: " in answer
    assert "(built/: assayignore" in answer


@pytest.mark.parametrize(
    ("file", "said"),
    [("shop/crat.py", "did you mean shop/cart.py?"), ("../x.py", "outside"), ("/etc/passwd", "outside")],
)
def test_wrong_file_is_refused(served, file, said):
    assert said in refused(served.server, "explain", query="cart", file=file)
