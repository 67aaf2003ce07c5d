"""A page opened in a real browser: milliseconds from the start of the navigation until its view stands and can be used.

The page tells them itself (`window.assayReady`). Each view is opened anew, from a blank page, so that nothing is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.browser.driving import Tab


@dataclass(frozen=True, slots=True)
class Opening:
    """How a page is opened, and what issue 8 asks for."""

    milliseconds: float = 1000.0
    repeats: int = 5  # the median counts, the ends are told


def views(gold: str, query: str) -> dict[str, str]:
    """Name what is opened, with its address; the last section is drawn after all others."""
    return {
        "the report": "#/",
        "its last section": "#/report/inputs",
        "the list of queries": "#/queries",
        "one query": f"#/query/{gold}/{query}/human",
    }


def opened(page: Path, addresses: dict[str, str], opening: Opening) -> dict[str, list[float]] | str:
    """Time every view in turns; where no browser can be driven, say why."""
    from tests.browser.driving import Tab, start, why_not

    reason = why_not()
    if reason:
        return f"not measured: {reason}"
    driver = start()
    try:
        tab, taken = Tab(driver), {name: list[float]() for name in addresses}
        for _ in range(opening.repeats):
            for name, address in addresses.items():
                taken[name].append(_ready(tab, page.resolve().as_uri() + address))
        return taken
    finally:
        driver.quit()


def _ready(tab: Tab, address: str) -> float:
    """Open an address and give what the page says it took."""
    tab.open(address)
    return float(tab.wait(lambda: tab.run("return window.assayReady?.milliseconds"), "the page was not ready"))


def told(taken: Sequence[float], opening: Opening) -> str:
    """Write a median with its range and what was wanted."""
    ends = f"{min(taken):.0f} to {max(taken):.0f}"
    return f"{median(taken):.0f} ({ends} in {len(taken)} openings; target: within {opening.milliseconds:.0f})"


def quick(found: dict[str, list[float]] | str, opening: Opening) -> bool:
    """Tell whether every view stood in time; what was not measured did not miss it."""
    return isinstance(found, str) or all(median(taken) <= opening.milliseconds for taken in found.values())
