"""What a tool is given at a corpus, what it may declare, and what it took."""

from __future__ import annotations

import os
import resource
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.base import SearchFilter, UpdatingSession
from assay.engines.calls import (
    close_session,
    open_session,
    query_filtered,
    query_session,
    session_usage,
    update_session,
)
from assay.errors import ConfigError, EngineError, SetupError
from assay.types import Corpus, Hit, SourceFile, Status
from tests.engines.command.conftest import Opener
from tests.processes import HANG, time_out
from tests.waiting import WATCHDOG

Program = Callable[[str], list[str]]
SHOW = "print(json.dumps(sys.argv[4:]))"


def run(code: str) -> list[str]:
    """A command that runs some Python."""
    return [sys.executable, "-ISc", code]


def test_store_is_an_empty_folder_for_index_and_queries_and_is_measured_and_removed(
    program: Program, corpus: Corpus
) -> None:
    index = [
        *run("import os, sys; assert os.listdir(sys.argv[1]) == []; open(sys.argv[1] + '/db', 'w').write('x' * 123)"),
        "{store}",
    ]
    argv = [
        *program("print(os.environ['DB'], os.listdir(sys.argv[4]) == ['db'], sep='\\n'); print(sys.argv[4])"),
        "{store}",
    ]
    engine = make_engine(
        {"kind": "command", "argv": argv, "index": index, "env": {"DB": "{store}/db"}, "pattern": "(?P<path>.+)"}
    )
    session = open_session(engine, corpus).session
    inside, seen, store = [hit.path for hit in query_session(session, "q", 3, WATCHDOG).hits]
    assert (inside, seen) == (f"{store}/db", "True")
    assert session_usage(session).store_bytes == 123
    assert not store.startswith(str(corpus.root))
    assert close_session(session) is None
    assert not Path(store).exists()


def test_store_is_removed_when_opening_fails(corpus: Corpus, tmp_path: Path) -> None:
    index = [
        *run(f"import sys; open({str(tmp_path / 'where')!r}, 'w').write(sys.argv[1]); sys.exit('no disk')"),
        "{store}",
    ]
    with pytest.raises(EngineError, match="no disk"):
        open_session(make_engine({"kind": "command", "argv": "true {query}", "index": index}), corpus)
    assert not Path((tmp_path / "where").read_text()).exists()


def test_environment_is_filled_and_its_secrets_are_known(
    program: Program, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "s3cret-one")
    env = {"TOKEN_OF_TOOL": "Bearer {env:A_TOKEN}", "PLAIN": "s3cret-two", "PLACE": "{root}"}
    argv = [*program("print(os.environ['TOKEN_OF_TOOL'] + '.py'); print(sys.argv[4] + '.py')"), "{env:A_TOKEN}"]
    engine = make_engine({"kind": "command", "argv": argv, "env": env})
    assert engine.secrets == ("s3cret-one", "Bearer {env:A_TOKEN}", "s3cret-two")
    assert "s3cret" not in repr(engine) + repr(engine.config)
    session = opened(argv, env=env, pattern="(?P<path>.+)")
    paths = [hit.path for hit in query_session(session, "q", 2, WATCHDOG).hits]
    assert paths == ["Bearer s3cret-one.py", "s3cret-one.py"]
    monkeypatch.delenv("A_TOKEN")
    with pytest.raises(ConfigError, match="variable A_TOKEN is not set"):
        make_engine({"kind": "command", "argv": argv})


def test_secret_of_an_argument_is_struck_out_of_messages_and_complaints(
    program: Program, opened: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "s3cret-one")
    argv = [*program("sys.exit('refused ' + sys.argv[4])"), "{env:A_TOKEN}"]
    session = opened(argv)
    assert "exit code 1: refused ***" in str(query_session(session, "q", 2, WATCHDOG).error)
    assert session_usage(session).stderr == "[last failure]\nrefused ***"


