"""A real browser under the tests: Debian's Chromium, driven by its own driver, with what a page may not do watched."""

from __future__ import annotations

import base64
import importlib.util
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import WATCHDOG

#: Where Debian and others put them.
_PROGRAMS = {"browser": ("chromium", "chromium-browser", "google-chrome"), "driver": ("chromedriver",)}
_SERIOUS = ("serious", "critical")


def why_not() -> str | None:
    """Say why no browser can be driven here; None where one can."""
    if importlib.util.find_spec("selenium") is None:
        return "selenium is not installed (`make test` installs it)"
    for what, names in _PROGRAMS.items():
        if not any(shutil.which(name) for name in names):
            return f"no {what} ({' or '.join(names)}): `apt-get install chromium chromium-driver`, then `make test`"
    return None


def start() -> Any:
    """Start a headless browser that keeps a log of all it asks for."""
    from selenium import webdriver
    from selenium.webdriver.chrome.options import Options
    from selenium.webdriver.chrome.service import Service

    reason = why_not()
    if reason:
        if os.environ.get("ASSAY_NEED_BROWSER"):
            pytest.fail(f"ASSAY_NEED_BROWSER is set, and {reason}")
        pytest.skip(f"NO BROWSER TESTS: {reason}")
    options = Options()
    options.binary_location = _program("browser")
    for flag in ("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"):
        options.add_argument(flag)
    # Chromium's own errands are no requests of a page, but they would wait for a network that is not there.
    for flag in ("--disable-background-networking", "--disable-component-update", "--no-first-run", "--disable-sync"):
        options.add_argument(flag)
    options.add_argument("--window-size=1280,900")
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    return webdriver.Chrome(options=options, service=Service(_program("driver")))


def _program(what: str) -> str:
    """Find one of the programs."""
    return next(found for name in _PROGRAMS[what] if (found := shutil.which(name)))


@cache
def axe_script() -> str:
    """Give the script of axe-core; the package brings it for another driver, which is not needed."""
    spec = importlib.util.find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("NO ACCESSIBILITY TESTS: axe-playwright-python is not installed (`make test` installs it)")
    return next(Path(spec.origin).parent.rglob("axe.min.js")).read_text(encoding="utf-8")


