"""A program that stays: asked on its stdin, started again after a failure, and never an old answer for a new query."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.engines import make_engine
from assay.engines.base import FilteringSession, SearchFilter, TimedSession, UpdatingSession
from assay.engines.calls import (
    QueryOutcome,
    close_session,
    open_session,
    query_filtered,
    query_session,
    session_usage,
    update_session,
)
from assay.engines.interactive import FLATTENED
from assay.errors import ConfigError, EngineError, EngineTimeoutError
from assay.types import Corpus, Cost, Hit, Status
from tests.engines.command.conftest import Opener
from tests.processes import HANG, pids_in, time_out, wait_until_gone
from tests.waiting import WATCHDOG, wait_until

RESTARTED = "was restarted before this query"
Server = Callable[[str], list[str]]
LINES = {"mode": "lines", "request": {"q": "{query}", "k": "{k}"}}
PROMPT = {"mode": "prompt", "prompt": "^> "}
#: Answers with what it was asked, as a path; does what the query says when it is code.
ECHO = """
for line in sys.stdin:
    asked = json.loads(line)
    if asked['q'].startswith('!'):
        exec(asked['q'][1:])
    else:
        print(json.dumps([{'path': asked['q'] + '.py', 'start': asked['k']}]), flush=True)
"""
#: The same at a prompt, for text.
SHELL = """
print('welcome', end='\\n> ', flush=True)
for line in sys.stdin:
    asked = line.rstrip('\\n')
    if asked.startswith('!'):
        exec(asked[1:])
    else:
        print(asked + '.py:3')
    print(end='> ', flush=True)
"""


def test_lines_ask_one_program_and_read_its_answers(server: Server, opened: Opener) -> None:
    session = opened(server(ECHO), **LINES)
    for query in ("a", "two\nlines\r\n", "größe 日本", '"quoted\\', "{k}", "\u2028", "lone \ud800", "", "--help"):
        answer = query_session(session, query, 7, WATCHDOG)
        assert (answer.status, answer.hits, answer.notes) == (Status.OK, (Hit(query + ".py", 7),), ())


def test_lines_is_one_process_for_all_queries(server: Server, opened: Opener) -> None:
    source = "for line in sys.stdin: print(json.dumps({'path': str(os.getpid())}), flush=True)"
    session = opened(server(source), **LINES)
    assert len({query_session(session, str(n), 1, WATCHDOG).hits for n in range(5)}) == 1


def test_lines_read_declared_fields_and_cost(server: Server, opened: Opener) -> None:
    answer = "{'r': [{'f': 'a.py', 'l': 2}], 'bill': {'tokens': 12}}"
    session = opened(
        server(f"for line in sys.stdin: print(json.dumps({answer}), flush=True)"),
        **LINES, path="r[].f", start="r[].l", end="r[].l", tokens="bill.tokens",
    )  # fmt: skip
    got = query_session(session, "q", 1, WATCHDOG)
    assert (got.hits, got.cost) == ((Hit("a.py", 2, 2),), Cost(tokens=12))


def test_lines_can_be_asked_in_text(server: Server, opened: Opener) -> None:
    source = "for line in sys.stdin: print(json.dumps([line.rstrip('\\n') + '.py']), flush=True)"
    session = opened(server(source), mode="lines", request="find {k} {query}")
    assert query_session(session, "a b", 3, WATCHDOG).hits == (Hit("find 3 a b.py"),)


@pytest.mark.parametrize("mode", ["lines", "prompt"])
def test_text_request_stays_one_line_whatever_the_query(server: Server, opened: Opener, mode: str) -> None:
    shell = "print(end='> ', flush=True)\n" if mode == "prompt" else ""
    end = "'\\n> '" if mode == "prompt" else "'\\n'"
    source = f"{shell}for line in sys.stdin: print(json.dumps([line.strip()]), end={end}, flush=True)"
    session = opened(server(source), request="{query}", **({"mode": "lines"} if mode == "lines" else PROMPT))
    for broken in ("a\nb", "a\r\nb", "a\rb", "a\u2028b", "a\x85b", "a\x0bb"):
        first, second = query_session(session, broken, 3, WATCHDOG), query_session(session, "next", 3, WATCHDOG)
        assert (first.hits, first.notes) == ((Hit("a b"),), (FLATTENED,))
        assert (second.hits, second.notes) == ((Hit("next"),), ())


def test_text_request_that_cannot_be_written_is_an_error_and_the_next_works(server: Server, opened: Opener) -> None:
    session = opened(server(SHELL), **PROMPT)
    assert "cannot send" in str(query_session(session, "lone \ud800", 3, WATCHDOG).error)
    assert query_session(session, "a", 3, WATCHDOG).hits == (Hit("a.py", 3, 3),)


def test_lines_pass_over_talk_and_tell_it(server: Server, opened: Opener) -> None:
    source = (
        "for line in sys.stdin: print('Loading...'); print(end='10%\\r'); print(end='\\x1b[32m');"
        " print(json.dumps(['a.py']) + '\\x1b[0m', flush=True)"
    )
    answer = query_session(opened(server(source), **LINES), "q", 3, WATCHDOG)
    assert answer.hits == (Hit("a.py"),)
    assert any("Loading" in note for note in answer.notes)
    assert any("10%" in note for note in answer.notes)


def test_lines_with_an_id_pass_over_other_answers(server: Server, opened: Opener) -> None:
    source = """
