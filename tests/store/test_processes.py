"""Many processes on one store, some of them killed: nobody ever reads what was not made."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from assay.store.kinds import StoreLimits
from assay.store.store import Store
from tests.store.working import KEYS, check, put
from tests.waiting import wait_until


@contextmanager
def program(*arguments):
    command = [sys.executable, "-m", "tests.store.working", *map(str, arguments)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def check_after_kill(root):
    """Make and read everything, then prune to nothing."""
    with Store(root) as artefacts:
        for key in KEYS:
            check(artefacts, key)
        assert artefacts.troubles == []
    Store(root, StoreLimits(leftover=0.0)).prune(0)
    assert not any(root.glob("tables/*/*"))
    assert not any((root / ".tmp").iterdir())
    assert not any((root / ".locks").iterdir())


def unfinished(root):
    return [folder for folder in root.glob("tables/*/*") if not (folder / "finished").exists()]


def wait_for(there, started):
    """Wait for something while a program runs."""
    wait_until(lambda: started.poll() is not None or there(), "the program")
    assert started.poll() is None, started.stderr.read()


def test_killed_maker_leaves_nothing_that_is_trusted(tmp_path):
    root, note = tmp_path / "store", tmp_path / "half-made"
    with program("stall", root, note) as started:
        wait_for(note.exists, started)
        started.send_signal(signal.SIGKILL)
        started.wait()
    assert len(unfinished(root)) == 1
    check_after_kill(root)


@pytest.mark.soak
def test_killed_maker_leaves_nothing_that_is_trusted_many_times(tmp_path):
    draw = random.Random(50)
    half_made = 0
    for seed in range(50):
        with program("obtain", tmp_path, seed) as started:
            wait_for(lambda: any(tmp_path.glob("tables/*/*")), started)
            time.sleep(draw.uniform(0.0, 0.1))
            assert started.poll() is None, started.stderr.read()
            started.send_signal(signal.SIGKILL)
            started.wait()
        half_made += len(unfinished(tmp_path))
        check_after_kill(tmp_path)
    assert half_made > 0, "no kill came in the middle of a folder"


@pytest.mark.parametrize("rounds", [20, pytest.param(500, marks=pytest.mark.soak)])
def test_makers_readers_and_a_pruner_never_meet_half_a_folder(tmp_path, rounds):
    with (
        program("obtain", tmp_path, 1) as one,
        program("obtain", tmp_path, 2) as other,
        program("prune", tmp_path) as pruner,
    ):
        draw = random.Random(3)
        for _ in range(rounds):
            with Store(tmp_path) as artefacts:
                check(artefacts, draw.choice(KEYS))
                assert artefacts.troubles == []
        for started in (one, other, pruner):
            assert started.poll() is None, started.stderr.read()


def test_pruner_takes_nothing_that_is_held(tmp_path):
    artefacts = Store(tmp_path)
    folder = artefacts.directory("tables", "held", put("a", b"a"))
    with program("prune", tmp_path) as pruner:
        Store(tmp_path).put("cells", "goes", b"x")
        wait_for(lambda: not artefacts.has("cells", "goes"), pruner)
        assert (folder / "a").read_text() == "a"
        artefacts.close()
        wait_for(lambda: not folder.exists(), pruner)


@pytest.mark.parametrize("times", [200, pytest.param(5_000, marks=pytest.mark.soak)])
def test_small_things_are_whole_or_absent_between_processes(tmp_path, times):
    programs = [("cells", tmp_path, seed, times) for seed in range(2)]
    with program(*programs[0]) as one, program(*programs[1]) as other, program("prune", tmp_path):
        for started in (one, other):
            assert started.wait(600) == 0, started.stderr.read()


@pytest.mark.filterwarnings("ignore:.*fork")
def test_forked_child_holds_nothing_and_closes_nothing_of_its_parents(tmp_path):
    store = Store(tmp_path)
    folder = store.directory("tables", "a", put("a", b"a"))
    child = os.fork()
    if not child:
        status = 1
        try:
            read = os.pipe()[0]  # takes the number that was closed after the fork
            store.close()
            os.fstat(read)
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(child, 0)[1] == 0
    assert Store(tmp_path).prune(0).held == 1
    assert (folder / "a").exists()


def test_folder_is_made_once_and_others_wait(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from assay.store.store import Store\n"
        "place = Path(sys.argv[1]); (place / f'started-{sys.argv[2]}').touch()\n"
        "def make(folder):\n"
        "    while len(list(place.glob('started-*'))) < 3: time.sleep(0.01)\n"
        "    with open(place / 'log', 'a') as log: log.write('made\\n')\n"
        "    (folder / 'a').write_text('a')\n"
        "assert (Store(place / 'store').directory('tables', 'k', make) / 'a').read_text() == 'a'"
    )
    started = [subprocess.Popen([sys.executable, "-c", code, tmp_path, str(number)]) for number in range(3)]
    assert [one.wait(600) for one in started] == [0, 0, 0]
    assert (tmp_path / "log").read_text() == "made\n"