def test_preset_folder_and_interpreter_of_a_program_can_be_named(
    corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "driver.py").write_text("import sys\nprint(sys.argv[1] + '.py')")
    (tmp_path / "tool").write_text(f"#!{sys.executable}\n")
    (tmp_path / "tool").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    settings = {"argv": ["{python:tool}", "{preset}/driver.py", "{query}"]}
    from assay.engines.base import EngineContext
    from assay.engines.command import make

    engine = make(settings, EngineContext(preset=tmp_path))
    assert query_session(open_session(engine, corpus).session, "q", 1, WATCHDOG).hits == (Hit("q.py"),)
    with pytest.raises(ConfigError, match=r"argv: .*placeholder {preset}"):
        make(settings, EngineContext())
    missing = make({"argv": ["{python:no-such-tool}", "{query}"]}, EngineContext())
    with pytest.raises(SetupError, match="program no-such-tool not found"):
        open_session(missing, corpus)


@pytest.mark.parametrize(
    ("code", "version"),
    [
        ("print(); print('tool 1.2.3'); print('built yesterday')", "tool 1.2.3"),
        ("import sys; print('tool 4', file=sys.stderr)", "tool 4"),
        ("import os; os.abort()", ""),
        ("pass", ""),
    ],
)
def test_version_is_the_first_line_that_is_printed(opened: Opener, code: str, version: str) -> None:
    assert session_usage(opened("true {query}", version=run(code))).version == version


def test_usage_tells_what_was_said(program: Program, opened: Opener) -> None:
    argv = program("print('README.md') if sys.argv[2] == 'a' else sys.exit('no such ' + sys.argv[2])")
    session = opened(argv, index=run("import sys; print('indexed 3 files', file=sys.stderr)"))
    assert query_session(session, "b", 1, WATCHDOG).status == Status.ERROR
    assert query_session(session, "c", 1, WATCHDOG).status == Status.ERROR
    assert query_session(session, "a", 1, WATCHDOG).status == Status.OK
    usage = session_usage(session)
    assert usage.stderr == "[index]\nindexed 3 files\n[last failure]\nno such c"
    assert (usage.startup_seconds, usage.store_bytes) == (None, None)


@pytest.mark.nightly  # needs more memory than this process has ever held
@pytest.mark.skipif(sys.platform != "linux", reason="LOUD: other systems give one figure only")
def test_usage_tells_the_most_memory_of_all_runs(program: Program, opened: Opener) -> None:
    ours = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    size = ours + 60_000_000  # more than we hold: then the kernel's own figure counts, however short the program was
    session = opened(program("print('README.md')"), index=run(f"block = b'x' * {size}"))
    assert query_session(session, "a", 1, WATCHDOG).status == Status.OK
    assert (session_usage(session).peak_bytes or 0) > size


def test_usage_keeps_what_was_said_by_a_run_that_was_ended(program: Program, opened: Opener) -> None:
    argv = program(f"print('waiting for a lock', file=sys.stderr, flush=True); time.sleep({HANG})")
    session = opened(argv)

    def attempt(limit: float) -> str:
        assert query_session(session, "q", 1, limit).status == Status.TIMEOUT
        return session_usage(session).stderr

    assert time_out(attempt, bool) == "[last failure]\nwaiting for a lock"


def test_usage_keeps_what_was_said_by_the_last_run_that_said_something(program: Program, opened: Opener) -> None:
    session = opened(program("print('README.md'); sys.stderr.write('old model' if sys.argv[2] == 'a' else '')"))
    assert query_session(session, "a", 1, WATCHDOG).status == Status.OK
    assert query_session(session, "b", 1, WATCHDOG).status == Status.OK
    assert session_usage(session).stderr == "[program]\nold model"


def test_update_runs_its_command_or_the_index_again(
    program: Program, opened: Opener, corpus_of: Callable[..., Corpus]
) -> None:
    argv = program("print(open('log').read().strip())")
    index, mend = run("open('log', 'a').write('i')"), run("open('log', 'a').write('u.py')")
    for update, log in ((mend, "iu.py"), ("index", "ii")):
        corpus = corpus_of({"a.py": ""})
        session = opened(argv, corpus, index=index, update=update, pattern="(?P<path>.+)")
        answer = update_session(session, corpus, WATCHDOG)
        assert answer is not None
        assert answer.status == Status.OK
        assert query_session(session, "q", 1, WATCHDOG).hits == (Hit(log),)