class Tab:
    """A page in a browser, and the words of tests about it."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver
        self._errors: list[str] = []
        self._asked: list[str] = []

    def open(self, place: Path | str) -> Tab:
        """Open a file or an address anew; what was logged before is forgotten."""
        self.driver.get("about:blank")
        self._drain()
        self._errors, self._asked = [], []
        self.driver.get(place.resolve().as_uri() if isinstance(place, Path) else place)
        return self

    def go(self, fragment: str) -> Tab:
        """Follow a deep link inside the page that is open."""
        self.run("location.hash = arguments[0]", fragment)
        return self

    def crash(self) -> Tab:
        """Go on in another tab, as after a crash: what this one alone knew is gone, what the browser kept is not."""
        old = self.driver.current_window_handle
        open_beside(self.driver)
        new = self.driver.current_window_handle
        self.driver.switch_to.window(old)
        self.driver.close()
        self.driver.switch_to.window(new)
        return self

    def all(self, css: str) -> list[Any]:
        """Give the elements there are now."""
        return list(self.driver.find_elements("css selector", css))

    def find(self, css: str) -> Any:
        """Wait for an element that is shown."""
        return self.wait(lambda: next((one for one in self.all(css) if one.is_displayed()), None), f"no {css}")

    def text(self, css: str) -> str:
        """Give what an element shows, once it is there."""
        return str(self.find(css).text)

    def texts(self, css: str) -> list[str]:
        """Give what all of them hold, shown or scrolled away."""
        found: list[str] = self.run(
            "return [...document.querySelectorAll(arguments[0])].map(e => e.textContent.trim())", css
        )
        return found

    def click(self, css: str) -> None:
        """Click an element, once it is there."""
        element = self.find(css)
        self.run("arguments[0].scrollIntoView({block: 'center'})", element)
        element.click()

    def fill(self, css: str, text: str) -> None:
        """Write into a field, from nothing."""
        field = self.find(css)
        field.clear()
        field.send_keys(text)

    def keys(self, *keys: str) -> None:
        """Press keys, wherever the focus is."""
        from selenium.webdriver.common.action_chains import ActionChains

        for key in keys:
            ActionChains(self.driver).send_keys(key).perform()

    def run(self, script: str, *arguments: object) -> Any:
        """Run a script in the page."""
        return self.driver.execute_script(script, *arguments)

    def wait(self, condition: Callable[[], Any], what: str = "it did not happen") -> Any:
        """Wait until something holds, and give it; elements that are replaced meanwhile are looked for again."""
        from selenium.common.exceptions import StaleElementReferenceException

        end = time.monotonic() + WATCHDOG
        while True:
            try:
                if found := condition():
                    return found
            except StaleElementReferenceException:
                pass
            if time.monotonic() > end:
                pytest.fail(
                    f"{what} in {WATCHDOG:g} s; the page says: {self.run('return document.body.innerText')[:800]}"
                )
            time.sleep(0.03)

    def console_errors(self) -> list[str]:
        """Give what the page complained about, a broken policy above all."""
        self._drain()
        return list(self._errors)

    def requests(self) -> list[str]:
        """Give every address that was asked for since the page was opened, that of the page itself left out."""
        self._drain()
        page = self.driver.current_url.partition("#")[0]
        return [url for url in self._asked if url.partition("#")[0] != page]

    def axe(self, within: str = "html") -> list[str]:
        """Give what axe-core finds serious or critical: the rule, and the first place it is broken at."""
        self.driver.set_script_timeout(WATCHDOG)
        self.run(axe_script())
        found = self.driver.execute_async_script(
            "const done = arguments[1]; axe.run(document.querySelector(arguments[0]))"
            ".then(r => done(r.violations), e => done([{id: String(e), impact: 'critical', nodes: []}]))",
            within,
        )
        return [
            f"{one['id']} ({one['impact']}, {len(one['nodes'])}×): {[node['html'][:200] for node in one['nodes'][:2]]}"
            for one in found
            if one["impact"] in _SERIOUS
        ]

    def resize(self, width: int, height: int = 900) -> Tab:
        """Give the page another size, a phone's too: the window itself cannot be that narrow."""
        given = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", given)
        return self

    def dark(self, wanted: bool = True) -> Tab:
        """Have the browser prefer dark pages, or light ones."""
        value = "dark" if wanted else "light"
        features = [{"name": "prefers-color-scheme", "value": value}]
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": features})
        return self

    def printed(self) -> bytes:
        """Print the page and give the PDF."""
        return base64.b64decode(self.driver.execute_cdp_cmd("Page.printToPDF", {"printBackground": True})["data"])

    def screenshot(self, path: Path, *, whole: bool = False) -> None:
        """Write a picture of what is seen, or of the whole page."""
        given: dict[str, object] = {"captureBeyondViewport": whole}
        if whole:
            size = self.run("const d = document.documentElement; return [d.scrollWidth, d.scrollHeight]")
            given |= {"clip": {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}}
        path.write_bytes(base64.b64decode(self.driver.execute_cdp_cmd("Page.captureScreenshot", given)["data"]))

    def _drain(self) -> None:
        """Take what was logged since the last look."""
        self._errors += [row["message"] for row in self.driver.get_log("browser") if row["level"] == "SEVERE"]
        for row in self.driver.get_log("performance"):
            message = json.loads(row["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                self._asked.append(message["params"]["request"]["url"])


def open_beside(driver: Any) -> None:
    """Go to a tab of its own."""
    driver.switch_to.new_window("tab")
    # a second tab is not the one in front: without this no element of it would ever have the focus
    driver.execute_cdp_cmd("Emulation.setFocusEmulationEnabled", {"enabled": True})


def new_tab(driver: Any) -> Iterator[Tab]:
    """Open a tab with a history and settings of its own, and close it: one browser serves many tests."""
    first = driver.current_window_handle
    open_beside(driver)
    driver.delete_all_cookies()
    try:
        yield Tab(driver)
    finally:
        driver.close()
        driver.switch_to.window(first)


def several(count: int) -> Iterator[Sequence[Tab]]:
    """Start browsers that share nothing, and end them."""
    drivers: list[Any] = []
    try:
        for _ in range(count):
            drivers.append(start())
        yield [Tab(driver) for driver in drivers]
    finally:
        for driver in drivers:
            driver.quit()
