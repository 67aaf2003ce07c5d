"""What the page of a review may ask: everything about its own reviewer, nothing about the others, no other file."""

import json
import shutil
import threading
from dataclasses import replace
from itertools import product

import pytest

from assay.cli.main import main
from assay.gold import load_gold
from assay.gold.review.items import ItemOrigin
from assay.types import Adversary, Query, Span, Target
from tests.report.explorer.unpacking import blocks
from tests.web.reviews import COOKIE, ON, all_votes, decisions, items, queue, reviewing, votes, write_votes

HOSTILE = "</script><img src=x onerror=alert(1)>\u202e\x00"
SECRET = "zzz-secret-reason"


@pytest.fixture
def gold_file(shop):
    """A set with a queue of every kind of item."""
    path = shop / "gold.yaml"
    query = next(q for q in load_gold(path).golds[0].queries if q.id == "tax-lookup")
    wrong = Adversary(Target(Span("shop/cart.py")), "sibling", "weak", "prices, not rates")
    pool = ItemOrigin("pool", "unjudged results", ("engine-x", HOSTILE.replace("\x00", "")))
    about = replace(query, adversaries=(), rationale=None)
    places = [Span("shop/tax.py", 11, 13), Span("shop/cart.py", 1, 4), Span("shop/gone.py", 1, 2)]
    queue(path, "target", [replace(about, targets=(Target(place),)) for place in places], pool)
    queue(
        path, "query", [Query("new", {"human": "who prints?"}, (Target(Span("shop/receipt.py")),))], ItemOrigin("docs")
    )
    queue(path, "adversary", [replace(query, adversaries=(wrong,))], ItemOrigin("names"))
    queue(path, "phrasing", [replace(query, forms={"ai_optimized": "RATES by country"})], ItemOrigin("rules"))
    return path


@pytest.fixture
def client(gold_file):
    with reviewing(gold_file) as nobody:
        yield nobody.as_("ada")


def vote_on_all(client, value="2", reason=SECRET):
    """Vote on everything that is open."""
    for one in client.get("queue")["items"]:
        said = value if one["kind"] == "target" else "accept"
        assert client.post("vote", item=one["item"], value=said, reason=reason, after=None)[0] == 200


def test_the_queue_shows_what_is_asked_and_what_one_said(client):
    items = client.get("queue")["items"]
    assert [(one["kind"], one["anchor"], one["mine"]) for one in items] == [
        ("target", "shop/tax.py:11-13", None),
        ("target", "shop/cart.py:1-4", None),
        ("target", "shop/gone.py:1-2", None),
        ("query", "shop/receipt.py", None),
        ("adversary", "shop/cart.py", None),
        ("phrasing", "shop/tax.py::tax_rate", None),
    ]
    item = client.get("item", item=items[0]["item"])
    assert item["query"]["forms"][0] == ["human", "which percentage is charged for a country?"]
    assert item["places"] == [
        {"role": "proposed", "anchor": "shop/tax.py:11-13", "path": "shop/tax.py", "start": 11, "end": 13}
    ]
    assert "problem" in client.get("item", item=items[2]["item"])["places"][0]
    adversary = client.get("item", item=items[4]["item"])
    assert adversary["adversary"]["confusion"] == "prices, not rates"
    assert [place["role"] for place in adversary["places"]] == ["adversary", "primary"]


def test_a_question_is_edited_and_accepted_once(client, gold_file):
    old = next(one for one in client.get("queue")["items"] if one["kind"] == "query")
    for _ in range(2):  # a lost answer makes the page send it again
        status, answer = client.post("reword", item=old["item"], text=f"  who {HOSTILE[:-2]}\nprints? ")
        assert status == 200
    new = answer["new"]
    assert new["headline"] == f"who {HOSTILE[:-2]} prints?"
    assert (answer["mine"]["value"], new["mine"]["value"]) == ("reject", "accept")
    assert [(vote["item"], vote["value"]) for vote in votes(gold_file, "ada")] == [
        (old["item"], "reject"),
        (new["item"], "accept"),
    ]
    for text, kind in (("", "query"), (old["headline"], "query"), ("why?", "target")):
        item = next(one["item"] for one in client.get("queue")["items"] if one["kind"] == kind)
        assert client.post("reword", item=item, text=text)[0] == 400
    assert len(votes(gold_file, "ada")) == 2


