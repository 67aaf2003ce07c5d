"""Command lines that show a finding again are ones that a shell reads as they were meant."""

import shutil
import subprocess

import pytest

from assay.audit.checks.edge_cases import EDGE_CASES
from assay.audit.findings import AuditConfig, ReproCommand, shell_word
from assay.engines.base import SearchFilter


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash")
def test_shell_words_are_read_back_by_a_shell_as_they_were():
    texts = [odd.text for odd in EDGE_CASES]
    script = "printf '%s\\0' " + " ".join(map(shell_word, texts))
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode("utf-8").split("\0")[:-1] == texts


def test_shell_word_shows_what_cannot_be_seen():
    assert shell_word("a\nb") == r"$'a\x0ab'"
    assert shell_word("e\u0301") == r"$'e\xcc\x81'"
    assert shell_word("plain") == "plain"


def test_ask_puts_a_query_that_looks_like_an_option_behind_two_dashes():
    wording = ReproCommand("mine", "src", config="other.toml")
    assert wording.query("--help", 5) == "assay engines query --config other.toml -k 5 -- mine --help src"
    assert wording.query("a b", 5) == "assay engines query mine 'a b' src --config other.toml -k 5"


def test_ask_names_filters_and_environment():
    asked = ReproCommand("mine").query("x", 3, SearchFilter(("a/**",), ("go",)), "PYTHONHASHSEED=1")
    assert asked == "PYTHONHASHSEED=1 assay engines query mine x -k 3 '--paths=a/**' --language=go"


def test_audit_command_has_what_was_changed_and_no_more():
    config = AuditConfig(queries=5, timeout=0.5)
    asked = ReproCommand("mine", gold="gold.yaml").audit("ties", config)
    assert asked == "assay audit mine --gold gold.yaml --only ties --queries 5 --timeout 0.5"
