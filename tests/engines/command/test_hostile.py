"""Programs that do what they must not, in every mode: each is contained, nothing stays, and the next query works."""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from assay.engines.calls import close_session, query_session, session_usage
from assay.engines.normalize import Normalizer
from assay.processes.running import ANSWER_BYTES
from assay.types import Corpus, Hit, Status
from tests.engines.command.conftest import Opener
from tests.processes import HANG, time_out, wait_until_gone
from tests.waiting import WATCHDOG

Server = Callable[[str], list[str]]

#: One program for all modes: asked `!code` it runs the code in the place of an answer, else it names a file.
PROGRAM = """
mode, pids = sys.argv[1], open(sys.argv[2], 'a')
def keep(pid):
    pids.write(f'{pid} ')
    pids.flush()
def say(hits):
    print(json.dumps(hits), flush=True)
def answer(asked):
    exec(asked[1:], globals()) if asked.startswith('!') else say([asked + '.py'])
keep(os.getpid())
if mode == 'once':
    answer(sys.argv[3])
elif mode == 'prompt':
    print(end='> ', flush=True)
    for line in sys.stdin:
        answer(line.rstrip('\\n'))
        print(end='> ', flush=True)
else:
    for line in sys.stdin:
        answer(json.loads(line)['q'])
"""
#: A prompt and lines are read by the same code: what differs is tested with the conversation.
MODES = ("once", "lines", pytest.param("prompt", marks=pytest.mark.nightly))
HANGING = f"time.sleep({HANG})"
#: For what a program does to its processes rather than to its answers: modes contain it by the same code.
IN_ONE_MODE = pytest.mark.parametrize(
    "victim", ["once", *(pytest.param(mode, marks=pytest.mark.nightly) for mode in ("lines", "prompt"))], indirect=True
)


class Victim:
    """A session with a hostile program, and the processes that it started."""

    def __init__(self, mode: str, server: Server, opened: Opener, folder: Path) -> None:
        self.mode = mode
        self.stuck = folder / "stuck"
        self._pids = folder / "pids"
        argv = [*server(PROGRAM), mode, str(self._pids)]
        talk: dict[str, dict[str, object]] = {
            "once": {},
            "lines": {"request": {"q": "{query}"}},
            "prompt": {"prompt": "^> "},
        }
        self.session = opened([*argv, "{query}"] if mode == "once" else argv, mode=mode, **talk[mode])

    def goes_on(self) -> None:
        """See that the next query is answered, and that after the end nothing runs."""
        assert query_session(self.session, "next", 1, WATCHDOG).hits == (Hit("next.py"),)
        assert close_session(self.session) is None
        pids = [int(pid) for pid in self._pids.read_text().split()]
        assert pids
        assert all(wait_until_gone(pid) for pid in pids)


@pytest.fixture(params=MODES)
def victim(request: pytest.FixtureRequest, server: Server, opened: Opener, tmp_path: Path) -> Victim:
    """A session in each of the modes."""
    return Victim(str(request.param), server, opened, tmp_path)


def test_hang_is_a_timeout(victim: Victim) -> None:
    assert query_session(victim.session, "!" + HANGING, 1, 0.1).status == Status.TIMEOUT
    victim.goes_on()


@IN_ONE_MODE
def test_hang_that_ignores_the_request_to_end_is_killed_with_its_children(victim: Victim) -> None:
    code = "signal.signal(signal.SIGTERM, signal.SIG_IGN); "
    code += f"keep(subprocess.Popen(['sh', '-c', 'trap \"\" TERM; sleep {HANG}; sleep {HANG}']).pid); "
    code += f"open({str(victim.stuck)!r}, 'w'); {HANGING}"
    stuck = victim.stuck
    answer = time_out(lambda limit: query_session(victim.session, "!" + code, 1, limit), lambda _: stuck.exists())
    assert answer.status == Status.TIMEOUT
    victim.goes_on()


def flood(victim: Victim, newline: str) -> None:
    """Let it print without end, and see that it was stopped."""
    code = f"block = 'x' * 999_999 + '{newline}'; count = open({str(victim.stuck)!r}, 'wb', 0)\n"
    code += "while True: sys.stdout.write(block); count.write(b'x')"
    answer = query_session(victim.session, f"!exec({code!r})", 1, WATCHDOG)
    assert answer.status == Status.ERROR
    assert "printed more than 32,000,000 bytes" in str(answer.error)


@pytest.mark.parametrize(
    ("victim", "newline"),
    [
        ("once", ""),
        ("lines", "\\n"),
        *(
            pytest.param(mode, newline, marks=pytest.mark.nightly)
            for mode, newline in (("once", "\\n"), ("lines", ""), ("prompt", ""), ("prompt", "\\n"))
        ),
    ],
    indirect=["victim"],
)
def test_flood_is_stopped_early(victim: Victim, newline: str) -> None:
    flood(victim, newline)
    assert victim.stuck.stat().st_size < 40  # millions: the limit, and what pipes and buffers hold
    victim.goes_on()


