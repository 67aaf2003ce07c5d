"""What a repository says about itself: commits, documents, comments, names."""

import pytest

from assay.gold.code_index import SampleSize
from assay.gold.mining.docs import mine_comments, mine_docs, mine_names, sentence_question
from assay.gold.mining.history import mine_history
from assay.gold.mining.intake import DEFAULT_SOURCES, SOURCES
from tests.gold.mining.conftest import NET, anchors, commit, run_git

MINERS = {"history": mine_history, "docs": mine_docs, "comments": mine_comments, "names": mine_names}
WANTED = SampleSize(count=40, seed=0)


def texts(found):
    return {intent.text: anchors(intent) for intent in found.intents}


def test_commits_and_merged_pull_requests_lead_to_what_they_changed(repository, make_ground):
    found = mine_history(make_ground(repository), WANTED)
    assert texts(found) == {
        "where do we limit the waiting time of a failed download?": {"pkg/net.py::Backoff.next_wait": 2},
        "where do we strip blanks from the entry that is read from a cache file?": {"pkg/store.py::read_entry": 2},
    }
    assert {intent.origin.source.partition(", ")[2] for intent in found.intents} == {
        "pull request 7",
        "pull request 12",
    }


def test_what_is_gone_since_is_no_answer(repository, make_ground):
    without = NET.replace("def next_wait(self)", "def other(self)")
    commit(repository, "Call it otherwise", {"pkg/net.py": without})
    found = texts(mine_history(make_ground(repository), WANTED))
    assert not any("download" in text for text in found)


def test_bots_say_nothing(repository, make_ground):
    before = texts(mine_history(make_ground(repository), WANTED))
    (repository / "pkg/net.py").write_text(
        NET.replace("transport.send_request(url", "transport.send_request('x' + url")
    )
    run_git(repository, "add", "-A")
    message = "Download the archive from the mirror and unpack its members again"
    run_git(repository, "commit", "-q", "--author=dependabot[bot] <bot@example.org>", "-m", message)
    assert texts(mine_history(make_ground(repository), WANTED)) == before
    run_git(repository, "commit", "-q", "--amend", "--author=Ada <ada@example.org>", "--no-edit")
    assert len(texts(mine_history(make_ground(repository), WANTED))) == len(before) + 1


@pytest.mark.parametrize(("kind", "more"), [("branch 'side'", 0), ("pull request #9 from ada/side", 1)])
def test_only_merges_of_pull_requests_are_about_something(repository, make_ground, kind, more):
    before = texts(mine_history(make_ground(repository), WANTED))
    run_git(repository, "checkout", "-q", "-b", "side")
    commit(
        repository, "x", {"pkg/net.py": NET.replace("transport.send_request(url", "transport.send_request('x' + url")}
    )
    run_git(repository, "checkout", "-q", "main")
    title = "Download the archive from the mirror and unpack its members again"
    run_git(repository, "merge", "-q", "--no-ff", "-m", f"Merge {kind}\n\n{title}", "side")
    assert len(texts(mine_history(make_ground(repository), WANTED))) == len(before) + more


def changed_by(repository, make_ground, subject, text):
    """Commit a change of the network code, and give what it is proposed for."""
    commit(repository, subject, {"pkg/net.py": text})
    found = mine_history(make_ground(repository), WANTED)
    return next((anchors(intent) for intent in found.intents if "archive" in intent.text), None)


def test_of_a_class_and_its_method_the_method_is_meant(repository, make_ground):
    text = NET.replace(
        '    def send_request(self, body):\n        """Write',
        '    archive = 1\n\n    def send_request(self, body):\n        """Write',
    )
    text = text.replace("self.socket.sendall(body)", "self.socket.sendall(body + b'archive')")
    subject = "Send a mark of the archive behind the body to the socket"
    assert changed_by(repository, make_ground, subject, text) == {"pkg/net.py::Transport.send_request": 2}


def test_a_subject_that_quotes_the_name_gives_it_away(repository, make_ground):
    text = NET.replace("transport.send_request(url", "transport.send_request('x' + url")
    subject = "Download members into the cache folder when fetch_archive of the archive is asked twice"
    assert changed_by(repository, make_ground, subject, text) is None


def test_a_test_that_lies_beside_the_code_is_no_answer(repository, make_ground):
    beside = (
        "def test_archive_is_downloaded(members):\n    # the archive of the mirror is unpacked\n    return members\n"
    )
    text = f"{NET}\n\n{beside}"
    subject = "Return the archive of the mirror when members are unpacked again"
    assert changed_by(repository, make_ground, subject, text) is None


def test_tests_and_documents_are_no_targets(repository, make_ground):
    files = {"tests/test_net.py": "def test_fetch_archive():\n    assert 'archive is fetched again'\n"}
    commit(repository, "Check that the archive is fetched again when the cache folder is empty", files)
    found = mine_history(make_ground(repository), WANTED)
    assert len(found.intents) == 2
    assert all(target.span.path.startswith("pkg/") for intent in found.intents for target in intent.targets)


def test_history_without_git_or_commits_is_told(tree, make_ground):
    assert "not in a Git work tree" in mine_history(make_ground(tree), WANTED).notes[0]
    run_git(tree, "init", "-q")
    assert mine_history(make_ground(tree), WANTED).notes[0].startswith("history: cannot read the git history")


