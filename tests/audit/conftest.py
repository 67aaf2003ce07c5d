from pathlib import Path

import pytest

from assay.audit.engine_client import AuditTarget
from assay.audit.findings import Audit, AuditConfig, AuditQuery, ReproCommand, Severity
from assay.audit.run_audit import run_audit
from assay.corpus import open_corpus, parse_spec
from assay.engines import as_engine
from assay.experiment.spec.engine_entries import EngineFactory
from assay.types import Corpus

HERE = Path(__file__).parent
SMALL = AuditConfig(queries=4, repeats=1, timeout=300.0, hash_seeds=(0, 1))
QUERIES = ("add item cart", "tax_rate", "retry payment call", "render price label")

_PYTHON = {
    "shop/cart.py": ("add_item", "remove_item", "total_price", "Cart"),
    "shop/tax.py": ("tax_rate", "with_tax", "country_code", "tax"),
    "pay/retry.py": ("retry_call", "payment_delay", "max_timeouts", "retry"),
    "pay/card.py": ("charge_card", "refund_card", "card_number", "card"),
}
_SCRIPT = {
    "web/label.js": ("renderLabel", "priceText", "shorten", "label"),
    "web/basket.js": ("addToBasket", "basketTotal", "emptyBasket", "basket"),
}


def write_shop(root: Path) -> None:
    """Write a small shop in two languages, with a definition every four lines."""
    for path, names in (_PYTHON | _SCRIPT).items():
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        head = ("def {}(value):", "    return value") if path.endswith(".py") else ("function {}(value) {{", "}}")
        bodies = [
            f"{head[0].format(name)}\n    # {path} {name} {at}\n{head[1].format()}\n" for at, name in enumerate(names)
        ]
        file.write_text("\n".join(bodies), encoding="utf-8")


@pytest.fixture
def market(tmp_path: Path) -> Corpus:
    """Give the shop in two languages as a corpus."""
    write_shop(tmp_path / "repository")
    return open_corpus(parse_spec(str(tmp_path / "repository")))


def subject_of(engine, corpus: Corpus, **more) -> AuditTarget:
    """Put an engine object on the bench."""
    questions = tuple(AuditQuery(text, "a test") for text in QUERIES)
    return AuditTarget("specimen", as_engine(engine), corpus, questions, ReproCommand("specimen"), **more)


def recipe_of(name: str) -> EngineFactory:
    """Name a specimen so that another process can make it."""
    return EngineFactory(f"python:specimens:{name}", HERE)


def made_of(name: str, corpus: Corpus) -> AuditTarget:
    """Put a specimen on the bench that another process can make too."""
    recipe = recipe_of(name)
    return subject_of(recipe.make(), corpus, factory=recipe)


def amiss(audit: Audit) -> dict[str, Severity]:
    """List what is not as it should be."""
    bad = (Severity.BROKEN, Severity.WEAKNESS)
    return {f"{f.check}/{f.law}": f.severity for f in audit.findings if f.severity in bad}


def audited(engine, corpus: Corpus, config: AuditConfig = SMALL, **more) -> Audit:
    """Audit an engine object."""
    return run_audit(subject_of(engine, corpus, **more), config)
