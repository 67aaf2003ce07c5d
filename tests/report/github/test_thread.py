"""The comment: one, found again on any page, changed in place, and made once even where answers are lost."""

import time

import pytest

from assay.errors import AssayError
from assay.http import AccessDenied, HttpLimits
from assay.report.github import CommentLimits, Thread, upsert_comment
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
        return upsert_comment(thread, MARKER, f"{MARKER}\n{text}", limits=PATIENT, http=QUICK)


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


def test_comment_of_one_s_own_token_is_found_by_who_one_is():
    forge = Forge(viewer="ci-user")
    forge.fill(1, body=f"{MARKER}\npass, believe me", author_association="MEMBER")
    assert put(forge) == "created"
    assert put(forge, "two") == "updated"
    assert [one["body"] for one in forge.comments] == [f"{MARKER}\npass, believe me", f"{MARKER}\ntwo"]


def test_comment_of_another_app_that_may_not_be_changed_is_left_and_one_is_made():
    forge = Forge(foreign=(1,))
    forge.fill(1, body=f"{MARKER}\nquoted", user={"login": "other[bot]", "type": "Bot"})
    assert put(forge) == "created"
    assert put(forge, "two") == "updated"
    assert [one["body"] for one in forge.comments] == [f"{MARKER}\nquoted", f"{MARKER}\ntwo"]


@pytest.mark.parametrize("headers", [{"Retry-After": "0"}, {"X-RateLimit-Remaining": "0"}])
def test_limit_that_github_tells_by_403_is_waited_for(headers):
    forge, first = Forge(), iter([Reply({"message": "secondary rate limit"}, 403, headers)])

    def answer(asked):
        return next(first, None) or forge(asked)

    assert put(answer) == "created"
    assert len(forge.comments) == 1


def test_limit_that_lasts_is_no_lack_of_a_right():
    reset = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(time.time()) + 1800)}
    with pytest.raises(AssayError, match="rate limit exceeded") as raised:
        put(lambda asked: Reply({"message": "API rate limit exceeded"}, 403, reset))
    assert not isinstance(raised.value, AccessDenied)
    assert "rate limit is reset (Retry-After: 1" in str(raised.value.hint)


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
    with pytest.raises(AssayError, match="not a list of comments"):
        put(lambda asked: Reply({"message": "hello"}))