def test_update_is_nothing_to_do_without_an_index_and_impossible_without_a_command(
    program: Program, opened: Opener, corpus: Corpus
) -> None:
    session = opened(program("print('new file')"))
    assert (
        query_session(session, "q", 1, WATCHDOG).status == Status.ERROR
    )  # a blank in a path is taken from the corpus only
    more = replace(corpus, files=(*corpus.files, SourceFile("new file", 0, "code", None)))
    answer = update_session(session, more, WATCHDOG)
    assert answer is not None
    assert query_session(session, "q", 1, WATCHDOG).hits == (Hit("new file"),)
    indexed = opened(program("print('a.py')"), index=["true"])
    assert not isinstance(indexed, UpdatingSession)
    assert update_session(indexed, corpus, WATCHDOG) is None


def test_update_that_fails_or_hangs_is_told(opened: Opener, corpus: Corpus) -> None:
    failing = update_session(opened("true {query}", update=run("raise SystemExit('locked')")), corpus, WATCHDOG)
    assert failing is not None
    assert "updating failed" in str(failing.error)
    assert "locked" in str(failing.error)
    hanging = update_session(opened("true {query}", update=["sleep", str(HANG)]), corpus, 0.1)
    assert hanging is not None
    assert hanging.status == Status.TIMEOUT


def test_filters_are_added_once_for_each_value_and_before_a_double_dash(program: Program, opened: Opener) -> None:
    show = [*program("print(json.dumps(sys.argv[1:]))")[:3], "--k={k}"]
    filters = {"path_filter": "--in {path}", "language_filter": ["--lang={language}", "-{k}"]}
    wanted = SearchFilter(("src/**", "{k}"), ("python",))
    added = ["--in", "src/**", "--in", "{k}", "--lang=python", "-3"]
    for tail, expected in ((["--", "{query}"], [*added, "--", "--"]), (["{query}"], ["--", *added])):
        answer = query_filtered(opened([*show, *tail], **filters, path="[]", format="json"), "--", 3, wanted, WATCHDOG)
        assert answer is not None
        assert [hit.path for hit in answer.hits] == ["--k=3", *expected]


def test_filters_that_are_not_declared_are_not_had(program: Program, opened: Opener) -> None:
    session = opened(program("print('a.py')"), path_filter="--in={path}")
    assert query_filtered(session, "q", 1, SearchFilter(languages=("python",)), WATCHDOG) is None
    assert query_filtered(session, "q", 1, SearchFilter(("src/**",)), WATCHDOG) is not None
    assert query_filtered(opened(program("print('a.py')")), "q", 1, SearchFilter(("src/**",)), WATCHDOG) is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"path_filter": "--in"}, "path_filter has no {path}"),
        ({"language_filter": "--in={path}"}, "language_filter has no {language}"),
        ({"path_filter": "--in {path} | head"}, "shell operator"),
        ({"update": "index"}, "requires `index`"),
        ({"update": "tool {query}"}, "update: .*placeholder {query}"),
        ({"version": "tool {query}"}, "version: .*placeholder {query}"),
        ({"env": {"A": "{query}"}}, "env: .*placeholder {query}"),
        ({"env": {"A": "{env:}"}}, "env: .*placeholder {env:}"),
        ({"argv": "tool {query} {strore}"}, "argv: .*placeholder {strore}"),
        ({"git": "yes"}, "git"),
        ({"updates": "x"}, "unknown setting"),
    ],
)
def test_settings_that_are_wrong_are_told(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        make_engine({"kind": "command", "argv": "tool {query}", **settings})
    assert caught.value.hint or "expected" in caught.value.message


def test_git_and_the_own_copy_are_declared() -> None:
    engine = make_engine({"kind": "command", "argv": "t {query}", "git": True})
    assert (engine.git, engine.private, engine.parallel) == (True, True, 1)
    assert not make_engine({"kind": "command", "argv": "t {query}"}).git


def test_missing_program_of_any_command_is_told_when_opened(corpus: Corpus) -> None:
    for name in ("version", "update"):
        with pytest.raises(EngineError, match="program no-such-tool not found"):
            open_session(make_engine({"kind": "command", "argv": "true {query}", name: "no-such-tool -x"}), corpus)
