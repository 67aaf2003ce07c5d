"""The command engine against real programs, well-behaved and hostile."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.base import RAISE_TIMEOUT
from assay.engines.calls import QueryOutcome, close_session, open_session, query_session, session_notes
from assay.engines.normalize import Normalizer
from assay.errors import ConfigError, EngineError, EngineTimeoutError
from assay.types import Corpus, Hit, Status
from tests.processes import HANG, pids_in, time_out, wait_until_gone
from tests.waiting import WATCHDOG

Program = Callable[[str], list[str]]


def answer_of(
    argv: list[str], corpus: Corpus, query: str = "q", timeout: float = WATCHDOG, **settings: object
) -> QueryOutcome:
    """Ask one query through the whole path that the runner takes."""
    engine = make_engine({"kind": "command", "argv": argv, **settings})
    return query_session(open_session(engine, corpus).session, query, 3, timeout)


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
    assert query_session(open_session(engine, corpus).session, "a;b|c", 3).hits == (Hit("a;b|c.py"),)


@pytest.fixture
def tool(tmp_path: Path) -> Path:
    """A folder with a program that names a file and, when told to, where it was called."""
    (tmp_path / "tool").write_text('#!/bin/sh\necho README.md\necho "$0" > "$2"\n')
    (tmp_path / "tool").chmod(0o755)
    return tmp_path


def test_command_takes_a_relative_program_from_where_assay_runs(
    tool: Path, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tool)
    assert answer_of(["./tool", "{query}", "/dev/null"], corpus).hits == (Hit("README.md"),)


def test_command_takes_programs_and_here_from_the_folder_of_the_settings(tool: Path, corpus: Corpus) -> None:
    settings = {"argv": ["./tool", "{query}", "{here}/asked"], "index": ["./tool", "x", "{here}/indexed"]}
    engine = make_engine({"kind": "command", **settings}, directory=tool)
    assert query_session(open_session(engine, corpus).session, "q", 1).hits == (Hit("README.md"),)
    assert (tool / "asked").read_text() == (tool / "indexed").read_text() == f"{tool}/tool\n"


def test_command_leaves_a_linked_program_its_name(tool: Path, corpus: Corpus) -> None:
    (tool / "alias").symlink_to("tool")  # as python is in a virtual environment
    engine = make_engine({"kind": "command", "argv": ["./alias", "{query}", "{here}/asked"]}, directory=tool)
    assert query_session(open_session(engine, corpus).session, "q", 1).status == Status.OK
    assert (tool / "asked").read_text() == f"{tool}/alias\n"


def test_command_keeps_environment_values_out_of_its_configuration(program: Program, corpus: Corpus) -> None:
    argv = program("print(os.environ['TOKEN_OF_TOOL'] + '.py')")
    spec = {"kind": "command", "argv": argv, "env": {"TOKEN_OF_TOOL": "s3cret"}}
    engine = make_engine(spec)
    assert query_session(open_session(engine, corpus).session, "q", 3).hits == (Hit("s3cret.py"),)
    assert engine.config["env"] == ["TOKEN_OF_TOOL"]
    assert "s3cret" not in repr(engine.config) + repr(engine) + repr(open_session(engine, corpus).session)


def test_command_that_tells_its_secret_is_not_quoted(
    program: Program, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OTHER_API_KEY", "hunter2-hunter2")
    argv = program(
        "import os, sys\nsys.exit('auth failed for ' + os.environ['MINE'] + ' and ' + os.environ['OTHER_API_KEY'])"
    )
    answer = answer_of([*argv, "{query}"], corpus, env={"MINE": "SEKRET-12345"})
    assert answer.status == Status.ERROR
    assert "auth failed for *** and ***" in str(answer.error)


def test_command_environments_that_differ_are_told_apart_by_a_digest() -> None:
    def config(value: str) -> object:
        return make_engine({"kind": "command", "argv": ["x", "{query}"], "env": {"F": value}}).config

    assert config("secret-one") != config("secret-two")
    assert "secret-one" not in str(config("secret-one"))


def test_command_configuration_shows_every_setting_that_shapes_the_ranking() -> None:
    base = {"kind": "command", "argv": ["t", "{query}"], "format": "json", "path": "[].p"}
    changes: list[dict[str, object]] = [
        {"argv": ["u", "{query}"]}, {"index": "t index"}, {"format": "jsonl"}, {"path": "[].q"}, {"start": "s"},
        {"end": "e"}, {"score": "s"}, {"ok_codes": [0, 1]}, {"ok_codes": [0]}, {"timeout": 3}, {"oversample": 2},
        {"env": {"A": "b"}},
    ]  # fmt: skip
    configs = [repr(make_engine({**base, **change}).config) for change in ({}, *changes)]
    assert len(set(configs)) == len(configs)


def test_command_runs_its_index_step_once_when_opened(program: Program, corpus_of: Callable[..., Corpus]) -> None:
    corpus = corpus_of({"a.py": "x\n"})
    index = [sys.executable, "-c", "open('index.db', 'a').write('built ')"]
    argv = program("print(open('index.db').read().strip() + '.py')")
    engine = make_engine({"kind": "command", "argv": argv, "index": index})
    session = open_session(engine, corpus).session
    assert [query_session(session, "q", 1).hits for _ in range(2)] == [(Hit("built.py"),)] * 2
    failing = make_engine(
        {"kind": "command", "argv": argv, "index": [sys.executable, "-c", "raise SystemExit('no disk')"]}
    )
    with pytest.raises(EngineError, match="indexing failed: .*exit code 1: no disk"):
        open_session(failing, corpus)


@pytest.mark.parametrize(
    "settings",
    [
        {"argv": ["no-such-tool", "{query}"]},
        {"argv": ["./no-such-tool", "{query}"]},
        {"argv": ["true", "{query}"], "index": ["no-such-tool"]},
        {"argv": ["true", "{query}"], "env": {"PATH": "/no-such-tool"}},
        {"argv": ["no-such-tool", "{query}"], "index": ["touch", "indexed"]},
    ],
)
def test_command_missing_program_is_told_once_when_opened(corpus: Corpus, settings: dict[str, object]) -> None:
    engine = make_engine({"kind": "command", **settings})
    with pytest.raises(EngineError, match="program .*(no-such-tool|true) not found") as caught:
        open_session(engine, corpus)
    assert caught.value.hint
    assert not (corpus.root / "indexed").exists()  # nobody waits an hour to hear it


@pytest.mark.parametrize("shorter", ["its own", pytest.param("the run's", marks=pytest.mark.nightly)])
def test_command_index_step_that_takes_too_long_is_ended_with_its_children(
    corpus: Corpus, tmp_path: Path, shorter: str
) -> None:
    pids = tmp_path / "pids"
    index = ["sh", "-c", f"sleep {HANG} & echo $$ $! > {pids}; wait"]

    def attempt(limit: float) -> EngineTimeoutError:
        own, given = (limit, WATCHDOG) if shorter == "its own" else (WATCHDOG, limit)
        engine = make_engine({"kind": "command", "argv": ["true", "{query}"], "index": index, "index_timeout": own})
        with pytest.raises(EngineTimeoutError, match=r"cannot open the engine: no answer after [\d.]+ s\n") as caught:
            open_session(engine, corpus, given)
        return caught.value

    problem = time_out(attempt, lambda _: pids_in(pids, 2))
    assert "index_timeout" in str(problem.hint)
    assert all(wait_until_gone(pid) for pid in pids_in(pids, 2))


def test_command_index_step_is_ended_by_an_interrupt(corpus: Corpus, tmp_path: Path) -> None:
    # More than a pipe holds can be written only while we read, so the interrupt comes when the program is waited for.
    talk = f"echo $$ > {tmp_path / 'pid'}; yes | head -c 300000"
    index = ["sh", "-c", f"{talk}; kill -INT {os.getpid()}; sleep {HANG}"]
    engine = make_engine({"kind": "command", "argv": ["true", "{query}"], "index": index})
    with pytest.raises(KeyboardInterrupt):
        open_session(engine, corpus, WATCHDOG)
    assert wait_until_gone(*pids_in(tmp_path / "pid", 1))


@pytest.mark.parametrize("part", ["|", "||", "&&", "&", ";", ">", ">>", "<", "2>&1", "2>/dev/null", "$(pwd)"])
@pytest.mark.parametrize("name", ["argv", "index"])
def test_command_refuses_what_only_a_shell_understands(part: str, name: str) -> None:
    templates = {"argv": ["tool", "{query}"], "index": ["tool"]}
    templates[name] = [*templates[name], part, "head"]
    with pytest.raises(ConfigError, match=f"{name}: shell operator .* is not supported") as caught:
        make_engine({"kind": "command", **templates})
    assert '"sh", "-c"' in str(caught.value.hint)


def test_command_takes_what_only_looks_like_a_shell() -> None:
    for argv in (
        ["sh", "-c", "a | b > c; d", "{query}"],
        ["find", "-exec", "grep", "{query}", "{}", ";"],
        ["t", "{query}|"],
    ):
        assert make_engine({"kind": "command", "argv": argv}).config["argv"] == argv
    with pytest.raises(ConfigError, match="shell operator"):
        make_engine("command:rg -l {query} | head")


def test_command_hint_for_a_shell_keeps_a_query_out_of_its_code(corpus: Corpus, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        make_engine("command:cat {query} | head")
    advised = json.loads(str(caught.value.hint).partition("write ")[2])
    argv = [part.replace("tool", "printf %s.py").replace("head", "cat") for part in advised]
    assert answer_of(argv, corpus, f"$(touch${{IFS}}{tmp_path}/pwned)").hits == (
        Hit(f"$(touch${{IFS}}{tmp_path}/pwned).py"),
    )
    assert not (tmp_path / "pwned").exists()


def test_command_declares_its_oversample() -> None:
    assert make_engine({"kind": "command", "argv": "t {query}"}).oversample == 1
    assert make_engine({"kind": "command", "argv": "t {query}", "oversample": 3}).oversample == 3


def test_command_hostile_crash_is_a_crash_with_its_last_words(program: Program, corpus: Corpus) -> None:
    argv = program("print('README.md', flush=True)\nprint('oh no', file=sys.stderr, flush=True)\nos.abort()")
    answer = answer_of(argv, corpus)
    assert (answer.status, answer.hits) == (Status.CRASH, ())
    assert answer.error is not None
    assert "was killed by SIGABRT: oh no → " in answer.error


# A stubborn one is in test_hostile.py too.
@pytest.mark.parametrize("stubborn", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_command_hostile_hang_times_out_and_its_children_die_too(
    program: Program, corpus: Corpus, tmp_path: Path, stubborn: bool
) -> None:
    pids = tmp_path / "pids"
    ignore = "signal.signal(signal.SIGTERM, signal.SIG_IGN)" if stubborn else "pass"
    child = f"import time, signal; {ignore}; time.sleep({HANG})"
    argv = program(
        f"{ignore}\nchild = subprocess.Popen([sys.executable, '-ISc', {child!r}])\n"
        f"with open({str(pids)!r}, 'w') as file: print(os.getpid(), child.pid, file=file)\ntime.sleep({HANG})"
    )

    def attempt(limit: float) -> None:
        answer = answer_of(argv, corpus, timeout=limit)
        assert (answer.status, answer.error) == (Status.TIMEOUT, f"no answer after {limit:g} s → {RAISE_TIMEOUT}")

    time_out(attempt, lambda _: pids_in(pids, 2))
    assert all(wait_until_gone(pid) for pid in pids_in(pids, 2))


def test_command_own_timeout_holds_when_it_is_shorter(program: Program, corpus: Corpus) -> None:
    engine = make_engine({"kind": "command", "argv": program(f"time.sleep({HANG})"), "timeout": 0.1})
    assert query_session(open_session(engine, corpus).session, "q", 1, WATCHDOG).status == Status.TIMEOUT


def test_command_hostile_closed_stdout_and_exit_is_an_answer_without_results(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("os.close(1)"), corpus)
    assert (answer.status, answer.hits) == (Status.OK, ())


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


def test_command_hostile_absolute_paths_are_read_and_noted(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("print(os.path.abspath('README.md')); print('/etc/passwd')"), corpus)
    cleaned = Normalizer(corpus)(answer.hits, 3)
    assert [hit.path for hit in cleaned.hits] == ["README.md", "/etc/passwd"]
    assert len(cleaned.notes) == 2


def test_command_hostile_ten_thousand_results_are_cut(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("for n in range(10000): print(f'json/encoder.py:{n + 1}')"), corpus)
    assert len(answer.hits) == 10_000
    assert len(Normalizer(corpus)(answer.hits, 3).hits) == 3


def test_command_hostile_exit_code_without_results_is_an_error(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("print('index is locked', file=sys.stderr); sys.exit(3)"), corpus)
    assert answer.status == Status.ERROR
    assert answer.error is not None
    assert "ended with exit code 3: index is locked → " in answer.error
    assert "ok_codes" in answer.error


def test_command_exit_code_can_be_declared_to_mean_no_results(program: Program, corpus: Corpus) -> None:
    argv = program("print('none', file=sys.stderr); sys.exit(3)")
    for form in ("auto", "json"):
        answer = answer_of(argv, corpus, ok_codes=[0, 3], format=form)
        assert (answer.status, answer.hits) == (Status.OK, ())


@pytest.mark.parametrize(
    ("source", "settings", "status"),
    [
        ("sys.exit(1)", {}, Status.OK),
        ("sys.exit(1)", {"format": "json"}, Status.OK),
        ("print(); sys.exit(1)", {}, Status.OK),
        ("sys.exit('no index')", {}, Status.ERROR),
        ("print('no index'); sys.exit(1)", {}, Status.ERROR),
        ("sys.exit(2)", {}, Status.ERROR),
        ("sys.exit(1)", {"ok_codes": [0]}, Status.ERROR),
    ],
)
def test_command_silent_exit_code_of_a_grep_means_no_results(
    program: Program, corpus: Corpus, source: str, settings: dict[str, object], status: Status
) -> None:
    engine = make_engine({"kind": "command", "argv": program(source), **settings})
    answer = query_session(open_session(engine, corpus).session, "q", 3, WATCHDOG)
    assert (answer.status, answer.hits) == (status, ())
    assert ("ok_codes" in str(answer.error)) == (status == Status.ERROR)


def test_command_takes_results_in_spite_of_an_exit_code(program: Program, corpus: Corpus) -> None:
    assert answer_of(program("print('README.md'); sys.exit(2)"), corpus).hits == (Hit("README.md"),)


def test_command_garbage_with_an_exit_code_is_told_by_the_exit_code(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("print('usage of this tool'); print('no key', file=sys.stderr); sys.exit(2)"), corpus)
    assert answer.error is not None
    assert "exit code 2: no key → " in answer.error


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
    assert "was removed" in str(query_session(session, "q", 1).error)


def test_results_before_a_failure_are_taken_and_told(program: Program, corpus: Corpus) -> None:
    argv = program("print('README.md'); print('thread panicked at x.rs', file=sys.stderr); sys.exit(101)")
    answer = answer_of(argv, corpus)
    assert (answer.status, answer.hits) == (Status.OK, (Hit("README.md"),))
    (note,) = answer.notes
    assert note.endswith("ended with exit code 101: thread panicked at x.rs (after 1 result)")
    assert answer_of(argv, corpus, ok_codes=[101]).notes == ()


def test_results_before_a_signal_are_a_crash(program: Program, corpus: Corpus) -> None:
    answer = answer_of(program("print('README.md', flush=True); os.kill(os.getpid(), signal.SIGSEGV)"), corpus)
    assert (answer.status, answer.hits) == (Status.CRASH, ())
    assert "to reproduce, run in the corpus directory: " in str(answer.error)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells what descends from a program")
def test_processes_that_were_left_are_ended_and_told(program: Program, corpus: Corpus, tmp_path: Path) -> None:
    daemon = "subprocess.Popen(['sleep', '1000'], start_new_session=True, stdout=-3, stderr=-3)"
    argv = program(f"open({str(tmp_path / 'pid')!r}, 'w').write(str({daemon}.pid)); print('README.md')")
    session = open_session(make_engine({"kind": "command", "argv": argv}), corpus).session
    assert query_session(session, "q", 3, WATCHDOG).hits == (Hit("README.md"),)
    assert close_session(session) is None
    wait_until_gone(int((tmp_path / "pid").read_text()))
    assert session_notes(session) == ("killed 1 leftover process",)


def test_index_that_fails_is_told_with_a_command_to_run(program: Program, corpus: Corpus) -> None:
    index = [*program("sys.exit(2)")[:3], "{root}", "{store}/index"]
    with pytest.raises(EngineError, match="indexing failed") as caught:
        answer_of(program("sys.exit(2)"), corpus, index=index)
    assert str(caught.value.hint).endswith("program.py . ../store/index")
