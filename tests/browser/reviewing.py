"""A review in the browser: the server that a command starts, and what a reviewer does with mouse and keys."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from assay.gold.review.items import ItemOrigin
from assay.types import Query, Span, Target
from tests.browser.driving import Tab
from tests.conftest import FILES, GOLD, write_tree
from tests.web.reviews import queue, write_votes

PROJECT = Path(__file__).parents[2]
ENTER, ESCAPE, TAB, DOWN, SHIFT = "\ue007", "\ue00c", "\ue004", "\ue015", "\ue008"
HOSTILE = "</script><img src=x onerror=\"document.title='pwned'\"><script>document.title='pwned'</script>"
ASKED = "which percentage is charged for a country?"


def write_gold(folder: Path) -> Path:
    """Write a set over some files, one of them long."""
    long = "".join(f"def step_{number}(value):\n    return value + {number}  # {number}\n\n\n" for number in range(150))
    files = FILES | {"gold.yaml": GOLD, "shop/long.py": long, "shop/evil.py": f"EVIL = {HOSTILE!r}\n"}
    return write_tree(folder / "repo", files) / "gold.yaml"


def propose(gold_file: Path, count: int) -> list[str]:
    """Queue places of the long file for one query; return their ids."""
    places = [Span("shop/long.py", 4 * number + 1, 4 * number + 2) for number in range(count)]
    queries = [Query("tax-lookup", {"human": ASKED}, (Target(place),)) for place in places]
    return queue(gold_file, "target", queries, ItemOrigin("pool", "x", ("engine-x",)))


def dispute(gold_file: Path) -> list[str]:
    """Queue two places with hostile text everywhere; ada and bob disagree on the first."""
    forms = {"human": HOSTILE, "keyword": HOSTILE}
    places = (Span("shop/evil.py", 1, 1), Span("shop/tax.py", 1, 2))
    queries = [Query("tax-lookup", forms, (Target(place),)) for place in places]
    ids = queue(gold_file, "target", queries, ItemOrigin("pool", HOSTILE, (HOSTILE,)), (HOSTILE,))
    write_votes(gold_file, "ada", dict(zip(ids, "20", strict=True)), HOSTILE)
    write_votes(gold_file, "bob", dict(zip(ids, "00", strict=True)), HOSTILE)
    return ids


@dataclass
class House:
    """A server in a process of its own, which can be killed and comes back at the port it had."""

    gold_file: Path
    port: int = 0
    url: str = ""
    process: Any = None
    urls: list[str] = field(default_factory=list)

    @property
    def terminal_file(self) -> Path:
        """The file that holds what a terminal would show."""
        return self.gold_file.parent.parent / "terminal.txt"

    def start(self) -> str:
        """Start it; return the address that lets in."""
        command = [sys.executable, "-m", "assay", "gold", "review", str(self.gold_file), "--browser", "--json"]
        own = {"ASSAY_CACHE_DIR": str(self.gold_file.parent.parent / "cache")}
        with open(self.terminal_file, "a") as terminal:
            self.process = subprocess.Popen(
                command, stdout=subprocess.PIPE, stderr=terminal, text=True, cwd=PROJECT, env=os.environ | own
            )
        self.url = json.loads(self.process.stdout.readline())["url"]
        port = int(self.url.split(":")[2].split("/")[0])
        assert self.port in (0, port), "pages that are open would not find it"
        self.port = port
        self.urls.append(self.url)
        return self.url

    def kill(self) -> None:
        """Kill it, as a crash would."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def served(gold_file: Path) -> Iterator[House]:
    house = House(gold_file)
    house.start()
    try:
        yield house
    finally:
        house.kill()


def sign_in(tab: Tab, url: str, name: str) -> None:
    tab.open(url)
    tab.fill("#reviewer", name)
    tab.keys(ENTER)


def take_over(tab: Tab, house: House) -> None:
    """Take a name over with the code that the terminal shows."""
    tab.click(".take-over button")
    tab.wait(lambda: tab.all("#take-over-code"))
    tab.fill("#take-over-code", house.terminal_file.read_text().split()[-1] + ENTER)


def shown(tab: Tab) -> str:
    """Return the id of the item that is shown with its form and its code, ready for a vote."""
    script = (
        "const desk = document.querySelector('.item-page');"
        "return desk?.querySelector('.ballot') && desk.querySelector('.line.marked') ? desk.dataset.item : ''"
    )
    return str(tab.run(script))


def vote(tab: Tab, value: str, reason: str) -> None:
    tab.keys(value)
    tab.wait(lambda: tab.run("return document.activeElement.id === 'reason'"), "the reason has no focus")
    tab.keys(reason + ENTER)
