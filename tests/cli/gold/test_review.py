"""A review as people, agents and models do it: vote, settle, accept."""

import io
import json

import pytest

from assay.cli.main import main
from assay.errors import GoldError
from assay.gold import load_gold
from assay.gold.review.items import ItemOrigin, ReviewQueue, make_item
from assay.gold.review.votes import VoteLog, become_adjudicator
from assay.types import Query, Span, Target
from tests.gold.mining.conftest import run_git
from tests.serving import Reply, serving


def call(capsys, *arguments):
    code = main(["gold", *arguments])
    out, err = capsys.readouterr()
    return code, out, err


def called(capsys, *arguments):
    code, out, err = call(capsys, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


@pytest.fixture
def items(shop):
    """Two places for the tax query, returned by an engine, and a query."""
    about = {"human": "which percentage is charged for a country?"}
    places = [Span("shop/tax.py", 11, 13), Span("shop/cart.py", 1, 4)]
    made = [
        make_item("target", Query("tax-lookup", about, (Target(place),)), ItemOrigin("pool", "x", ("secret-engine",)))
        for place in places
    ]
    made.append(
        make_item(
            "query", Query("new", {"human": "who prints?"}, (Target(Span("shop/receipt.py")),)), ItemOrigin("docs")
        )
    )
    ReviewQueue(shop / "gold.yaml").add(made)
    return [item.id for item in made]


def settle(capsys, items):
    for name in ("ada", "bob"):
        votes = [f"--vote={items[0]}=1", f"--vote={items[1]}=0", f"--vote={items[2]}=accept"]
        assert call(capsys, "review", "gold.yaml", "--reviewer", name, *votes, "--reason", "read it")[0] == 0


def test_from_votes_to_gold(shop, items, capsys):
    settle(capsys, items)
    status = called(capsys, "review", "gold.yaml", "--status")
    assert status["states"]["agreed"] == 3
    made = called(capsys, "review", "gold.yaml", "--accept")
    assert (made["added"], made["rejected"], made["refused"], made["queries"]) == (2, 1, [], 4)
    gold = load_gold("gold.yaml").golds[0]
    labels = {query.id: [(label.target, label.by, label.shown_by) for label in query.labels] for query in gold.queries}
    assert labels["tax-lookup"] == [("shop/tax.py:11-13", ("ada", "bob"), ("secret-engine",))]
    assert labels["new"] == [("shop/receipt.py", ("ada", "bob"), ())]
    assert called(capsys, "review", "gold.yaml", "--accept")["added"] == 0
    states = called(capsys, "review", "gold.yaml", "--status")["states"]
    assert (states["accepted"], states["rejected"]) == (2, 1)


def test_lists_are_for_one_reviewer_and_name_no_engine(shop, items, capsys):
    call(
        capsys, "review", "gold.yaml", "--reviewer", "ada", "--vote", f"{items[0]}=2", "--reason", "it is decided here"
    )
    mine, yours = (called(capsys, "review", "gold.yaml", "--reviewer", name, "--list") for name in ("ada", "bob"))
    assert [item["item"] for item in mine["items"]] == items[1:]
    assert [item["item"] for item in yours["items"]] == items
    assert "secret-engine" not in json.dumps(yours)
    assert "it is decided here" not in json.dumps(yours)
    assert yours["items"][0]["places"][0]["lines"][0] == "def with_tax(amount, country):"
    named = called(capsys, "review", "gold.yaml", "--reviewer", "bob", "--list", "--show-engines")
    assert named["items"][0]["origin"]["shown_by"] == ["secret-engine"]
    code, out, _ = call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--list")
    assert code == 0
    assert "3 items are open for bob" in out


def test_a_vote_records_the_engines_that_were_shown(shop, items, capsys):
    queue = ReviewQueue(shop / "gold.yaml")
    call(
        capsys, "review", "gold.yaml", "--reviewer", "ada", "--vote", f"{items[0]}=2", "--reason", "x", "--show-engines"
    )
    call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--vote", f"{items[0]}=2", "--reason", "x")
    assert VoteLog(queue, "ada").votes()[items[0]].shown == ("secret-engine",)
    assert VoteLog(queue, "bob").votes()[items[0]].shown == ()


def test_another_reviewers_broken_file_disturbs_nobody(shop, items, capsys):
    call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--vote", f"{items[0]}=2", "--reason", "x")
    (shop / "gold.review" / "votes" / "ada.jsonl").write_text("garbage\n")
    assert call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--list")[0] == 0
    assert call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--vote", f"{items[0]}=2", "--reason", "x")[0] == 0
    code, _, err = call(capsys, "review", "gold.yaml", "--status")
    assert code == 2
    assert "ada.jsonl:1" in err


def test_a_file_of_votes_is_taken_whole_or_not_at_all(shop, items, capsys):
    (shop / "votes.csv").write_text(f'item,vote,reason\n{items[0]},2,"yes, it is"\n{items[1]},7,no\n')
    code, _, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--votes", "votes.csv")
    assert code == 2
    assert "invalid vote '7'" in err
    assert VoteLog(ReviewQueue(shop / "gold.yaml"), "ada").votes() == {}
    (shop / "votes.csv").write_text(f'{items[0]},2,"yes, it is"\n{items[1]},0,no\n')
    assert called(capsys, "review", "gold.yaml", "--reviewer", "ada", "--votes", "votes.csv")["cast"] == 2
    (shop / "votes.csv").write_text(f"item,vote,reason\n{items[0]},2,a, b\n")
    code, _, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--votes", "votes.csv")
    assert code == 2
    assert "votes.csv:2: expected item,vote,reason, got 4 columns" in err


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_on_a_terminal_item_after_item_is_asked(shop, items, capsys, monkeypatch):
    said = ["5", "1", "", "it helps", "", "q"]  # no vote; a vote, no reason, a reason; skip; end
    monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in said)))
    code, out, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada")
    assert code == 0
    assert "def with_tax(amount, country):" in out
    assert "secret-engine" not in out + err
    assert "expected one of 2, 1, 0, unsure, got '5'" in err
    assert "ada: 1 vote saved, 2 open." in out
    votes = VoteLog(ReviewQueue(shop / "gold.yaml"), "ada").votes()
    assert {(vote.item, vote.value, vote.reason) for vote in votes.values()} == {(items[0], "1", "it helps")}


