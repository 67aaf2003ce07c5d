import pytest

from assay.search.rerank import RerankPassage

TOKEN = "sk-Zq81-very+secret/42"

PASSAGES = (
    RerankPassage("shop/cart.py", 1, 9, "class Cart: ..."),
    RerankPassage("shop/tax.py", 3, 7, "def tax_rate(country): ..."),
    RerankPassage("shop/retry.py", 6, 13, "def retry(call): ..."),
    RerankPassage("shop/empty.py", 1, 0, ""),
)


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
