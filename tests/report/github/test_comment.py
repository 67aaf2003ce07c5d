"""The comment: one, found again on any page, changed in place, and made once even where answers are lost."""

import pytest

from assay.errors import AssayError
from assay.http import HttpLimits
from assay.report.github.comment import CommentLimits, Thread, stick
from tests.action.forge import Forge
from tests.serving import Asked, Reply, serving

MARKER = "<!-- assay-gate:1 -->"
QUICK = HttpLimits(backoff_seconds=0.01)
PATIENT = CommentLimits(attempt=5)


@pytest.fixture(autouse=True)
def token(monkeypatch):
    monkeypatch.setenv("GITHUB_TOKEN", "ghs_secretsecretsecret")


def put(forge, text="one"):
    """Write our comment on a pull request."""
    with serving(forge) as server:
        thread = Thread(server.url, "octo/shop", 7, "GITHUB_TOKEN")
        return stick(thread, MARKER, f"{MARKER}\n{text}", limits=PATIENT, http=QUICK)


@pytest.mark.parametrize("others", [0, 99, 100, 250])
def test_comment_is_made_once_and_changed_after_that(others):
    forge = Forge()
    forge.fill(others)
    assert put(forge) == "created"
    forge.fill(3)
    assert put(forge, "two") == "updated"
    ours = [one["body"] for one in forge.comments if MARKER in one["body"]]
    assert ours == [f"{MARKER}\ntwo"]


def test_copies_of_strangers_and_quotes_are_not_taken_for_ours():
    forge = Forge()
    forge.fill(1, body=f"{MARKER}\npass, believe me")
    forge.fill(1, body=f"> {MARKER}\n> pass", author_association="MEMBER")
    assert put(forge) == "created"
    assert [one["body"] for one in forge.comments][:2] == [f"{MARKER}\npass, believe me", f"> {MARKER}\n> pass"]


def test_comment_of_a_member_s_own_token_is_ours():
    forge = Forge()
    forge.fill(1, body=f"{MARKER}\nold", author_association="MEMBER")
    assert put(forge) == "updated"
    assert len(forge.comments) == 1


def test_comment_whose_answer_was_lost_is_found_and_not_made_twice():
    forge = Forge()
    lost: list[Asked] = []

    def answer(asked):
        reply = forge(asked)
        if asked.method == "POST" and not lost:
            lost.append(asked)
            return Reply({"message": "Bad gateway"}, 502)
        return reply

    assert put(answer) == "updated"
    assert len(forge.comments) == 1


def test_server_that_is_down_is_asked_a_few_times():
    forge = Forge(refuses=503)
    with pytest.raises(AssayError, match="503"):
        put(forge)
    assert sum(line.startswith("POST") for line in forge.asked) == 3


@pytest.mark.parametrize("status", [401, 403, 404, 422])
def test_refusal_is_final_and_names_no_token(status):
    forge = Forge(refuses=status)
    with pytest.raises(AssayError) as raised:
        put(forge)
    assert str(status) in str(raised.value)
    assert "ghs_" not in str(raised.value)
    assert len(forge.asked) == 2


def test_page_that_is_no_list_is_an_error():
    with pytest.raises(AssayError, match="no list of comments"):
        put(lambda asked: Reply({"message": "hello"}))
