"""A review as people do it in the browser: two at once, a server that dies, by keyboard alone, with hostile text."""

import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from assay.gold import load_gold
from assay.gold.review.items import ItemOrigin
from assay.types import Query, Span, Target
from tests.browser.driving import Tab
from tests.browser.reviewing import (
    DOWN,
    ENTER,
    ESCAPE,
    HOSTILE,
    SHIFT,
    House,
    dispute,
    propose,
    served,
    shown,
    sign_in,
    take_over,
    vote,
    write_gold,
)  # fmt: skip
from tests.waiting import WATCHDOG, wait_until
from tests.web.reviews import items, queue, votes, write_votes

pytestmark = pytest.mark.nightly


@pytest.fixture
def gold_file(tmp_path) -> Path:
    return write_gold(tmp_path)


# --- two people, one crash ------------------------------------------------------------------------------------------


@dataclass
class Person:
    """One of two reviewers, and what they will say."""

    name: str
    tab: Tab
    says: list[str]
    known: int = 1  # addresses that were opened
    error: BaseException | None = None

    def work(self, house: House, ids: list[str], both: threading.Barrier) -> None:
        """Vote on everything, whatever becomes of the server; both vote once while it is certainly away."""
        try:
            sign_in(self.tab, house.urls[0], self.name)
            for place, value in enumerate(self.says):
                self.tab.wait(partial(self.has, house, ids[place]), f"{self.name} waits for item {place}")
                away = place == len(self.says) - 2
                if away and both.wait() == 0:
                    house.kill()
                if away:
                    both.wait()
                vote(self.tab, value, f"{self.name} {place}")
                if away:
                    self.tab.wait(lambda: "1 vote not sent yet" in self.post(), "the page does not keep the vote")
                if away and both.wait() == 0:
                    house.start()
            saved = partial(self.has_saved, house)
            self.tab.wait(saved, "not all was saved")
        except BaseException as error:
            self.error = error
            both.abort()

    def has_saved(self, house: House) -> bool:
        """Tell whether all is on the disk, as far as the page knows."""
        return self.readmitted(house) and "all saved" in self.post()

    def has(self, house: House, item: str) -> bool:
        """Tell whether an item can be voted on."""
        return self.readmitted(house) and shown(self.tab) == item

    def post(self) -> str:
        """Read what the page says of votes that are on their way."""
        return str(self.tab.run("return document.querySelector('.outbox').textContent"))

    def readmitted(self, house: House) -> bool:
        """Open a new address in a tab beside this one, as soon as there is one."""
        from selenium.common.exceptions import WebDriverException

        if len(house.urls) > self.known:
            self.known = len(house.urls)
            driver = self.tab.driver
            here = driver.current_window_handle
            driver.switch_to.new_window("tab")
            with suppress(WebDriverException):  # killed again by now; the next address lets in as well
                driver.get(house.url)
            driver.close()
            driver.switch_to.window(here)
        return True


def kill_at_work(house: House, draw: random.Random, moments: Sequence[int]) -> None:
    """Kill the server while votes are on their way: some milliseconds after so many are on the disk."""
    for moment in moments:
        wait_until(partial(has_written, house.gold_file, moment), f"{moment} votes on the disk")
        time.sleep(draw.choice((0.0, draw.uniform(0.0, 0.3))))
        house.kill()
        house.start()


def has_written(gold_file: Path, count: int) -> bool:
    files = (gold_file.parent / "gold.review" / "votes").glob("*")
    return sum(path.read_bytes().count(b"\n") for path in files) >= count


def test_two_reviewers_at_once_lose_nothing_when_the_server_is_killed(gold_file, two_browsers):
    from sklearn.metrics import cohen_kappa_score

    ids = propose(gold_file, 20)
    said = {"ada": list("22110012201100221210"), "bob": list("22110022200100u21211")}
    with served(gold_file) as house:
        people = [Person(name, tab, said[name]) for name, tab in zip(said, two_browsers, strict=True)]
        both = threading.Barrier(2, timeout=3 * WATCHDOG)
        threads = [threading.Thread(target=person.work, args=(house, ids, both)) for person in people]
        draw = random.Random(8)
        moments = sorted(draw.sample(range(2, 30), 3))
        threads.append(threading.Thread(target=kill_at_work, args=(house, draw, moments)))
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(timeout=4 * WATCHDOG)
        assert [person.error for person in people] == [None, None]
        assert len(house.urls) == 5, "the server did not come back"
        two_browsers[0].go("#/agreement")
        rows = two_browsers[0].wait(lambda: two_browsers[0].texts(".table-box tbody tr"))

    kept = {name: votes(gold_file, name) for name in said}
    assert {name: [line["item"] for line in lines] for name, lines in kept.items()} == {"ada": ids, "bob": ids}
    assert {name: [line["value"] for line in lines] for name, lines in kept.items()} == {
        name: ["unsure" if value == "u" else value for value in values] for name, values in said.items()
    }
    assert all(line["reason"] == f"{name} {place}" for name in said for place, line in enumerate(kept[name]))
    sure = [(a, b) for a, b in zip(said["ada"], said["bob"], strict=True) if b != "u"]
    for weights, label in ((None, "Cohen's κ: ada, bob"), ("quadratic", "κ with squared weights: ada, bob")):
        wanted = cohen_kappa_score(*zip(*sure, strict=True), weights=weights)
        assert any(row.startswith(f"{label}{wanted:.3f}") for row in rows), (label, wanted, rows)