def test_comments_become_questions_for_symbols(ground):
    found = texts(mine_comments(ground, WANTED))
    assert found["which code computes how long to wait before a failed download is tried again?"] == {
        "pkg/net.py::Backoff.next_wait": 2
    }
    assert found["which code waits for the lock of the store to be released by another process?"] == {
        "pkg/store.py::next_wait": 2
    }
    assert not any(path.startswith("tests/") for answers in found.values() for path in answers)


def test_comments_that_say_the_same_of_two_and_declarations_are_left_out(tree, make_ground):
    more = """\
def load_archive(path):
    \"\"\"Download a large archive and unpack its members into the cache folder.\"\"\"
    data = path.read()
    return data


class Base:
    def pick(self, items):
        \"\"\"Choose the newest entry of all items that are not locked.\"\"\"
        raise NotImplementedError
"""
    (tree / "pkg/more.py").write_text(more)
    found = [anchor for answers in texts(mine_comments(make_ground(tree), WANTED)).values() for anchor in answers]
    assert "pkg/store.py::next_wait" in found
    assert not {"pkg/net.py::fetch_archive", "pkg/more.py::load_archive", "pkg/more.py::Base.pick"} & set(found)


def test_documents_become_questions_for_what_they_name(ground):
    found = texts(mine_docs(ground, WANTED))
    assert found == {
        "how does waiting between two attempts work?": {"pkg/net.py::Backoff": 2},
        "which code downloads and unpacks a remote archive of members?": {"pkg/net.py::fetch_archive": 2},
        "which code returns the text of one cached entry?": {"pkg/store.py::read_entry": 2},
    }


def test_documents_end_a_block_of_code_where_its_own_fence_ends_it(tree, make_ground):
    block = "```sh\n~~~\n# a comment\n\nUse `read_entry` to open all files of the store.\n```\n"
    said = "# Waits and locks\n\nUse `fetch_archive` to copy a remote archive of members.\n"
    (tree / "docs/guide.md").write_text(f"# Guide\n\n{block}{said}")
    found = mine_docs(make_ground(tree), WANTED)
    assert texts(found) == {"which code copies a remote archive of members?": {"pkg/net.py::fetch_archive": 2}}
    assert [intent.origin.source for intent in found.intents] == ["line 9 of docs/guide.md"]


def test_documents_with_underlined_headings_are_read(tree, make_ground):
    said = "Locks\n=====\nUse `fetch_archive` to copy a remote archive of members.\n\n=====\nOther\n=====\n"
    (tree / "docs/guide.md").unlink()
    (tree / "docs/guide.rst").write_text(said)
    found = texts(mine_docs(make_ground(tree), WANTED))
    assert found == {"which code copies a remote archive of members?": {"pkg/net.py::fetch_archive": 2}}


def test_proposals_say_which_source_they_come_from(ground):
    for source, mine in (("docs", mine_docs), ("comments", mine_comments)):
        assert {intent.origin.how for intent in mine(ground, WANTED).intents} == {source}


def test_order_of_sources_which_seeds_their_draws():
    assert SOURCES == ("history", "docs", "comments", "names")
    assert set(DEFAULT_SOURCES) < set(SOURCES)


@pytest.mark.parametrize(
    ("sentence", "asked"),
    [
        ("`Foo` parses the header of a message.", "which code parses the header of a message?"),
        ("The `Foo` class is a queue that drops old entries", "where is the queue that drops old entries?"),
        ("To send a message later, you can use `schedule()`", "which code sends a message later?"),
        ("You can limit the size of answers with `Limit`", "which code limits the size of answers?"),
        ("Use :func:`pkg.read` to read all settings", "which code reads all settings?"),
        ("`Foo` bar baz", None),
        ("Nothing in quotes parses the header", None),
        ("`Foo` calls `Bar` for every header", "which code calls Bar for every header?"),
    ],
)
def test_sentences_ask_for_the_name_they_are_about(sentence, asked):
    assert sentence_question(sentence) == asked


def test_names_of_several_words_that_stand_alone_are_asked(ground, tree, make_ground):
    (tree / "pkg/more.py").write_text("def drop_old_entries(queue):\n    for x in queue:\n        x.drop()\n")
    found = MINERS["names"](make_ground(tree), WANTED)
    assert texts(found) == {"drop old entries": {"pkg/more.py::drop_old_entries": 2}}
    assert found.intents[0].form == "keyword"
    assert MINERS["names"](ground, WANTED).notes


@pytest.mark.parametrize("source", ["docs", "comments", "names"])
def test_sources_that_have_nothing_say_so(source, tmp_path, make_ground):
    (tmp_path / "a.py").write_text("x = 1\n")
    found = MINERS[source](make_ground(tmp_path), WANTED)
    assert not found.intents
    assert found.notes[0].startswith(f"{source}: ")


@pytest.mark.parametrize("source", sorted(MINERS))
def test_every_proposal_resolves_and_the_draw_repeats(source, repository, make_ground):
    ground = make_ground(repository)
    found = MINERS[source](ground, SampleSize(count=3, seed=5))
    assert found == MINERS[source](make_ground(repository), SampleSize(count=3, seed=5))
    assert len(found.intents) <= 3
    assert all(ground.resolve(target) for intent in found.intents for target in intent.targets)
