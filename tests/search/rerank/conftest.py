import pytest

from assay.search.rerank import Passage

TOKEN = "sk-Zq81-very+secret/42"

PASSAGES = (
    Passage("shop/cart.py", 1, 9, "class Cart: ..."),
    Passage("shop/tax.py", 3, 7, "def tax_rate(country): ..."),
    Passage("shop/retry.py", 6, 13, "def retry(call): ..."),
    Passage("shop/empty.py", 1, 0, ""),
)


@pytest.fixture(autouse=True)
def secret(monkeypatch):
    monkeypatch.setenv("SHOP_TOKEN", TOKEN)