# --- one person -----------------------------------------------------------------------------------------------------


def test_a_review_needs_no_mouse(gold_file, browser):
    ids = propose(gold_file, 3)
    with served(gold_file) as house:
        sign_in(browser, house.url, "ada")
        browser.wait(lambda: shown(browser) == ids[0])
        assert "engine-x" not in browser.text(".query-card")
        browser.keys("j")
        browser.wait(lambda: shown(browser) == ids[1])
        browser.keys("k")
        browser.wait(lambda: shown(browser) == ids[0])
        browser.keys("e")
        browser.wait(lambda: "engine-x" in browser.text(".query-card"))
        vote(browser, "2", "saw the engine")
        browser.wait(lambda: shown(browser) == ids[1])
        vote(browser, "0", "not at all")
        browser.wait(lambda: shown(browser) == ids[2])
        browser.keys("z")
        browser.wait(lambda: shown(browser) == ids[1])
        assert browser.find(".value-0").get_attribute("aria-pressed") == "true"
        vote(browser, "1", " but a little")
        propose_by_keys(browser, ids[2])
        vote(browser, "u", "cannot tell")
        browser.wait(lambda: "voted on everything" in browser.text("main"))
        assert browser.console_errors() == []
        assert all(url.startswith(f"http://127.0.0.1:{house.port}/") for url in browser.requests())
    said = {line["item"]: line for line in votes(gold_file, "ada")}  # the last vote on each
    assert [(said[item]["value"], said[item]["reason"], said[item].get("shown")) for item in ids] == [
        ("2", "saw the engine", ["engine-x"]), ("1", "not at all but a little", None), ("unsure", "cannot tell", None),
    ]  # fmt: skip
    added = [(item["query"]["retrieval"]["primary"], said[item["id"]]["value"]) for item in items(gold_file)[3:]]
    assert added == [(["shop/tax.py:1-3"], "2"), (["shop/tax.py::with_tax"], "2")]


def test_a_question_is_edited_by_keys(gold_file, browser):
    queries = [Query(name, {"human": f"where is {name}?"}, (Target(Span("shop/tax.py", 1, 3)),)) for name in ("a", "b")]
    ids = queue(gold_file, "query", queries, ItemOrigin("docs"))
    with served(gold_file) as house:
        sign_in(browser, house.url, "ada")
        browser.wait(lambda: shown(browser) == ids[0])
        browser.keys("w", ESCAPE)
        browser.wait(lambda: browser.text("#headline") == "where is a?")
        browser.keys("w")
        browser.wait(lambda: browser.run("return document.activeElement.id === 'new-question'"))
        browser.keys("<img src=x onerror=alert(1)>" + ENTER)
        browser.wait(lambda: shown(browser) == ids[1])
        browser.wait(lambda: "<img src=x onerror=alert(1)>" in browser.texts(".queue .item-headline"))
        assert browser.run("return document.querySelectorAll('main img').length") == 0
        vote(browser, "a", "as it is")
        browser.wait(lambda: "voted on everything" in browser.text("main"))
        assert browser.console_errors() == []
    said = [(line["item"], line["value"]) for line in votes(gold_file, "ada")]
    assert said == [(ids[0], "reject"), (items(gold_file)[2]["id"], "accept"), (ids[1], "accept")]


