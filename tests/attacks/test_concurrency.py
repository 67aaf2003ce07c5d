"""Many processes on one index, one cache and one folder of results."""

from __future__ import annotations

import os
import random
import shutil
import signal
import socket
import stat
import subprocess
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from tests.attacks.outside import PATIENCE, Attack, World, results
from tests.attacks.test_kills import RUN, ask

SECONDS = int(os.environ.get("ASSAY_SECONDS", "30"))


def test_four_writers_and_four_readers_on_one_index_while_files_change(world: World, attack: Attack) -> None:
    states = ["def total(): ...\n", "class Items:\n    pass\n", "total = of = items = 1\n" * 50]
    changing = world.repo / "shop" / "changing.py"
    until = time.monotonic() + SECONDS
    lock = threading.Lock()

    def work(command: tuple[str, ...]) -> None:
        while time.monotonic() < until:
            done = world.assay(*command, fork=False)
            with lock:
                attack.expect(done.code == 0 and done.sound, f"{command}: {done}")

    commands = [("index", "--workers", "2")] * 3 + [("index", "--rebuild")]
    commands += [("search", "total items", "--json")] * 4
    threads = [threading.Thread(target=work, args=(command,)) for command in commands]
    for thread in threads:
        thread.start()
    draw = random.Random(1)
    while any(thread.is_alive() for thread in threads):
        what = draw.random()
        if what < 0.2:
            changing.unlink(missing_ok=True)
        else:
            fresh = world.base / "fresh"
            fresh.write_text(draw.choice(states))
            fresh.replace(changing)
        time.sleep(draw.uniform(0, 0.05))
    answer = ask(world)
    world.assay("index", "--rebuild")
    attack.expect(ask(world) == answer, "the index differs from a rebuilt one")


def test_four_runs_into_one_folder(world: World, attack: Attack) -> None:
    assert world.assay(*RUN).code == 0
    whole = results(world)
    for number in range(max(SECONDS // 6, 2)):
        if number % 2:
            for path in sorted((world.base / "cache").rglob("*"), reverse=True):
                if path.is_file():
                    path.unlink()
        processes = [world.start(*RUN, stderr=subprocess.PIPE) for _ in range(4)]
        for process in processes:
            _, err = process.communicate(timeout=600 * PATIENCE)
            sound = process.returncode == 0 or (
                process.returncode < 5 and b"error: " in err and b"Traceback" not in err
            )
            attack.expect(sound, f"exit {process.returncode}: {err.decode()}")
        attack.expect(results(world) == whole, "the results differ")


def test_files_that_change_their_type_during_a_walk_and_a_copy(world: World, attack: Attack) -> None:
    places = [world.repo / "swap" / f"{name}.py" for name in "abcdef"] + [world.repo / "swap" / name for name in "gh"]
    outside = world.base / "outside"
    outside.mkdir()
    (outside / "x.py").write_text("TOP_SECRET = 1\n")
    places[0].parent.mkdir()
    going = True

    def fill(place: Path) -> None:
        place.mkdir()
        (place / "x.py").write_text("y = 2\n")

    def bind(place: Path) -> None:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(os.path.relpath(place))

    def swap() -> None:
        draw = random.Random(2)
        makers: list[Callable[[Path], object]] = [
            lambda place: place.write_text("x = 1\n" * draw.randint(1, 50)), os.mkfifo, Path.mkdir,
            lambda place: place.symlink_to("/dev/zero"), lambda place: place.symlink_to("."),
            lambda place: place.symlink_to(places[0]), lambda place: place.symlink_to(outside), lambda place: None,
            fill, bind, lambda place: os.mknod(place, stat.S_IFCHR | 0o666, os.makedev(1, 5)),  # as /dev/zero
        ]  # fmt: skip
        while going:
            place = draw.choice(places)
            with suppress(OSError):
                shutil.rmtree(place) if place.is_dir() and not place.is_symlink() else place.unlink(missing_ok=True)
            with suppress(OSError):
                draw.choice(makers)(place)
            time.sleep(0.0005)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        copying = (
            "run",
            "--gold",
            "gold.yaml",
            "-q",
            "--engine",
            "mine=command:cat {root}/swap/a.py {root}/swap/g/x.py",
        )
        for command in (("index", "--json"), RUN, copying) * max(SECONDS // 5, 4):
            done = world.assay(*command, timeout=120)
            changed = command[0] == "run" and done.refused  # a run says that its corpus changed
            attack.expect(done.code == 0 or changed or (done.refused and "cannot read" in done.err), done)
            attack.expect("TOP_SECRET" not in done.out + done.err, done)
    finally:
        going = False
        thread.join()


def test_interrupt_and_closed_pipes(world: World, attack: Attack) -> None:
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        for seconds in (0.1, 0.5, 1.5):
            with world.start(*RUN, stderr=subprocess.PIPE) as process:
                time.sleep(seconds)
                os.killpg(process.pid, signum)
                _, err = process.communicate(timeout=120 * PATIENCE)
            early = process.returncode == -signum  # before Python has begun
            sound = b"Traceback" not in err or b"/assay/" not in err  # Python itself may be interrupted first
            attack.expect(early or (process.returncode in (0, 128 + signum) and sound), f"{signum}: {err.decode()}")
    for command in ("search total --all", "run --help", "gold lint gold.yaml", "engines"):
        done = subprocess.run(
            ["bash", "-c", f"{subprocess.list2cmdline(['exec', 'python', '-m', 'assay'])} {command} | head -c 1"],
            cwd=world.repo, env=world.env(), capture_output=True, text=True, timeout=300 * PATIENCE, check=False,
        )  # fmt: skip
        attack.expect("Traceback" not in done.stderr and "Exception ignored" not in done.stderr, done.stderr)