def test_engines_are_named_only_when_asked_and_the_vote_says_so(client, gold_file):
    first, second = (one["item"] for one in client.get("queue")["items"][:2])
    assert "engine-x" not in json.dumps(client.get("item", item=first))
    assert client.get("item", item=first)["has_engines"]
    assert "engine-x" in client.get("item", item=first, engines="1")["origin"]["shown_by"]
    client.post("vote", item=first, value="1", reason="saw who", engines=True)
    client.post("vote", item=second, value="1", reason="saw nobody")
    said = {vote["item"]: vote.get("shown", []) for vote in votes(gold_file, "ada")}
    assert said[first][0] == "engine-x"
    assert said[second] == []


def test_a_vote_is_in_the_file_when_it_is_answered_and_the_same_again_is_no_other(client, gold_file):
    item = client.get("queue")["items"][0]["item"]
    status, first = client.post("vote", item=item, value="2", reason="here", after=None)
    assert (status, [vote["value"] for vote in votes(gold_file, "ada")]) == (200, ["2"])
    assert client.post("vote", item=item, value="2", reason="here", after=None) == (200, first)
    assert len(votes(gold_file, "ada")) == 1
    status, second = client.post("vote", item=item, value="0", reason="no, not here", after=first["mine"]["on"])
    assert (status, [vote["value"] for vote in votes(gold_file, "ada")]) == (200, ["2", "0"])
    assert client.get("item", item=item)["mine"] == second["mine"]
    assert client.get("item", item=item)["past"] == [first["mine"]]


def test_two_tabs_of_one_reviewer_do_not_overwrite_each_other_unseen(client, gold_file):
    item = client.get("queue")["items"][0]["item"]
    _, first = client.post("vote", item=item, value="2", reason="in one tab", after=None)
    status, refusal = client.post("vote", item=item, value="0", reason="in another", after=None)
    assert status == 409
    assert "you already voted 2 on this item in another tab or terminal: in one tab" in refusal["error"]
    assert client.post("vote", item=item, value="0", reason="in another", after=first["mine"]["on"])[0] == 200
    assert [vote["value"] for vote in votes(gold_file, "ada")] == ["2", "0"]