def propose_by_keys(tab: Tab, item: str) -> None:
    """Open another file, pick lines with the arrows, then a definition by its name; propose both."""
    from selenium.webdriver.common.action_chains import ActionChains

    tab.wait(lambda: shown(tab) == item)
    tab.keys("o", "tax shop")
    tab.wait(lambda: "shop/tax.py" in tab.texts(".choice .mono"))
    tab.keys(ENTER)
    tab.wait(lambda: tab.text(".code-head .path") == "shop/tax.py")
    tab.keys("s")
    ActionChains(tab.driver).key_down(SHIFT).send_keys(DOWN, DOWN).key_up(SHIFT).perform()
    assert "shop/tax.py:1-3" in tab.text(".proposal")
    tab.keys("p", "the rates" + ENTER)
    tab.wait(lambda: len(tab.all(".queue li")) == 4)
    tab.keys("d", "with")
    tab.wait(lambda: tab.texts(".choice .mono") == ["with_tax"])
    tab.keys(ENTER)
    tab.wait(lambda: "shop/tax.py::with_tax" in tab.text(".proposal"))
    tab.keys("it is added here" + ENTER)
    tab.wait(lambda: len(tab.all(".queue li")) == 5)


def test_lines_are_picked_by_their_numbers_in_a_long_file(gold_file, browser):
    from selenium.webdriver.common.action_chains import ActionChains

    propose(gold_file, 1)
    with served(gold_file) as house:
        sign_in(browser, house.url, "ada")
        browser.wait(lambda: shown(browser))
        assert browser.text(".code-head .note") == "lines 1–2 of 600"
        assert not browser.all('[data-line="590"]')
        browser.run("const pane = document.querySelector('.code-scroll'); pane.scrollTop = pane.scrollHeight")
        browser.wait(lambda: browser.all('[data-line="590"]'))
        browser.click('[data-line="590"] .number')
        last = browser.find('[data-line="593"] .number')
        ActionChains(browser.driver).key_down(SHIFT).click(last).key_up(SHIFT).perform()
        assert "shop/long.py:590-593" in browser.text(".proposal")
        assert len(browser.all(".line.picked")) == 4
        assert browser.find('[data-line="593"] .c-keyword').text == "def"
        browser.find(".code-scroll").send_keys(ESCAPE)
        browser.wait(lambda: not browser.all(".line.picked"))


def test_what_is_written_survives_a_reload_and_another_tab_is_not_overwritten(gold_file, browser):
    ids = propose(gold_file, 2)
    with served(gold_file) as house:
        sign_in(browser, house.url, "ada")
        browser.wait(lambda: shown(browser) == ids[0])
        browser.keys("1", "half a thought")
        sign_in(browser.crash(), house.url, "ada")
        browser.wait(lambda: shown(browser) == ids[0])
        assert browser.find("#reason").get_attribute("value") == "half a thought"
        assert browser.find(".value-1").get_attribute("aria-pressed") == "true"
        write_votes(gold_file, "ada", {ids[0]: "0"}, "in another tab")
        vote(browser, "1", " made whole")
        browser.wait(lambda: browser.texts(".queue .sign")[0] == "!")
        browser.keys(ESCAPE, "k")
        browser.wait(lambda: shown(browser) == ids[0])
        assert "you already voted 0 on this item in another tab or terminal: in another tab" in browser.text(
            ".form-box .warning"
        )
        browser.find("#reason").send_keys(ENTER)
        browser.wait(lambda: browser.texts(".queue .sign")[0] == "1")
    history = [(line["value"], line["reason"]) for line in votes(gold_file, "ada")]
    assert history == [("0", "in another tab"), ("1", "half a thought made whole")]


def test_votes_that_were_not_saved_outlive_the_browser_and_are_sent_under_no_other_name(gold_file, browser):
    ids = propose(gold_file, 2)
    with served(gold_file) as house:
        sign_in(browser, house.url, "ada")
        browser.wait(lambda: shown(browser) == ids[0])
        house.kill()
        vote(browser, "2", "while the server is away")
        browser.wait(
            lambda: "1 vote not sent yet" in browser.run("return document.querySelector('.outbox').textContent")
        )
        browser.crash().open(house.start())
        browser.find("#reviewer")
        sign_out = "return fetch('/review/leave', {method: 'POST', headers: {'Content-Type': 'application/json'}, "
        browser.run(sign_out + "body: '{}'}).then((answer) => answer.status)")
        sign_in(browser, house.url, "bob")
        browser.wait(lambda: shown(browser) == ids[0])
        assert browser.texts(".queue .sign") == ["○", "○"]
        assert (votes(gold_file, "ada"), votes(gold_file, "bob")) == ([], [])
        browser.click(".signed-in")
        browser.fill("#reviewer", "ada")
        browser.keys(ENTER)
        browser.wait(lambda: browser.texts(".queue .sign") == ["2", "○"])
        assert [line["reason"] for line in votes(gold_file, "ada")] == ["while the server is away"]
        assert browser.run("return Object.keys(localStorage).filter((key) => key.includes('outbox'))") == []

        browser.wait(lambda: shown(browser) == ids[1])
        browser.run(CUT, "/vote")
        vote(browser, "1", "its answer is cut off")
        browser.wait(lambda: browser.texts(".queue .sign") == ["2", "1"])
        assert [line["value"] for line in votes(gold_file, "ada")] == ["2", "1"]
        browser.run(CUT, "/item")
        browser.go(f"#/item/{ids[0]}")
        browser.wait(lambda: shown(browser) == ids[0])


