"""A small repository with a history, documents and comments, and what miners need of it."""

import shutil
import subprocess
from pathlib import Path

import pytest

from assay.corpus import open_corpus
from assay.gold.code_index import CodeIndex
from assay.gold.mining.intake import Intake
from assay.types import CorpusSpec

NET = '''\
"""Calls to other machines."""


class Backoff:
    """Waiting times that grow with every failure."""

    def __init__(self, first):
        self.first = first
        self.failures = 0

    def next_wait(self):
        """Compute how long to wait before a failed download is tried again."""
        self.failures += 1
        return self.first * 2**self.failures


class Transport:
    """Send bytes to a machine and read the answer."""

    def send_request(self, body):
        """Write the body to the socket and wait for the reply."""
        self.socket.sendall(body)
        return self.socket.recv(4096)


class TlsTransport(Transport):
    def send_request(self, body):
        """Encrypt the body with the session key before it is written."""
        return super().send_request(self.session.encrypt(body))


class FakeTransport(Transport):
    def send_request(self, body):
        return b"reply to the body"


def fetch_archive(url, transport):
    """Download an archive and unpack its members into the cache folder."""
    reply = transport.send_request(url.encode())
    return unpack_members(reply)


def unpack_members(data):
    members = []
    for name in data.split():
        members.append(name)
    return members
'''

STORE = '''\
def read_entry(path):
    """Read one entry of the cache from a file below the root folder."""
    with open(path) as file:
        return file.read()


# Waits for the lock of the store to be released by another process.
def next_wait(lock):
    lock.acquire()
    lock.release()
    return lock
'''

TESTS = """\
from pkg.net import Backoff


def test_next_wait_grows_with_failures():
    wait = Backoff(1)  # how long another download waits that failed before
    assert wait.next_wait() < wait.next_wait()


def test_fetch_archive_unpacks_members():
    assert True
"""

GUIDE = """\
# Guide

## Waiting between two attempts

The class `Backoff` decides how long a caller waits.

## Downloads

Use `fetch_archive` to download and unpack a remote archive of members.

## Other

`read_entry` returns the text of one cached entry.
"""


def run_git(root: Path, *arguments: str) -> None:
    """Run git as nobody in particular."""
    own = ["git", "-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "commit.gpgsign=false"]
    subprocess.run([*own, *arguments], cwd=root, check=True, capture_output=True)


def write(root: Path, files: dict[str, str]) -> None:
    """Write files below a folder."""
    for path, text in files.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text)


def commit(root: Path, message: str, files: dict[str, str]) -> None:
    """Write files and commit them."""
    write(root, files)
    run_git(root, "add", "-A")
    run_git(root, "commit", "-q", "--allow-empty", "-m", message)


FILES = {"pkg/net.py": NET, "pkg/store.py": STORE, "tests/test_net.py": TESTS, "docs/guide.md": GUIDE}


@pytest.fixture
def tree(tmp_path):
    """The files, without a history."""
    root = tmp_path / "code"
    write(root, FILES)
    return root


@pytest.fixture(scope="session")
def committed(tmp_path_factory):
    """The files with a history: a start, a feature, a repair, a merged pull request, and what is no question."""
    root = tmp_path_factory.mktemp("committed")
    run_git(root, "init", "-q", "-b", "main")
    early = NET.replace("        self.failures += 1\n", "").replace("2**self.failures", "2")
    commit(root, "Start", {**FILES, "pkg/net.py": early})
    commit(root, "fix: limit the waiting time of a failed download (#7)", {"pkg/net.py": NET})
    commit(root, "Fix typos in the comments", {"pkg/store.py": STORE.replace("another", "an other")})
    commit(root, "wip", {"pkg/store.py": STORE})
    run_git(root, "checkout", "-q", "-b", "topic")
    closed = STORE.replace("        return file.read()", "        return file.read().strip()")
    commit(root, "strip", {"pkg/store.py": closed})
    run_git(root, "checkout", "-q", "main")
    title = "Strip blanks from the entry that is read from a cache file"
    message = f"Merge pull request #12 from ada/topic\n\n{title}\n\nMore words."
    run_git(root, "merge", "-q", "--no-ff", "-m", message, "topic")
    return root


@pytest.fixture
def repository(committed, tmp_path):
    """A copy of the repository, to be changed."""
    return shutil.copytree(committed, tmp_path / "code")


@pytest.fixture
def make_ground():
    """Parse a folder."""
    return lambda root: CodeIndex(open_corpus(CorpusSpec("path", str(root))))


@pytest.fixture
def ground(tree, make_ground):
    """The files, parsed."""
    return make_ground(tree)


@pytest.fixture
def intake(ground):
    """Makes items of proposals for a set that is not there yet."""
    return Intake(ground, None, on="2026-11-16", commit="0" * 40)


def anchors(intent):
    """Give the anchors of a proposal with their grades."""
    return {target.anchor: target.grade for target in intent.targets}
