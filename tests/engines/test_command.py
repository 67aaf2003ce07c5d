"""The command engine against real programs, well-behaved and hostile."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.base import EngineCrash
from assay.engines.calling import Answer, ask, open_session
from assay.engines.normalise import normalise
from assay.engines.process import ProcessLimits, Task, run_process
from assay.errors import EngineError, EnvironmentFailure
from assay.types import Corpus, Hit, Status

Program = Callable[[str], list[str]]


def answer_of(argv: list[str], corpus: Corpus, query: str = "q", timeout: float = 20.0, **settings: object) -> Answer:
    """Ask one query through the whole path that the runner takes."""
    engine = make_engine({"kind": "command", "argv": argv, **settings})
    return ask(open_session(engine, corpus).session, query, 3, timeout)


def test_command_reads_text_locations(program: Program, corpus: Corpus) -> None:
    argv = program("print('json/encoder.py:2-3')\nprint('README.md:1:9:# Reads')\nprint('json/decoder.py')")
    answer = answer_of(argv, corpus)
    assert answer.hits == (Hit("json/encoder.py", 2, 3), Hit("README.md", 1, 1), Hit("json/decoder.py"))


@pytest.mark.parametrize(
    "query", ["--help", "-x", "$(touch pwned)", "; touch pwned", "a  b", "{k}", "{root}", "'\"", "größe\n日本", "*"]
)
def test_command_passes_a_query_as_one_argument_and_never_through_a_shell(
    program: Program, corpus: Corpus, query: str
) -> None:
    argv = program(
        "print(json.dumps([{'path': 'README.md', 'score': 1, 'file': sys.argv}])); assert sys.argv[2] == QUERY"
    )
    script = Path(argv[2])
    script.write_text(script.read_text().replace("QUERY", ascii(query)))
    answer = answer_of(argv, corpus, query)
    assert (answer.status, answer.error) == (Status.OK, None)
    assert sorted(os.listdir(corpus.root)) == ["README.md", "json"]


def test_command_fills_k_root_and_here_and_runs_in_the_corpus(program: Program, corpus: Corpus) -> None:
    argv = [*program("print(json.dumps([os.getcwd(), *sys.argv[3:]]))"), "{root}", "{here}", "a{k}b", "{print}"]
    hits = answer_of(argv, corpus).hits
    root = str(corpus.root)
    assert [hit.path for hit in hits] == [root, "3", root, os.getcwd(), "a3b", "{print}"]


def test_command_splits_a_text_without_a_shell(corpus: Corpus) -> None:
    code = "import sys; print(sys.argv[1] + '.py')"
    engine = make_engine(f'command:{sys.executable} -c "{code}" {{query}}')
    assert ask(open_session(engine, corpus).session, "a;b|c", 3).hits == (Hit("a;b|c.py"),)


def test_command_takes_a_relative_program_from_where_assay_runs(
    tmp_path: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "tool").write_text("#!/bin/sh\necho README.md\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.chdir(tmp_path)
    assert answer_of(["./tool", "{query}"], corpus).hits == (Hit("README.md"),)


def test_command_keeps_environment_values_out_of_its_configuration(program: Program, corpus: Corpus) -> None:
    argv = program("print(os.environ['TOKEN_OF_TOOL'] + '.py')")
    spec = {"kind": "command", "argv": argv, "env": {"TOKEN_OF_TOOL": "s3cret"}}
    engine = make_engine(spec)
    assert ask(open_session(engine, corpus).session, "q", 3).hits == (Hit("s3cret.py"),)
    assert engine.config["env"] == ["TOKEN_OF_TOOL"]
    assert "s3cret" not in repr(engine.config) + repr(engine) + repr(open_session(engine, corpus).session)


def test_command_configuration_shows_every_setting_that_shapes_the_ranking() -> None:
    base = {"kind": "command", "argv": ["t", "{query}"], "format": "json", "path": "[].p"}
    changes: list[dict[str, object]] = [
        {"argv": ["u", "{query}"]}, {"index": "t index"}, {"format": "jsonl"}, {"path": "[].q"}, {"start": "s"},
        {"end": "e"}, {"score": "s"}, {"ok_codes": [0, 1]}, {"timeout": 3}, {"env": {"A": "b"}},
    ]  # fmt: skip
    configs = [repr(make_engine({**base, **change}).config) for change in ({}, *changes)]
    assert len(set(configs)) == len(configs)


def test_command_runs_its_index_step_once_when_opened(program: Program, corpus_of: Callable[..., Corpus]) -> None:
    corpus = corpus_of({"a.py": "x\n"})
    index = [sys.executable, "-c", "open('index.db', 'a').write('built ')"]
    argv = program("print(open('index.db').read().strip() + '.py')")
    engine = make_engine({"kind": "command", "argv": argv, "index": index})
    session = open_session(engine, corpus).session
    assert [ask(session, "q", 1).hits for _ in range(2)] == [(Hit("built.py"),)] * 2
    failing = make_engine(
        {"kind": "command", "argv": argv, "index": [sys.executable, "-c", "raise SystemExit('no disk')"]}
    )
    with pytest.raises(EngineError, match="indexing failed: .*exit code 1: no disk"):
        open_session(failing, corpus)


def test_command_says_when_the_program_is_missing(corpus: Corpus) -> None:
    with pytest.raises(EnvironmentFailure, match="no-such-tool is not installed") as caught:
        answer_of(["no-such-tool", "{query}"], corpus)
    assert caught.value.hint


def test_command_hostile_crash_is_a_crash_with_its_last_words(program: Program, corpus: Corpus) -> None:
    argv = program("print('README.md', flush=True)\nprint('oh no', file=sys.stderr, flush=True)\nos.abort()")
    answer = answer_of(argv, corpus)
    assert (answer.status, answer.hits) == (Status.CRASH, ())
    assert answer.error is not None
    assert answer.error.endswith("died by SIGABRT: oh no")


def wait_until_gone(pid: int, seconds: float = 5.0) -> bool:
    """Tell whether a process is gone, or a zombie that nobody has buried yet, within some seconds."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            state = (
                Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] if Path("/proc").exists() else "?"
            )
            os.kill(pid, 0)
        except (ProcessLookupError, FileNotFoundError):
            return True
        if state == "Z":
            return True
        time.sleep(0.02)
    return False