#: Have the next answer to a question cut off, as a kill of the server does; what was asked for is done.
CUT = """
const ask = window.fetch; let cut = true;
window.fetch = async (address, given) => {
  const answer = await ask(address, given);
  if (!cut || !String(address).includes(arguments[0])) return answer;
  cut = false;
  return new Response((await answer.text()).slice(0, 9), { status: answer.status });
}
"""


def test_a_vote_without_value_or_reason_is_not_sent(gold_file, browser):
    ids = propose(gold_file, 1)
    with served(gold_file) as house:
        sign_in(browser, house.url, "no name")
        browser.wait(lambda: "Invalid reviewer name" in browser.text(".sign-in"))
        browser.fill("#reviewer", "ada")
        browser.keys(ENTER)
        browser.wait(lambda: shown(browser) == ids[0])
        browser.click(".ballot [type=submit]")
        assert browser.text(".ballot .bad") == "Choose 2, 1, 0, u first"
        browser.keys("2", ENTER)
        assert browser.text(".ballot .bad") == "Give a reason in a few words"
    assert votes(gold_file, "ada") == []


def test_hostile_text_is_text_and_an_adjudicator_settles(gold_file, browser):
    ids = dispute(gold_file)
    with served(gold_file) as house:
        sign_in(browser, house.url, "cy")
        browser.wait(lambda: shown(browser) == ids[0])
        assert browser.text("#headline") == HOSTILE
        browser.keys("e")
        browser.wait(lambda: f"Returned by: {HOSTILE}" in browser.text(".origin"))
        browser.go("#/adjudicate")
        browser.wait(lambda: "2 items are open for you" in browser.text("main"))
        browser.click(".blinded button")
        browser.wait(lambda: browser.all(".votes tr"))
        assert browser.texts(".votes tr") == [f"adathe answer{HOSTILE}", f"bobwrong{HOSTILE}"]
        browser.wait(lambda: browser.all(".line.marked"))
        vote(browser, "1", "it helps")
        browser.wait(lambda: "Nothing to decide" in browser.text("main"))
        browser.go("#/status")
        wanted = f"tax-lookup{HOSTILE}shop/evil.py:1-1secondary targetcy"
        browser.wait(lambda: wanted in browser.texts(".table-box tbody tr"))
        assert browser.run("return [document.title, document.querySelectorAll('img').length]") == [
            "Review of gold.yaml", 0,
        ]  # fmt: skip
        assert browser.console_errors() == []
    assert load_gold(gold_file).golds[0].name == "shop"


def test_a_name_is_taken_over_with_a_code_and_giving_up_outlives_a_kill(gold_file, two_browsers):
    first, second = two_browsers
    ids = propose(gold_file, 2)
    with served(gold_file) as house:
        sign_in(first, house.url, "ada")
        first.wait(lambda: shown(first) == ids[0])
        sign_in(second, house.url, "ada")
        second.wait(lambda: "Ada is signed in at another browser" in second.text(".sign-in"))
        second.click(".take-over button")
        second.wait(lambda: second.all("#take-over-code"))
        second.fill("#take-over-code", "no code" + ENTER)
        second.wait(lambda: "Wrong code" in second.text(".sign-in"))
        second.fill("#take-over-code", house.terminal_file.read_text().split()[-1] + ENTER)
        second.wait(lambda: shown(second) == ids[0])
        first.driver.refresh()
        first.wait(lambda: "ada is signed in at another browser" in first.text(".sign-in"))
        second.go("#/status")
        second.wait(lambda: "Locked while you vote" in second.text("main"))
        assert "assay gold review gold.yaml --status" in second.text(".blinded")
        second.click(".blinded button")
        second.wait(lambda: second.all(".table-box"))
        house.kill()
        second.open(house.start())
        second.go("#/status")
        second.wait(lambda: second.all(".table-box"))
        second.go("#/item/" + ids[0])
        second.wait(lambda: "no longer vote" in second.text(".form-box"))
        assert not second.all(".ballot")
    assert votes(gold_file, "ada") == []