def test_on_a_terminal_a_letter_is_enough_and_one_can_go_back(shop, items, capsys, monkeypatch):
    said = ["s", "0", "", "wrong", "b", "2", "no, right", "R"]
    monkeypatch.setattr("sys.stdin", Terminal("".join(f"{line}\n" for line in said)))
    code, out, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada")
    assert code == 0
    assert "Enter or s skips, b goes back, q ends" in err
    assert "a reason is required" in err
    assert "ada: 2 votes saved, 1 open." in out
    votes = VoteLog(ReviewQueue(shop / "gold.yaml"), "ada").votes()
    assert {vote.item: vote.value for vote in votes.values()} == {items[1]: "2", items[2]: "reject"}


def test_what_was_voted_before_an_interruption_is_kept_and_told(shop, items, capsys, monkeypatch):
    lines = iter(["2\n", "yes\n"])

    class Interrupted(Terminal):
        def readline(self, *_):
            try:
                return next(lines)
            except StopIteration:
                raise KeyboardInterrupt from None

    monkeypatch.setattr("sys.stdin", Interrupted())
    code, _, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada")
    assert code == 130
    assert "1 answer saved" in err
    assert len(VoteLog(ReviewQueue(shop / "gold.yaml"), "ada").votes()) == 1


def test_with_a_limit_all_that_is_open_is_counted(shop, items, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal("2\nyes\n"))
    _, out, _ = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--limit", "1")
    assert "ada: 1 vote saved, 2 open." in out
    _, out, _ = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--list", "--limit", "1")
    assert "2 items are open for ada, 1 of them listed." in out


def test_what_is_settled_is_open_for_nobody(shop, items, capsys):
    settle(capsys, items)
    call(capsys, "review", "gold.yaml", "--accept")
    call(capsys, "review", "gold.yaml", "--queue-labels")
    listed = called(capsys, "review", "gold.yaml", "--reviewer", "cy", "--list")["items"]
    assert listed
    assert not {item["item"] for item in listed} & set(items)
    call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--vote", f"{listed[0]['item']}=2", "--reason", "x")
    status = called(capsys, "review", "gold.yaml", "--status")
    assert status["open"] == {"ada": len(listed) - 1, "bob": len(listed)}