for line in sys.stdin:
    asked = json.loads(line)
    for number in (asked['id'] - 1, asked['id'], asked['id'] + 1):
        print(json.dumps({'event': 'progress'}))
        print(json.dumps({'id': number, 'results': [f"{asked['q']}{number}.py"]}), flush=True)
"""
    session = opened(
        server(source), mode="lines", request={"q": "{query}", "id": "{id}"}, answer_id="id", path="results[]"
    )
    assert [query_session(session, "x", 3, WATCHDOG).hits for _ in range(3)] == [(Hit(f"x{n}.py"),) for n in (1, 2, 3)]


def test_lines_without_an_id_never_read_what_came_before_the_question(
    server: Server, opened: Opener, tmp_path: Path
) -> None:
    more = "flush=True); print(json.dumps(['stale.py']), flush=True); open(sys.argv[1], 'w')"
    session = opened([*server(ECHO.replace("flush=True)", more)), str(tmp_path / "stale")], **LINES)
    assert query_session(session, "a", 1, WATCHDOG).hits == (Hit("a.py", 1),)
    wait_until((tmp_path / "stale").exists, "an answer that nobody asked for")
    answer = query_session(session, "b", 1, WATCHDOG)
    assert answer.hits == (Hit("b.py", 1),)
    assert "printed before the query" in answer.notes[0]


def test_lines_answer_that_cannot_be_read_is_an_error_and_the_program_stays(server: Server, opened: Opener) -> None:
    session = opened(server(ECHO), **LINES)
    for code in ("print('{\"results\": ', flush=True)", "print('{\"answer\": 42}', flush=True)"):
        assert query_session(session, "!" + code, 1, WATCHDOG).status == Status.ERROR
    answer = query_session(session, "a", 1, WATCHDOG)
    assert (answer.hits, answer.notes) == ((Hit("a.py", 1),), ())


def test_prompt_reads_all_up_to_the_next_prompt(server: Server, opened: Opener) -> None:
    session = opened(server(SHELL), **PROMPT)
    assert query_session(session, "a", 3, WATCHDOG).hits == (Hit("a.py", 3, 3),)
    many = query_session(session, "!for n in range(2000): print(f'x{n}.py:1')", 3, WATCHDOG)
    assert many.hits == tuple(Hit(f"x{n}.py", 1, 1) for n in range(2000))
    assert query_session(session, "!pass", 3, WATCHDOG).hits == ()


def test_prompt_in_the_middle_of_an_answer_does_not_end_it(server: Server, opened: Opener) -> None:
    session = opened(server(SHELL), **PROMPT)
    answer = query_session(session, "!print('a.py:1\\n> quoted\\nb.py:2')", 3, WATCHDOG)
    assert answer.hits == (Hit("a.py", 1, 1), Hit("b.py", 2, 2))
    assert query_session(session, "c", 3, WATCHDOG).hits == (Hit("c.py", 3, 3),)


def test_prompt_may_be_coloured_and_a_banner_may_look_like_one(server: Server, opened: Opener) -> None:
    source = SHELL.replace(
        "print('welcome', end='\\n> ', flush=True)",
        "print(end='> ', flush=True); time.sleep(0.05); print('ok\\n> \\x1b[0m', end='', flush=True)",
    )
    session = opened(server(source), **PROMPT, ready="^ok$|> ok")
    answer = query_session(session, "a", 3, WATCHDOG)
    assert (answer.hits, answer.notes) == ((Hit("a.py", 3, 3),), ())


HANGING = f"time.sleep({HANG})"
FAILURES = {
    "dies": ("os.abort()", WATCHDOG, Status.CRASH, "was killed by SIGABRT"),
    "exits": (
        "print('bad luck', file=sys.stderr); sys.exit(3)",
        WATCHDOG,
        Status.CRASH,
        "ended with exit code 3: bad luck",
    ),
    "is killed": (
        "print(end='half', flush=True); os.kill(os.getpid(), 9)",
        WATCHDOG,
        Status.CRASH,
        "was killed by SIGKILL",
    ),
    "hangs": (HANGING, 0.1, Status.TIMEOUT, "no answer after 0.1 s"),
    "closes its output": (f"os.close(1); {HANGING}", WATCHDOG, Status.ERROR, "closed its output"),
}


@pytest.mark.parametrize(
    ("mode", "failure"),
    [
        *(("lines", failure) for failure in FAILURES if failure != "closes its output"),
        ("prompt", "dies"),
        pytest.param("lines", "closes its output", marks=pytest.mark.nightly),  # also in test_hostile.py
        pytest.param("prompt", "hangs", marks=pytest.mark.nightly),
    ],
)
def test_failure_costs_one_query_and_the_next_starts_the_program_again(
    server: Server, opened: Opener, mode: str, failure: str
) -> None:
    code, seconds, status, words = FAILURES[failure]
    session = opened(server(ECHO), **LINES) if mode == "lines" else opened(server(SHELL), **PROMPT)
    assert query_session(session, "a", 3, WATCHDOG).status == Status.OK
    answer = query_session(session, "!" + code, 3, seconds)
    assert (answer.status, answer.hits) == (status, ())
    assert words in str(answer.error)
    after = query_session(session, "b", 3, WATCHDOG)
    assert after.hits[0].path == "b.py"
    assert [RESTARTED in note for note in after.notes] == [True]
    assert query_session(session, "c", 3, WATCHDOG).notes == ()


@pytest.mark.parametrize("mode", ["lines", pytest.param("prompt", marks=pytest.mark.nightly)])
def test_answer_of_a_program_that_is_asked_to_end_is_never_read_as_the_next_one(
    server: Server, opened: Opener, mode: str
) -> None:
    session = opened(server(ECHO), **LINES) if mode == "lines" else opened(server(SHELL), **PROMPT)
    late = "print('[\"late.py\"]', flush=True)" if mode == "lines" else "print('late.py\\n> ', flush=True)"
    code = f"signal.signal(signal.SIGTERM, lambda *_: ({late}, os._exit(0)))"
    assert query_session(session, f"!{code}; {HANGING}", 3, 0.1).status == Status.TIMEOUT
    assert query_session(session, "b", 3, WATCHDOG).hits[0].path == "b.py"


def test_program_that_ended_between_queries_is_started_again_without_a_failure(server: Server, opened: Opener) -> None:
    session = opened(server(ECHO), **LINES)
    answer = query_session(session, "!print(json.dumps([str(os.getpid())]), flush=True); sys.exit()", 3, WATCHDOG)
    assert wait_until_gone(int(answer.hits[0].path))
    answer = query_session(session, "b", 1, WATCHDOG)
    assert answer.hits == (Hit("b.py", 1),)
    assert [RESTARTED in note for note in answer.notes] == [True]


def test_program_that_cannot_be_started_again_is_left_alone(server: Server, opened: Opener, tmp_path: Path) -> None:
    once = f"starts = open({str(tmp_path / 'starts')!r}, 'a'); starts.write('x'); starts.close()\n"
    broken = f"if os.path.exists({str(tmp_path / 'broken')!r}): sys.exit('cannot start')\n"
    session = opened(server(once + broken + SHELL), **PROMPT, restarts=2)
    (tmp_path / "broken").touch()
    errors = [query_session(session, "!sys.exit(1)", 3, WATCHDOG).error for _ in range(6)]
    assert (tmp_path / "starts").read_text() == "x" * 3
    assert ["failed 3 times in a row" in str(error) for error in errors] == [False] * 3 + [True] * 3
    assert "cannot start" in str(errors[1])


def test_program_that_answers_between_its_failures_is_started_again_each_time(server: Server, opened: Opener) -> None:
    session = opened(server(ECHO), **LINES, restarts=1)
    for _ in range(3):
        assert query_session(session, "!os.abort()", 3, WATCHDOG).status == Status.CRASH
        assert query_session(session, "a", 3, WATCHDOG).status == Status.OK


def slow_to_start(server: Server, opened: Opener, limit: float, more: str = "") -> TimedSession:
    """Open a program that takes longer to start than a query may take, and lose it."""
    session = opened(server(f"time.sleep({1.5 * limit})\n{more}{SHELL}"), **PROMPT)
    assert query_session(session, "!os.abort()", 3, WATCHDOG).status == Status.CRASH
    return session


def test_restart_is_no_part_of_the_query_and_is_told(server: Server, opened: Opener) -> None:
    def attempt(limit: float) -> QueryOutcome:
        answer = query_session(slow_to_start(server, opened, limit), "b", 3, limit)
        told = re.search(r"\((\d+\.\d) s, not counted\)", "".join(answer.notes))
        assert answer.status != Status.OK or (told is not None and float(told[1]) >= round(1.5 * limit, 1))
        return answer

    # On a busy machine the answer itself may take longer than the limit: then everything is tried ten times slower.
    answer = time_out(attempt, lambda answer: answer.status == Status.OK)
    assert answer.hits == (Hit("b.py", 3, 3),)


def test_restart_is_no_part_of_a_query_that_fails_either(server: Server, opened: Opener, tmp_path: Path) -> None:
    broken = f"if os.path.exists({str(tmp_path / 'broken')!r}): sys.exit('cannot start')\n"

    def attempt(limit: float) -> bool:
        session = slow_to_start(server, opened, limit, broken)
        failed = query_session(session, "!os.abort()", 3, limit)
        (tmp_path / "broken").touch()
        unstarted = query_session(session, "b", 3, limit)
        (tmp_path / "broken").unlink()
        assert "cannot start" in str(unstarted.error)
        # A start takes longer than that alone.
        return failed.status == Status.CRASH and max(failed.seconds, unstarted.seconds) < 1.5 * limit

    assert time_out(attempt, bool)


def test_start_is_awaited_and_timed_apart(server: Server, opened: Opener) -> None:
    usage = session_usage(opened(server("time.sleep(0.1)\n" + SHELL), **PROMPT))
    assert (usage.startup_seconds or 0) >= 0.1
    session = opened(
        server("print('x'); time.sleep(0.1); print('now ready: 3 files', flush=True)\n" + ECHO),
        **LINES,
        ready="^now ready",
    )
    assert (session_usage(session).startup_seconds or 0) >= 0.1
    answer = query_session(session, "a", 1, WATCHDOG)
    assert (answer.hits, answer.notes) == ((Hit("a.py", 1),), ())
    assert session_usage(opened(server(ECHO), **LINES)).startup_seconds is None


def test_program_that_never_gets_ready_is_ended(server: Server, corpus: Corpus, tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    argv = server(f"with open({str(pid)!r}, 'w') as file: print(os.getpid(), file=file)\n{HANGING}")
    engine = make_engine({"kind": "command", "argv": argv, **PROMPT})

    def attempt(limit: float) -> None:
        with pytest.raises(EngineTimeoutError, match="cannot open the engine"):
            open_session(engine, corpus, limit)

    time_out(attempt, lambda _: pids_in(pid, 1))
    assert wait_until_gone(*pids_in(pid, 1))
    failing = make_engine({"kind": "command", "argv": server("sys.exit('no model')"), **PROMPT})
    with pytest.raises(EngineError, match="ended with exit code 1: no model"):
        open_session(failing, corpus, WATCHDOG)


def test_index_is_made_before_the_program_starts(
    server: Server, opened: Opener, corpus_of: Callable[..., Corpus]
) -> None:
    source = "text = open('index.db').read()\nfor line in sys.stdin: print(json.dumps([text]), flush=True)"
    index = [sys.executable, "-c", "open('index.db', 'w').write('built')"]
    session = opened(server(source), corpus_of({"a.py": ""}), **LINES, index=index)
    assert query_session(session, "q", 1, WATCHDOG).hits == (Hit("built"),)


@pytest.mark.parametrize(
    ("update", "expected"),
    [
        ("restart", "1"),
        pytest.param("index", "2", marks=pytest.mark.nightly),
        ([sys.executable, "-c", "open('n', 'w').write('9')"], "9"),
    ],
)
def test_update_starts_the_program_anew(
    server: Server, opened: Opener, corpus_of: Callable[..., Corpus], update: object, expected: str
) -> None:
    source = "text = open('n').read()\nfor line in sys.stdin: print(json.dumps([text, str(os.getpid())]), flush=True)"
    index = [
        sys.executable,
        "-c",
        "import os; n = open('n').read() if os.path.exists('n') else 0; open('n', 'w').write(str(int(n) + 1))",
    ]
    corpus = corpus_of({"a.py": ""})
    session = opened(server(source), corpus, **LINES, index=index, update=update)
    before = query_session(session, "q", 2, WATCHDOG).hits
    answer = update_session(session, corpus, WATCHDOG)
    assert answer is not None
    assert answer.status == Status.OK
    after = query_session(session, "q", 2, WATCHDOG)
    assert [before[0].path, after.hits[0].path] == ["1", expected]
    assert before[1] != after.hits[1]
    assert after.notes == ()


def test_session_without_update_and_filters_has_none(server: Server, opened: Opener) -> None:
    session = opened(server(ECHO), **LINES)
    assert not isinstance(session, UpdatingSession)
    assert isinstance(session, FilteringSession)
    assert session.filters == frozenset()


def test_filters_are_added_to_the_request(server: Server, opened: Opener) -> None:
    source = "for line in sys.stdin: print(json.dumps([json.dumps(json.loads(line)['f'])]), flush=True)"
    session = opened(
        server(source), mode="lines", request={"q": "{query}", "f": {"own": 1}},
        path_filter={"f": {"in": ["{path}"]}}, language_filter={"f": {"lang": "{language}"}},
    )  # fmt: skip
    answer = query_filtered(session, "q", 1, SearchFilter(("src/**", "{k}"), ("python",)), WATCHDOG)
    assert answer is not None
    assert json.loads(answer.hits[0].path) == {"own": 1, "in": ["src/**", "{k}"], "lang": "python"}
    assert json.loads(query_session(session, "q", 1, WATCHDOG).hits[0].path) == {"own": 1}


def test_usage_tells_memory_store_and_complaints(server: Server, opened: Opener) -> None:
    source = "open(sys.argv[1] + '/db', 'wb').write(b'x' * 5000); block = b'x' * 80_000_000\n"
    source += "print('hello', file=sys.stderr)\n"
    session = opened([*server(source + ECHO), "{store}"], **LINES)
    assert query_session(session, "!print('oh no', file=sys.stderr); os.abort()", 1, WATCHDOG).status == Status.CRASH
    assert query_session(session, "a", 1, WATCHDOG).status == Status.OK
    usage = session_usage(session)
    assert usage.store_bytes == 5000
    assert usage.stderr == "[last failure]\nhello\noh no\n[program]\nhello"
    if sys.platform == "linux":
        wait_until(lambda: (session_usage(session).peak_bytes or 0) > 80_000_000, "what it holds to be seen")


def test_close_ends_the_program_and_removes_the_store(server: Server, corpus: Corpus, tmp_path: Path) -> None:
    source = f"open({str(tmp_path / 'facts')!r}, 'w').write(f'{{os.getpid()}} {{sys.argv[1]}}')\n"
    engine = make_engine({"kind": "command", "argv": [*server(source + SHELL), "{store}"], **PROMPT})
    session = open_session(engine, corpus, WATCHDOG).session
    pid, store = (tmp_path / "facts").read_text().split()
    assert Path(store).is_dir()
    assert close_session(session) is None
    assert close_session(session) is None
    assert wait_until_gone(int(pid))
    assert not Path(store).exists()


def test_request_may_name_folders_and_secrets(
    server: Server, opened: Opener, corpus: Corpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN", "s3cret-s3cret")
    source = """