def test_the_first_page_says_who_sees_votes_and_where_the_code_is(gold_file, browser):
    propose(gold_file, 1)
    with served(gold_file) as house:
        browser.open(house.url)
        text = browser.wait(lambda: browser.text(".sign-in"))
    assert "Adjudicators see all votes and do not vote." in text
    assert text.endswith(f"The code is in {gold_file.parent}")


def test_the_queue_follows_and_its_marks_differ_by_more_than_colour(gold_file, browser):
    ids = propose(gold_file, 40)
    queries = [Query(f"q{place}", {"human": f"ask {place}?"}, (Target(Span("shop/tax.py")),)) for place in range(2)]
    ids += queue(gold_file, "query", queries, ItemOrigin("docs"))
    said = zip([*ids[:3], *ids[-2:]], ["2", "1", "0", "accept", "reject"], strict=True)
    write_votes(gold_file, "ada", dict(said), "x")
    inside = (
        "const box = document.querySelector('.queue').getBoundingClientRect(), line ="
        " document.querySelector('.queue [aria-current]').getBoundingClientRect();"
        "return line.top >= box.top && line.bottom <= box.bottom"
    )
    signs = (
        "return [...document.querySelectorAll('.queue .done .sign')].map("
        "(sign) => [sign.textContent, getComputedStyle(sign).color])"
    )
    with served(gold_file) as house:
        sign_in(browser.resize(1280, 700), house.url, "ada")
        take_over(browser, house)
        browser.wait(lambda: shown(browser) == ids[3])
        for item in (ids[30], ids[4]):
            browser.go(f"#/item/{item}")
            browser.wait(lambda item=item: shown(browser) == item)
            browser.wait(lambda: browser.run(inside), "the current item is out of sight")
        marks = browser.run(signs)
    assert [sign for sign, _ in marks] == ["2", "1", "0", "✓", "✕"]
    colours = [colour for _, colour in marks]
    assert (colours[0], colours[2]) == (colours[3], colours[4])
    assert len(set(colours)) == 3


def test_on_a_phone_the_vote_is_at_hand_and_nothing_speaks_of_keys(gold_file, browser):
    ids = propose(gold_file, 2)
    bottom = "return [document.querySelector('.values').getBoundingClientRect().bottom, innerHeight, scrollY]"
    with served(gold_file) as house:
        sign_in(browser.resize(390, 844), house.url, "ada")
        browser.wait(lambda: shown(browser) == ids[0])
        lowest, height, scrolled = browser.run(bottom)
        assert (lowest <= height, scrolled) == (True, 0)
        assert [key for key in browser.all(".item-page kbd") if key.is_displayed()] == []


#: A view, something in it, and how it is looked at; the dark and the narrow page are made of the same parts.
LOOKS = [
    ("item", ".line.marked", "light"), ("agreement", ".confusion", "light"), ("status", ".table-box", "light"),
    ("adjudicate", "main h1", "light"), ("item", ".line.marked", "dark"), ("item", ".line.marked", "phone"),
]  # fmt: skip


def test_every_view_is_accessible(gold_file, browser):
    ids = dispute(gold_file)
    with served(gold_file) as house:
        browser.open(house.url)
        browser.find("#reviewer")
        assert browser.axe() == []
        sign_in(browser, house.url, "ada")
        browser.wait(lambda: "Ada has already taken part" in browser.text(".sign-in"))
        take_over(browser, house)
        browser.wait(lambda: browser.all(".queue"))
        browser.open(house.url)  # what a browser logs of the refusal is no error of the views
        for view, sign, look in LOOKS:
            browser.dark(look == "dark").resize(390 if look == "phone" else 1280, 844)
            browser.go(f"#/{view}/{ids[0]}" if view == "item" else f"#/{view}")
            browser.find(sign)
            assert browser.axe() == [], (view, look)
        for view, sign in {view: sign for view, sign, _ in LOOKS}.items():
            browser.go(f"#/{view}/{ids[0]}" if view == "item" else f"#/{view}")
            browser.find(sign)
            wide, screen = browser.run("return [document.documentElement.scrollWidth, innerWidth]")
            assert wide <= screen, f"{view} is wider than a phone"
        browser.go("#/agreement")
        browser.find(".confusion")
        weights = "return [...document.querySelectorAll(arguments[0])].map((one) => getComputedStyle(one).fontWeight)"
        assert set(browser.run(weights, ".confusion thead th, .confusion td")) == {"400"}
        assert set(browser.run(weights, ".confusion tbody th")) == {"600"}
        assert browser.console_errors() == []
