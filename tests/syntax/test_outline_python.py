"""Python outlines."""

from assay.syntax.outline import parse_outline
from tests.syntax.outlines import docs, references, rows, signatures

SOURCE = '''\
"""A shop."""
from __future__ import annotations
import os.path as p
from shop import Base, mixins

# How many fit.
LIMIT: int = 3
NAMES = ["a"]
left, right = 1, 2
type Price[T] = dict[str, T]
if os.name == "nt":
    SEP = ";"
else:
    SEP = ":"
try:
    FAST = True
except ImportError:
    FAST = False


@register("basket")
@final
class Basket(Base, mixins.Loud, metaclass=Meta):
    """Hold fruit."""

    size: int = 0
    owner: str
    colour = "red"

    # Counts.
    @property
    async def count(self) -> Count:
        """Count the fruit."""
        local = 1

        def inner():
            return helper(local)

        return self.tree.walk(inner)

    class Handle:
        pass


def sell(basket: Basket, *, to: dict[str, Buyer]) -> None:
    r"Sell it."
    LOCAL = 1
    if LOCAL:
        OTHER = 2
'''


def test_python_definitions_have_their_lines_kinds_and_parents():
    assert rows(SOURCE, "python") == [
        ("LIMIT", "constant", 6, 7, -1),
        ("NAMES", "constant", 8, 8, -1),
        ("left", "constant", 9, 9, -1),
        ("right", "constant", 9, 9, -1),
        ("Price", "type", 10, 10, -1),
        ("SEP", "constant", 12, 12, -1),
        ("SEP", "constant", 14, 14, -1),
        ("FAST", "constant", 16, 16, -1),
        ("FAST", "constant", 18, 18, -1),
        ("Basket", "class", 21, 42, -1),
        ("size", "property", 26, 26, 9),
        ("owner", "property", 27, 27, 9),
        ("colour", "property", 28, 28, 9),
        ("count", "method", 30, 39, 9),
        ("inner", "function", 36, 37, 13),
        ("Handle", "class", 41, 42, 9),
        ("sell", "function", 45, 49, -1),
    ]


def test_python_documentation_is_attached():
    assert docs(SOURCE, "python") == {
        "LIMIT": "How many fit.",
        "Basket": "Hold fruit.",
        "count": "Counts. Count the fruit.",
        "sell": "Sell it.",
    }


def test_python_signatures_stop_at_the_body():
    assert signatures(SOURCE, "python")["count"] == "async def count(self) -> Count:"


def test_python_imports_are_listed():
    assert parse_outline(SOURCE, "python").imports == (
        "from __future__ import annotations",
        "import os.path as p",
        "from shop import Base, mixins",
    )


def test_python_references_are_calls_and_types():
    used = references(SOURCE, "python")
    assert used >= {"Base", "Basket", "Buyer", "Count", "Loud", "final", "helper", "register", "walk"}
    assert not used & {"LOCAL", "local", "size"}


def test_python_broken_source_keeps_what_can_be_read():
    source = "def before():\n    pass\n\ndef broken(:\n\nclass After:\n    x = 1\n"
    assert parse_outline(source, "python").broken
    assert "before" in [name for name, *_ in rows(source, "python")]
    assert not parse_outline(SOURCE, "python").broken
