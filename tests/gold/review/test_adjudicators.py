"""Who gave up voting stays so: on the disk, in a file of their own, for every way to vote."""

import json
import signal
import subprocess
import sys

import pytest

from assay.errors import ConfigError
from assay.gold.review.reviewers import VoteInput, make_vote
from assay.gold.review.views import ReviewWorkspace
from assay.gold.review.votes import (
    VoteLog,
    become_adjudicator,
    check_may_vote,
    is_adjudicator,
    list_reviewers,
    read_all_votes,
)
from tests.gold.review.conftest import target_item

GIVE_UP = """
import os, signal, sys
from pathlib import Path
from assay.gold.review.items import ReviewQueue
from assay.gold.review.votes import become_adjudicator
from assay.gold.review.votes import VoteLog
become_adjudicator(VoteLog(ReviewQueue(Path(sys.argv[1])), "cy"))
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_word_given_outlives_a_kill(queue):
    done = subprocess.run([sys.executable, "-c", GIVE_UP, str(queue.gold_file)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert is_adjudicator(queue, "cy")
    assert is_adjudicator(queue, "CY"), "another way to write it is the same person"
    assert not is_adjudicator(queue, "ada")
    with pytest.raises(ConfigError, match="cy adjudicates this set"):
        check_may_vote(queue, "cy")


def test_it_is_a_file_of_their_own_that_readers_of_votes_do_not_see(queue):
    for _ in range(2):
        become_adjudicator(VoteLog(queue, "cy"))
    lines = queue.file("adjudicators", "cy").read_text().splitlines()
    assert [json.loads(line)["by"] for line in lines] == ["cy"], "said twice is said once"
    assert list_reviewers(queue) == ()
    assert read_all_votes(queue) == ()


def test_half_a_line_is_no_word(queue):
    become_adjudicator(VoteLog(queue, "cy"))
    path = queue.file("adjudicators", "cy")
    path.write_bytes(path.read_bytes()[:-5])
    assert not is_adjudicator(queue, "cy")


def test_no_record_of_a_vote_is_made_for_them(queue):
    item = target_item(queue)
    queue.add([item])
    become_adjudicator(VoteLog(queue, "cy"))
    with pytest.raises(ConfigError, match="cy adjudicates this set") as caught:
        make_vote(ReviewWorkspace(queue.gold_file), "cy", item, VoteInput(item.id, "2", "now I know"))
    assert str(queue.file("adjudicators", "cy")) in str(caught.value.hint)
    assert make_vote(ReviewWorkspace(queue.gold_file), "ada", item, VoteInput(item.id, "2", "blind")).value == "2"
