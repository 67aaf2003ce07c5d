"""Many processes on one store, some of them killed: nobody ever reads what was not made."""

import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from assay.artefacts import Artefacts, Limits
from tests.artefacts.working import KEYS, check, put


@contextmanager
def program(*arguments):
    command = [sys.executable, "-m", "tests.artefacts.working", *map(str, arguments)]
    started = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        yield started
    finally:
        started.kill()
        started.communicate()


def kill_again_and_again(root, times):
    draw = random.Random(times)
    half_made = 0
    for seed in range(times):
        with program("obtain", root, seed) as started:
            wait_for(lambda: any(root.glob("folders/*/*")), started)
            time.sleep(draw.uniform(0.0, 0.1))
            assert started.poll() is None, started.stderr.read()
            started.send_signal(signal.SIGKILL)
            started.wait()
        half_made += sum(not (folder / "finished").exists() for folder in root.glob("folders/*/*"))
        with Artefacts(root) as artefacts:
            for key in KEYS:
                check(artefacts, key)
            assert artefacts.troubles == []
        Artefacts(root, Limits(leftover=0.0)).prune(0)
        assert not any(root.glob("folders/*/*"))
        assert not any((root / ".tmp").iterdir())
        assert not any((root / ".locks").iterdir())
    assert half_made > 0, "no kill came in the middle of a folder"


def wait_for(there, started):
    end = time.monotonic() + 30
    while not there():
        assert started.poll() is None, started.stderr.read()
        assert time.monotonic() < end
        time.sleep(0.002)


def test_killed_maker_leaves_nothing_that_is_trusted(tmp_path):
    kill_again_and_again(tmp_path, 5)


@pytest.mark.soak
def test_killed_maker_leaves_nothing_that_is_trusted_many_times(tmp_path):
    kill_again_and_again(tmp_path, 50)


def test_makers_readers_and_a_pruner_never_meet_half_a_folder(tmp_path):
    with (
        program("obtain", tmp_path, 1) as one,
        program("obtain", tmp_path, 2) as other,
        program("prune", tmp_path) as pruner,
    ):
        end = time.monotonic() + 1.5
        draw = random.Random(3)
        while time.monotonic() < end:
            with Artefacts(tmp_path) as artefacts:
                check(artefacts, draw.choice(KEYS))
                assert artefacts.troubles == []
        for started in (one, other, pruner):
            assert started.poll() is None, started.stderr.read()


def test_pruner_takes_nothing_that_is_held(tmp_path):
    artefacts = Artefacts(tmp_path)
    folder = artefacts.obtain("folders", "held", put("a", b"a"))
    with program("prune", tmp_path) as pruner:
        wait_for(lambda: True, pruner)
        Artefacts(tmp_path).write("cells", "goes", b"x")
        wait_for(lambda: not artefacts.has("cells", "goes"), pruner)
        assert (folder / "a").read_text() == "a"
        artefacts.close()
        wait_for(lambda: not folder.exists(), pruner)


def test_small_things_are_whole_or_absent_between_processes(tmp_path):
    programs = [("cells", tmp_path, seed, 1_000) for seed in range(3)]
    with program(*programs[0]) as a, program(*programs[1]) as b, program(*programs[2]) as c, program("prune", tmp_path):
        for started in (a, b, c):
            assert started.wait(60) == 0, started.stderr.read()


def test_forked_child_holds_nothing_and_closes_nothing_of_its_parents(tmp_path):
    store = Artefacts(tmp_path)
    folder = store.obtain("folders", "a", put("a", b"a"))
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
    assert Artefacts(tmp_path).prune(0).held == 1
    assert (folder / "a").exists()


def test_folder_is_made_once_and_others_wait(tmp_path):
    code = (
        "import sys, time; from pathlib import Path; from assay.artefacts import Artefacts\n"
        "def make(folder):\n"
        "    with open(sys.argv[2], 'a') as log: log.write('made\\n')\n"
        "    time.sleep(0.3); (folder / 'a').write_text('a')\n"
        "assert (Artefacts(Path(sys.argv[1])).obtain('k', 'k', make) / 'a').read_text() == 'a'"
    )
    command = [sys.executable, "-c", code, tmp_path / "store", tmp_path / "log"]
    started = [subprocess.Popen(command) for _ in range(4)]
    assert [one.wait(60) for one in started] == [0, 0, 0, 0]
    assert (tmp_path / "log").read_text() == "made\n"