@pytest.mark.soak
@pytest.mark.parametrize("newline", ["", "\\n"])
def test_flood_is_not_held(victim: Victim, newline: str) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    flood(victim, newline)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * (1024 if sys.platform == "linux" else 1)
    assert grown / ANSWER_BYTES < 5
    victim.goes_on()


def test_death_midway_is_a_crash(victim: Victim) -> None:
    code = "print(end='[{\"path\": \"README.md\"}', flush=True); print('oh', file=sys.stderr, flush=True); os.abort()"
    answer = query_session(victim.session, "!" + code, 1, WATCHDOG)
    assert (answer.status, answer.hits) == (Status.CRASH, ())
    assert "SIGABRT: oh" in str(answer.error)
    assert "oh" in session_usage(victim.session).stderr
    victim.goes_on()


def test_colours_and_progress_among_the_answer_are_left_out_and_told(victim: Victim) -> None:
    code = "print('Loading \\x1b[32mmodel\\x1b[0m'); print(end='10%\\r'); print(end='100%\\r'); "
    code += (
        "print('\\x1b[1m' + json.dumps([{'path': '\\x1b[31mREADME.md\\x1b[0m', 'line': 1}]) + '\\x1b[0m', flush=True)"
    )
    answer = query_session(victim.session, "!" + code, 1, WATCHDOG)
    assert (answer.status, answer.hits) == (Status.OK, (Hit("README.md", 1),))
    assert any("ignored" in note for note in answer.notes)
    victim.goes_on()


def test_paths_outside_the_corpus_are_kept_as_they_are_and_told(victim: Victim, corpus: Corpus) -> None:
    outside = ["../../etc/passwd", "/etc/passwd", "json/../../x.py", "README.md"]
    answer = query_session(victim.session, f"!say({outside!r})", 4, WATCHDOG)
    cleaned = Normalizer(corpus)(answer.hits, 4)
    assert [hit.path for hit in cleaned.hits] == ["../../etc/passwd", "/etc/passwd", "json/../../x.py", "README.md"]
    assert cleaned.notes == ("3 of 4 paths not in the corpus, e.g. ../../etc/passwd",)
    victim.goes_on()


def test_ten_thousand_results_are_cut_to_what_was_asked_for(victim: Victim, corpus: Corpus) -> None:
    code = "say([{'path': 'README.md', 'line': 1, 'text': 'x' * 500}] * 10_000)"
    answer = query_session(victim.session, "!" + code, 3, WATCHDOG)
    assert len(answer.hits) == 10_000
    cleaned = Normalizer(corpus)(answer.hits, 3)
    assert len(cleaned.hits) == 3
    assert any("expected at most 3 results, got 10000" in note for note in cleaned.notes)
    victim.goes_on()


def test_closed_pipe_is_noticed(victim: Victim) -> None:
    seconds, status = (0.1, Status.TIMEOUT) if victim.mode == "once" else (WATCHDOG, Status.ERROR)
    code = f"sys.stdout.flush(); os.close(1); os.close(2); {HANGING}"
    assert query_session(victim.session, "!" + code, 1, seconds).status == status
    victim.goes_on()


def test_input_that_is_not_read_is_a_timeout(server: Server, opened: Opener, tmp_path: Path) -> None:
    victim = Victim("lines", server, opened, tmp_path)
    victim.session.search_within(f"!say([]); {HANGING}", 1, WATCHDOG)
    assert query_session(victim.session, "x" * 3_000_000, 1, 0.1).status == Status.TIMEOUT
    victim.goes_on()


@pytest.mark.parametrize(
    ("victim", "leaves"),
    [
        ("once", True),
        ("lines", False),
        *(
            pytest.param(mode, leaves, marks=pytest.mark.nightly)
            for mode, leaves in (("once", False), ("lines", True), ("prompt", False), ("prompt", True))
        ),
    ],
    indirect=["victim"],
)
def test_daemon_that_keeps_the_pipe_is_ended(victim: Victim, leaves: bool) -> None:
    if leaves and sys.platform != "linux":
        pytest.skip("LOUD: who holds a pipe is known on Linux only")
    code = f"keep(subprocess.Popen(['sleep', '{HANG}'], start_new_session={leaves}).pid); say(['README.md'])"
    assert query_session(victim.session, "!" + code, 1, WATCHDOG).hits == (Hit("README.md"),)
    victim.goes_on()


@IN_ONE_MODE
def test_death_that_leaves_a_daemon_with_the_pipe_is_noticed(victim: Victim) -> None:
    leaving = "start_new_session=sys.platform == 'linux'"
    code = f"keep(subprocess.Popen(['sleep', '{HANG}'], {leaving}).pid); os.kill(os.getpid(), 9)"
    assert query_session(victim.session, "!" + code, 1, WATCHDOG).status == Status.CRASH
    victim.goes_on()


def test_flood_on_stderr_blocks_nothing(victim: Victim) -> None:
    code = "[sys.stderr.write('y' * 100_000) for _ in range(100)]; say(['README.md'])"
    assert query_session(victim.session, "!" + code, 1, WATCHDOG).hits == (Hit("README.md"),)
    victim.goes_on()