for line in sys.stdin:
    asked = json.loads(line)
    print(asked['t'], file=sys.stderr, flush=True)
    sys.exit(1) if asked['q'] == 'die' else print(json.dumps([asked['r']]), flush=True)
"""
    session = opened(server(source), mode="lines", request={"q": "{query}", "t": "{env:A_TOKEN}", "r": "{root}"})
    assert query_session(session, "a", 1, WATCHDOG).hits == (Hit(str(corpus.root)),)
    error = str(query_session(session, "die", 1, WATCHDOG).error)
    assert error.startswith(f"{sys.executable} ended with exit code 1: *** →")
    assert "s3cret" not in repr(session_usage(session))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"mode": "lines"}, r"`request` has no \{query\}"),
        ({"mode": "lines", "request": {"q": "x"}}, r"`request` has no \{query\}"),
        ({"mode": "lines", "request": "{qurey}"}, r"`request` has no \{query\}"),
        ({"mode": "lines", "request": "a\n{query}"}, "line break"),
        ({**LINES, "format": "text"}, "format"),
        ({**LINES, "format": "jsonl"}, "format"),
        ({**LINES, "pattern": "(?P<path>x)"}, "pattern"),
        ({**LINES, "prompt": "> "}, "`prompt` cannot be used with mode"),
        ({**LINES, "ok_codes": [1]}, "`ok_codes` cannot be used with mode"),
        ({**LINES, "path_filter": "--in={path}"}, "path_filter: expected a table"),
        ({**LINES, "language_filter": "--in={language}"}, "language_filter: expected a table"),
        ({**LINES, "argv": ["x", "{query}"]}, "argv: .*placeholder {query}"),
        ({**LINES, "answer_id": "id"}, "requires {id} in `request`"),
        ({**LINES, "ready": "("}, "ready"),
        ({**LINES, "update": "index"}, "requires `index`"),
        ({"mode": "prompt"}, "requires `prompt`"),
        ({"mode": "prompt", "prompt": "x*"}, "matches the empty string"),
        ({"mode": "prompt", "prompt": "["}, "prompt"),
        ({**PROMPT, "request": "find"}, "no {query}"),
        ({**PROMPT, "answer_id": "id"}, "`answer_id` cannot be used with mode"),
        ({"argv": ["x", "{query}"], "prompt": "> "}, "`prompt` cannot be used with mode"),
        ({"argv": ["x", "{query}"], "request": "{query}"}, "`request` cannot be used with mode"),
        ({"argv": ["x", "{query}"], "ready": "x"}, "`ready` cannot be used with mode"),
        ({"argv": ["x", "{query}"], "restarts": 1}, "`restarts` cannot be used with mode"),
        ({**LINES, "restarts": -1}, "restarts: expected at least 0, got -1"),
        ({"argv": ["x", "{query}"], "update": "restart"}, "restart"),
        ({"argv": ["x", "{query}"], "mode": "twice"}, "mode"),
    ],
)
def test_settings_without_effect_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        make_engine({"kind": "command", "argv": ["x"], **settings})
    assert caught.value.hint or "expected" in caught.value.message


def test_configuration_shows_how_the_program_is_talked_to() -> None:
    base = {"kind": "command", "argv": ["t"], **LINES}
    changes: list[dict[str, object]] = [
        {"request": {"q": "{query}"}}, {"request": "{query}"}, {"ready": "x"},
        {"request": {"q": "{query}", "id": "{id}"}}, {"request": {"q": "{query}", "id": "{id}"}, "answer_id": "id"},
        {**PROMPT}, {**PROMPT, "prompt": "$ "}, {"git": True},
    ]  # fmt: skip
    configs = [repr(make_engine({**base, **change}).config) for change in ({}, *changes)]
    assert len(set(configs)) == len(configs)


@pytest.mark.parametrize(
    ("settings", "awaited"),
    [
        ({**PROMPT, "prompt": "^find: "}, "prompt '^find: '"),
        pytest.param({**PROMPT, "ready": "^Indexed"}, "ready '^Indexed'", marks=pytest.mark.nightly),
        ({**LINES, "ready": "^READY"}, "ready '^READY'"),
    ],
)
def test_marker_that_never_comes_is_told_with_what_was_printed(
    server: Server, corpus: Corpus, settings: dict[str, object], awaited: str
) -> None:
    argv = server("print(end='Welcome\\nfind> ', flush=True); sys.stdin.read()")

    def attempt(limit: float) -> tuple[float, EngineTimeoutError]:
        engine = make_engine({"kind": "command", "argv": argv, "startup_timeout": limit, **settings})
        with pytest.raises(EngineTimeoutError) as caught:
            open_session(engine, corpus, WATCHDOG)
        return limit, caught.value

    limit, problem = time_out(attempt, lambda outcome: "got 'Welcome" in outcome[1].message)
    assert f"is not ready after {limit:g} s: expected {awaited}, got 'Welcome\\nfind> '" in problem.message
    assert problem.hint == f"correct `{awaited.split()[0]}`, or raise `startup_timeout`"


def test_marker_that_never_comes_within_the_time_of_the_run_names_that(server: Server, corpus: Corpus) -> None:
    engine = make_engine({"kind": "command", "argv": server("sys.stdin.read()"), **PROMPT})
    with pytest.raises(EngineTimeoutError, match="expected prompt '\\^> ', got no output") as caught:
        open_session(engine, corpus, 0.1)
    assert str(caught.value.hint).endswith("or raise `index_timeout`")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"argv": ["t", "{query}"], "startup_timeout": 5.0}, "`startup_timeout` cannot be used with mode"),
        ({"argv": ["t"], **LINES, "startup_timeout": 5.0}, "`startup_timeout` requires `ready`"),
        ({"argv": ["t"], **PROMPT, "startup_timeout": 0.0}, "startup_timeout: expected more than 0, got 0"),
    ],
)
def test_startup_timeout_without_a_meaning_is_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ConfigError, match=words):
        make_engine({"kind": "command", **settings})


def test_program_of_a_tool_is_named_by_the_tool(
    server: Server, corpus: Corpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "my-tool"
    tool.write_text(f"#!{sys.executable}\n")
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    argv = ["{python:my-tool}", *server("sys.exit(3)")[1:], "{root}/src"]
    with pytest.raises(EngineError, match="^my-tool ended with exit code 3") as caught:
        open_session(make_engine({"kind": "command", "argv": argv, **PROMPT}), corpus, WATCHDOG)
    assert str(caught.value.hint).endswith("server.py ./src")
    assert str(corpus.root) not in str(caught.value.hint)


def test_prompt_that_takes_for_ever_is_given_up_and_flags_inside_apply(server: Server, opened: Opener) -> None:
    session = opened(server(SHELL), mode="prompt", format="text", prompt=r"^(?:a|aa)+b|^> ", ready="(?i)WELCOME")
    failed = query_session(session, "!print('a' * 5000)", 3, WATCHDOG)
    assert failed.status == Status.ERROR
    assert "prompt: the regular expression" in str(failed.error)
    assert query_session(session, "a", 3, WATCHDOG).hits == (Hit("a.py", 3, 3),)
