"""Progress on stderr: a bar on a terminal, one line per engine on a pipe, nothing with --quiet."""

import os
import pty
import re
import subprocess
import sys
from argparse import Namespace

from assay.cli.console import show_progress
from assay.experiment import Progress

RUN = (sys.executable, "-m", "assay", "run", "--gold", "gold.yaml", "--engine", "keywords", "--engine", "builtin")


def run_on_terminal(*argv, **variables):
    """Run a command whose stderr is a terminal; return its stdout and stderr."""
    ours, theirs = pty.openpty()
    environment = os.environ | {"TERM": "xterm", "COLUMNS": "80"} | variables
    with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=theirs, env=environment, text=True) as process:
        os.close(theirs)
        parts = []
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:  # Linux: the other end is closed
                break
            if not part:
                break
            parts.append(part)
        out, _ = process.communicate()
    os.close(ours)
    assert process.returncode == 0
    return out, b"".join(parts).decode()


def test_terminal_shows_a_bar_that_is_removed(shop):
    out, err = run_on_terminal(*RUN)
    assert re.search(r"searching \w+ .*━.*36/36", err)  # 9 queries of two engines and two references
    last = err.rpartition("\033[2K")[2]
    assert last == "written to results/report.html\r\n"
    assert "\033" not in out


def test_dumb_terminal_gets_lines(shop):
    _, err = run_on_terminal(*RUN, TERM="dumb")
    assert "\033" not in err
    assert "builtin: 9 searches in " in err


def test_pipe_gets_one_line_per_engine(shop):
    done = subprocess.run(RUN, capture_output=True, text=True, check=True)
    lines = sorted(re.sub(r"[\d.]+ s$", "# s", line) for line in done.stderr.splitlines())
    assert lines == ["builtin: 9 searches in # s", "keywords: 9 searches in # s", "written to results/report.html"]


def test_quiet_run_prints_no_progress(shop):
    assert subprocess.run((*RUN, "--quiet"), capture_output=True, text=True, check=True).stderr == ""
    assert run_on_terminal(*RUN, "--quiet")[1] == ""


def test_problem_on_several_gold_sets_is_printed_once_with_a_count(capsys):
    with show_progress(Namespace(quiet=False)) as report:
        assert report
        report(Progress("", "one", 0, 3, "corpus"))
        for gold in ("one", "two", "three"):
            report(Progress("dead", gold, 0, 9, "trouble", f"could not be opened on {gold}: no such program"))
    assert capsys.readouterr().err.splitlines() == [
        "dead: could not be opened on one: no such program",
        "dead: the same on 2 more gold sets",
    ]


def test_line_of_an_engine_sums_its_gold_sets(capsys):
    with show_progress(Namespace(quiet=False), ["mine"]) as report:
        assert report
        report(Progress("", "one", 0, 2, "corpus"))
        for gold, engine in (("one", "mine"), ("one", "random"), ("two", "mine"), ("two", "random")):
            report(Progress(engine, gold, 4, 5, "search"))
            report(Progress(engine, gold, 5, 5, "search", seconds=0.75))
    assert capsys.readouterr().err == "mine: 10 searches in 1.5 s\n"
