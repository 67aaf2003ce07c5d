"""Numbers read alike on the page and in the documents that Python writes."""

from __future__ import annotations

import random

import pytest

from assay.browser.bundle import bundle
from tests.browser.driving import Tab

pytestmark = pytest.mark.nightly

#: Ties in binary: exactly in the middle of two texts. Python takes the even digit, `toFixed` of a browser the larger.
TIES = [0.0625, 0.1875, 0.3125, 0.4375, 0.5625, 0.9375, 1.0625, 2.5, 0.5, 1.5, 12.5, 13.5, 112.5]
#: Ties in decimal only: their doubles lie a little above or below.
NEAR = [0.0005, 0.0015, 0.4125, 0.6, 1.0005, 2.675, 1.005, 0.1235, 0.99949999, 0.9995]


def _plain(text: str) -> str:
    """Write a number of the page as Python does: the page has a real minus and no negative zero."""
    return text.replace("−", "-")


def _values() -> list[float]:
    """Give ties, what is nearly one, and numbers that nobody chose."""
    chance = random.Random(8)
    drawn = [chance.uniform(0, 10 ** chance.randint(-4, 6)) for _ in range(300)]
    halves = [(2 * chance.randrange(5000) + 1) / 16 for _ in range(100)]
    return [*TIES, *NEAR, *drawn, *halves]


@pytest.mark.parametrize("digits", [0, 1, 2, 3, 4])
def test_numbers_round_as_python_rounds(browser: Tab, digits: int) -> None:
    values = [sign * value for value in _values() for sign in (1, -1)]
    script = bundle("common/format.js") + "return arguments[0].map((one) => fixed(one, arguments[1]));"
    shown = browser.run(script, values, digits)
    wanted = [f"{value:.{digits}f}" for value in values]
    assert [_plain(text) for text in shown] == [text if float(text) else text.lstrip("-") for text in wanted]


def test_shares_groups_and_signs_round_as_python_rounds(browser: Tab) -> None:
    values = [*_values(), 0.125, 0.375, 0.005, 0.125 / 100, 12345.5, 1234567.25]
    script = bundle("common/format.js") + (
        "return arguments[0].map((one) => [percent(one), grouped(one), grouped(one, 1), signed(one)]);"
    )
    for value, (share, whole, tenth, sign) in zip(values, browser.run(script, values), strict=True):
        assert (_plain(share), whole, tenth) == (f"{value:.0%}", f"{value:,.0f}", f"{value:,.1f}")
        assert sign == (f"{value:+.3f}" if float(f"{value:.3f}") else "0.000")


def test_a_p_value_is_that_of_the_documents(browser: Tab) -> None:
    values = [0.03125, 0.00015, 0.0001, 0.00004, 0.0, 1.0, *_values()]
    script = bundle("explorer/report/parts.js") + "return arguments[0].map(pText);"
    assert browser.run(script, values) == [f"{value:.4f}" if value >= 0.0001 else "<0.0001" for value in values]