@pytest.mark.parametrize("stubborn", [False, True])
def test_command_hostile_hang_times_out_and_its_children_die_too(
    program: Program, corpus: Corpus, tmp_path: Path, stubborn: bool
) -> None:
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if stubborn else "pass"
    child = f"import time, signal; {ignore}; time.sleep(60)"
    argv = program(
        f"{ignore}\nchild = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        f"open({str(tmp_path / 'pids')!r}, 'w').write(f'{{os.getpid()}} {{child.pid}}')\ntime.sleep(60)"
    )
    begin = time.perf_counter()
    answer = answer_of(argv, corpus, timeout=0.5)
    assert answer.status == Status.TIMEOUT
    assert answer.error == "no answer after 0.5 s"
    assert time.perf_counter() - begin < 5
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    assert all(wait_until_gone(int(pid)) for pid in pids)


def test_command_own_timeout_holds_when_it_is_shorter(program: Program, corpus: Corpus) -> None:
    engine = make_engine({"kind": "command", "argv": program("time.sleep(60)"), "timeout": 0.3})
    assert ask(open_session(engine, corpus).session, "q", 1, 60.0).status == Status.TIMEOUT


def test_command_hostile_closed_stdout_and_hang_times_out(program: Program, corpus: Corpus) -> None:
    argv = program("os.close(1); os.close(2); time.sleep(60)")
    assert answer_of(argv, corpus, timeout=0.5).status == Status.TIMEOUT


def test_command_hostile_closed_stdout_and_exit_is_an_answer_without_results(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("os.close(1)"), corpus)
    assert (answer.status, answer.hits) == (Status.OK, ())


def test_command_does_not_wait_for_a_child_that_holds_the_output_open(
    program: Program, corpus: Corpus, tmp_path: Path
) -> None:
    argv = program(
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(child.pid))\nprint('README.md')"
    )
    begin = time.perf_counter()
    assert answer_of(argv, corpus).hits == (Hit("README.md"),)
    assert time.perf_counter() - begin < 5
    assert wait_until_gone(int((tmp_path / "pid").read_text()))


@pytest.mark.parametrize(
    "source",
    [
        "print('segmentation of the market, and so on')",
        "print('Traceback (most recent call last):')",
        "sys.stdout.buffer.write(bytes(range(256)) * 9)",
        'print(\'{"results": [{"path": \')',
        "print('{\"answer\": 42}')",
        "print('[[1, 2], 3]')",
        "print('Loading model...')",
        "print('[' * 100000)",
        'print(\'{"results": [{"line": 3}]}\')',
    ],
)
def test_command_hostile_garbage_is_an_error_not_an_empty_answer(program: Program, corpus: Corpus, source: str) -> None:
    answer = answer_of(program(source), corpus)
    assert (answer.status, answer.hits) == (Status.ERROR, ())
    assert answer.error
    assert "\n" not in answer.error


