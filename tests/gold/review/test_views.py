"""A reviewer sees the question and the code, and nothing that would sway the vote."""

from assay.corpus import open_corpus
from assay.gold.review.views import ItemViewer, ViewConfig, format_view, view_mapping
from assay.types import CorpusSpec, Span
from tests.gold.review.conftest import adversary_item, cast, phrasing_item, query_item, target_item


def viewer(queue, **config):
    return ItemViewer(open_corpus(CorpusSpec("path", "."), base=queue.gold_file.parent), ViewConfig(**config))


def text(queue, item, **more):
    return "\n".join(format_view(viewer(queue).view(item), **more))


def test_a_target_is_shown_with_its_question_and_its_lines(queue):
    shown = text(queue, target_item(queue))
    assert "human: which percentage is charged for a country?" in shown
    assert "proposed: shop/tax.py:11-13" in shown
    assert "  11  def with_tax(amount, country):" in shown
    assert "tax_rate(country):" not in shown  # not the lines above it


def test_engines_are_named_only_where_that_is_asked_for(queue):
    item = target_item(queue, engines=("secret-engine",))
    view = viewer(queue).view(item)
    assert "secret-engine" not in text(queue, item)
    assert "secret-engine" not in str(view_mapping(view))
    assert "returned by: secret-engine" in text(queue, item, engines=True)
    assert "secret-engine" in str(view_mapping(view, engines=True))


def test_votes_of_others_are_in_no_view(queue):
    item = target_item(queue)
    queue.add([item])
    cast(queue, "ada", item, "0")
    view = viewer(queue).view(item)
    assert "ada" not in "\n".join(format_view(view)) + str(view_mapping(view))


def test_a_symbol_and_a_whole_file_show_their_code(queue):
    assert "primary: shop/receipt.py" in text(queue, query_item(queue))
    shown = text(queue, adversary_item(queue))
    assert shown.index("adversary: shop/cart.py") < shown.index("primary: shop/tax.py::tax_rate")
    assert "proposed adversary (sibling, weak): prices, not rates" in shown
    assert "def tax_rate(country):" in text(queue, phrasing_item(queue))


def test_a_place_that_is_gone_is_told(queue):
    assert "shop/gone.py is not in the corpus" in text(queue, target_item(queue, Span("shop/gone.py", 1, 2)))


def test_long_places_are_cut_and_the_rest_is_counted(queue):
    view = viewer(queue, lines=2, columns=10).view(target_item(queue, Span("shop/tax.py")))
    place = view.excerpts[0]
    assert (len(place.lines), place.more) == (2, 11)
    assert max(map(len, place.lines)) <= 10
    assert "  … 11 more lines" in list(format_view(view))