def test_votes_at_once_are_all_kept_and_each_once(client, gold_file):
    places = [one["item"] for one in client.get("queue")["items"] if one["kind"] == "target"]
    names = [f"r{number}" for number in range(6)]

    def work(name):
        for item in places * 2:
            assert client.as_(name).post("vote", item=item, value="1", reason="at once")[0] == 200

    threads = [threading.Thread(target=work, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    cast = [(vote["reviewer"], vote["item"]) for vote in all_votes(gold_file)]
    assert sorted(cast) == sorted(product(names, places))


@pytest.mark.parametrize(
    ("data", "status", "message"),
    [
        ({"value": "3", "reason": "x"}, 400, "invalid vote '3' on the target"),
        ({"value": "accept", "reason": "x"}, 400, "invalid vote 'accept' on the target"),
        ({"value": "2", "reason": "  "}, 400, "has no reason"),
        ({"value": "2"}, 400, "expected text as 'reason'"),
        ({"value": 2, "reason": "x"}, 400, "expected text as 'value'"),
        ({"value": "2", "reason": "x", "as": "../ada"}, 400, "invalid reviewer name"),
        ({"value": "2", "reason": "x", "as": ""}, 400, "the request has no reviewer name"),
        ({"value": "2", "reason": "x", "as": "ADA"}, 400, "differs only in case from the existing 'ada'"),
        ({"value": "2", "reason": "x", "item": "ffff"}, 404, "the queue has no item 'ffff'"),
        ({"value": "2", "reason": "x", "item": ""}, 404, "the queue has no item ''"),
        ({"value": "2", "reason": "half \ud800"}, 400, "unpaired surrogate"),
    ],
)
def test_a_vote_that_is_none_is_refused_and_nothing_is_written(client, gold_file, data, status, message):
    other, item = (one["item"] for one in client.get("queue")["items"][:2])
    client.post("vote", item=other, value="1", reason="before")
    before = (gold_file.parent / "gold.review" / "votes" / "ada.jsonl").read_bytes()
    found, refusal = client.post("vote", **{"item": item, **data})
    assert (found, message in refusal["error"]) == (status, True), refusal
    assert refusal["hint"]
    assert (gold_file.parent / "gold.review" / "votes" / "ada.jsonl").read_bytes() == before
    assert len(list((gold_file.parent / "gold.review" / "votes").iterdir())) == 1


def test_no_answer_to_who_votes_says_what_others_said_or_how_many(client):
    """The blind law: with and without other votes, every answer to one who still votes is the same."""
    vote_free = answers(client)
    vote_on_all(client.as_("bob"))
    vote_on_all(client.as_("cy"), value="0")
    assert answers(client) == vote_free
    item = client.get("queue")["items"][0]["item"]
    client.post("vote", item=item, value="2", reason="mine")
    assert SECRET not in json.dumps(answers(client))
    for path in ("standing", "accepted", "agreement", "disputed"):
        status, refusal = client.answer("GET", path, {"as": "ada"})
        assert (status, "5 items are open for ada" in refusal["error"]) == (409, True)
    assert client.post("decide", item=item, value="1", reason="x")[0] == 409


def answers(client):
    """Give what every address answers to one who votes."""
    queued = [one["item"] for one in client.get("queue")["items"]]
    asked = [
        ("queue", {}),
        ("standing", {}),
        ("accepted", {}),
        ("agreement", {}),
        ("disputed", {}),
        ("paths", {"find": ""}),
    ]
    asked += [("item", {"item": item, "engines": shown}) for item in queued for shown in ("0", "1")]
    return [client.answer("GET", path, {"as": client.name, **query}) for path, query in asked]


def test_a_proposal_does_not_say_who_found_it(client, gold_file):
    item = client.get("queue")["items"][0]["item"]
    status, made = client.as_("bob").post("place", item=item, anchor="shop/tax.py::with_tax", value="2", reason=SECRET)
    assert status == 200
    shown = client.get("item", item=made["item"]["item"])
    pooled = client.get("item", item=item)
    assert [shown[key] for key in ("origin", "has_engines")] == [pooled[key] for key in ("origin", "has_engines")]
    again = client.as_("cy").post("place", item=item, anchor="shop/tax.py::with_tax", value="2", reason="x")
    assert again[1].keys() == made.keys(), "whether somebody was there before is not said"
    seen = json.dumps([client.get("queue"), shown])
    assert "bob" not in seen
    assert "reviewer" not in seen
    assert SECRET not in seen
    found = items(gold_file)[-1]
    assert (found["kind"], found["query"]["id"], found["origin"]["how"]) == ("target", "tax-lookup", "reviewer")
    assert found["query"]["retrieval"] == {"primary": ["shop/tax.py::with_tax"]}
    assert found["query"]["cognitive"]["human"] == "which percentage is charged for a country?"
    assert [(vote["item"], vote["value"]) for vote in votes(gold_file, "bob")] == [(found["id"], "2")]


def test_a_place_that_is_proposed_twice_is_one_item_with_two_votes(client, gold_file):
    item = client.get("queue")["items"][5]["item"]  # about one phrasing: the query is that of the set all the same
    for name in ("ada", "bob"):
        assert client.as_(name).post("place", item=item, anchor="shop/cart.py:4-6", value="1", reason="helps")[0] == 200
    assert len(items(gold_file)) == 7
    added = items(gold_file)[-1]["id"]
    assert sorted(vote["reviewer"] for vote in all_votes(gold_file) if vote["item"] == added) == ["ada", "bob"]


@pytest.mark.parametrize(
    ("anchor", "message"),
    [
        ("../secret.py:1-2", "contains '..'"),
        ("/etc/passwd", "is an absolute path"),
        ("shop/tax.py:5-4", "ends before it starts"),
        ("shop/tax.py:1-999", "is past the end"),
        ("shop/tax.py::nothing", "symbol 'nothing' not found in"),
        ("shop/none.py", "shop/none.py"),
    ],
)
def test_a_place_that_is_not_in_the_corpus_is_no_proposal(client, gold_file, anchor, message):
    item = client.get("queue")["items"][0]["item"]
    status, refusal = client.post("place", item=item, anchor=anchor, value="2", reason="x")
    assert (status, message in refusal["error"]) == (400, True), refusal
    assert len(items(gold_file)) == 6
    assert client.post("place", item=item, anchor="shop/tax.py:1-2", value="nope", reason="x")[0] == 400
    assert len(items(gold_file)) == 6, "a proposal without a vote is none either"


def test_lines_come_in_colour_and_in_windows(client, shop):
    answer = client.get("lines", path="shop/tax.py", start="6", end="8")
    colours = ["plain", "comment", "string", "number", "keyword", "definition", "type"]
    assert (answer["start"], answer["total"], answer["language"]) == (6, 13, "python")
    assert [(colours[colour], text) for colour, text in answer["rows"][0]] == [
        ("keyword", "def"), ("plain", " "), ("definition", "tax_rate"), ("plain", "(country):")
    ]  # fmt: skip
    assert len(answer["rows"]) == 3
    whole = client.get("lines", path="shop/tax.py")
    assert (
        "\n".join("".join(text for _, text in row) for row in whole["rows"]) + "\n"
        == (shop / "shop/tax.py").read_text()
    )
    assert client.get("lines", path="shop/__init__.py") | {"rows": [], "total": 0} == client.get(
        "lines", path="shop/__init__.py"
    )
    assert client.get("lines", path="shop/tax.py", start="99")["rows"] == []


def test_a_huge_file_is_given_in_pieces(shop, gold_file):
    (shop / "shop/huge.txt").write_text("x" * 9_999 + "\n" + "line\n" * 30_000)
    with reviewing(gold_file) as nobody:
        answer = nobody.as_("ada").get("lines", path="shop/huge.txt")
    assert (answer["total"], len(answer["rows"])) == (30_001, 1_000)
    assert answer["rows"][0] == [[0, "x" * 2_000], [1, " … 7999 more characters"]]


@pytest.mark.parametrize(
    "path",
    [
        "../gold.yaml",
        "/etc/passwd",
        "shop/../gold.yaml",
        "gold.review/items.jsonl",
        "shop",
        "",
        "shop/\0.py",
        "link.py",
    ],
)
def test_no_path_leaves_the_corpus(client, shop, tmp_path, path):
    (tmp_path / "outside.py").write_text("secret = 1\n")
    (shop / "link.py").symlink_to(tmp_path / "outside.py")
    for what in ("lines", "definitions"):
        status, refusal = client.answer("GET", what, {"path": path})
        assert (status, "secret" in json.dumps(refusal)) == (404, False)


def test_definitions_and_paths_are_found(client):
    assert client.get("definitions", path="shop/tax.py")["definitions"] == [
        ["RATES", "constant", 3, 3], ["tax_rate", "function", 6, 8], ["with_tax", "function", 11, 13]
    ]  # fmt: skip
    assert client.get("paths", find="TAX shop")["paths"][0] == "shop/tax.py"
    assert client.get("paths", find="no such file") == {"paths": [], "total": 0}
    listed = client.get("paths", find="")
    assert listed["total"] == len(listed["paths"]) > 3
    assert client.answer("GET", "lines", {"path": "shop/tax.py", "start": "-1"})[0] == 400


def test_adjudication_is_for_a_third_person_and_settles(client, gold_file):
    vote_on_all(client.as_("bob"))
    vote_on_all(client.as_("ada"), value="0")
    assert client.get("disputed") == {"items": [], "third": 3}
    third = client.as_("cy")
    assert third.answer("GET", "disputed", {"as": "cy"})[0] == 409
    assert third.post("give-up") == (200, {"adjudicates": True})
    disputed = third.get("disputed")["items"]
    assert [[vote["reviewer"] for vote in one["votes"]] for one in disputed] == [["ada", "bob"]] * 3
    assert disputed[0]["values"] == ["2", "1", "0"]
    item = disputed[0]["item"]
    assert third.post("vote", item=item, value="2", reason="now I know")[0] == 409
    assert third.post("decide", item=item, value="unsure", reason="x")[0] == 400
    for _ in range(2):
        assert third.post("decide", item=item, value="1", reason="it helps")[0] == 200
    assert [(one["by"], one["value"]) for one in decisions(gold_file)] == [("cy", "1")]
    assert client.post("decide", item=disputed[1]["item"], value="1", reason="x")[0] == 400
    standing = third.get("standing")
    assert standing["tally"]["states"] | {"decided": 1, "agreed": 3, "disputed": 2} == standing["tally"]["states"]
    assert ("tax-lookup", "1", ["cy"]) in [
        (one["query"], one["value"], one["by"]) for one in third.get("accepted")["taken"]
    ]
    assert (gold_file.parent / "gold.review" / "accepted.jsonl").exists() is False


def test_agreement_is_that_of_the_command(client, gold_file, capsys):
    vote_on_all(client.as_("bob"))
    vote_on_all(client.as_("ada"), value="0")
    found = client.get("agreement")["kinds"]
    assert found == command_agreement(gold_file, capsys)
    assert [(kind["kind"], kind["percent"]) for kind in found][:2] == [("query", 1.0), ("target", 0.0)]


def command_agreement(gold_file, capsys):
    capsys.readouterr()
    assert main(["gold", "agreement", str(gold_file), "--json"]) == 0
    return json.loads(capsys.readouterr().out)["kinds"]


def test_agreement_leaves_out_what_was_voted_after_the_set_took_an_item_up(client, gold_file):
    vote_on_all(client.as_("bob"))
    vote_on_all(client)
    assert main(["gold", "review", str(gold_file), "--accept", "--quiet"]) == 0
    accepted = gold_file.parent / "gold.review" / "accepted.jsonl"
    lines = [json.loads(line) for line in accepted.read_text().splitlines()]
    accepted.write_text("".join(json.dumps(line | {"on": ON}) + "\n" for line in lines))  # before anybody voted
    taken = {one["item"] for one in lines}
    left = {one["kind"] for one in items(gold_file) if one["id"] not in taken}
    assert {kind["kind"] for kind in client.get("agreement")["kinds"]} == left
    assert left < {one["kind"] for one in items(gold_file)}


@pytest.mark.parametrize(("least", "state"), [(1, "agreed"), (2, "waiting")])
def test_how_many_must_agree_is_what_the_server_was_started_with(gold_file, least, state):
    with reviewing(gold_file, least=least) as nobody:
        client = nobody.as_("ada")
        vote_on_all(client)
        answer = client.get("standing")
    assert (answer["least"], answer["tally"]["states"][state]) == (least, 6)


def test_what_lint_refuses_would_not_be_accepted(gold_file):
    with reviewing(gold_file, least=1) as nobody:
        client = nobody.as_("ada")
        vote_on_all(client)
        found = client.get("accepted")
    assert any("shop/gone.py" in json.dumps(one) for one in found["refused"]), found["refused"]
    assert "shop/gone.py:1-2" not in [one["anchor"] for one in found["taken"]]
    assert "shop/tax.py:11-13" in [one["anchor"] for one in found["taken"]]


# --- what is voted after a look -------------------------------------------------------------------------------------


def test_a_vote_changed_after_a_look_settles_and_is_no_agreement(client, gold_file, tmp_path):
    vote_on_all(client.as_("bob"), value="0")
    vote_on_all(client)
    before = client.get("agreement")["kinds"]
    shutil.rmtree(tmp_path / "cache")  # who looked is known without the cache, and on other machines
    with reviewing(gold_file) as nobody:
        again = nobody.as_("ada", sits=False)
        again.post("code")
        assert again.post("take-over", code=again.told[-1].rpartition(" ")[2])[0] == 200
        for one in again.get("queue")["items"]:
            if one["kind"] == "target":
                again.post("vote", item=one["item"], value="0", reason="bob is right", after=one["mine"]["on"])
        assert [line.get("after") for line in votes(gold_file, "ada")] == [None] * 6 + ["look"] * 3
        assert again.get("standing")["tally"]["states"]["disputed"] == 0
        after = again.get("agreement")["kinds"]
    assert [kind.pop("changed") for kind in before] == [0] * len(before)
    assert {kind["kind"]: kind.pop("changed") for kind in after if kind["kind"] == "target"} == {"target": 3}
    assert [kind | {"changed": 0} for kind in after] == [kind | {"changed": 0} for kind in before]


def test_a_vote_on_what_came_after_the_look_is_blind(client, gold_file):
    vote_on_all(client)
    client.get("standing")
    made = client.as_("bob").post("place", item=client.get("queue")["items"][0]["item"], anchor="shop/cart.py:4-6",
                                  value="2", reason="x")[1]["item"]["item"]  # fmt: skip
    assert client.answer("GET", "standing", {"as": "ada"})[0] == 409
    _, first = client.post("vote", item=made, value="1", reason="blind")
    client.post("vote", item=made, value="0", reason="on reflection", after=first["mine"]["on"])
    client.get("standing")
    client.get("standing")
    last = votes(gold_file, "ada")[-1]
    client.post("vote", item=made, value="2", reason="now I know", after=last["on"])
    said = [(vote["value"], vote.get("after")) for vote in votes(gold_file, "ada") if vote["item"] == made]
    assert said == [("1", None), ("0", None), ("2", "look")]
    looks = gold_file.parent / "gold.review" / "looks" / "ada.jsonl"
    assert len(looks.read_text().splitlines()) == 2, "to look twice is to look once"


def test_hostile_text_comes_back_as_it_was_said(client, gold_file):
    item = client.get("queue")["items"][0]["item"]
    reason = HOSTILE.replace("\x00", "") + "\n\ttwo lines"
    assert client.post("vote", item=item, value="2", reason=reason)[0] == 200
    assert client.get("item", item=item)["mine"]["reason"] == reason
    lines = (gold_file.parent / "gold.review" / "votes" / "ada.jsonl").read_text().splitlines()
    assert len(lines) == 1


# --- who sits where -------------------------------------------------------------------------------------------------


def test_a_name_belongs_to_one_browser(client):
    item = client.get("queue")["items"][0]["item"]
    client.post("vote", item=item, value="2", reason=SECRET)
    curious = client.as_("ada", browser="c" * 32, sits=False)
    refusals = [
        curious.answer("GET", "queue", {"as": "ada"}),
        curious.answer("GET", "item", {"as": "ADA", "item": item}),
        curious.post("vote", item=item, value="0", reason="not me"),
        curious.post("give-up"),
        curious.post("sit"),
    ]
    assert SECRET not in json.dumps(refusals)
    assert [status for status, _ in refusals] == [423, 400, 423, 423, 423]
    assert refusals[0][1]["error"] == "ada is signed in at another browser"
    assert "terminal of the server" in refusals[0][1]["hint"]
    assert len(client.get("item", item=item)["past"]) == 0, "the vote of the other was not taken"


def speak_on_a_terminal(client, item, gold_file):
    write_votes(gold_file, "ada", {item: "2"}, SECRET)


def speak_by_deciding(client, item, gold_file):
    line = {"item": item, "by": "ada", "value": "2", "reason": SECRET, "on": ON}
    (gold_file.parent / "gold.review" / "decisions.jsonl").write_text(json.dumps(line) + "\n")


def speak_here(client, item, gold_file):
    me = client.as_("ada")
    assert me.post("vote", item=item, value="2", reason=SECRET)[0] == 200
    me.post("leave")


@pytest.mark.parametrize("speak", [speak_on_a_terminal, speak_by_deciding, speak_here])
def test_a_name_that_somebody_spoke_under_needs_the_code(gold_file, speak):
    with reviewing(gold_file) as nobody:
        eve = nobody.as_("eve")
        speak(eve, eve.get("queue")["items"][0]["item"], gold_file)
        eve.post("leave")
        for browser in (eve.browser, "browser-of-ada".ljust(32, "-")):
            curious = eve.as_("ada", browser=browser, sits=False)
            refusals = [curious.post("sit"), curious.answer("GET", "queue", {"as": "ada"}), curious.post("give-up")]
            wanted = (423, "ada has already taken part")
            assert [(status, refusal["error"]) for status, refusal in refusals] == [wanted] * 3
            assert curious.as_("Ada", browser=browser, sits=False).post("sit")[0] in (400, 423)
        curious.post("code")
        assert curious.post("take-over", code=eve.told[-1].rpartition(" ")[2])[0] == 200
        assert curious.get("queue")["as"] == "ada"


def test_a_browser_has_one_name_until_it_signs_out(client):
    other = client.as_("eve", browser=client.browser, sits=False)
    for status, refusal in (other.post("sit"), other.post("give-up"), other.answer("GET", "queue", {"as": "eve"})):
        assert (status, refusal["error"]) == (409, "this browser is signed in as ada")
    assert client.post("leave")[0] == 200
    assert client.answer("GET", "queue", {"as": "ada"})[0] == 409, "who left is not there"
    assert other.post("sit")[0] == 200
    assert client.as_("ada", browser="d" * 32).get("queue")["as"] == "ada", "the name was free"


def test_who_looked_under_another_name_votes_no_more(client):
    """Give up as somebody who is nobody, look, come back as bob and vote: that is what this keeps from working."""
    bob = client.as_("bob")
    item = bob.get("queue")["items"][0]["item"]
    bob.post("leave")
    nobody = client.as_("nobody1", browser=bob.browser)
    assert nobody.post("give-up")[0] == 200
    assert nobody.get("standing")["tally"]["items"] == 6
    nobody.post("leave")
    bob.post("sit")
    for path in ("vote", "place"):
        status, refusal = bob.post(path, item=item, value="2", reason="x", anchor="shop/tax.py::with_tax")
        assert (status, refusal["error"]) == (409, "this browser has seen other votes, as nobody1")
    assert client.post("vote", item=item, value="2", reason="x")[0] == 200


def test_who_looked_under_their_own_name_may_still_change_a_vote(client):
    vote_on_all(client)
    client.get("standing")
    one = client.get("queue")["items"][0]
    assert client.post("vote", item=one["item"], value="1", reason="on reflection", after=one["mine"]["on"])[0] == 200


def test_a_name_is_taken_over_with_the_code_of_the_terminal(client):
    new = client.as_("ada", browser="n" * 32, sits=False)
    assert new.post("take-over", code="")[0] == 409
    assert new.post("code") == (200, {})
    code = client.told[-1].rpartition(" ")[2]
    assert client.told == [f"a browser wants to sign in as ada; the code is {code}"]
    wrong = f"{(int(code) + 1) % 1_000_000:06}"
    assert new.post("take-over", code=wrong)[0] == 409
    assert client.get("queue")["as"] == "ada"
    assert new.post("take-over", code=f" {code} ") == (200, {"as": "ada"})
    assert client.answer("GET", "queue", {"as": "ada"})[0] == 423
    assert new.get("queue")["as"] == "ada"
    assert client.post("take-over", code=code)[0] == 409, "a code is good once"


def test_a_code_cannot_be_guessed(client):
    new = client.as_("ada", browser="n" * 32, sits=False)
    new.post("code")
    code = client.told[-1].rpartition(" ")[2]
    for step in range(1, 6):
        assert new.post("take-over", code=f"{(int(code) + step) % 1_000_000:06}")[0] == 409
    assert new.post("take-over", code=code)[0] == 409, "after five wrong ones the right one is none either"


def test_seats_and_giving_up_outlive_the_server(client, gold_file, tmp_path):
    client.post("give-up")
    with reviewing(gold_file) as nobody:
        again = nobody.as_("ada", browser=client.browser, sits=False)
        assert again.get("queue")["adjudicates"] is True
        item = again.get("queue")["items"][0]["item"]
        assert again.post("vote", item=item, value="2", reason="x")[0] == 409
        assert again.as_("ada", browser="e" * 32, sits=False).post("sit")[0] == 423
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if client.browser.encode() in path.read_bytes()], "no file lets anybody in"


@pytest.mark.parametrize("browser", ["", "short", "x" * 31 + ";", "x" * 99])
def test_a_browser_without_a_cookie_is_nobody(client, browser):
    status, refusal = replace(client, name="eve", browser=browser).post("sit")
    assert (status, refusal["error"]) == (409, "this browser sent no reviewer cookie")


def test_the_page_makes_a_browser_known_and_leaves_one_that_is(client):
    def cookie(given=""):
        return client.http.get("/review", Cookie=f"{client.http.cookie}; {given}").headers["set-cookie"]

    fresh = cookie()
    assert fresh.startswith(f"{COOKIE}=")
    assert "; HttpOnly; SameSite=Strict; Path=/review;" in fresh
    assert fresh.partition(";")[0] != cookie().partition(";")[0]
    assert cookie(f"{COOKIE}={client.browser}").startswith(f"{COOKIE}={client.browser};")


def test_the_page_is_told_every_word_there_is(client, shop):
    about = json.loads(blocks(client.http.get("/review").body)["review"])
    assert set(about["kinds"]) == {"query", "target", "adversary", "phrasing"}
    assert all(kind["question"].endswith("?") for kind in about["kinds"].values())
    assert set(about["values"]) == {"2", "1", "0", "accept", "reject", "unsure"}
    assert all(text for value in about["values"].values() for text in value.values())
    assert about["corpus"] == str(shop), "a bare dot says nothing on a page"
