"""What attacks use: a repository with a gold set, and `assay` as a process.

Most processes are forked from this one after it has imported Assay, because the imports take most of a short command.
"""

from __future__ import annotations

import atexit
import json
import os
import pkgutil
import random
import resource
import signal
import subprocess
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any, Final

import assay
from tests.conftest import SHOP, write_tree
from tests.waiting import WATCHDOG

#: Kills of each command; ASSAY_KILLS sets another number.
KILLS: Final = int(os.environ.get("ASSAY_KILLS", "100"))
ASSAY: Final = [sys.executable, "-m", "assay"]
#: Factor of all time limits: they end processes that hang, also on a machine with ten times too much to do.
PATIENCE: Final = 6
#: Exit codes that are documented; 130 and 141: interrupted, closed pipe.
CODES: Final = frozenset({0, 1, 2, 3, 4, 5, 130, 141})


@dataclass
class Attack:
    tries: int = 0
    failures: list[str] = field(default_factory=list)

    def expect(self, holds: object, message: object) -> None:
        """Count a try, and a failure if it did not end as it should."""
        self.tries += 1
        if not holds:
            self.failures.append(str(message)[:2_000])


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str
    seconds: float = 0.0  # of processor time, with child processes

    @property
    def sound(self) -> bool:
        """Whether it ended in time, with a documented exit code and without a traceback."""
        return self.code in CODES and "Traceback" not in self.out + self.err

    @property
    def refused(self) -> bool:
        return self.sound and self.code != 0 and "error: " in self.err

    def __str__(self) -> str:
        return f"exit {self.code}: {self.err[-1_000:]} {self.out[-300:]}"


@dataclass(frozen=True)
class World:
    base: Path

    @property
    def repo(self) -> Path:
        return self.base / "repo"

    def env(self, **variables: str | None) -> dict[str, str]:
        usual = {
            **os.environ, "HOME": str(self.base / "home"), "ASSAY_CACHE_DIR": str(self.base / "cache"), "NO_COLOR": "1",
            "SOURCE_DATE_EPOCH": "1700000000", "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "a",
            "GIT_AUTHOR_EMAIL": "a@b.c", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b.c",
        }  # fmt: skip
        for name, value in variables.items():
            usual.pop(name, None)
            if value is not None:
                usual[name] = value
        return usual

    def start(self, *arguments: str, fork: bool = False, **options: Any) -> subprocess.Popen[bytes]:
        """Start `assay` in a session of its own."""
        settings = {"cwd": self.repo, "env": self.env(), "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        if fork:
            options["preexec_fn"] = _command(arguments, options.get("env", settings["env"]))
        return subprocess.Popen([*ASSAY, *arguments], start_new_session=True, **{**settings, **options})

    def assay(
        self,
        *arguments: str,
        cwd: Path | None = None,
        timeout: float = WATCHDOG,
        env: Mapping[str, str] | None = None,
        wrap: Sequence[str] = (),
        fork: bool = True,
        **options: Any,
    ) -> Done:
        """Run `assay` to its end; a process that does not end in time has the code -9."""
        if fork and not wrap:
            options["preexec_fn"] = _command(arguments, self.env() if env is None else env)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        with subprocess.Popen(
            [*wrap, *ASSAY, *arguments],
            cwd=cwd or self.repo,
            env=self.env() if env is None else env,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            **options,
        ) as process:
            try:
                out, err = process.communicate(timeout=PATIENCE * timeout)
            except subprocess.TimeoutExpired:
                end(process)
                out, err = process.communicate()
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Done(process.returncode, out.decode("utf-8", "replace"), err.decode("utf-8", "replace"), seconds)

    def git(self, *arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=self.repo, env=self.env(), check=True, capture_output=True, text=True
        )
        return done.stdout.strip()


@cache
def _preload() -> None:
    for module in pkgutil.walk_packages(assay.__path__, "assay."):
        if not module.name.startswith(("assay.__main__", "assay.agent", "assay.training", "assay.web")):
            with suppress(ImportError):
                import_module(module.name)


def _command(arguments: Sequence[str], environment: Mapping[str, str]) -> Callable[[], None]:
    """Return what a forked process does instead of starting a program."""
    _preload()

    def run() -> None:
        code: object = 4
        try:
            os.closerange(3, 1_024)  # also the pipe on which Popen waits for the program
            atexit._clear()
            signal.signal(signal.SIGPIPE, signal.SIG_IGN)
            warnings.resetwarnings()
            warnings.simplefilter("ignore")
            os.environ.clear()
            os.environ.update(environment)
            sys.argv = ["assay", *arguments]
            sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, "w" if n else "r", encoding="utf-8") for n in range(3))
            sys.stderr.reconfigure(errors="backslashreplace")
            from assay.cli.main import main

            code = main(list(arguments))
        except SystemExit as error:
            code = error.code
        except BaseException:
            traceback.print_exc()
        finally:
            with suppress(BaseException):
                atexit._run_exitfuncs()
                sys.stdout.flush()
                sys.stderr.flush()
            os._exit(code if isinstance(code, int) else 0 if code is None else 1)

    return run