def test_a_list_shows_what_is_asked_and_where_the_answers_are(shop, items, capsys):
    _, out, _ = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--list")
    row = next(line for line in out.splitlines() if line.startswith(items[2]))
    assert "who prints?" in row
    assert "shop/receipt.py" in row


def test_accepting_says_what_is_not_settled(shop, items, capsys):
    call(
        capsys,
        "review",
        "gold.yaml",
        "--reviewer",
        "ada",
        "--vote",
        f"{items[0]}=2",
        "--vote",
        f"{items[1]}=2",
        "--reason=x",
    )
    call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--vote", f"{items[0]}=0", "--reason", "x")
    code, out, _ = call(capsys, "review", "gold.yaml", "--accept")
    assert code == 0
    assert "0 items added to the set, 0 rejected." in out
    assert "Not settled: 1 without a vote, 1 waiting for another vote, 1 disputed (--adjudicate)." in out


def test_a_dispute_is_decided_by_a_third_person_and_votes_are_not_gone_around(shop, items, capsys):
    call(
        capsys,
        "review",
        "gold.yaml",
        "--reviewer",
        "ada",
        "--vote",
        f"{items[0]}=2",
        "--vote",
        f"{items[1]}=2",
        "--reason=x",
    )
    call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--vote", f"{items[0]}=0", "--reason", "x")

    def decided(name, item):
        value = "accept" if item == items[2] else "1"
        return call(capsys, "review", "gold.yaml", "--reviewer", name, "--decide", f"{item}={value}", "--reason", "x")

    for name, item, wrong in (
        ("ada", items[0], "and cannot decide it"),
        ("Bob", items[0], "and cannot decide it"),
        ("cy", items[1], "is waiting, not disputed"),
        ("cy", items[2], "is open, not disputed"),
    ):
        code, _, err = decided(name, item)
        assert (code, wrong in err) == (2, True), err
    assert not (shop / "gold.review" / "decisions.jsonl").exists()
    assert decided("cy", items[0])[0] == 0
    assert decided("dee", items[0])[0] == 0  # a later decision takes the place of an earlier one


def test_on_a_terminal_a_disputant_is_not_asked_to_decide(shop, items, capsys, monkeypatch):
    for name, value in (("ada", "2"), ("bob", "0")):
        call(capsys, "review", "gold.yaml", "--reviewer", name, "--vote", f"{items[0]}={value}", "--reason", "x")
    monkeypatch.setattr("sys.stdin", Terminal("1\nit helps\n"))
    code, out, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--adjudicate")
    assert code == 0
    assert "1 item left out: ada voted on it" in err
    assert "0 decided, 1 still disputed." in out


def test_half_a_line_of_votes_is_told(shop, items, capsys):
    settle(capsys, items)
    path = shop / "gold.review" / "votes" / "bob.jsonl"
    path.write_bytes(path.read_bytes()[:-9])
    for command in (["review", "gold.yaml", "--status"], ["agreement", "gold.yaml"]):
        code, _, err = call(capsys, *command, "--quiet")
        assert code == 0
        assert "bob.jsonl: ignored the incomplete last line" in err
    assert "incomplete" in call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--list")[2]
    assert "incomplete" not in call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--list")[2]


def test_votes_after_acceptance_do_not_count_in_the_agreement(shop, items, capsys):
    settle(capsys, items)
    before = called(capsys, "agreement", "gold.yaml")["kinds"]
    call(capsys, "review", "gold.yaml", "--accept")
    votes = [f"--vote={items[0]}=0", f"--vote={items[2]}=reject"]
    call(capsys, "review", "gold.yaml", "--reviewer", "bob", *votes, "--reason", "seen the set")
    assert called(capsys, "agreement", "gold.yaml")["kinds"] == before


def test_a_wrong_line_of_a_file_is_told_with_its_number(shop, items, capsys):
    (shop / "votes.csv").write_text(f"item,vote,reason\n{items[0]},2,yes\n{items[1]},7,no\nzz,2,x\n{items[2]},accept\n")
    code, _, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--votes", "votes.csv")
    assert code == 2
    assert "votes.csv:3: invalid vote '7'" in err
    assert "no vote was saved" in err
    assert VoteLog(ReviewQueue(shop / "gold.yaml"), "ada").votes() == {}


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("item;vote;reason\na;2;x\n", "votes.csv:1: expected item,vote,reason, got 1 column", "by commas"),
        ("item,vote,reason\n", "the file has no votes", "item,vote,reason"),
    ],
)
def test_a_file_of_another_shape_is_told_once(shop, items, capsys, text, message, hint):
    (shop / "votes.csv").write_text(text)
    code, _, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--votes", "votes.csv")
    assert code == 2
    assert message in err
    assert hint in err