def test_command_hostile_flood_is_stopped_early(program: Program, corpus: Corpus) -> None:
    argv = program("for _ in range(100): sys.stdout.write('x' * 1_000_000)")
    begin = time.perf_counter()
    answer = answer_of(argv, corpus)
    assert (answer.status, answer.error) == (Status.ERROR, "printed more than 32,000,000 bytes")
    assert time.perf_counter() - begin < 15


def test_process_keeps_only_the_end_of_a_flood_on_stderr(tmp_path: Path) -> None:
    code = "import sys\nfor n in range(300): sys.stderr.write('y' * 10_000 + chr(10))\nsys.stderr.write('the end')"
    finished = run_process(
        Task((sys.executable, "-c", code), tmp_path, dict(os.environ)), 20.0, ProcessLimits(stderr=100)
    )
    assert len(finished.stderr) == 100
    assert finished.stderr.endswith(b"the end")


def test_process_that_dies_by_a_nameless_signal_is_a_crash(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGRTMIN + 5 if hasattr(signal, 'SIGRTMIN') else 9)"
    with pytest.raises(EngineCrash, match="died by"):
        run_process(Task((sys.executable, "-c", code), tmp_path, dict(os.environ)), 20.0)


def test_command_hostile_absolute_paths_are_read_and_noted(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("print(os.path.abspath('README.md')); print('/etc/passwd')"), corpus)
    cleaned = normalise(answer.hits, corpus, 3)
    assert [hit.path for hit in cleaned.hits] == ["README.md", "/etc/passwd"]
    assert len(cleaned.notes) == 2


def test_command_hostile_ten_thousand_results_are_cut(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("for n in range(10000): print(f'json/encoder.py:{n + 1}')"), corpus)
    assert len(answer.hits) == 10_000
    assert len(normalise(answer.hits, corpus, 3).hits) == 3


def test_command_hostile_exit_code_without_results_is_an_error(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("print('index is locked', file=sys.stderr); sys.exit(3)"), corpus)
    assert answer.status == Status.ERROR
    assert answer.error is not None
    assert answer.error.endswith("ended with exit code 3: index is locked")


def test_command_exit_code_can_be_declared_to_mean_no_results(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("sys.exit(1)"), corpus, ok_codes=[0, 1])
    assert (answer.status, answer.hits) == (Status.OK, ())


def test_command_takes_results_in_spite_of_an_exit_code(program: Program, corpus: Corpus) -> None:
    assert answer_of(program("print('README.md'); sys.exit(2)"), corpus).hits == (Hit("README.md"),)


def test_command_garbage_with_an_exit_code_is_told_by_the_exit_code(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("print('usage of this tool'); print('no key', file=sys.stderr); sys.exit(2)"), corpus)
    assert answer.error is not None
    assert answer.error.endswith("exit code 2: no key")


def test_command_survives_output_that_is_not_utf8(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("sys.stdout.buffer.write(b'README.md\\ncaf\\xe9.py\\n')"), corpus)
    assert [hit.path for hit in answer.hits] == ["README.md", "caf\ufffd.py"]


def test_command_strips_colours_from_text_and_json(program: Program, corpus: Corpus) -> None:
    red = "\\x1b[1;31mREADME.md\\x1b[0m:\\x1b[32m1\\x1b[0m"
    assert answer_of(program(f"print('{red}')"), corpus).hits == (Hit("README.md", 1, 1),)
    source = "print('\\x1b[0m' + json.dumps([{'path': '\\x1b[31mREADME.md\\x1b[0m'}]) + '\\x1b[K')"
    assert answer_of(program(source), corpus).hits == (Hit("README.md"),)


@pytest.mark.parametrize("query", ["nul\0byte", "x" * 3_000_000, "lone \udc80 surrogate\ud800"])
def test_command_query_that_cannot_be_an_argument_is_an_error(program: Program, corpus: Corpus, query: str) -> None:
    answer = answer_of(program("print('README.md')"), corpus, query)
    assert answer.status == Status.ERROR
    assert answer.error is not None
    assert answer.error.startswith("cannot start")


def test_command_corpus_that_vanished_is_told(
    program: Program, tmp_path: Path, corpus_of: Callable[..., Corpus]
) -> None:
    corpus = corpus_of({"a.py": ""})
    session = open_session(make_engine({"kind": "command", "argv": program("print('a.py')")}), corpus).session
    (corpus.root / "a.py").unlink()
    corpus.root.rmdir()
    assert "the corpus folder is gone" in str(ask(session, "q", 1).error)