def make_world(base: Path, files: Mapping[str, str] = SHOP) -> World:
    world = World(base)
    (base / "home").mkdir(parents=True)
    write_tree(world.repo, files)
    world.git("init", "-q")
    world.git("add", "-A")
    world.git("commit", "-qm", "first")
    return world


def end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process and everything in its session."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


def marked(mark: str) -> list[str]:
    """Return the command lines of the processes with a mark in their environment."""
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if mark.encode() in (place / "environ").read_bytes() and int(place.name) != os.getpid():
                found.append((place / "cmdline").read_bytes().decode("utf-8", "replace"))
    return found


def wait_until(holds: Callable[[], bool], seconds: float = WATCHDOG) -> bool:
    end = time.monotonic() + seconds
    while not (held := holds()) and time.monotonic() < end:
        time.sleep(0.05)
    return held


def kill_often(
    world: World,
    attack: Attack,
    command: Sequence[str],
    prepare: Callable[[int], object],
    check: Callable[[], object],
    times: int = KILLS,
) -> None:
    """Kill a command at random instants of its duration; `check` returns a problem, or None."""
    durations = []
    for number in (-2, -1):
        prepare(number)
        begin = time.monotonic()
        done = world.assay(*command)
        durations.append(time.monotonic() - begin)
        assert done.code == 0, done
    draw, killed, expected = random.Random(str(command)), 0, min(durations)
    for number in range(times):
        prepare(number)
        with world.start(*command, fork=True) as process:
            time.sleep(draw.uniform(0.1, 1.1) * expected)
            alive = process.poll() is None
            end(process)
        killed += alive
        expected *= 1.03 if alive else 0.8  # the load of the machine changes
        problem = check()
        attack.expect(problem is None, f"{command} {number}: {problem}")
    assert killed > times // 4, f"only {killed} of {times} processes were killed before their end"


def tree(folder: Path, *without: str) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name not in without and ".git" not in path.parts
    }


def results(world: World, name: str = "results") -> dict[str, bytes]:
    """Return the files of a run that are the same in every run."""
    return tree(world.repo / name, "timings.json", ".lock")


@contextmanager
def serving(world: World, *arguments: str) -> Iterator[str]:
    """Start a server and give the address that it prints."""
    with world.start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            assert process.stdout
            said = b""
            while b"http://" not in said:
                line = process.stdout.readline()
                assert line, said
                said += line
            yield next(word for word in said.decode().split() if word.startswith("http://"))
            assert process.poll() is None, "the server ended"
        finally:
            end(process)


class Pipe:
    """An MCP server on stdio, which is sent lines."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.number = 0

    def send(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + b"\n")
        self.process.stdin.flush()

    def request(self, method: str, params: Any, number: int | None = None) -> int:
        self.number += 1
        message = {"jsonrpc": "2.0", "id": number or self.number, "method": method, "params": params}
        self.send(json.dumps(message).encode())
        return self.number

    def read(self, number: int) -> dict[str, Any]:
        """Read until the response to a request."""
        assert self.process.stdout
        while line := self.process.stdout.readline():
            message: dict[str, Any] = json.loads(line)
            if message.get("id") == number:
                return message
        raise AssertionError("the server ended")

    def call(self, name: str, **arguments: Any) -> tuple[bool, str]:
        """Call a tool; return whether it was an error, and the text."""
        message = self.read(self.request("tools/call", {"name": name, "arguments": arguments}))
        if "error" in message:
            return True, str(message["error"])
        result = message["result"]
        return bool(result.get("isError")), "".join(part.get("text", "") for part in result["content"])


@contextmanager
def mcp_server(world: World, *arguments: str, **options: Any) -> Iterator[Pipe]:
    log = world.base / "mcp.log"
    with (
        open(log, "wb") as stderr,
        world.start(
            "mcp", *arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr, **options
        ) as process,
    ):
        try:
            pipe = Pipe(process)
            client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
            pipe.read(pipe.request("initialize", client))
            pipe.send(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
            yield pipe
        finally:
            end(process)