def test_a_new_set_that_could_not_be_made_takes_no_vote(shop, capsys):
    made = make_item(
        "query", Query("new", {"human": "who prints?"}, (Target(Span("shop/receipt.py")),)), ItemOrigin("docs")
    )
    with pytest.raises(GoldError, match="a new set must be native YAML"):
        ReviewQueue(shop / "fresh.csv").add([made])
    assert not (shop / "fresh.review").exists()


def test_a_terminal_that_ends_keeps_what_was_voted(shop, items, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", Terminal("2\nyes\n0\n"))
    code, out, _ = call(capsys, "review", "gold.yaml", "--reviewer", "ada")
    assert code == 0
    assert "1 vote saved" in out


def test_code_cannot_act_on_the_terminal(shop, capsys, monkeypatch):
    (shop / "shop" / "evil.py").write_text('"""\033[2J clear"""\n')
    about = Query("tax-lookup", {"human": "a?"}, (Target(Span("shop/evil.py")),))
    ReviewQueue(shop / "gold.yaml").add([make_item("target", about, ItemOrigin("pool"))])
    monkeypatch.setattr("sys.stdin", Terminal("q\n"))
    _, out, _ = call(capsys, "review", "gold.yaml", "--reviewer", "ada")
    assert "evil.py" in out
    assert "\033" not in out


def test_disputes_are_shown_with_all_votes_and_decided(shop, items, capsys):
    call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--vote", f"{items[0]}=2", "--reason", "decided here")
    call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--vote", f"{items[0]}=0", "--reason", "adds only")
    shown = called(capsys, "review", "gold.yaml", "--adjudicate")
    assert [(vote["reviewer"], vote["value"], vote["reason"]) for vote in shown["items"][0]["cast"]] == [
        ("ada", "2", "decided here"),
        ("bob", "0", "adds only"),
    ]
    code, out, _ = call(capsys, "review", "gold.yaml", "--adjudicate")
    assert code == 0
    assert "ada (human): 2, decided here; bob (human): 0, adds only" in out
    for value, wrong in (("unsure", "a decision cannot be"), ("9", "invalid vote")):
        code, _, err = call(
            capsys, "review", "gold.yaml", "--reviewer", "cy", "--decide", f"{items[0]}={value}", "--reason", "x"
        )
        assert (code, wrong in err) == (2, True)
    call(capsys, "review", "gold.yaml", "--reviewer", "cy", "--decide", f"{items[0]}=1", "--reason", "it helps")
    assert called(capsys, "review", "gold.yaml", "--status")["states"]["decided"] == 1
    assert called(capsys, "review", "gold.yaml", "--accept")["items"] == {items[0]: "1"}


def test_adjudication_on_a_terminal(shop, items, capsys, monkeypatch):
    for name, value in (("ada", "2"), ("bob", "0")):
        votes = [f"--vote={items[0]}={value}", f"--vote={items[1]}={value}"]
        call(capsys, "review", "gold.yaml", "--reviewer", name, *votes, "--reason", f"{name} thinks so")
    monkeypatch.setattr("sys.stdin", Terminal("unsure\n1\nit helps\nq\n"))
    code, out, err = call(capsys, "review", "gold.yaml", "--reviewer", "cy", "--adjudicate")
    assert code == 0
    assert "ada (human): 2, ada thinks so" in out
    assert "expected one of 2, 1, 0, got 'unsure'" in err
    assert "1 decided, 1 still disputed." in out


def test_a_model_votes_and_its_bad_answers_do_not_count(shop, items, capsys):
    def answer(asked):
        text = asked.payload["messages"][1]["content"]
        said = "I would say 2" if "shop/cart.py:1-4" in text else '{"vote": "1", "reason": "it helps"}'
        said = '{"vote": "accept", "reason": "sound"}' if "who prints?" in text else said
        return Reply({"choices": [{"message": {"content": said}}]})

    with serving(answer) as server:
        model = ["--reviewer", "qwen", "--endpoint", server.url, "--model", "m"]
        made = called(capsys, "review", "gold.yaml", *model)
        assert (made["cast"], made["open"]) == (2, 1)
        assert "secret-engine" not in json.dumps([asked.payload for asked in server.asked])
        before = len(server.asked)
        call(capsys, "review", "gold.yaml", *model)
        assert len(server.asked) == before + 1  # only what it has not voted on
    votes = VoteLog(ReviewQueue(shop / "gold.yaml"), "qwen").votes()
    assert {vote.reader for vote in votes.values()} == {"model"}
    assert all("#m prompt " in vote.prompt for vote in votes.values())


def test_labels_of_the_set_are_queued_for_an_audit(shop, capsys):
    assert called(capsys, "review", "gold.yaml", "--queue-labels")["new"] == 4
    assert called(capsys, "review", "gold.yaml", "--queue-labels") == {
        "schema": "assay/gold-review-queue/1",
        "new": 0,
        "known": 4,
    }


def test_a_new_set_needs_its_corpus(shop, capsys):
    made = make_item(
        "query", Query("new", {"human": "who prints?"}, (Target(Span("shop/receipt.py")),)), ItemOrigin("docs")
    )
    ReviewQueue(shop / "fresh.yaml").add([made])
    flags = ["review", "fresh.yaml", "--corpus", "."]
    for name in ("ada", "bob"):
        assert call(capsys, *flags, "--reviewer", name, "--vote", f"{made.id}=accept", "--reason", "x")[0] == 0
    code, _, err = call(capsys, "review", "fresh.yaml", "--accept")
    assert code == 2
    assert "--corpus" in err
    assert called(capsys, *flags, "--accept")["queries"] == 1
    assert load_gold("fresh.yaml").golds[0].corpus.value == "."


def test_a_set_keeps_the_corpus_it_names(shop, items, capsys):
    settle(capsys, items)
    (shop / "elsewhere").mkdir()
    assert called(capsys, "review", "gold.yaml", "--corpus", "elsewhere", "--accept")["added"] == 2
    assert load_gold("gold.yaml").golds[0].corpus.value == "."
    assert (shop / "gold.yaml").read_text().startswith("assay: 1\nname: shop\ncorpus: {path: .}\n")


def test_a_set_in_another_format_takes_labels_and_says_what_it_cannot_hold(shop, capsys):
    (shop / "gold.csv").write_text("query,path\nwhich percentage is charged?,shop/tax.py:6-8\n")
    corpus = ["--corpus", "."]
    assert called(capsys, "review", "gold.csv", "--queue-labels", *corpus)["new"] == 1
    (item,) = ReviewQueue(shop / "gold.csv").items()
    place = make_item(
        "target", Query(item.query.id, item.query.forms, (Target(Span("shop/tax.py", 11, 13)),)), ItemOrigin("pool")
    )
    ReviewQueue(shop / "gold.csv").add([place])
    for name in ("ada", "bob"):
        call(capsys, "review", "gold.csv", *corpus, "--reviewer", name, "--vote", f"{place.id}=2", "--reason", "x")
    made = called(capsys, "review", "gold.csv", *corpus, "--accept")
    assert made["added"] == 1
    assert made["lost"]
    assert "shop/tax.py:11-13" in (shop / "gold.csv").read_text()


def test_what_lint_finds_keeps_an_item_out(shop, capsys):
    about = Query(
        "tax-lookup", {"human": "which percentage is charged for a country?"}, (Target(Span("shop/gone.py")),)
    )
    item = make_item("target", about, ItemOrigin("pool"))
    ReviewQueue(shop / "gold.yaml").add([item])
    for name in ("ada", "bob"):
        call(capsys, "review", "gold.yaml", "--reviewer", name, "--vote", f"{item.id}=2", "--reason", "x")
    before = (shop / "gold.yaml").read_bytes()
    made = called(capsys, "review", "gold.yaml", "--accept")
    assert (made["added"], [refused["item"] for refused in made["refused"]]) == (0, [item.id])
    assert (shop / "gold.yaml").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--reviewer", "ada"], "cannot read votes: stdin is not a terminal"),
        (["--reviewer", "a b", "--list"], "invalid reviewer name"),
        (["--reviewer", "ada", "--vote", "x=2", "--reason", "y"], "no item id in the queue begins with 'x'"),
        (["--reviewer", "ada", "--vote", "x", "--reason", "y"], "expected ITEM=VALUE, got 'x'"),
        (["--reviewer", "ada", "--vote", "x=2"], "expected 1 reason, got 0"),
        (["--reviewer", "ada", "--reason", "y"], "--reason requires --vote or --decide"),
        (["--reviewer", "ada", "--list", "--status"], "--status and --list cannot be combined"),
        (["--reviewer", "ada", "--list", "--limit", "0"], "--limit: expected 1 or more"),
        (["--reviewer", "ada", "--model", "m"], "--model requires --endpoint"),
        (["--reviewer", "ada", "--token-env", "TOKEN"], "--token-env requires --endpoint"),
        (["--status", "--limit", "3"], "--limit cannot be used with --status"),
        (["--accept", "--show-engines"], "--show-engines cannot be used with --accept"),
        (
            ["--reviewer", "m", "--endpoint", "http://x/v1", "--model", "m", "--show-engines"],
            "--show-engines cannot be used with",
        ),
        (["--reviewer", "ada", "--votes", "none.csv"], "cannot read the file"),
        (["--status", "--min-votes", "0"], "--min-votes: expected 1 or more, got 0"),
    ],
)
def test_wrong_input_is_told(shop, items, capsys, arguments, message):
    code, _, err = call(capsys, "review", "gold.yaml", *arguments)
    assert code == 2
    assert message in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["review", "none.yaml", *flags]
        for flags in (["--browser"], ["--status"], ["--reviewer", "ada", "--list"], ["--accept"])
    ]
    + [["agreement", "none.yaml"], ["pool", "none.yaml", "results"], ["split", "none.yaml"]],
    ids=" ".join,
)
def test_a_set_that_is_not_there_is_no_empty_one(shop, capsys, arguments):
    assert main(["gold", *arguments]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "no such file" in err.splitlines()[0]
    assert "\nhint: " in err


def test_an_empty_queue_says_how_to_fill_it(shop, capsys):
    code, _, err = call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--list")
    assert code == 2
    assert "assay gold mine" in err


def test_agreement_of_the_reviewers(shop, items, capsys):
    code, _, err = call(capsys, "agreement", "gold.yaml")
    assert code == 2
    assert "no votes yet" in err
    settle(capsys, items)
    call(capsys, "review", "gold.yaml", "--reviewer", "cy", "--vote", f"{items[0]}=2", "--reason", "x")
    found = {kind["kind"]: kind for kind in called(capsys, "agreement", "gold.yaml")["kinds"]}
    assert found["target"]["items"] == 2
    assert found["target"]["pairs"][0]["kappa"]["value"] == 1
    assert found["query"]["alpha"]["nominal"]["value"] is None
    code, out, _ = call(capsys, "agreement", "gold.yaml")
    assert code == 0
    assert "Krippendorff's α (ordinal)" in out
    assert "ada ↓ bob →" in out


def test_the_browser_is_a_thing_of_its_own(shop, items, capsys):
    code, _, err = call(capsys, "review", "gold.yaml", "--browser", "--status")
    assert (code, "--browser and --status cannot be combined" in err) == (2, True)
    code, _, err = call(capsys, "review", "gold.yaml", "--status", "--port", "8123")
    assert (code, "--port cannot be used with --status" in err) == (2, True)
    code, _, err = call(capsys, "review", "gold.yaml", "--status", "--host", "::1")
    assert (code, "--host cannot be used with --status" in err) == (2, True)
    code, _, err = call(capsys, "review", "gold.yaml", "--browser", "--host", "0.0.0.0")  # noqa: S104  # refused
    assert (code, "not a loopback address" in err) == (2, True)


def test_who_gave_up_voting_in_the_browser_does_not_vote_here(shop, items, capsys):
    become_adjudicator(VoteLog(ReviewQueue(shop / "gold.yaml"), "cy"))
    (shop / "votes.csv").write_text(f"{items[0]},2,x\n")
    for how in (["--vote", f"{items[0]}=2", "--reason", "x"], ["--votes", "votes.csv"], ["--list"]):
        code, _, err = call(capsys, "review", "gold.yaml", "--reviewer", "cy", *how)
        assert (code, "cy adjudicates this set" in err) == (2, True), err
    assert VoteLog(ReviewQueue(shop / "gold.yaml"), "cy").history() == ()


def test_one_vote_settles_while_there_is_one_reviewer(shop, items, capsys):
    call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--vote", f"{items[0]}=2", "--reason", "x")
    assert called(capsys, "review", "gold.yaml", "--status")["states"]["agreed"] == 1
    call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--vote", f"{items[1]}=0", "--reason", "x")
    assert called(capsys, "review", "gold.yaml", "--status")["states"]["waiting"] == 2


DRAFTS = """\
assay: 1
name: shop
corpus: {path: .}
queries:
  - {id: one, retrieval: {primary: [shop/tax.py]}, cognitive: {human: which share is added?}, tags: {status: draft}}
  - {id: two, retrieval: {primary: [shop/tax.py]}, cognitive: {human: who pays abroad?}, tags: {status: draft}}
  - {id: three, retrieval: {primary: [shop/tax.py]}, cognitive: {human: what is left?}, tags: {status: draft}}
"""


def test_one_person_reviews_drafts_with_at_most_two_inputs_each(shop, capsys, monkeypatch):
    (shop / "gold.yaml").write_text(DRAFTS)
    (shop / "assay.toml").write_text('[run]\ngold = "gold.yaml"\n')
    run_git(shop, "init", "-q")
    run_git(shop, "config", "user.name", "Ada Lovelace")
    monkeypatch.setattr("sys.stdin", Terminal("a\ne\n\ne\nwhat do customers abroad pay?\nr\n"))
    code, out, err = call(capsys, "review")
    assert code == 0, err
    assert "Ada-Lovelace: 3 votes saved, 0 open.\n6 inputs, 2.0 per vote." in out
    assert called(capsys, "review", "--accept")["queries"] == 2
    queries = {query.id: query for query in load_gold(shop / "gold.yaml").golds[0].queries}
    assert {name: query.headline for name, query in queries.items()} == {
        "one": "which share is added?",
        "two": "what do customers abroad pay?",
    }
    assert all(query.tags == {} and query.labels[0].by == ("Ada-Lovelace",) for query in queries.values())


def test_a_draft_that_was_edited_in_the_file_is_not_written_twice(shop, capsys, monkeypatch):
    (shop / "gold.yaml").write_text(DRAFTS)
    monkeypatch.setattr("sys.stdin", Terminal("a\nq\n"))
    call(capsys, "review", "gold.yaml", "--reviewer", "ada")
    (shop / "gold.yaml").write_text(DRAFTS.replace("which share is added?", "which rate applies?"))
    accepted = called(capsys, "review", "gold.yaml", "--accept")
    assert [refusal["reason"] for refusal in accepted["refused"]] == ["the draft was changed in the gold file"]
    assert len(load_gold(shop / "gold.yaml").golds[0].queries) == 3


def test_two_must_agree_unless_a_flag_says_otherwise(shop, items, capsys):
    call(capsys, "review", "gold.yaml", "--reviewer", "ada", "--vote", f"{items[0]}=2", "--reason", "x")
    call(capsys, "review", "gold.yaml", "--reviewer", "bob", "--vote", f"{items[1]}=unsure", "--reason", "x")
    assert called(capsys, "review", "gold.yaml", "--status")["states"]["waiting"] == 2
    assert called(capsys, "review", "gold.yaml", "--status", "--min-votes", "1")["states"]["agreed"] == 1


def test_who_looks_on_the_terminal_is_blind_no_more_and_agreement_says_so(shop, items, capsys):
    for name, value in (("ada", "2"), ("bob", "0")):
        votes = [f"--vote={item}={value}" for item in items[:2]]
        assert call(capsys, "review", "gold.yaml", "--reviewer", name, *votes, "--reason", "blind")[0] == 0
    called(capsys, "review", "gold.yaml", "--reviewer", "bob", "--adjudicate")
    called(capsys, "review", "gold.yaml", "--reviewer", "cy", "--adjudicate")
    called(capsys, "review", "gold.yaml", "--adjudicate")
    for name in ("bob", "cy"):
        assert (
            call(capsys, "review", "gold.yaml", "--reviewer", name, f"--vote={items[0]}=2", "--reason", "seen")[0] == 0
        )
    (kind,) = called(capsys, "agreement", "gold.yaml")["kinds"]
    assert (kind["percent"], kind["changed"], kind["reviewers"]) == (0.0, 2, ["ada", "bob"])
    assert "2 votes cast again after seeing other votes" in " ".join(call(capsys, "agreement", "gold.yaml")[1].split())
    assert called(capsys, "review", "gold.yaml", "--status")["states"]["agreed"] == 1
